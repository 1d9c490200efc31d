"""All charts in the order in which they are read: one module each, with ``plan``, ``columns`` and ``draw``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jupyter_streamwatch.charts.kinds import backlog, batch_rows, batch_time, event_time, memory, rates, state
from jupyter_streamwatch.charts.rows import band

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.plan import Plan
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.model.history import HistoryView


class Kind(Protocol):
    """What a chart's module offers."""

    def plan(self, history: HistoryView) -> Plan | None:
        """Plan the chart of a history; None when there is nothing to show."""

    def columns(self, rows: Rows, planned: Plan) -> dict[str, Floats]:
        """Return the columns that the figure draws, one value a row."""

    def draw(self, made: Plot, common: Shared, planned: Plan) -> None:
        """Add the glyphs to the figure."""


KINDS: dict[str, Kind] = {
    "rows-per-second": rates,
    "batch-time": batch_time,
    "rows-per-batch": batch_rows,
    "backlog": backlog,
    "state-rows": state,
    "state-memory": memory,
    "event-time": event_time,
}


def plans(history: HistoryView) -> tuple[Plan, ...]:
    """Return the plans of all charts that have something to show."""
    found = (kind.plan(history) for kind in KINDS.values())
    return tuple(plan for plan in found if plan is not None)


def columns(rows: Rows, plan: Plan) -> dict[str, Floats]:
    """Return the columns that the figure of ``plan`` draws."""
    made = KINDS[plan.name].columns(rows, plan)
    if plan.bins:
        for series in plan.lines:
            name = series.column
            if f"{name}.low" not in made:
                made |= band(rows, name, rows.low(name), rows.high(name), plan.divisor)
    return made


def draw(made: Plot, common: Shared, plan: Plan) -> None:
    """Add the glyphs of ``plan`` to its figure, the bands of bins behind its lines."""
    from jupyter_streamwatch.charts import layout

    if plan.bins:
        for series in plan.lines:
            layout.band(made, common, series)
    KINDS[plan.name].draw(made, common, plan)
