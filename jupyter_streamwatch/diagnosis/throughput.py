"""Rules about keeping up: too slow, too little time left, too much waiting, limits, trends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.capacity import capacity
from jupyter_streamwatch.diagnosis.hint import Effect, Evidence, Hint
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
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.model.statistics import held, known, median
from jupyter_streamwatch.text.numbers import duration, number, percent, rate

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.load import Load
    from jupyter_streamwatch.diagnosis.window import Window

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
        return "More rows arrive than the batches take, so results come later and later."
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


@rule("backlog-growing", "More and more rows wait at the source.")
def backlog_growing(window: Window, load: Load) -> Hint | None:
    """Raise while the known backlog grows by more than chance and by more than a batch."""
    if load.trend != "grows" or window.idle:
        return None
    return Hint(
        code="backlog-growing",
        severity="critical" if load.band == "over" else "warning",
        title=f"{number(load.backlog)} rows wait, {rate(load.change)} more",
        evidence=gathered(
            backlog(load),
            Evidence("backlog change", load.change, "rows/s", load.batches) if load.change is not None else None,
            seen(window, "numInputRows", "rows"),
        ),
        cause="More rows arrive than the batches take.",
        fix="Let batches take more rows where time is left; else make them faster.",
        link=MONITORING,
    )


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
    if record is None or not record.batchId:
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
        cause = "This version does not time the commit to the checkpoint, nor what the driver does between."
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
