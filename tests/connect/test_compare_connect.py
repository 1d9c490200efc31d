"""A query is compared with its checkpoint over Spark Connect: by the server's plan and the client's own messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw
from tests.helpers import wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("grpc")

SCHEMA = "city STRING, country STRING, amount INT, ts TIMESTAMP"


class Stage:
    """One checkpoint and one folder of input files."""

    def __init__(self, spark: Any, path: Path) -> None:
        self.spark = spark
        self.path = path
        (path / "in").mkdir()
        rows = [{"city": "Delhi", "country": "India", "amount": n, "ts": "2026-01-01T12:01:00Z"} for n in (1, 2)]
        (path / "in" / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def source(self, **options: Any) -> Any:
        return self.spark.readStream.schema(SCHEMA).options(**options).json(str(self.path / "in"))

    def writer(self, frame: Any, mode: str = "update") -> Any:
        writer = frame.writeStream.outputMode(mode).format("noop").trigger(availableNow=True)
        return writer.option("checkpointLocation", str(self.path / "cp"))

    def run(self, frame: Any, watch: Any, mode: str = "update") -> Any:
        query = self.writer(frame, mode).start()
        query.awaitTermination(120)
        wait_until(lambda: self.known(watch, str(query.id)), 60, "what the run is")
        return query

    @staticmethod
    def known(watch: Any, id: str) -> bool:
        shape = watch.queries[id].facts.shape if id in watch.queries else None
        return bool(shape and shape.operators is not None and shape.sink)

    def compare(self, x: Any) -> Any:
        return sw.checkpoint(self.path / "cp").compare(x)


@pytest.fixture
def stage(spark, tmp_path):
    return Stage(spark, tmp_path)


def _windowed(stage: Stage) -> Any:
    from pyspark.sql import functions as F

    marked = stage.source().withWatermark("ts", "10 minutes")
    many = [F.count("*"), F.sum("amount"), F.avg("amount").alias("a"), F.max("country")]
    return marked.where("amount > 0").groupBy(F.window("ts", "5 minutes"), "city").agg(*many)


def _sql(stage: Stage) -> Any:
    stage.source().createOrReplaceTempView("events")
    return stage.spark.sql("SELECT upper(city) AS c, sum(amount * 2) FROM events WHERE amount > 0 GROUP BY upper(city)")


def _joined(stage: Stage) -> Any:
    left = stage.source().withWatermark("ts", "1 minute")
    return left.join(stage.source().withWatermark("ts", "1 minute").select("city", "ts"), ["city", "ts"], "leftOuter")


@pytest.mark.parametrize("make", [_windowed, _sql, _joined], ids=["windowed", "sql", "joined"])
def test_the_same_code_has_no_changes(stage, watch, make):
    """Built again by the same code nothing changed, as a DataFrame, as a writer and as the query itself."""
    mode = "append" if make is _joined else "update"
    query = stage.run(make(stage), watch, mode)
    assert list(stage.compare(make(stage))) == []
    assert list(stage.compare(stage.writer(make(stage), mode))) == []
    assert list(stage.compare(query)) == []


def test_changed_keys_aggregates_filters_and_limits(stage, watch):
    """A swapped key and another aggregate are silently wrong; what the guide allows is allowed."""
    stage.run(stage.source().groupBy("city").count(), watch)

    def told(frame: Any) -> list[tuple[str, str]]:
        return [(one.what, one.verdict) for one in stage.compare(stage.writer(frame))]

    source = stage.source()
    assert told(source.groupBy("country").count()) == [("grouping-keys", "silently-wrong")]
    assert told(source.groupBy("city", "country").count()) == [("grouping-keys", "not-allowed")]
    assert told(source.groupBy("city").agg({"amount": "sum"})) == [("aggregates", "silently-wrong")]
    assert told(source.where("amount > 1").groupBy("city").count()) == [("filter", "changed-meaning")]
    assert told(source.select("city")) == [("aggregates", "not-allowed")]


def test_what_a_writer_will_do_is_compared(stage, watch):
    """Another sink and another mode are seen in the writer, before it starts."""
    stage.run(stage.source().groupBy("city").count(), watch)
    writer = stage.writer(stage.source().groupBy("city").count(), "complete").format("parquet")
    told = [(one.what, one.verdict) for one in stage.compare(writer.option("path", str(stage.path / "out")))]
    assert set(told) == {("output-mode", "not-allowed"), ("sink", "silently-wrong")}


def test_a_batch_dataframe_is_refused(stage, watch):
    """A DataFrame that reads no stream is no streaming query, and a number is none either."""
    stage.run(stage.source().groupBy("city").count(), watch)
    with pytest.raises(ValueError, match="not a streaming query"):
        stage.compare(stage.spark.range(3))
    with pytest.raises(TypeError, match="streaming DataFrame"):
        stage.compare(3)
