"""Rows per second: does the query keep up? Spark's two rates over each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.plan import Plan, Series, known, thinned
from jupyter_streamwatch.charts.rows import joined

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.model.history import HistoryView

INPUT = Series("input", "inputRowsPerSecond", theme.INPUT, "rate")
PROCESSED = Series("processed", "processedRowsPerSecond", theme.PROCESSED, "rate")


def plan(history: HistoryView) -> Plan | None:
    """Plan the chart; None while no batch with rows has a rate: an empty frame answers nothing."""
    batches = history.batches
    rows = batches.numbers("numInputRows") != 0
    shown = tuple(s for s in (INPUT, PROCESSED) if known(batches.numbers(s.column)[rows]))
    if not shown:
        return None
    return Plan(
        name="rows-per-second",
        title="Rows per second",
        unit="rows/s",
        question="does it keep up?",
        series=shown,
        lines=shown,
        bins=thinned(history.batches),
    )


def columns(rows: Rows, planned: Plan) -> dict[str, Floats]:
    """Return the columns of both lines.

    The lines go from data batch to data batch: a batch that only moved the watermark has no rate.
    """
    made: dict[str, Floats] = {}
    without = rows.numbers("numInputRows") == 0
    for series in planned.lines:
        y = np.where(without, np.nan, rows.numbers(series.column))
        made |= joined(rows, series.column, rows.time, y)
    return made


def draw(made: Plot, common: Shared, planned: Plan) -> None:
    """Draw the input rate wide and the processed rate over it: a saturated query shows the two equal."""
    from jupyter_streamwatch.charts import layout

    for series in planned.lines:
        layout.line(made, common, series, width=layout.UNDER_WIDTH if series == INPUT else layout.LINE_WIDTH)
