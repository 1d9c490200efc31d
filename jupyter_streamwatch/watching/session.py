"""One session as long as it lives: its bridge, the queries that run in it, and what is asked of them.

A lost session is a state, not an error: its runs are written down as over, and the histories stay.
"""

from __future__ import annotations

import atexit
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.events import PROGRESS, STARTED, TERMINATED
from jupyter_streamwatch.settings import StreamWatch
from jupyter_streamwatch.spark import bounded, probe
from jupyter_streamwatch.spark.events.base import now
from jupyter_streamwatch.spark.events.open import open_bridge
from jupyter_streamwatch.spark.events.public import failure_of
from jupyter_streamwatch.text.numbers import query_name
from jupyter_streamwatch.watching.checkpoint_reads import Cards
from jupyter_streamwatch.watching.liveness import Liveness
from jupyter_streamwatch.watching.prober import SHOWN_PACE, Prober, look_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_streamwatch.model.history import History
    from jupyter_streamwatch.spark.events.base import Active
    from jupyter_streamwatch.watching.collector import Collector
    from jupyter_streamwatch.watching.hint_calls import HintCalls

READS = {"classic": 1, "connect": 3}  # reads of a run's facts after its first batches
# Classic settles partitions and sources in the first batch; Connect shows no plan before it, at times later.
PACE = 3.0  # seconds between two comparisons, at most: what is wrong is said within ten
SILENT = 2.0  # seconds without an answer, after one that did not come, until what is known is called stale
TRIES = 3  # times that a run's facts are asked for when Spark is too busy to answer in time


@dataclass(frozen=True)
class Session:
    """How the watched session is.

    Attributes:
        state: ``live``, ``stopped`` or ``gone`` (the JVM ended, or a Connect server does not answer).
        text: the same as one sentence, with what to do.
        mode: ``classic`` or ``connect``.
        sparkVersion: as Spark says it.
    """

    state: str
    text: str
    mode: str
    sparkVersion: str


