"""Histories to look at: queries in every state, made without Spark, and a page that shows them."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bokeh

from jupyter_streamwatch import charts
from jupyter_streamwatch.dashboard.messages import Delivery
from jupyter_streamwatch.diagnosis.result import Effect, Evidence, Hint
from jupyter_streamwatch.model.checkpoint_card import Card, Pinned
from jupyter_streamwatch.model.history import Facts, History, RunningBatch
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.summary import line as overview

START = datetime(2026, 3, 1, 13, 0, tzinfo=timezone.utc)
STATIC = Path(charts.__file__).parent.parent / "static"
LIVE = SimpleNamespace(state="live", text="Live", mode="classic", sparkVersion="4.3.0")


def stamp(at: datetime) -> str:
    """Write a time as Spark does."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def batch(id: str, run: str, number: int, at: datetime, took: int, rows: int, **more: Any) -> Any:  # noqa: PLR0917
    """Make the progress of one batch, with the parts of its time."""
    parts = {"latestOffset": 30, "getBatch": 4, "queryPlanning": 45, "walCommit": 60, "commitOffsets": 55}
    durations = {**parts, "addBatch": max(took - sum(parts.values()) - 20, 1), "triggerExecution": took}
    source = {
        "description": "RateStreamV2[rowsPerSecond=150, rampUpTimeSeconds=0, numPartitions=2]",
        "startOffset": str(number),
        "endOffset": str(number + 1),
        "latestOffset": str(number + 1),
        "numInputRows": rows,
        "inputRowsPerSecond": rows / 2,
        "processedRowsPerSecond": rows / took * 1000,
    }
    return parse(
        {
            "id": id,
            "runId": run,
            "name": None,
            "timestamp": stamp(at),
            "batchId": number,
            "batchDuration": took,
            "numInputRows": rows,
            "inputRowsPerSecond": rows / 2,
            "processedRowsPerSecond": rows / took * 1000,
            "durationMs": durations,
            "eventTime": {},
            "stateOperators": [],
            "sources": [source],
            "sink": {"description": "MemorySink", "numOutputRows": rows},
            **more,
        }
    )


def stateful(number: int, at: datetime, rows: int) -> dict[str, Any]:
    """Give what a windowed count adds to a batch's progress."""
    mark = at - timedelta(minutes=4, seconds=10 * math.sin(number / 5))
    return {
        "eventTime": {
            "max": stamp(at - timedelta(seconds=5)),
            "min": stamp(at - timedelta(minutes=7)),
            "avg": stamp(at - timedelta(minutes=2)),
            "watermark": stamp(mark),
        },
        "stateOperators": [
            {
                "operatorName": "stateStoreSave",
                "numRowsTotal": 400 + 12 * number,
                "numRowsUpdated": rows // 3,
                "numRowsRemoved": number % 7 * 3,
                "allUpdatesTimeMs": 900,
                "allRemovalsTimeMs": 20,
                "commitTimeMs": 700,
                "memoryUsedBytes": 900_000 + 26_000 * number,
                "numRowsDroppedByWatermark": 3 if number % 23 == 11 else 0,
                "numShufflePartitions": 200,
                "numStateStoreInstances": 200,
                "customMetrics": {},
            }
        ],
    }


def lagging(batches: int = 143) -> History:
    """A windowed count that takes 3.4 s of a 2 s trigger."""
    history = History("3d1f5a60-0000-4000-8000-000000000001", "late_flights")
    history.start("run-1", "late_flights", START.timestamp() * 1000)
    history.set_facts(facts(2000, "append", ("stateStoreSave",)))
    at = START
    for number in range(batches):
        run = "run-1" if number < 60 else "run-2"
        if number == 60:
            history.end("run-1", at.timestamp() * 1000)
            at += timedelta(seconds=40)
            history.start("run-2", "late_flights", at.timestamp() * 1000)
        took = int(1500 + 13 * number + 250 * math.sin(number / 3) + (1800 if number % 37 == 30 else 0))
        rows = 0 if number % 19 == 18 else int(296 + 60 * math.sin(number / 9) + number)
        history.append(batch(history.id, run, number, at, took, rows, **stateful(number, at, rows)))
        at += timedelta(milliseconds=max(took, 2000))
    now = at.timestamp() * 1000
    history.set_running(RunningBatch("run-2", batches, now, 2, 200, 37, 2, 0, now + 1100, now + 1000))
    history.set_checkpoint(card())
    return history


