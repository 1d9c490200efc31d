"""Faults of sources and checkpoints."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from tests.faults.bench import Bench, fault, slowly


@fault("slow-checkpoint")
def slow_checkpoint(bench: Bench) -> Any:
    """The checkpoint's file system takes long for each file (see ``runner.slow_storage``)."""
    return bench.wait(bench.start(bench.batches(50), checkpoint="slow-storage"), 7)


@fault("slow-source-discovery")
def slow_source_discovery(bench: Bench) -> Any:
    """Tens of thousands of files are listed for each batch."""
    directory = bench.path("in")
    for number in range(30_000):
        (directory / f"{number:05}.json").write_text('{"value": 1}\n')
    return bench.wait(bench.start(bench.files(maxFilesPerTrigger=2, maxCachedFiles=0)), 7)


@fault("no-rate-limit")
def no_rate_limit(bench: Bench) -> Any:
    """The first batch takes all that waited."""
    for number in range(2):
        bench.add_file(f"{number}.json", [{"value": row} for row in range(2000)])
    query = bench.start(bench.files().select(slowly(4)("value")))
    for number in range(7):
        bench.wait(query, number + 1)
        bench.add_file(f"later-{number}.json", [{"value": row} for row in range(20)])
    return bench.wait(query, 7)


@fault("rate-limit-reached")
def rate_limit_reached(bench: Bench) -> Any:
    """Three files arrive while a batch may take one."""
    query = None
    for number in range(9):
        for part in range(3):
            bench.add_file(f"{number}-{part}.json", [{"value": row} for row in range(10)])
        query = query or bench.start(bench.files(maxFilesPerTrigger=1))
        bench.wait(query, number + 1)
    return query


@fault("replayed-batch")
def replayed_batch(bench: Bench) -> Any:
    """The run fails after the sink wrote and before the batch was committed; then it is started again."""
    out = str(bench.path("out"))
    frame = bench.batches(20)

    def crash(frame: Any, batch: int) -> None:
        frame.write.mode("append").parquet(out)
        if batch == 2:
            raise ConnectionError("the machine went away")

    def each(frame: Any, batch: int) -> None:
        frame.write.mode("append").parquet(out)

    first = bench.start(frame, each=crash, trigger=2)
    bench.until(first, lambda: not first.isActive)
    return bench.wait(bench.start(frame, each=each, trigger=2), 4)


@fault("temporary-checkpoint")
def temporary_checkpoint(bench: Bench) -> Any:
    """No checkpointLocation is given."""

    def each(frame: Any, batch: int) -> None:
        frame.write.format("noop").mode("overwrite").save()

    return bench.wait(bench.start(bench.batches(20), each=each, checkpoint=None, trigger=2), 5)


@fault("pinned-conf")
def pinned_conf(bench: Bench) -> Any:
    """The number of shuffle partitions is changed on an old checkpoint."""
    bench.conf("spark.sql.shuffle.partitions", "6")
    frame = bench.batches(20).withWatermark("timestamp", "10 seconds").groupBy(F.window("timestamp", "5 seconds"))
    first = bench.wait(bench.start(frame.count(), mode="update", trigger=2), 2)
    first.stop()
    bench.conf("spark.sql.shuffle.partitions", "3")
    return bench.wait(bench.start(frame.count(), mode="update", trigger=2), 4)
