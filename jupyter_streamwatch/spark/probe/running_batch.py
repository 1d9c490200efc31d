"""The batch that runs right now: its jobs and how far their tasks are."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from jupyter_streamwatch.model.history import RunningBatch, Status
from jupyter_streamwatch.spark import fallback, jvm
from jupyter_streamwatch.spark.bounded import ask
from jupyter_streamwatch.spark.probe import store
from jupyter_streamwatch.spark.probe.store import Batch, Job, Store, of_batch

_RUNS = "Processing new data"  # Spark's status message from before a batch is planned until its sink has returned

_WINDOWS = (16, 128, 1_024)
"""Newest jobs looked at, until one is older than the batch. Spark keeps 1,000 (``spark.ui.retainedJobs``)."""


def running(spark: Any, runId: str, before: RunningBatch | None = None) -> RunningBatch | None:
    """Look at the batch that a run works on now.

    A batch runs while its SQL execution has not ended, also when its ``foreachBatch`` function does something else
    than Spark jobs. A job that is known to belong to the batch counts, whatever job group it has. The total grows
    while the batch runs: adaptive execution and ``foreachBatch`` add jobs as they go.

    Args:
        spark: a classic session.
        runId: the run's id.
        before: what the last look returned; tells when the number of done tasks last changed.

    Returns:
        What is known, or None when no batch runs or Spark does not say (Connect, a stopped session).
    """
    return ask(spark, lambda: _look(spark, runId, before), None, seconds=2.0)


def by_status(
    status: Status | None, runId: str, batchId: int | None, before: RunningBatch | None
) -> RunningBatch | None:
    """Tell the running batch by Spark's status, where nothing tells of its tasks (Connect).

    Its start is the first look that saw it: it runs at least since then.

    Args:
        status: the query's status as just asked.
        runId: the run's id.
        batchId: the batch that follows the last one reported; None when none is.
        before: what the last look returned.
    """
    if status is None or not status.isTriggerActive or status.message != _RUNS:
        return None
    same = before is not None and (before.runId, before.batchId) == (runId, batchId)
    started = before.started if before is not None and same else status.seen
    return RunningBatch(runId, batchId, started=started, seen=status.seen)


def _look(spark: Any, runId: str, before: RunningBatch | None) -> RunningBatch | None:
    if jvm.gateway(spark) is None:
        return None
    try:
        kept = store.of(spark)
        found = _from_store(kept, runId) if kept else None
    except Exception:
        fallback.taken()
        found = _from_tracker(spark, runId)
    return _since(before, found) if found else None


def _from_store(kept: Store, runId: str) -> RunningBatch | None:
    roots = [e for e in kept.running_executions() if e.id == e.root and e.batch and e.batch.runId == runId]
    batch = max(roots, key=lambda root: root.id).batch if roots else None
    roots = [root for root in roots if root.batch == batch]
    begun = min((root.submitted for root in roots), default=None)
    jobs: list[Job] = []
    for window in _WINDOWS:
        jobs = kept.jobs(window)
        if batch is None:  # a source that asks for its offsets runs jobs before the batch is executed
            batch = next((job.batch for job in jobs if job.running and job.batch and job.batch.runId == runId), None)
        if batch is None or len(jobs) < window or _older(jobs[-1], batch, begun):
            break
    if batch is None:
        return None
    mine = of_batch(jobs, batch, _below(kept, jobs, {root.id for root in roots}))
    starts = [job.submitted for job in mine if job.submitted is not None]
    return RunningBatch(
        runId=runId,
        batchId=batch.batchId,
        started=min([*starts, *(root.submitted for root in roots)], default=None),
        jobs=len(mine),
        tasksTotal=sum(job.total for job in mine),
        tasksDone=sum(job.done for job in mine),
        tasksRunning=sum(job.active for job in mine if job.running),
        tasksFailed=sum(job.failed for job in mine),
        seen=time.time() * 1_000.0,
        lastTaskEnd=None,
    )


def _older(job: Job, batch: Batch, begun: float | None) -> bool:
    """Say whether a job is from before the batch."""
    if job.batch and job.batch.runId == batch.runId:
        return job.batch != batch
    return begun is not None and job.submitted is not None and job.submitted < begun


def _below(kept: Store, jobs: list[Job], roots: set[int]) -> set[int]:
    """Return the executions below those of a batch; they are asked for only when a job does not name its batch."""
    if not roots or all(job.batch is not None or job.execution is None for job in jobs):
        return roots
    return roots | {
        execution.id
        for execution in kept.executions(_WINDOWS[-1] if len(jobs) > _WINDOWS[0] else _WINDOWS[1])
        if execution.root in roots
    }


def _from_tracker(spark: Any, runId: str) -> RunningBatch | None:
    """Count the tasks of the run's active jobs by the public status tracker; it does not tell the batch."""
    tracker = spark.sparkContext.statusTracker()
    active = set(tracker.getActiveJobsIds()) & set(tracker.getJobIdsForGroup(runId))
    infos = [info for job in active if (info := tracker.getJobInfo(job))]
    stages = [stage for info in infos for id in info.stageIds if (stage := tracker.getStageInfo(id))]
    if not infos:
        return None
    return RunningBatch(
        runId=runId,
        batchId=None,
        started=None,
        jobs=len(infos),
        tasksTotal=sum(stage.numTasks for stage in stages),
        tasksDone=sum(stage.numCompletedTasks for stage in stages),
        tasksRunning=sum(stage.numActiveTasks for stage in stages),
        tasksFailed=sum(stage.numFailedTasks for stage in stages),
        seen=time.time() * 1_000.0,
        lastTaskEnd=None,
    )


def _since(before: RunningBatch | None, now: RunningBatch) -> RunningBatch:
    """Tell when the number of done tasks last changed, as far as was seen."""
    if before is None or (before.runId, before.batchId) != (now.runId, now.batchId):
        return replace(now, lastTaskEnd=now.seen if now.tasksDone else None)
    started = before.started if now.started is None else min(before.started or now.started, now.started)
    same = before.tasksDone == now.tasksDone
    return replace(now, started=started, lastTaskEnd=before.lastTaskEnd if same else now.seen)
