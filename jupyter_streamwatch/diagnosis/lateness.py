"""How late rows are, and which watermark delay would keep them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from jupyter_streamwatch.model.statistics import quantile

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.window import Window

_LONGEST = 12 * 3_600_000.0  # ms; who needs a longer delay has another trouble than its length
_TUMBLING = re.compile(r"window\((?:.*[^s]|.*[^ ]s), ([0-9.]+) s\)")  # as a shape writes it, with one length
_STEPS = ((60_000, 1_000, "second"), (3_600_000, 60_000, "minute"), (math.inf, 3_600_000, "hour"))


def column_name(window: Window) -> str | None:
    """Return the name of the watermarked column, when it is known and the only one."""
    marks = window.facts.watermarks
    return marks[0][0] if marks and len({name for name, _ in marks}) == 1 else None


def delay(window: Window) -> float | None:
    """Return the watermark's delay in ms: as declared, else as the batches show it; None when nothing tells.

    The watermark of a batch is the newest event time of the batches before it less the delay. Newest rows from before
    the window make that difference too small, never too large, so its largest value is the delay.
    """
    marks = window.facts.watermarks
    if marks:
        return max(wait for _, wait in marks)
    newest = -math.inf
    seen = []
    for mark, top in zip(window.column("eventTime.watermark"), window.column("eventTime.max"), strict=True):
        if mark == mark and newest > -math.inf:  # noqa: PLR0124 - not NaN
            seen.append(newest - mark)
        if top > 0:
            newest = max(newest, top)
    last = window.last
    if len(seen) < window.t.min_batches or last is None or len(last.sources) > 1:
        return None
    longest = max(seen)
    return round(longest / 1000) * 1000.0 if longest >= 0 else None


def window_length(window: Window) -> float | None:
    """Return the length in ms of the tumbling windows that the query groups by; None for others or when unknown.

    A sliding window's plan names more lengths than one, so it is not taken for a tumbling one.
    """
    shape = window.facts.shape
    operators = shape.operators if shape is not None else None
    origins = {key.origin for one in operators or () for key in one.keys if key.origin and "window(" in key.origin}
    found = _TUMBLING.fullmatch(origins.pop()) if len(origins) == 1 else None
    return float(found[1]) * 1000 if found else None


def needed_delays(window: Window) -> tuple[float, float] | None:
    """Return the delays in ms that would keep the oldest row of 95 % and of 99 % of the batches; None when unknown.

    The oldest row of a batch is late by the newest event time of the batches before it less its own, which is its
    distance to the watermark and the delay.
    """
    wait = delay(window)
    if wait is None:
        return None
    marks, oldest = window.column("eventTime.watermark"), window.column("eventTime.min")
    # Spark counts a null as the epoch: then the oldest row is not known.
    needed = [wait + mark - low for mark, low in zip(marks, oldest, strict=True) if mark == mark and low > 0]  # noqa: PLR0124
    if len(needed) < window.t.min_batches:
        return None
    most, nearly_all = quantile(needed, 0.95), quantile(needed, 0.99)
    if most is None or nearly_all is None or nearly_all <= wait:
        return None
    return max(most, wait), nearly_all


def held_back(window: Window, most: int) -> tuple[float, tuple[int, ...]] | None:
    """Return by how many ms the oldest row of the last batches was behind the watermark, and in which batch."""
    marks, oldest = window.column("eventTime.watermark")[-most:], window.column("eventTime.min")[-most:]
    ids = window.column("batchId")[-most:]
    late = [(mark - low, number) for mark, low, number in zip(marks, oldest, ids, strict=True) if mark > low > 0]
    if not late:
        return None
    worst, number = max(late)
    return worst, (int(number),) if number == number else ()  # noqa: PLR0124


def code_for(window: Window, needed: float | None) -> str | None:
    """Return the call that sets a delay of at least ``needed`` ms; None when it is unknown or beyond half a day."""
    if needed is None or needed > _LONGEST:
        return None
    step, unit = next((step, unit) for below, step, unit in _STEPS if needed < below)
    count = math.ceil(needed / step)
    column = column_name(window) or "event_time"
    return f'.withWatermark("{column}", "{count} {unit}{"" if count == 1 else "s"}")'
