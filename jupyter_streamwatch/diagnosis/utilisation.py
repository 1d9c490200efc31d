"""How loaded a query is: batch time against the interval, time busy, and where its backlog goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from jupyter_streamwatch.diagnosis.waiting import Waiting, waiting
from jupyter_streamwatch.model.statistics import ends, held, known, median, surely

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.statistics import Trend

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
        waiting: What waits at the sources, in the unit that they tell.
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
    waiting: Waiting
    draining: bool
    swelling: bool
    limited: bool

    @property
    def backlog(self) -> float | None:
        """Rows waiting after the last batch; None where a source does not tell, or tells another unit."""
        return self.waiting.amount if self.waiting.total else None

    @property
    def trend(self) -> Trend | None:
        """Where what waits goes, in any unit; None when it is unknown or too short."""
        return self.waiting.trend

    @property
    def change(self) -> float | None:
        """Rows a second by which the backlog changes; None where it is not in rows."""
        return None if self.backlog is None else self.waiting.change

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
    rows = window.usual("numInputRows")
    recent_rows = known(window.recent("numInputRows"))
    recent_time = known(window.total[-int(window.t.recent) :])
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
        waiting=waiting(window),
        draining=late and _drains(recent_rows[-10:], window),
        swelling=late and _swells(recent_rows, window) and _swells(recent_time, window),
        limited=len(recent_rows) >= 5 and max(recent_rows[-10:]) <= 1.01 * min(recent_rows[-10:]),
    )


def _of_real_time(window: Window) -> Load:
    return Load(
        judged=0,
        typical=None,
        interval=None,
        utilisation=None,
        band=None,
        busy=None,
        rows=window.usual("numInputRows"),
        waiting=waiting(window),
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
