"""A watch without Spark, for notebooks of the tests: batches come from a thread as fast as is asked."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.dashboard.widget import Dashboard
from tests.browser import scenes

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.model.history import History
    from jupyter_streamwatch.report.static import Static


class FakeWatch:
    """What a dashboard needs of a watch, over histories made here."""

    def __init__(self, *, batches: int = 20, pace: float = 0.25, scene: str | None = None) -> None:
        """Start with ``batches`` batches and add one every ``pace`` seconds, until ``stop()``; 0 adds none."""
        self.session = scenes.LIVE
        self.left: Static | None = None
        self.views = 0
        self._subscribers: list[Callable[[], None]] = []
        self._stopped = threading.Event()
        self._growing = scenes.calm(1, "clicks", 0)
        self._at = datetime.now(timezone.utc) - timedelta(seconds=2 * batches)
        self._made = scenes.SCENES[scene]() if scene else [self._growing]
        for _ in range(batches if not scene else 0):
            self.add()
        if pace and not scene:
            threading.Thread(target=self._grow, args=(pace,), daemon=True).start()

    @property
    def queries(self) -> dict[str, History]:
        return {key: history for history in self._made for key in (history.id, history.name or "")}

    def histories(self) -> list[History]:
        return self._made

    def add(self) -> None:
        """Add one batch."""
        history = self._growing
        number = history.seen
        self._at = min(self._at + timedelta(seconds=2), datetime.now(timezone.utc))
        history.append(scenes.batch(history.id, "run-1", number, self._at, 400 + number % 7 * 20, 300 + number % 11))
        self.tell()

    def tell(self) -> None:
        for callback in tuple(self._subscribers):
            callback()

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback) if callback in self._subscribers else None

    def shown(self, visible: bool) -> None:
        self.views += 1 if visible else -1

    def dashboard(self, query: Any = None) -> Dashboard:
        return Dashboard(self, query)

    def pause(self) -> None:
        """Let no more batches come."""
        self._stopped.set()

    def stop(self) -> Static:
        from jupyter_streamwatch.report.static import static

        self.pause()
        text = "Watching was stopped."
        self.session = SimpleNamespace(state="stopped", text=text, mode="classic", sparkVersion="4.3.0")
        if self.left is None:
            self.left = static([history.snapshot() for history in self._made], self.session)
            self.tell()
        return self.left

    def _grow(self, pace: float) -> None:
        while not self._stopped.wait(pace):
            self.add()
