"""Which runs were stopped by a call to ``query.stop()`` in this process.

A run that ends because the same query was started again ("replaced") and a run that a person stopped and started
again send the same events, in either order. What tells them apart is the call, so it is noted.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import OrderedDict
from typing import Any

from jupyter_streamwatch.spark import fallback

_KEPT = 1_000

_lock = threading.Lock()
_noted: OrderedDict[str, float] = OrderedDict()
_listening: dict[type, tuple[int, Any]] = {}  # class -> (bridges that want it, its own stop)


def listen(cls: type) -> None:
    """Note every ``stop()`` of this query class from now on."""
    with _lock:
        count, own = _listening.get(cls, (0, cls.__dict__["stop"]))
        if count == 0:
            cls.stop = _noting(own)  # type: ignore[attr-defined]
        _listening[cls] = (count + 1, own)


def forget(cls: type) -> None:
    """Undo one :func:`listen`; the last one gives the class its own method back."""
    with _lock:
        count, own = _listening.get(cls, (0, None))
        if count == 1:
            cls.stop = own  # type: ignore[attr-defined]
            del _listening[cls]
        elif count > 1:
            _listening[cls] = (count - 1, own)


def when(runId: str) -> float | None:
    """When ``stop()`` of this run was called, epoch milliseconds; None if it was not."""
    return _noted.get(runId)


def _noting(stop: Any) -> Any:
    @functools.wraps(stop)
    def noted_stop(query: Any) -> Any:
        try:
            _noted[str(query.runId)] = time.time() * 1000
            while len(_noted) > _KEPT:
                _noted.popitem(last=False)
        except Exception:
            fallback.taken()  # the call below says what is wrong
        return stop(query)

    return noted_stop
