"""Progress records of a query that never ran: batches at a trigger interval, with the numbers that a test asks for."""

from __future__ import annotations

import math
from typing import Any

from jupyter_streamwatch import Thresholds  # noqa: TC001 - a type that readers look up
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.model.facts import Facts  # noqa: TC001 - the same

BEGIN = 1_767_225_600_000.0  # 2026-01-01T00:00:00Z
KAFKA = "KafkaV2[Subscribe[orders]]"
FILES = "FileStreamSource[file:/data/in]"
SINK = "FileSink[/data/out]"
FOREACH_BATCH = "ForeachBatchSink"
PARTS = {"latestOffset": 5, "getBatch": 1, "queryPlanning": 10, "walCommit": 20, "commitOffsets": 15}


def iso(ms: float) -> str:
    """Write epoch ms as Spark does."""
    from jupyter_streamwatch.text.numbers import iso as text

    return text(ms)


def of(value: Any, i: int) -> Any:
    """Return the value of batch ``i``: a function of it, or the same for all."""
    return value(i) if callable(value) else value


def records(
    count: int = 20,
    *,
    interval: float | None = 2000,
    rows: Any = 100,
    ms: Any = 500,
    parts: dict[str, Any] | None = None,
    backlog: Any = None,
    times: Any = 1,
    first: int = 0,
    source: str = KAFKA,
    sink: str = SINK,
    output: Any = None,
    state: Any = None,
    event: Any = None,
    run: str = "run-1",
    begin: float = BEGIN,
    pause: Any = 0,
    **changes: Any,
) -> list[dict[str, Any]]:
    """Return ``count`` records of one run.

    Args:
        count: Number of batches.
        interval: Trigger interval in ms; None starts a batch ``pause`` ms after the one before has ended.
        rows: Rows of a batch.
        ms: Its whole time.
        parts: Parts of ``durationMs`` beside the usual ones; addBatch is what is left.
        backlog: Rows that the Kafka source holds beyond the batch; None leaves latestOffset out.
        times: How often the batch is computed.
        first: Id of the first batch.
        source: Description of the source.
        sink: Description of the sink.
        output: ``numOutputRows``.
        state: Function of the batch to its state operators, or the list of them.
        event: Function of the batch to its ``eventTime``.
        run: The run's id.
        begin: Start of the first batch in epoch ms.
        pause: See ``interval``.
        changes: Anything else of a record.
    """
    made = []
    start, offset, before = begin, 1000, None
    for i in range(count):
        took, came = of(ms, i), of(rows, i)
        own = {name: of(value, i) for name, value in {**PARTS, **(parts or {})}.items()}
        own = {name: value for name, value in own.items() if value is not None}
        durations = {**own, "triggerExecution": took}
        durations.setdefault("addBatch", max(took - sum(own.values()), 0))
        wait = of(backlog, i)
        end = offset + came
        one = {
            "description": source,
            "startOffset": {"orders": {"0": offset}} if "Kafka" in source else {"logOffset": i - 1},
            "endOffset": {"orders": {"0": end}} if "Kafka" in source else {"logOffset": i},
            "latestOffset": None if wait is None else {"orders": {"0": end + wait}},
            "numInputRows": came * of(times, i),
        }
        record = {
            "id": "query-1",
            "runId": run,
            "name": "orders",
            "timestamp": iso(start),
            "batchId": first + i,
            "batchDuration": took,
            "numInputRows": came * of(times, i),
            "inputRowsPerSecond": None if before is None else came * 1000 / max(start - before, 1),
            "processedRowsPerSecond": came * 1000 / took if took else None,
            "durationMs": durations,
            "stateOperators": of(state, i) or [],
            "eventTime": of(event, i) or {},
            "sources": [one],
            "sink": {"description": sink, "numOutputRows": of(output, i)},
        }
        record.update({name: of(value, i) for name, value in changes.items()})
        made.append(record)
        before, offset = start, end
        done = start + took
        if interval is None:
            start = done + of(pause, i)
        else:
            # Spark waits for the next multiple of the interval; after a late batch it starts at once.
            planned = (math.floor(start / interval) + 1) * interval
            start = max(planned, done)
    return made


def operator(name: str = "stateStoreSave", **values: Any) -> dict[str, Any]:
    """Return a state operator with a few rows in four partitions."""
    return {
        "operatorName": name,
        "numRowsTotal": 10,
        "numRowsUpdated": 5,
        "numRowsRemoved": 0,
        "allUpdatesTimeMs": 10,
        "allRemovalsTimeMs": 0,
        "commitTimeMs": 40,
        "memoryUsedBytes": 10_000,
        "numRowsDroppedByWatermark": 0,
        "numShufflePartitions": 4,
        "numStateStoreInstances": 4,
        "customMetrics": {},
        **values,
    }


def judge(
    made: list[dict[str, Any]],
    interval: float | None = 2000,
    *,
    facts: Facts | None = None,
    tasks: dict[str, Any] | None = None,
    thresholds: Thresholds | None = None,
    trigger: Any = None,
    **more: Any,
) -> Any:
    """Diagnose records with what a probe would know; ``tasks`` are columns without their ``tasks.``."""
    history = history_of(made)
    if facts is not None:
        history.set_facts(facts)
    for i, record in enumerate(made if tasks else ()):
        values = {f"tasks.{name}": of(value, i) for name, value in (tasks or {}).items()}
        history.set_tasks(record["runId"], record["batchId"], values)
    stated = trigger if trigger is not None else None if interval is None else interval / 1000
    return diagnose(history, stated, thresholds=thresholds, **more)


def codes(diagnosis: Any) -> list[str]:
    """Return the codes of its hints, in order."""
    return [hint.code for hint in diagnosis.hints]


def loud(diagnosis: Any) -> list[str]:
    """Return the codes of its warnings and critical hints."""
    return [hint.code for hint in diagnosis.hints if hint.severity != "info"]


def hint(diagnosis: Any, code: str) -> Any:
    """Return its hint of this code."""
    found = [one for one in diagnosis.hints if one.code == code]
    assert found, f"no {code} among {codes(diagnosis)}"
    return found[0]
