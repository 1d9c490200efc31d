"""The tasks of a batch that has ended: how many, how long, and how long nobody worked."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_streamwatch.spark import fallback
from jupyter_streamwatch.spark.bounded import ask
from jupyter_streamwatch.spark.probe import store
from jupyter_streamwatch.spark.probe.store import Batch, of_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_streamwatch.spark.probe.store import Execution, Job, Store

T = TypeVar("T")

_WINDOWS = (16, 128, 1_024)
"""Newest executions, jobs and stages looked at; Spark keeps 1,000 of each."""
_LATEST = 1.0
"""Seconds to wait for the end of the batch to reach the store: it takes another queue than the progress does."""


def tasks(spark: Any, runId: str, batchId: int | None) -> dict[str, float]:
    """Sum up the tasks of a batch, once it has ended.

    Args:
        spark: a classic session.
        runId: the run's id.
        batchId: the batch's id within the query.

    Returns:
        Values by column name; empty when Spark does not know them (Connect, a batch long ago, a stopped session).

        - ``tasks.count``, ``tasks.failed``: tasks that ended well, and attempts that failed, of all stages that ran.
        - ``tasks.jobs``, ``tasks.stages``: Spark jobs, and stages that ran (a skipped stage did not).
        - ``tasks.runTimeMs``: run time summed over the tasks; ``.median`` and ``.max`` are those of one stage: the one
          that took the longest by the clock, and so are ``tasks.rows.median`` and ``.max``, the rows a task read.
        - ``tasks.gcMs``: garbage collection, summed over the tasks.
        - ``tasks.spillBytes``: bytes spilled to disk. ``tasks.shuffleReadBytes``: bytes read from shuffles.
        - ``tasks.inputRows``: rows read from sources, each time they were read.
        - ``tasks.cachedRdds``: datasets that the application holds in its cache after the batch, whoever cached them.
        - ``tasks.queueMs``: the longest that a stage waited for its first task.
        - ``tasks.busyMs``: time by the clock with at least one task running. Jobs that name no batch (started from a
          thread of a ``foreachBatch`` function, or from a notebook's cell meanwhile) count here, so that a batch that
          works is never taken for one that waits.
    """
    if batchId is None:
        return {}
    empty: dict[str, float] = {}
    return ask(spark, lambda: _read(spark, Batch(runId, batchId)), empty, seconds=5.0)


def _read(spark: Any, batch: Batch) -> dict[str, float]:
    kept = store.of(spark)
    executions = _ended(kept, batch) if kept else []
    if not kept or not executions:
        return {}
    begun = min(execution.submitted for execution in executions if execution.batch == batch)
    ended = max(execution.completed or 0.0 for execution in executions)
    jobs = _jobs(kept, batch, begun)
    mine = of_batch(jobs, batch, {execution.id for execution in executions})
    loose = [job for job in jobs if job.batch is None and job not in mine and begun <= (job.submitted or 0.0) <= ended]
    ids = {stage for job in (*mine, *loose) for stage in job.stages}
    infos = [info for info in _stages(kept, min(ids)) if info["stageId"] in ids] if ids else []
    ran = [info for info in infos if info["firstTaskLaunchedTime"] is not None and info["completionTime"] is not None]
    own = {stage for job in mine for stage in job.stages}
    stages = [info for info in ran if info["stageId"] in own]
    others = [info for info in ran if info["stageId"] not in own]
    return _summary(kept, mine, stages, others, (begun, ended))


def _ended(kept: Store, batch: Batch) -> list[Execution]:
    """Return the batch's SQL executions with those below them once all have ended; none when they are not known."""
    pause = threading.Event()
    until = time.monotonic() + _LATEST
    wait = 0.05
    windows: tuple[int, ...] = _WINDOWS
    while True:
        mine = _executions(kept, batch, windows)
        if mine and all(execution.completed is not None for execution in mine):
            return mine
        if time.monotonic() > until:
            return []
        windows = _WINDOWS if mine else _WINDOWS[:1]  # what is still to come is among the newest
        pause.wait(wait)
        wait *= 2


def _executions(kept: Store, batch: Batch, windows: tuple[int, ...]) -> list[Execution]:
    """Return the batch's SQL executions that are known by now, with those below them."""
    executions: list[Execution] = []
    roots: set[int] = set()
    for window in windows:
        executions = kept.executions(window)
        roots = {execution.root for execution in executions if execution.batch == batch}
        if len(executions) < window or (roots and executions[-1].id <= min(roots)):
            break
    return [execution for execution in executions if execution.root in roots]


def _jobs(kept: Store, batch: Batch, begun: float) -> list[Job]:
    """Return the newest jobs, back to before the batch began."""
    jobs: list[Job] = []
    for window in _WINDOWS:
        jobs = kept.jobs(window)
        if len(jobs) < window or _before(jobs[-1], batch, begun):
            break
    return jobs


def _stages(kept: Store, first: int) -> list[dict[str, Any]]:
    """Return the newest stages, back to the stage ``first``."""
    infos: list[dict[str, Any]] = []
    for window in _WINDOWS:
        infos = kept.stages(window)
        if len(infos) < window or infos[-1]["stageId"] < first:
            break
    return infos


def _before(job: Job, batch: Batch, begun: float) -> bool:
    if job.batch and job.batch.runId == batch.runId:
        return job.batch.batchId is None or job.batch.batchId < (batch.batchId or 0)
    return job.submitted is not None and job.submitted < begun


def _summary(
    kept: Store,
    jobs: list[Job],
    stages: list[dict[str, Any]],
    others: list[dict[str, Any]],
    window: tuple[float, float],
) -> dict[str, float]:
    def total(name: str) -> float:
        return float(sum(info[name] for info in stages))

    values = {
        "tasks.count": total("numCompleteTasks"),
        "tasks.failed": total("numFailedTasks"),
        "tasks.jobs": float(len(jobs)),
        "tasks.stages": float(len(stages)),
        "tasks.runTimeMs": total("executorRunTime"),
        "tasks.gcMs": total("jvmGcTime"),
        "tasks.spillBytes": total("diskBytesSpilled"),
        "tasks.shuffleReadBytes": total("shuffleReadBytes"),
        "tasks.inputRows": total("inputRecords"),
        "tasks.busyMs": _union(
            [
                *(_span(info) for info in stages),
                *((max(first, window[0]), min(last, window[1])) for first, last in map(_span, others)),
            ]
        ),
    }
    waits = [info["firstTaskLaunchedTime"] - info["submissionTime"] for info in stages if info["submissionTime"]]
    cached = _quietly(kept.cached)
    if cached is not None:
        values["tasks.cachedRdds"] = float(cached)
    if waits:
        values["tasks.queueMs"] = float(max(0.0, *waits) if len(waits) > 1 else max(0.0, waits[0]))
    if stages:
        longest = max(stages, key=lambda info: _span(info)[1] - _span(info)[0])
        for name, (median, most) in _spread(kept, longest).items():
            values[f"tasks.{name}.median"], values[f"tasks.{name}.max"] = median, most
    return values


def _spread(kept: Store, info: dict[str, Any]) -> dict[str, tuple[float, float]]:
    if info["numTasks"] == 1 and info["numCompleteTasks"] == 1:
        return {"runTimeMs": (float(info["executorRunTime"]), float(info["executorRunTime"]))}
    return _quietly(lambda: kept.spread(info["stageId"], info["attemptId"])) or {}


def _quietly(question: Callable[[], T]) -> T | None:
    try:
        return question()
    except Exception:
        fallback.taken()
        return None  # the sums are known without it


def _span(info: dict[str, Any]) -> tuple[float, float]:
    return float(info["firstTaskLaunchedTime"]), float(info["completionTime"])


def _union(spans: Iterable[tuple[float, float]]) -> float:
    """Return the length of what the spans cover together."""
    covered, until = 0.0, float("-inf")
    for first, last in sorted(spans):
        covered += max(0.0, last - max(first, until))
        until = max(until, last)
    return covered
