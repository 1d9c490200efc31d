"""Modes, named sources and shared folders on a real Spark: what is said before a restart is what it then does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.notebook.guard import NotStartedError, guarding
from jupyter_streamwatch.summary.checkpoint import sheet
from tests.helpers import wait_until
from tests.spark.checkpoint_queries import ROWS, SCHEMA
from tests.spark.queries import add_file

if TYPE_CHECKING:
    from pathlib import Path

NAMES = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
ASYNCHRONOUS = {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "1500"}


def logged(folder: Path, log: str = "commits") -> list[int]:
    """Ids of the entries of a log."""
    return sorted(int(path.name) for path in (folder / log).glob("[0-9]*"))


def failure(query: Any) -> str:
    """How a query ends: its error, or nothing."""
    try:
        query.awaitTermination(60)
    except Exception as error:
        return str(error)
    return ""


def test_a_continuous_checkpoint(spark: Any, tmp_path: Path, watch: Any) -> None:
    """It goes on in continuous mode, and another trigger fails on it: plan, comparison and guard say so before."""
    folder = tmp_path / "c"

    def writer(**trigger: Any) -> Any:
        frame = spark.readStream.format("rate").load()
        return frame.writeStream.format("noop").option("checkpointLocation", str(folder)).trigger(**trigger)

    query = writer(continuous="1 second").start()
    wait_until(lambda: len(logged(folder)) > 1, 60)
    query.stop()
    last = logged(folder)[-1]
    found = sw.checkpoint(folder)
    plan = found.restart()
    assert (plan.batchId, plan.replay, plan.blocked) == (last + 1, None, None)
    assert "NullPointerException" in found.restart(trigger="availableNow").blocked
    (change,) = found.compare(writer(availableNow=True))
    assert (change.what, change.verdict) == ("trigger", "not-allowed")
    with guarding(), pytest.raises(NotStartedError):
        writer(availableNow=True).start()
    assert failure(writer(availableNow=True).start())
    query = writer(continuous="1 second").start()
    wait_until(lambda: last + 1 in logged(folder), 60)
    query.stop()


def test_asynchronous_progress_tracking(spark: Any, tmp_path: Path, watch: Any) -> None:
    """With the option the start goes on after the newest entry, batches that ran come again; without it, it fails."""
    folder = tmp_path / "c"

    def writer(**options: str) -> Any:
        frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
        writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder)).options(**options)
        return writer.trigger(processingTime="200 milliseconds")

    query = writer(**ASYNCHRONOUS).start()
    wait_until(lambda: len(logged(folder)) > 1 and logged(folder)[-1] - 1 not in logged(folder, "offsets"), 60)
    wait_until(lambda: query.lastProgress["batchId"] > logged(folder)[-1], 60)
    query.stop()
    last = logged(folder)[-1]
    found = sw.checkpoint(folder)
    if last - 1 not in found.offsets:  # an entry may have come while the query stopped; never two in a row
        assert (found.restart().batchId, found.restart().replay) == (last + 1, None)
        assert found.restart(options={}).blocked.startswith(f"offsets/{last - 1} is missing")
        assert ("conf", "not-allowed") in [(change.what, change.verdict) for change in found.compare(writer())]
        assert f"batch {last - 1} doesn't exist" in failure(writer().start())
    query = writer(**ASYNCHRONOUS).start()
    wait_until(lambda: query.lastProgress, 60)
    assert query.recentProgress[0]["batchId"] == last + 1
    query.stop()


def test_named_sources_come_and_go(spark: Any, tmp_path: Path) -> None:
    """An unchanged restart, another order, one more and one less: all run with the right rows, as is said."""
    try:
        spark.conf.get(NAMES)
    except Exception:
        pytest.skip("this Spark has no named sources")
    for name in "abc":
        add_file(tmp_path / name, "1.json", ROWS[:1])
    rows: list[int] = []

    def writer(names: str) -> Any:
        frames = [spark.readStream.schema(SCHEMA).name(name).json(str(tmp_path / name)) for name in names]
        frame = frames[0]
        for other in frames[1:]:
            frame = frame.union(other)
        writer = frame.writeStream.foreachBatch(lambda batch, _: rows.append(len(batch.collect())))
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)

    spark.conf.set(NAMES, "true")
    try:
        assert failure(writer("ab").start()) == ""
        for number, (names, verdicts) in enumerate(
            {"ab": [], "ba": [], "abc": ["allowed"], "ac": ["allowed"]}.items(), start=2
        ):
            add_file(tmp_path / "a", f"{number}.json", ROWS[:1])
            found = sw.checkpoint(tmp_path / "checkpoint")
            assert found.restart().blocked is None
            changes = found.compare(writer(names))
            assert [change.verdict for change in changes] == verdicts
            with guarding():
                assert failure(writer(names).start()) == ""
        assert rows == [2, 1, 1, 2, 1]
    finally:
        spark.conf.unset(NAMES)


def test_a_new_checkpoint_over_an_old_folder(spark: Any, tmp_path: Path, watch: Any) -> None:
    """The guard stops it; started all the same, its first batches are not written, and plan and card say so."""
    for number in range(2):
        add_file(tmp_path / "in", f"{number}.json", ROWS[:1])

    def writer(name: str) -> Any:
        frame = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
        writer = frame.writeStream.format("json").option("path", str(tmp_path / "out"))
        return writer.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True)

    assert failure(writer("one").start()) == ""
    with guarding():
        assert failure(writer("one").start()) == ""
        with pytest.raises(NotStartedError, match="committed without being written"):
            writer("two").start()
    query = writer("two").start()
    assert failure(query) == ""
    assert spark.read.json(str(tmp_path / "out")).count() == 2
    plan = sw.checkpoint(tmp_path / "two").restart()
    assert "before this checkpoint planned" in plan.unwritten
    assert "xactly-once" not in str(plan)
    history = watch.queries[query]
    wait_until(lambda: history.checkpoint is not None and history.checkpoint.unwritten, 30)
    assert "not written" in sheet(history).summary


def test_another_table_is_stopped(spark: Any, tmp_path: Path, watch: Any) -> None:
    """``toTable`` to another table lacks the earlier batches; to the same one nothing is said."""
    add_file(tmp_path / "in", "1.json", ROWS)
    for table in ("first", "second"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")
        place = tmp_path / table
        spark.sql(
            f"CREATE TABLE {table} (id INT, city STRING, amount DOUBLE, ts TIMESTAMP) USING parquet LOCATION '{place}'"
        )

    def writer() -> Any:
        frame = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
        return frame.writeStream.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)

    assert failure(writer().toTable("first")) == ""
    with guarding():
        assert failure(writer().toTable("first")) == ""
        with pytest.raises(NotStartedError, match="lacks the results of the earlier batches"):
            writer().toTable("second")


def test_the_memory_sink_is_refused(spark: Any, tmp_path: Path, watch: Any) -> None:
    """Spark refuses to recover it in append mode: plan and guard say so before."""
    add_file(tmp_path / "in", "1.json", ROWS)
    frame = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    writer = frame.writeStream.format("memory").queryName("kept").option("checkpointLocation", str(tmp_path / "c"))
    writer = writer.trigger(availableNow=True)
    assert failure(writer.start()) == ""
    assert "the memory sink recovers no checkpoint" in sw.checkpoint(tmp_path / "c").restart().blocked
    with guarding(), pytest.raises(NotStartedError):
        writer.start()
    with pytest.raises(Exception, match="does not support recovering"):
        writer.start()
