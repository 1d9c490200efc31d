"""State memory: what do the stateful operators need of it? On an axis of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.plan import SIZE_UNITS, Plan, Series, known, largest, thinned, unit
from jupyter_streamwatch.charts.rows import joined

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.model.history import HistoryView

MEMORY = Series("memory", "state.memoryUsedBytes", theme.PLANNING, "size")


def plan(history: HistoryView) -> Plan | None:
    """Plan the chart; None without memory of state, and for the zero that RocksDB may report by mistake."""
    batches = history.batches
    values = batches.maximum(MEMORY.column)
    top = largest(values)
    if not known(values) or top <= 0:
        return None
    divisor, name = unit(top, SIZE_UNITS)
    return Plan(
        name="state-memory",
        title="State memory",
        unit=name,
        question="will it fit?",
        series=(MEMORY,),
        divisor=divisor,
        lines=(MEMORY,),
        bins=thinned(batches),
    )


def columns(rows: Rows, planned: Plan) -> dict[str, Floats]:
    """Return the columns of the line, in the plan's unit."""
    value = rows.numbers(MEMORY.column) / planned.divisor
    return joined(rows, MEMORY.column, rows.time, np.where(value > 0, value, np.nan))


def draw(made: Plot, common: Shared, planned: Plan) -> None:
    """Draw the line."""
    from jupyter_streamwatch.charts import layout

    for series in planned.lines:
        layout.line(made, common, series)
