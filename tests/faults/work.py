"""Faults in the work of a batch: where the time inside addBatch goes."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import functions as F

from tests.faults.bench import Bench, fault, slowly


@fault("driver-bound", instead=("slow-user-code",))
def driver_bound(bench: Bench) -> Any:
    """A foreachBatch function that sleeps on the driver."""

    def each(frame: Any, batch: int) -> None:
        frame.write.format("noop").mode("overwrite").save()
        time.sleep(1.3)

    return bench.wait(bench.start(bench.batches(100), each=each), 8)


@fault("slow-user-code")
def slow_user_code(bench: Bench) -> Any:
    """A Python function that takes 9 ms a row."""
    frame = bench.batches(300).select(slowly(9)("value").alias("value"))
    return bench.wait(bench.start(frame), 8)


@fault("slow-sink")
def slow_sink(bench: Bench) -> Any:
    """Each batch writes hundreds of small files."""
    frame = bench.batches(800).withColumn("part", F.col("value") % 200)
    writer = frame.writeStream.format("parquet").partitionBy("part").outputMode("append")
    writer = writer.option("checkpointLocation", str(bench.root / "checkpoint")).option("path", str(bench.root / "out"))
    query = writer.trigger(processingTime="1 second").start()
    bench.started.append(query)
    return bench.wait(query, 8)


@fault("too-many-partitions", mended=True)
def too_many_partitions(bench: Bench) -> Any:
    """The 200 partitions that Spark makes unless it is told otherwise, for 10 rows."""
    bench.conf("spark.sql.shuffle.partitions", "200")
    bench.paste()
    frame = bench.batches(10).withWatermark("timestamp", "10 seconds").groupBy(F.window("timestamp", "5 seconds"))
    return bench.wait(bench.start(frame.count(), mode="update", trigger=3), bench.least(3))


@fault("task-skew", instead=("slow-user-code",), mended=True)
def task_skew(bench: Bench) -> Any:
    """Nine of ten rows have the same key, and so are in one task."""
    key = F.when(F.col("value") % 10 < 9, F.lit(0)).otherwise(F.col("value") % 64)
    frame = bench.onto(bench.batches(300).withColumn("key", key).repartition(12, "key"))
    return bench.wait(bench.start(frame.select(slowly(8)("value")), trigger=2.1), 7)


@fault("too-few-tasks", instead=("slow-user-code",), mended=True)
def too_few_tasks(bench: Bench) -> Any:
    """All rows are in one partition."""
    frame = bench.onto(bench.batches(300, partitions=1))
    return bench.wait(bench.start(frame.select(slowly(8)("value")), trigger=2.1), 7)


@fault("batch-recomputed", mended=True)
def batch_recomputed(bench: Bench) -> Any:
    """A foreachBatch function with three actions and no persist."""

    def each(frame: Any, batch: int) -> None:
        frame.count()
        frame.agg(F.max("value")).collect()
        frame.write.format("noop").mode("overwrite").save()

    frame = bench.batches(100).select(slowly(14)("value").alias("value")).filter("value >= 0")
    return bench.wait(bench.start(frame, each=bench.into(each), trigger=3.5), bench.least(4))


@fault("contention")
def contention(bench: Bench) -> Any:
    """Two other queries' tasks hold all cores, one after the other."""
    for name in ("heavy-1", "heavy-2"):
        heavy = bench.batches(80, partitions=4).select(slowly(90)("value"))
        bench.start(heavy, trigger=None, checkpoint=name)
    light = bench.start(bench.batches(20).select("value"), checkpoint="light")
    return bench.wait(light, 6)


@fault("contention")
def contention_now_and_then(bench: Bench) -> Any:
    """Another query's tasks hold all cores; in the gaps between its batches the small one is quick."""
    heavy = bench.batches(80, partitions=4).select(slowly(60)("value"))
    bench.start(heavy, trigger=None, checkpoint="heavy")
    light = bench.start(bench.batches(20).select("value"), checkpoint="light")
    return bench.wait(light, 12)


@fault("batch-stuck")
def batch_stuck(bench: Bench) -> Any:
    """One row makes a function hang."""

    @F.udf("long")
    def hang(value):
        if value == 85:
            time.sleep(120)
        return value

    query = bench.start(bench.batches(20).select(hang("value")))
    bench.watch.shown(True)

    def stuck() -> bool:
        history = bench.history(query)
        return history is not None and bench.watch.diagnose(str(query.id)).verdict == "stuck"

    return bench.until(query, stuck)


@fault("duration-trend")
def duration_trend(bench: Bench) -> Any:
    """Each batch reads the whole log of its table, 40 ms an entry, before it adds one."""
    log = bench.path("table")

    def each(frame: Any, batch: int) -> None:
        for _ in log.iterdir():
            time.sleep(0.04)
        frame.write.format("noop").mode("overwrite").save()
        (log / f"{batch}.json").touch()

    return bench.wait(bench.start(bench.batches(100), each=each, trigger=None), 25)


@fault("query-failed")
def query_failed(bench: Bench) -> Any:
    """A Python function that fails on one row."""

    @F.udf("long")
    def divide(value):
        return 1000 // (value - 65)

    query = bench.start(bench.batches(20).select(divide("value")))
    return bench.until(query, lambda: not query.isActive)


@fault("duplicate-query", mended=True)
def duplicate_query(bench: Bench) -> Any:
    """A cell that starts a query is run twice."""

    def each(frame: Any, batch: int) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def cell() -> Any:
        return bench.start(bench.batches(20), each=each, checkpoint=None, trigger=2)

    if bench.code:
        bench.paste()
        return bench.wait(bench.mending[-1], 8)
    cell()
    return bench.wait(cell(), 4)
