"""Raises the hints of a watch: each code of each query once, and again when a later run had lost it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from jupyter_streamwatch.text.numbers import query_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.diagnosis import Hint
    from jupyter_streamwatch.model.history import History
    from jupyter_streamwatch.watching.collector import Collector


_JUDGED = frozenset({"keeping-up", "at-capacity", "falling-behind", "catching-up", "finished"})
"""Verdicts of a run that has shown enough to say that a hint is gone."""


class HintCalls:
    """Diagnoses histories that changed and tells callbacks of codes that were not there before.

    Within a run a code is told once, however often it comes and goes, and once more if it becomes critical. When a
    later run of the query is judged without it, it has cleared; raised anew, it is told again.
    """

    def __init__(self, collector: Collector) -> None:
        """Look at the histories of ``collector``, which also keeps a sentence about what went wrong."""
        self._collector = collector
        self._lock = threading.Lock()
        # Number of the callback -> (id of the query, code) -> the run in which it was seen last; whether critical.
        self._raised: dict[int, dict[tuple[str, str], tuple[str, bool]]] = {}
        self._callbacks: dict[int, Callable[[History, Hint], None]] = {}
        self._versions: dict[str, int] = {}
        self._count = 0

    def add(self, callback: Callable[[History, Hint], None]) -> Callable[[], None]:
        """Tell ``callback`` of every hint, also of those that hold now; returns a function that ends it."""
        if not callable(callback):
            raise TypeError(f"on_hint takes a function of (history, hint), not {type(callback).__qualname__}.")
        with self._lock:
            self._count += 1
            number = self._count
            self._callbacks[number] = callback
            self._raised[number] = {}
            self._versions.clear()

        def remove() -> None:
            with self._lock:
                self._callbacks.pop(number, None)
                self._raised.pop(number, None)

        return remove

    def look(self) -> None:
        """Diagnose what changed since the last look. Costs nothing while nobody listens."""
        if not self._callbacks:
            return
        from jupyter_streamwatch.diagnosis import diagnose

        histories = self._collector.histories()
        for history in histories:
            version = history.version
            live = history.running is not None  # a batch that gets stuck changes nothing but the clock
            if self._versions.get(history.id) == version and not live:
                continue
            self._versions[history.id] = version
            snapshot = history.snapshot()
            try:
                found = diagnose(snapshot, now=time.time() * 1000, others=histories)
            except Exception as error:
                self._collector.note(
                    f"{query_name(history.name, history.id)} could not be diagnosed: {type(error).__name__}: {error}"
                )
                continue
            run = snapshot.runs[-1].runId if snapshot.runs else ""
            if found.verdict in _JUDGED:
                self._forget(history.id, run, {hint.code for hint in found.hints})
            for hint in found.hints:
                self._tell(history, run, hint)

    def _forget(self, id: str, run: str, there: set[str]) -> None:
        """Forget what was told of an earlier run and is not there in this one."""
        with self._lock:
            for raised in self._raised.values():
                for key in [key for key, seen in raised.items() if key[0] == id and seen[0] != run]:
                    if key[1] not in there:
                        del raised[key]

    def _tell(self, history: History, run: str, hint: Hint) -> None:
        key = history.id, hint.code
        worst = hint.severity == "critical"
        with self._lock:
            new = []
            for number, callback in self._callbacks.items():
                told = self._raised[number].get(key)
                if told is None or (worst and not told[1]):
                    new.append(callback)
                self._raised[number][key] = run, worst or (told is not None and told[1])
        for callback in new:
            self._call(callback, history, hint)

    def _call(self, callback: Callable[[History, Hint], None], history: History, hint: Hint) -> None:
        try:
            callback(history, hint)
        except Exception as error:
            self._collector.note(f"An on_hint callback raised {type(error).__name__}: {error}")
