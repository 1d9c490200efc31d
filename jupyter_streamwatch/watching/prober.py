"""The thread that asks Spark what no event tells: facts of a run, its status, the running batch, a batch's tasks.

Facts are read once a run, tasks once after each batch, of quick batches four times a second; status and the running
batch twice a second while something is shown, every few seconds otherwise. A round that takes long makes the next one
come later: at most a fifth of the time is spent on asking.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_streamwatch.spark import probe

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.model.history import History, Status

T = TypeVar("T")

SHOWN_PACE = 0.5  # seconds
SHARE = 4.0  # a round is followed by a pause of at least four times its length
TASKS_PACE = 0.25  # seconds between two reads of a batch's tasks: what they cost must not show in quick batches
DOUBT = 10_000.0  # ms that a batch is seen to run before Spark is asked whether only its event is late
_log = logging.getLogger(__name__)

TASKS_KEPT = 8  # batches whose tasks wait to be read; older ones are let go


class Prober:
    """Asks, through a bridge, for the runs that a watch names."""

    def __init__(
        self,
        *,
        pace: Callable[[], float],
        each_round: Callable[[], bool],
        note: Callable[[str], None],
        name: str = "streamwatch-probe",
    ) -> None:
        """Ask every ``pace()`` seconds, ``each_round()`` first; ``note`` keeps a sentence about what went wrong.

        A round says whether Spark answered: waiting for an answer that does not come is no work for Spark.
        """
        self._note = note
        self._name = name
        self._pace = pace
        self._each_round = each_round
        self._jobs: deque[Callable[[], None]] = deque()
        self._tasks: deque[Callable[[], None]] = deque(maxlen=TASKS_KEPT)
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; does nothing when it runs."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def close(self, seconds: float = 2.0) -> None:
        """End the thread after what it does now, for which the caller waits so long; what waits is let go."""
        self._closed = True
        self._wake.set()
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    @property
    def is_here(self) -> bool:
        """Whether the calling thread is the one that asks: what it waited for would never be done."""
        return threading.current_thread() is self._thread

    def soon(self, job: Callable[[], None]) -> None:
        """Do ``job`` as soon as possible."""
        self._jobs.append(job)
        self._wake.set()

    def after_batch(self, job: Callable[[], None]) -> None:
        """Do ``job`` soon, unless many batches end meanwhile."""
        self._tasks.append(job)
        self._wake.set()

    def hurry(self) -> None:
        """Something is shown now: look at once."""
        self._wake.set()

    def _run(self) -> None:
        due = tasks_due = 0.0
        while not self._closed:
            until = min(due, tasks_due) if self._tasks else due
            self._wake.wait(max(0.0, until - time.monotonic()))
            self._wake.clear()
            while self._jobs and not self._closed:
                self._do(self._jobs.popleft())
            if self._tasks and time.monotonic() >= tasks_due:
                self._do(self._tasks.popleft())
                tasks_due = time.monotonic() + TASKS_PACE
            begun = time.monotonic()
            if begun >= due or due - begun > self._pace():
                answered = self._do(self._each_round)
                pause = SHARE * (time.monotonic() - begun) if answered else 0.0
                due = time.monotonic() + max(self._pace(), pause)

    def _do(self, job: Callable[[], T]) -> T | None:
        """A look that fails is a look less, and the next one comes; but it is not forgotten."""
        try:
            return job()
        except Exception as error:
            _log.debug("Spark could not be asked", exc_info=True)
            self._note(f"Spark could not be asked for something: {type(error).__name__}: {error}")
            return None


def look_at(spark: Any, history: History, runId: str, query: Any, *, classic: bool) -> bool:
    """Read status and running batch of an active run; True when something changed."""
    status = probe.status(query) if query is not None else None
    before = history.running
    if classic:
        running = probe.running(spark, runId, before)
    else:
        running = probe.by_status(status, runId, _next(history), before)
        if running is not None and running.seen - (running.started or 0.0) > DOUBT and probe.reported(query, running):
            running = None
    news = status is not None and _without_time(status) != _without_time(history.status)
    if news:
        history.set_status(status)
    history.set_running(running)
    return news or running != before


def _next(history: History) -> int | None:
    last, run = history.last, history.runs[-1]
    return last.batchId + 1 if last is not None and last.runId == run.runId and last.batchId is not None else None


def _without_time(status: Status | None) -> tuple[Any, ...]:
    return () if status is None else (status.message, status.isDataAvailable, status.isTriggerActive)
