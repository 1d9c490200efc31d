"""A batch's progress as one row of named numbers, in Spark's words with dots."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.batches import STATE
from jupyter_streamwatch.model.values import epoch_ms
from jupyter_streamwatch.text.numbers import clean, middle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.model.progress import Progress, SourceProgress

PARTS_SHOWN = 20
"""Sources, and stateful operators, that have columns of their own: a query with 1,000 must not make 4,000 columns."""
DURATIONS_KEPT = 60
"""Parts of ``durationMs``; Spark has about 15."""
PART_LENGTH = 80
"""Characters of the name of such a part: it heads a column."""
_EVENT_TIMES = ("watermark", "max", "min", "avg")
_SOURCE = ("numInputRows", "inputRowsPerSecond", "processedRowsPerSecond", "backlog")
_DROPPED = "numRowsDroppedByWatermark"
_SUMS = tuple((name, f"state.{name}") for name in STATE)
_DROPPED = "state.numRowsDroppedByWatermark"
_OPERATORS = tuple(tuple((name, f"state[{i}].{name}") for name in STATE) for i in range(PARTS_SHOWN))
_SOURCES = tuple(tuple(f"source[{i}].{name}" for name in _SOURCE) for i in range(PARTS_SHOWN))


def row(p: Progress, run: int, start_ms: float | None) -> dict[str, float]:
    """The known numbers of a batch by column; ``run`` is the number of its run, ``start_ms`` the batch's start."""
    waiting = [source.backlog for source in p.sources]
    numbers: dict[str, float | None] = {
        "": run,
        "kind": float(p.kind == "data"),
        "batchId": p.batchId,
        "timestamp": start_ms,
        "batchDuration": p.batchDuration,
        "numInputRows": p.numInputRows,
        "inputRowsPerSecond": _ingested(p),
        "processedRowsPerSecond": p.processedRowsPerSecond,
        "backlog": _total(waiting),
        "sink.numOutputRows": p.sink.numOutputRows,
    }
    found: dict[str, float] = {name: value for name, value in numbers.items() if value is not None}
    for part, ms in list(p.durationMs.items())[:DURATIONS_KEPT]:
        found[f"durationMs.{middle(clean(part), PART_LENGTH)}"] = ms
    for name in _EVENT_TIMES:
        time = epoch_ms(p.eventTime.get(name))
        if time is not None and (time or name != "watermark"):  # a watermark of the epoch is one that is not set yet
            found[f"eventTime.{name}"] = time
    _state(p, found)
    _sources(p, waiting, found)
    return found


def _state(p: Progress, found: dict[str, float]) -> None:
    operators = p.stateOperators
    if not operators:
        return
    for operator, names in zip(operators, _OPERATORS, strict=False):
        for name, column in names:
            value = getattr(operator, name)
            if value is not None:
                found[column] = value
    for name, column in _SUMS:
        values = [getattr(operator, name) for operator in operators]
        total = _total(values)
        if total is None and name == _DROPPED:  # what is known to be dropped is, whatever the others say
            total = sum(value for value in values if value is not None) or None
        if total is not None:
            found[column] = total
    if _DROPPED not in found:  # what one operator is known to have dropped was dropped, whatever another one lacks
        dropped = sum(operator.numRowsDroppedByWatermark or 0 for operator in operators)
        if dropped:
            found[_DROPPED] = dropped


def _sources(p: Progress, waiting: list[int | None], found: dict[str, float]) -> None:
    for source, backlog, names in zip(p.sources, waiting, _SOURCES, strict=False):
        values = (source.numInputRows, _ingested(source), source.processedRowsPerSecond, backlog)
        found.update({column: value for column, value in zip(names, values, strict=True) if value is not None})


def _ingested(p: Progress | SourceProgress) -> float | None:
    """Rows a second; the first batch of a run has no earlier start to divide by, for which Spark says 0.0."""
    return None if p.numInputRows and not p.inputRowsPerSecond else p.inputRowsPerSecond


def _total(parts: Iterable[float | None]) -> float | None:
    """The sum when there are parts and all of them are known, else None."""
    total = None
    for part in parts:
        if part is None:
            return None
        total = part if total is None else total + part
    return total


def tasks(values: Any) -> dict[str, float]:
    """Those of ``values`` that are finite numbers of a ``tasks.`` column."""
    return {
        name: float(value)
        for name, value in values.items()
        if name.startswith("tasks.") and isinstance(value, (int, float)) and isfinite(value)
    }
