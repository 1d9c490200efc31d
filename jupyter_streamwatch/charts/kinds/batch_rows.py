"""Rows per batch: how much at a time?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.plan import FOOT, Plan, Series, known, largest, thinned

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.model.history import HistoryView

ROWS = Series("input", "numInputRows", theme.ADD_BATCH, "number", "square")
LIMIT = Series("limit", "rows.limit", theme.MARK, "number", "dash")
# Options that limit the rows of one batch; those that count files or bytes say nothing about rows.
LIMITS = {"maxoffsetspertrigger", "rowsperbatch", "maxrowspertrigger"}
NEAR_LIMIT = 3.0  # a limit far above the batches would flatten them


def plan(history: HistoryView) -> Plan | None:
    """Plan the chart; None when no batch has a number of rows."""
    batches = history.batches
    if not known(batches.numbers("numInputRows")):
        return None
    extras: tuple[object, ...] = ()
    if not batches.isData.all():
        extras = (Series("no-data batch", "nodata", theme.QUIET, "number", "hollow"),)
    limit = _limit(history)
    near = limit if limit is not None and limit <= NEAR_LIMIT * largest(batches.maximum("numInputRows")) else None
    return Plan(
        name="rows-per-batch",
        title="Rows per batch",
        unit="rows",
        question="how much at a time?",
        series=(ROWS, LIMIT) if near else (ROWS,),
        bins=thinned(batches),
        limit=near,
        extras=extras,
    )


def _limit(history: HistoryView) -> float | None:
    """Return the rows that a batch can have at most, when the one source has one such limit."""
    limits = [value for name, value in history.facts.rateLimit or () if str(name).lower() in LIMITS]
    try:
        value = float(limits[0]) if len(limits) == 1 else 0.0
    except (TypeError, ValueError):
        return None
    return value if value > 0 else None


def columns(rows: Rows, planned: Plan) -> dict[str, Floats]:
    """Return the height of the bars, and where the marks of batches without data stand."""
    value = rows.numbers("numInputRows")
    nodata = ~rows.batches.isData[rows.index]
    made = {"rows.top": np.where(value > 0, value, np.nan), "nodata": np.where(nodata, FOOT, np.nan)}
    if planned.limit is not None:
        made[LIMIT.column] = np.full(len(rows), planned.limit)
    return made


def draw(made: Plot, common: Shared, planned: Plan) -> None:
    """Draw a bar for each batch with rows, a hollow mark on the axis for one without, and the limit."""
    from jupyter_streamwatch.charts import layout

    layout.bars(made, common, 0, "rows.top", ROWS.color)
    if planned.extras:
        layout.rings(made, common, "nodata", theme.QUIET)
    layout.limit(made, common, planned)
