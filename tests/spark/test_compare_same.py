"""The most important answer: a query whose code did not change has no changes, whatever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw
from tests.helpers import wait_until
from tests.spark.comparing import NOTHING, Stage, start

if TYPE_CHECKING:
    from collections.abc import Callable

OLDEST = {"aggregates", "sql", "window", "chained", "outer", "dedup-within", "twice"}


def _marked(stage: Stage, folder: str = "in") -> Any:
    return stage.source(folder).withWatermark("ts", "10 minutes")


def _joined(stage: Stage, kind: str) -> Any:
    from pyspark.sql import functions as F

    near = F.expr("a.city = b.city AND a.ts >= b.ts - INTERVAL 1 MINUTE AND a.ts <= b.ts + INTERVAL 1 MINUTE")
    left, right = _marked(stage).alias("a"), _marked(stage, "other").alias("b")
    return left.join(right, near, kind).select("a.city", "b.amount")


def _aggregated(stage: Stage) -> Any:
    from pyspark.sql import functions as F

    many = [F.count("*"), F.sum("amount"), F.avg("amount"), F.min("ts"), F.max("country").alias("m"), F.first("city")]
    return stage.source(maxFilesPerTrigger="3").where("amount > 0 AND city <> 'x'").groupBy("country").agg(*many)


def _sql(stage: Stage) -> Any:
    stage.source().createOrReplaceTempView("events")
    return stage.spark.sql(
        "SELECT upper(city) AS c, count(1), sum(amount * 2) FROM (SELECT * FROM events WHERE amount > 0) "
        "GROUP BY upper(city), amount % 2"
    )


def _windowed(stage: Stage, *window: str) -> Any:
    from pyspark.sql import functions as F

    return _marked(stage).groupBy(F.window("ts", *window), "city").count()


def _chained(stage: Stage) -> Any:
    from pyspark.sql import functions as F

    once = _marked(stage).groupBy(F.window("ts", "5 minutes"), "city").agg(F.sum("amount").alias("s"), F.count("*"))
    return once.groupBy(F.window(F.window_time("window"), "10 minutes")).agg(F.count("*"))


def _twice(stage: Stage) -> Any:
    frame = stage.source()
    return frame.union(frame).groupBy("city").count()


def _random(stage: Stage) -> Any:
    from pyspark.sql import functions as F

    plus = F.udf(lambda value: value + 1, "int")
    numbers = F.array("amount", F.lit(2))
    return stage.source().select(
        F.rand(), plus("amount"), F.transform(numbers, lambda one: one + 1), F.uuid() if hasattr(F, "uuid") else "city"
    )


def _window_of_sessions(stage: Stage) -> Any:
    from pyspark.sql import functions as F

    return _marked(stage).groupBy(F.session_window("ts", "5 minutes"), "city").agg(F.count("*"), F.max("amount"))


def _with_table(stage: Stage) -> Any:
    table = stage.spark.createDataFrame([("Delhi", 1), ("Paris", 2)], "city STRING, n INT").groupBy("city").count()
    return stage.source().join(table, "city")


QUERIES: dict[str, tuple[Callable[[Stage], Any], str]] = {
    "projection": (lambda stage: stage.source().where("amount > 1").select("city"), "append"),
    "random": (_random, "append"),
    "aggregates": (_aggregated, "update"),
    "global": (lambda stage: stage.source().groupBy().count(), "complete"),
    "sql": (_sql, "update"),
    "window": (lambda stage: _windowed(stage, "5 minutes"), "append"),
    "sliding": (lambda stage: _windowed(stage, "10 minutes", "5 minutes"), "update"),
    "session": (_window_of_sessions, "append"),
    "chained": (_chained, "append"),
    "dedup": (lambda stage: stage.source().dropDuplicates(["city", "country"]), "append"),
    "distinct": (lambda stage: stage.source().select("city", "amount").distinct(), "append"),
    "dedup-within": (lambda stage: _marked(stage).dropDuplicatesWithinWatermark(["city"]), "append"),
    "dedup-then-count": (lambda stage: stage.source().dropDuplicates().groupBy("city").count(), "update"),
    "inner": (lambda stage: _joined(stage, "inner"), "append"),
    "outer": (lambda stage: _joined(stage, "leftOuter"), "append"),
    "full": (lambda stage: _joined(stage, "fullOuter"), "append"),
    "semi": (
        lambda stage: _marked(stage).join(_marked(stage, "other").select("city", "ts"), ["city", "ts"], "leftSemi"),
        "append",
    ),
    "union": (lambda stage: stage.source().union(stage.source("other")).groupBy("city").count(), "update"),
    "twice": (_twice, "update"),
    "table": (_with_table, "append"),
    "top": (lambda stage: stage.source().groupBy("city").count().orderBy("count").limit(1), "complete"),
    "limit": (lambda stage: stage.source().limit(2), "append"),
}


@pytest.fixture
def stage(spark, tmp_path):
    return Stage(spark, tmp_path)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.oldest] if name in OLDEST else []) for name in QUERIES]
)
def test_the_same_code_has_no_changes(stage, watch, name):
    """Built again by the same code: nothing changed, by the checkpoint alone and by the watched run; also the query."""
    make, mode = QUERIES[name]
    start(stage, watch, (make(stage), mode))
    again = stage.writer(make(stage), mode)
    assert str(stage.compare(again)) == "Nothing has changed."
    alone = stage.compare(again, NOTHING)
    assert list(alone) == []
    assert alone.unseen
    assert list(stage.compare(make(stage))) == []


def _filtered(stage: Stage) -> Any:
    return stage.source().where("amount BETWEEN 1 AND 90 AND city <> 'x' AND amount > 0").groupBy("city").count()


def _filtered_otherwise(stage: Stage) -> Any:
    from pyspark.sql import functions as F

    kept = stage.source().filter(F.lit("x") != F.col("CITY")).filter((F.col("amount") <= 90) & (F.col("amount") >= 1))
    kept.filter("0 < amount").createOrReplaceTempView("kept")
    return stage.spark.sql("SELECT City, count(*) AS count FROM kept GROUP BY City")


def _joined_otherwise(stage: Stage) -> Any:
    _marked(stage).createOrReplaceTempView("a")
    _marked(stage, "other").createOrReplaceTempView("b")
    return stage.spark.sql(
        "SELECT a.city, b.amount FROM a JOIN b "
        "ON a.ts BETWEEN b.ts - INTERVAL 1 MINUTE AND b.ts + INTERVAL 1 MINUTE AND b.city = a.city"
    )


@pytest.mark.oldest
@pytest.mark.parametrize(
    ("one", "other", "mode"),
    [
        pytest.param(_filtered, _filtered_otherwise, "update", id="filters"),
        pytest.param(lambda stage: _joined(stage, "inner"), _joined_otherwise, "append", id="join"),
    ],
)
def test_the_same_query_written_another_way_has_no_changes(stage, watch, one, other, mode):
    """As SQL, with the sides of comparisons swapped, conditions split or joined, and names in capitals."""
    start(stage, watch, (one(stage), mode))
    assert str(stage.compare(stage.writer(other(stage), mode))) == "Nothing has changed."


def test_a_writer_that_has_not_been_told_its_sink_has_no_changes(stage, watch):
    """Files and append are what Spark takes where nothing is said: no change of sink or mode is made of them."""
    start(stage, watch, (stage.source().groupBy("city").count(), "update"))
    found = stage.compare(stage.source().groupBy("city").count().writeStream)
    assert list(found) == []
    assert sum("not said yet" in sentence for sentence in found.unseen) == 2


def test_a_run_is_compared_with_another_checkpoint(stage, watch, spark, tmp_path):
    """The query that start() returned, of which Spark's plan has other ids than the DataFrame: its types are known."""
    start(stage, watch, (stage.source().groupBy("city").count(), "update"))
    other = Stage(spark, tmp_path / "second")
    query = other.writer(stage.source().groupBy("country").count()).start()
    query.awaitTermination(60)
    (change,) = stage.compare(query)
    assert (change.what, change.verdict, change.was, change.now) == (
        "grouping-keys",
        "silently-wrong",
        "city",
        "country",
    )


