"""The rows of a history that a chart draws: real rows, never averages of ours, and what a row needs of those before.

Everything a row carries depends on rows before it, or on the one right after it, and on nothing else: a page that
gets each new row together with the one before has what a fresh cut would give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.history import History

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jupyter_streamwatch.batches import Batches

    Floats = NDArray[np.float64]
    Index = NDArray[np.intp]

FILL = 0.85  # share of the time to the next batch that a bar may take: neighbours stay apart
LONGEST_BAR_MS = 60_000.0  # a bar wider than its batch and than this would claim idle time
LONGEST_BAR = 20.0  # ... unless it is at most this many times its batch's own time
SILENCE_MS = 60_000.0  # a line ends where nothing came for this long ...
SILENCE = 10.0  # ... and for this many times the pace before


class Rows:
    """Some rows of a history, in order: columns by Spark's names, and where on the time axis each row stands.

    Attributes:
        index: positions of the rows in the history's columns.
        start: epoch ms of the batch's start (of the bin's first batch).
        time: epoch ms at which lines have the row's point: the start, the middle of a bin.
        end: epoch ms of the batch's end; its start where the duration is unknown.
        left, right: epoch ms between which the bar of the row is drawn; bars never overlap.
        line: number that changes where lines must break: at a new run and after a silence.
    """

    def __init__(self, batches: Batches, index: Index) -> None:
        """Take the rows at ``index`` (increasing) of an immutable snapshot of columns."""
        self.batches = batches
        self.index = index
        self.run = batches.runIndex[index]
        self.count = np.asarray(batches.count)[index]
        self.start = self.numbers("timestamp")
        last = np.where(self.count > 1, self.high("timestamp"), self.start)
        self.time = (self.start + last) / 2
        self.end = last + np.fmax(np.nan_to_num(self.numbers("batchDuration")), 0.0)
        self.left, self.right = _bars(self.start, self.end, self.run)
        self.line = _lines(self.start, self.end, self.run)

    @classmethod
    def none(cls) -> Rows:
        """Return no rows of no history: what a chart makes of them tells which columns it draws."""
        return cls(History("none").batches, np.arange(0))

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

    def first_of_run(self) -> NDArray[np.bool_]:
        """Tell for each row whether it is the first batch of its run (as far as the history goes back)."""
        run = self.batches.runIndex
        first = np.ones(len(run), dtype=bool)
        first[1:] = run[1:] != run[:-1]
        return np.asarray(first[self.index], dtype=bool)


def _bars(start: Floats, end: Floats, run: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """Place a bar for each row from its start: as wide as the pace allows, never into the next.

    A bar takes most of the time until the next start, but not more than the usual pace, so that a bar before
    hours of silence is no wider than its neighbours. Batches that are longer than that fill their own time.
    """
    if not len(start):
        return start, end
    gap = np.full(len(start), np.nan)
    gap[:-1] = np.where(run[1:] == run[:-1], start[1:] - start[:-1], np.nan)
    pace = _usual(gap)
    pace = np.fmin(pace, np.maximum(LONGEST_BAR_MS, LONGEST_BAR * (end - start)))
    right = np.fmax(end, start + FILL * np.nan_to_num(pace))
    limit = np.full(len(start), np.inf)
    limit[:-1] = start[1:]
    later = start[:-1] + FILL * (start[1:] - start[:-1])
    right[:-1] = np.where(end[:-1] < later, np.minimum(right[:-1], later), right[:-1])
    right = np.maximum(np.fmin(right, limit), start)
    return start, right


def _usual(gap: Floats) -> Floats:
    """Return the lower median of the distances to the next start: of this row and the four before, of those known."""
    window = np.full((5, len(gap)), np.nan)
    for back in range(min(5, len(gap))):
        window[back, back:] = gap[: len(gap) - back]
    window.sort(axis=0)
    have = np.isfinite(window).sum(axis=0)
    return np.asarray(window[np.maximum(have - 1, 0) // 2, np.arange(len(gap))], dtype=np.float64)


def _lines(start: Floats, end: Floats, run: NDArray[np.integer]) -> NDArray[np.intp]:
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
