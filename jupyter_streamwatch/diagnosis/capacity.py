"""How much a query can do: batch time = fixed cost + rows x cost a row, fitted so that odd batches do not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.diagnosis.result import Capacity
from jupyter_streamwatch.model.statistics import median, slope
from jupyter_streamwatch.text.numbers import duration, number, rate

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.result import Range
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window

_FEWEST = 8  # batches: with fewer, the range would be wider than anybody can use
_SPREAD = 1.5  # the ninth tenth of the rows a batch over the first: below, one size says nothing of another
_ENDS = 2  # batches at each end of the sizes that do not count: one odd size proves nothing
_UNSURE = 2.0  # times the low end of a range: a wider one is no answer
_POINTS = 30  # batches that are compared in pairs; more only cost time
_FAR = 3.0  # times the largest batch seen: beyond it the line is a guess


def capacity(window: Window, load: Load) -> Capacity:
    """Fit the capacity over the settled batches of the window, once a window."""
    if window.capacity is None:
        over = window.run is not None and window.run.state != "active"
        window.capacity = replace(_fit(window, load), rows_per_second=None if over else _arriving(window, load))
    return window.capacity


def _fit(window: Window, load: Load) -> Capacity:  # noqa: PLR0911 - one a reason
    """Fit batch time over rows for the settled batches of the window.

    The cost a row is Theil and Sen's median over all pairs of batches, its range their confidence interval; the fixed
    cost is the median of what that leaves of each batch. At most every other batch may be odd without moving it.
    """
    if window.real_time:
        return Capacity(reason="Batches of real-time mode last as long as they are told, whatever their rows.")
    size = len(window.costs[0])
    if size < _FEWEST:
        reason = f"Too few batches with known rows and time, without the first one of the run: {size} of {_FEWEST}."
        return Capacity(reason=reason, batches=size)
    rows, times = np.array(window.costs[0]), np.array(window.costs[1])
    ordered = np.sort(rows)
    end = max(size // 10, _ENDS)
    if ordered[-1 - end] < _SPREAD * ordered[end]:
        between = f"{number(float(ordered[0]))} to {number(float(ordered[-1]))} rows"
        return Capacity(
            reason=f"The batches are too alike ({between}) to tell fixed cost from cost a row.", batches=size
        )
    if size > _POINTS:
        # All sizes alike: every n-th batch might always be one of the same size.
        chosen = np.argsort(rows, kind="stable")[np.arange(_POINTS) * (size - 1) // (_POINTS - 1)]
        rows, times = rows[chosen], times[chosen]
    fit = slope(rows, times)
    if fit is None:
        return Capacity(reason="The batches are too alike to tell.", batches=size)
    per_row: Range = (max(fit[0], 0.0), max(fit[1], 0.0), max(fit[2], 0.0))
    # The line turns around the middle of the batches: a steeper one has the smaller fixed cost.
    low, best, high = (
        max(median((times - one * rows).tolist()) or 0.0, 0.0) for one in (per_row[2], per_row[1], per_row[0])
    )
    fixed: Range = (low, best, high)
    thousand: Range = (per_row[0] * 1000, per_row[1] * 1000, per_row[2] * 1000)
    if per_row[0] <= 0:
        reason = "More rows did not take more time in the batches seen, so nothing shows where the limit is."
        return Capacity(None, _shortest(window, load, fixed, per_row), fixed, thousand, reason, size)
    most = _most(load.interval, fixed, per_row)
    if most[2] > _UNSURE * most[0]:
        reason = "Batches of one size differ by more than larger ones take longer, so nothing shows where the limit is."
        return Capacity(None, _shortest(window, load, fixed, per_row), fixed, thousand, reason, size)
    return Capacity(
        most, _shortest(window, load, fixed, per_row), fixed, thousand, _reach(load, most, float(ordered[-1])), size
    )


def _most(interval: float | None, fixed: Range, per_row: Range) -> Range:
    """Return the highest rate in rows a second: what fits into an interval, else what ever larger batches approach."""
    if interval is None:
        return 1000 / per_row[2], 1000 / per_row[1], 1000 / per_row[0]
    # The ends of both ranges go together: the steeper line has the smaller fixed cost.
    ends = [
        max(interval - base, 0.0) / (cost * interval) * 1000
        for base, cost in ((fixed[0], per_row[2]), (fixed[1], per_row[1]), (fixed[2], per_row[0]))
    ]
    return min(ends), ends[1], max(ends)


def _shortest(window: Window, load: Load, fixed: Range, per_row: Range) -> Range | None:
    """Return the shortest interval in seconds: in it the rows that arrive take just as long as it lasts."""
    arriving = _arriving(window, load)
    if arriving is None:
        return None
    ends = []
    for base, cost in ((fixed[0], per_row[2]), (fixed[1], per_row[1]), (fixed[2], per_row[0])):
        left = 1 - cost * arriving / 1000
        if left <= 0.05:  # so near to the limit that any interval is a guess
            return None
        ends.append(base / left / 1000)
    return min(ends), ends[1], max(ends)


def _arriving(window: Window, load: Load) -> float | None:
    """Return the rows a second that arrive: those ingested, and those by which the backlog grows."""
    ingested = window.usual("inputRowsPerSecond")
    if ingested is None:
        return None
    return ingested + max(load.change or 0.0, 0.0) if load.trend == "grows" else ingested


def _reach(load: Load, most: Range, largest: float) -> str:
    if load.interval is None:
        return "Without a trigger interval: the rate that ever larger batches approach."
    rows = most[1] * load.interval / 1000
    if rows > _FAR * largest:
        return (
            f"{rate(most[1])} means {number(rows)} rows in {duration(load.interval)};"
            f" the largest batch seen had {number(largest)}."
        )
    return ""
