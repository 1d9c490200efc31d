"""The rows of a history that a chart draws: real rows, never averages of ours, and what a row needs of those before.

Everything a row carries depends on rows before it, or on the one right after it, and on nothing else: a page that
gets each new row together with the one before has what a fresh cut would give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.diagnosis import Backlog
from jupyter_streamwatch.model.history import History, HistoryView

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Index = NDArray[np.intp]

FILL = 0.85  # share of the time to the next batch that a bar may take: neighbours stay apart
LONGEST_BATCH_MS = 366 * 86_400_000.0  # what claims to be longer is no measurement, and would flatten the time axis
LONGEST_BAR_MS = 60_000.0  # a bar wider than its batch and than this would claim idle time
LONGEST_BAR = 20.0  # ... unless it is at most this many times its batch's own time
LEAST_SPAN_MS, LEAST_BARS = 10_000.0, 2.0  # of a lone batch the time axis is so long, also in lengths of the batch
SILENCE_MS = 60_000.0  # a line ends where nothing came for this long ...
SILENCE = 10.0  # ... and for this many times the pace before

UNKNOWN = Backlog()


class Rows:
    """Some rows of a history, in order: columns by Spark's names, and where on the time axis each row stands.

    Attributes:
        index: positions of the rows in the history's columns.
        start: epoch ms of the batch's start (of the bin's first batch).
        time: epoch ms at which lines have the row's point: the start, the middle of a bin.
        end: epoch ms of the batch's end; its start where the duration is unknown.
        room: epoch ms that the time axis must reach at least, in a row that is the only one.
        backlog: where the rows that wait in the sources go.
        left, right: epoch ms between which the bar of the row is drawn; bars never overlap.
        line: number that changes where lines must break: at a new run and after a silence.
    """

    def __init__(self, history: HistoryView, index: Index, backlog: Backlog = UNKNOWN) -> None:
        """Take the rows at ``index`` (increasing) of a snapshot; ``backlog`` is what its diagnosis says of it."""
        batches = history.batches
        self.backlog = backlog
        self.batches = batches
        self.index = index
        self.count = np.asarray(batches.count)[index]
        start = batches.numbers("timestamp")
        last = np.where(batches.count > 1, batches.maximum("timestamp"), start)
        end = last + np.clip(np.nan_to_num(batches.numbers("batchDuration")), 0.0, LONGEST_BATCH_MS)
        line = _lines(start, end, batches.runIndex)
        self.start, self.end, self.line = start[index], end[index], line[index]
        self.time = (self.start + last[index]) / 2
        self.room = _room(self.start, self.end)
        right = _rights(self.start, self.end, self.line, skipped=np.diff(index) > 1)
        run = batches.runIndex[index]
        over = np.where(np.append(run[1:] != run[:-1], True)[: len(run)], _overs(history)[run], np.inf)
        self.left, self.right = self.start, np.minimum(right, np.maximum(over, self.end))

    @classmethod
    def none(cls) -> Rows:
        """Return no rows of no history: what a chart makes of them tells which columns it draws."""
        return cls(History("none").snapshot(), np.arange(0))

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.index)

    def numbers(self, name: str) -> Floats:
        """Return a column as float64; times are epoch ms, unknown is NaN; in bins it is the mean."""
        return np.asarray(self.batches.numbers(name)[self.index], dtype=np.float64)

    def low(self, name: str) -> Floats:
        """Return the column's minimum in each row: the value itself, except in bins."""
        return np.asarray(self.batches.minimum(name)[self.index], dtype=np.float64)

    def high(self, name: str) -> Floats:
        """Return the column's maximum in each row: the value itself, except in bins."""
        return np.asarray(self.batches.maximum(name)[self.index], dtype=np.float64)


