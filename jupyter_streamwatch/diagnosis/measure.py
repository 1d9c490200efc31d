"""What most rules need: evidence from columns, and whether a part of the batch time is slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.result import Effect, Evidence
from jupyter_streamwatch.model.spark_version import version_of
from jupyter_streamwatch.model.statistics import held, known, median
from jupyter_streamwatch.text.numbers import duration, exact, number
from jupyter_streamwatch.text.spark_names import kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window


@dataclass(frozen=True)
class Slow:
    """A part of the batch that takes too long: its usual time, its share of the batch, and where it was seen."""

    ms: float
    share: float
    batches: tuple[int, ...]
    of: float
    alone: str | None = None  # severity of what one record shows without a comparison; None with one


def slow_part(window: Window, names: Sequence[str]) -> Slow | None:
    """Say whether these parts of ``durationMs`` together are slow: a large share of the batch, and long, for a while.

    One record proves it when the part is extreme. That also holds for a trigger that found no data.
    """
    t = window.t
    if window.real_time:  # a batch lasts minutes: parts of it are no loss
        return None
    parts, totals = window.parts(names), window.total
    typical = window.typical
    ms = median(parts[-int(t.recent) :])
    if len(totals) >= t.min_batches and ms is not None and typical and ms < max(t.part * typical, 0.5 * t.part_least):
        return None  # the usual case, without a look at each batch
    flags = [
        1.0 if part >= t.part_least and part >= t.part * total else 0.0
        for part, total in zip(parts, totals, strict=True)
        if part == part and total > 0  # noqa: PLR0124 - not NaN
    ]
    if len(flags) >= t.min_batches:
        if not held(flags, 1.0, 1.0, int(t.hold)):
            return None
        if ms is None or not typical or ms < t.part * typical:
            return None
        return Slow(ms, min(ms / typical, 1.0), window.evidence(), typical)
    return _extreme(window, names)


def _extreme(window: Window, names: Sequence[str]) -> Slow | None:
    record = window.records[-1] if window.records else None
    if record is None or not record.batchId:
        return None  # nothing, or the first batch
    total = record.durationMs.get("triggerExecution") or record.batchDuration
    part = sum(record.durationMs.get(name, 0) for name in names)
    if not total or part < window.t.dominates * total:
        return None
    level = at_once(window, part)
    return Slow(part, min(part / total, 1.0), (record.batchId,), total, alone=level) if level else None


def at_once(window: Window, ms: float) -> str | None:
    """Return how bad a lost time is that one record shows: a warning when it is extreme, info when it is long."""
    if ms >= window.t.extreme_part:
        return "warning"
    return "info" if ms >= window.t.long_part else None


def matters(window: Window, load: Load) -> str | None:
    """Return how bad a slow batch is: a warning without time left, info where only latency suffers, None else."""
    if load.pressed:
        return "warning"
    if load.band in ("over", "near"):  # it catches up, and would sooner
        return "info"
    if load.interval or load.typical is None or load.judged < window.t.min_batches:
        return None
    if not window.once and load.busy is not None and load.busy < 0.9:
        return None
    return "info" if load.typical >= window.t.slow_batch else None


def severity(load: Load, slow: Slow) -> str:
    """Return how bad lost time is: a warning where there is none to lose, else worth knowing."""
    if slow.alone:
        return slow.alone
    if load.pressed:
        return "warning"
    return "warning" if load.interval and slow.ms >= 0.5 * load.interval else "info"


def shorter(window: Window, lost: float, *, low: float = 0.5, high: float = 1.0) -> Effect | None:
    """Predict the batch time without ``lost`` ms of it; between ``low`` and ``high`` of them may really go."""
    before = window.typical or median(window.all_total)
    if before is None:
        return None
    least = max(before - high * lost, 0.02 * before)
    most = max(before - low * lost, least)
    best = max(before - (low + 2 * high) / 3 * lost, least)
    text = f"about {duration(best)} instead of {duration(before)} a batch ({duration(least)} to {duration(most)})"
    return Effect("batch time", least, best, most, "ms", text)


def seen(window: Window, name: str, unit: str, column: str | None = None) -> Evidence | None:
    """Return the median of a column over the recent settled batches as evidence; None when it is unknown."""
    value = window.usual(column or name)
    return None if value is None else Evidence(name, value, unit, window.evidence())


def gathered(*evidence: Evidence | None) -> tuple[Evidence, ...]:
    """Leave out what is unknown."""
    return tuple(one for one in evidence if one is not None)


def batch_time(window: Window, load: Load) -> tuple[Evidence, ...]:
    """Return batch time and interval as evidence."""
    return gathered(
        Evidence("triggerExecution", load.typical, "ms", window.evidence()) if load.typical is not None else None,
        Evidence("trigger interval", load.interval, "ms") if load.interval else None,
    )


def count(value: float | None, what: str, ending: str = "s") -> str:
    """Write a number of things: ``1 row``, ``12.4k rows``."""
    return f"{number(value)} {what}{'' if value == 1 else ending}"


def told_apart(ms: float | None, other: float | None) -> str:
    """Write a time that is not another: to the millisecond where they would look the same."""
    text = duration(ms)
    return f"{exact(ms)} ms" if ms != other and text == duration(other) else text


def overrun(window: Window, load: Load) -> str:
    """Say that batches take longer than the interval, or how many do where the usual one does not."""
    limit = f"the {duration(load.interval)} trigger interval"
    if load.interval and load.typical is not None and load.typical > load.interval:
        return f"Batches take {told_apart(load.typical, load.interval)}, longer than {limit}"
    shown = known(window.total[-int(window.t.recent) :])
    return f"{sum(one > (load.interval or 0.0) for one in shown)} of the last {len(shown)} batches overran {limit}"


def trigger_code(seconds: float) -> str:
    """Return the code that sets a trigger interval."""
    whole = f"{seconds:g}"
    return f'.trigger(processingTime="{whole} second{"" if whole == "1" else "s"}")'


def backlog(load: Load) -> Evidence | None:
    """Return what waits as evidence, under the name of its metric where it is not rows; None when it is unknown."""
    here = load.waiting
    if here.behind is None:
        return None
    name = "backlog" if here.unit == "rows" else here.behind.measure
    return Evidence(name, here.amount, here.behind.unit, here.batches)


def version(window: Window) -> tuple[int, int] | None:
    """Return Spark's version as (3, 5); None when it is unknown."""
    return version_of(window.facts.sparkVersion)


def begins_anew(window: Window) -> str:
    """Say what a new checkpoint costs: where it begins to read is said by the options of the sources."""
    last = window.last
    kinds = {kind(one.description) for one in (last.sources if last is not None else ())}
    if kinds == {"kafka"}:
        return (
            "the state is lost, and Kafka is read from startingOffsets on: by default what comes from then on, so that"
            " rows are missing; with earliest all that Kafka holds, which the sink may get twice"
        )
    if kinds and kinds <= {"files", "delta", "cloudFiles"}:
        return "the state is lost, the source is read again from its beginning, and the sink may get rows twice"
    return (
        "the state is lost, and the source is read from where its options say, so that rows are missing or come twice"
    )
