"""More healthy runs: what looks odd at first sight, and is not."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import functions as F

from tests.faults.bench import Bench, healthy, slowly


@healthy
def one_batch(bench: Bench) -> Any:
    """One batch is done, and the next trigger is far away."""
    return bench.wait(bench.start(bench.batches(200), trigger=10), 1)


@healthy
def backlog_worked_off(bench: Bench) -> Any:
    """A large backlog comes in limited batches; then the query keeps up."""
    for number in range(12):
        bench.add_file(f"old-{number:02}.json", [{"value": row} for row in range(400)])
    query = bench.start(bench.files(maxFilesPerTrigger=3).select(slowly(1)("value")), trigger=1.5)
    bench.wait(query, 4)
    for number in range(6):
        bench.add_file(f"{number}.json", [{"value": row} for row in range(20)])
        bench.wait(query, number + 5)
    return query


@healthy
def bursts(bench: Bench) -> Any:
    """Every fourth batch is fifty times as large as the others, and takes longer than the interval."""
    query = None
    for number in range(13):
        rows = 1000 if number % 4 == 3 else 20
        bench.add_file(f"{number}.json", [{"value": row} for row in range(rows)])
        query = query or bench.start(bench.files().select(slowly(1.6)("value")), trigger=1.5)
        bench.wait(query, number + 1)
    return query


@healthy
def side_by_side(bench: Bench) -> Any:
    """Two queries share the cores, and both keep up."""
    frames = [bench.batches(100).select(slowly(8)("value").alias("value")) for _ in range(2)]
    queries = [bench.start(frame, checkpoint=f"{number}", trigger=4) for number, frame in enumerate(frames)]
    bench.wait(queries[0], 5)
    return bench.wait(queries[1], 5)


@healthy
def session_window(bench: Bench) -> Any:
    """Sessions that end."""
    frame = bench.batches(200, advance=6000).withWatermark("timestamp", "5 seconds")
    frame = frame.groupBy(F.session_window("timestamp", "3 seconds"), F.expr("value % 5")).count()
    return bench.wait(bench.start(frame, trigger=2), 9)


@healthy
def chain(bench: Bench) -> Any:
    """Windows of windows: two stateful operators, one after the other."""
    frame = bench.batches(200, advance=6000).withWatermark("timestamp", "4 seconds")
    frame = frame.groupBy(F.window("timestamp", "4 seconds"), F.expr("value % 5")).count()
    frame = frame.groupBy(F.window("window", "8 seconds")).sum("count")
    return bench.wait(bench.start(frame, trigger=4), 7)


@healthy
def static_join(bench: Bench) -> Any:
    """Rows are completed from a table that does not change."""
    names = bench.spark.range(1000).withColumn("name", F.concat(F.lit("name "), F.col("id")))
    names.write.parquet(str(bench.root / "names"))
    names = bench.spark.read.parquet(str(bench.root / "names"))
    frame = bench.batches(200).withColumn("id", F.col("value") % 1000).join(names, "id", "left")
    return bench.wait(bench.start(frame, "parquet", trigger=2), 7)


@healthy
def merge(bench: Bench) -> Any:
    """A foreachBatch function that reads its table, merges the batch and writes it again, with time left."""
    table = str(bench.root / "table")

    def each(frame: Any, batch: int) -> None:
        spark = frame.sparkSession
        frame = frame.persist()
        rows = frame.select((F.col("value") % 500).alias("id"), F.lit(batch).alias("batch"))
        if batch:
            old = spark.read.parquet(f"{table}/{batch - 1}")
            rows = rows.unionByName(old.join(rows, "id", "left_anti"))
        rows.dropDuplicates(["id"]).write.mode("overwrite").parquet(f"{table}/{batch}")
        frame.unpersist()
        time.sleep(0.5)  # the table's own commit

    return bench.wait(bench.start(bench.batches(100), each=each, trigger=4), 5)


@healthy
def restart_after_crash(bench: Bench) -> Any:
    """A task fails once; started again, the query repeats the batch, into a sink that skips what it has."""
    marker = str(bench.root / "crashed")

    @F.udf("long")
    def fragile(value):
        from pathlib import Path

        if value == 250 and not Path(marker).exists():
            Path(marker).touch()
            raise ConnectionError("the machine went away")
        return value

    frame = bench.batches(100).select(fragile("value").alias("value"))
    first = bench.start(frame, "parquet", trigger=3)
    bench.until(first, lambda: not first.isActive)
    return bench.wait(bench.start(frame, "parquet", trigger=3), 5)


@healthy
def tiny_batches(bench: Bench) -> Any:
    """Batches of a few rows follow each other as they come; most of their time does not depend on the rows."""
    frame = bench.spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    frame = frame.withWatermark("timestamp", "5 seconds").groupBy(F.window("timestamp", "2 seconds")).count()
    return bench.wait(bench.start(frame, mode="update", trigger=None), 14)
