"""What a report says, taken once: every format writes the same content."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch import overview
from jupyter_streamwatch.format import clean
from jupyter_streamwatch.history import History
from jupyter_streamwatch.recording import Recording
from jupyter_streamwatch.redaction import redact, redact_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.notes import SessionLike

NOTHING = "No streaming query yet. Start one and it appears here."
PROBLEMS = 20  # sentences about what could not be read; the rest is counted


@dataclass(frozen=True)
class Query:
    """One query of a report: its line (redacted, JSON-ready), its diagnosis as data, and its history."""

    line: dict[str, Any]
    diagnosis: dict[str, Any]
    history: History


@dataclass(frozen=True)
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


def take(
    what: Recording | History | Mapping[str, History] | Iterable[History],
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
    recording = what if isinstance(what, Recording) else Recording(_histories(what))
    chosen = [recording.queries[query]] if query is not None else list(recording.queries.values())
    ranked = overview.ranked(chosen, session, now)
    taken = next((at for at in (now, recording.taken) if at is not None), time.time() * 1000)
    problems = [clean(redact(str(skipped.reason))) for skipped in recording.skipped]
    if len(problems) > PROBLEMS:
        problems[PROBLEMS:] = [f"{len(problems) - PROBLEMS} more parts were not understood."]
    return Content(
        taken=taken,
        environment={
            clean(str(key)): clean(redact_all(str(value), str(key))) for key, value in recording.environment.items()
        },
        session=clean(redact(session.text)) if session is not None and session.state != "live" else "",
        queries=tuple(
            Query(line.to_dict(), overview.plain(diagnosis.to_dict()), history) for history, diagnosis, line in ranked
        ),
        problems=tuple(problems),
        nothing=clean(redact(recording.nothing)) if isinstance(what, Recording) else "" if ranked else NOTHING,
    )


def _histories(what: History | Mapping[str, History] | Iterable[History]) -> list[History]:
    if isinstance(what, History):
        return [what]
    return list(what.values()) if isinstance(what, Mapping) else list(what)
