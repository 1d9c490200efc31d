"""The tasks of a batch that has ended."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from jupyter_streamwatch.spark import probe
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, start

pytestmark = pytest.mark.oldest

COLUMNS = {
    "tasks.count",
    "tasks.failed",
    "tasks.jobs",
    "tasks.stages",
    "tasks.runTimeMs",
    "tasks.runTimeMs.median",
    "tasks.runTimeMs.max",
    "tasks.gcMs",
    "tasks.spillBytes",
    "tasks.shuffleReadBytes",
    "tasks.inputRows",
    "tasks.queueMs",
    "tasks.busyMs",
    "tasks.cachedRdds",
    "tasks.rows.median",
    "tasks.rows.max",
}


def run_once(spark: Any, frame: Any, **changes: Any) -> tuple[Any, dict[str, float]]:
    """The progress and the tasks of the only batch of ``frame``."""
    query = start(frame, trigger={"availableNow": True}, **changes)
    query.awaitTermination(90)
    assert query.exception() is None
    progress = query.lastProgress
    return progress, probe.tasks(spark, str(query.runId), progress["batchId"])


def test_a_stateful_batch_of_200_partitions(spark, tmp_path):
    """Every column is there, and their numbers agree with each other and with the progress."""
    add_file(tmp_path / "in", "a.json", [{"n": n} for n in range(50)])
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    try:
        progress, tasks = run_once(spark, files(spark, tmp_path / "in").groupBy("n").count(), mode="update")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert set(tasks) == COLUMNS
    assert tasks["tasks.count"] == 201
    assert (tasks["tasks.failed"], tasks["tasks.jobs"], tasks["tasks.stages"]) == (0, 1, 2)
    assert tasks["tasks.inputRows"] == progress["numInputRows"] == 50
    assert tasks["tasks.shuffleReadBytes"] > 0
    assert tasks["tasks.runTimeMs.median"] <= tasks["tasks.runTimeMs.max"] <= tasks["tasks.runTimeMs"]
    assert 0 < tasks["tasks.busyMs"] <= progress["durationMs"]["addBatch"] + 50
    assert 0 <= tasks["tasks.queueMs"] < progress["durationMs"]["addBatch"]


def test_the_rows_of_the_fullest_task(spark, tmp_path):
    """As the tasks of the longest stage read them from the shuffle."""
    add_file(tmp_path / "in", "a.json", [{"n": 1}] * 90 + [{"n": n} for n in range(2, 12)])

    def slow(groups: Any) -> Any:
        for group in groups:
            time.sleep(0.01 * len(group))
            yield group

    frame = files(spark, tmp_path / "in").repartition(4, "n").mapInPandas(slow, "n long")
    _, tasks = run_once(spark, frame)
    assert tasks["tasks.rows.max"] >= 90 > tasks["tasks.rows.median"]


def test_cached_data_is_counted(spark, tmp_path):
    """What a function caches and does not release."""

    def leave(frame: Any, _batch: int) -> None:
        frame.repartition(4, "n").persist().count()

    add_file(tmp_path / "in", "a.json", [{"n": 1}] * 90 + [{"n": n} for n in range(2, 12)])
    _, before = run_once(spark, files(spark, tmp_path / "in"))
    _, tasks = run_once(spark, files(spark, tmp_path / "in"), each=leave)
    spark.catalog.clearCache()
    assert tasks["tasks.cachedRdds"] == before["tasks.cachedRdds"] + 1


def test_a_driver_that_does_other_things(spark, tmp_path):
    """The time by the clock with a task running leaves out what a foreachBatch function does without Spark."""
    pause = threading.Event()

    def work(frame: Any, _batch: int) -> None:
        frame.collect()
        pause.wait(2.0)

    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    progress, tasks = run_once(spark, files(spark, tmp_path / "in"), each=work)
    assert progress["durationMs"]["addBatch"] >= 2_000
    assert tasks["tasks.busyMs"] <= progress["durationMs"]["addBatch"] - 1_900


def test_jobs_of_threads_count_as_time_only(spark, tmp_path):
    """Jobs from a function's own threads name no batch: not counted as its own, but their time is no idle time."""
    context = spark.sparkContext

    def sleep(_: Any) -> None:
        time.sleep(1.5)

    def work(frame: Any, _batch: int) -> None:
        frame.collect()
        thread = threading.Thread(target=lambda: context.parallelize(range(2), 2).foreach(sleep))
        thread.start()
        thread.join()

    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    progress, tasks = run_once(spark, files(spark, tmp_path / "in"), each=work)
    assert tasks["tasks.jobs"] == 1
    assert tasks["tasks.busyMs"] >= 1_500
    assert tasks["tasks.busyMs"] <= progress["durationMs"]["addBatch"] + 50


