"""Everything that was seen of one query, over all its runs, bounded and safe to share between threads.

:class:`HistoryView` is what can be read of it; a :class:`History` grows, a :class:`Snapshot` is how it was at a moment.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from jupyter_streamwatch.model.facts import Facts, RunningBatch, Status
from jupyter_streamwatch.model.progress import Progress
from jupyter_streamwatch.model.row import row, tasks
from jupyter_streamwatch.model.runs import Followed, Run, RunLog
from jupyter_streamwatch.model.table import Table
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.model.values import ERROR, NAME, TEXT, iso
from jupyter_streamwatch.text.numbers import middle, query_name
from jupyter_streamwatch.text.outside import bounded, kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_streamwatch.model.batches import Batches, Bins
    from jupyter_streamwatch.model.checkpoint_card import Card

__all__ = ["Facts", "History", "HistoryView", "Run", "RunningBatch", "Snapshot", "Status"]

RECENT = 200
"""Progress records kept whole, for the details that columns do not hold (offsets, descriptions, custom metrics)."""
ERRORS_KEPT = 100
"""Runs whose error is kept in full; of older ones its first 500 characters."""
_SHOWN = 60  # characters of a name or an id in a repr
_EARLY_TASKS = 100


@dataclass(frozen=True)
class Parts:
    """What a history makes of what it keeps, for one snapshot.

    Attributes:
        runs: All runs, oldest first.
        batches: The columns.
        gaps: Missing batches, oldest run first.
        run_gaps: The gaps of each run.
        recent: The latest records.
        trigger: What starts the batches.
    """

    runs: tuple[Run, ...]
    batches: Batches
    gaps: tuple[tuple[int, int], ...]
    run_gaps: tuple[tuple[tuple[int, int], ...], ...]
    recent: tuple[Progress, ...]
    trigger: Trigger | None


class HistoryView(ABC):
    """What can be read of the history of one query id.

    Attributes:
        id: The query's id; it stays over restarts from one checkpoint.
        name: Its latest name; None when it has none.
        last: The latest data or no-data batch.
        record: The latest record of any kind.
        idleSince: Epoch ms of the first idle record after the last batch of the latest run; None when not idle.
        facts: What was learned of the latest run.
        checkpoint: The checkpoint of the latest run, as last read; None when it was not looked at.
        running: The batch that runs now, as last looked at.
        status: Spark's own status, as last asked.
        stale: Why Spark may be further than what is here, as a sentence; None when nothing says so.
        version: Grows with every change.
        seen: Batches ever appended, the thinned ones included.
        inserted: Batches that came out of order: rows before the last are not where they were.
    """

    id: str
    name: str | None
    last: Progress | None
    record: Progress | None
    idleSince: float | None
    facts: Facts
    checkpoint: Card | None
    running: RunningBatch | None
    status: Status | None
    stale: str | None
    version: int
    seen: int
    inserted: int

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs, oldest first."""
        return self.snapshot().parts.runs

    @property
    def batches(self) -> Batches:
        """The columns, oldest batch first; immutable."""
        return self.snapshot().parts.batches

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Missing batches as (batch before, batch after), each within one run; oldest run first."""
        return self.snapshot().parts.gaps

    @property
    def recent(self) -> tuple[Progress, ...]:
        """The latest records (at most 200), idle ones included, as they came."""
        return self.snapshot().parts.recent

    @property
    def trigger(self) -> Trigger | None:
        """What starts the batches: stated, else asked of Spark, else inferred from their starts; None when unknown."""
        return self.snapshot().parts.trigger

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """An immutable copy that shares the columns."""

    def to_pandas(self) -> Any:
        """The batches as a pandas DataFrame, one row a batch; unknown is NaN, NaT or None.

        Raises:
            ImportError: When pandas is not installed.
        """
        from jupyter_streamwatch.model.frame import frame

        return frame(self.batches)

    def __repr__(self) -> str:
        """Who and how much, on one line."""
        name, id = (middle(text, _SHOWN) for text in (query_name(self.name, self.id), self.id))
        return f"<History {name} ({id}): {self.seen} batches, {len(self.runs)} runs>"


class History(HistoryView):
    """One query id: one row a batch in columns, its runs, gaps and latest records; bounded and thread-safe.

    A run's progress may come after the next run's start: it belongs to its ``runId``, whenever it comes.
    """

    def __init__(self, id: str, name: str | None = None, *, keep: int = 10_000) -> None:
        """Start an empty history that keeps ``keep`` batches in full; older ones are thinned into bins."""
        self.id = kept(id, NAME)
        self.name = None if name is None else kept(name, NAME)
        self.last: Progress | None = None
        self.record: Progress | None = None
        self.idleSince: float | None = None
        self.facts = Facts()
        self.checkpoint: Card | None = None
        self.running: RunningBatch | None = None
        self.status: Status | None = None
        self.stale: str | None = None
        self.version = 0
        self.seen = 0
        self.inserted = 0
        self._last_start: float | None = None
        self._record_start: float | None = None
        self._lock = threading.RLock()
        self._table = Table(keep)
        self._runs: list[RunLog] = []
        self._by_id: dict[str, RunLog] = {}
        self._next_run = 0
        self._recent: deque[Progress] = deque(maxlen=RECENT)
        self._stated: Trigger | None = None
        self._early_tasks: dict[tuple[str, int], dict[str, float]] = {}
        self._snapshot: Snapshot | None = None

    def start(
        self, runId: str, name: str | None = None, at: float | None = None, *, replaces: str | None = None
    ) -> None:
        """Note that a run has started, ``at`` in epoch ms; an active run of the same query was replaced by it.

        ``replaces`` names the run that Spark ended for this one where its end came first.
        """
        with self._lock:
            self.name = kept(name, NAME) if name else self.name
            ended = self._by_id.get(replaces) if replaces is not None else None
            if ended is not None and ended.run.state == "ended":
                ended.run = replace(ended.run, restartedBy="replaced")
            before = self._by_id.get(runId)
            if before is None:
                self._new_run(Run(runId, started=at), "replaced")
                self.idleSince = self.running = None
            elif before.run.started is None:
                before.run = replace(before.run, started=at)
            self._changed()

    def append(self, p: Progress) -> bool:
        """Take a progress record; False when it is known already (same batch of the same run, same idle record)."""
        with self._lock:
            start = p.start_ms
            log = self._log(p, start)
            taken = self._idle(p, log, start) if p.kind == "idle" else self._batch(p, log, start)
            if taken:
                if log is self._runs[-1]:
                    self.name = p.name or self.name
                self._note(p, start)
            return taken

    def remember(self, p: Progress) -> None:
        """Take a record whose batch a restored history may have as a row already."""
        with self._lock:
            if not self.append(p) and p.kind != "idle":
                start = p.start_ms
                if self._is_newer(p, self._log(p, start), start):
                    self.last, self._last_start = p, start
                self._note(p, start)

    def restore(
        self, runs: Iterable[tuple[Run, list[tuple[int, int]]]], rows: Mapping[str, Any], bins: Bins, seen: int
    ) -> None:
        """Fill this empty history with saved runs (and their gaps), full rows by column, and bins."""
        with self._lock:
            for run, gaps in runs:
                log = RunLog(len(self._runs), run, run.started)
                log.gaps = gaps
                self._runs.append(log)
                self._by_id[run.runId] = log
            self._next_run = len(self._runs)
            self._table.restore(rows, bins)
            self.seen = seen
            batches = self._table.snapshot((), np.arange(self._next_run))
            columns = (batches.numbers(name).tolist() for name in ("timestamp", "batchDuration", "batchId"))
            for place, start, duration, batch in zip(batches.runIndex.tolist(), *columns, strict=True):
                log = self._runs[place]
                began = None if isnan(start) else start
                log.began = began if log.began is None else log.began
                log.ran(None if isnan(batch) else int(batch), began, duration)
                if isnan(batch):
                    log.restored(began)
            self._changed()

    def keep(self, p: Progress) -> None:
        """Hold a record as one of the latest: all that it says is known already."""
        with self._lock:
            self._note(p, p.start_ms)

    def recall(self, last: Progress | None, record: Progress | None, idleSince: float | None) -> None:
        """Set what a saved history knew beside its rows; its records may be older than the latest ones."""
        with self._lock:
            self.last, self._last_start = last, last.start_ms if last else None
            self.record, self._record_start = record, record.start_ms if record else None
            self.idleSince = idleSince
            self._changed()

    def idle(self, runId: str, at: float | None) -> bool:
        """Note that Spark found nothing to do (``onQueryIdle``), ``at`` in epoch ms."""
        return self.append(Progress(id=self.id, runId=runId, name=self.name, timestamp=iso(at)))

    def end(
        self, runId: str, at: float | None = None, exception: str | None = None, errorClass: str | None = None
    ) -> None:
        """Note that a run has ended, ``at`` in epoch ms; ``exception`` is the full text of its error."""
        with self._lock:
            exception = None if exception is None else kept(exception, ERROR)
            log = self._by_id.get(runId) or self._new_run(Run(runId, over=True), "restarted")
            # "replaced" stays: Spark stopped that run for the next one. With an error it was no one's doing.
            followed = None if exception or log.run.restartedBy == "restarted" else log.run.restartedBy
            log.run = replace(
                log.run, ended=at, exception=exception, errorClass=errorClass, restartedBy=followed, over=True
            )
            if self.running and self.running.runId == runId:
                self.running = None
            if len(self._runs) > ERRORS_KEPT:
                old = self._runs[-ERRORS_KEPT - 1]
                old.run = replace(old.run, exception=old.run.exception and old.run.exception[:500])
            self._changed()

    def set_facts(self, facts: Facts) -> None:
        """Replace what is known of the latest run."""
        with self._lock:
            self.facts = bounded(facts, TEXT)
            self._changed()

    def set_checkpoint(self, card: Card | None) -> None:
        """Replace what is known of the checkpoint."""
        with self._lock:
            self.checkpoint = None if card is None else bounded(card, TEXT)
            self._changed()

    def set_running(self, running: RunningBatch | None) -> None:
        """Replace the running batch; None when nothing runs or it is unknown."""
        with self._lock:
            if running != self.running:
                self.running = running
                self._changed()

    def set_status(self, status: Status | None) -> None:
        """Replace Spark's status."""
        with self._lock:
            if status != self.status:
                self.status = status
                self._changed()

    def set_stale(self, stale: str | None) -> None:
        """Say why Spark may be further than what is here; None when it is not."""
        with self._lock:
            if stale != self.stale:
                self.stale = stale
                self._changed()

    def state_trigger(self, trigger: Trigger | None) -> None:
        """Set the trigger that the user states; None takes the statement back."""
        with self._lock:
            self._stated = trigger
            self._changed()

    def set_tasks(self, runId: str, batchId: int, values: Mapping[str, float]) -> None:
        """Set ``tasks.*`` columns of a batch, which may have come long ago or not yet."""
        with self._lock:
            log = self._by_id.get(runId)
            known = tasks(values)
            if log and self._table.update(log.number, batchId, known):
                self._changed()
            else:
                self._early_tasks[runId, batchId] = known
                if len(self._early_tasks) > _EARLY_TASKS:
                    del self._early_tasks[next(iter(self._early_tasks))]

    def snapshot(self) -> Snapshot:
        """An immutable copy that shares the columns: cheap, and the same object until something changes."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._frozen()
            return self._snapshot

    def _changed(self) -> None:
        self.version += 1
        self._snapshot = None

    def _note(self, p: Progress, start: float | None) -> None:
        self._recent.append(p)
        if _later(start, self._record_start):
            self.record, self._record_start = p, start
        self._changed()

    def _log(self, p: Progress, start: float | None) -> RunLog:
        if p.runId is None and self._runs:
            return self._by_id.get("") or self._runs[-1]
        run_id = p.runId or ""
        return self._by_id.get(run_id) or self._new_run(Run(run_id), "restarted", start)

    def _new_run(self, run: Run, how: Followed, began: float | None = None) -> RunLog:
        """Add a run where its time says; the run before it cannot be active any more."""
        log = RunLog(self._next_run, run, began if run.started is None else run.started)
        self._next_run += 1
        at = len(self._runs)
        while at and log.began is not None and (self._runs[at - 1].began or 0.0) > log.began:
            at -= 1
        if run.over and at and self._runs[-1].run.state == "active":
            at -= 1  # the end of a run that was never seen, while another is active: it was an earlier one
        self._runs.insert(at, log)
        self._by_id[run.runId] = log
        for before in self._runs[max(0, at - 1) : at + 1]:
            if before is not self._runs[-1] and before.run.state == "active":
                before.run = replace(before.run, restartedBy=how)
        if len(self._runs) > self._table.keep:
            del self._by_id[self._runs.pop(0).run.runId]
        return log

    def _batch(self, p: Progress, log: RunLog, start: float | None) -> bool:
        if log.first is None and p.batchId is not None:
            self._put_last(log, p.batchId)
        if not log.take(p.batchId, start):
            return False
        values = row(p, log.number, start)
        if self._early_tasks and p.batchId is not None:
            values.update(self._early_tasks.pop((log.run.runId, p.batchId), {}))
        self.seen += 1
        newest = self._is_newer(p, log, start)
        if not self._table.append(values, newest=newest):
            self.inserted += 1
        log.ran(p.batchId, start, p.batchDuration)
        if newest:
            self.last, self._last_start = p, start
            self.idleSince = None
        running = self.running
        if running and running.runId == log.run.runId and (running.batchId or 0) <= (p.batchId or 0):
            self.running = None
        return True

    def _put_last(self, log: RunLog, batch: int) -> None:
        """Put a run behind those that its first batch shows to be older: ids of batches only grow, clocks do not."""
        at = self._runs.index(log)
        older = self._runs[at + 1 :]
        if not older or any(other.last is None or other.last >= batch for other in older):
            return
        self._runs.append(self._runs.pop(at))
        if not log.run.over:
            log.run = replace(log.run, restartedBy=None)
        for other in older:
            if other.run.state == "active":
                other.run = replace(other.run, restartedBy="replaced")

    def _is_newer(self, p: Progress, log: RunLog, start: float | None) -> bool:
        """Whether a batch is later than the last one: by their ids in one run, else by the runs, else by the clock.

        A clock may be set back, and a query whose log was deleted counts its batches anew.
        """
        last = self.last
        if last is not None and last.runId is not None and p.runId is not None:
            if last.runId != p.runId:
                return log is self._runs[-1]
            if last.batchId is not None and p.batchId is not None and last.batchId != p.batchId:
                return p.batchId > last.batchId
        return _later(start, self._last_start)

    def _idle(self, p: Progress, log: RunLog, start: float | None) -> bool:
        if p.timestamp is None:  # parts of records without a time: the same one again says all the same
            known = bool(self._recent) and self._recent[-1] == p
        else:
            known = any(q.timestamp == p.timestamp and q.runId == p.runId and q.kind == "idle" for q in self._recent)
        if known:
            return False
        if self.idleSince is None and log is self._runs[-1] and _later(start, self._last_start):
            self.idleSince = start
        return True

    def _trigger(self) -> Trigger | None:
        if self._stated or self.facts.trigger:
            return self._stated or self.facts.trigger
        interval = self._runs[-1].guess.interval_ms if self._runs else None
        return None if interval is None else Trigger("processingTime", interval, "inferred")

    def _frozen(self) -> Snapshot:
        runs = tuple(log.as_seen() for log in self._runs)
        places = np.zeros(self._next_run, dtype=np.intp)  # a run that was forgotten counts to the oldest known one
        places[[log.number for log in self._runs]] = np.arange(len(self._runs))
        parts = Parts(
            runs=runs,
            batches=self._table.snapshot(tuple(run.runId for run in runs), places),
            gaps=tuple(gap for log in self._runs for gap in log.gaps),
            run_gaps=tuple(tuple(log.gaps) for log in self._runs),
            recent=tuple(self._recent),
            trigger=self._trigger(),
        )
        return Snapshot(self, parts)


class Snapshot(HistoryView):
    """A history as it was at one moment; changing it raises ``TypeError``."""

    def __init__(self, of: HistoryView, parts: Parts) -> None:
        """Copy what is plain of a history and take the ``parts`` that were made of the rest."""
        for name in HistoryView.__annotations__:
            setattr(self, name, getattr(of, name))
        self.parts = parts

    def snapshot(self) -> Snapshot:
        """Itself."""
        return self

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say why there is nothing here to write with."""
            if not name.startswith("_") and hasattr(History, name):
                raise TypeError("A snapshot of a history cannot be changed; change the history that it was taken from.")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _later(start: float | None, other: float | None) -> bool:
    """Whether a record that started at ``start`` is the later one; what comes last is where the records do not say."""
    return start is None or other is None or start >= other
