"""Rules about keeping up: too slow, too little time left, too much waiting, and what a batch may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.capacity import capacity
from jupyter_streamwatch.diagnosis.measure import (
    Slow,
    backlog,
    batch_time,
    gathered,
    overrun,
    seen,
    severity,
    told_apart,
    trigger_code,
)
from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.diagnosis.result import Effect, Evidence, Hint
from jupyter_streamwatch.diagnosis.waiting import pace
from jupyter_streamwatch.diagnosis.words import capitalised
from jupyter_streamwatch.model.statistics import held, known, median
from jupyter_streamwatch.text.numbers import duration, exact, number, percent

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.waiting import Waiting
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.progress import Progress

MONITORING = API + "#reading-metrics-interactively"


@rule("falling-behind", "Batches take longer than the trigger interval.")
def falling_behind(window: Window, load: Load) -> Hint | None:
    """Raise while batches overrun the interval and what waits does not shrink; an idle query is in time again."""
    too_long = load.band == "over" and not load.catching_up
    swelling = load.interval is None and load.swelling and load.worsens and (load.busy or 0.0) >= window.t.busy
    if window.once or window.idle or not (too_long or swelling):
        return None
    title = f"Batches take {duration(load.typical)} and grow, without a pause between them"
    if too_long:
        title = overrun(window, load)
    code, effect = _longer_trigger(window, load)
    return Hint(
        code="falling-behind",
        severity="critical" if load.worsens else "warning",
        title=title,
        evidence=(*batch_time(window, load), *gathered(backlog(load))),
        cause=_lateness(load),
        fix="Shorten the batch: see where its time goes. If later results are good enough, a longer trigger interval"
        " spreads the fixed cost of a batch over more rows.",
        code_fix=code,
        effect=effect,
        link=MONITORING,
    )


def _lateness(load: Load) -> str:
    """Say what late batches mean: results that come less often, and only if the lag grows, later and later."""
    if load.trend == "grows":
        return f"{_arrives(load)}, so results come later and later."
    if load.worsens:
        return "Each batch takes what came during the one before, and that gets more: results come later and later."
    rare = f"so results come less often than every {duration(load.interval)}"
    if load.interval and load.typical is not None and load.typical > load.interval:
        every = told_apart(load.typical, load.interval)
        rare = f"so results come every {every} instead of every {duration(load.interval)}"
    known = "What waits at the source does not grow."
    if load.trend is None:
        known = "Whether rows pile up at the source as well is not known."
    return f"Spark leaves out the triggers that a batch misses, {rare}. {known}"


@rule("at-capacity", "Batches take nearly the whole trigger interval.")
def at_capacity(window: Window, load: Load) -> Hint | None:
    """Raise while little of the interval is left."""
    if window.once or window.idle or load.band != "near" or load.trend == "grows" or load.catching_up:
        return None
    code, effect = _longer_trigger(window, load)
    return Hint(
        code="at-capacity",
        severity="warning",
        title=f"Batches take {percent(load.utilisation)} of the trigger interval"
        if load.utilisation is None or load.utilisation <= 1
        else f"Most batches overrun the {duration(load.interval)} trigger interval; quicker ones make up for it",
        evidence=batch_time(window, load),
        cause="Hardly any time is left: a small rise of the rate, or one slow batch, and the query lags.",
        fix="Shorten the batch before the rate rises, or give it a longer trigger interval.",
        code_fix=code,
        effect=effect,
        link=MONITORING,
    )


@rule("backlog-growing", "More and more waits at the source: rows, files, bytes, offsets or time.")
def backlog_growing(window: Window, load: Load) -> Hint | None:
    """Raise while the known backlog grows by more than chance and by more than a batch."""
    if load.trend != "grows" or window.idle:
        return None
    here = load.waiting
    return Hint(
        code="backlog-growing",
        severity="critical" if load.band == "over" else "warning",
        title=f"{capitalised(here.text)}, growing by {pace(here.change, here.unit)}",
        evidence=gathered(
            backlog(load),
            Evidence("backlog change", load.change, "rows/s", here.batches)
            if load.change is not None
            else _before(here),
            seen(window, "numInputRows", "rows"),
        ),
        cause=f"{_arrives(load)}.",
        fix="Let batches take more rows where time is left; else make them faster.",
        link=MONITORING,
    )


def _arrives(load: Load) -> str:
    return f"More {'rows arrive' if load.waiting.unit == 'rows' else 'arrives'} than the batches take"


def _before(here: Waiting) -> Evidence | None:
    """Return how much waited after the first of the batches that tell, where it is not rows a second."""
    if here.behind is None or here.first is None:
        return None
    return Evidence(f"{here.behind.measure} before", here.first, here.behind.unit, here.batches[:1])


@rule("overhead-bound", "Small batches, most of whose time does not depend on their rows.")
def overhead_bound(window: Window, load: Load) -> Hint | None:
    """Raise when the fixed cost dominates, no part stands out, and no time is left."""
    if load.band not in ("over", "near") or load.typical is None or not load.interval:
        return None
    fit = capacity(window, load)
    parts = {
        name: window.usual(f"durationMs.{name}") or 0.0 for name in ("walCommit", "commitOffsets", "queryPlanning")
    }
    if fit.fixed_ms is None or fit.fixed_ms[0] < window.t.overhead * load.typical:
        return None
    if max(parts.values()) > window.t.dominates * load.typical:
        return None
    code, effect = _longer_trigger(window, load)
    fixed = min(fit.fixed_ms[1], load.typical)
    part = f"{duration(fixed)} of a batch's {duration(load.typical)} do"
    if fixed >= load.typical:
        part = f"A batch's {duration(load.typical)} do"
    return Hint(
        code="overhead-bound",
        severity="warning",
        title=f"{part} not depend on its rows",
        evidence=(
            Evidence("fixed cost", fixed, "ms", window.evidence()),
            *batch_time(window, load),
            *gathered(seen(window, "numInputRows", "rows")),
        ),
        cause="Planning, scheduling and checkpointing cost the same for a few rows as for many.",
        fix="Fewer, larger batches: a longer trigger interval.",
        code_fix=code,
        effect=effect,
        link=API + "#triggers",
        share=fixed / load.typical,
    )


@rule("time-unaccounted", "A large part of the batch time is in none of the parts that Spark reports.")
def time_unaccounted(window: Window, load: Load) -> Hint | None:
    """Raise when the parts of durationMs miss much of triggerExecution, for a while."""
    t = window.t
    names = [name for name in window.parts_reported if name != "triggerExecution"]
    if "addBatch" not in names:
        return None
    if load.judged < t.min_batches:
        return _unaccounted_once(window, load)
    if load.typical is None or load.typical < t.unaccounted_least:
        return None
    missing = [
        total - part for total, part in zip(window.total, window.parts(names), strict=True) if total > 0 and part >= 0
    ]
    totals = known(window.total)
    gap = median(missing[-int(t.recent) :])
    if len(missing) < t.min_batches or len(missing) != len(totals) or gap is None or gap < t.unaccounted_least:
        return None
    flags = [
        1.0 if gap >= max(t.unaccounted * total, t.unaccounted_least) else 0.0
        for gap, total in zip(missing, totals, strict=True)
    ]
    if not held(flags, 1.0, 1.0, int(t.hold)):
        return None
    return _unaccounted(window, load, Slow(gap, min(gap / load.typical, 1.0), window.evidence(), load.typical))


def _unaccounted_once(window: Window, load: Load) -> Hint | None:
    """Look at one whole record: seconds in none of its parts are a fact, though perhaps of that batch alone."""
    record = window.ran[-1] if window.ran else None
    if record is None or not record.batchId or window.real_time:
        return None
    total = record.durationMs.get("triggerExecution") or record.batchDuration
    parts = {name: ms for name, ms in record.durationMs.items() if name != "triggerExecution"}
    if not total or not {"addBatch", "walCommit", "queryPlanning"} <= set(parts):
        return None  # parts were left out where it was copied
    gap = total - sum(parts.values())
    if gap < max(window.t.unaccounted * total, window.t.extreme_part):
        return None
    return _unaccounted(window, load, Slow(gap, gap / total, (record.batchId,), total, alone="info"))


def _unaccounted(window: Window, load: Load, slow: Slow) -> Hint:
    cause = (
        "Spark measures the parts of a trigger, not all between them: the driver paused, waited for a lock, or did work"
        " that this version does not time."
    )
    if "commitOffsets" not in window.parts_reported:
        cause = "These batches report no time for the commit to the checkpoint, nor for what the driver does between."
    return Hint(
        code="time-unaccounted",
        severity=severity(load, slow),
        title=f"{duration(slow.ms)} of {duration(slow.of)} a batch are in none of the parts that Spark reports",
        evidence=(Evidence("time unaccounted for", slow.ms, "ms", slow.batches), *batch_time(window, load)),
        cause=cause,
        fix="Look at the storage of the checkpoint, and at the driver: its garbage collection, its load and what"
        " else its process does.",
        link=MONITORING,
        share=slow.share,
    )


def _longer_trigger(window: Window, load: Load) -> tuple[str | None, Effect | None]:
    """Return the shortest round interval that leaves a third of the time, when the fit says that there is one."""
    fit = capacity(window, load)
    if fit.min_trigger_seconds is None or not load.interval:
        return None, None
    low, best, high = fit.min_trigger_seconds
    steps = (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 300, 600)
    seconds = next((step for step in steps if step >= 1.25 * high and step * 1000 > load.interval), None)
    if seconds is None or high > 20 * load.interval / 1000:
        return None, None
    shares = (low / seconds, best / seconds, high / seconds)
    least, about, most = map(percent, shares)
    text = f"batches would take about {about} of the interval" + (f" ({least} to {most})" if least != most else "")
    return trigger_code(seconds), Effect("utilisation", *shares, "share", text)


@rule("rate-limit-reached", "Every batch takes as many rows as its limit allows.")
def rate_limit_reached(window: Window, load: Load) -> Hint | None:
    """Raise when batches are alike at the limit; a warning only if the backlog grows while time is left."""
    limit = _limit(window, load)
    if limit is None or window.once:
        return None
    name, value, proven = limit
    time_left = load.band == "under" or (load.interval is None and (load.busy or 1.0) < window.t.busy)
    lags = load.trend == "grows" and time_left
    code, effect = (None, None)
    if lags and name is not None:
        code, effect = _higher_limit(load, name, value)
    rows = window.usual("numInputRows")
    waits = "; whether more wait is not reported" if load.waiting.behind is None else ""
    if proven or load.waiting.always:
        waits = ", and rows wait"
    return Hint(
        code="rate-limit-reached",
        severity="warning" if lags else "info",
        title=f"Every batch takes its limit of {exact(value)} {_thing(name, value)}{waits}",
        evidence=gathered(
            Evidence("numInputRows", rows, "rows", window.evidence()) if rows is not None else None,
            Evidence(name, value) if name else None,
            backlog(load),
        ),
        cause=f"The source limits a batch{f' ({name})' if name else ''}, and more rows arrive than it lets through."
        if lags
        else "The source limits how much a batch takes.",
        fix="Raise the limit: batches end well before the next trigger."
        if lags
        else "Nothing to do while results are early enough; with a higher limit batches take longer.",
        code_fix=code,
        effect=effect,
        link=GUIDE + "structured-streaming-kafka-integration.html"
        if name and "Offsets" in name
        else API + "#input-sources",
    )


@rule("no-rate-limit", "A batch took everything that waited, because nothing limits it.")
def no_rate_limit(window: Window, load: Load) -> Hint | None:
    """Raise for a first batch that took very many rows and very long, from a source that is known to have no limit."""
    rows, times, ids = window.column("numInputRows"), window.all_total, window.column("batchId")
    later = [place for place in window.settled if rows[place] == rows[place]]
    first = next((place for place, has in enumerate(window.data) if has), None)
    if first is None or first in later or len(later) < 2 or window.once:
        return None
    usual, time = median(rows[p] for p in later[:20]), median(times[p] for p in later[:20])
    if not usual or not time or not rows[first] >= window.t.big_batch * usual or not times[first] >= 3 * time:
        return None
    if times[first] < max(5_000.0, 5 * (load.interval or 0.0)):
        return None
    took_all = window.column("backlog")[first] == 0
    if window.facts.rateLimit not in ((), None) or (window.facts.rateLimit is None and not took_all):
        return None
    batch = (int(ids[first]),) if ids[first] == ids[first] else ()
    name = _limit_name(window)
    remark = "  # raise it until a batch takes about its interval" if name == "maxFilesPerTrigger" else ""
    target = _limit_rows(window, load, rows[first], times[first])
    return Hint(
        code="no-rate-limit",
        severity="warning",
        title=f"The first batch took all {number(rows[first])} rows that waited, in {duration(times[first])}",
        evidence=(
            Evidence("numInputRows", rows[first], "rows", batch),
            Evidence("triggerExecution", times[first], "ms", batch),
            Evidence("usual numInputRows", usual, "rows", window.evidence()),
        ),
        cause=("Nothing limits how much a batch takes" if window.facts.rateLimit == () else "No limit held it back")
        + ", so after a pause one huge batch must finish before any result.",
        fix="Limit a batch: the same backlog then comes as several batches with results in between, and a failure"
        " repeats only one of them.",
        code_fix=f'.option("{name}", "{target:.0f}"){remark}' if name and target else None,
        link=API + "#input-sources",
    )


def _limit(window: Window, load: Load) -> tuple[str | None, float, bool] | None:
    """Return (option or None, its value, whether rows are known to wait) of a limit that every batch reaches."""
    rows = known(window.recent("numInputRows"))[-10:]
    waiting = known(window.recent("backlog"))[-10:]
    if len(rows) < max(window.t.min_batches, 5):
        return None
    waits = len(waiting) == len(rows) and min(waiting) > 0
    facts = [(name, _number(value)) for name, value in window.facts.rateLimit or ()]
    named = next(
        ((n, v) for n, v in facts if v is not None and n.lower() in ("maxoffsetspertrigger", "maxrowspertrigger")), None
    )
    if named is not None and named[1] is not None:
        reached = min(rows) >= 0.95 * named[1]
        return (named[0], named[1], waits) if reached and (waits or load.limited) else None
    files = next(((n, v) for n, v in facts if v is not None and n.lower() == "maxfilespertrigger"), None)
    if files is not None and files[1] is not None:
        left = [one for record in window.with_data[-10:] for one in _files_left(record)]
        if left:
            return (files[0], files[1], True) if min(left) > 0 else None
        table = any("Delta" in (one.description or "") for one in (window.last.sources if window.last else ()))
        alike = (load.limited and not table) or files[1] == 1  # commits that are alike: how many files have they?
        return (files[0], files[1], waits) if alike and not _pauses(window) else None
    # Without knowing the limit: batches of one size that all leave rows behind.
    return (None, rows[-1], True) if waits and load.limited and window.facts.rateLimit != () else None


def _files_left(record: Progress) -> list[float]:
    """Return how many files a batch left behind, of each source that says so (Delta, Auto Loader)."""
    told = (one.metrics.get("numFilesOutstanding") for one in record.sources)
    return [value for value in told if isinstance(value, (int, float))]


def _pauses(window: Window) -> bool:
    """Whether a trigger of the last batches found nothing: then no limit holds anything back."""
    return any(record.kind == "idle" for record in window.records[-10:])


def _higher_limit(load: Load, name: str, value: float) -> tuple[str | None, Effect | None]:
    """Return a limit that takes what arrives and works off the backlog, if the time is there."""
    if not load.interval or load.typical is None or load.rows is None or load.change is None:
        return None, None
    needed = value * (1 + load.change * load.interval / 1000 / max(load.rows, 1.0))
    room = value * load.interval / max(load.typical, 1.0)  # as if all of the batch time came from its rows
    target = _round_up(min(max(1.5 * needed, 2 * value), max(room, 1.2 * needed)))
    surplus = (target / value * load.rows) / (load.interval / 1000) - load.rows / (load.interval / 1000) - load.change
    if surplus <= 0 or not load.backlog:
        return f'.option("{name}", "{target:.0f}")', None
    seconds = load.backlog / surplus
    text = f"the backlog would be gone in about {duration(seconds * 1000)}"
    return (
        f'.option("{name}", "{target:.0f}")',
        Effect("backlog gone in", 0.5 * seconds * 1000, seconds * 1000, 2 * seconds * 1000, "ms", text),
    )


def _limit_name(window: Window) -> str | None:
    last = window.last
    text = (last.sources[0].description or "") if last is not None and last.sources else ""
    if "Kafka" in text:
        return "maxOffsetsPerTrigger"
    return "maxFilesPerTrigger" if text.startswith("FileStreamSource") else None


def _limit_rows(window: Window, load: Load, rows: float, time: float) -> float | None:
    """Return a limit with which a batch takes about its interval, or 10 s; files count as the source counted them."""
    goal = load.interval or 10_000.0
    name = _limit_name(window)
    if name == "maxOffsetsPerTrigger":
        return _round_down(max(rows * 0.7 * goal / time, 1.0))
    return 10.0 if name else None  # how many files the batch took is not reported


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _round_up(value: float) -> float:
    return min(one for one in _round(value) if one >= value)


def _round_down(value: float) -> float:
    return max(one for one in _round(value) if one <= value)


def _round(value: float) -> tuple[float, ...]:
    """Return round numbers about a value, at least one on each side: 1, 1.5, 2, 3, 5, 7.5 times a power of ten."""
    power = 10.0 ** max(len(f"{value:.0f}") - 1, 0)
    return tuple(step * power for step in (0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15))


def _thing(name: str | None, value: float) -> str:
    return ("file" if name and "File" in name else "row") + ("" if value == 1 else "s")
