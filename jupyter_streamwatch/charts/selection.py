"""Which rows are worth sending when there are more batches than pixels: the extremes, the ends and the borders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from jupyter_streamwatch.model.batches import Batches
    from jupyter_streamwatch.model.history import HistoryView

    Floats = NDArray[np.float64]
    Index = NDArray[np.intp]

# Columns whose peaks, and whose valleys, must stay visible. A part of a batch peaks with its batch or is small.
PEAKS = (
    "batchDuration",
    "numInputRows",
    "inputRowsPerSecond",
    "processedRowsPerSecond",
    "backlog",
    "state.numRowsTotal",
    "state.memoryUsedBytes",
    "state.numRowsDroppedByWatermark",
)
VALLEYS = ("processedRowsPerSecond", "backlog", "state.numRowsTotal", "state.memoryUsedBytes")
LAGS = ("eventTime.max", "eventTime.watermark")


def select(history: HistoryView, max_rows: int) -> Index:
    """Return the positions of at most ``max_rows`` rows, in order; all rows when there are no more.

    Kept are the first and the last row, those at the borders of runs and gaps, and of each stretch of the time axis
    the rows with the largest and smallest values. Stretches are equal halfway between batches and time, so that
    neither a burst nor the hours after it are left without rows.
    """
    batches = history.batches
    rows = int(batches.rows)
    if rows <= max_rows:
        return np.arange(rows)
    keep = _borders(history, max_rows // 2)
    place = _places(batches, rows)
    columns = list(_columns(batches))
    stretches = max_rows
    while stretches > 1:
        chosen = np.union1d(keep, _extremes(columns, np.floor(place * stretches)))
        if len(chosen) <= max_rows:
            return chosen
        stretches = min(int(stretches * max_rows / len(chosen)), stretches - 1)
    return keep


def _borders(history: HistoryView, most: int) -> Index:
    """Return the first and last row, the rows on both sides of run borders and gaps; at most ``most`` of them."""
    batches = history.batches
    run = np.asarray(batches.runIndex)
    ids = batches.numbers("batchId")
    after = np.flatnonzero((run[1:] != run[:-1]) | ((ids[1:] - ids[:-1] > 1) & (batches.count[:-1] == 1))) + 1
    if 2 * len(after) + 2 > most:
        after = after[np.linspace(0, len(after) - 1, max(most // 2 - 1, 1)).astype(np.intp)]
    return np.unique(np.concatenate(([0], after - 1, after, [len(run) - 1])))


def _places(batches: Batches, rows: int) -> Floats:
    """Return each row's place from 0 to 1 (excluded), growing: half by its number, half by its time."""
    number = np.arange(rows) / rows
    time = batches.numbers("timestamp")
    time = np.maximum.accumulate(np.where(np.isfinite(time), time, -np.inf))
    first = time[np.isfinite(time)]
    if not len(first) or time[-1] <= first[0]:
        return number
    since = np.maximum(time - first[0], 0.0) / (time[-1] - first[0]) * (1 - 1e-9)
    return np.asarray((number + since) / 2, dtype=np.float64)


def _columns(batches: Batches) -> Iterable[Floats]:
    """Yield the columns whose maximum in each stretch is kept; unknown is -inf."""
    there = set(batches.names)
    for name in PEAKS:
        if name in there:
            yield _filled(batches.maximum(name))
    for name in VALLEYS:
        if name in there:
            yield _filled(-batches.minimum(name))
    for name in LAGS:
        if name in there:
            lag = batches.numbers("timestamp") - batches.numbers(name)
            yield _filled(lag)
            yield _filled(-lag)


def _filled(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, -np.inf)


def _extremes(columns: list[Floats], stretch: Floats) -> Index:
    """Return for each stretch (numbers that never decrease) the first row with the maximum of each column."""
    starts = np.flatnonzero(np.concatenate(([True], stretch[1:] != stretch[:-1])))
    lengths = np.diff(np.append(starts, len(stretch)))
    found: list[Index] = []
    for values in columns:
        top = np.repeat(np.maximum.reduceat(values, starts), lengths)
        hits = np.flatnonzero((values == top) & (top > -np.inf))
        of = stretch[hits]
        found.append(hits[np.concatenate(([True], of[1:] != of[:-1]))] if len(hits) else hits)
    return np.unique(np.concatenate(found)) if found else starts
