"""The guard over Spark Connect: it knows a query by what the client is about to send."""

from __future__ import annotations

import json

import pytest

from jupyter_streamwatch.notebook.guard import NotStartedError, guarding
from jupyter_streamwatch.spark.writer import checkpoint_of


def test_the_guard_stops_what_spark_would_run_wrong(spark, tmp_path):
    """``city`` -> ``country`` is not started, ``city`` again is; afterwards the class has its own method."""
    from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

    own = DataStreamWriter.__dict__["_start_internal"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text(json.dumps({"city": "Delhi", "country": "India"}) + "\n")

    def writer(key: str):
        frame = spark.readStream.schema("city STRING, country STRING").json(str(tmp_path / "in"))
        return frame.groupBy(key).count().writeStream.outputMode("update").format("noop").trigger(availableNow=True)

    options = {"checkpointLocation": str(tmp_path / "checkpoint")}
    assert checkpoint_of(writer("city").options(**options)) == options["checkpointLocation"]
    said: list[str] = []
    with guarding(said.append):
        writer("city").start(**options).awaitTermination()
        with pytest.raises(NotStartedError, match="city → country"):
            writer("country").start(**options)
        writer("city").start(**options).awaitTermination()
    assert DataStreamWriter.__dict__["_start_internal"] is own
    assert said == []
