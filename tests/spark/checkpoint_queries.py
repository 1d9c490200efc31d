"""Queries whose checkpoints the tests read, and the making of the small real ones that unit tests read without Spark.

Renew those of one Spark version: ``python -m tests.spark.checkpoint_queries tests/cases/checkpoints`` with its Python.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.spark.queries import add_file

SCHEMA = "id INT, city STRING, amount DOUBLE, ts TIMESTAMP"
ROWS = [
    {"id": 1, "city": "Delhi", "amount": 3.5, "ts": "2026-01-01T12:00:00Z"},
    {"id": 2, "city": "Pune", "amount": 1.5, "ts": "2026-01-01T12:07:00Z"},
]
LATER = [
    {"id": 1, "city": "Delhi", "amount": 3.5, "ts": "2026-01-01T12:20:00Z"},
    {"id": 3, "city": "Goa", "amount": 9.5, "ts": "2026-01-01T12:21:00Z"},
]
STORE = "spark.sql.streaming.stateStore."
ROCKS = {STORE + "providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"}
CHANGELOG = ROCKS | {STORE + "rocksdb.changelogCheckpointing.enabled": "true"}
CHECKPOINT_V2 = CHANGELOG | {STORE + "checkpointFormatVersion": "2"}
JOIN_V3 = CHANGELOG | {"spark.sql.streaming.join.stateFormatVersion": "3"}
OFFSETS_V2 = {"spark.sql.streaming.offsetLog.formatVersion": "2"}


class Maker:
    """Runs queries over small JSON files, each to its end, each on a checkpoint of its own below ``base``."""

    def __init__(self, spark: Any, base: Path) -> None:
        self.spark = spark
        self.base = base
        self.newest = int(spark.version.split(".")[0]) >= 4
        add_file(base / "in", "1.json", ROWS)
        add_file(base / "in", "2.json", LATER)
        add_file(base / "other", "1.json", ROWS)

    def path(self, name: str) -> Path:
        return self.base / "checkpoints" / name

    def source(self, folder: str = "in", files: int = 1) -> Any:
        (self.base / folder).mkdir(exist_ok=True)
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files)
        return reader.json(str(self.base / folder))

    def run(self, name: str, frame: Any, mode: str = "append", conf: dict[str, str] | None = None, **how: Any) -> Any:
        """Run ``frame`` to its end; how: each (foreachBatch), sink and path of the output. Returns the query."""
        for key, value in (conf or {}).items():
            self.spark.conf.set(key, value)
        try:
            writer = frame.writeStream.outputMode(mode).option("checkpointLocation", str(self.path(name)))
            writer = writer.foreachBatch(how["each"]) if "each" in how else writer.format(how.get("sink", "noop"))
            query = writer.trigger(availableNow=True).start(*([str(how["path"])] if "path" in how else []))
            query.awaitTermination()
        finally:
            for key in conf or {}:
                self.spark.conf.unset(key)
        return query

    def files(self, name: str = "files") -> Any:
        return self.run(name, self.source(), sink="parquet", path=self.base / f"{name}-out")

    def aggregate(self) -> Any:
        from pyspark.sql import functions as F

        keys = F.window("ts", "5 minutes"), "city"
        return self.source().withWatermark("ts", "10 minutes").groupBy(*keys).agg(F.count("*"), F.sum("amount"))

    def join(self) -> Any:
        from pyspark.sql import functions as F

        left = self.source().withWatermark("ts", "1 minute").alias("l")
        right = self.source("other").withWatermark("ts", "1 minute").alias("r")
        near = "l.id = r.id AND l.ts >= r.ts - INTERVAL 1 MINUTE AND l.ts <= r.ts + INTERVAL 30 MINUTES"
        return left.join(right, F.expr(near), "inner").select("l.id", "r.city")

    def session(self) -> Any:
        from pyspark.sql import functions as F

        return (
            self.source().withWatermark("ts", "10 minutes").groupBy(F.session_window("ts", "5 minutes"), "city").count()
        )

    def pandas_state(self) -> Any:
        from pyspark.sql.streaming.state import GroupStateTimeout

        def count(key: Any, frames: Any, state: Any) -> Any:
            import pandas as pd

            total = sum(len(frame) for frame in frames) + (state.get[0] if state.exists else 0)
            state.update((total,))
            yield pd.DataFrame({"city": [key[0]], "n": [total]})

        timeout = GroupStateTimeout.NoTimeout
        return (
            self.source()
            .groupBy("city")
            .applyInPandasWithState(count, "city STRING, n LONG", "n LONG", "update", timeout)
        )

    def with_state(self) -> Any:
        return (
            self.source()
            .groupBy("city")
            .transformWithStateInPandas(
                processor(), outputStructType="city STRING, n LONG", outputMode="Update", timeMode="None"
            )
        )

    def made(self) -> dict[str, Any]:
        """The cases by name, as functions that make them."""
        late = lambda: self.source().withWatermark("ts", "10 minutes")  # noqa: E731
        cases = {
            "files": self.files,
            "aggregate": lambda: self.run("aggregate", self.aggregate(), "update"),
            "aggregate-rocksdb": lambda: self.run("aggregate-rocksdb", self.aggregate(), "update", ROCKS),
            "aggregate-changelog": lambda: self.run("aggregate-changelog", self.aggregate(), "update", CHANGELOG),
            "global": lambda: self.run("global", self.source().groupBy().count(), "complete"),
            "limit": lambda: self.run("limit", self.source().limit(3)),
            "dedupe": lambda: self.run("dedupe", self.source().dropDuplicates(["id"])),
            "dedupe-within": lambda: self.run("dedupe-within", late().dropDuplicatesWithinWatermark(["id"])),
            "join": lambda: self.run("join", self.join()),
            "join-rocksdb": lambda: self.run("join-rocksdb", self.join(), conf=ROCKS),
            "session": lambda: self.run("session", self.session()),
            "pandas-state": lambda: self.run("pandas-state", self.pandas_state(), "update"),
            "union": lambda: self.run("union", self.source().union(self.source("empty"))),
            "rate-micro-batch": self.rate_per_batch,
        }
        if self.newest:
            cases |= {
                "aggregate-v2": lambda: self.run("aggregate-v2", self.aggregate(), "update", CHECKPOINT_V2),
                "join-v2": lambda: self.run("join-v2", self.join(), conf=CHECKPOINT_V2),
                "join-v3": lambda: self.run("join-v3", self.join(), conf=JOIN_V3),
                "with-state": lambda: self.run("with-state", self.with_state(), "update", ROCKS),
                "offsets-v2": lambda: self.run("offsets-v2", self.source(), conf=OFFSETS_V2),
            }
        return cases

    def rate_per_batch(self) -> Any:
        rate = self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5)
        return self.run("rate-micro-batch", rate.option("numPartitions", 1).load())


def processor() -> Any:
    """A ``transformWithStateInPandas`` processor with a variable of each kind."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Counting(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.count = handle.getValueState("countState", "n LONG")
            self.recent = handle.getListState("recent", "amount DOUBLE")
            self.known = handle.getMapState("byId", "id INT", "amount DOUBLE")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            import pandas as pd

            total = self.count.get()[0] if self.count.exists() else 0
            for frame in rows:
                total += len(frame)
                for _, row in frame.iterrows():
                    self.recent.appendValue((float(row["amount"]),))
                    self.known.updateValue((int(row["id"]),), (float(row["amount"]),))
            self.count.update((total,))
            yield pd.DataFrame({"city": [key[0]], "n": [total]})

        def close(self) -> None:
            pass

    return Counting()


