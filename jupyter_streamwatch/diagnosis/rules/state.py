"""Rules about state: growth without end, slow commits, memory, reloading."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jupyter_streamwatch.diagnosis.lateness import column_name
from jupyter_streamwatch.diagnosis.measure import Slow, at_once, batch_time, count, gathered, matters, seen, shorter
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.model.statistics import held, known, median, surely
from jupyter_streamwatch.text.numbers import duration, number, size

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.progress import Progress

_ROCKSDB = (
    'spark.conf.set("spark.sql.streaming.stateStore.providerClass",'
    ' "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")'
    "  # before start(), with a new checkpointLocation"
)
_CHANGELOG = 'spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")'


@rule("state-growth", "State grows from batch to batch and nothing is removed.")
def state_growth(window: Window, load: Load) -> Hint | None:
    """Raise when the rows in the state keep growing, none is removed, and the reason is known."""
    del load
    rows = _growth(window)
    if rows is None:
        return None
    reason = _reason(window)
    if reason is None:
        return None
    first, last = window.ends()
    return Hint(
        code="state-growth",
        severity=reason.severity,
        title=f"State grew from {number(rows[0])} to {number(rows[1])} rows, and none was removed",
        evidence=(
            Evidence("numRowsTotal before", rows[0], "rows", first),
            Evidence("numRowsTotal now", rows[1], "rows", last),
            Evidence("numRowsRemoved", 0, "rows", window.evidence()),
        ),
        cause=reason.cause,
        fix=reason.fix,
        code_fix=reason.code,
        link=reason.link,
    )


@rule("state-commit-slow", "Saving the state takes most of the batch.")
def state_commit_slow(window: Window, load: Load) -> Hint | None:
    """Raise when a partition's share of the commit time alone is most of addBatch.

    ``commitTimeMs`` is summed over tasks. However many of them ran at once, the mean of the partitions is the least
    that passed by the clock; where the tasks' own times are known, the commit's part of them tells as well.
    """
    t = window.t
    if load.judged < t.min_batches:
        return _commit_once(window)
    level = matters(window, load)
    if level is None:
        return None
    flags, waits = [], []
    for commit, partitions, added, run, busy in zip(
        window.recent("state.commitTimeMs"),
        window.recent("state.numShufflePartitions"),
        window.recent("durationMs.addBatch"),
        window.recent("tasks.runTimeMs"),
        window.recent("tasks.busyMs"),
        strict=True,
    ):
        if not (commit >= 0 and partitions > 0 and added > 0):
            continue
        least = commit / partitions
        if run > 0:
            least = max(least, min(commit / run, 1.0) * busy)
        waits.append(least)
        flags.append(1.0 if least >= max(t.commit * added, t.commit_least) else 0.0)
    if len(flags) < t.min_batches or not held(flags, 1.0, 1.0, int(t.hold)):
        return None
    lost = median(waits[-int(t.recent) :]) or 0.0
    evidence = gathered(
        seen(window, "commitTimeMs (all tasks)", "ms", "state.commitTimeMs"),
        seen(window, "numShufflePartitions", "partitions", "state.numShufflePartitions"),
        seen(window, "numRowsTotal", "rows", "state.numRowsTotal"),
        *batch_time(window, load),
    )
    return _commit(window, level, Slow(lost, 0.0, (), load.typical or 0.0), evidence)


def _commit_once(window: Window) -> Hint | None:
    """Look at one record: a partition's share of the commit time is the least that passed by the clock."""
    record = window.ran[-1] if window.ran else None
    added = record.durationMs.get("addBatch") if record is not None else None
    if record is None or not record.batchId or not added:
        return None
    operators = [one for one in record.stateOperators if one.commitTimeMs and one.numShufflePartitions]
    least = sum((one.commitTimeMs or 0) / (one.numShufflePartitions or 1) for one in operators)
    level = at_once(window, least)
    if level is None or not window.t.commit * added <= least <= added:
        return None  # more than the batch took is no time of that batch
    ids = (record.batchId,)
    evidence = (
        Evidence("commitTimeMs (all tasks)", sum(one.commitTimeMs or 0 for one in operators), "ms", ids),
        Evidence("numShufflePartitions", operators[0].numShufflePartitions or 0, "partitions", ids),
        Evidence("addBatch", added, "ms", ids),
    )
    return _commit(window, level, Slow(least, 0.0, ids, record.batchDuration or added), evidence)


