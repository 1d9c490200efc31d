"""Batch time: where does it go? The parts of each batch, stacked in Spark's words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.plan import TIME_UNITS, Plan, Series, known, largest, unit
from jupyter_streamwatch.text.numbers import duration

if TYPE_CHECKING:
    from bokeh.models import Plot
    from numpy.typing import NDArray

    from jupyter_streamwatch.charts.layout import Shared
    from jupyter_streamwatch.charts.rows import Floats, Rows
    from jupyter_streamwatch.model.batches import Batches
    from jupyter_streamwatch.model.history import HistoryView

INTERVAL = Series("interval", "interval", theme.MARK, "duration", "dash")
PREFIX = "durationMs."
TOTAL = "triggerExecution"
OTHER = "other"
UNACCOUNTED = "unaccounted"

# Bottom up: the word of the part, its colour, and the names that Spark's versions give it. What asks the sources
# for new data was getOffset up to 2.3, setOffsetRange and getEndOffset in 2.4, and is latestOffset since 3.0.
PARTS = (
    ("addBatch", theme.ADD_BATCH, ("addBatch",)),
    ("latestOffset", theme.OFFSETS, ("latestOffset", "getOffset", "setOffsetRange", "getEndOffset")),
    ("getBatch", theme.GET_BATCH, ("getBatch",)),
    ("queryPlanning", theme.PLANNING, ("queryPlanning",)),
    ("walCommit", theme.WAL_COMMIT, ("walCommit",)),
    ("commitOffsets", theme.COMMIT, ("commitOffsets", "commitBatch")),
)
NAMED = {name for _, _, names in PARTS for name in names} | {TOTAL}
# The interval is drawn once batches come near it; far above them it would flatten them.
NEAR_INTERVAL = 3.0
# A first batch of a run that is so many times longer than all others is cut there, with its time in words.
CUT, CUT_FEWEST = 4.0, 3
CUT_ROOM = 1.2  # times the longest of the others: room for the words beside the bar
CUT_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
CUT_AT, CUT_WORDS = "part.cut", "part.cut.words"
NOTICEABLE_MS = 1.0  # rounding of whole milliseconds leaves less than this for each part


def plan(history: HistoryView) -> Plan | None:
    """Plan the chart; None when no batch has a duration."""
    batches = history.batches
    names = [name.removeprefix(PREFIX) for name in batches.names if name.startswith(PREFIX)]
    have = [name for name in names if known(batches.numbers(PREFIX + name))]
    if not have and not known(batches.numbers("batchDuration")):
        return None
    groups = []
    for word, color, members in PARTS:
        present = tuple(name for name in members if name in have)
        if present:
            label = present[0] if len(present) == 1 else word
            groups.append((Series(label, f"part.{word}", color, "duration", "square"), present))
    others = tuple(sorted(name for name in have if name not in NAMED))
    if others:
        groups.append((Series(OTHER, f"part.{OTHER}", theme.OTHER, "duration", "square"), others))
    groups.append((Series(UNACCOUNTED, f"part.{UNACCOUNTED}", theme.UNACCOUNTED, "duration", "hatch"), ()))
    longest = np.fmax(batches.maximum("batchDuration"), batches.maximum(PREFIX + TOTAL))
    top, cold = _cut(history, longest)
    interval = _interval(history)
    near = interval if interval is not None and interval <= NEAR_INTERVAL * top else None
    cut = _round(max(CUT_ROOM * top, near or 0.0)) if cold else None
    divisor, name = unit(cut or max(top, near or 0.0), TIME_UNITS)
    total = Series("total", "batchDuration", theme.NONE, "duration", "none")
    return Plan(
        name="batch-time",
        title="Batch time",
        unit=name,
        question="where does it go?",
        series=(total, *((INTERVAL,) if near else ()), *(series for series, _ in groups)),
        divisor=divisor,
        limit=near,
        cut=cut,
        extras=tuple((series.column, members) for series, members in groups),
    )


def _cut(history: HistoryView, longest: Floats) -> tuple[float, bool]:
    """Return the longest batch that must be seen whole, in ms, and whether others are so much longer as to be cut.

    The first batch of a run starts cold: drawn whole it would flatten all others for ever. The newest batch is news,
    and whole whatever it is.
    """
    batches = history.batches
    cold = _first(batches) & (batches.count == 1)
    cold[-1:] = False
    others = largest(longest[~cold])
    cut = int(np.isfinite(longest[~cold]).sum()) >= CUT_FEWEST and largest(longest[cold]) > CUT * others > 0
    return (others if cut else largest(longest)), cut


def _first(batches: Batches) -> NDArray[np.bool_]:
    """Return which rows are the first of their run."""
    run = np.asarray(batches.runIndex)
    return np.append(True, run[1:] != run[:-1])[: len(run)]


def _round(ms: float) -> float:
    """Round up to few digits, so that the cut does not move with every batch."""
    power = 10.0 ** math.floor(math.log10(ms))
    return next(step for step in (power * digit for digit in CUT_STEPS) if step >= ms * (1 - 1e-9))


def _interval(history: HistoryView) -> float | None:
    """Return the trigger interval in ms, when the trigger has one."""
    trigger = history.trigger
    return float(trigger.interval_ms) if trigger is not None and trigger.interval_ms else None


def columns(rows: Rows, planned: Plan) -> dict[str, Floats]:
    """Return for each part its ms (``part.<word>``) and where its piece of the bar lies (``.bottom``, ``.top``).

    What triggerExecution has beyond its parts is unaccounted; parts that exceed it leave nothing, never less.
    """
    made: dict[str, Floats] = {}
    total = rows.numbers(PREFIX + TOTAL)
    total = np.where(np.isfinite(total), total, rows.numbers("batchDuration"))
    height = np.zeros(len(rows))
    most = np.inf if planned.cut is None else planned.cut
    if planned.limit is not None:
        made[INTERVAL.column] = np.full(len(rows), planned.limit)
    for series, (column, members) in zip(_parts(planned), _groups(planned), strict=True):
        if series.label == UNACCOUNTED:
            value = np.where(total - height > NOTICEABLE_MS, total - height, np.where(np.isfinite(total), 0.0, np.nan))
        else:
            value = _summed([rows.numbers(PREFIX + name) for name in members])
        top = height + np.nan_to_num(value)
        drawn = (top > height) & (height < most)
        made[column] = value
        made[f"{column}.bottom"] = np.where(drawn, height / planned.divisor, np.nan)
        made[f"{column}.top"] = np.where(drawn, np.minimum(top, most) / planned.divisor, np.nan)
        height = top
    if planned.cut is not None:
        # What is beyond the cut is said in words beside the bar.
        made[CUT_AT] = np.where(height > most, most / planned.divisor, np.nan)
        made[CUT_WORDS] = np.array([f"cut: {duration(ms)}" if ms > most else "" for ms in height], dtype=object)
    return made


def _parts(planned: Plan) -> tuple[Series, ...]:
    """Return the series that are pieces of the bars."""
    return planned.series[-len(planned.extras) :]


def _groups(planned: Plan) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return planned.extras  # type: ignore[return-value]


def _summed(values: list[Floats]) -> Floats:
    """Add the columns; a row in which none is known is unknown."""
    stacked = np.array(values)
    return np.where(np.isfinite(stacked).any(axis=0), np.nansum(np.fmax(stacked, 0.0), axis=0), np.nan)


def draw(made: Plot, common: Shared, planned: Plan) -> None:
    """Draw the stack, what is unaccounted hatched, and the trigger interval as a line."""
    from jupyter_streamwatch.charts import layout

    for series in _parts(planned):
        hatched = series.shape == "hatch"
        layout.bars(made, common, f"{series.column}.bottom", f"{series.column}.top", series.color, hatched=hatched)
    if planned.cut is not None:
        layout.words(made, common, CUT_AT, CUT_WORDS)
    layout.limit(made, common, planned)
