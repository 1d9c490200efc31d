"""Something that asks Spark for a while, on a thread of ours, and can be given up at any moment without a trace.

Who interrupts a call into py4j leaves its connection in the middle of an answer, and what it had done half is done.
So the thread of the caller only waits; what was given up is undone on ours, as soon as Spark lets it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

UNDOING = 2.0  # seconds that an interrupted call waits until all is undone
SILENT = "Spark does not answer: its driver is paused, or very busy. Call sw.watch() again when it does."


class Attempt(Generic[T]):
    """One attempt; ``job`` gets it, and leaves its result in it and how it is undone."""

    def __init__(self, job: Callable[[Attempt[T]], None], *, patience: float) -> None:
        """Give up after ``patience`` seconds in which Spark has answered nothing."""
        self.result: T | None = None
        self.undo: Callable[[], None] | None = None
        self.heard: Callable[[], float] = lambda: 0.0  # when Spark answered last, monotonic
        self._job = job
        self._patience = patience
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._given_up = False
        self._worked = threading.Event()
        self._clean = threading.Event()  # worked, and undone if it was given up

    def wait(self) -> T:
        """Start, wait and return the result.

        Raises:
            RuntimeError: when Spark does not answer and there is no result without it.
            BaseException: what the job raised, or what interrupted the waiting.
        """
        try:
            threading.Thread(target=self._run, name="streamwatch-attach", daemon=True).start()
            begun = time.monotonic()
            while not self._worked.wait(max(0.0, self._until(begun) - time.monotonic())):
                if time.monotonic() >= self._until(begun):
                    break
            return self._outcome()
        except Exception:
            self._give_up()
            raise
        except BaseException:
            self._give_up()
            self._clean.wait(UNDOING)
            raise

    def _until(self, begun: float) -> float:
        return max(begun, self.heard()) + self._patience

    def _outcome(self) -> T:
        if self._error is not None:
            raise self._error
        if self.result is None:
            raise RuntimeError(SILENT)
        return self.result

    def _run(self) -> None:
        try:
            self._job(self)
        except BaseException as error:
            self._error, self.undo = error, None  # what failed has cleaned up
        with self._lock:
            self._worked.set()
            if not self._given_up:
                return
        self._take_back()

    def _give_up(self) -> None:
        with self._lock:
            self._given_up = True
            worked = self._worked.is_set()
        if worked and self.undo is not None:
            threading.Thread(target=self._take_back, name="streamwatch-attach", daemon=True).start()
        elif worked:
            self._clean.set()

    def _take_back(self) -> None:
        try:
            if self.undo is not None:
                self.undo()
        finally:
            self._clean.set()
