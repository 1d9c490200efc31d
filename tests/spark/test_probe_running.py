"""The batch that runs now: its tasks are seen moving, whatever the query's code does with jobs and threads."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from jupyter_streamwatch.model.history import RunningBatch
from jupyter_streamwatch.spark import probe
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, start

pytestmark = pytest.mark.oldest


def look(spark: Any, query: Any, before: RunningBatch | None = None) -> RunningBatch | None:
    return probe.running(spark, str(query.runId), before)


def sleeping(seconds: float) -> Any:
    def sleep(_: Any) -> None:
        time.sleep(seconds)

    return sleep


def looks_until_done(spark: Any, query: Any, timeout: float = 90.0) -> list[RunningBatch]:
    """Every different look at the query's first batch, until it has ended."""
    seen: list[RunningBatch] = []

    def ended() -> bool:
        found = look(spark, query, seen[-1] if seen else None)
        if found is not None and found.batchId in (0, None):
            seen.append(found)
        return bool(query.lastProgress) or not query.isActive

    wait_until(ended, timeout, "the batch did not end")
    return seen


def test_tasks_are_seen_moving(spark, tmp_path):
    """In a batch of many seconds the count of done tasks rises step by step to the total, and the clock runs."""
    context = spark.sparkContext

    def work(_frame: Any, _batch: int) -> None:
        context.parallelize(range(24), 24).foreach(sleeping(0.5))

    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    before = time.time() * 1_000
    query = start(files(spark, tmp_path / "in"), each=work, trigger={"availableNow": True})
    seen = looks_until_done(spark, query)
    done = [found.tasksDone for found in seen if found.tasksTotal]
    assert {found.tasksTotal for found in seen if found.tasksTotal} == {24}
    assert done == sorted(done)
    assert len(set(done)) >= 4
    assert {found.batchId for found in seen} == {0}
    assert all(before - 1_000 <= found.started <= found.seen for found in seen)
    assert len({found.started for found in seen}) <= 2  # the first job may be seen after the batch
    assert all(found.tasksFailed == 0 for found in seen)
    moved = [found for found, last in zip(seen[1:], seen, strict=False) if found.tasksDone != last.tasksDone]
    assert all(found.lastTaskEnd == found.seen for found in moved)
    still = [(found, last) for found, last in zip(seen[1:], seen, strict=False) if found.tasksDone == last.tasksDone]
    assert all(found.lastTaskEnd == last.lastTaskEnd for found, last in still)
    assert query.awaitTermination(60)
    assert look(spark, query) is None


def test_jobs_count_whoever_names_them(spark, tmp_path):
    """Jobs under a group of the user's own belong to the batch that started them; they are added as they come."""
    context = spark.sparkContext
    go = threading.Event()

    def work(frame: Any, _batch: int) -> None:
        frame.collect()
        context.setJobGroup("mine", "a description of mine")
        context.parallelize(range(3), 3).count()
        frame.sparkSession.range(4, numPartitions=4).repartition(2).collect()
        go.wait(60)

    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    query = start(files(spark, tmp_path / "in"), each=work, trigger={"availableNow": True})
    try:
        found = wait_until(lambda: _all_done(look(spark, query), jobs=3), 60, "three jobs of one batch")
        assert found.batchId == 0
    finally:
        go.set()
    query.awaitTermination(60)


def _all_done(found: RunningBatch | None, jobs: int) -> RunningBatch | None:
    return found if found and found.jobs >= jobs and 0 < found.tasksTotal == found.tasksDone else None


def _at_least(found: RunningBatch | None, jobs: int, tasks: int) -> RunningBatch | None:
    return found if found and found.jobs >= jobs and found.tasksDone >= tasks else None


def test_a_batch_without_any_job_runs_too(spark, tmp_path):
    """A foreachBatch function that only waits is a running batch with no task."""
    go = threading.Event()
    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    query = start(
        files(spark, tmp_path / "in"), each=lambda _frame, _batch: go.wait(60), trigger={"availableNow": True}
    )
    try:
        found = wait_until(lambda: look(spark, query), 60, "a running batch")
        assert (found.batchId, found.jobs, found.tasksTotal, found.tasksDone) == (0, 0, 0, 0)
        assert found.started is not None
        assert found.lastTaskEnd is None
    finally:
        go.set()
    query.awaitTermination(60)


def test_two_queries_are_told_apart(spark, tmp_path):
    """The tasks of another query that runs at the same time are not counted."""
    context = spark.sparkContext
    go = threading.Event()

    def each(tasks: int) -> Any:
        def work(_frame: Any, _batch: int) -> None:
            context.parallelize(range(tasks), tasks).count()
            go.wait(60)

        return work

    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    frame = files(spark, tmp_path / "in")
    queries = [start(frame, each=each(tasks), trigger={"availableNow": True}) for tasks in (3, 5)]
    try:
        for query, tasks in zip(queries, (3, 5), strict=True):
            found = wait_until(lambda query=query: _at_least(look(spark, query), jobs=1, tasks=3), 60)
            assert found.tasksTotal == tasks
    finally:
        go.set()
    for query in queries:
        query.awaitTermination(60)


def test_nothing_runs_between_batches(spark, tmp_path):
    """A query that waits for data runs no batch, and neither does an unknown run."""
    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    query = start(files(spark, tmp_path / "in"))
    wait_until(lambda: query.lastProgress, 60, "a batch")
    wait_until(lambda: look(spark, query) is None)
    assert probe.running(spark, "00000000-0000-0000-0000-000000000000") is None


def test_the_count_is_remembered_between_looks(spark):
    """When the count of done tasks last changed is carried from look to look of one batch, not into the next."""
    from jupyter_streamwatch.spark.probe.running_batch import _since

    first = RunningBatch("run", 3, 1_000.0, 1, 10, 0, 2, 0, seen=2_000.0)
    assert _since(None, first).lastTaskEnd is None
    moved = _since(first, replace(first, tasksDone=1, seen=2_500.0))
    assert moved.lastTaskEnd == 2_500.0
    assert _since(moved, replace(first, tasksDone=1, seen=3_000.0)).lastTaskEnd == 2_500.0
    assert _since(moved, replace(first, batchId=4, seen=4_000.0)).lastTaskEnd is None
    assert _since(replace(first, started=900.0), replace(first, started=1_200.0)).started == 900.0


def test_without_the_store_the_public_tracker_answers(spark, tmp_path, monkeypatch):
    """Where Spark's private names have gone, jobs and tasks are still counted, without the batch."""
    from jupyter_streamwatch.spark.probe import store

    monkeypatch.setattr(store, "of", lambda _spark: 1 / 0)
    context = spark.sparkContext

    go = tmp_path / "go"

    def wait(_: Any) -> None:
        while not go.exists():
            time.sleep(0.05)

    def work(_frame: Any, _batch: int) -> None:
        context.parallelize(range(4), 4).foreach(wait)

    def counted() -> RunningBatch | None:
        found = look(spark, query)
        return found if found and found.tasksTotal else None  # a stage is known a moment after its job

    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    query = start(files(spark, tmp_path / "in"), each=work, trigger={"availableNow": True})
    try:
        found = wait_until(counted, 60, "a running batch")
        assert (found.batchId, found.jobs, found.tasksTotal, found.tasksDone) == (None, 1, 4, 0)
    finally:
        go.touch()
    query.awaitTermination(60)
