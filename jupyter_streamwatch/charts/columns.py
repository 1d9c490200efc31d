"""The numbers behind the charts: columns of real rows, ready for JSON, whole or what came since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jupyter_streamwatch.charts import catalogue
from jupyter_streamwatch.charts.marks import marks
from jupyter_streamwatch.charts.rows import Rows
from jupyter_streamwatch.charts.selection import select
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.model.batches import TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.charts.plan import Plan
    from jupyter_streamwatch.charts.rows import Floats
    from jupyter_streamwatch.model.history import HistoryView

MAX_ROWS = 600
PLACES = ("time", "left", "middle", "right", "room")
DIGITS = 6  # significant digits of what is only drawn; the raw columns keep every digit


def data(history: HistoryView, max_rows: int = MAX_ROWS) -> dict[str, dict[str, list[Any]]]:
    """Return the rows that the charts of ``build(history)`` draw.

    Args:
        history: A history or its snapshot.
        max_rows: At most so many rows. When there are more batches, real rows are selected: the ends, the borders of
            runs and gaps, and the extremes of each stretch of time.

    Returns:
        ``{"batches": {column: list}, "marks": {column: list}}``, ready for JSON: unknown is None, times are epoch ms
        (UTC). ``batches`` holds every column of the history (raw values) and what the figures draw.
    """
    history = history.snapshot()
    rows = Rows(history, select(history, max_rows), diagnose(history).backlog)
    return {"batches": _lists(columns(history, rows)), "marks": marks(history, rows)}


def rows_after(history: HistoryView, after: int, max_rows: int = MAX_ROWS) -> dict[str, dict[str, list[Any]]] | None:
    """Return the rows appended since ``history.seen`` was ``after``, for a page that has the ones before.

    The row right before them comes along, because its bar now knows where it must end: a row replaces the one of
    the same run and batch. A page that has all rows then has what ``data(history)`` would give, unless that has to
    select rows; ``marks`` is always all marks.

    Returns:
        The shape of ``data``; None when more came than ``max_rows`` or than is kept in full: take ``data`` anew.
    """
    history = history.snapshot()
    total = int(history.batches.rows)
    new = min(int(history.seen) - after, total)
    if new > min(max_rows, int((history.batches.count == 1).sum())):
        return None
    # As many rows before as a page can have: a line may come from any of them.
    index = np.arange(max(total - new - max_rows, 0), total)
    rows = Rows(history, index, diagnose(history).backlog)
    made = columns(history, rows)
    first = max(len(index) - new - 1, 0) if new > 0 else len(index)
    return {"batches": _lists({name: values[first:] for name, values in made.items()}), "marks": marks(history, rows)}


def columns(history: HistoryView, rows: Rows, plans: Sequence[Plan] | None = None) -> dict[str, Any]:
    """Return all columns of the rows as arrays: those of the history, then those that the figures draw."""
    batches = history.batches
    made: dict[str, Any] = {}
    for name in batches.names:
        if name in ("runId", "kind"):
            made[name] = batches[name][rows.index]
        else:
            made[name] = rows.numbers(name)
    places = (rows.time, rows.left, (rows.left + rows.right) / 2, rows.right, rows.room)
    made |= dict(zip(PLACES, places, strict=True))
    for plan in catalogue.plans(history) if plans is None else plans:
        made |= {name: _rounded(name, values) for name, values in catalogue.columns(rows, plan).items()}
    return made


def column_names(plans: Sequence[Plan], own: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all columns that ``columns`` makes for a history with the columns ``own``."""
    rows = Rows.none()
    drawn = (name for plan in plans for name in catalogue.columns(rows, plan))
    return tuple(dict.fromkeys((*own, *PLACES, *drawn)))


def is_time(column: str) -> bool:
    """Tell whether a column holds epoch ms."""
    return column in TIMES or column in PLACES or column.endswith(".x0")


def _rounded(name: str, values: Floats) -> Floats:
    """Drop digits that no screen can show: they would be most of what is sent."""
    if is_time(name) or values.dtype == object:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(values))))
        short = np.round(values * scale) / scale
    return np.where(np.isfinite(short), short, values)


def _lists(made: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: _list(values) for name, values in made.items()}


def _list(values: Any) -> list[Any]:
    """Turn an array into what JSON can hold: None for unknown, whole numbers without a fraction."""
    if values.dtype == object:
        return list(values)
    finite = np.isfinite(values)
    whole = bool((values[finite] == np.rint(values[finite])).all() and (np.abs(values[finite]) < 2**53).all())
    if finite.all():
        return list((values.astype(np.int64) if whole else values).tolist())
    made = np.empty(len(values), dtype=object)
    made[finite] = (values[finite].astype(np.int64) if whole else values[finite]).tolist()
    return list(made)
