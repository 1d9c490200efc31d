"""The guard on PySpark's own writers, and the card of a checkpoint that a real query wrote."""

from __future__ import annotations

import pytest
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jupyter_streamwatch.notebook.guard import NotStartedError, guarding
from jupyter_streamwatch.spark.writer import checkpoint_of
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, rate, start


def counts(spark, here, key: str):
    """A running count of the files in ``here/in``, before its start."""
    frame = files(spark, here / "in", "city STRING, country STRING").groupBy(key).count()
    return frame.writeStream.outputMode("update").format("noop").trigger(availableNow=True)


def run(writer, here, **options) -> None:
    writer.start(checkpointLocation=str(here / "checkpoint"), **options).awaitTermination()


@pytest.mark.oldest
def test_where_the_checkpoint_is_going_to_be(spark, tmp_path):
    """The option in any case, else the query's name under the session's setting, else a temporary one."""
    writer = rate(spark).writeStream.format("noop")
    assert checkpoint_of(writer) is None
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path))
    try:
        assert checkpoint_of(writer) is None
        assert checkpoint_of(writer.queryName("orders")) == f"{tmp_path}/orders"
        assert checkpoint_of(writer.option("CHECKPOINTlocation", "/c")) == "/c"
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")


@pytest.mark.oldest
def test_the_guard_stops_what_spark_would_run_wrong(spark, tmp_path):
    """``city`` -> ``country`` is not started, ``city`` again is; afterwards the calls are PySpark's own."""
    own = DataStreamWriter.start, DataStreamWriter.toTable
    add_file(tmp_path / "in", "a.json", [{"city": "Delhi", "country": "India"}])
    said: list[str] = []
    with guarding(said.append):
        run(counts(spark, tmp_path, "city"), tmp_path)
        with pytest.raises(NotStartedError) as refused:
            run(counts(spark, tmp_path, "country"), tmp_path, queryName="changed")
        run(counts(spark, tmp_path, "city"), tmp_path)
    assert "grouping-keys: city → country" in str(refused.value)
    assert not spark.streams.active
    assert said == []
    assert (DataStreamWriter.start, DataStreamWriter.toTable) == own


def test_another_output_path_is_stopped(spark, tmp_path, watch):
    """The path that ``start`` is given counts: the folder of another run would lack the earlier batches."""
    add_file(tmp_path / "in", "a.json", [{"city": "Delhi", "country": "India"}])

    def write(path: str) -> None:
        writer = files(spark, tmp_path / "in", "city STRING, country STRING").writeStream.format("parquet")
        options = {"checkpointLocation": str(tmp_path / "checkpoint")}
        writer.trigger(availableNow=True).start(str(tmp_path / path), **options).awaitTermination()

    write("out")
    wait_until(lambda: any(h.facts.sinkKind == "files" for h in watch.queries.values()))
    with guarding():
        write("out")
        with pytest.raises(NotStartedError, match="sink"):
            write("elsewhere")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.oldest
def test_the_card_of_a_watched_query(spark, tmp_path, watch):
    """After a run has ended the watch knows its checkpoint; a restart with another setting says which one holds."""
    add_file(tmp_path / "in", "a.json", [{"city": "Delhi", "country": "India"}])
    run(counts(spark, tmp_path, "city"), tmp_path)
    (history,) = watch.queries.values()
    card = history.checkpoint
    assert (card.lastOffset, card.lastCommit, card.nextBatch, card.replay) == (0, 0, 1, False)
    assert card.path == str(tmp_path / "checkpoint")
    assert card.bytes > 0
    assert card.pinned == ()
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        add_file(tmp_path / "in", "b.json", [{"city": "Paris", "country": "France"}])
        run(counts(spark, tmp_path, "city"), tmp_path)
        (history,) = watch.queries.values()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    (pinned,) = history.checkpoint.pinned
    assert (pinned.name, pinned.checkpoint, pinned.session) == ("spark.sql.shuffle.partitions", "2", "5")


def test_a_repeated_batch_is_named(spark, tmp_path, watch):
    """A run that has to do a batch again says so: its offsets were planned before the run began."""
    add_file(tmp_path / "in", "a.json", [{"city": "Delhi", "country": "India"}])
    run(counts(spark, tmp_path, "city"), tmp_path)
    for name in ("0", ".0.crc"):  # as if Spark had ended before the commit
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    run(counts(spark, tmp_path, "city"), tmp_path)
    (history,) = watch.queries.values()
    card = history.checkpoint
    assert card.firstBatch == 0
    assert card.firstPlannedMs < history.runs[-1].started


def test_a_temporary_checkpoint_says_that_it_is_one(spark, watch):
    """Nothing of it is read: Spark deletes it."""
    query = start(rate(spark), name="passing")
    card = wait_until(lambda: watch.queries["passing"].checkpoint)
    query.stop()
    assert card.temporary
    assert "Temporary" in card.why
