"""How loaded a query is: batch time against the interval, time busy, and where its backlog goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from jupyter_streamwatch.model.statistics import Trend, course, ends, held, known, median, surely

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.diagnosis.window import Window

Band: TypeAlias = Literal["over", "near", "under"]

_BUSY_BATCHES = 10  # what is busy now, without the pause of an hour ago


@dataclass(frozen=True)
class Load:
    """What tells whether a query keeps up; unknown is None.

    Attributes:
        judged: Settled batches in the window.
        typical: Median batch time in ms; of the last few where it has changed.
        interval: Trigger interval in ms.
        utilisation: Batch time divided by the interval.
        band: Where utilisation has held: over the interval, near it, or under; None while the first batches of a run
            still get quicker and nothing tells where that ends.
        busy: Share of the time in which a batch ran.
        rows: Median rows of a batch.
        backlog: Rows waiting after the last batch.
        trend: Where the backlog goes; None when it is unknown or too short.
        change: Rows a second by which the backlog changes.
        remaining: Time in ms until a shrinking backlog is gone.
        batches: Batch ids that the backlog's trend rests on.
        draining: Rows a batch shrink from batch to batch: what waited is being worked off. Only of late batches.
        swelling: Rows and time a batch grow from batch to batch. Only of late batches.
        limited: Every batch has the same number of rows.
    """

    judged: int
    typical: float | None
    interval: float | None
    utilisation: float | None
    band: Band | None
    busy: float | None
    rows: float | None
    backlog: float | None
    trend: Trend | None
    change: float | None
    remaining: float | None
    batches: tuple[int, ...]
    draining: bool
    swelling: bool
    limited: bool

    @property
    def pressed(self) -> bool:
        """Whether the query has no time to lose: full batches that work off what waited are as they should be."""
        return (self.band in ("over", "near") and not self.catching_up) or self.trend == "grows"

    @property
    def catching_up(self) -> bool:
        """Whether what waited becomes less."""
        return self.trend == "shrinks" or self.draining

    @property
    def worsens(self) -> bool:
        """Whether the lag is known to grow.

        Batches that only miss the interval do not make it grow: Spark leaves out the triggers that were missed, so a
        source that has no more to give than the batches take is read about one batch late.
        """
        return self.trend == "grows" or (self.swelling and self.trend != "shrinks")


def load(window: Window) -> Load:
    """Measure the load over the window; the batch times of real-time mode say nothing about it."""
    if window.real_time:
        return _of_real_time(window)
    judged = len(known(window.total))
    band = _band(window)
    trend, change, backlog, batches = _backlog(window)
    rows = window.usual("numInputRows")
    recent_rows = known(window.recent("numInputRows"))
    recent_time = known(window.total[-int(window.t.recent) :])
    remaining = None
    if trend == "shrinks" and change and backlog is not None:
        remaining = backlog / -change * 1000
    interval = window.interval
    typical = _typical(window, band)
    late = band == "over" or not interval
    return Load(
        judged=judged,
        typical=typical,
        interval=interval,
        utilisation=typical / interval if interval and typical is not None else None,
        band=band,
        busy=_busy(window),
        rows=rows,
        backlog=backlog,
        trend=trend,
        change=change,
        remaining=remaining,
        batches=batches,
        draining=late and _drains(recent_rows[-10:], window),
        swelling=late and _swells(recent_rows, window) and _swells(recent_time, window),
        limited=len(recent_rows) >= 5 and max(recent_rows[-10:]) <= 1.01 * min(recent_rows[-10:]),
    )


def _of_real_time(window: Window) -> Load:
    trend, change, backlog, batches = _backlog(window)
    return Load(
        judged=0,
        typical=None,
        interval=None,
        utilisation=None,
        band=None,
        busy=None,
        rows=window.usual("numInputRows"),
        backlog=backlog,
        trend=trend,
        change=change,
        remaining=None,
        batches=batches,
        draining=False,
        swelling=False,
        limited=False,
    )


def _band(window: Window) -> Band | None:
    interval = window.interval
    times = known(window.total)
    t = window.t
    if not interval or len(times) < t.min_batches:
        return None
    shares = [time / interval for time in times[-60:]]
    if len(shares) < t.min_trend and t.capacity - t.clear <= shares[-1] < t.warm and _quickens(shares):
        return None
    busy = _busy(window)
    behind = min(t.busy, t.behind - t.clear)  # a bound below the interval leaves time between the batches
    hold = int(max(min(t.steady, len(times)), t.hold))
    longer = math.nextafter(t.behind, math.inf)  # a batch of just the interval is in time
    if held(shares, longer, t.behind - t.clear, hold) and (busy is None or busy >= behind):
        return "over"
    if held(shares, t.capacity, t.capacity - t.clear, hold) and (busy is None or busy >= t.capacity - t.clear):
        return "near"
    return "under"


def _typical(window: Window, band: Band | None) -> float | None:
    """Return the usual batch time; soon after it changed, the batches that made the band say what it is now."""
    usual, t = window.typical, window.t

    def fits(time: float | None) -> bool:
        share = (time or 0.0) / (window.interval or 1.0)
        if band == "under":
            return share < t.capacity
        return share > t.behind if band == "over" else share >= t.capacity - t.clear

    if band is None or fits(usual):
        return usual
    lately = median(window.total[-int(t.steady) :])
    return lately if fits(lately) else usual


def _quickens(times: Sequence[float]) -> bool:
    """Whether each batch was quicker than the one before, by a tenth in all."""
    return all(after <= before for before, after in pairwise(times)) and times[-1] <= 0.9 * times[0]


def _busy(window: Window) -> float | None:
    """Return the share of the time between starts in which a batch ran, over the last batches of any kind."""
    starts, times, ids = window.column("timestamp"), window.all_total, window.column("batchId")
    spans = [
        (times[place], starts[place + 1] - starts[place])
        for place in range(max(window.rows - _BUSY_BATCHES - 1, 1), window.rows - 1)
        if ids[place + 1] == ids[place] + 1 and starts[place + 1] > starts[place] and times[place] == times[place]
    ]
    if not spans or len(spans) < window.t.min_batches - 1:
        return None
    # A batch never runs beyond the next start, except for what clocks round.
    return sum(min(time, span) for time, span in spans) / sum(span for _, span in spans)


def _backlog(window: Window) -> tuple[Trend | None, float | None, float | None, tuple[int, ...]]:
    """Return where the backlog goes, by how many rows a second, how large it is, and the batches that tell.

    The first batch of a run counts too: how much waits after it is as true as after any other.
    """
    column, starts, ids = window.column("backlog"), window.column("timestamp"), window.column("batchId")
    places = [place for place, has in enumerate(window.data) if has][-int(window.t.recent) :]
    told = [p for p in places if column[p] == column[p] and starts[p] == starts[p]]
    if not told or told[-1] != places[-1]:
        return None, None, None, ()
    batches = tuple(int(ids[p]) for p in told if ids[p] == ids[p])
    values = [column[p] for p in told]
    least = window.t.backlog_change * max(window.usual("numInputRows") or 0.0, 1.0)
    trend, change = course([starts[p] for p in told], values, least, window.t.sure)
    return "steady" if trend == "grows" and window.once else trend, change, values[-1], batches


def _swells(values: list[float], window: Window) -> bool:
    if len(values) < window.t.min_trend:
        return False
    before, after = ends(values)
    return after >= window.t.trend_growth * before and surely(values, window.t.sure)


def _drains(values: list[float], window: Window) -> bool:
    if len(values) < 5:
        return False
    before, after = ends(values)
    return after <= 0.6 * before and surely([-value for value in values], window.t.sure)
