"""What a report says, taken once: every format writes the same content."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jupyter_streamwatch.model.history import HistoryView
from jupyter_streamwatch.model.queries import Queries
from jupyter_streamwatch.summary.line import ranked
from jupyter_streamwatch.text.numbers import clean
from jupyter_streamwatch.text.outside import brief, cut
from jupyter_streamwatch.text.plain import plain
from jupyter_streamwatch.text.redaction import redact, redact_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_streamwatch.summary.note import SessionLike

NOTHING = "No streaming query yet. Start one and it appears here."
PROBLEMS = 20  # sentences about what could not be read; the rest is counted
SETTINGS = 200  # versions and settings of the session; the rest is counted
LINE = 500  # characters of each of these


class NotUnderstood(Protocol):
    """Something that could not be read."""

    @property
    def reason(self) -> str:
        """Why, in one sentence."""


@runtime_checkable
class Recorded(Protocol):
    """What a report needs of a recording."""

    @property
    def queries(self) -> Queries:
        """The histories."""

    @property
    def skipped(self) -> Sequence[NotUnderstood]:
        """What was not understood."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Versions and settings of the session."""

    @property
    def taken(self) -> float | None:
        """Epoch ms when it was taken; None when unknown."""

    @property
    def nothing(self) -> str:
        """Why there is no query in it; empty when there is one."""


@dataclass(frozen=True, repr=False)
class Query:
    """One query of a report: its line (redacted, JSON-ready), its diagnosis as data, and its history."""

    line: dict[str, Any]
    diagnosis: dict[str, Any]
    history: HistoryView

    __repr__ = brief


@dataclass(frozen=True, repr=False)
class Content:
    """Everything that a report shows.

    ``taken`` is epoch ms, ``session`` says so when Spark's session is over, ``nothing`` why there is no query.
    """

    taken: float
    environment: dict[str, str]
    session: str
    queries: tuple[Query, ...]
    problems: tuple[str, ...]
    nothing: str

    __repr__ = brief


def take(
    what: Recorded | HistoryView | Mapping[str, HistoryView] | Iterable[HistoryView],
    query: Any = None,
    *,
    session: SessionLike | None = None,
    now: float | None = None,
) -> Content:
    """Collect what a report says.

    Args:
        what: A recording, one history, or several.
        query: Id, prefix of an id, name, or object with an ``id``: only this query. KeyError when there is none.
        session: State of the Spark session, when there is one.
        now: Epoch ms, when queries may still run; verdicts are as of the last record otherwise.
    """
    recording: Recorded | None = None
    if isinstance(what, Recorded):
        recording, queries = what, what.queries
    else:
        queries = _queries(what)
    chosen = [queries[query]] if query is not None else list(queries.values())
    queries_ranked = ranked(chosen, session, now)
    known_times = (now, recording.taken if recording is not None else None)
    taken = next((at for at in known_times if at is not None), time.time() * 1000)
    skipped = recording.skipped if recording is not None else ()
    problems = [_line(str(part.reason)) for part in skipped[: PROBLEMS + 1]]
    if len(skipped) > PROBLEMS:
        problems[PROBLEMS:] = [f"{len(skipped) - PROBLEMS} more parts were not understood."]
    environment = list(recording.environment.items()) if recording is not None else []
    if len(environment) > SETTINGS:
        environment[SETTINGS:] = [("...", f"{len(environment) - SETTINGS} more are not listed.")]
    nothing = recording.nothing if recording is not None else "" if queries_ranked else NOTHING
    return Content(
        taken=taken,
        environment={_line(str(key)): _line(str(redact_all(str(value), str(key)))) for key, value in environment},
        session=_line(session.text) if session is not None and session.state != "live" else "",
        queries=tuple(
            Query(line.to_dict(), plain(diagnosis.to_dict()), history) for history, diagnosis, line in queries_ranked
        ),
        problems=tuple(problems),
        nothing=_line(nothing),
    )


def _line(text: str) -> str:
    return cut(clean(redact(text)), LINE)


def _queries(what: HistoryView | Mapping[str, HistoryView] | Iterable[HistoryView]) -> Queries:
    if isinstance(what, HistoryView):
        return Queries({what.id: what})
    histories = what.values() if isinstance(what, Mapping) else what
    return Queries({history.id: history for history in histories})
