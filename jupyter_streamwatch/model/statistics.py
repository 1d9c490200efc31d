"""Small robust statistics over the numbers of a few batches; NaN is unknown and left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Trend: TypeAlias = Literal["grows", "shrinks", "steady"]

_STEP = 0.8  # of the change: what came, or went, at once is a burst and no trend


def known(values: Iterable[float]) -> list[float]:
    """Return the values that are numbers."""
    return [value for value in values if value == value]  # noqa: PLR0124 - NaN is not equal to itself


def median(values: Iterable[float]) -> float | None:
    """Return the median of the known values; None without any."""
    return quantile(values, 0.5)


def quantile(values: Iterable[float], share: float) -> float | None:
    """Return the value that ``share`` of the known values do not exceed (interpolated); None without any."""
    ordered = sorted(known(values))
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    rest = place - below
    return ordered[below] if not rest else ordered[below] * (1 - rest) + ordered[below + 1] * rest


def held(values: Sequence[float], enter: float, clear: float, hold: int) -> bool:
    """Say whether ``values`` stayed at or above ``enter`` long enough, and were not below ``clear`` as long since.

    A counter goes up by one for a value of at least ``enter`` and down by one for a value below ``clear``; the state
    is raised when it reaches ``hold`` and cleared when it is back at zero. The answer depends on the values alone,
    so a recording gives the same as the live query.
    """
    if not values or max(values) < enter:
        return False
    if min(values) >= enter:
        return len(values) >= hold
    count = 0
    raised = False
    for value in values:
        if value >= enter:
            count = min(count + 1, hold)
            raised = raised or count == hold
        elif value < clear:
            count = max(count - 1, 0)
            raised = raised and count > 0
    return raised


def rising(values: Sequence[float]) -> float:
    """Return how surely the values rise (above 0) or fall (below 0): Mann and Kendall's statistic.

    It is in standard deviations of what chance gives: 2.3 is reached by chance once in a hundred. 0 for fewer than
    four values.
    """
    numbers = np.asarray(known(values))
    size = len(numbers)
    if size < 4:
        return 0.0
    above, below = _pairs(size)
    before, after = numbers[above], numbers[below]
    total = int(np.count_nonzero(after > before)) - int(np.count_nonzero(after < before))
    return total / math.sqrt(size * (size - 1) * (2 * size + 5) / 18)


def surely(values: Sequence[float], sure: float) -> bool:
    """Say whether values rise beyond chance by ``sure`` standard deviations; few values must rise at every step."""
    size = len(values)
    if size < 5:
        return False
    perfect = size * (size - 1) / 2 / math.sqrt(size * (size - 1) * (2 * size + 5) / 18)
    return rising(values) >= min(sure, perfect - 1e-9)


def ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the medians of the first and of the last third."""
    third = max(len(values) // 3, 1)
    return median(values[:third]) or 0.0, median(values[-third:]) or 0.0


def slope(
    places: Sequence[float] | NDArray[np.float64], values: Sequence[float] | NDArray[np.float64]
) -> tuple[float, float, float] | None:
    """Return (low, best, high) of the slope of ``values`` over ``places``: Theil and Sen's median of pairs.

    The range is the middle nine tenths of what the pairs say, narrowed as Sen does by the number of points. None
    when no two places differ.
    """
    x, y = np.asarray(places, float), np.asarray(values, float)
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    size = len(x)
    if size < 2:
        return None
    above, below = _pairs(size)
    run = x[below] - x[above]
    apart = run != 0
    slopes = np.sort((y[below] - y[above])[apart] / run[apart])
    if not len(slopes):
        return None
    spread = 1.645 * math.sqrt(size * (size - 1) * (2 * size + 5) / 18)
    low = max(math.floor((len(slopes) - spread) / 2), 0)
    high = min(math.ceil((len(slopes) + spread) / 2), len(slopes) - 1)
    return (
        float(slopes[low]),
        float((slopes[(len(slopes) - 1) // 2] + slopes[len(slopes) // 2]) / 2),
        float(slopes[high]),
    )


def course(
    starts: Sequence[float], waiting: Sequence[float], least: float, sure: float
) -> tuple[Trend | None, float | None]:
    """Return where a backlog goes and its robust slope in rows a second; None with fewer than 5 batches.

    Args:
        starts: Starts of batches in epoch ms.
        waiting: Rows that waited after each.
        least: Rows; a change by fewer is none.
        sure: Standard deviations of chance that a trend must reach.
    """
    if len(waiting) < 5:
        return None, None
    if max(waiting) - min(waiting) < least:
        return "steady", 0.0
    fit = slope(starts, waiting)
    if fit is None:
        return None, None
    change = fit[1] * 1000
    before, after = ends(waiting)
    at_once = _jump(waiting) > _STEP * abs(after - before)
    if change > 0 and after - before >= least and surely(waiting, sure) and not at_once:
        return "grows", change
    falls = change < 0 and min(before - after, waiting[-1]) >= least and not at_once
    if falls and surely([-value for value in waiting], sure):
        return "shrinks", change
    return "steady", change


def _jump(values: Sequence[float]) -> float:
    """Return the largest change between three values and the three before them."""
    middles = [median(values[place : place + 3]) or 0.0 for place in range(len(values) - 2)]
    return max((abs(after - before) for before, after in zip(middles, middles[3:], strict=False)), default=0.0)


_PAIRS: dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}


def _pairs(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of all pairs of ``size`` values, earlier first; kept, because windows have few sizes."""
    if size not in _PAIRS:
        if len(_PAIRS) > 256:
            _PAIRS.clear()
        _PAIRS[size] = np.triu_indices(size, 1)
    return _PAIRS[size]
