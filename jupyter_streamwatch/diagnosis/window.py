"""What a rule looks at: the recent batches of a query's latest run, read once and shared by all rules."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from jupyter_streamwatch.model.statistics import known, median
from jupyter_streamwatch.model.trigger import ONCE, Trigger, TriggerGuess
from jupyter_streamwatch.text.spark_names import kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from jupyter_streamwatch.diagnosis.result import Capacity
    from jupyter_streamwatch.diagnosis.thresholds import Thresholds
    from jupyter_streamwatch.model.history import Facts, HistoryView, Run
    from jupyter_streamwatch.model.progress import Progress

_EVIDENCE = 20  # batch ids that a hint names at most
_RECORDS = 24  # records that rules read whole; columns reach further back
_LATELY = 60  # settled batches that most rules look at; trends and the fit take all of the window

STARTS = ("timestamp", "batchDuration", "batchId")
"""Columns that show the trigger."""

DISCOVERY = ("latestOffset", "getOffset", "getEndOffset", "setOffsetRange", "getBatch", "getLatestOffset")
"""Parts of ``durationMs`` in which Spark asks the sources what is new, under the names of all versions."""

CHECKPOINT = ("walCommit", "commitOffsets")
"""Parts of ``durationMs`` in which Spark writes its offset and commit log."""


class Window:
    """The last batches of the latest run of a query.

    ``column`` gives all its batches in the window; ``long`` those that are settled, which say something about speed:
    batches with data, without the run's first one, which starts cold and often takes all that waited; ``values`` the
    last 60 of them, ``recent`` the last 20.
    """

    def __init__(
        self,
        history: HistoryView,
        thresholds: Thresholds,
        *,
        trigger: Trigger | None = None,
        now: float | None = None,
        twins: tuple[HistoryView, ...] = (),
    ) -> None:
        """Select the window; ``now`` is epoch ms, ``twins`` are queries that look the same."""
        self.history: HistoryView = history.snapshot()
        self.t = thresholds
        self.now = now
        self.twins = twins
        self.trigger = trigger or self.history.trigger
        self.facts: Facts = self.history.facts
        runs = self.history.runs
        self.run: Run | None = runs[-1] if runs else None
        self._batches = self.history.batches.tail(int(thresholds.window))
        mine = self._batches.runIndex == len(runs) - 1
        self._mine: NDArray[np.bool_] | None = None if mine.all() else mine  # None: all of them, as nearly always
        self._columns: dict[str, list[float]] = {}
        self._values: dict[str, list[float]] = {}
        self.rows = int(mine.sum())
        if self.trigger is None and self.history.inserted:
            # Records that came newest first, as some logs list them: the history infers only from starts in order.
            self.trigger = inferred(*map(self.column, STARTS))
        if (self.trigger is None or self.trigger.origin == "inferred") and any(one.rtmMetrics for one in self.records):
            self.trigger = Trigger("realTime", None, "inferred")  # its batches start as regularly as those of another
        self.capacity: Capacity | None = None  # kept here because several rules ask for the fit
        kinds = self.column("kind")
        self.data = [True] * self.rows if kinds and min(kinds) > 0 else [kind > 0 for kind in kinds]
        self.settled = self._settle()
        self._lately = self.settled[-_LATELY:]
        self._long = _span(self.settled)

    @property
    def interval(self) -> float | None:
        """The trigger interval in ms, or None without one."""
        trigger = self.trigger
        if trigger is None or trigger.kind != "processingTime" or not trigger.interval_ms:
            return None
        return float(trigger.interval_ms)

    @property
    def once(self) -> bool:
        """Whether the trigger works through what is there and ends."""
        return self.trigger is not None and self.trigger.kind in ONCE

    @property
    def real_time(self) -> bool:
        """Whether batches last as long as they are told, while rows are written all the time."""
        return self.trigger is not None and self.trigger.kind == "realTime"

    @property
    def idle(self) -> bool:
        """Whether the query is active and its last trigger found nothing to do."""
        record = self.history.record
        active = self.run is not None and self.run.state == "active"
        return active and record is not None and self.owns(record) and is_idle(record)

    def column(self, name: str) -> list[float]:
        """Return a column of all batches in the window, unknown as NaN, times in epoch ms."""
        values = self._columns.get(name)
        if values is None:
            numbers = self._batches.numbers(name)
            values = (numbers if self._mine is None else numbers[self._mine]).tolist()
            self._columns[name] = values
        return values

    def values(self, name: str) -> list[float]:
        """Return a column of the last settled batches."""
        values = self._values.get(name)
        if values is None:
            values = self._values[name] = self.long(name)[-_LATELY:]
        return values

    def long(self, name: str) -> list[float]:
        """Return a column of all settled batches in the window."""
        return self._of_settled(self.column(name))

    def recent(self, name: str) -> list[float]:
        """Return a column of the last settled batches, enough to say how it is now."""
        return self.values(name)[-int(self.t.recent) :]

    def usual(self, name: str) -> float | None:
        """Return the median of a column over the recent settled batches."""
        return median(self.recent(name))

    def parts(self, names: Sequence[str]) -> list[float]:
        """Return the sum of parts of ``durationMs`` of the last settled batches; an absent part takes no time."""
        columns = [self.values(f"durationMs.{name}") for name in names if name in self._reported_in_window]
        if not columns:
            return [math.nan] * len(self._lately)
        if len(columns) == 1:
            return columns[0]
        summed: list[float] = list(map(sum, zip(*columns, strict=True)))
        if math.isnan(sum(summed)):  # a part is absent in some batch
            for place, parts in enumerate(zip(*columns, strict=True)):
                there = known(parts)
                summed[place] = sum(there) if there else math.nan
        return summed

    @cached_property
    def parts_reported(self) -> tuple[str, ...]:
        """Names of the parts of ``durationMs`` that the last batch reports."""
        return tuple(self.ran[-1].durationMs) if self.ran else ()

    @cached_property
    def _reported_in_window(self) -> set[str]:
        """Names of the parts that any of the last records reports: others need not be looked for."""
        return {name for one in self.ran for name in one.durationMs}

    @cached_property
    def total(self) -> list[float]:
        """Batch time of the last settled batches in ms."""
        return self._total(self.values("durationMs.triggerExecution"), self.values("batchDuration"))

    @cached_property
    def all_total(self) -> list[float]:
        """Batch time of all batches in the window in ms."""
        return self._total(self.column("durationMs.triggerExecution"), self.column("batchDuration"))

    @property
    def long_total(self) -> list[float]:
        """Batch time of all settled batches in the window in ms."""
        return self._of_settled(self.all_total)

    @cached_property
    def costs(self) -> tuple[list[float], list[float]]:
        """Rows and times (ms) of the settled batches in the window where both are known and more than 0."""
        columns = zip(self.long("numInputRows"), self.long_total, strict=True)
        pairs = [(rows, time) for rows, time in columns if rows > 0 and time > 0]
        return [rows for rows, _ in pairs], [time for _, time in pairs]

    @cached_property
    def typical(self) -> float | None:
        """Median batch time of the recent settled batches in ms."""
        return median(self.total[-int(self.t.recent) :])

    def evidence(self) -> tuple[int, ...]:
        """Return the ids of the recent settled batches, at most 20."""
        return self._evidence

    @cached_property
    def _evidence(self) -> tuple[int, ...]:
        return tuple(int(one) for one in known(self.values("batchId")[-min(int(self.t.recent), _EVIDENCE) :]))

    def ends(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids of the first and of the last settled batch in the window, as evidence."""
        ids = self.long("batchId")
        return tuple(int(one) for one in known(ids[:1])), tuple(int(one) for one in known(ids[-1:]))

    @cached_property
    def records(self) -> tuple[Progress, ...]:
        """The last records of the latest run, idle ones included."""
        recent = self.history.recent
        if self.history.inserted:  # records came out of order
            starts = [one.start_ms for one in recent]
            if None not in starts:
                recent = tuple(recent[place] for place in sorted(range(len(recent)), key=lambda at: starts[at] or 0.0))
        return tuple(one for one in recent[-_RECORDS:] if self.owns(one))

    @cached_property
    def _kinds(self) -> list[str]:
        return [one.kind for one in self.records]

    def owns(self, record: Progress) -> bool:
        """Whether a record is of the latest run; one that does not say counts to it."""
        return self.run is None or not record.runId or record.runId == self.run.runId

    @cached_property
    def ran(self) -> tuple[Progress, ...]:
        """The last records of batches that ran (no idle ones)."""
        return tuple(one for one, kind in zip(self.records, self._kinds, strict=True) if kind != "idle")

    @cached_property
    def with_data(self) -> tuple[Progress, ...]:
        """The last records of batches that had rows."""
        return tuple(one for one, kind in zip(self.records, self._kinds, strict=True) if kind == "data")

    @cached_property
    def last(self) -> Progress | None:
        """The last record of a batch of this run; else of an idle one."""
        return self.ran[-1] if self.ran else self.records[-1] if self.records else self.history.last

    @cached_property
    def sink(self) -> str:
        """The sink's description as Spark sends it; "" when unknown."""
        last = self.last
        return (last.sink.description if last is not None and last.sink is not None else None) or ""

    @cached_property
    def sink_kind(self) -> str | None:
        """The kind of sink in Spark's word (``kafka``, ``foreachBatch``, ``console``); None when unknown."""
        return self.facts.sinkKind or kind(self.sink)

    @property
    def foreach_batch(self) -> bool | None:
        """Whether the sink is a foreachBatch function; None when nothing tells."""
        if self.facts.foreachBatch is not None:
            return self.facts.foreachBatch
        return "ForeachBatch" in self.sink if self.sink else None

    @property
    def foreach(self) -> bool:
        """Whether the sink runs a function of the user for each row or batch."""
        return bool(self.foreach_batch) or "Foreach" in self.sink

    def _of_settled(self, column: list[float]) -> list[float]:
        return column[self._long] if isinstance(self._long, slice) else [column[place] for place in self._long]

    def _settle(self) -> list[int]:
        data = list(range(self.rows)) if all(self.data) else [at for at, has in enumerate(self.data) if has]
        if not data:
            return data
        return data[1:] if self._is_first(data[0]) else data

    def _is_first(self, place: int) -> bool:
        """Whether the batch at ``place`` is the first with data of its run, and so no measure of speed."""
        if self.column("batchId")[place] == 0:
            return True
        # Every batch but the first of a run has a rate since the trigger before it. A run may begin with a batch
        # without data, which only moves the watermark.
        rates = self.column("inputRowsPerSecond")
        return not rates[place] > 0 or (place == 1 and not rates[0] >= 0)

    @staticmethod
    def _total(trigger: list[float], batch: list[float]) -> list[float]:
        return [one if one == one else other for one, other in zip(trigger, batch, strict=True)]  # noqa: PLR0124


def is_idle(record: Progress) -> bool:
    """Whether a record says that no batch ran.

    Where the rows are missing, an excerpt does not: only a record that names no batch at all.
    """
    if record.kind != "idle" or record.numInputRows is not None:
        return record.kind == "idle"
    return record.batchId is None and not record.stateOperators and not record.sources and not record.durationMs


def inferred(starts: Sequence[float], durations: Sequence[float], ids: Sequence[float]) -> Trigger | None:
    """Return the trigger that batches of one run show by the columns ``STARTS``, oldest first."""
    guess, before = TriggerGuess(), math.nan
    for start, took, batch in zip(starts, durations, ids, strict=True):
        follows = not abs(batch - before) > 1  # an unknown id says nothing
        before = batch
        if start == start:  # noqa: PLR0124 - not NaN
            guess.add(start, took if took == took else None, follows=follows)  # noqa: PLR0124
    return None if guess.interval_ms is None else Trigger("processingTime", guess.interval_ms, "inferred")


def _span(places: list[int]) -> list[int] | slice:
    """Return places that follow each other as a slice, which is quicker to take."""
    if places and places[-1] - places[0] == len(places) - 1:
        return slice(places[0], places[-1] + 1)
    return places
