"""What tests share: waiting for a condition instead of sleeping."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def wait_until(condition: Callable[[], T], timeout: float = 60.0, what: str = "") -> T:
    """Return the first truthy value of ``condition``; fail with ``what`` after ``timeout`` seconds."""
    end = time.monotonic() + timeout
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout:g} s: {what or condition}")
        pause.wait(0.02)
