"""A batch that is computed more than once: what the offsets and the state say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.diagnosis.measure import shorter
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.diagnosis.result import TIMES_COMPUTED, Evidence, Hint
from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.statistics import median
from jupyter_streamwatch.text.numbers import exact

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.progress import Progress, SourceProgress

_LOOKED_AT = 10  # records: what the function does now
_RATE = re.compile(r"^Rate(?:Source|StreamV2|Stream)\w*\[rowsPerSecond=(\d+), rampUpTimeSeconds=0\b")
_MOST = 50  # times; more is no repeated batch, but rows that do not count as their offsets do

CODE = """\
def write_batch(batch_df, batch_id):
    batch_df.persist()
    try:
        ...  # what the function does now
    finally:
        batch_df.unpersist()"""


@rule("batch-recomputed", "foreachBatch computes its batch more than once.", family="processing")
def batch_recomputed(window: Window, load: Load) -> Hint | None:
    """Raise when rows = k x offsets with a whole k of 2 or more; else when a deduplication saw more rows than came."""
    del load
    if not window.foreach_batch:
        return None
    records = window.with_data[-_LOOKED_AT:]
    told = [(record, times) for record in records if (times := _times(record)) is not None]
    repeated = [(record, times) for record, times in told if times >= 2]
    if repeated and len(repeated) >= len(told) / 2:
        usual = median(float(times) for _, times in repeated) or 2.0
        record = repeated[-1][0]
        moved = sum(offsets(source) or 0 for source in record.sources)
        evidence = (
            Evidence("numInputRows", record.numInputRows or 0, "rows", _ids([record])),
            Evidence("offsets moved by", moved, "rows", _ids([record])),
            Evidence(TIMES_COMPUTED, usual, "", _ids([record for record, _ in repeated])),
        )
        return _hint(window, usual, evidence, "warning", f"Each batch is computed {usual:g} times")
    return None if told else _by_state(window, records)


def offsets(source: SourceProgress) -> int | None:
    """Return the rows that a source's offsets moved by, where its offsets count rows; None where they do not."""
    start, end, text = source.startOffset, source.endOffset, source.description or ""
    rate = _RATE.match(text)
    if rate and isinstance(start, int) and isinstance(end, int):
        return (end - start) * int(rate[1])
    if not isinstance(start, dict) or not isinstance(end, dict):
        return None
    if text.startswith("RatePerMicroBatch"):
        return _difference(start.get("offset"), end.get("offset"))
    total = 0
    for topic, partitions in end.items():
        before = start.get(topic)  # by topic and partition: Kafka, Event Hubs
        if not isinstance(partitions, dict) or not isinstance(before, dict) or partitions.keys() != before.keys():
            return None
        for partition, offset in partitions.items():
            moved = _difference(before[partition], offset)
            if moved is None or moved < 0:
                return None
            total += moved
    return total


def _difference(start: Any, end: Any) -> int | None:
    first, last = v.count(start), v.count(end)  # also numbers that came as text
    return None if first is None or last is None else last - first


def _times(record: Progress) -> int | None:
    """Return how often the batch was computed, when every source that moved says the same whole number."""
    found: set[int] = set()
    for source in record.sources:
        moved = offsets(source)
        if moved is None or source.numInputRows is None:
            return None
        if moved:
            times, rest = divmod(source.numInputRows, moved)
            if rest or not times:
                return None  # transaction markers, a count() that stopped early: no proof
            found.add(times)
    return found.pop() if len(found) == 1 and max(found) <= _MOST else None


def _by_state(window: Window, records: tuple[Progress, ...]) -> Hint | None:
    """Look at deduplication: each row is new, a duplicate or late, so these cannot be more than came."""
    seen = []
    for record in records:
        rows = record.numInputRows
        for operator in record.stateOperators:
            if rows and (operator.operatorName or "").startswith("dedupe"):
                counted = (operator.numRowsUpdated or 0) + (operator.numRowsDroppedByWatermark or 0)
                counted += int(operator.customMetrics.get("numDroppedDuplicateRows", 0))
                seen.append((record, counted, counted / rows))
    over = [one for one in seen if one[2] >= 2]
    if not over or len(over) < len(seen) / 2:
        return None
    record, counted, _ = over[-1]
    times = -(-counted // (record.numInputRows or 1))
    evidence = (
        Evidence("numInputRows", record.numInputRows or 0, "rows", _ids([record])),
        Evidence("rows that the deduplication saw", counted, "rows", _ids([record])),
    )
    title = f"The deduplication saw {exact(counted)} rows of a batch of {exact(record.numInputRows)}"
    return _hint(window, float(times), evidence, "info", title)


def _hint(window: Window, times: float, evidence: tuple[Evidence, ...], severity: str, title: str) -> Hint:
    added, total = window.usual("durationMs.addBatch"), window.typical
    lost = (added or 0.0) * (times - 1) / times
    return Hint(
        code="batch-recomputed",
        severity=severity,
        title=title,
        evidence=evidence,
        cause="Each action in the foreachBatch function (a write, a count) reads and computes the batch again,"
        " unless it"
        " is persisted.",
        fix="Persist the batch at the beginning of the function and release it at the end. The numbers of rows and of"
        " dropped rows are multiplied too until then.",
        code_fix=CODE,
        effect=shorter(window, lost, low=0.4) if lost else None,
        link=API + "#foreachbatch",
        share=lost / total if lost and total else None,
    )


def _ids(records: list[Progress]) -> tuple[int, ...]:
    return tuple(one.batchId for one in records if one.batchId is not None)
