"""Does a watch still hear what Spark does? Its histories are compared with the last batch that Spark reports.

Events get lost without a word: py4j's callback server ends, somebody removes the listener, a bus that is full drops
events, a connection breaks. What was lost on the way is restored where that can be done, batches that are missing are
read from what the query remembers (its last hundred), and what then is still missing stays a gap of the history.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, TypeAlias

from jupyter_streamwatch.model.events import PROGRESS
from jupyter_streamwatch.text.numbers import query_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.model.history import History
    from jupyter_streamwatch.spark.events.base import Active, Bridge
    from jupyter_streamwatch.watching.collector import Collector

GRACE = 2.5  # seconds that an event may take: it takes milliseconds, more when a listener of the user's is slow
HANDLING = 1.0  # seconds that the collector has for what has arrived

Waits: TypeAlias = "dict[tuple[str, str], tuple[float, int]]"

_DEAF = "Watching, but batches end without an event: they are asked for every few seconds."


class Liveness:
    """Compares, restores and fills; it waits for Spark, so on no thread of the user's."""

    def __init__(
        self,
        bridge: Bridge,
        collector: Collector,
        *,
        started: Callable[[Active], None],
        ended: Callable[[set[str]], None],
        foreign: set[str],
    ) -> None:
        """Tell ``started`` of runs, and ``ended`` of ends, that no event told; ``foreign`` runs never send any."""
        self._bridge = bridge
        self._collector = collector
        self._started = started
        self._ended = ended
        self._foreign = foreign
        self._one_compares = threading.Lock()
        self._waits: Waits = {}  # (what, runId) -> since when, for which batch
        self._filled: dict[str, tuple[tuple[int, int], ...]] = {}  # runId -> gaps that could not be filled
        self._settled: dict[str, int] = {}  # runId -> batch up to which all was taken in that Spark remembers
        self._deaf: set[str] = set()  # runs of which an event was missing
        self._arrived = 0  # events that had come by then

    @property
    def trouble(self) -> str | None:
        """That events do not come, as a sentence; None when they do, as far as is known."""
        return _DEAF if self._deaf and self._collector.arrived == self._arrived else None

    def check(self, *, at_once: bool = False) -> bool:
        """Compare; ``at_once`` without waiting for events that may be late.

        Returns:
            Whether a history has changed.
        """
        with self._one_compares:
            return self._check(at_once=at_once)

    def _check(self, *, at_once: bool) -> bool:
        restored = self._bridge.keep()
        if restored:
            self._collector.note(restored)
        active = self._bridge.active()
        if active is None or not self._collector.drain(HANDLING):
            return False
        if self._collector.arrived != self._arrived:
            self._deaf.clear()
        before, self._waits = self._waits, {}
        patience = 0.0 if at_once or restored or self._deaf else GRACE
        changed = [self._compare(run, before, patience, doubtful=patience > 0.0) for run in active]
        return self._look_for_ends({run.runId for run in active}, before) or any(changed)

    def fill(self, history: History, runId: str, query: Any, after: int) -> bool:
        """Take in what the query remembers of its batches after that one; False when that is nothing.

        What is here already stays as it is.
        """
        texts = self._bridge.recent(query, after)
        for text in texts:
            self._collector.apply({"event": PROGRESS, "at": None, "progress": text})
        self._filled[runId] = _gaps(history, runId)
        return bool(texts)

    def _compare(self, run: Active, before: Waits, patience: float, *, doubtful: bool) -> bool:
        history = self._collector.history(run.id)
        known = None if history is None else next((one for one in history.runs if one.runId == run.runId), None)
        if history is None or known is None:
            if not self._late(("start", run.runId), 0, before, patience):
                return False
            self._started(run)
            return True
        here = max(-1 if known.lastBatch is None else known.lastBatch, self._settled.get(run.runId, -1))
        if run.batchId is None or run.batchId <= here:
            history.set_stale(None)
            return self._fill_gaps(history, run)
        key = ("batch", run.runId)
        if key in before and here >= before[key][1]:
            del before[key]  # that one came; the next one is on its way
        if not self._late(key, run.batchId, before, patience):
            return self._fill_gaps(history, run)
        if self.fill(history, run.runId, run.query, here):
            self._settled[run.runId] = run.batchId
            history.set_stale(None)
        else:
            last = f"batch {here} is the last" if here >= 0 else "no batch is known"
            history.set_stale(f"Spark is at batch {run.batchId}, and {last} that is known here.")
        if doubtful:
            self._tell(history, run.runId, here + 1, run.batchId)
        return True

    def _fill_gaps(self, history: History, run: Active) -> bool:
        tried = self._filled.get(run.runId, ())
        missing = [gap for gap in _gaps(history, run.runId) if gap not in tried]
        if not missing:
            return False
        self.fill(history, run.runId, run.query, min(missing)[0])
        return True

    def _late(self, key: tuple[str, str], batch: int, before: Waits, patience: float) -> bool:
        """Whether an event that is missing has been for longer than it may take."""
        now = time.monotonic()
        since, first = before.get(key, (now, batch))
        if now - since >= patience:
            return True
        self._waits[key] = since, first
        return False

    def _tell(self, history: History, runId: str, first: int, last: int) -> None:
        if runId not in self._deaf:
            self._deaf.add(runId)
            self._arrived = self._collector.arrived
            which = f"batch {last}" if first == last else f"batches {first} to {last}"
            name = query_name(history.name, history.id)
            self._collector.note(f"No event came of {which} of {name}: Spark was asked what it remembers.")

    def _look_for_ends(self, active: set[str], before: Waits) -> bool:
        over = {
            run.runId
            for history in self._collector.histories()
            for run in history.runs[-1:]
            if run.state == "active" and run.runId not in active and run.runId not in self._foreign
        }
        late = {runId for runId in over if self._late(("end", runId), 0, before, GRACE)}
        if late:
            self._ended(late)
        return bool(late)


def _gaps(history: History, runId: str) -> tuple[tuple[int, int], ...]:
    parts = history.snapshot().parts
    return next((gaps for run, gaps in zip(parts.runs, parts.run_gaps, strict=True) if run.runId == runId), ())
