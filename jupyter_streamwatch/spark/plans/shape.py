"""What a streaming query is, before or after its start: a DataFrame, a writer or a query as a :class:`Shape`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.query_shape import Shape
from jupyter_streamwatch.spark import jvm
from jupyter_streamwatch.spark.bounded import ask
from jupyter_streamwatch.spark.plans import classic as shape_classic
from jupyter_streamwatch.spark.plans import connect as shape_connect
from jupyter_streamwatch.spark.plans.sinks import PINNED
from jupyter_streamwatch.spark.writer import session_of

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    connect = jvm.is_connect(x)
    session = x if what == "StreamingQuery" else x.sparkSession if what == "DataFrame" else session_of(x)
    nothing = Shape(mode="connect" if connect else "classic")
    if what == "DataFrame" and ask(session, lambda: x.isStreaming, True, seconds=SECONDS) is False:
        raise ValueError(
            "This DataFrame is not a streaming query: it reads no stream. Give the one that spark.readStream made, "
            "its writeStream, or the query that start() returned."
        )
    wanted = tuple(settings)
    read = shape_connect.read if connect else shape_classic.read
    # Asked in the probe's own line: what it reads with in the JVM serves one thread at a time.
    return ask(session, lambda: read(x, what, wanted), nothing, seconds=SECONDS)


def _what(x: Any) -> str:
    names = [kind.__name__ for kind in type(x).__mro__ if kind.__module__.startswith("pyspark.sql")]
    for name in ("DataFrame", "DataStreamWriter", "StreamingQuery"):
        if name in names:
            return name
    raise TypeError(
        "To compare, give a streaming DataFrame, its writeStream before the start, or the query that start() returned, "
        f"not {type(x).__module__}.{type(x).__qualname__}."
    )
