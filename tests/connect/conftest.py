"""One Spark Connect session for all tests of this directory. A process holds either kind of session, never both."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw

if TYPE_CHECKING:
    from collections.abc import Iterator

os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ["SPARK_TESTING"] = "true"  # PySpark gives the server a free port then, not 15002


@pytest.fixture(scope="session")
def connect() -> Iterator[Any]:
    pytest.importorskip("grpc")
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.remote("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture
def spark(connect: Any) -> Iterator[Any]:
    """The session; every query that a test leaves is stopped."""
    yield connect
    for query in connect.streams.active:
        query.stop()


@pytest.fixture
def watch(spark: Any) -> Iterator[Any]:
    """A fresh watch of the session."""
    with sw.watch(spark) as watch:
        yield watch
