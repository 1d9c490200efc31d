"""``sw.watch()``: attach to a Spark session and keep a history of every streaming query.

A watch is quiet: nothing of it raises into Spark's listener bus or a cell, and a session that was stopped, or a JVM
that died, is a state (:attr:`Watch.session`), not an error.
"""

# ruff: noqa: SLF001 - watch() and Watch are two sides of one thing

from __future__ import annotations

import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model import watched
from jupyter_streamwatch.model.queries import Queries
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.recordings.recording import Recording
from jupyter_streamwatch.recordings.writer import Recorder
from jupyter_streamwatch.settings import StreamWatch
from jupyter_streamwatch.spark.events.connect import FIRST
from jupyter_streamwatch.spark.events.open import active_session
from jupyter_streamwatch.spark.jvm import is_connect
from jupyter_streamwatch.text.numbers import middle, query_name
from jupyter_streamwatch.watching.attempt import Attempt
from jupyter_streamwatch.watching.collector import Collector
from jupyter_streamwatch.watching.hint_calls import HintCalls
from jupyter_streamwatch.watching.session import Attachment, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from jupyter_streamwatch.dashboard.widget import Dashboard
    from jupyter_streamwatch.diagnosis import Diagnosis, Hint
    from jupyter_streamwatch.model.history import History
    from jupyter_streamwatch.report.static import Static

FRESH = 2.0  # seconds that a read waits for the last events of a run that is over
PATIENCE = 4.5  # seconds without an answer after which attaching is given up

_watches: list[Watch] = []
_watches_lock = threading.RLock()
_one_attaches = threading.Lock()

NO_SESSION = (
    "No active Spark session to watch. Create one first, for example spark = SparkSession.builder.getOrCreate(), "
    "or name it: sw.watch(spark)."
)

NO_PYSPARK = "There is no Spark here to watch: pyspark is not installed. pip install 'jupyter-streamwatch[spark]'"


def watch(
    spark: Any = None,
    *,
    record: str | Path | None = None,
    trigger: str | float | None = None,
) -> Watch:
    """Watch the streaming queries of a Spark session, classic or Connect.

    Call it as often as you like: a session has one watch. After the session was stopped and a new one started, the
    same call goes on with the new session, and queries restarted on their checkpoints join their histories.

    Args:
        spark: the session; the active one by default.
        record: a file that what is known by now, and then every event, is appended to, as JSON lines for ``sw.load``.
        trigger: the trigger of the queries where it cannot be asked: seconds, ``"2 seconds"``, ``"availableNow"``,
            ``"once"`` or ``"continuous"``. What you state beats what Spark says.

    Raises:
        RuntimeError: when there is no session to watch, no pyspark, or when Spark does not answer within 5 s.
        ValueError: when ``trigger`` is not understood, or ``record`` is a file that is no recording.
        OSError: when ``record`` cannot be opened for appending.
    """
    stated = None if trigger is None else Trigger.parse(trigger)
    session = active_session() if spark is None else spark
    if session is None:
        raise RuntimeError(NO_SESSION if find_spec("pyspark") else NO_PYSPARK)

    def attach(attempt: Attempt[Watch]) -> None:
        with _one_attaches:
            watch = _watch_of(session)
            if stated is not None:
                watch._collector.state_trigger(stated)
            watch._attach(session, attempt)
            if record is not None:
                watch._record(record)

    return Attempt[Watch](attach, patience=FIRST if is_connect(session) else PATIENCE).wait()


def _watch_of(session: Any) -> Watch:
    """The watch of this session; else one whose session is over, which goes on; else a new one."""
    serving = (known for known in _watches if known._serves(session))
    over = (known for known in _watches if known.session.state != "live")
    return next(serving, None) or next(over, None) or Watch()


