"""Rules about state: slow commits, snapshots that lag, memory, reloading."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.measure import (
    Slow,
    at_once,
    batch_time,
    begins_anew,
    count,
    gathered,
    matters,
    seen,
    shorter,
    version,
)
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.model.statistics import held, median
from jupyter_streamwatch.text.numbers import duration, size

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.progress import Progress

_ROCKSDB = (
    'spark.conf.set("spark.sql.streaming.stateStore.providerClass",'
    ' "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")'
    "  # before start(), with a new checkpointLocation"
)
_UPLOADED = "SnapshotLastUploaded.partition_"
_CHANGELOG = 'spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")'


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
    fix, code = _quicker(window)
    return Hint(
        code="state-commit-slow",
        severity=level,
        title=f"Saving the state takes at least {duration(slow.ms)} of {duration(slow.of)} a batch",
        evidence=evidence,
        cause="Each batch writes the changes of the state to the checkpoint and waits for it.",
        fix=fix,
        code_fix=code,
        effect=None if slow.batches else shorter(window, slow.ms, low=0.3),
        link=API + "#rocksdb-state-store-implementation",
        share=min(slow.ms / slow.of, 1.0) if slow.of else None,
    )


def _quicker(window: Window) -> tuple[str, str | None]:
    """Return (fix, code) for slow commits, as far as this version of Spark has them."""
    spark = version(window)
    changes = spark is None or spark >= (3, 5)
    since = "" if spark is not None else " (Spark 3.5 and later)"
    if _rocksdb(window):
        if changes:
            fix = f"Write only the changes of a batch, and snapshots in the background: changelog checkpointing{since}."
            return fix, _CHANGELOG
        return "Put the checkpoint on faster storage, or upgrade to Spark 3.5 for changelog checkpointing.", None
    if spark is not None and spark < (3, 2):
        return "Put the checkpoint on faster storage.", None
    changelog = f" with changelog checkpointing{since}" if changes else ""
    fix = f"Put the checkpoint on faster storage, or keep the state in RocksDB{changelog}."
    return fix + _pinned(window), _ROCKSDB + (f"\n{_CHANGELOG}" if changes else "")


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
    spark = version(window)
    old = spark is not None and spark < (3, 2)
    counted = any(one.customMetrics for one in last.stateOperators)  # by their names they tell the provider
    return Hint(
        code="state-memory",
        severity="warning" if load.pressed else "info",
        title=f"The state takes {size(used)} in the memory of the executors' JVM",
        evidence=(Evidence("memoryUsedBytes", used, "bytes", ids), Evidence("numRowsTotal", rows, "rows", ids)),
        cause=("The" if counted else "Unless it is in RocksDB, which these records do not tell: the")
        + " default provider keeps all state, in several versions, in the heap, where garbage collection walks it.",
        fix="Keep fewer rows in the state, or give the executors more memory."
        if old
        else "Keep the state in RocksDB." + _pinned(window),
        code_fix=None if old else _ROCKSDB,
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


@rule("snapshot-upload-lag", "Snapshots of the state are uploaded far too rarely.")
def snapshot_upload_lag(window: Window, load: Load) -> Hint | None:
    """Raise when the last snapshot of a partition's state is many batches and minutes old, as Spark itself warns.

    Spark names the few partitions that are furthest behind, by the version of their last snapshot: the one after
    batch 41 is 42. A partition without any yet has no version.
    """
    del load
    last, t = window.last, window.t
    if last is None or last.batchId is None:
        return None
    uploaded = [
        (snapshot, name.removeprefix(_UPLOADED))
        for operator in last.stateOperators
        for name, snapshot in operator.customMetrics.items()
        if name.startswith(_UPLOADED) and snapshot <= last.batchId + 1
    ]
    if not uploaded:
        return None
    snapshot, store = min(uploaded)
    behind = last.batchId + 1 - snapshot
    age = _age(window, snapshot)
    if behind < t.snapshot_lag or age is None or age < t.snapshot_age:
        return None
    partition = store.partition("_")[0]
    ids = (last.batchId,)
    return Hint(
        code="snapshot-upload-lag",
        severity="warning",
        title=f"The last snapshot of the state of partition {partition} is {count(behind, 'batch', 'es')} old",
        evidence=(
            Evidence(f"{_UPLOADED}{store}", snapshot, "", ids),
            Evidence("batches since then", behind, "", ids),
            Evidence("time since then, at least", age, "ms", ids),
        ),
        cause="Snapshots are uploaded in the background, every ten batches unless it is set otherwise; that lags or"
        " fails here. Whoever loads this partition again must first replay all changes since its last snapshot.",
        fix="Look in the executors' logs for errors of the state store's maintenance, at the storage of the checkpoint,"
        " and whether executors come and go before their upload is done.",
        link=API + "#rocksdb-state-store-implementation",
    )


def _pinned(window: Window) -> str:
    return f" The provider is pinned in the checkpoint; with a new one {begins_anew(window)}."


def _age(window: Window, snapshot: float) -> float | None:
    """Return how many ms ago, at least, the batch that made this version of the state began; None when unknown."""
    ids, starts = window.column("batchId"), window.column("timestamp")
    seen = [start for batch, start in zip(ids, starts, strict=True) if batch >= snapshot - 1 and start > 0]
    return seen[-1] - seen[0] if seen else None


def _rocksdb(window: Window) -> bool:
    last = window.last
    return last is not None and any(
        name.startswith("rocksdb") for one in last.stateOperators for name in list(one.customMetrics)[:40]
    )


def _missed(record: Progress) -> float:
    return sum(one.customMetrics.get("loadedMapCacheMissCount", 0.0) for one in record.stateOperators)