def _rights(start: Floats, end: Floats, line: Index, skipped: NDArray[np.bool_]) -> Floats:
    """Return where the bar of each row ends: as wide as the pace allows, never into the next.

    A bar takes most of the time until the next start, but not more than the usual pace, so that a bar before
    hours of silence is no wider than its neighbours. Batches that are longer than that fill their own time.
    Where rows were ``skipped`` after a row, its bar stands for them, too, and reaches the next one.
    """
    if not len(start):
        return end
    following = np.append(start[1:], np.inf)
    joined_on = np.append(line[1:] == line[:-1], False)
    gap = np.where(joined_on, following - start, np.nan)
    pace = np.minimum(np.nan_to_num(_usual(gap)), np.maximum(LONGEST_BAR_MS, LONGEST_BAR * (end - start)))
    right = np.fmax(end, start + FILL * np.minimum(pace, following - start))
    right = np.where(joined_on & np.append(skipped, False), following, right)
    return np.asarray(np.maximum(np.fmin(right, following), start), dtype=np.float64)


def _overs(history: HistoryView) -> Floats:
    """Return when each run was over, in epoch ms, infinite for one that goes on: its last bar claims no time after.

    Where nobody saw the end, the run is over with its last batch.
    """
    overs = [np.inf if run.state == "active" else -np.inf if run.ended is None else run.ended for run in history.runs]
    return np.array([*overs, np.inf], dtype=np.float64)


def _room(start: Floats, end: Floats) -> Floats:
    """Return how far the time axis must reach: a first batch, while it is alone, is a bar in it, not a wall."""
    room = np.full(len(start), np.nan)
    if len(start) == 1:
        room[0] = start[0] + max(LEAST_SPAN_MS, LEAST_BARS * (end[0] - start[0]))
    return room


def _usual(gap: Floats) -> Floats:
    """Return the lower median of the distances to the next start: of this row and the four before, of those known."""
    window = np.full((5, len(gap)), np.nan)
    for back in range(min(5, len(gap))):
        window[back, back:] = gap[: len(gap) - back]
    window.sort(axis=0)
    have = np.isfinite(window).sum(axis=0)
    return np.asarray(window[np.maximum(have - 1, 0) // 2, np.arange(len(gap))], dtype=np.float64)


def _lines(start: Floats, end: Floats, run: Index) -> Index:
    """Number the stretches in which lines may join neighbours."""
    broken = np.zeros(len(start), dtype=bool)
    if len(start) > 1:
        broken[1:] = run[1:] != run[:-1]
        pace = np.full(len(start), np.inf)
        pace[2:] = np.where(broken[1:-1], np.inf, start[1:-1] - start[:-2])
        silence = np.full(len(start), 0.0)
        silence[1:] = start[1:] - end[:-1]
        broken |= (silence > SILENCE_MS) & (silence > SILENCE * pace)
    return np.cumsum(broken)


def joined(rows: Rows, name: str, x: Floats, y: Floats) -> dict[str, Floats]:
    """Return the columns of a line: each known row brings the piece that leads to it from the known row before.

    ``<name>.x0`` and ``<name>.y0`` are where the piece starts (NaN where the line starts anew), ``<name>.y`` where
    it ends; ``<name>.dot`` is ``y`` where a line starts, so that a lone batch is visible.
    """
    x0, y0, dot = (np.full(len(rows), np.nan) for _ in range(3))
    have = np.flatnonzero(np.isfinite(y))
    if len(have):
        same = np.zeros(len(have), dtype=bool)
        same[1:] = rows.line[have[1:]] == rows.line[have[:-1]]
        to, since = have[same], have[:-1][same[1:]]
        x0[to], y0[to] = x[since], y[since]
        dot[have[~same]] = y[have[~same]]
    return {f"{name}.x0": x0, f"{name}.y0": y0, f"{name}.y": y, f"{name}.dot": dot}


def band(rows: Rows, name: str, low: Floats, high: Floats, divisor: float) -> dict[str, Floats]:
    """Return ``<name>.low`` and ``<name>.high``: the range of each bin in the axis' unit, unknown in single batches."""
    bins = rows.count > 1
    return {
        f"{name}.low": np.where(bins, low / divisor, np.nan),
        f"{name}.high": np.where(bins, high / divisor, np.nan),
    }
