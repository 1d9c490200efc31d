"""Which queries this process starts on a Connect server that sends no events.

Polling sees what runs at the moment of a look. A query that starts and ends between two looks is known by the call
that started it, so that call is noted.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_START = "_start_internal"  # what start(), toTable() and their like all call

_lock = threading.Lock()
_told: list[Callable[[Any], None]] = []
_own: dict[type, Any] = {}  # class -> its own method


def listen(cls: type, told: Callable[[Any], None]) -> bool:
    """Call ``told(query)`` after each start of this writer class; False when the class has no such method."""
    with _lock:
        if _START not in cls.__dict__:
            return False
        if cls not in _own:
            _own[cls] = cls.__dict__[_START]
            setattr(cls, _START, _telling(_own[cls]))
        _told.append(told)
        return True


def forget(cls: type, told: Callable[[Any], None]) -> None:
    """Undo :func:`listen`; the last one gives the class its own method back."""
    with _lock:
        if told in _told:
            _told.remove(told)
        if not _told and cls in _own:
            setattr(cls, _START, _own.pop(cls))


def _tell(told: Callable[[Any], None], query: Any) -> None:
    try:
        told(query)
    except Exception:
        pass  # the next look finds the query, if it still runs


def _telling(start: Any) -> Any:
    @functools.wraps(start)
    def told_start(writer: Any, *args: Any, **options: Any) -> Any:
        query = start(writer, *args, **options)
        for told in tuple(_told):
            _tell(told, query)
        return query

    return told_start
