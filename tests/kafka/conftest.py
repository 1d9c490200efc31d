"""One broker and one session with its connectors for all tests of this directory."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw
from tests.conftest import ROOT
from tests.faults.bench import Bench
from tests.kafka.broker import Broker
from tests.kafka.versions import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDINGS = ROOT / "tests" / "cases" / "kafka"

os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    import pyspark
    from pyspark.sql import SparkSession

    packages = PACKAGES[pyspark.__version__]
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("streamwatch on kafka")
        .config("spark.jars.packages", ",".join(packages))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
    )
    if any("delta" in package for package in packages):
        catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        builder = builder.config("spark.sql.catalog.spark_catalog", catalog)
        builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@dataclass
class KafkaBench(Bench):
    """A bench beside a broker; what it ran can be kept as a recording."""

    broker: Broker = field(kw_only=True)

    def topic(self, topic: str, **options: Any) -> Any:
        """A streaming read of a topic, from its beginning; with code to paste, its reader has that too."""
        reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.broker.address)
        reader = reader.option("subscribe", topic).option("startingOffsets", "earliest").options(**options)
        return self.onto(reader).load()

    def rounds(self, query: Any, topic: str, rows: int, count: int) -> Any:
        """Send that many rows, wait for a batch, and so on."""
        done = self.done(query)
        for number in range(count):
            self.broker.send(topic, range(rows))
            self.wait_for(query, done + number + 1)
        return query

    def done(self, query: Any) -> int:
        """How many batches the query's run has reported."""
        history = self.history(query)
        run = next((one for one in history.runs if one.runId == str(query.runId)), None) if history else None
        return run.lastBatch - run.firstBatch + 1 if run is not None and run.lastBatch is not None else 0

    def wait_for(self, query: Any, batches: int) -> None:
        self.wait(query, batches)
        assert self.done(query) >= batches, f"{self.done(query)} of {batches} batches: {query.exception()}"

    def diagnose(self, query: Any) -> Any:
        self.settle(query)
        return self.watch.diagnose(str(query.id))

    def keep(self, query: Any, name: str) -> None:
        """Keep the recording without this machine's paths, as ``tests/unit/test_kafka_recorded.py`` replays it."""
        recording = self.watch.recording()
        history = recording.queries[str(query.id)]
        more: dict[str, Any] = {"case": name, "query": history.id}
        if history.running is not None:
            more |= {"now": time.time() * 1000, "running": asdict(history.running)}
        path = RECORDINGS / f"{name}.jsonl"
        recording.save(path)
        text = path.read_text() + json.dumps(more) + "\n"
        for known, neutral in ((str(self.root), "/data"), (str(ROOT), "/app")):
            text = text.replace(known, neutral)
        path.write_text(text)


@pytest.fixture
def bench(session: Any, broker: Broker, tmp_path: Any) -> Iterator[KafkaBench]:
    """A fresh watch of the session; every query that a test leaves is stopped."""
    with sw.watch(session) as watch:
        bench = KafkaBench(session, watch, tmp_path, broker=broker)
        yield bench
        bench.close()
