"""The runs of a query: one start each, with the batch ids that were seen of it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from jupyter_streamwatch.model.trigger import TriggerGuess
from jupyter_streamwatch.text.outside import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

Followed: TypeAlias = Literal["replaced", "restarted"]

GAPS_KEPT = 1_000
"""Gaps remembered of one run. A recording of every tenth batch has one a row; the oldest are forgotten."""
STARTS_KEPT = 10_000


@dataclass(frozen=True, repr=False)
class Run:
    """One start of a query.

    Attributes:
        runId: Spark's id of the run; empty when the records do not say.
        started: Epoch ms of the start; None when the start was not seen.
        ended: Epoch ms of the end; None while it runs, or when only its failing is known.
        exception: The full text of the error that ended it.
        errorClass: Spark's class of that error.
        firstBatch: The smallest batch id seen.
        lastBatch: The largest batch id seen.
        restartedBy: ``"replaced"`` when another run of the query was started while this one was active,
            ``"restarted"`` when another run followed and the end of this one was not seen.
        over: Whether it has ended, also when nobody knows when.
    """

    runId: str
    started: float | None = None
    ended: float | None = None
    exception: str | None = field(default=None, repr=False)  # a text of 20,000 characters, with what stands in it
    errorClass: str | None = None
    firstBatch: int | None = None
    lastBatch: int | None = None
    restartedBy: Followed | None = None
    over: bool = False

    __repr__ = brief

    @property
    def state(self) -> Literal["active", "failed", "ended"]:
        """``failed`` with an error, ``ended`` when it is over without one, else ``active``."""
        if self.exception is not None or self.errorClass is not None:
            return "failed"
        return "ended" if self.over or self.ended is not None or self.restartedBy is not None else "active"


def goes_on(runs: Sequence[Run]) -> bool:
    """Whether the latest of a query's runs is active."""
    return bool(runs) and runs[-1].state == "active"


class RunLog:
    """What a history keeps of one run while it grows."""

    def __init__(self, number: int, run: Run, began: float | None) -> None:
        """Start the log of ``run``; ``number`` stands for it in rows; it ``began`` then, or with its first record."""
        self.number = number
        self.run = run
        self.began = began
        self.guess = TriggerGuess()
        self.gaps: list[tuple[int, int]] = []
        self.first: int | None = run.firstBatch
        self.last: int | None = run.lastBatch
        self._starts: dict[float, None] = {}  # batches without an id (Spark 2.1), known by their start
        self._before: int | None = None  # id of the batch that came last
        self._blank = 0  # restored batches without either, whose records are still to come

    def ran(self, batch: int | None, start: float | None, duration: float | None) -> None:
        """Let the trigger be inferred from a batch: one whose batch before is missing shows no interval."""
        follows = batch is None or self._before is None or batch == self._before + 1
        self._before = batch
        self.guess.add(start, duration, follows=follows)

    def as_seen(self) -> Run:
        """The run with the batches seen so far."""
        if (self.run.firstBatch, self.run.lastBatch) != (self.first, self.last):
            self.run = replace(self.run, firstBatch=self.first, lastBatch=self.last)
        return self.run

    def take(self, batch: int | None, start: float | None) -> bool:
        """Note a batch; False when it was seen before. Ids between the first and the last are gaps until they come."""
        if batch is None:
            return self._take_start(start)
        if self.first is None or self.last is None:
            self.first = self.last = batch
        elif batch > self.last:
            if batch > self.last + 1:
                self.gaps.append((self.last, batch))
                if len(self.gaps) > GAPS_KEPT:
                    del self.gaps[: GAPS_KEPT // 10]
            self.last = batch
        elif batch < self.first:
            if batch + 1 < self.first:
                self.gaps.insert(0, (batch, self.first))
            self.first = batch
        else:
            return self._fill(batch)
        return True

    def restored(self, start: float | None) -> None:
        """Note a batch without an id that is a row already and whose record may follow."""
        if start is None:
            self._blank += 1
        else:
            self._take_start(start)

    def _fill(self, batch: int) -> bool:
        at = bisect_right(self.gaps, (batch,)) - 1
        if at < 0 or not self.gaps[at][0] < batch < self.gaps[at][1]:
            return False
        before, after = self.gaps[at]
        self.gaps[at : at + 1] = [gap for gap in ((before, batch), (batch, after)) if gap[1] > gap[0] + 1]
        return True

    def _take_start(self, start: float | None) -> bool:
        if start is None:
            fresh = not self._blank
            self._blank -= not fresh
            return fresh
        if start in self._starts:
            return False
        self._starts[start] = None
        if len(self._starts) > STARTS_KEPT:
            del self._starts[next(iter(self._starts))]
        return True
