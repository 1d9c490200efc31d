"""The verdict: one word for how a query is, and one sentence why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis import overruns
from jupyter_streamwatch.diagnosis.measure import overrun, told_apart
from jupyter_streamwatch.diagnosis.waiting import pace, work, written
from jupyter_streamwatch.diagnosis.words import capitalised
from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.error_line import error_line
from jupyter_streamwatch.model.statistics import median
from jupyter_streamwatch.text.numbers import duration, middle, percent

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.facts import RunningBatch

Verdict = tuple[str, str]
"""(verdict, reason)."""

_NO_PROGRESS = ("continuous", "realTime")
_OUTSTANDING = ("numFilesOutstanding", "numBytesOutstanding")


def verdict(window: Window, load: Load) -> Verdict:
    """Judge the query; the first that matches wins. What may be out of date is said to be so, not judged."""
    ended = _ended(window)
    if ended is not None:
        return ended
    name, reason = _waiting(window) or _busy(window, load)
    stale = window.history.stale
    return (name, reason) if stale is None else ("unknown", f"{stale} The last that is known is {name}: {reason}")


def stuck(window: Window) -> tuple[float, float | None, float | None] | None:
    """Tell of a batch that hangs: (ms it runs, ms without a finished task, usual ms); None when none does.

    Where nothing tells of its tasks (Connect), the silence is None and the batch must run far longer: a slow one looks
    the same.
    """
    batch, now, t = window.history.running, window.now, window.t
    run = window.run
    if batch is None or now is None or batch.started is None or run is None or batch.runId != run.runId:
        return None
    if _reported(window, batch) or (window.trigger is not None and window.trigger.kind in _NO_PROGRESS):
        return None  # those modes work on one batch for as long as they are told
    at = min(now, batch.seen) if batch.seen else now  # nobody has looked since: it may have ended
    ran = at - batch.started
    quiet = at - max(batch.started, batch.lastTaskEnd or 0.0)
    usual = window.typical if len(window.total) >= t.min_batches else median(window.all_total)
    longest = max(t.stuck_factor * usual, t.stuck_least) if usual is not None else t.stuck_first
    # Tasks of a batch take at most as long as the batch: silence for half of its usual time is ordinary.
    calm = max(t.stuck_quiet, (usual or 0.0) / 2)
    if batch.tasksTotal is None:
        return (ran, None, usual) if ran > t.stuck_unseen * longest else None
    return (ran, quiet, usual) if ran > longest and quiet > calm else None


def _reported(window: Window, batch: RunningBatch) -> bool:
    """Whether the end of the batch that the probe saw running has been reported already."""
    last = window.history.last
    if last is None or last.runId != batch.runId or last.batchId is None or batch.batchId is None:
        return False
    return last.batchId >= batch.batchId


def _ended(window: Window) -> Verdict | None:
    run = window.run
    if run is None or run.state == "active":
        return None
    if run.state == "failed":
        return "failed", f"The query ended with an error: {middle(error_line(run), 160)}"
    before = _of_before(window)
    if before:
        what = "This run found no new data" if window.once else "The query was stopped without a batch"
        return "finished" if window.once else "stopped", f"{what}; the last batch, {before}, is of the run before."
    if window.once:
        return "finished", f"The query worked through what was there and ended{_batches(window)}."
    return "stopped", f"The query was stopped{_batches(window)}."


def _of_before(window: Window) -> str | None:
    """The batch that is shown as the last one although the latest run, which has ended, had none; else None."""
    run, last = window.run, window.history.last
    if run is None or run.firstBatch is not None or last is None or last.runId == run.runId or last.batchId is None:
        return None
    return str(last.batchId)


def _batches(window: Window) -> str:
    run = window.run
    if run is None or run.firstBatch is None or run.lastBatch is None:
        return "" if window.rows else " without a batch"
    if run.firstBatch == run.lastBatch:
        return f" after batch {run.lastBatch}"
    return f" after batches {run.firstBatch} to {run.lastBatch}"


def _waiting(window: Window) -> Verdict | None:  # noqa: PLR0911 - one a case
    history = window.history
    hangs = stuck(window)
    if hangs:
        ran, quiet, usual = hangs
        than = f"; usual are {duration(usual)}" if usual is not None else ""
        silence = "Its tasks are not seen" if quiet is None else f"No task has finished for {duration(quiet)}"
        return "stuck", f"The running batch takes {duration(ran)}{than}. {silence}."
    record = history.record
    mine = record is not None and window.owns(record)
    if window.rows == 0 and not mine:
        if window.trigger is not None and window.trigger.kind in _NO_PROGRESS:
            if window.real_time:
                return "running", "Real-time mode reports progress when its first batch ends, which takes minutes."
            return "running", "Spark reports no progress in this mode."
        if (late := overruns.verdict(window)) is not None:
            return late
        if window.run is None and record is None:
            return "unknown", "Nothing is known of this query yet."
        status = history.status
        if status is not None and status.message.startswith("Waiting for data"):
            return "idle", "The query has started and waits for its first data."
        return "starting", "The query has started; no batch is done yet."
    if window.idle and not window.real_time:
        return "idle", f"No new data has come since {'the last batch' if window.rows else 'the query started'}."
    return None


def _busy(window: Window, load: Load) -> Verdict:
    t = window.t
    here = load.waiting
    if here.trend == "grows":
        return "falling-behind", f"{capitalised(here.text)}, growing by {pace(here.change, here.unit)}."
    if here.trend == "shrinks":
        left = f": about {duration(here.remaining)} to go" if here.remaining else ""
        by = pace(-(here.change or 0.0), here.unit)
        return "catching-up", f"{capitalised(here.text)}, shrinking by {by}{left}."
    if window.once:
        return "running", "The query works through what was there when it started, then ends."
    if window.real_time:
        return "running", _real_time(window)
    if load.judged < t.min_batches or load.typical is None:
        name, reason = overruns.verdict(window) or ("running", _too_few(window, load))
        return name, f"{_waits(load, window)} {reason}" if here.amount else reason
    return _by_interval(window, load) if load.interval else _by_pauses(window, load)


def _real_time(window: Window) -> str:
    """Say what tells how late rows are, as the length of a batch does not."""
    said = "Batches of real-time mode last as long as they are told, so their length is no lateness."
    measured = window.last.rtmMetrics.get("e2eLatencyMs") if window.last is not None else None
    late = v.number(measured.get("P99")) if isinstance(measured, dict) else None
    return said if late is None else f"{said} 99 % of the rows took at most {duration(late)} from end to end."


def _too_few(window: Window, load: Load) -> str:
    """Say how many batches there are, and what the last one is known to have left."""
    data, settled, needed = sum(window.data), len(window.settled), f"{window.t.min_batches:g}"
    said = f"Too few batches with data to judge: {data} of {needed}."
    if not data:
        said = "No batch with data to judge yet."
    elif load.judged < settled:
        said = f"Too few batches whose time is known: {load.judged} of {needed}."
    elif settled < data:
        said = f"Too few batches with data to judge: {data}; {needed} are needed after the first one of a run."
    return said


def _by_interval(window: Window, load: Load) -> Verdict:
    t = window.t
    against = (
        f"Batches take {told_apart(load.typical, load.interval)} of the {duration(load.interval)} trigger interval"
    )
    more = f" {_waits(load, window)}" if _beyond_a_batch(load) else ""
    if load.band is None:
        return "running", f"The first batches of a run get quicker and quicker; these still do.{more}"
    if load.band == "over" and load.draining:
        return "catching-up", f"{against}, with fewer rows from batch to batch."
    if load.band == "over":
        late = load.utilisation is not None and load.utilisation > 1
        return "falling-behind", f"{against if late else overrun(window, load)}."
    if load.band == "near" and load.utilisation is not None and load.utilisation > 1:
        return "at-capacity", f"Most {against[0].lower()}{against[1:]}; quicker ones make up for it."
    if load.band == "near":
        return "at-capacity", f"{against}: hardly any time is left."
    return "keeping-up", f"{_late(load, t.busy) or f'{against}.'}{more}"


def _late(load: Load, busy: float) -> str | None:
    """Say how a query keeps up though its batches are longer than the interval: rows come less often than that."""
    if load.utilisation is None or load.utilisation <= 1:
        return None
    took, interval = told_apart(load.typical, load.interval), duration(load.interval)
    waits = f" Between batches the query waits: it is busy {percent(load.busy)} of the time."
    return f"Batches take {took}, longer than the {interval} trigger interval, so results are that late." + (
        waits if load.busy is not None and load.busy < busy else ""
    )


def _by_pauses(window: Window, load: Load) -> Verdict:  # noqa: PLR0911 - one a case
    """Judge without a trigger interval: by the time between batches, then by the backlog, then by trends."""
    busy = load.busy
    if busy is None:
        waits = f" {_waits(load, window)}" if load.waiting.amount else ""
        return "running", f"The batches do not follow each other, so nothing tells how busy the query is.{waits}"
    if busy < window.t.busy:
        return "keeping-up", f"Batches take {duration(load.typical)}; the query is busy {percent(busy)} of the time."
    if load.swelling:
        return "falling-behind", "Batches follow each other without a pause, and each has more rows and takes longer."
    if load.draining:
        return "catching-up", "Batches follow each other without a pause, with fewer rows from batch to batch."
    if load.waiting.trend == "steady" and (steady := _steady(load)) is not None:
        return steady
    if window.facts.rateLimit == () and not load.limited and load.judged >= window.t.min_trend:
        return "keeping-up", "Each batch takes all that is there, and batches do not grow."
    if load.waiting.behind is None:
        return "unknown", "Batches follow each other without a pause, and nothing tells how many rows wait."
    known = f"Batches follow each other without a pause. {_waits(load, window)}"
    if not load.waiting.complete:
        return "unknown", f"{known} What waits elsewhere is not told."
    return "unknown", known if load.waiting.trend else f"{known} Whether that gets more is not certain."


def _steady(load: Load) -> Verdict | None:
    """Judge by a backlog that neither grows nor shrinks, against what a batch takes; None where that is not known."""
    here, behind, more = load.waiting, load.waiting.behind, _beyond_a_batch(load)
    if behind is None or more is None:
        return None
    if more:
        return "at-capacity", f"Batches follow each other without a pause. {_waits(load)}"
    waits = here.text
    if here.amount:
        waits = f"only {written(behind)} wait{'s' * (here.amount == 1)}"
        if behind.unit == "ms":
            waits = f"the query is only {written(behind)} behind"
    return "keeping-up", f"Batches follow each other without a pause, and {waits}."


def _beyond_a_batch(load: Load) -> bool | None:
    """Whether more waits than the next batch takes; None where what a batch takes is not known in that unit."""
    here, behind, rows = load.waiting, load.waiting.behind, max(load.rows or 0.0, 1.0)
    if behind is None:
        return None
    if not here.amount:
        return False
    if behind.unit == "rows":
        return here.amount >= rows
    if behind.unit == "ms":
        return None if load.typical is None else here.amount >= max(load.typical, load.interval or 0.0)
    if behind.unit == "offsets" and behind.measure.startswith("max") and here.amount >= rows:
        return True
    # Beyond what the batch was allowed to take: if some always are, a limit holds them back.
    return True if behind.measure in _OUTSTANDING and here.always else None


def _waits(load: Load, window: Window | None = None) -> str:
    """Say how much waits, and with a window the work that is at the rate of the last batches; no trend but none."""
    much = work(window, load.waiting) if window is not None else ""
    steady = ", neither more nor less" if load.waiting.trend == "steady" else ""
    return f"{capitalised(load.waiting.text)}{steady}{f': {much}' if much else ''}."
