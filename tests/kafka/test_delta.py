"""What the monitor says of queries that write Delta tables and read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import jupyter_streamwatch as sw
from tests.kafka.test_kafka import codes, hint, kind_of_failure

if TYPE_CHECKING:
    from tests.kafka.conftest import KafkaBench

BLAMED = {"too-many-partitions", "too-few-tasks", "task-skew", "batch-recomputed"}
"""Codes that would take the tasks with which Delta reads its log for the query's own."""

MANY = 50  # tasks of a stage, as Delta has it


@pytest.fixture(autouse=True)
def delta(session: Any) -> None:
    """Skip where this Spark has no Delta."""
    if "delta" not in session.sparkContext.getConf().get("spark.jars.packages"):
        pytest.skip("no Delta runs with this Spark")


def test_a_plain_sink_keeps_up_calmly(bench: KafkaBench) -> None:
    """A few rows a batch into a table: no hint blames the query for the tasks of Delta's own log."""
    topic, table = bench.broker.topic("to-table"), str(bench.root / "table")
    query = bench.start(bench.topic(topic, maxOffsetsPerTrigger=1000), "delta", trigger=30, path=table)
    bench.rounds(query, topic, 200, 4)
    diagnosis = bench.diagnose(query)
    history = bench.history(query)
    assert history.facts.sink == f"Delta {table}"
    assert history.batches.numbers("tasks.count")[-1] > MANY
    assert diagnosis.verdict == "keeping-up", diagnosis.reason
    assert not codes(diagnosis, "warning", "critical")
    assert not BLAMED.intersection(codes(diagnosis))
    assert bench.spark.read.format("delta").load(table).count() == 800
    bench.keep(query, "delta-sink")


def test_a_sink_that_is_too_slow_and_its_fix(bench: KafkaBench) -> None:
    """Batches longer than the interval because Delta reads its log in 50 tasks: told so, and mended."""
    topic, table = bench.broker.topic("to-slow-table"), str(bench.root / "table")
    query = bench.start(bench.topic(topic), "delta", trigger=0.5, path=table)
    bench.rounds(query, topic, 200, 6)
    diagnosis = bench.diagnose(query)
    assert codes(diagnosis)[0] == "slow-sink", diagnosis.to_dict()
    assert hint(diagnosis, "falling-behind").under == "slow-sink"
    assert not BLAMED.intersection(codes(diagnosis))
    bench.keep(query, "delta-sink-too-slow")
    query.stop()
    bench.conf("spark.databricks.delta.snapshotPartitions", "50")
    bench.code = hint(diagnosis, "slow-sink").code_fix
    bench.paste()
    bench.code = None
    mended = bench.rounds(bench.start(bench.topic(topic), "delta", trigger=5, path=table), topic, 200, 5)
    diagnosis = bench.diagnose(mended)
    counts = bench.history(mended).batches.numbers("tasks.count").tolist()[-5:]
    assert sorted(counts)[2] < MANY, counts  # every tenth commit writes a checkpoint of the log, in more tasks
    assert "slow-sink" not in codes(diagnosis)
    bench.keep(mended, "delta-sink-mended")


def test_a_function_that_writes_with_a_version_is_not_written_twice(bench: KafkaBench) -> None:
    """With txnAppId and txnVersion the rows of a batch that is repeated after a crash are there once.

    The connector of Spark 4.1 fails after the repeated batch: that is said, and the next start goes on.
    """
    topic, table = bench.broker.topic("to-version"), str(bench.root / "table")
    frame = bench.topic(topic).selectExpr("CAST(value AS STRING) AS value")

    def write(frame: Any, batch: int) -> None:
        options = {"txnAppId": "orders", "txnVersion": batch}
        frame.write.format("delta").mode("append").options(**options).save(table)

    def crash(frame: Any, batch: int) -> None:
        write(frame, batch)
        if batch == 1:
            raise ConnectionError("the machine went away")

    first = bench.start(frame, each=crash, trigger=5)
    bench.rounds(first, topic, 100, 1)
    bench.broker.send(topic, range(100))
    bench.until(first, lambda: not first.isActive)
    assert kind_of_failure(bench.diagnose(first)) == "user-function"
    again = bench.start(frame, each=write, trigger=5)
    bench.until(again, lambda: not again.isActive)
    assert kind_of_failure(bench.diagnose(again)) == "connector-defect"
    bench.keep(again, "connector-defect")
    last = bench.rounds(bench.start(frame, each=write, trigger=5), topic, 100, 2)
    assert bench.diagnose(last).verdict != "failed"
    assert bench.spark.read.format("delta").load(table).count() == 400


def test_windows_into_a_table(bench: KafkaBench) -> None:
    """A stateful query with two shuffle partitions is not said to have the fifty of Delta's log."""
    topic = bench.broker.topic("windows")
    frame = bench.topic(topic).withWatermark("timestamp", "1 second").groupBy(F.window("timestamp", "1 second"))
    query = bench.start(frame.count(), "delta", trigger=2, path=str(bench.root / "table"))
    bench.rounds(query, topic, 100, 6)
    diagnosis = bench.diagnose(query)
    assert bench.history(query).batches.numbers("tasks.count")[-1] > MANY
    assert not BLAMED.intersection(codes(diagnosis))


def test_the_checkpoint_of_a_query_from_table_to_table(bench: KafkaBench) -> None:
    """Versions of the table as offsets; the sink is known to write a batch once; another path is a change."""
    table, out = str(bench.root / "table"), str(bench.root / "out")
    bench.spark.range(100).coalesce(1).write.format("delta").save(table)
    frame = bench.spark.readStream.format("delta").load(table)
    query = bench.start(frame, "delta", trigger=None, path=out, last=lambda writer: writer.trigger(availableNow=True))
    bench.until(query, lambda: not query.isActive)
    bench.diagnose(query)
    checkpoint = sw.checkpoint(bench.root / "checkpoint", bench.spark)
    plan = checkpoint.restart()
    assert [one.kind for one in checkpoint.offsets[0].sources] == ["delta"]
    assert "table version" in checkpoint.offsets[0].sources[0].text
    assert (plan.batchId, plan.replay, plan.sink, plan.sinkSafe) == (1, False, "delta", "yes"), plan

    def changes(path: str) -> dict[str, str]:
        writer = frame.writeStream.format("delta").outputMode("append").option("path", path)
        return {one.what: one.verdict for one in checkpoint.compare(writer)}

    assert changes(out) == {}
    assert changes(f"{out}-2").keys() == {"sink"}


def test_a_table_as_a_source(bench: KafkaBench) -> None:
    """A table is read by its name; how many rows wait is not known, and is not guessed."""
    table = str(bench.root / "table")

    def add(number: int) -> None:
        bench.spark.range(100 * number, 100 * number + 100).coalesce(1).write.format("delta").mode("append").save(table)

    add(0)
    frame = bench.spark.readStream.format("delta").option("maxFilesPerTrigger", 10).load(table)
    query = bench.start(frame, trigger=4)
    bench.wait_for(query, 1)
    for number in range(1, 6):
        add(number)
        bench.wait_for(query, number + 1)
    diagnosis = bench.diagnose(query)
    history = bench.history(query)
    assert history.facts.sources == (f"Delta {table}",)
    assert diagnosis.verdict == "keeping-up"
    assert not codes(diagnosis, "warning", "critical")
    assert history.last.backlog is None
    bench.keep(query, "delta-source")
