"""Small histories and diagnoses for the tests of what people see: every number in them is chosen by the test."""

from __future__ import annotations

from typing import Any

from jupyter_streamwatch.diagnosis import Diagnosis, Hint
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import epoch_ms, parse
from jupyter_streamwatch.model.values import iso

START = epoch_ms("2026-01-01T14:00:00.000Z") or 0.0
ID = "1f2e3d4c-5b6a-4788-9900-aabbccddeeff"
RUN = "aaaaaaaa-1111-2222-3333-444444444444"
UDF_ERROR = """org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 1, runId = 2] \
terminated with exception: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: \
Lost task \
0.0 in stage 3.0 (TID 5): org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/worker.py", line 1, in main
    process()
  File "<stdin>", line 3, in slow
ZeroDivisionError: division by zero

\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:572)
"""


def record(batch: int, at: float, **changes: Any) -> dict[str, Any]:
    """One batch that started ``at`` seconds after START: 300 rows in 1,500 ms from files to the console."""
    rows, took = changes.get("numInputRows", 300), changes.pop("took", 1500)
    made = {
        "id": ID,
        "runId": RUN,
        "name": "late_flights",
        "timestamp": iso(START + at * 1000),
        "batchId": batch,
        "numInputRows": rows,
        "inputRowsPerSecond": rows / 2,
        "processedRowsPerSecond": rows / (took / 1000),
        "durationMs": {"addBatch": took - 100, "walCommit": 60, "triggerExecution": took},
        "stateOperators": [],
        "sources": [
            {
                "description": "FileStreamSource[file:/data/in]",
                "startOffset": {"logOffset": batch},
                "endOffset": {"logOffset": batch + 1},
                "latestOffset": None,
                "numInputRows": rows,
            }
        ],
        "sink": {"description": "org.apache.spark.sql.execution.streaming.ConsoleTable$@3f2a", "numOutputRows": -1},
    }
    return {**made, **changes}


def kafka(batch: int, waiting: int) -> list[dict[str, Any]]:
    """A source of one partition that held ``waiting`` rows after the batch."""
    offsets = {"startOffset": batch * 300, "endOffset": batch * 300 + 300, "latestOffset": batch * 300 + 300 + waiting}
    source = {name: {"orders": {"0": offset}} for name, offset in offsets.items()}
    return [{"description": "KafkaV2[Subscribe[orders]]", "numInputRows": 300, **source}]


def history(batches: int = 0, every: float = 2.5, name: str = "late_flights", **changes: Any) -> History:
    """A query with one run that started at START and ran ``batches`` batches; starts are on no grid of seconds."""
    made = History(changes.pop("id", ID), name)
    made.start(RUN, name, START)
    for batch in range(batches):
        made.append(parse(record(batch, 0.3 + batch * (every + 0.001 * (batch % 7)), id=made.id, name=name, **changes)))
    return made


def verdict(word: str = "keeping-up", *hints: Hint, reason: str = "Because.") -> Diagnosis:
    """A diagnosis with this verdict."""
    return Diagnosis(word, reason, hints)


def hint(code: str = "too-many-partitions", severity: str = "warning", title: str = "A finding", **more: Any) -> Hint:
    """A hint with this title."""
    given = {"evidence": (), "cause": "A cause.", "fix": "A fix.", **more}
    return Hint(code, severity, title, **given)
