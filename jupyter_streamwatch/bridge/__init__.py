"""How events reach us: one bridge per Spark session, classic or Connect.

A bridge hands *arrivals* to a ``put`` function and returns at once; what an arrival says is fetched later,
on the collector's thread, by :meth:`Bridge.read`. Private Spark names of the event path live in this package alone.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_streamwatch.probe.started import Written

T = TypeVar("T")
D = TypeVar("D")


class Arrival(NamedTuple):
    """One event as it was handed over.

    Attributes:
        kind: ``started``, ``progress``, ``idle`` or ``terminated``.
        payload: what the bridge's ``read`` understands: a reference into the JVM, or PySpark's event object.
        at: when it arrived, epoch milliseconds.
    """

    kind: str
    payload: Any
    at: float


class Link(NamedTuple):
    """How the session is: ``state`` is live, stopped or gone; ``text`` says it in one sentence."""

    state: str
    text: str


class Bridge(Protocol):
    """What the watch needs of a session, whichever its kind."""

    mode: str
    spark: Any
    version: str
    problem: str | None

    def serves(self, spark: Any) -> bool:
        """Whether ``spark`` is the session that this bridge is attached to."""

    def attach(self, put: Callable[[Arrival], None]) -> None:
        """Start to hand every event to ``put``."""

    def detach(self) -> None:
        """Stop handing over events; never raises, also when the session is gone."""

    def keep(self) -> None:
        """Called every few seconds: restore what a lost connection took away."""

    def read(self, arrival: Arrival) -> Mapping[str, Any]:
        """The event as plain data, in the words of a recording's lines; may raise on odd payloads."""

    def link(self) -> Link:
        """How the session is, without a call to Spark that can hang."""

    def query(self, id: str, runId: str) -> Any | None:
        """The query object of an active run, None when it cannot be had."""

    def written(self, runId: str) -> Written | None:
        """What this process started the run with, where Spark itself does not tell (Connect); None when unknown."""

    def ended(self, runs: Mapping[str, Any]) -> set[str]:
        """Which of these runs (runId -> query object or None) are over, as Spark says; unknown ones are not."""

    def recent(self, query: Any) -> list[str]:
        """What the query still remembers of its batches, as JSON texts, oldest first."""

    def ask(self, call: Callable[[], T], default: D) -> T | D:
        """The result of ``call``, which asks Spark something; ``default`` when it fails or takes too long."""


def now() -> float:
    """Epoch milliseconds, whole ones: what a recording keeps of a time."""
    return float(int(time.time() * 1000))


def is_connect(spark: Any) -> bool:
    """Whether ``spark`` is a Spark Connect session."""
    return any(cls.__module__.startswith("pyspark.sql.connect") for cls in type(spark).__mro__)


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
    try:
        session = cls.getActiveSession()  # of this thread
    except Exception:
        session = None
    if session is not None:
        return session
    return getattr(cls, "_instantiatedSession", None) or getattr(cls, "_default_session", None)


def _is_live(session: Any) -> bool:
    if is_connect(session):
        from jupyter_streamwatch.bridge.connect import ConnectBridge

        return ConnectBridge(session).link().state == "live"
    return open_bridge(session).link().state == "live"


def open_bridge(spark: Any) -> Bridge:
    """The bridge of this kind of session, not attached yet; TypeError when it is no session."""
    if not hasattr(type(spark), "streams"):
        raise TypeError(f"Pass a SparkSession, not {type(spark).__qualname__}.")
    if is_connect(spark):
        from jupyter_streamwatch.bridge.connect import connect_bridge

        return connect_bridge(spark)
    from jupyter_streamwatch.bridge.classic import ClassicBridge

    return ClassicBridge(spark)
