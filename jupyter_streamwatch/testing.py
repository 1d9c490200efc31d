"""Progress, runs, histories and recordings made up for tests, and a clock that only moves when told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import Progress, epoch_ms, parse
from jupyter_streamwatch.model.values import iso
from jupyter_streamwatch.recordings.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jupyter_streamwatch.model.trigger import Trigger

__all__ = ["ID", "RUN", "START", "FakeClock", "history", "progress", "recording", "run"]

ID = "11111111-2222-4333-8444-555555555555"
RUN = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
START = "2026-01-01T00:00:00.000Z"

Varying: TypeAlias = "float | Sequence[float] | Callable[[int], float]"
"""A number for all batches, one a batch (the last for the rest), or a function of the batch's place in the run."""


def progress(
    batchId: int = 0,
    rows: int = 10,
    duration: float = 1000,
    start: str | float = START,
    *,
    backlog: int | None = None,
    offset: int = 0,
    **changes: Any,
) -> Progress:
    """One progress record of a Kafka source and a console sink, as Spark 4 sends it.

    Args:
        batchId: Its id.
        rows: Rows read; 0 makes a no-data batch.
        duration: Wall time in ms; its parts are shares of it.
        start: Start of the batch, ISO text or epoch ms.
        backlog: Rows that wait after the batch; None when the source does not tell.
        offset: Offset at which the batch begins.
        changes: Any key of the record, to replace what was made up.
    """
    end = {"orders": {"0": offset + rows}}
    took = int(duration)
    record: dict[str, Any] = {
        "id": ID,
        "runId": RUN,
        "name": "orders",
        "timestamp": start if isinstance(start, str) else iso(start),
        "batchId": batchId,
        "batchDuration": took,
        "numInputRows": rows,
        "inputRowsPerSecond": float(rows),
        "processedRowsPerSecond": rows * 1000 / duration if duration else 0.0,
        "durationMs": {
            "addBatch": took * 80 // 100,
            "commitOffsets": took * 3 // 100,
            "getBatch": took // 100,
            "latestOffset": took * 2 // 100,
            "queryPlanning": took * 5 // 100,
            "triggerExecution": took,
            "walCommit": took * 4 // 100,
        },
        "eventTime": {},
        "stateOperators": [],
        "sources": [
            {
                "description": "KafkaV2[Subscribe[orders]]",
                "startOffset": {"orders": {"0": offset}},
                "endOffset": end,
                "latestOffset": None if backlog is None else {"orders": {"0": offset + rows + backlog}},
                "numInputRows": rows,
                "inputRowsPerSecond": float(rows),
                "processedRowsPerSecond": rows * 1000 / duration if duration else 0.0,
                "metrics": {},
            }
        ],
        "sink": {
            "description": "org.apache.spark.sql.execution.streaming.ConsoleTable$@1a2b3c",
            "numOutputRows": rows,
        },
        "observedMetrics": {},
    }
    return parse({**record, **changes})


def run(
    batches: int = 20,
    interval: float | None = 2.0,
    rows: Varying = 100,
    duration: Varying = 500,
    *,
    stateful: bool | Varying = False,
    backlog: Varying | None = None,
    start: str | float = START,
    first: int = 0,
    **changes: Any,
) -> list[Progress]:
    """The batches of one run: started by its trigger when it can, at once when the batch before took too long.

    Args:
        batches: How many.
        interval: Seconds of the ``processingTime`` trigger; None starts each batch as soon as the one before has ended.
        rows: Rows of a batch; 0 makes a no-data batch.
        duration: Wall time of a batch in ms.
        stateful: Rows in the state of an aggregation; True means ten more with each batch.
        backlog: Rows that wait after a batch.
        start: Start of the first batch, ISO text or epoch ms.
        first: Id of the first batch.
        changes: Any key of the records, the same in all.
    """
    began = epoch_ms(start) if isinstance(start, str) else start
    if began is None:
        raise ValueError(f"start is ISO text or epoch ms, not {start!r}.")
    made = []
    at, before, offset = began, None, 0
    for i in range(batches):
        count, took = int(_of(rows, i)), _of(duration, i)
        extra = dict(changes)
        if stateful is not False:
            extra.setdefault(
                "stateOperators", [_operator(10 * (i + 1) if stateful is True else _of(stateful, i), count)]
            )
        extra.setdefault("inputRowsPerSecond", 0.0 if before is None else count * 1000 / (at - before))
        waiting = None if backlog is None else int(_of(backlog, i))
        made.append(progress(first + i, count, took, at, backlog=waiting, offset=offset, **extra))
        offset += count
        before, at = at, at + took
        if interval:
            period = interval * 1000
            due = (before // period + 1) * period
            at = due if at <= due else at + 1  # Spark starts a late batch at once
    return made


def history(
    records: Iterable[Progress] | None = None,
    *,
    trigger: Trigger | float | str | None = None,
    keep: int = 10_000,
    **of_run: Any,
) -> History:
    """A history of ``records``, or of the ``run`` that the other arguments describe; ``trigger`` is stated."""
    from jupyter_streamwatch.model.trigger import Trigger

    taken = run(**of_run) if records is None else list(records)
    first = taken[0] if taken else progress()
    made = History(first.id or ID, first.name, keep=keep)
    if records is None:
        made.start(first.runId or RUN, first.name, first.start_ms)
    for p in taken:
        made.append(p)
    if trigger is not None:
        made.state_trigger(Trigger.parse(trigger))
    return made


def recording(*histories: History, **of_run: Any) -> Recording:
    """A recording of ``histories``, or of one that the other arguments describe (see ``history``)."""
    kept = histories or (history(**of_run),)
    records = [p for each in kept for p in each.recent]
    return Recording(kept, records, environment={"Spark": "4.3.0", "Python": "3.11"}, taken=epoch_ms(START))


class FakeClock:
    """A clock for tests: it stands until it is told to move."""

    def __init__(self, start: str | float = START) -> None:
        """Stand at ``start``, ISO text or epoch ms."""
        self.ms = (epoch_ms(start) if isinstance(start, str) else start) or 0.0

    def __call__(self) -> float:
        """Seconds since the epoch, as ``time.time`` gives them."""
        return self.ms / 1000

    def advance(self, seconds: float) -> float:
        """Move on; returns the new epoch ms."""
        self.ms += seconds * 1000
        return self.ms


def _of(value: Varying, i: int) -> float:
    if callable(value):
        return value(i)
    if isinstance(value, (int, float)):
        return value
    return value[min(i, len(value) - 1)]


def _operator(total: float, rows: int) -> dict[str, Any]:
    return {
        "operatorName": "stateStoreSave",
        "numRowsTotal": int(total),
        "numRowsUpdated": min(rows, int(total)),
        "numRowsRemoved": 0,
        "allUpdatesTimeMs": 40,
        "allRemovalsTimeMs": 2,
        "commitTimeMs": 90,
        "memoryUsedBytes": 1000 + 200 * int(total),
        "numRowsDroppedByWatermark": 0,
        "numShufflePartitions": 4,
        "numStateStoreInstances": 4,
        "customMetrics": {"loadedMapCacheHitCount": 8, "loadedMapCacheMissCount": 0},
    }
