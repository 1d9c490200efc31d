"""Raises the hints of a watch: each code of each query once."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.diagnosis import Hint
    from jupyter_streamwatch.history import History


class HintWatcher:
    """Diagnoses histories that changed and tells callbacks of codes that were not there before."""

    def __init__(self, histories: Callable[[], list[History]], note: Callable[[str], None]) -> None:
        """``histories()`` gives the live histories; ``note`` keeps a sentence about what went wrong."""
        self._histories = histories
        self._note = note
        self._lock = threading.Lock()
        self._raised: dict[int, set[tuple[str, str]]] = {}  # number of the callback -> (id, code)
        self._callbacks: dict[int, Callable[[History, Hint], None]] = {}
        self._versions: dict[str, int] = {}
        self._count = 0

    def add(self, callback: Callable[[History, Hint], None]) -> Callable[[], None]:
        """Tell ``callback`` of every hint, also of those that hold now; returns a function that ends it."""
        with self._lock:
            self._count += 1
            number = self._count
            self._callbacks[number] = callback
            self._raised[number] = set()
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

        histories = self._histories()
        for history in histories:
            version = history.version
            live = history.running is not None  # a batch that gets stuck changes nothing but the clock
            if self._versions.get(history.id) == version and not live:
                continue
            self._versions[history.id] = version
            try:
                hints = diagnose(history.snapshot(), now=time.time() * 1000, others=histories).hints
            except Exception as error:
                self._note(f"{history.name or history.id} could not be diagnosed: {type(error).__name__}: {error}")
                continue
            for hint in hints:
                self._tell(history, hint)

    def _tell(self, history: History, hint: Hint) -> None:
        with self._lock:
            new = [
                (number, callback)
                for number, callback in self._callbacks.items()
                if (history.id, hint.code) not in self._raised[number]
            ]
            for number, _ in new:
                self._raised[number].add((history.id, hint.code))
        for _, callback in new:
            self._call(callback, history, hint)

    def _call(self, callback: Callable[[History, Hint], None], history: History, hint: Hint) -> None:
        try:
            callback(history, hint)
        except Exception as error:
            self._note(f"An on_hint callback raised {type(error).__name__}: {error}")