def card(**changed: Any) -> Card:
    """Make the card of a checkpoint whose last batch is not committed, written by a function that appends."""
    known: dict[str, Any] = {
        "at": START.timestamp() * 1000 + 285_000,
        "path": "s3a://lake-production-eu-central-1/checkpoints/streaming/flights/late_flights_by_carrier_and_hour/v2",
        "temporary": False,
        "bytes": 48_234_567,
        "lastOffset": 143,
        "plannedMs": START.timestamp() * 1000 + 284_000,
        "lastCommit": 142,
        "nextBatch": 143,
        "replay": True,
        "restart": (
            "The next start runs batch 143 again, over exactly the same offsets: 34 rows of rate, 143 to 144.",
            (
                "The function of foreachBatch gets them a second time with the same batchId; what it appends is there"
                " twice, unless it skips a batchId that it has already written."
            ),
        ),
        "sinkSafe": "depends",
        "code_fix": '.option("txnAppId", "late_flights").option("txnVersion", batch_id)  # in the Delta write',
        "pinned": (
            Pinned("spark.sql.shuffle.partitions", "200", "8"),
            Pinned(
                "spark.sql.streaming.stateStore.providerClass",
                "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
                "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
            ),
        ),
    }
    return Card(**{**known, **changed})


def facts(interval: int, mode: str, operators: tuple[str, ...]) -> Facts:
    """What the probe would learn of such a query."""
    return Facts(
        mode="classic",
        sparkVersion="4.3.0",
        trigger=Trigger("processingTime", interval, "asked"),
        outputMode=mode,
        sink="memory",
        sinkKind="memory",
        checkpoint="/data/checkpoints/late_flights",
        sources=("rate, 150 rows/s",),
        stateful=operators,
        shufflePartitions=200,
    )


def calm(number: int, name: str, batches: int = 60) -> History:
    """A query that keeps up easily."""
    history = History(f"0b5e7c11-0000-4000-8000-{number:012d}", name)
    history.start("run-1", name, START.timestamp() * 1000)
    history.set_facts(facts(2000, "append", ()))
    for at in range(batches):
        took = int(420 + 60 * math.sin(at / 4 + number))
        rows = int(300 + 80 * math.sin(at / 7 + number))
        history.append(batch(history.id, "run-1", at, START + timedelta(seconds=2 * at), took, rows))
    why = "Spark Connect does not tell where the checkpoint is."
    history.set_checkpoint(Card(at=START.timestamp() * 1000, why=why))
    return history


def failed() -> History:
    """A query whose user function raised."""
    history = calm(7, "clicks_to_sessions_with_a_user_function", 12)
    text = (
        "[STREAM_FAILED] Query [id = 0b5e7c11, runId = run-1] terminated with exception: Job aborted\n"
        'Traceback (most recent call last):\n  File "/home/ann/job.py", line 12, in parse\n'
        "ValueError: could not convert string to float: '<img src=x onerror=alert(1)>'"
    )
    history.end("run-1", (START + timedelta(seconds=25)).timestamp() * 1000, text, "STREAM_FAILED")
    return history


def ended(number: int) -> History:
    """A query that was stopped."""
    history = calm(20 + number, f"backfill_{number}", 8)
    history.end("run-1", (START + timedelta(seconds=16 + number)).timestamp() * 1000)
    return history


def starting() -> History:
    """A query without a batch."""
    history = History("0b5e7c11-0000-4000-8000-000000000099", "just_started")
    history.start("run-1", "just_started", START.timestamp() * 1000)
    return history


LONG = "orders_enriched_with_customer_master_data_and_deduplicated_by_event_id_within_watermark_v2_" * 2
ARABIC = "طلبات العملاء المتأخرة حسب المدينة"

SCENES = {
    "one": lambda: [lagging()],
    "calm": lambda: [calm(1, "clicks")],
    "several": lambda: [
        lagging(), failed(), calm(1, "clicks"), calm(2, LONG), calm(3, ARABIC), starting(), ended(1), ended(2),
    ],
    "hundred": lambda: [calm(n, f"stream_{n}", 5) for n in range(100)],
    "empty": list,
}  # fmt: skip


def now_of(histories: list[History]) -> float:
    """The moment of a scene in seconds: just after its last batch."""
    ends = [float(h.batches.numbers("timestamp")[-1]) for h in histories if h.batches.rows]
    return max(ends, default=START.timestamp() * 1000) / 1000 + 3


