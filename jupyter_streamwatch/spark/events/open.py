"""Opens the bridge to a Spark session of either kind, and finds the session that a person means."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.spark import fallback, jvm
from jupyter_streamwatch.spark.events.classic import ClassicBridge
from jupyter_streamwatch.spark.events.connect import ConnectBridge, connect_bridge

if TYPE_CHECKING:
    from jupyter_streamwatch.spark.events.base import Bridge


def active_session() -> Any | None:
    """The session a person means when they name none, or None. Starts nothing and imports nothing new."""
    connect = sys.modules.get("pyspark.sql.connect.session")
    classic = sys.modules.get("pyspark.sql.session")
    for module in (connect, classic):  # ``remote("local")`` has a classic session too: its own server's
        session = _active_of(getattr(module, "SparkSession", None))
        if session is not None and _is_live(session):
            return session
    return None


def _active_of(cls: Any) -> Any | None:
    for name in ("_instantiatedSession", "_default_session"):  # set by the builder; asks no JVM that may be dead
        session = getattr(cls, name, None)
        if session is not None and not _is_live(session):
            return None
    known = getattr(cls, "_activeSession", None)  # classic: the same without a question, which a paused JVM would keep
    if known is not None:
        return known
    try:
        session = cls.getActiveSession()  # of this thread
    except Exception:
        fallback.taken()
        session = None
    if session is not None:
        return session
    return getattr(cls, "_instantiatedSession", None) or getattr(cls, "_default_session", None)


def _is_live(session: Any) -> bool:
    if jvm.is_connect(session):
        return ConnectBridge(session).link().state == "live"
    return open_bridge(session).link().state == "live"


def open_bridge(spark: Any) -> Bridge:
    """The bridge of this kind of session, not attached yet; TypeError when it is no session."""
    if not hasattr(type(spark), "streams"):
        raise TypeError(f"Pass a SparkSession, not {type(spark).__qualname__}.")
    if jvm.is_connect(spark):
        return connect_bridge(spark)
    return ClassicBridge(spark)
