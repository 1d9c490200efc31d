"""Which queries this process starts through Connect, and with which writer.

A server does not tell the trigger of a query, nor the options of its writer and its sources: the call that starts it
does. Of a server that sends no events, a query that starts and ends between two looks is known by that call alone.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from jupyter_streamwatch.spark import fallback

Told: TypeAlias = Callable[[Any, Any], None]
"""Called with (query, writer)."""

_START = "_start_internal"  # what start(), toTable() and their like all call

_lock = threading.Lock()
_told: list[Told] = []
_wrapped: dict[type, tuple[Any, Any]] = {}  # class -> (its own method, ours around it)


def listen(cls: type, told: Told) -> bool:
    """Call ``told`` after each start of this writer class; False when the class has no such method."""
    with _lock:
        if _START not in cls.__dict__:
            return False
        if cls not in _wrapped:
            own = cls.__dict__[_START]
            _wrapped[cls] = own, _telling(own)
            setattr(cls, _START, _wrapped[cls][1])
        if told not in _told:
            _told.append(told)
        return True


def forget(cls: type, told: Told) -> None:
    """Undo :func:`listen`; the last one gives the class its own method back, unless somebody has wrapped ours."""
    with _lock:
        if told in _told:
            _told.remove(told)
        if not _told and cls in _wrapped and cls.__dict__.get(_START) is _wrapped[cls][1]:
            setattr(cls, _START, _wrapped.pop(cls)[0])


def _tell(told: Told, query: Any, writer: Any) -> None:
    try:
        told(query, writer)
    except Exception:
        fallback.taken()  # less is known of the query; a look finds it, if it still runs


def _telling(start: Any) -> Any:
    @functools.wraps(start)
    def told_start(writer: Any, *args: Any, **options: Any) -> Any:
        query = start(writer, *args, **options)
        for told in tuple(_told):
            _tell(told, query, writer)
        return query

    return told_start
