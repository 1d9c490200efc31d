"""Backlog: how far behind? Rows that wait in the sources, where they say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.plan import Plan, Series, indexed, known, label, thinned
from jupyter_streamwatch.charts.rows import joined

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.history import History

MOST_SOURCES = 5  # more lines than colours say nothing; the table of numbers has them all


def plan(history: History) -> Plan | None:
    """Plan the chart; None when no source tells how many rows wait."""
    batches = history.batches
    sources = indexed(history, "source", "backlog")
    shown: tuple[Series, ...] = ()
    if known(batches.numbers("backlog")):
        shown = (Series("rows waiting", "backlog", theme.colour(0), "number"),)
    if len(sources) > 1 or (sources and not shown):
        names = source_names(history)
        shown += tuple(
            Series(names.get(i, f"source {i + 1}"), column, theme.colour(at + len(shown)), "number")
            for at, (i, column) in enumerate(sources[:MOST_SOURCES])
        )
    if not shown:
        return None
    return Plan(
        name="backlog",
        title="Backlog",
        unit="rows",
        question="how far behind?",
        series=shown,
        lines=shown,
        bins=thinned(batches),
    )


def source_names(history: History) -> dict[int, str]:
    """Return the sources' readable names by their place in the progress."""
    from jupyter_streamwatch.probe import names

    last = history.last or history.record
    return {i: label(names.source(s.description)) for i, s in enumerate(last.sources)} if last else {}


def columns(rows: Rows, planned: Plan) -> dict[str, Floats]:
    """Return the columns of the lines."""
    made: dict[str, Floats] = {}
    for series in planned.lines:
        made |= joined(rows, series.column, rows.time, rows.numbers(series.column))
    return made


def draw(made: Plot, common: Shared, planned: Plan) -> None:
    """Draw a line for the whole, and one for each of several sources."""
    from jupyter_streamwatch.charts import layout

    for series in reversed(planned.lines):
        layout.line(made, common, series)
