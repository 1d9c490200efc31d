"""Histories by query: found by an id, the start of one, a name, or a query object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_streamwatch.model.history import HistoryView
from jupyter_streamwatch.text.numbers import middle, query_name
from jupyter_streamwatch.text.redaction import redact

NAME_LENGTH = 60  # characters of a name in a list; its id stands beside it
LISTED = 20  # queries in a list; the rest is counted


class UnknownQueryError(KeyError):
    """No query, or more than one, answers to a key; the text names the right ones."""

    def __str__(self) -> str:
        """The sentence, without the quotes of a KeyError."""
        return str(self.args[0])


class Queries(Mapping[str, HistoryView]):
    """Histories by query: iteration yields ids; a key is an id, a unique prefix of it, a name, or a query object.

    A name that was used again means its newest query.
    """

    def __init__(self, histories: Mapping[str, HistoryView]) -> None:
        """Look into ``histories`` (by id), which may grow."""
        self._histories = histories

    def __getitem__(self, key: Any) -> HistoryView:
        """The history for a key.

        Raises:
            KeyError: When no query, or more than one, answers to it; the text names the right ones.
        """
        if isinstance(key, HistoryView):
            key = key.id
        wanted = key if isinstance(key, str) else str(getattr(key, "id", key))
        histories = dict(self._histories)
        if wanted in histories:
            return histories[wanted]
        named = [history for history in histories.values() if history.name == wanted]
        if named:
            return max(named, key=_began)
        start = wanted.removeprefix("query ")  # so is one without a name called
        alike = [history for id, history in histories.items() if start and id.startswith(start)]
        if len(alike) == 1:
            return alike[0]
        asked = middle(redact(wanted), NAME_LENGTH)
        what = f"More than one query begins with {asked!r}" if alike else f"No query {asked!r}"
        right = _listed(alike or list(histories.values()))
        raise UnknownQueryError(f"{what}; there {'is no query at all' if not right else 'are: ' + right}.")

    def __iter__(self) -> Iterator[str]:
        """Ids, oldest query first."""
        return iter(list(self._histories))

    def __len__(self) -> int:
        """Number of queries."""
        return len(self._histories)

    def __repr__(self) -> str:
        """Names and ids."""
        return f"<Queries: {_listed(list(dict(self._histories).values()))}>"


def _listed(histories: list[HistoryView]) -> str:
    more = f" and {len(histories) - LISTED} more" if len(histories) > LISTED else ""
    return ", ".join(_called(history) for history in histories[:LISTED]) + more


def _called(history: HistoryView) -> str:
    return f"{middle(query_name(history.name, history.id), NAME_LENGTH)} ({middle(history.id, NAME_LENGTH)})"


def _began(history: HistoryView) -> float:
    run = history.runs[-1] if history.runs else None
    if run is not None and run.started is not None:
        return run.started
    start = history.record.start_ms if history.record else None
    return float("-inf") if start is None else start
