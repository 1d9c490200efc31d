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

PATIENCE = 2.0  # seconds for one answer: a healthy Spark needs milliseconds; one that is paused gives none


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
    """How the session is: ``state`` is live, stopped or gone; ``text`` says it in one sentence.

    ``answers`` is False while Spark does not answer, though it may be there.
    """

    state: str
    text: str
    answers: bool = True


class Active(NamedTuple):
    """A run that goes on, as Spark says.

    Attributes:
        id: of its query.
        runId: its own.
        query: the query object.
        batchId: the last batch that Spark has reported of it; None when there is none.
    """

    id: str
    runId: str
    query: Any
    batchId: int | None


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

    def keep(self) -> str | None:
        """Called every few seconds: restore what was lost on the way of the events, and say so in one sentence.

        None when nothing was lost, or when nothing can be done.
        """

    def read(self, arrival: Arrival) -> Mapping[str, Any]:
        """The event as plain data, in the words of a recording's lines; may raise on odd payloads."""

    def link(self) -> Link:
        """How the session is, without a call to Spark that can hang."""

    def query(self, id: str, runId: str) -> Any | None:
        """The query object of an active run, None when it cannot be had."""

    def written(self, runId: str) -> Written | None:
        """What this process started the run with, where Spark itself does not tell (Connect); None when unknown."""

    def active(self) -> list[Active] | None:
        """The runs of this session that go on, with the last batch of each; None without an answer."""

    def ended(self, runs: Mapping[str, Any], seconds: float) -> set[str]:
        """Which of these runs (runId -> query object or None) are over, as Spark says; unknown ones are not."""

    def recent(self, query: Any, after: int = -1) -> list[str]:
        """What the query still remembers of its batches after that one, as JSON texts, oldest first."""

    def ask(self, call: Callable[[], T], default: D, seconds: float | None = None) -> T | D:
        """The result of ``call``, which asks Spark something; ``default`` when it fails or takes too long."""


def now() -> float:
    """Epoch milliseconds, whole ones: what a recording keeps of a time."""
    return float(int(time.time() * 1000))
