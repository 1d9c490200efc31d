"""State: does it grow for ever? Rows that each stateful operator keeps, and what changed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.plan import FOOT, Plan, Series, indexed, known, label, thinned
from jupyter_streamwatch.charts.rows import joined

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.model.history import HistoryView

TOTAL = Series("total", "state.numRowsTotal", theme.PROCESSED, "number")
UPDATED = Series("updated", "state.numRowsUpdated", theme.PLANNING, "number")
REMOVED = Series("removed", "state.numRowsRemoved", theme.GET_BATCH, "number")
DROPPED = Series("dropped", "state.numRowsDroppedByWatermark", theme.ALARM, "number", "triangle")
MOST_OPERATORS = 4
OPERATORS = (theme.INPUT, theme.ADD_BATCH, theme.WAL_COMMIT, theme.COMMIT)


def plan(history: HistoryView) -> Plan | None:
    """Plan the chart; None for a query without stateful operators."""
    batches = history.batches
    if not known(batches.numbers(TOTAL.column)):
        return None
    lines = [TOTAL]
    operators = indexed(history, "state", "numRowsTotal")
    if len(operators) > 1:
        names = _operator_names(history)
        lines += [
            Series(names.get(i, f"operator {i + 1}"), column, OPERATORS[at], "number")
            for at, (i, column) in enumerate(operators[:MOST_OPERATORS])
        ]
    lines += [series for series in (UPDATED, REMOVED) if known(batches.numbers(series.column))]
    marks = (DROPPED,) if bool((batches.maximum(DROPPED.column) > 0).any()) else ()
    return Plan(
        name="state-rows",
        title="State rows",
        unit="rows",
        question="does it grow for ever?",
        series=(*lines, *marks),
        lines=tuple(lines),
        bins=thinned(batches),
        extras=marks,
    )


def _operator_names(history: HistoryView) -> dict[int, str]:
    """Return the operators' names by their place in the progress; the same name twice gets numbers."""
    last = history.last or history.record
    names = [label(operator.operatorName or "") for operator in last.stateOperators] if last else []
    counted = {name: names.count(name) for name in names}
    return {
        i: f"{name} {names[: i + 1].count(name)}" if counted[name] > 1 else name for i, name in enumerate(names) if name
    }


def columns(rows: Rows, planned: Plan) -> dict[str, Floats]:
    """Return the columns of the lines, and where marks for dropped rows stand."""
    made: dict[str, Floats] = {}
    for series in planned.lines:
        made |= joined(rows, series.column, rows.time, rows.numbers(series.column))
    if planned.extras:
        made["state.late"] = np.where(rows.high(DROPPED.column) > 0, FOOT, np.nan)
    return made


def draw(made: Plot, common: Shared, planned: Plan) -> None:
    """Draw the lines, the total on top, and a triangle on the axis for each batch that dropped late rows."""
    from jupyter_streamwatch.charts import layout

    for series in reversed(planned.lines):
        layout.line(made, common, series)
    if planned.extras:
        layout.triangles(made, common, "state.late", DROPPED.color)
