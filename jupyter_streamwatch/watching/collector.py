"""Turns arrivals into histories, on one thread of ours.

The listener's thread only appends to a bounded queue. What would not fit is counted, never waited for; what cannot be
understood is counted and kept as a sentence. Nothing here raises into Spark or into a cell.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_streamwatch.model.events import PROGRESS, STARTED, TERMINATED, TRIGGER, apply, time_of
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.trigger import ONCE
from jupyter_streamwatch.spark.events import stops
from jupyter_streamwatch.spark.events.base import Arrival
from jupyter_streamwatch.text.redaction import redact
from jupyter_streamwatch.watching.views import Views

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from jupyter_streamwatch.model.trigger import Trigger
    from jupyter_streamwatch.recordings.writer import Recorder

T = TypeVar("T")

LIMIT = 20_000  # arrivals in the queue: twenty seconds of 1,000 events a second, far above a burst
PROBLEMS = 100  # sentences kept
QUERIES = 1_000  # histories kept; beyond that the oldest that ended go
REPLACED_WITHIN = 1_000.0  # ms between the end of a run and the start that replaced it; 2 to 13 were measured

RUNS = 1_000  # runs whose end and trigger are remembered, to tell what a start replaced

_MARK = "mark"  # an arrival of ours: everything before it has been handled


class Collector:
    """Owns the histories of a watch and the thread that writes them."""

    def __init__(self, *, keep: int = 10_000, limit: int = LIMIT) -> None:
        """Keep ``keep`` batches of a query in full, and at most ``limit`` arrivals in the queue."""
        self.views = Views(self.note)  # told after a burst of events
        self.read: Callable[[Arrival], Mapping[str, Any]] = _nobody_reads  # makes plain events of arrivals
        self.recorder: Recorder | None = None  # gets each event once it is in its history
        self.missed = 0
        self.arrived = 0  # arrivals that were handled
        self._problems: dict[str, int] = {}  # sentence -> how often
        self.observers: list[Callable[[Mapping[str, Any]], None]] = []  # each event once it is in its history
        self._stated: Trigger | None = None
        self._keep = keep
        self._limit = limit
        self._queue: deque[Arrival] = deque()
        self._wake = threading.Event()
        self._order = threading.RLock()  # taken before _state: an event is in history and recording, or in neither
        self._state = threading.Condition(threading.RLock())
        self._histories: dict[str, History] = {}
        self._ended_at: dict[str, float] = {}  # runId -> when its end arrived, epoch ms
        self._kinds: dict[str, str] = {}  # runId -> kind of its trigger
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self) -> None:
        """Start the thread; does nothing when it runs."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="streamwatch-collector", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Handle what is queued and end the thread."""
        self.drain(2.0)
        self._closed = True
        self._wake.set()

    def put(self, arrival: Arrival) -> None:
        """Take one arrival and return at once. This is all that runs on Spark's listener thread."""
        if len(self._queue) >= self._limit:
            self.missed += 1
            return
        self._queue.append(arrival)
        self._wake.set()

    def drain(self, seconds: float) -> bool:
        """Wait until everything that arrived before this call is in the histories; False if that took longer."""
        if self._thread is None or self._closed or threading.current_thread() is self._thread:
            return True
        done = threading.Event()
        self._queue.append(Arrival(_MARK, done, 0.0))
        self._wake.set()
        return done.wait(seconds)

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until ``condition`` holds, which is looked at after each event."""
        if threading.current_thread() is self._thread:
            return condition()
        with self._state:
            return self._state.wait_for(condition, seconds)

    def held(self) -> AbstractContextManager[Any]:
        """``with collector.held():`` no event is handled; for what must come first."""
        return self._order

    def histories(self) -> list[History]:
        """The live histories, oldest first."""
        with self._state:
            return list(self._histories.values())

    def history(self, id: str) -> History | None:
        """The live history of this id."""
        return self._histories.get(id)

    def state_trigger(self, trigger: Trigger) -> None:
        """The trigger that the user states, for the queries of now and of later."""
        with self._order, self._state:
            self._stated = trigger
            for history in self._histories.values():
                self._state_trigger(history, trigger)

    def record(self, line: Mapping[str, Any]) -> None:
        """Write a line to the recording, if there is one."""
        with self._order:
            if self.recorder is not None:
                self.recorder.write(line)

    def note_trigger(self, runId: str, kind: str) -> None:
        """Remember the kind of a run's trigger: a run that ends itself is not replaced by the next one."""
        _remember(self._kinds, runId, kind)

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong, as sentences, the last hundred; with how often where that was more than once."""
        with self._state:
            return tuple(
                sentence if count == 1 else f"{sentence} ({count} times)" for sentence, count in self._problems.items()
            )

    def note(self, sentence: str) -> None:
        """Keep and count a sentence about something that went wrong."""
        sentence = redact(sentence)
        with self._state:
            self._problems[sentence] = self._problems.get(sentence, 0) + 1
            if len(self._problems) > PROBLEMS:
                del self._problems[next(iter(self._problems))]

    def apply(self, event: Mapping[str, Any]) -> None:
        """Write one plain event (a line of a recording) into its history. Never raises."""
        with self._order:
            known = self._taken(event)
            if known is not None:
                self.record(known)
        if known is None:
            return
        for observer in tuple(self.observers):
            self._pass_on(observer, known)

    def _taken(self, event: Mapping[str, Any]) -> Mapping[str, Any] | None:
        try:
            with self._state:
                known = self._write(event)
                self._state.notify_all()
        except Exception as error:
            self.note(f"A {event.get('event', 'nameless')} event was not understood: {_first_line(error)}")
            return None
        return known

    def _pass_on(self, observer: Callable[[Mapping[str, Any]], None], event: Mapping[str, Any]) -> None:
        try:
            observer(event)
        except Exception as error:
            self.note(f"{_first_line(error)} ({type(error).__name__}), while an event was passed on.")

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            handled = False
            while self._queue:
                handled = self._handle(self._queue.popleft()) or handled
            if handled:
                self.views.tell()

    def _handle(self, arrival: Arrival) -> bool:
        if arrival.kind == _MARK:
            arrival.payload.set()
            return False
        self.arrived += 1
        try:
            event = self.read(arrival)
        except Exception as error:
            self.note(f"A {arrival.kind} event could not be fetched from Spark: {_first_line(error)}")
            return False
        self.apply(event)
        return True

    def _write(self, event: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the event as observers get it, None when it was known already."""
        if event["event"] == PROGRESS:
            progress = parse(event["progress"])
            if progress.id is None:
                raise ValueError("a progress record without the id of its query")
            event = {**event, "id": progress.id, "runId": progress.runId, "progress": progress}
            history = self._history(progress.id, progress.name)
        else:
            history = self._history(event["id"], event.get("name"))
        if event["event"] == STARTED:
            event = {**event, **self._what_came_before(history, event)}
        elif event["event"] == TERMINATED and event.get("at") is not None:
            _remember(self._ended_at, event["runId"], float(event["at"]))
        return event if apply(history, event) else None

    def _what_came_before(self, history: History, event: Mapping[str, Any]) -> dict[str, Any]:
        """What a start ended: a run that was stopped or ends by itself and is over by now, or one that it replaces."""
        before = history.runs[-1] if history.runs else None
        if before is None or before.runId == event["runId"]:
            return {}
        stopped, kind = stops.when(before.runId), self._kinds.get(before.runId)
        ends_itself = kind in ONCE
        if before.state == "active" and (stopped is not None or ends_itself):
            # The event of its end comes after this one.
            return {"over": {"runId": before.runId, "at": time_of(event) if stopped is None else stopped}}
        ended = self._ended_at.get(before.runId)
        took_over = stopped is None and kind is not None and not ends_itself and at_once(ended, event.get("at"))
        return {"replaces": before.runId} if took_over else {}

    def _history(self, id: str, name: str | None) -> History:
        history = self._histories.get(id)
        if history is None:
            history = self._histories[id] = History(id, name, keep=self._keep)
            self._forget_old()
            if self._stated is not None:
                self._state_trigger(history, self._stated)
        return history

    def _state_trigger(self, history: History, trigger: Trigger) -> None:
        history.state_trigger(trigger)
        self.record({"event": TRIGGER, "id": history.id, "trigger": trigger})

    def _forget_old(self) -> None:
        if len(self._histories) > QUERIES:
            for id, history in self._histories.items():
                if all(run.state != "active" for run in history.runs):
                    del self._histories[id]
                    return


def at_once(ended: float | None, started: float | None) -> bool:
    """Whether a run started so soon after the end of another (epoch ms) that Spark must have done both."""
    return started is not None and ended is not None and abs(started - ended) < REPLACED_WITHIN


def _remember(what: dict[str, T], runId: str, value: T) -> None:
    what[runId] = value
    if len(what) > RUNS:
        del what[next(iter(what))]


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__


def _nobody_reads(arrival: Arrival) -> Mapping[str, Any]:
    raise RuntimeError(f"a {arrival.kind} event came while nothing is watched")
