"""The rule about batches that take longer for the same rows: all of them more and more, or every n-th one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jupyter_streamwatch.diagnosis.measure import gathered
from jupyter_streamwatch.diagnosis.ranking import BEFORE, GREW, PEAKS
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.diagnosis.window import DISCOVERY
from jupyter_streamwatch.model.statistics import median, surely
from jupyter_streamwatch.text.numbers import duration

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window

MONITORING = API + "#reading-metrics-interactively"
_SHORTEST = 4  # batches from peak to peak: a shorter rhythm is how the batches are


@rule(
    "duration-trend",
    "Batches take longer and longer, or every n-th takes long, for the same number of rows.",
    family="throughput",
)
def duration_trend(window: Window, load: Load) -> Hint | None:
    """Raise when batch time clearly rose over the window, or peaks in a fixed rhythm, while the rows stayed flat."""
    return _growth(window, load) or _peaks(window, load)


def _growth(window: Window, load: Load) -> Hint | None:
    t = window.t
    rows, times = window.costs
    third = len(times) // 3
    if len(times) < t.trend_least:
        return None
    before, after = median(times[:third]), median(times[-third:])
    if not before or not after or after < t.trend_growth * before or after - before < 200:
        return None
    rows_before, rows_after = median(rows[:third]), median(rows[-third:])
    if not rows_before or not rows_after or abs(rows_after - rows_before) > t.trend_rows * rows_before:
        return None
    if not surely(times[-60:], t.sure):
        return None
    middle = median(times[third : 2 * third])
    if middle is None or not before < middle < after:
        return None  # a step, not a trend
    growing = _growing_part(window, third)
    first, last = window.ends()
    return Hint(
        code="duration-trend",
        severity="warning" if load.pressed else "info",
        title=f"Batches take {duration(after)}, {after / before:.1f} times as long as before, for as many rows",
        evidence=(
            Evidence(BEFORE, before, "ms", first),
            Evidence("triggerExecution now", after, "ms", last),
            Evidence("numInputRows", rows_after, "rows", window.evidence()),
            *((Evidence(growing[0] + GREW, growing[1], "ms", last),) if growing else ()),
        ),
        cause="Something that each batch goes through grows: the sink table's log or small files, the state, or"
        " the plan" + (f"; most of it is in {growing[0]}." if growing else ".") + _said(rhythm(window)),
        fix="Compact the table or the folder that the sink writes; look whether state or the listing of the source"
        " grows.",
        link=MONITORING,
    )


def _growing_part(window: Window, third: int) -> tuple[str, float] | None:
    """Return the part of durationMs that grew most between the first and the last third, if it grew most of it all."""
    best: tuple[str, float] | None = None
    for name in window.parts_reported:
        if name == "triggerExecution":
            continue
        values = window.long(f"durationMs.{name}")
        before, after = median(values[:third]), median(values[-third:])
        if before is not None and after is not None and (best is None or after - before > best[1]):
            best = (name, after - before)
    return best


class Rhythm(NamedTuple):
    """Batches that take long in a fixed rhythm: every how many, their time, the time of the others, and which."""

    every: int
    peak: float
    usual: float
    batches: tuple[int, ...]
    part: str | None


def rhythm(window: Window) -> Rhythm | None:
    """Return the rhythm in which batches with as many rows as the others peak; None without one.

    Several peaks at the same distance, without one out of step, are no chance. Those before the first, and a last one
    that has not come yet, do not matter.
    """
    t = window.t
    times, usual, usual_rows = window.long_total, window.typical, window.usual("numInputRows")
    if not usual or not usual_rows or len(times) < t.peaks * _SHORTEST or max(times) < t.peak * usual:
        return None
    ids, rows = window.long("batchId"), window.long("numInputRows")
    peaks = [place for place, time in enumerate(times) if time >= t.peak * usual and time - usual >= t.part_least]
    numbers = [int(ids[place]) for place in peaks if ids[place] == ids[place]]
    gaps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) < max(t.peaks, 2) or len(numbers) < len(peaks) or len(gaps) > 1:
        return None
    every = gaps.pop()
    if every < _SHORTEST or ids[-1] - numbers[-1] > every:
        return None
    if any(rows[place] > (1 + t.trend_rows) * usual_rows for place in peaks):
        return None  # they have more to do
    parts = Counter(part for place in peaks if (part := _peaking(window, place)) is not None)
    part, count = parts.most_common(1)[0] if parts else (None, 0)
    peak = median(times[place] for place in peaks) or 0.0
    return Rhythm(every, peak, usual, tuple(numbers[-20:]), part if 2 * count > len(peaks) else None)


def _peaking(window: Window, place: int) -> str | None:
    """Return the part of ``durationMs`` that took most more than usual in a batch."""
    over = []
    for name in window.parts_reported:
        if name != "triggerExecution":
            values = window.long(f"durationMs.{name}")
            usual = median(values)
            if usual is not None and values[place] > usual:
                over.append((values[place] - usual, name))
    return max(over)[1] if over else None


def _peaks(window: Window, load: Load) -> Hint | None:
    """Say that every n-th batch is late; the others keep the query in time, so that it is only worth knowing."""
    found = rhythm(window)
    least = load.interval or window.t.slow_batch
    if found is None or found.peak <= least:
        return None
    cause, fix, code = _compaction(window, found)
    return Hint(
        code="duration-trend",
        severity="info",
        title=f"Every {_nth(found.every)} batch takes {duration(found.peak)}, the others {duration(found.usual)}",
        evidence=gathered(
            Evidence(PEAKS, found.peak, "ms", found.batches),
            Evidence("triggerExecution", found.usual, "ms", window.evidence()),
            Evidence("trigger interval", load.interval, "ms") if load.interval else None,
        ),
        cause=cause,
        fix=fix,
        code_fix=code,
        link=MONITORING,
    )


def _compaction(window: Window, found: Rhythm) -> tuple[str, str, str | None]:
    """Return (cause, fix, code) for what is known to be done every n-th batch."""
    every = f"every {_nth(found.every)}"
    where = f" in {found.part}" if found.part else ""
    code = None
    fix = "Nothing to do while these batches are early enough; else look what writes or merges files in them."
    cause = f"Something is done {every} batch{where}: a log is merged, a table's checkpoint is written, or the like."
    if found.part in DISCOVERY:
        cause = f"The file source merges its log {every} batch{where}, and the log has all files that it ever read."
        fix = "Nothing to do while these batches are early enough. Fewer, larger input files keep the log short."
    elif "FileSink" in window.sink and found.part in (None, "addBatch"):
        cause = f"The file sink merges its log {every} batch{where}, and the log has all files that it ever wrote."
        fix = "Write fewer, larger files, or let the log forget old ones: readers of the folder then miss them."
        code = '.option("retention", "7 days")  # of the file sink'
    elif "Delta" in window.sink and found.part in (None, "addBatch"):
        cause = f"Delta writes a checkpoint of the table's log {every} commit{where}; it has all files of the table."
        fix = "Compact the table with OPTIMIZE: fewer, larger files make a short checkpoint."
    return cause, fix, code


def _said(found: Rhythm | None) -> str:
    return "" if found is None else f" Every {_nth(found.every)} batch takes longer still: {duration(found.peak)}."


def _nth(number: int) -> str:
    """Write ``10th``, ``22nd``."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
