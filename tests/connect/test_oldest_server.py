"""A real Connect server of Spark 3.5, which sends no events to its clients: watched by polling."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, rate, start

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("grpc")
pytestmark = [
    pytest.mark.oldest,
    pytest.mark.skipif(not version("pyspark").startswith("3.5."), reason="a server of Spark 3.5 is what it is about"),
]

PACKAGE = "org.apache.spark:spark-connect_2.12:3.5.1"  # newer ones of 3.5 are not in every mirror; 3.5.9 takes it


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of its own; skipped where its package cannot be fetched."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = {
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse"),
    }
    java = shutil.which("java")
    assert java, "Java is not on the PATH"
    command = [home / "bin/spark-submit", "--master", "local[2]", "--packages", PACKAGE]
    command += [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_TESTING"}
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(part) for part in command],
            env={**environment, "SPARK_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until(lambda: process.poll() is not None or _listens(port), 300, "a Connect server")
            if "unresolved dependency" in log.read_text():
                pytest.skip(f"{PACKAGE} cannot be fetched")
            assert process.poll() is None, log.read_text()[-3_000:]
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def spark(server: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(server).getOrCreate()
    yield session
    session.stop()


def test_batches_come_by_asking(spark):
    """Every batch is there, none twice; the facts are those of the plan and of the start; the end is seen."""
    with sw.watch(spark) as watch:
        assert watch.session.mode == "connect"
        assert any("before 4.0" in sentence for sentence in watch.problems)
        counts = rate(spark).groupBy("value").count()
        query = start(counts, mode="update", name="polled", trigger={"processingTime": "200 milliseconds"})
        history = watch.queries["polled"]
        wait_until(lambda: history.last and history.last.batchId >= 3, 120)
        wait_until(lambda: history.facts.stateful == ("stateStoreSave",) and history.facts.sources)
        assert history.facts.outputMode == "update"
        assert (history.facts.trigger.kind, history.facts.trigger.interval_ms) == ("processingTime", 200.0)
        query.stop()
        wait_until(lambda: history.runs[0].state == "ended")
        assert list(history.batches["batchId"]) == list(range(history.batches.rows))
        assert history.batches["numInputRows"].sum() > 0
        assert watch.diagnose("polled").verdict == "stopped"


def test_a_query_that_ends_at_once_is_seen(spark, tmp_path):
    """A run that starts and ends between two looks has its batch and its end."""
    add_file(tmp_path / "in", "1.json", [{"n": 1}, {"n": 2}])
    with sw.watch(spark) as watch:
        query = start(files(spark, tmp_path / "in"), name="short", trigger={"availableNow": True})
        query.awaitTermination()
        wait_until(lambda: watch.queries["short"].runs[0].state == "ended")
        assert list(watch.queries[query].batches["numInputRows"]) == [2]
        assert watch.diagnose(query).verdict == "finished"