def test_each_action_reads_again(spark, tmp_path):
    """Two actions on one frame are two jobs that read the source twice; a group of the user's own hides neither."""
    context = spark.sparkContext

    def work(frame: Any, _batch: int) -> None:
        frame.collect()
        context.setJobGroup("mine", "mine")
        frame.collect()

    add_file(tmp_path / "in", "a.json", [{"n": n} for n in range(5)])
    _, tasks = run_once(spark, files(spark, tmp_path / "in"), each=work)
    assert tasks["tasks.jobs"] == 2
    assert tasks["tasks.inputRows"] == 10


def test_skew_is_seen(spark, tmp_path):
    """One slow task of many: the maximum is far from the median of its stage."""
    context = spark.sparkContext

    def work(frame: Any, _batch: int) -> None:
        frame.collect()
        context.parallelize(range(8), 8).foreach(lambda n: time.sleep(2.0 if n == 3 else 0.01))

    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    _, tasks = run_once(spark, files(spark, tmp_path / "in"), each=work)
    assert tasks["tasks.runTimeMs.max"] >= 2_000
    assert tasks["tasks.runTimeMs.median"] < tasks["tasks.runTimeMs.max"]


def test_a_batch_without_jobs_has_no_tasks(spark, tmp_path):
    """A function that starts no job has zero of everything: that is known, not unknown."""
    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    _, tasks = run_once(spark, files(spark, tmp_path / "in"), each=lambda _frame, _batch: None)
    assert (tasks["tasks.jobs"], tasks["tasks.count"], tasks["tasks.busyMs"]) == (0, 0, 0)
    assert "tasks.queueMs" not in tasks
    assert "tasks.runTimeMs.median" not in tasks


def test_batches_are_told_apart(spark, tmp_path):
    """Each batch of a run has tasks of its own, and a batch or run that Spark does not know has none."""
    for number in range(3):
        add_file(tmp_path / "in", f"{number}.json", [{"n": n} for n in range(number + 1)])
    frame = files(spark, tmp_path / "in", maxFilesPerTrigger=1)
    query = start(frame, trigger={"availableNow": True})
    query.awaitTermination(60)
    rows = {p["batchId"]: p["numInputRows"] for p in query.recentProgress if p["numInputRows"]}
    assert len(rows) == 3
    for batch, count in rows.items():
        assert probe.tasks(spark, str(query.runId), batch)["tasks.inputRows"] == count
    assert probe.tasks(spark, str(query.runId), 99) == {}
    assert probe.tasks(spark, str(query.runId), None) == {}


def test_a_failed_attempt_is_counted(spark, tmp_path):
    """A batch whose job failed has failed tasks, though it reports no progress."""
    context = spark.sparkContext

    def work(_frame: Any, _batch: int) -> None:
        context.parallelize(range(2), 2).foreach(lambda n: 1 // n)

    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    query = start(files(spark, tmp_path / "in"), each=work, trigger={"availableNow": True})
    wait_until(lambda: not query.isActive, 60)
    assert probe.tasks(spark, str(query.runId), 0)["tasks.failed"] >= 1
