"""How events reach us: one bridge per Spark session, classic or Connect.

A bridge hands *arrivals* to a ``put`` function and returns at once; what an arrival says is fetched later,
on the collector's thread, by :meth:`Bridge.read`. Private Spark names of the event path live in this package alone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_streamwatch.spark.plans.started import Written

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
