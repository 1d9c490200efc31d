"""Event time: how late is the data, how far the watermark? Lags, and where late rows were dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.plan import FOOT, TIME_UNITS, Plan, Series, known, largest, thinned, unit
from jupyter_streamwatch.charts.rows import band, joined

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.model.batches import Batches
    from jupyter_streamwatch.model.history import HistoryView

MAX, WATERMARK = "eventTime.max", "eventTime.watermark"
LATEST = Series("newest event", "lag.max", theme.INPUT, "duration")
MARK = Series("watermark", "lag.watermark", theme.PROCESSED, "duration")
DROPPED = Series("late rows dropped", "state.numRowsDroppedByWatermark", theme.ALARM, "number", "triangle")
# Data that is a week old when it arrives is being replayed: its age is nearly constant, and would flatten the chart.
REPLAY_MS = 7 * 86_400_000.0


def plan(history: HistoryView) -> Plan | None:
    """Plan the chart; None without a watermark: Spark reports event times only with one."""
    batches = history.batches
    shown = tuple(s for s, raw in ((LATEST, MAX), (MARK, WATERMARK)) if known(batches.numbers(raw)))
    if not shown:
        return None
    replay = _replayed(batches)
    lags = _lags(batches, replay=replay)
    low = min((float(np.fmin.reduce(lag)) for lag in lags if known(lag)), default=0.0)
    divisor, name = unit(max(largest(*lags), -low), TIME_UNITS)
    marks = (DROPPED,) if bool((batches.maximum(DROPPED.column) > 0).any()) else ()
    return Plan(
        name="event-time",
        title="Event time, behind the newest event" if replay else "Event time, behind the batch",
        unit=name,
        question="how late is the data?",
        series=(*shown, *marks),
        divisor=divisor,
        lines=shown,
        bins=thinned(batches),
        negative=low < 0,
        extras=("replay" if replay else "live", *marks),
    )


def _replayed(batches: Batches) -> bool:
    """Tell whether the events are old data, by the batch whose events are closest to it."""
    ages = batches.numbers("timestamp") - batches.maximum(MAX)
    ages = ages[np.isfinite(ages)]
    if not len(ages):
        ages = batches.numbers("timestamp") - batches.maximum(WATERMARK)
        ages = ages[np.isfinite(ages)]
    return bool(len(ages) and np.abs(ages).min() > REPLAY_MS)


def _lags(batches: Batches, *, replay: bool) -> tuple[Floats, Floats]:
    """Return how far the newest event and the watermark of each batch are behind, in ms.

    Behind the start of the batch (the middle of a bin); in a replay behind the newest event so far.
    """
    return tuple(_base(batches, replay=replay) - batches.numbers(raw) for raw in (MAX, WATERMARK))  # type: ignore[return-value]


def _base(batches: Batches, *, replay: bool) -> Floats:
    if replay:
        return np.asarray(np.fmax.accumulate(batches.numbers(MAX)), dtype=np.float64)
    start = batches.numbers("timestamp")
    return np.asarray(np.where(batches.count > 1, (start + batches.maximum("timestamp")) / 2, start), dtype=np.float64)


def columns(rows: Rows, planned: Plan) -> dict[str, Floats]:
    """Return the raw lags in ms, the columns of their lines and bands, and where marks for dropped rows stand."""
    made: dict[str, Floats] = {}
    base = _base(rows.batches, replay="replay" in planned.extras)[rows.index]
    for series, raw in ((LATEST, MAX), (MARK, WATERMARK)):
        if series in planned.lines:
            made[series.column] = base - rows.numbers(raw)
            made |= joined(rows, series.column, rows.time, made[series.column] / planned.divisor)
            if planned.bins:
                made |= band(rows, series.column, base - rows.high(raw), base - rows.low(raw), planned.divisor)
    if DROPPED in planned.extras:
        made["late"] = np.where(rows.high(DROPPED.column) > 0, FOOT, np.nan)
    return made


def draw(made: Plot, common: Shared, planned: Plan) -> None:
    """Draw both lags, and a triangle on the axis for each batch that dropped late rows."""
    from jupyter_streamwatch.charts import layout

    for series in planned.lines:
        layout.line(made, common, series)
    if DROPPED in planned.extras:
        layout.triangles(made, common, "late", DROPPED.color)