class Watch:
    """What is known of the streaming queries of one session. Made by :func:`watch`."""

    def __init__(self) -> None:
        """Not attached to anything yet; use :func:`watch`."""
        self._attachment: Attachment | None = None
        self._left: Static | None = None
        self._collector = Collector(keep=StreamWatch.instance().batches_kept)
        self._hints = HintCalls(self._collector)

    @staticmethod
    def current() -> Watch | None:
        """The watch that was attached last and not stopped, None when there is none."""
        with _watches_lock:
            return _watches[-1] if _watches else None

    # What a person asks

    @property
    def queries(self) -> Queries:
        """The histories by id; ``[key]`` takes an id, the start of one, a name, or a query object."""
        self.sync()
        return Queries({history.id: history for history in self._collector.histories()})

    @property
    def session(self) -> Session:
        """How the watched session is."""
        if self._attachment is None:
            return Session("stopped", "Watching was stopped. Call sw.watch() to go on.", "classic", "")
        return self._attachment.session

    @property
    def missed(self) -> int:
        """Events that did not fit into the queue: 0 unless something is badly wrong."""
        return self._collector.missed

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be understood or done, as sentences; the last hundred."""
        return self._collector.problems

    def dashboard(self, query: Any = None) -> Dashboard:
        """The live widget of all queries, with ``query`` selected if given."""
        from jupyter_streamwatch.dashboard.widget import Dashboard

        self.sync()
        return Dashboard(self, query)

    def diagnose(self, query: Any = None) -> Diagnosis | dict[str, Diagnosis]:
        """What is wrong with a query and what to do; without a query all of them by id."""
        from jupyter_streamwatch.diagnosis import diagnose

        queries = self.queries
        now = time.time() * 1000 if self.session.state == "live" else None
        if query is not None:
            return diagnose(queries[query].snapshot(), now=now, others=queries.values())
        return {id: diagnose(history.snapshot(), now=now, others=queries.values()) for id, history in queries.items()}

    def report(self, path: str | Path, query: Any = None) -> Static:
        """Write what is known to ``path`` (.html, .md or .json) and return it as a static object."""
        from jupyter_streamwatch import report

        recording, session = self.recording(), self.session
        now = time.time() * 1000 if session.state == "live" else None
        return report.write(path, recording, query, session=session, now=now)

    def recording(self) -> Recording:
        """Everything known by now, as plain data."""
        return Recording.of(self.queries.values(), self._environment())

    def on_hint(self, callback: Callable[[History, Hint], None]) -> Callable[[], None]:
        """Call ``callback(history, hint)`` once for each hint code of each query; returns a function that ends it.

        The callback runs on a thread of ours. What it raises is kept in :attr:`problems`.
        """
        remove = self._hints.add(callback)
        if self._attachment is not None:
            self._attachment.soon(self._hints.look)
        return remove

    def stop(self) -> Static:
        """Stop watching, never a query. Safe to call twice; returns what was known, as a static object."""
        with _watches_lock:
            if self in _watches:
                _watches.remove(self)
            watched.remove(self)
        if self._left is None:
            self._left = self._leave()
        return self._left

    def catch_up(self, seconds: float) -> None:
        """Wait until every event that has arrived by now is in its history; on a busy machine that takes a moment."""
        self._collector.drain(seconds)

    def sync(self) -> None:
        """Wait up to 2 s for the last events of runs that are over: they arrive after the call that ended them."""
        deadline = time.monotonic() + FRESH
        if self._attachment is not None and self._collector.drain(FRESH):
            self._attachment.sync(deadline)

    # What views ask

    def histories(self) -> list[History]:
        """The live histories, oldest first, as far as events have arrived; never waits."""
        return self._collector.histories()

    @property
    def left(self) -> Static | None:
        """What was known when watching was stopped; None while it goes on."""
        return self._left

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback()`` on a thread of ours after something changed; returns a function that ends it."""
        return self._collector.views.subscribe(callback)

    def shown(self, visible: bool) -> None:
        """One view more (True) or less (False) is visible: while one is, running batches are looked at more often."""
        self._collector.views.show(visible)
        if visible and self._attachment is not None:
            self._attachment.hurry()

    def __enter__(self) -> Self:
        """Watch until the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop watching, also after an error."""
        self.stop()

    def __repr__(self) -> str:
        """Which queries, and how the session is; asks Spark nothing."""
        names = [middle(query_name(history.name, history.id), 60) for history in self._collector.histories()]
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        return f"<Watch of {len(names)} queries{': ' if names else ''}{shown}; session {self.session.state}>"

    def _ipython_display_(self) -> None:
        """Show the dashboard where a watch is the last line of a cell."""
        from IPython.display import display

        display(self.dashboard())

    # Attaching

    def _serves(self, session: Any) -> bool:
        return self._attachment is not None and self._attachment.bridge.serves(session)

    def _attach(self, session: Any, attempt: Attempt[Watch]) -> None:
        before = self._attachment
        if before is not None and before.bridge.serves(session) and before.session.state != "stopped":
            attempt.result = self  # also when Spark does not answer: its state says so
            before.mend()
            return
        new = Attachment(session, self._collector, self._hints)
        if new.session.state != "live":
            raise RuntimeError(new.session.text)
        if before is not None:
            before.lose()
            before.close()
        fresh = self not in _watches
        attempt.undo = lambda: self._give_up(new, fresh=fresh)
        attempt.heard = lambda: new.heard
        self._collector.start()
        self._attachment = new
        try:
            new.open()
        except Exception as error:
            self._give_up(new, fresh=fresh)
            raise RuntimeError(f"This Spark session cannot be listened to: {error}") from error
        with _watches_lock:
            if self in _watches:
                _watches.remove(self)
            _watches.append(self)
            watched.add(self)
        attempt.result = self
        self._collector.views.tell()

    def _give_up(self, attachment: Attachment, *, fresh: bool) -> None:
        """Take back an attachment that failed or is not wanted any more; a fresh watch goes with it."""
        self._attachment = None
        attachment.close()
        if not fresh:
            return
        with _watches_lock:
            if self in _watches:
                _watches.remove(self)
            watched.remove(self)
        self._collector.close()
        if self._collector.recorder is not None:
            self._collector.recorder.close()

    def _leave(self) -> Static:
        from jupyter_streamwatch.report.static import static

        self.sync()
        session = self.session
        if self._attachment is not None:
            self._attachment.close()
        self._collector.close()
        self._attachment = None
        if self._collector.recorder is not None:
            self._collector.recorder.close()
        now = time.time() * 1000 if session.state == "live" else None
        left = static([history.snapshot() for history in self._collector.histories()], session, now=now)
        self._left = left  # before the views are told: they swap what they show to it
        self._collector.views.tell()
        return left

    # Recording

    def _environment(self) -> dict[str, str]:
        return self._attachment.environment() if self._attachment is not None else {}

    def _record(self, path: str | Path) -> None:
        recorder = self._collector.recorder
        if recorder is not None:
            if recorder.writes_to(path):
                return
            recorder.close()
        environment = self._environment()
        recorder = Recorder(path, self._collector.note)
        with self._collector.held():  # what is known by now is written by us, and what comes then by the collector
            known = Recording.of(self._collector.histories(), environment)
            self._collector.recorder = recorder
        recorder.begin(known)
