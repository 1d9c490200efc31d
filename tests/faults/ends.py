"""Faults of sources and checkpoints."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from tests.faults.bench import Bench, fault, slowly


@fault("slow-checkpoint", mended=True)
def slow_checkpoint(bench: Bench) -> Any:
    """The checkpoint's file system takes long for each file (see ``runner.slow_storage``)."""
    query = bench.start(bench.batches(50), checkpoint="slow-storage/checkpoint", last=bench.onto)
    return bench.wait(query, 7)


@fault("slow-source-discovery")
def slow_source_discovery(bench: Bench) -> Any:
    """Tens of thousands of files are listed for each batch."""
    directory = bench.path("in")
    for number in range(30_000):
        (directory / f"{number:05}.json").write_text('{"value": 1}\n')
    return bench.wait(bench.start(bench.files(maxFilesPerTrigger=2, maxCachedFiles=0)), 7)


@fault("no-rate-limit", mended=True)
def no_rate_limit(bench: Bench) -> Any:
    """The first batch takes all that waited."""
    for number in range(40):
        bench.add_file(f"{number:02}.json", [{"value": row} for row in range(100)])
    query = bench.start(bench.files(last=bench.onto).select(slowly(4)("value")))
    batches = 12 if bench.code else 7
    for number in range(batches):
        bench.wait(query, number + 1)
        bench.add_file(f"later-{number}.json", [{"value": row} for row in range(20)])
    return bench.wait(query, batches)


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


@fault("temporary-checkpoint", mended=True)
def temporary_checkpoint(bench: Bench) -> Any:
    """No checkpointLocation is given."""

    def each(frame: Any, batch: int) -> None:
        frame.write.format("noop").mode("overwrite").save()

    return bench.wait(
        bench.start(bench.batches(20), each=each, checkpoint=None, trigger=2, last=bench.onto), bench.least(5)
    )


@fault("pinned-conf", mended=True)
def pinned_conf(bench: Bench) -> Any:
    """The number of shuffle partitions is changed on an old checkpoint."""
    bench.conf("spark.sql.shuffle.partitions", "6")
    frame = bench.batches(20).withWatermark("timestamp", "10 seconds").groupBy(F.window("timestamp", "5 seconds"))
    # Several batches: the first ones fill the interval, and a stop in the middle of one would be another fault.
    first = bench.wait(bench.start(frame.count(), mode="update", trigger=2), 5)
    first.stop()
    bench.conf("spark.sql.shuffle.partitions", "3")
    return bench.wait(bench.start(frame.count(), mode="update", trigger=2, last=bench.onto), bench.least(4))


@fault("overhead-bound", mended=True)
def overhead_bound(bench: Bench) -> Any:
    """Ten triggers a second, for batches whose time does not depend on their rows."""
    for number in range(30):
        bench.add_file(f"{number:02}.json", [{"value": row} for row in range(20 + 37 * number % 500)])
    return bench.wait(bench.start(bench.files(maxFilesPerTrigger=1), trigger=0.1, last=bench.onto), 26)
