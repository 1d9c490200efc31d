"""Questions to Spark that cannot hang who asks them.

A JVM that is stopped in a debugger or swaps, and a Connect server that is gone, answer late or never. Each JVM and
each server has one thread a line that asks it; who waits gives up in time, and while a question hangs the next ones of
its line are not asked.
"""

from __future__ import annotations

import logging
import queue
import sys
import threading
import time
import weakref
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
D = TypeVar("D")

IDLE = 10.0  # seconds without a question after which a thread ends; the next question starts another

_log = logging.getLogger(__name__)
_workers: weakref.WeakKeyDictionary[Any, dict[str, _Worker]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class _NotOurs(logging.Filter):
    """Leaves out what py4j writes about calls from our threads.

    A call that is under way when the JVM dies makes py4j write a traceback to the root logger, which lands in the
    notebook. Of ours it says nothing that ``Watch.session`` does not say; those of the user's own calls stay.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        ours = (record.threadName or "").startswith("streamwatch-")
        return not (ours and "py4j" in record.pathname)


_not_ours = _NotOurs()


def ask(thing: Any, question: Callable[[], T], default: D, *, seconds: float, line: str = "probe") -> T | D:
    """Return the answer of ``question()``, or ``default`` when it raises or takes longer than ``seconds``.

    Args:
        thing: the session or the query that is asked.
        question: asks Spark; runs on a thread of ours.
        default: what is returned instead of an answer.
        seconds: how long to wait.
        line: questions of one line to one JVM or one server are put one after the other.
    """
    try:
        return answer(thing, question, seconds=seconds, line=line)
    except Exception as error:
        _log.debug("no answer from Spark", exc_info=error)
        return default


def answer(thing: Any, question: Callable[[], T], *, seconds: float, line: str = "probe") -> T:
    """Do as :func:`ask`, but say what went wrong.

    Raises:
        TimeoutError: when there is no answer in time, or an earlier question of the line is not answered yet.
        ProcessLookupError: when the process of the JVM has ended.
        Exception: what ``question()`` raises.
    """
    asked = _put(thing, question, line, seconds)
    try:
        return asked.result(seconds)
    except FutureTimeout:  # in Python 3.10 not a TimeoutError yet
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    finally:
        asked.cancel()  # not begun yet: nobody waits for it any more


def later(thing: Any, job: Callable[[], object], *, seconds: float, line: str) -> bool:
    """Do ``job()`` after the questions that were put before, also when that is long after the call has returned.

    Returns:
        Whether it was done, without an error, within so many ``seconds``.
    """
    try:
        _put(thing, job, line).result(seconds)
    except (Exception, FutureTimeout) as error:
        _log.debug("not done in time", exc_info=error)
        return False
    return True


def leave(thing: Any) -> None:
    """End the threads that ask this other side, once they have done what they were given; the next question starts one.

    What hangs keeps its thread until it is answered.
    """
    with _lock:
        for worker in _workers.pop(_asked(thing), {}).values():
            worker.close()


def _put(thing: Any, question: Callable[[], T], line: str, patience: float | None = None) -> Future[T]:
    """Put a question to its thread, unless an earlier one hangs there for longer than ``patience`` seconds."""
    other = _asked(thing)
    if _ended(other):
        raise ProcessLookupError("the JVM has ended")
    with _lock:  # nobody ends the thread between the two
        worker = _worker(other, line)
        if patience is not None and worker.hangs(patience):
            raise TimeoutError("an earlier question is still not answered")
        return worker.put(question)


def _asked(thing: Any) -> Any:
    """Return what stands for the other side: py4j's client of a JVM, or a Connect session."""
    for path in ("_sc._gateway._gateway_client", "_jsq._gateway_client", "_session"):
        found = thing
        for name in path.split("."):
            found = getattr(found, name, None)
        if found is not None:
            return found
    return thing


def _ended(other: Any) -> bool:
    """Say whether the process of a JVM is known to have ended; asking it would fill the log with tracebacks."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    gateway = getattr(context, "_gateway", None)
    process = getattr(gateway, "proc", None)
    if process is None or getattr(gateway, "_gateway_client", None) is not other:
        return False
    return process.poll() is not None


def _worker(other: Any, line: str) -> _Worker:
    lines = _workers.setdefault(other, {})
    worker = lines.get(line)
    if worker is None or worker.ended:
        worker = lines[line] = _Worker()
        weakref.finalize(other, worker.close)
    return worker


class _Worker:
    """One thread that answers one question at a time."""

    def __init__(self) -> None:
        self._questions: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._hanging_since: float | None = None
        self.ended = False  # nobody asked for a while: the thread is gone
        for name in ("", "py4j.java_gateway", "py4j.clientserver"):
            logging.getLogger(name).addFilter(_not_ours)  # the same one again changes nothing
        threading.Thread(target=self._run, name="streamwatch-asks-spark", daemon=True).start()

    def put(self, question: Callable[[], T]) -> Future[T]:
        answer: Future[T] = Future()
        self._questions.put((question, answer))
        return answer

    def hangs(self, seconds: float) -> bool:
        since = self._hanging_since
        return since is not None and time.monotonic() - since > seconds

    def close(self) -> None:
        self._questions.put(None)

    def _next(self) -> tuple[Callable[[], Any], Future[Any]] | None:
        try:
            return self._questions.get(timeout=IDLE)
        except queue.Empty:
            with _lock:
                self.ended = self._questions.empty()
            return None if self.ended else self._next()

    def _run(self) -> None:
        while (item := self._next()) is not None:
            question, answer = item
            if not answer.set_running_or_notify_cancel():
                continue
            self._hanging_since = time.monotonic()
            try:
                answer.set_result(question())
            except BaseException as error:
                answer.set_exception(error)
            self._hanging_since = None
            del item, question, answer  # they hold the session, which may go now
