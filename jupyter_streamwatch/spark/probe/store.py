"""Spark's own record of SQL executions, jobs and stages: kept in the JVM, with the web UI on or off.

Which query and batch a job belongs to is said by its description, or by the SQL execution at the root of its own:
a ``foreachBatch`` function may set a job group of its own, and the root still names the batch. Jobs that a function
starts from threads of its own name neither.
"""

from __future__ import annotations

import re
import weakref
from dataclasses import dataclass
from typing import Any

from jupyter_streamwatch.spark import jvm

_EXECUTIONS = "org.apache.spark.sql.execution.ui.SQLExecutionUIData"
_JOBS = "org.apache.spark.status.JobDataWrapper"
_STAGES = "org.apache.spark.status.StageDataWrapper"
_BATCH = re.compile(r"\brunId = (?P<runId>[0-9a-f-]{36})\s+batch = (?P<batch>\d+|init)\s*$")


@dataclass(frozen=True)
class Batch:
    """What a description says of the streaming batch it belongs to; no id before a run's first batch."""

    runId: str
    batchId: int | None


@dataclass(frozen=True)
class Execution:
    """A SQL execution; times in epoch ms, ``completed`` None while it runs."""

    id: int
    root: int
    batch: Batch | None
    submitted: float
    completed: float | None


@dataclass(frozen=True)
class Job:
    """A job; ``execution`` is the SQL execution it runs for, ``total`` leaves out tasks of skipped stages."""

    id: int
    batch: Batch | None
    group: str | None
    execution: int | None
    running: bool
    submitted: float | None
    stages: tuple[int, ...]
    total: int
    done: int
    active: int
    failed: int


class Store:
    """Reads Spark's status store; every method may raise, whatever py4j and Spark raise.

    What is asked for is kept as views in the JVM, which look anew each time they are read: a look takes a handful of
    round trips.
    """

    def __init__(self, gateway: Any, context: Any) -> None:
        """Open the store of a context.

        Args:
            gateway: py4j's gateway to the JVM.
            context: the Java ``SparkContext``.
        """
        self._gateway = gateway
        self._status = context.statusStore()
        self._kept = self._status.store()
        self._to_data = jvm.to_data(gateway)
        self._views: dict[tuple[str, int, str], Any] = {}
        self._quantiles = _doubles(gateway, (0.5, 1.0))

    def executions(self, newest: int) -> list[Execution]:
        """Return the newest SQL executions, newest first."""
        return [_execution(data) for data in self._read(_EXECUTIONS, newest)]

    def running_executions(self) -> list[Execution]:
        """Return the SQL executions that have not ended."""
        running: list[Execution] = []
        for most in (8, 200):
            data = self._read(_EXECUTIONS, most, "completionTime")  # -1 while it runs: those come first
            running = [execution for execution in map(_execution, data) if execution.completed is None]
            if len(running) < most:
                break
        return running

    def jobs(self, newest: int) -> list[Job]:
        """Return the newest jobs, newest first."""
        return [_job(data) for data in self._read(_JOBS, newest)]

    def stages(self, newest: int) -> list[dict[str, Any]]:
        """Return Spark's ``StageData`` of the newest stages' attempts, newest first."""
        return [data["info"] for data in self._read(_STAGES, newest)]

    def cached(self) -> int:
        """Return how many RDDs the context holds in its cache."""
        return int(self._status.rddList(True).size())

    def spread(self, stage: int, attempt: int) -> dict[str, tuple[float, float]]:
        """Return median and maximum over the tasks of a completed stage; empty when Spark keeps none.

        ``runTimeMs`` is their run time; ``rows`` are those that a task read, from a source or from a shuffle, and are
        left out where nothing counted them.
        """
        summary = self._to_data(self._status.taskSummary(stage, attempt, self._quantiles))
        if not summary:
            return {}
        shuffled, read = summary["shuffleReadMetrics"]["readRecords"], summary["inputMetrics"]["recordsRead"]
        rows = shuffled if max(shuffled) > 0 else read
        found = {"runTimeMs": summary["executorRunTime"]} | ({"rows": rows} if max(rows) > 0 else {})
        return {name: (float(median), float(most)) for name, (median, most) in found.items()}

    def _read(self, name: str, most: int, index: str = "") -> list[dict[str, Any]]:
        view = self._views.get((name, most, index))
        if view is None:
            view = self._kept.view(jvm.java_class(self._gateway, name))
            view = (view.index(index) if index else view.reverse()).max(most)
        found: list[dict[str, Any]] = self._to_data(view)
        if found:  # a view made before there was anything to see stays empty for ever
            self._views[name, most, index] = view
        return found


_stores: weakref.WeakKeyDictionary[Any, Store] = weakref.WeakKeyDictionary()


def of(spark: Any) -> Store | None:
    """Return the store of a session's context; None when there is no JVM in this process, or it has ended."""
    gateway = jvm.gateway(spark)
    if gateway is None:
        return None
    context = spark.sparkContext
    if context not in _stores:
        _stores[context] = Store(gateway, context._jsc.sc())  # noqa: SLF001 - there is no public way
    return _stores[context]


def _doubles(gateway: Any, numbers: tuple[float, ...]) -> Any:
    array = gateway.new_array(gateway.jvm.double, len(numbers))
    for index, number in enumerate(numbers):
        array[index] = number
    return array


def batch_of(description: str | None) -> Batch | None:
    """Return the batch that a description of a job or an execution names, if it does.

    Spark writes the query's name, then ``id = ...``, ``runId = ...`` and ``batch = N`` on lines of their own; the end
    of the text counts, as the name is anything.
    """
    found = _BATCH.search(description or "")
    if found is None:
        return None
    return Batch(found["runId"], None if found["batch"] == "init" else int(found["batch"]))


def of_batch(jobs: list[Job], batch: Batch, executions: set[int]) -> list[Job]:
    """Pick the jobs of a batch: by their own description, else by the SQL execution that they run for."""
    return [job for job in jobs if job.batch == batch or (job.batch is None and job.execution in executions)]


def _execution(data: dict[str, Any]) -> Execution:
    root = data.get("rootExecutionId")
    return Execution(
        id=data["executionId"],
        root=data["executionId"] if root is None else root,
        batch=batch_of(data["description"]),
        submitted=data["submissionTime"],
        completed=data["completionTime"],
    )


def _job(data: dict[str, Any]) -> Job:
    info = data["info"]
    total = info["numTasks"] - info["numSkippedTasks"]
    return Job(
        id=info["jobId"],
        batch=batch_of(info["description"]),
        group=info["jobGroup"],
        execution=data["sqlExecutionId"],
        running=info["status"] == "RUNNING",
        submitted=info["submissionTime"],
        stages=tuple(info["stageIds"]),
        total=total,
        done=info["numCompletedTasks"],
        active=max(0, min(info["numActiveTasks"], total - info["numCompletedTasks"])),
        failed=info["numFailedTasks"],
    )