def long(maker: Maker) -> None:
    """Twenty-five batches: compacted source and sink logs, purged entries, snapshots of the state."""
    from pyspark.sql import functions as F

    for number in range(3, 26):
        add_file(maker.base / "in", f"{number}.json", ROWS)
    few = {"spark.sql.streaming.minBatchesToRetain": "3"}
    counts = maker.source().groupBy("city").agg(F.count("*"))
    maker.run("long", counts, "update", few)
    maker.run("long-changelog", counts, "update", few | CHANGELOG)
    maker.run("long-files", maker.source(), sink="parquet", path=maker.base / "long-files-out", conf=few)
    if maker.newest:
        maker.run("long-v2", counts, "update", few | CHECKPOINT_V2)


def rate(maker: Maker) -> None:
    """A rate source for a few batches."""
    from tests.helpers import wait_until

    frame = maker.spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(maker.path("rate")))
    query = writer.trigger(processingTime="500 milliseconds").start()
    wait_until(lambda: len(query.recentProgress) >= 3)
    query.stop()


def pack(folder: Path, target: Path, base: Path) -> None:
    """Put a folder into a ``tar.gz`` without checksums and times; paths of this machine become ``/data``."""
    with tarfile.open(target, "w:gz", compresslevel=9) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_dir() or path.name.endswith(".crc"):
                continue
            content = path.read_bytes()
            if not path.name.endswith((".zip", ".sst", ".delta", ".changelog", ".snapshot", ".parquet")):
                content = content.replace(str(base).encode(), b"/data")
            about = tarfile.TarInfo(str(path.relative_to(folder)))
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))


def main(target: Path) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key, value in {
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        STORE + "maintenanceInterval": "200ms",
        STORE + "minDeltasForSnapshot": "3",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    base = Path(tempfile.mkdtemp(prefix="streamwatch-"))
    try:
        maker = Maker(spark, base)
        for make in maker.made().values():
            make()
        rate(maker)
        long(maker)
        version = ".".join(spark.version.split(".")[:2])
        target.mkdir(parents=True, exist_ok=True)
        for folder in sorted((base / "checkpoints").iterdir()):
            pack(folder, target / f"{version}-{folder.name}.tar.gz", base)
        pack(base / "files-out" / "_spark_metadata", target / f"{version}-files-sink.tar.gz", base)
        pack(base / "long-files-out" / "_spark_metadata", target / f"{version}-long-files-sink.tar.gz", base)
        print(json.dumps({"version": version, "cases": len(list(target.glob(f"{version}-*")))}))
    finally:
        spark.stop()
        shutil.rmtree(base)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
