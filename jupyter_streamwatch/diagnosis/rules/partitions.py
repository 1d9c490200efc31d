"""More shuffle partitions than the rows need: the usual trouble of the first day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.measure import begins_anew, count, gathered
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.diagnosis.result import Effect, Evidence, Hint
from jupyter_streamwatch.model.statistics import median
from jupyter_streamwatch.text.numbers import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.progress import Progress, StateOperatorProgress

_ROWS_A_TASK = 20_000  # rows that keep a task busy for longer than it costs to start it
_STATE_A_TASK = 200_000
_DEFAULT = 200  # spark.sql.shuffle.partitions where nobody sets it
_ASKS, _ASKS_OF_A_JOIN = 2, 8  # how often a batch asks for the state of one partition
_KEEP = 4  # partitions: enough for the cores of a small machine


@rule("too-many-partitions", "Many shuffle partitions for few rows.", family="processing")
def too_many_partitions(window: Window, load: Load) -> Hint | None:
    """Raise when the partitions of the state outnumber what the rows need; one record shows it."""
    records = window.records
    found = _partitions(records)
    if found is None:
        return None
    partitions, inferred = found
    t = window.t
    data = window.with_data[-int(t.recent) :]
    rows = median(float(one.numInputRows) for one in data if one.numInputRows is not None)
    last = records[-1]
    state = max((operator.numRowsTotal or 0 for operator in last.stateOperators), default=0)
    updated = max((operator.numRowsUpdated or 0 for operator in last.stateOperators), default=0)
    busiest = max(rows or 0.0, updated)
    if not state and any(name.startswith("rocksdb") for one in last.stateOperators for name in one.customMetrics):
        return None  # RocksDB may be told not to count its rows
    # One record could be an odd one; with several the median of the rows counts, so more of them can be called few.
    most = t.partition_rows * (5 if load.judged >= t.min_batches else 1) * partitions
    if partitions < t.partitions or busiest > most or state > 100 * t.partition_rows * partitions:
        return None
    cost = _cost(window)
    if cost is not None and cost < 0.2 * t.partition_ms * partitions:
        return None  # so many cores that the partitions cost next to nothing
    keep = _target(busiest, state, partitions)
    costly = _commit(last) >= t.partition_ms or (cost or 0.0) >= t.partition_ms * partitions
    if cost is not None and cost < t.partition_least:
        costly = False
    shown = f"{'At least ' if inferred else ''}{partitions}"
    what = count(rows, "row") if rows else f"{count(state, 'row')} of state"
    return Hint(
        code="too-many-partitions",
        severity="warning" if load.pressed or costly else "info",
        title=f"{shown} shuffle partitions for {what}",
        evidence=gathered(
            Evidence("numShufflePartitions", partitions, "partitions", _ids(records[-1:])),
            Evidence("numInputRows", rows, "rows", _ids(data)) if rows is not None else None,
            Evidence("numRowsTotal", state, "rows", _ids(records[-1:])),
            Evidence("addBatch", cost, "ms", _ids(data)) if cost is not None else None,
        ),
        cause="Each batch starts a task for every partition, and each task loads and saves its part of the state,"
        " however"
        " few rows it has.",
        fix=f"Use about {keep} partitions. The number is pinned in the checkpoint at the first start, so the query"
        f" needs a new one: {begins_anew(window)}.",
        code_fix=f'spark.conf.set("spark.sql.shuffle.partitions", "{keep}")'
        "  # before start(), with a new checkpointLocation",
        effect=_effect(window, partitions, keep),
        link=API + "#recovery-semantics-after-changes-in-a-streaming-query",
        share=_share(window, partitions, keep),
    )


def _partitions(records: tuple[Progress, ...]) -> tuple[int, bool] | None:
    """Return the number of partitions and whether it was inferred (Spark before 3.2 does not report it)."""
    last = records[-1] if records else None
    if last is None or not last.stateOperators:
        return None
    said = [one.numShufflePartitions for one in last.stateOperators if one.numShufflePartitions]
    if said:
        return max(said), False
    least = _inferred(records)
    return (least, True) if least else None


def _inferred(records: tuple[Progress, ...]) -> int | None:
    """Return the least number of partitions that explains how often state was taken from the cache.

    The in-memory provider counts, since it was loaded, how often a partition's state was found in its cache. An
    aggregation asks twice a batch (to read and to save), a join asks for four stores. After a restart the count begins
    again, and each partition's state is missing from the cache once: 200 misses are the default number of partitions.
    All operators but the global ones have the same number, so what proves the most is the least there can be.
    """
    if all(_loaded_by_default(operator.customMetrics) for operator in records[-1].stateOperators):
        return _DEFAULT
    ran = [one for one in records if one.kind != "idle" and one.batchId is not None] or list(records[-1:])
    last = ran[-1]
    if not last.batchId or not last.stateOperators:
        return None
    before = ran[-2] if len(ran) > 1 else None
    batches = last.batchId  # the first batch finds no state to ask for
    if before is not None and len(before.stateOperators) == len(last.stateOperators) and before.batchId == batches - 1:
        batches = 1
        hits = [_hits(now) - _hits(was) for now, was in zip(last.stateOperators, before.stateOperators, strict=True)]
    else:
        hits = [_hits(one) for one in last.stateOperators]
    return max((_least(each / batches, len(last.sources)) for each in hits), default=0) or None


def _least(asked: float, sources: int) -> int:
    """Return the least number of partitions that asks so often in a batch.

    More than the default are rather a source that is joined with itself, which is listed once.
    """
    least = int(asked // (_ASKS_OF_A_JOIN if sources > 1 else _ASKS))
    return int(asked // _ASKS_OF_A_JOIN) if least > _DEFAULT else max(least, 0)


def _loaded_by_default(metrics: Mapping[str, float]) -> bool:
    misses, hits = metrics.get("loadedMapCacheMissCount"), metrics.get("loadedMapCacheHitCount", 0.0)
    return misses == _DEFAULT and hits % _DEFAULT == 0


def _hits(operator: StateOperatorProgress) -> float:
    metrics = operator.customMetrics
    return metrics.get("loadedMapCacheHitCount", 0.0) + metrics.get("loadedMapCacheMissCount", 0.0)


def _cost(window: Window) -> float | None:
    """Return the usual time of addBatch, of the last batches where none has settled."""
    usual = window.usual("durationMs.addBatch")
    if usual is not None:
        return usual
    return median(float(one.durationMs["addBatch"]) for one in window.ran if "addBatch" in one.durationMs)


def _commit(last: Progress) -> float:
    """Return the mean time in ms that saving one partition's state took."""
    pairs = [(one.commitTimeMs, one.numStateStoreInstances) for one in last.stateOperators]
    return max((time / stores for time, stores in pairs if time and stores), default=0.0)


