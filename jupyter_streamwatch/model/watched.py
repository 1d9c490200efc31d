"""What is watched in this process: a watch says here where its histories are, and whoever needs one asks here."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.model.history import HistoryView


class Watching(Protocol):
    """Something that keeps histories."""

    def histories(self) -> Iterable[HistoryView]:
        """The histories as far as events have arrived; never waits."""


_lock = threading.Lock()
_watching: list[Watching] = []


def add(watch: Watching) -> None:
    """``watch`` goes on from now: it is the one that is asked first."""
    with _lock:
        _watching[:] = [*(other for other in _watching if other is not watch), watch]


def remove(watch: Watching) -> None:
    """``watch`` has ended; one that never was here is no error."""
    with _lock:
        _watching[:] = [other for other in _watching if other is not watch]


def history(id: str | None) -> HistoryView | None:
    """The history of the query with this id, of the watch that began last; None when none of them knows it."""
    with _lock:
        newest_first = _watching[::-1]
    for watch in newest_first:
        for known in watch.histories():
            if known.id == id:
                return known
    return None