class Attachment:
    """Feeds a collector from one session."""

    def __init__(
        self,
        spark: Any,
        collector: Collector,
        hints: HintCalls,
    ) -> None:
        """``hints`` are looked for in every round, and when a run has ended."""
        self.bridge = open_bridge(spark)
        self._collector = collector
        self._hints = hints
        self._handles: dict[str, Any] = {}  # runId -> query object or None, of active runs
        self._reads: dict[str, int] = {}  # runId -> reads of its facts that are still to come
        self._foreign: set[str] = set()  # runs of other sessions, which send no events
        self._lost = False
        self._silent_since: float | None = None  # monotonic; None while Spark answers
        self._environment: dict[str, str] = {}
        self.heard = time.monotonic()  # when Spark last answered while the session was opened
        self._liveness = Liveness(
            self.bridge,
            collector,
            started=self._take_in,
            ended=self._end_without_event,
            foreign=self._foreign,
        )
        self._prober = Prober(pace=self._pace, each_round=self._look, note=collector.note)
        # On a thread of its own: what hangs on the other one must not keep it from being noticed.
        self._comparer = Prober(
            pace=self._comparing_pace, each_round=self._compare, note=collector.note, name="streamwatch-compare"
        )
        self._cards = Cards(spark, soon=self._prober.soon, history=collector.history, learned=self._learn)

    def open(self) -> None:
        """Listen to the session and take in what runs already.

        Raises:
            Exception: what Spark raises when the session cannot be listened to.
        """
        self._collector.read = self.bridge.read
        self._collector.observers.append(self.on_event)
        with self._collector.held():  # events that arrive meanwhile come after what was before
            self.bridge.attach(self._collector.put)
            self.heard = time.monotonic()
            self._take_in_running()
        if self.bridge.problem:
            self._collector.note(self.bridge.problem)
        self._prober.soon(self._learn_environment)
        self._prober.start()
        self._comparer.start()
        # A process that ends without stop() would leave a listener that the JVM, which ends later, cannot reach.
        atexit.register(self.bridge.detach)

    def close(self) -> None:
        """Stop listening and asking."""
        answers = self.bridge.link().answers
        atexit.unregister(self.bridge.detach)
        self.bridge.detach()
        if self.on_event in self._collector.observers:
            self._collector.observers.remove(self.on_event)
        for thread in (self._comparer, self._prober):
            thread.close(2.0 if answers else 0.0)
        self._handles.clear()
        bounded.leave(self._cards)
        bounded.leave(self.bridge.spark)

    def mend(self) -> None:
        """Restore at once what was lost on the way of the events, and take in what was missed."""
        if self._liveness.check(at_once=True):
            self._collector.views.tell()

    @property
    def session(self) -> Session:
        """How the session is, asked now."""
        link = self.bridge.link()
        trouble = self._liveness.trouble if link.state == "live" and link.answers else None
        return Session(link.state, trouble or link.text, self.bridge.mode, self.bridge.version)

    def environment(self) -> dict[str, str]:
        """Versions and settings of the session, as of the last start of a query; empty when it has not answered yet."""
        if "Spark" not in self._environment and self.bridge.link().answers:
            self._learn_environment()
        return self._environment

    def soon(self, job: Callable[[], None]) -> None:
        """Do ``job`` on the thread that asks Spark."""
        self._prober.soon(job)

    def hurry(self) -> None:
        """Look at the running batches now."""
        self._prober.hurry()

    def sync(self, deadline: float) -> None:
        """Wait until ``deadline`` (monotonic) for the last events of runs that are over."""
        if not self.bridge.link().answers:
            return
        active = self._active()
        handles = {run: self._handles.get(run) for run in active}
        over = self.bridge.ended(handles, max(0.0, deadline - time.monotonic())) if active else set()
        if over and not self._collector.wait_for(
            lambda: not over & self._active(), max(0.0, deadline - time.monotonic())
        ):
            self._end_without_event(over & self._active())
        if not self._prober.is_here:
            self._cards.wait(max(0.0, deadline - time.monotonic()))

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Ask what an event of the collector calls for."""
        kind, id, runId = event["event"], event["id"], event["runId"]
        if kind == STARTED:
            if runId not in self._handles:
                self._handles[runId] = self.bridge.query(id, runId)
            self._reads[runId] = READS[self.bridge.mode]
            if self.bridge.mode == "classic":
                self._cards.start(runId)
            self._learn_facts(id, runId)
            self._prober.soon(self._learn_environment)
        elif kind == TERMINATED:
            self._handles.pop(runId, None)
            self._reads.pop(runId, None)
            self._cards.end(id, runId)
            self.soon(self._hints.look)
        elif kind == PROGRESS and event["progress"].kind != "idle":
            self._on_batch(id, runId, event["progress"].batchId)

    def _on_batch(self, id: str, runId: str, batchId: int) -> None:
        if self._reads.get(runId, 0) > 0:
            self._reads[runId] -= 1
            self._learn_facts(id, runId)
        self._cards.batch(id, runId, batchId)
        if self.bridge.mode == "classic":
            self._prober.after_batch(lambda: self._read_tasks(id, runId, batchId))

    def _learn_facts(self, id: str, runId: str) -> None:
        query = self._handles.get(runId)
        self._prober.soon(lambda: self._read_facts(id, runId, query, TRIES))

    def lose(self) -> None:
        """When the session is over: no event will say that its runs are, so they are ended here."""
        if self._lost or self.bridge.link().state == "live":
            return
        self._lost = True
        for history in self._collector.histories():
            self._end({run.runId for run in history.runs if run.state == "active"}, history, ask=False)
            history.set_running(None)
        self._handles.clear()
        self._collector.views.tell()

    def _take_in_running(self) -> None:
        """Queries that run already appear at once, with what Spark still remembers of them."""
        own: set[str] = self.bridge.ask(lambda: {str(query.runId) for query in self.bridge.spark.streams.active}, set())
        for id, runId, name, query in probe.active(self.bridge.spark):
            self._take_in_run(id, runId, name, query)
            self.heard = time.monotonic()
            if runId not in own:
                self._note_foreign(id, runId, name)

    def _take_in_run(self, id: str, runId: str, name: str | None, query: Any) -> None:
        self._handles[runId] = query
        self._collector.apply({"event": STARTED, "id": id, "runId": runId, "name": name, "at": None})
        for text in self.bridge.recent(query):
            self._collector.apply({"event": PROGRESS, "at": None, "progress": text})

    def _take_in(self, run: Active) -> None:
        """A run whose start no event told."""
        name = self.bridge.ask(lambda: run.query.name, None)
        self._take_in_run(run.id, run.runId, name, run.query)
        self._collector.note(f"No event came of the start of {query_name(name, run.id)}; Spark was asked what runs.")

    def _note_foreign(self, id: str, runId: str, name: str | None) -> None:
        self._foreign.add(runId)
        self._collector.note(
            f"Query {name or id} belongs to another session (newSession()), which sends no events here. "
            "To follow it, call sw.watch() with that session."
        )

    def _active(self) -> set[str]:
        runs = (run for history in self._collector.histories() for run in history.runs if run.state == "active")
        return {run.runId for run in runs} - self._foreign

    def _end_without_event(self, runs: set[str]) -> None:
        """The event of a run that is over did not come: say what the query object says."""
        for history in self._collector.histories():
            for run in history.runs:
                query = self._handles.get(run.runId)
                if run.runId in runs and query is not None:
                    self._liveness.fill(history, run.runId, query, -1 if run.lastBatch is None else run.lastBatch)
            self._end(runs & {run.runId for run in history.runs}, history, ask=True)

    def _end(self, runs: set[str], history: History, *, ask: bool) -> None:
        for runId in runs:
            text, name = self._failure(self._handles.get(runId)) if ask else (None, None)
            event = {"event": TERMINATED, "id": history.id, "runId": runId, "at": now()}
            self._collector.apply({**event, "exception": text, "errorClass": name})

    def _failure(self, query: Any) -> tuple[str | None, str | None]:
        return (None, None) if query is None else self.bridge.ask(lambda: failure_of(query), (None, None))

    def _pace(self) -> float:
        return SHOWN_PACE if self._collector.views.shown else StreamWatch.instance().probe_seconds

    def _comparing_pace(self) -> float:
        pace = min(StreamWatch.instance().probe_seconds, PACE)
        if self._silent_since is not None:
            return min(pace, SILENT)
        return pace

    # On the probe's thread

    def _learn_environment(self) -> None:
        found = probe.environment(self.bridge.spark)
        if "Spark" in found or not self._environment:  # the last answer stays while there is none
            self._environment = found

    def _learn(self, line: Mapping[str, Any]) -> None:
        self._collector.record(line)
        self._collector.views.tell()

    def _read_facts(self, id: str, runId: str, query: Any, tries: int) -> None:
        history = self._collector.history(id)
        if query is None or history is None:
            return
        facts = probe.facts(self.bridge.spark, query, self.bridge.written(runId))
        if not facts.answered and (tries > 1 or history.facts.answered):
            if tries > 1:
                self._prober.soon(lambda: self._read_facts(id, runId, query, tries - 1))
            return
        if self.bridge.mode == "connect" and facts.stateful is not None and facts.sink is not None:
            self._reads.pop(runId, None)  # all that Connect tells is known
        if facts.trigger is not None:
            self._collector.note_trigger(runId, facts.trigger.kind)
        if history.runs[-1].runId == runId:
            history.set_facts(facts)
            self._learn({"event": "facts", "id": id, "runId": runId, "facts": facts})

    def _read_tasks(self, id: str, runId: str, batchId: int) -> None:
        history = self._collector.history(id)
        values = probe.tasks(self.bridge.spark, runId, batchId)
        if values and history is not None:
            history.set_tasks(runId, batchId, values)
            self._learn({"event": "tasks", "id": id, "runId": runId, "batchId": batchId, "values": values})

    # On the comparing thread

    def _compare(self) -> bool:
        """One round of comparing: is the session there, does it answer, do its events come; False without an answer."""
        before = self.session
        changed = self._liveness.check()
        link = self.bridge.link()
        if link.state == "stopped" or (link.state == "gone" and self.bridge.mode == "classic"):
            self.lose()
            return True
        if not link.answers:
            self._silent_since = self._silent_since or time.monotonic()
            if time.monotonic() - self._silent_since >= SILENT:
                self._say_stale(link.text)
            if self.session != before:
                self._collector.views.tell()
            return False
        self._silent_since = None
        if self.session != before or changed:
            self._collector.views.tell()
        return True

    # On the probe's thread

    def _look(self) -> bool:
        """One round: what do the active runs do; False without an answer."""
        link = self.bridge.link()
        if link.state != "live" or not link.answers:
            return False
        changed = False
        for history in self._collector.histories():
            run = history.runs[-1] if history.runs else None
            if run is not None and run.state == "active":
                query = self._handles.get(run.runId)
                classic = self.bridge.mode == "classic"
                changed = look_at(self.bridge.spark, history, run.runId, query, classic=classic) or changed
                if self._collector.views.shown:
                    self._cards.look(history)
        self._hints.look()
        if changed:
            self._collector.views.tell()
        return True

    def _say_stale(self, text: str) -> None:
        for history in self._collector.histories():
            if history.stale is None and history.runs and history.runs[-1].state == "active":
                history.set_stale(text)
                self._collector.views.tell()