def _target(rows: float, state: float, partitions: int) -> int:
    needed = max(rows / _ROWS_A_TASK, state / _STATE_A_TASK, _KEEP)
    power = _KEEP
    while power < needed:
        power *= 2
    return min(power, max(partitions // 4, 1))


def _share(window: Window, partitions: int, keep: int) -> float | None:
    added, total = window.usual("durationMs.addBatch"), window.typical
    return 0.9 * (1 - keep / partitions) * added / total if added is not None and total else None


def _effect(window: Window, partitions: int, keep: int) -> Effect | None:
    """Predict the batch time: nearly all of addBatch goes with the number of partitions, the rest stays."""
    added, total = window.usual("durationMs.addBatch"), window.typical
    if added is None or total is None:
        return None
    gone = added * (1 - keep / partitions)
    # Measured: 97 to 99.5 % of it were gone, as what surrounds the tasks goes with them.
    low, best, high = total - gone, total - 0.98 * gone, total - 0.85 * gone
    text = f"about {duration(best)} instead of {duration(total)} a batch ({duration(low)} to {duration(high)})"
    return Effect("batch time", low, best, high, "ms", text)


def _ids(records: tuple[Progress, ...]) -> tuple[int, ...]:
    return tuple(one.batchId for one in records if one.batchId is not None)
