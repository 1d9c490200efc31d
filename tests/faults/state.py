"""Faults of state and event time."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from tests.faults.bench import Bench, fault


@fault("state-growth", says="has no watermark", mended=True)
def growth_without_watermark(bench: Bench) -> Any:
    """Every row is a group of its own, for ever."""
    rows = bench.batches(100, advance=300_000).withColumnRenamed("timestamp", "event_time")
    groups = bench.onto(rows, lambda rows: rows.groupBy("value"), keys=["value"])
    return bench.wait(bench.start(groups.count(), mode="update", trigger=1.3), 13)


@fault("state-growth", says="after the aggregation")
def growth_watermark_after_aggregation(bench: Bench) -> Any:
    """The watermark is declared too late to clean the aggregation's state."""
    frame = bench.batches(100, advance=5000).groupBy("value").agg(F.max("timestamp").alias("at"))
    return bench.wait(bench.start(frame.withWatermark("at", "5 seconds"), mode="update", trigger=0.7), 26)


@fault("state-growth", says="Complete mode", mended=True)
def growth_complete_mode(bench: Bench) -> Any:
    """Complete mode keeps every group in spite of the watermark."""
    frame = bench.batches(100, advance=5000).withWatermark("timestamp", "5 seconds")
    frame = frame.groupBy(F.window("timestamp", "5 seconds"), "value").count()
    return bench.wait(bench.start(frame, mode="complete", trigger=1.5, last=bench.onto), 13)


@fault("state-growth", says="bound in time")
def growth_join_without_bounds(bench: Bench) -> Any:
    """Rows of both sides wait for partners for ever."""
    left, right = bench.batches(50), bench.batches(50).withColumnRenamed("timestamp", "other")
    return bench.wait(bench.start(left.join(right, "value"), trigger=2), 13)


@fault("state-growth", says="is not among the columns of dropDuplicates", mended=True)
def growth_deduplication(bench: Bench) -> Any:
    """The watermark is not among the columns by which copies are found."""
    rows = bench.batches(100, advance=5000).withWatermark("timestamp", "5 seconds")
    frame = bench.onto(rows, lambda rows: rows.dropDuplicates(["value"]), keys=["value"])
    return bench.wait(bench.start(frame, trigger=0.7), 26)


@fault("watermark-stuck", mended=True)
def watermark_stuck(bench: Bench) -> Any:
    """One of two inputs has no rows."""
    bench.conf("spark.sql.streaming.multipleWatermarkPolicy", "min")
    bench.paste()
    busy = bench.batches(50, advance=10_000).withWatermark("timestamp", "5 seconds")
    idle = bench.files("quiet", schema="timestamp TIMESTAMP, value LONG").withWatermark("timestamp", "5 seconds")
    frame = busy.union(idle).groupBy(F.window("timestamp", "10 seconds")).count()
    return bench.wait(bench.start(frame), 9)


@fault("watermark-ahead", mended=True)
def watermark_ahead(bench: Bench) -> Any:
    """One row comes from tomorrow."""
    at = F.when(F.col("value") == 35, F.expr("timestamp + INTERVAL 1 DAY")).otherwise(F.col("timestamp"))
    frame = bench.onto(bench.batches(10).withColumn("at", at)).withWatermark("at", "10 seconds")
    return bench.wait(bench.start(frame.groupBy(F.window("at", "5 seconds")).count(), mode="update"), 8)


@fault("watermark-unset")
def watermark_unset(bench: Bench) -> Any:
    """The event time is null because its text is not parsed."""
    at = F.expr("try_to_timestamp('11-30-2026 noon')")
    frame = bench.batches(20).withColumn("at", at).withWatermark("at", "10 seconds")
    return bench.wait(bench.start(frame.groupBy(F.window("at", "5 seconds")).count(), mode="update"), 6)


@fault("late-rows-dropped", mended=True)
def late_rows_dropped(bench: Bench) -> Any:
    """A fifth of the rows is an hour old."""
    at = F.when(F.col("value") % 5 == 0, F.expr("timestamp - INTERVAL 1 HOUR")).otherwise(F.col("timestamp"))
    frame = bench.onto(bench.batches(50).withColumn("at", at), lambda rows: rows.withWatermark("at", "10 seconds"))
    return bench.wait(bench.start(frame.groupBy(F.window("at", "5 seconds"), "value").count(), mode="update"), 7)


@fault("late-rows-dropped", says="The delay is 0", mended=True)
def late_rows_of_the_same_time(bench: Bench) -> Any:
    """A delay of 0 drops the rows of a second that goes on in the next batch."""
    at = F.expr("timestamp_seconds(1780000000 + value div 35)")
    frame = bench.onto(bench.batches(10).withColumn("at", at), lambda rows: rows.withWatermark("at", "0 seconds"))
    return bench.wait(bench.start(frame.dropDuplicates(["at", "value"])), 8)
