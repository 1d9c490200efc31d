"""Rules about how much a batch may take: a limit that every batch reaches, and no limit at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.hint import Effect, Evidence, Hint
from jupyter_streamwatch.diagnosis.measure import backlog, gathered
from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.model.statistics import known, median
from jupyter_streamwatch.text.numbers import duration, exact, number

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.load import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.progress import Progress


@rule("rate-limit-reached", "Every batch takes as many rows as its limit allows.", family="throughput")
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
    waits = ", and rows wait" if proven else "; whether more wait is not reported"
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


@rule("no-rate-limit", "A batch took everything that waited, because nothing limits it.", family="throughput")
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
        cause="Nothing limits how much a batch takes, so after a pause one huge batch must finish before any result.",
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