def snapshot(histories: list[History]) -> dict[str, Any]:
    """The picture that a page would get, with the charts of every query."""
    source = SimpleNamespace(session=LIVE, histories=lambda: histories)
    made = Delivery(source, None, lambda: now_of(histories)).snapshot()
    made["views"] = {
        h.id: {"charts": charts.embed(charts.build(h)), "data": charts.data(h)} for h in histories if h.batches.rows
    }
    return made


SURFACES = {
    False: ("#fff", "#fafafa", "#f2f2f2", "#1c1c1c", "#e4e4e4"),
    True: ("#111", "#1a1a1a", "#262626", "#e2e2e2", "#333"),
}


def page(picture: dict[str, Any], *, dark: bool = False) -> str:
    """One HTML file that shows a picture without a kernel, on a light or dark surface as JupyterLab has them."""
    script = (Path(bokeh.__file__).parent / "server/static/js/bokeh.min.js").read_text()
    script = script.replace("</script", "<\\/script")
    data = json.dumps(picture).replace("<", "\\u003c")
    names = ("layout-color0", "layout-color1", "layout-color2", "content-font-color1", "border-color2")
    host = ";".join(f"--jp-{name}:{color}" for name, color in zip(names, SURFACES[dark], strict=True))
    return (
        f"<!doctype html><meta charset=utf-8><style>:root{{color-scheme:{'dark' if dark else 'light'};{host}}}"
        f"body{{margin:0;background:{SURFACES[dark][0]};font:13px sans-serif}}</style>"
        f"<style>{(STATIC / 'widget.css').read_text()}</style><div id=streamwatch></div>"
        f'<script type="application/json" id="streamwatch-data">{data}</script>'
        f"<script>{script}</script>"
        f"<script>{(STATIC / 'report.js').read_text()}</script>"
    )


def lines(histories: list[History]) -> list[dict[str, Any]]:
    """The overview of a scene."""
    return [line.to_dict() for line in overview.lines(histories, LIVE, now_of(histories) * 1000)]


def hints() -> list[dict[str, Any]]:
    """Hints of every severity, one under another."""
    made = [
        Hint(
            "too-many-partitions",
            "critical",
            "200 shuffle partitions for 34 rows: about 2.9 of 3.4 s a batch go into starting tasks",
            (
                Evidence("numShufflePartitions", 200, "partitions", (140, 141, 142)),
                Evidence("addBatch", 2900, "ms", (142,)),
                Evidence("numInputRows", 34, "rows", (142,)),
            ),
            "Each batch starts one task for every shuffle partition, whether it has rows or not.",
            "Start a new checkpoint with fewer partitions; this costs the state that was kept so far.",
            'spark.conf.set("spark.sql.shuffle.partitions", "4")',
            Effect("batch time", 400, 600, 900, "ms", "About 0.6 s instead of 3.4 s a batch (0.4 to 0.9 s)."),
            None,
            "https://spark.apache.org/docs/latest/streaming/performance-tips.html",
        ),
        Hint(
            "falling-behind",
            "warning",
            "Batches take 1.7 times the trigger interval",
            (Evidence("batchDuration", 3400, "ms", (138, 139, 140, 141, 142)), Evidence("interval", 2000, "ms")),
            "A batch that is not over when the next one is due delays all that follow.",
            "See the hint above.",
            under="too-many-partitions",
        ),
        Hint(
            "temporary-checkpoint",
            "info",
            "The checkpoint is a temporary folder",
            (Evidence("checkpoint", "/tmp/temporary-6c1f0b1e", ""),),
            "Spark made one because the query names none; it is deleted when the query ends.",
            "Name a folder that stays.",
            '.option("checkpointLocation", "/data/checkpoints/late_flights")',
        ),
    ]
    return [hint.to_dict() for hint in made]


def with_hints(picture: dict[str, Any]) -> dict[str, Any]:
    """Put the hints, a note and a running batch on the first line of a picture."""
    line = picture["lines"][0]
    line["hints"] = hints()
    line["note"] = {"text": line["hints"][0]["title"] + ".", "level": "critical", "code": "too-many-partitions"}
    line["running"] = {"text": "running batch 143: 37 of 200 tasks · 1.1 s so far, usually 3.3 s", "fraction": 0.185}
    line["backlog"] = {"text": "12.4k", "trend": "grows", "tip": "12,432 rows waited after batch 142."}
    return picture
