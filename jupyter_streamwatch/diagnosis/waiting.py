"""What waits at the sources: how much, in the unit that they tell, and where that goes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.model.behind import ROWS, Behind
from jupyter_streamwatch.model.statistics import Trend, course, ends, known, median
from jupyter_streamwatch.text.numbers import duration, middle, number, rate, size
from jupyter_streamwatch.text.spark_names import source as source_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.behind import Unit
    from jupyter_streamwatch.model.progress import Progress, SourceProgress

_NAME_LENGTH = 40  # characters of a source's name in a sentence


@dataclass(frozen=True)
class Waiting:
    """What waits after the last batch; all None where no source tells.

    Attributes:
        behind: The amount, its unit and Spark's name for it; of several sources that differ, the one that tells most.
        text: The same as a clause: ``up to 12.4k rows wait``; with several sources of each that tells.
        trend: Where it goes; None when too few batches tell, or when a silent source may hide what goes elsewhere.
        change: By how much it changes a second, in its unit.
        remaining: Time in ms until it is gone; None unless it shrinks.
        batches: Ids of the batches that tell.
        first: The amount after the first of these batches.
        always: Whether something waited after each of them.
        complete: Whether every source tells.
        total: Whether the amount is the rows of all sources together.
    """

    behind: Behind | None = None
    text: str = ""
    trend: Trend | None = None
    change: float | None = None
    remaining: float | None = None
    batches: tuple[int, ...] = ()
    first: float | None = None
    always: bool = False
    complete: bool = False
    total: bool = False

    @property
    def amount(self) -> float:
        """How much waits; 0 when nothing is known to."""
        return self.behind.amount if self.behind else 0

    @property
    def unit(self) -> Unit | None:
        """The unit of the amount."""
        return self.behind.unit if self.behind else None


def waiting(window: Window) -> Waiting:
    """Measure what waits: all rows where every source tells them, else each source in what it tells."""
    return _rows(window) or _of_sources(window)


def clause(behind: Behind) -> str:
    """Say how much waits: ``up to 12.4k rows wait``, ``1.39k files wait``, ``up to 5 min behind``."""
    amount, unit, measure = behind
    if not amount:
        return "nothing waits"
    text, one = written(behind), amount == 1
    if unit in ("rows", "files", "bytes"):
        about = {"rows": "up to ", "bytes": "about " * measure.startswith("estimated")}.get(unit, "")
        return f"{about}{text} wait{'s' * one}"
    where = " in a partition" if unit == "offsets" else ""
    if measure.startswith("avg"):
        return f"{text} behind{where} on average"
    if measure.startswith("min"):
        return f"at least {text} behind{where and ' in every partition'}"
    return f"up to {text} behind{where}"


def written(behind: Behind) -> str:
    """Write an amount with its unit: ``12.4k rows``, ``2.98 GiB``, ``5 min``."""
    amount, unit, _ = behind
    if unit == "bytes":
        return size(amount)
    if unit == "ms":
        return duration(amount)
    return f"{number(amount)} {unit[:-1] if amount == 1 else unit}"


def pace(change: float | None, unit: Unit | None) -> str:
    """Write a change a second, over as long as makes it a number that can be read: ``120/s``, ``24 s a minute``."""
    if change is None:
        return rate(None)
    if unit == "bytes":
        return f"{size(change)}/s"
    if unit == "ms":
        return f"{duration(change * 60)} a minute"
    if unit == "rows" or change >= 1:
        return rate(change)
    return f"{number(change * 60)} a minute" if change * 60 >= 1 else f"{number(change * 3600)} an hour"


def work(window: Window, here: Waiting) -> str:
    """Say how many batches and how much time the rows that wait are, at the rate of the last batches; "" if unknown."""
    last = window.with_data[-1] if window.with_data else None
    if last is None or not here.total:
        return ""
    rows = window.usual("numInputRows") or last.numInputRows
    took = window.typical or last.durationMs.get("triggerExecution") or last.batchDuration
    if not rows or not took or here.amount < rows:
        return ""
    batches = here.amount / rows
    processed = window.usual("processedRowsPerSecond") or last.processedRowsPerSecond or rows / took * 1000
    many = "1 batch" if batches < 1.5 else f"{number(int(batches + 0.5))} batches"
    return f"about {many} or {_roughly(here.amount / processed * 1000)} of work at this rate"


def _roughly(ms: float) -> str:
    """Write a time to what an estimate knows: ``4 h``, ``19 min``; the larger unit alone once it is more than two."""
    for unit in (86_400_000, 3_600_000, 60_000, 1000):
        if ms >= 2.5 * unit:
            return duration(int(ms / unit + 0.5) * unit)
    return duration(ms)


def _rows(window: Window) -> Waiting | None:
    """What waits in rows, over all sources; None when the last batch does not tell.

    The first batch of a run counts too: how much waits after it is as true as after any other.
    """
    column, starts, ids = window.column("backlog"), window.column("timestamp"), window.column("batchId")
    places = [place for place, has in enumerate(window.data) if has][-int(window.t.recent) :]
    if not places or column[places[-1]] != column[places[-1]]:
        return None
    told = [p for p in places if column[p] == column[p] and starts[p] == starts[p]]
    behind = Behind(column[places[-1]], "rows", ROWS)
    bare = Waiting(behind, clause(behind), complete=True, total=True)
    if not told or told[-1] != places[-1]:
        return bare
    values = [column[p] for p in told]
    least = window.t.backlog_change * max(window.usual("numInputRows") or 0.0, 1.0)
    trend, change = course([starts[p] for p in told], values, least, window.t.sure)
    batches = tuple(int(ids[p]) for p in told if ids[p] == ids[p])
    return _judged(window, bare, (trend, change), batches, values)


def _of_sources(window: Window) -> Waiting:
    """What waits in the units that the sources tell, each for itself: a source that falls behind is proof."""
    records = window.with_data[-int(window.t.recent) :]
    last = records[-1].sources if records else ()
    each = [_of_source(window, records, at) for at in range(len(last))]
    told = [(one, source) for one, source in zip(each, last, strict=True) if one.behind is not None]
    if not told:
        return Waiting()
    complete = len(told) == len(last)
    trends = [one.trend for one, _ in told]
    holding = [one for one, _ in told if one.amount]
    if "grows" in trends:
        grows = told[trends.index("grows")]
        return replace(grows[0], text=_text([grows], len(last)), complete=complete)
    text = _text(told, len(last))
    most = next((one for one in holding if one.trend == "shrinks"), holding[0] if holding else told[0][0])
    trend: Trend | None = most.trend
    if not complete or None in trends:
        trend = None
    return replace(
        most,
        text=text,
        trend=trend,
        complete=complete,
        always=bool(holding) and any(one.always for one in holding),
        remaining=most.remaining if len(holding) == 1 and trend == "shrinks" else None,
    )


def _text(told: Sequence[tuple[Waiting, SourceProgress]], sources: int) -> str:
    """Say what waits, of each source that has something; their names only where there are others."""
    if sources == 1:
        return told[0][0].text
    if not any(one.amount for one, _ in told):
        return "nothing waits" if len(told) == sources else f"nothing waits in {_name(told[0][1])}"
    return ", ".join(f"{one.text} in {_name(source)}" for one, source in told if one.amount)


def _name(source: SourceProgress) -> str:
    return middle(source_name(source.description), _NAME_LENGTH)


def _of_source(window: Window, records: Sequence[Progress], at: int) -> Waiting:
    """What waits at one source: in the unit whose trend is sure, as long as no other unit says the opposite."""
    sources = [one.sources[at] for one in records if len(one.sources) > at]
    starts = [one.start_ms for one in records if len(one.sources) > at]
    ids = [one.batchId for one in records if len(one.sources) > at]
    found = []
    for behind in sources[-1].behind:
        amounts = [next((b.amount for b in one.behind if b.measure == behind.measure), None) for one in sources]
        told = [
            (start, amount, id)
            for start, amount, id in zip(starts, amounts, ids, strict=True)
            if start is not None and amount is not None
        ]
        bare = Waiting(behind, clause(behind))
        if not told or starts[-1] is None:
            found.append(bare)
            continue
        values = [amount for _, amount, _ in told]
        trend, change = course([s for s, _, _ in told], values, _least(window, sources, behind, values), window.t.sure)
        if (trend == "grows" and _with_rows(window, sources, behind, values)) or (
            trend == "shrinks" and not _all_shrink(sources, behind)
        ):
            trend = None
        batches = tuple(id for _, _, id in told if id is not None)
        found.append(_judged(window, bare, (trend, change), batches, values))
    if not found:
        return Waiting()
    grow = [one for one in found if one.trend == "grows"]
    shrink = [one for one in found if one.trend == "shrinks"]
    if grow and shrink:
        return replace(found[0], trend=None, remaining=None)
    return next(iter([*grow, *shrink, *(one for one in found if one.amount), *found]))


def _judged(
    window: Window,
    bare: Waiting,
    gone: tuple[Trend | None, float | None],
    batches: tuple[int, ...],
    values: Sequence[float],
) -> Waiting:
    trend, change = gone
    remaining = bare.amount / -change * 1000 if trend == "shrinks" and change else None
    if trend == "grows" and window.once:  # what was there when it started is all that it will read
        trend = "steady"
    return replace(
        bare,
        trend=trend,
        change=change,
        remaining=remaining,
        batches=batches,
        first=values[0],
        always=min(values) > 0,
    )


def _least(window: Window, sources: Sequence[SourceProgress], behind: Behind, values: Sequence[float]) -> float:
    """Return the change that is none: of what one batch takes where that is known, else a share of what waits."""
    t = window.t
    rows = median(float(one.numInputRows) for one in sources if one.numInputRows is not None) or 0.0
    if behind.unit == "rows":
        return t.backlog_change * max(rows, 1.0)
    if behind.unit == "offsets":
        return t.backlog_change * max(rows / (partitions(sources[-1]) or 1), 1.0)
    if behind.unit == "ms":
        return t.backlog_change * max(window.typical or 0.0, window.interval or 0.0, t.backlog_ms)
    share = t.backlog_share * ends(values)[0]
    return max(t.backlog_files if behind.unit == "files" else t.backlog_bytes, share)


def _with_rows(window: Window, sources: Sequence[SourceProgress], behind: Behind, values: Sequence[float]) -> bool:
    """Whether files or bytes grow only as the batches do: what comes during a longer batch, and no lag."""
    if behind.unit not in ("files", "bytes"):
        return False
    rows = known(float(one.numInputRows) for one in sources if one.numInputRows is not None)
    if len(rows) < len(sources):
        return False
    before, after = ends(values)
    rows_before, rows_after = ends(rows)
    return after * rows_before <= (1 + window.t.backlog_share) * before * rows_after


def _all_shrink(sources: Sequence[SourceProgress], behind: Behind) -> bool:
    """Whether less in this measure is less in all: the nearest or the furthest partition alone does not tell."""
    if behind.measure.startswith("min"):
        return False
    average = behind.measure.replace("max", "avg", 1)
    amounts = [amount for one in sources if isinstance(amount := one.metrics.get(average), (int, float))]
    before, after = ends(amounts)
    return not amounts or after <= before


def partitions(source: SourceProgress) -> int | None:
    """Return how many partitions a source's offsets name; None when they name none."""
    topics = source.endOffset if isinstance(source.endOffset, dict) else {}
    return sum(len(parts) for parts in topics.values() if isinstance(parts, dict)) or None
