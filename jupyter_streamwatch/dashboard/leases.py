"""Whether anybody looks at a dashboard: pages say so and renew it, because a closed page says nothing."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LEASE = 30.0  # seconds; pages renew every 10, so two lost messages are forgiven
ATTACHING = "attaching"  # the view of a page that has the picture but has not spoken yet


class Cell:
    """Whether the kernel executes a cell. Meanwhile messages of a page may wait (front ends without subshells)."""

    def __init__(self) -> None:
        """Listen to the running IPython, if there is one."""
        self.busy = False
        self.ended = 0.0
        shell = _shell()
        if shell is not None:
            self.busy = threading.current_thread() is threading.main_thread()  # made by a cell that runs right now
            shell.events.register("pre_run_cell", self._begin)
            shell.events.register("post_run_cell", self._end)

    def _begin(self, *_: object) -> None:
        self.busy = True

    def _end(self, *_: object) -> None:
        self.ended = time.monotonic()
        self.busy = False


_cell: Cell | None = None


def cell() -> Cell:
    """Return the one listener of this process."""
    global _cell  # noqa: PLW0603 - IPython has one list of listeners, and a process has one IPython
    if _cell is None:
        _cell = Cell()
    return _cell


class Leases:
    """The views that somebody looks at, each until its lease lapses. Thread-safe."""

    def __init__(self, executing: Cell, clock: Callable[[], float] = time.monotonic) -> None:
        """Let no lease lapse while ``executing`` is busy, nor right after it was."""
        self._executing = executing
        self._clock = clock
        self._lock = threading.Lock()
        self._views: dict[str, float] = {}

    def grant(self, view: str) -> None:
        """Somebody looks at this view. A page that speaks for itself is no longer attaching."""
        with self._lock:
            if view != ATTACHING:
                self._views.pop(ATTACHING, None)
            self._views[view] = self._clock()

    def release(self, view: str) -> None:
        """Nobody looks at this view."""
        with self._lock:
            self._views.pop(ATTACHING, None)
            self._views.pop(view, None)

    def held(self) -> bool:
        """Tell whether somebody looks."""
        with self._lock:
            if not self._executing.busy:
                since = self._clock() - LEASE
                if self._executing.ended < since:
                    self._views = {view: at for view, at in self._views.items() if at >= since}
            return bool(self._views)


def _shell() -> Any:
    """Return the running IPython; None outside of one, and where IPython was never imported."""
    import sys

    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
