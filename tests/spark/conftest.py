"""One classic Spark session for all tests of this directory, and a watch that each test can have fresh."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw

if TYPE_CHECKING:
    from collections.abc import Iterator

# A JVM that starts quickly and leaves the other core alone; what it compiles is thrown away after a minute.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def make_session() -> Any:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("streamwatch tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.default.parallelism", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


class SharedSession:
    """The session of the tests; the test that stops it leaves the next one a new one."""

    def get(self) -> Any:
        return make_session()


@pytest.fixture(scope="session")
def shared() -> Iterator[SharedSession]:
    shared = SharedSession()
    yield shared
    shared.get().stop()


@pytest.fixture
def spark(shared: SharedSession) -> Iterator[Any]:
    """The session; every query that a test leaves is stopped."""
    session = shared.get()
    yield session
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    for query in active.streams.active if active is not None else []:
        query.stop()


@pytest.fixture
def watch(spark: Any) -> Iterator[Any]:
    """A fresh watch of the session."""
    with sw.watch(spark) as watch:
        yield watch