@pytest.mark.parametrize("name", ["aggregates", "outer"])
def test_a_running_query_and_a_recording(stage, watch, tmp_path, name):
    """The query itself has no changes; a saved recording knows what the watch knew."""
    make, mode = QUERIES[name]
    start(stage, watch, (make(stage), mode))
    path = tmp_path / "kept.jsonl"
    watch.recording().save(path)
    again = stage.writer(make(stage), mode)
    assert str(stage.compare(again, path)) == "Nothing has changed."
    assert str(stage.compare(again, sw.load(path))) == "Nothing has changed."
    query = again.start()
    query.awaitTermination(60)
    assert list(stage.compare(query)) == []


@pytest.mark.oldest
def test_a_source_of_the_second_generation_that_is_read_twice(stage, watch):
    """A frame that is united with itself has two offsets in the checkpoint, and is the same when it is built again."""

    def make() -> Any:
        frame = stage.spark.readStream.format("rate").option("rowsPerSecond", 5).load()
        return frame.union(frame).selectExpr("CAST(value AS STRING) AS city")

    writer = stage.writer(make(), "append").trigger(processingTime="1 second")
    query = writer.start()
    wait_until(lambda: query.lastProgress, 60, "a batch")
    query.stop()
    stage.known(watch)
    assert str(stage.compare(stage.writer(make(), "append"))) == "Nothing has changed."
