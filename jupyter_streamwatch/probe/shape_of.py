"""What a streaming query is, before or after its start: a DataFrame, a writer or a query as a :class:`Shape`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.probe import jvm, shape_classic, shape_connect
from jupyter_streamwatch.probe.bounded import ask
from jupyter_streamwatch.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

PINNED = (
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.aggregation.stateFormatVersion",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
    "spark.sql.streaming.join.stateFormatVersion",
    "spark.sql.streaming.multipleWatermarkPolicy",
    "spark.sql.streaming.stateStore.compression.codec",
    "spark.sql.streaming.stateStore.encodingFormat",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.formatVersion",
)
"""Settings that a checkpoint keeps (``OffsetSeqMetadata.relevantSQLConfs``); those that people change."""
SECONDS = 20.0
"""How long to wait for Spark: it plans the query once."""


def shape(x: Any, settings: Iterable[str] = PINNED) -> Shape:
    """Learn what a streaming query is.

    Args:
        x: a streaming DataFrame, its ``DataStreamWriter`` before the start, or a ``StreamingQuery``; classic or
            Connect.
        settings: names of the settings of its session that are wanted.

    Returns:
        The shape; what Spark does not say within 20 s is None.

    Raises:
        TypeError: when ``x`` is nothing of the three.
        ValueError: when ``x`` is a DataFrame that reads no stream.
    """
    what = _what(x)
    connect = any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(x).__mro__)
    if what == "StreamingQuery" and not connect:
        return query(None, x, settings)
    session = x.sparkSession if what == "DataFrame" else getattr(x, "_session" if connect else "_spark", None)
    nothing = Shape(mode="connect" if connect else "classic")
    if what == "DataFrame" and ask(session, lambda: x.isStreaming, True, seconds=SECONDS, line="shape") is False:
        raise ValueError(
            "This DataFrame is not a streaming query: it reads no stream. Give the one that spark.readStream made, "
            "its writeStream, or the query that start() returned."
        )
    wanted = tuple(settings)
    if connect:
        return ask(session, lambda: shape_connect.read(x, what, wanted), nothing, seconds=SECONDS, line="shape")
    return ask(session, lambda: shape_classic.read(x, what, wanted), nothing, seconds=SECONDS, line="shape")


def query(spark: Any, run: Any, settings: Iterable[str] = PINNED) -> Shape:
    """Learn what a classic query is; ``spark`` is its session when it is known. Never raises."""
    wanted = tuple(settings)
    session = spark if spark is not None else _session(run)
    return ask(
        session if session is not None else run,
        lambda: shape_classic.read(run, "StreamingQuery", wanted),
        Shape(mode="classic"),
        seconds=SECONDS,
        line="shape",
    )


def _session(run: Any) -> Any:
    sql = sys.modules.get("pyspark.sql")
    session = getattr(sql, "SparkSession", None)
    return None if session is None or jvm.is_connect(run) else session.getActiveSession()


def _what(x: Any) -> str:
    names = [kind.__name__ for kind in type(x).__mro__ if kind.__module__.startswith("pyspark.sql")]
    for name in ("DataFrame", "DataStreamWriter", "StreamingQuery"):
        if name in names:
            return name
    raise TypeError(
        "To compare, give a streaming DataFrame, its writeStream before the start, or the query that start() returned, "
        f"not {type(x).__module__}.{type(x).__qualname__}."
    )