def _commit(window: Window, level: str, slow: Slow, evidence: tuple[Evidence, ...]) -> Hint:
    rocksdb = _rocksdb(window)
    return Hint(
        code="state-commit-slow",
        severity=level,
        title=f"Saving the state takes at least {duration(slow.ms)} of {duration(slow.of)} a batch",
        evidence=evidence,
        cause="Each batch writes the changes of the state to the checkpoint and waits for it.",
        fix="Write only the changes, in the background: changelog checkpointing of RocksDB."
        if rocksdb
        else "Put the checkpoint on faster storage, or keep the state in RocksDB with changelog checkpointing. The"
        " provider is"
        " pinned in the checkpoint: a new one loses the state, reads the source again and may write rows twice.",
        code_fix=_CHANGELOG if rocksdb else _ROCKSDB + "\n" + _CHANGELOG,
        effect=None if slow.batches else shorter(window, slow.ms, low=0.3),
        link=API + "#rocksdb-state-store-implementation",
        share=min(slow.ms / slow.of, 1.0) if slow.of else None,
    )


@rule("state-memory", "The state takes much memory of the JVM.")
def state_memory(window: Window, load: Load) -> Hint | None:
    """Raise for large state in the JVM's heap; RocksDB keeps it outside."""
    last = window.last
    if last is None or not last.stateOperators or _rocksdb(window):
        return None
    used = sum(one.memoryUsedBytes or 0 for one in last.stateOperators)
    rows = sum(one.numRowsTotal or 0 for one in last.stateOperators)
    if used < window.t.state_memory:
        return None
    ids = (last.batchId,) if last.batchId is not None else ()
    return Hint(
        code="state-memory",
        severity="warning" if load.pressed else "info",
        title=f"The state takes {size(used)} in the memory of the executors' JVM",
        evidence=(Evidence("memoryUsedBytes", used, "bytes", ids), Evidence("numRowsTotal", rows, "rows", ids)),
        cause="The default provider keeps all state, in several versions, in the heap, where garbage collection"
        " walks it.",
        fix="Keep the state in RocksDB. The provider is pinned in the checkpoint: a new one loses the state, reads the"
        " source again and may write rows twice.",
        code_fix=_ROCKSDB,
        link=API + "#rocksdb-state-store-implementation",
    )


@rule("state-reload", "State is loaded from the checkpoint again in many batches.")
def state_reload(window: Window, load: Load) -> Hint | None:
    """Raise when the cache of loaded state misses in batch after batch."""
    if len(window.ran) < window.t.min_trend or _missed(window.ran[0]) == _missed(window.ran[-1]):
        return None  # the count stands still
    pairs = []
    for before, after in pairwise(window.ran):
        if before.batchId is None or after.batchId != before.batchId + 1 or not before.batchId:
            continue
        missed = _missed(after) - _missed(before)
        pairs.append((missed, after.batchId))
    flags = [1.0 if missed > 0 else 0.0 for missed, _ in pairs]
    if (
        len(flags) < window.t.min_trend
        or not held(flags, 1.0, 1.0, int(window.t.hold))
        or sum(flags) < 0.5 * len(flags)
    ):
        return None
    lost = median(missed for missed, _ in pairs if missed > 0) or 0.0
    ids = tuple(number_ for missed, number_ in pairs if missed > 0)[-20:]
    return Hint(
        code="state-reload",
        severity="warning" if load.pressed else "info",
        title=f"{count(lost, 'partition')} of the state {'is' if lost == 1 else 'are'} loaded from the checkpoint in a"
        " batch",
        evidence=(Evidence("loadedMapCacheMissCount", lost, "partitions", ids),),
        cause="A partition's state was not in the memory of the executor that got its task, because executors come"
        " and go or"
        " the task was sent to another one.",
        fix="Keep the number of executors fixed for this query, and let tasks wait longer for the executor that has"
        " their state.",
        code_fix='SparkSession.builder.config("spark.locality.wait", "10s")  # when the session is made',
        link=API + "#state-store-and-task-locality",
    )


