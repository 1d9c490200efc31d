"""Healthy runs: nothing to warn of."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from tests.faults.bench import Bench, healthy, slowly

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def windowed(bench: Bench, *, advance: int = 2000) -> Any:
    frame = bench.batches(200, advance=advance).withWatermark("timestamp", "4 seconds")
    return frame.groupBy(F.window("timestamp", "4 seconds")).count()


@healthy
def stateless(bench: Bench) -> Any:
    """Rows are written to files as they come."""
    return bench.wait(bench.start(bench.batches(200), "parquet", trigger=2), 6)


@healthy
def default_trigger(bench: Bench) -> Any:
    """Batches follow each other, and each is quick."""
    return bench.wait(bench.start(bench.batches(200), trigger=None), 20)


@healthy
def window(bench: Bench) -> Any:
    """Windows with a watermark, shown as they change."""
    return bench.wait(bench.start(windowed(bench), mode="update", trigger=2), 8)


@healthy
def append_mode(bench: Bench) -> Any:
    """Finished windows come out."""
    return bench.wait(bench.start(windowed(bench, advance=6000), trigger=2), 10)


@healthy
def deduplication(bench: Bench) -> Any:
    """Copies are dropped while the watermark lets them come."""
    frame = bench.batches(200, advance=5000).withWatermark("timestamp", "10 seconds")
    frame = frame.withColumn("id", F.col("value") % 150).dropDuplicatesWithinWatermark(["id"])
    return bench.wait(bench.start(frame, trigger=2), 10)


@healthy
def join(bench: Bench) -> Any:
    """Both sides have a watermark, and partners a bound in time."""
    left = bench.batches(50, advance=5000).withWatermark("timestamp", "5 seconds")
    right = bench.batches(50, advance=5000).select(F.col("value").alias("id"), F.col("timestamp").alias("at"))
    bound = "id = value AND at BETWEEN timestamp AND timestamp + INTERVAL 5 SECONDS"
    return bench.wait(bench.start(left.join(right.withWatermark("at", "5 seconds"), F.expr(bound)), trigger=4), 5)


@healthy
def persisted(bench: Bench) -> Any:
    """A foreachBatch function that persists what it uses three times."""

    def each(frame: Any, batch: int) -> None:
        frame.persist()
        try:
            frame.count()
            frame.agg(F.max("value")).collect()
            frame.write.format("noop").mode("overwrite").save()
        finally:
            frame.unpersist()

    return bench.wait(bench.start(bench.batches(200), each=each, trigger=2), 6)


@healthy
def idle(bench: Bench) -> Any:
    """No more data comes."""
    bench.conf("spark.sql.streaming.noDataProgressEventInterval", "2000")
    query = None
    for number in range(4):
        bench.add_file(f"{number}.json", [{"value": row} for row in range(50)])
        query = query or bench.start(bench.files())
        bench.wait(query, number + 1)
    return bench.until(query, lambda: bench.history(query).record.kind == "idle")


@healthy
def available_now(bench: Bench) -> Any:
    """What is there is worked through, and the query ends."""
    for number in range(8):
        bench.add_file(f"{number}.json", [{"value": row} for row in range(100)])
    writer = bench.files(maxFilesPerTrigger=1).writeStream.format("noop")
    query = writer.option("checkpointLocation", str(bench.root / "checkpoint")).trigger(availableNow=True).start()
    bench.started.append(query)
    return bench.until(query, lambda: not query.isActive)


@healthy
def limited_with_time_left(bench: Bench) -> Any:
    """A limit that no batch reaches."""
    query = None
    for number in range(7):
        bench.add_file(f"{number}.json", [{"value": row} for row in range(50 + number)])
        query = query or bench.start(bench.files(maxFilesPerTrigger=5), trigger=2)
        bench.wait(query, number + 1)
    return query


@healthy
def large_first_batch(bench: Bench) -> Any:
    """What waited is done in the first batch, within the interval."""
    bench.add_file("first.json", [{"value": row} for row in range(20_000)])
    query = bench.start(bench.files(), trigger=2)
    for number in range(6):
        bench.wait(query, number + 1)
        bench.add_file(f"{number}.json", [{"value": row} for row in range(20)])
    return bench.wait(query, 6)


@healthy
def no_data_batches(bench: Bench) -> Any:
    """After rows that move the watermark comes a batch without rows, which cleans up."""
    at = "timestamp_seconds(1780000000 + value)"
    frame = bench.files().withColumn("at", F.expr(at)).withWatermark("at", "5 seconds")
    query = None
    for number in range(6):
        bench.add_file(f"{number}.json", [{"value": 20 * number + row} for row in range(20)])
        query = query or bench.start(frame.groupBy(F.window("at", "10 seconds")).count(), trigger=1.5)
        bench.wait(query, 2 * number + 2)
    return query


@healthy
def restart(bench: Bench) -> Any:
    """A query that was stopped goes on where it was."""
    frame = windowed(bench)
    bench.wait(bench.start(frame, mode="update", trigger=2), 3).stop()
    return bench.wait(bench.start(frame, mode="update", trigger=2), 5)


@healthy
def busy_for_60_percent(bench: Bench) -> Any:
    """Batches leave two fifths of the interval."""
    return bench.wait(bench.start(bench.batches(200).select(slowly(16)("value")), trigger=3), 6)


@healthy
def rocksdb(bench: Bench) -> Any:
    """Windows whose state is in RocksDB."""
    bench.conf("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    return bench.wait(bench.start(windowed(bench), mode="update", trigger=2), 7)


@healthy
def complete_mode(bench: Bench) -> Any:
    """Complete mode with few groups."""
    frame = bench.batches(200).groupBy(F.expr("value % 7")).count()
    return bench.wait(bench.start(frame, mode="complete", trigger=1.5), 12)
