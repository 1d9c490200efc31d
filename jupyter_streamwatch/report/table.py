"""The table of batches: which columns have something to say, and how their cells are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.text.numbers import clean, exact, iso, number

if TYPE_CHECKING:
    from jupyter_streamwatch.model.history import HistoryView

MOST = 500  # rows; what is older is counted

# Column of the history, its heading, and how it is written.
_FIRST = (
    ("batchId", "Batch", "exact"),
    ("kind", "Kind", "text"),
    ("timestamp", "Started", "time"),
    ("batchDuration", "Batch time, ms", "exact"),
    ("numInputRows", "Rows", "exact"),
    ("inputRowsPerSecond", "Input rows/s", "short"),
    ("processedRowsPerSecond", "Processed rows/s", "short"),
)
_LAST = (
    ("backlog", "Backlog, rows", "exact"),
    ("eventTime.watermark", "Watermark", "time"),
    ("eventTime.max", "Newest event time", "time"),
    ("state.numRowsTotal", "State rows", "exact"),
    ("state.numRowsUpdated", "State updated", "exact"),
    ("state.numRowsRemoved", "State removed", "exact"),
    ("state.numRowsDroppedByWatermark", "Dropped, late", "exact"),
    ("state.memoryUsedBytes", "State memory, bytes", "exact"),
    ("sink.numOutputRows", "Output rows", "exact"),
    ("tasks.count", "Tasks", "exact"),
    ("tasks.failed", "Failed tasks", "exact"),
)
_PART = "durationMs."
_WHOLE = "durationMs.triggerExecution"  # the batch time itself


@dataclass(frozen=True)
class Column:
    """One column: its name in the history, its heading, and the written cells, newest batch first."""

    name: str
    heading: str
    numeric: bool
    cells: tuple[str, ...]
    tips: tuple[str, ...] | None


@dataclass(frozen=True)
class Table:
    """The last batches of a query, newest first.

    Attributes:
        columns: Those in which something is known.
        kinds: ``data`` or ``no-data`` of each row.
        marks: What happened between each row and the newer one above it; None when nothing did.
        left_out: Older batches that are not listed.
    """

    columns: tuple[Column, ...]
    kinds: tuple[str, ...]
    marks: tuple[str | None, ...]
    left_out: int

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return len(self.kinds)


def table(history: HistoryView, most: int = MOST) -> Table:
    """Make the table of a query's last ``most`` batches; columns in which nothing is known are left out."""
    batches = history.batches
    rows = batches.rows
    newest = slice(rows - 1, rows - 1 - most if rows > most else None, -1)
    parts = sorted(name for name in batches.names if name.startswith(_PART) and name != _WHOLE)
    chosen = (*_FIRST, *((name, f"{name.removeprefix(_PART)}, ms", "exact") for name in parts), *_LAST)
    made = [_column(history, name, heading, how, newest) for name, heading, how in chosen] if rows else []
    counts = batches.count[newest] if rows else ()
    if any(count > 1 for count in counts):
        made.insert(1, _written("count", "Batches in the row", "exact", [float(count) for count in counts]))
    kinds = ["data" if data else "no-data" for data in batches.isData[newest]] if rows else []
    left_out = history.seen - int(sum(counts)) if rows else 0
    return Table(
        tuple(column for column in made if column is not None), tuple(kinds), _marks(history, newest), max(left_out, 0)
    )


def _marks(history: HistoryView, newest: slice) -> tuple[str | None, ...]:
    gaps = set(history.gaps)
    ids, runs = history.batches.numbers("batchId")[newest], history.batches.runIndex[newest]
    marks: list[str | None] = []
    for row in range(len(ids)):
        if row and runs[row] != runs[row - 1]:
            marks.append(f"run {runs[row - 1] + 1} starts")
        elif row and (ids[row], ids[row - 1]) in gaps:
            missing = int(ids[row - 1] - ids[row]) - 1
            marks.append(f"{exact(missing)} {'batch was' if missing == 1 else 'batches were'} not seen")
        else:
            marks.append(None)
    return tuple(marks)


def _column(history: HistoryView, name: str, heading: str, how: str, rows: slice) -> Column | None:
    batches = history.batches
    if how == "text":
        return Column(name, heading, False, tuple(clean(str(value)) for value in batches[name][rows]), None)
    values = batches.numbers(name)[rows]
    if np.isnan(values).all() and name not in {column[0] for column in _FIRST}:
        return None
    return _written(name, heading, how, [float(value) for value in values])


def _written(name: str, heading: str, how: str, values: list[float]) -> Column:
    if how == "time":
        return Column(name, heading, True, tuple(iso(value) for value in values), None)
    exactly = tuple(exact(value) for value in values)
    if how == "short":
        return Column(name, heading, True, tuple(number(value) for value in values), exactly)
    return Column(name, heading, True, exactly, None)