def _growth(window: Window) -> tuple[float, float] | None:
    """Return (rows before, rows now) of state that grows without removal all over the window, else None."""
    t = window.t
    totals = known(window.long("state.numRowsTotal"))
    if len(totals) < max(t.min_trend, 10):
        return None
    first, middle, last = totals[0], totals[len(totals) // 2], totals[-1]
    if last < t.state_least or last < t.state_growth * max(first, 1.0):
        return None
    removed = known(window.column("state.numRowsRemoved"))
    if any(removed) or any(after < before for before, after in pairwise(totals)):
        return None
    # Keys that come back fill the state ever more slowly; that ends by itself.
    if last - middle < t.state_steady * (middle - first) or not surely(totals[-60:], t.sure):
        return None
    return first, last


class _Reason(NamedTuple):
    """Why nothing is removed, and what to do."""

    severity: str
    cause: str
    fix: str
    code: str | None
    link: str


_NEW_CHECKPOINT = " A new checkpoint is needed: its state is lost and the source is read again."


def _reason(window: Window) -> _Reason | None:
    facts, last = window.facts, window.last
    if last is None:
        return None
    operators = " ".join(facts.stateful or [one.operatorName or "" for one in last.stateOperators])
    column = column_name(window) or "event_time"
    if facts.outputMode == "complete":
        return _Reason(
            "warning",
            cause="Complete mode writes the whole result each time, so every group is kept for ever.",
            fix="Use update mode (changed results) or append mode (finished results), with a watermark and a window in"
            " the grouping keys." + _NEW_CHECKPOINT,
            code='.outputMode("update")',
            link=API + "#output-modes",
        )
    marked = "watermark" in last.eventTime or bool(facts.watermarks)
    if marked and not _should_have_removed(window):
        return None
    if "ymmetricHashJoin" in operators:
        return _join(column, marked=marked)
    if "dedupe" in operators.lower():
        return _dedupe(column, marked=marked)
    return _aggregation(column, marked=marked)


def _aggregation(column: str, *, marked: bool) -> _Reason:
    code = (
        f'.withWatermark("{column}", "10 minutes").groupBy(F.window("{column}", "5 minutes"), *keys)'
        "  # keys: the columns it groups by now"
    )
    link = API + "#conditions-for-watermarking-to-clean-aggregation-state"
    if marked:
        return _Reason(
            "info",
            cause="The watermark moves and removes nothing: the grouping keys have no event-time column or window, or"
            " withWatermark comes after the aggregation.",
            fix="Put withWatermark before groupBy and a window of the same column into the keys." + _NEW_CHECKPOINT,
            code=code,
            link=link,
        )
    return _Reason(
        "warning",
        cause="The query has no watermark, so Spark cannot know when a group is finished and keeps all of them.",
        fix="Declare a watermark before the aggregation and group by a window of that column as well."
        + _NEW_CHECKPOINT,
        code=code,
        link=link,
    )


def _join(column: str, *, marked: bool) -> _Reason:
    return _Reason(
        "info" if marked else "warning",
        cause="The join has no bound in time, so every row must wait for a partner that may still come."
        if marked
        else "The join has neither watermarks nor a bound in time, so every row of both sides is kept for ever.",
        fix="Declare a watermark on both sides and add a condition on both times." + _NEW_CHECKPOINT,
        code=f'F.expr("left.key = right.key AND'
        f' right.{column} BETWEEN left.{column} AND left.{column} + INTERVAL 1 HOUR")',
        link=API + "#stream-stream-joins",
    )


def _dedupe(column: str, *, marked: bool) -> _Reason:
    # A key with the watermarked column expires as soon as the watermark has passed it: nothing else explains this.
    return _Reason(
        "warning",
        cause="The watermarked column is not among the columns of dropDuplicates, so no key ever expires."
        if marked
        else "dropDuplicates without a watermark must remember every key for ever.",
        fix="Remember a key only as long as copies can come." + _NEW_CHECKPOINT,
        code=("" if marked else f'.withWatermark("{column}", "1 hour")')
        + ".dropDuplicatesWithinWatermark(keys)  # keys: the columns of dropDuplicates",
        link=API + "#streaming-deduplication",
    )


def _should_have_removed(window: Window) -> bool:
    """Whether the watermark has passed all rows of the first third of a long window, by as much again.

    A window may end long after its rows, so a removal is only overdue when the watermark is far beyond them.
    """
    marks, tops = window.long("eventTime.watermark"), window.long("eventTime.max")
    lows = window.long("eventTime.min")
    third = len(marks) // 3
    if len(marks) < window.t.trend_least or not known(marks[-1:]) or not known(tops[:third]) or not known(lows[:third]):
        return False
    newest, oldest = max(known(tops[:third])), min(known(lows[:third]))
    return marks[-1] > newest + (newest - oldest)


def _rocksdb(window: Window) -> bool:
    last = window.last
    return last is not None and any(
        name.startswith("rocksdb") for one in last.stateOperators for name in list(one.customMetrics)[:40]
    )


def _missed(record: Progress) -> float:
    return sum(one.customMetrics.get("loadedMapCacheMissCount", 0.0) for one in record.stateOperators)
