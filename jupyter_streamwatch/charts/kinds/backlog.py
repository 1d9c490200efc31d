"""Backlog: how far behind? Rows that wait in the sources, where they say so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.plan import Plan, Series, indexed, known, label, thinned
from jupyter_streamwatch.charts.rows import joined
from jupyter_streamwatch.diagnosis import rules
from jupyter_streamwatch.model.runs import goes_on

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.model.history import HistoryView

ETA = "backlog.eta"
AHEAD = 0.5  # of the time that the slope was seen over: a longer look ahead would leave the chart to a guess
MOST_SOURCES = 5  # more lines than colours say nothing; the table of numbers has them all


def plan(history: HistoryView) -> Plan | None:
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
        question="how far behind, when done?",
        series=shown,
        lines=shown,
        bins=thinned(batches),
        extras=(replace(shown[0], column=ETA),) if shown[0].column == "backlog" and goes_on(history.runs) else (),
    )


def source_names(history: HistoryView) -> dict[int, str]:
    """Return the sources' readable names by their place in the progress."""
    from jupyter_streamwatch.text import spark_names as names

    last = history.last or history.record
    return {i: label(names.source(s.description)) for i, s in enumerate(last.sources)} if last else {}


def columns(rows: Rows, planned: Plan) -> dict[str, Floats]:
    """Return the columns of the lines, and of the dotted one from the last batch on to where the backlog would be."""
    made: dict[str, Floats] = {}
    for series in planned.lines:
        made |= joined(rows, series.column, rows.time, rows.numbers(series.column))
    if planned.extras:
        made |= _extension(rows)
    return made


def _extension(rows: Rows) -> dict[str, Floats]:
    """Return the columns of a line that leads to the last batch from a place ahead of it: the shape of ``joined``."""
    made = {f"{ETA}.{end}": np.full(len(rows), np.nan) for end in ("x0", "y0", "y", "dot")}
    ahead = _ahead(rows) if len(rows) and rows.index[-1] == rows.batches.rows - 1 else None
    if ahead is not None:
        made[f"{ETA}.x0"][-1], made[f"{ETA}.y0"][-1] = ahead
        made[f"{ETA}.y"][-1] = rows.numbers("backlog")[-1]
    return made


def _ahead(rows: Rows) -> tuple[float, float] | None:
    """Return (epoch ms, rows) of the end of the extension; None unless the backlog surely shrinks."""
    change = rows.backlog.rows_per_second
    if rows.backlog.trend != "shrinks" or not change:
        return None
    batches = rows.batches.tail(int(rules.thresholds.window))
    latest = (batches.runIndex == batches.runIndex[-1]) & batches.isData
    judged = np.flatnonzero(latest)[-int(rules.thresholds.recent) :]
    start, waiting = (batches.numbers(name)[judged] for name in ("timestamp", "backlog"))
    start, waiting = start[np.isfinite(start) & np.isfinite(waiting)], waiting[-1]
    if judged[-1] != batches.rows - 1 or not np.isfinite(waiting):
        return None
    last = float(start[-1])
    end = min(last - waiting / change * 1000, last + AHEAD * (last - float(start[0])))
    return end, max(waiting + change * (end - last) / 1000, 0.0)


def draw(made: Plot, common: Shared, planned: Plan) -> None:
    """Draw a line for the whole, and one for each of several sources; dotted where a shrinking backlog goes."""
    from jupyter_streamwatch.charts import layout

    for series in planned.extras:
        if isinstance(series, Series):
            layout.line(made, common, series, dash="dotted")
    for series in reversed(planned.lines):
        layout.line(made, common, series)
