"""How far behind a source is, in each unit that its progress tells: rows, files, offsets, bytes, time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from jupyter_streamwatch.model import values as v

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Unit: TypeAlias = Literal["rows", "files", "offsets", "bytes", "ms"]

ROWS = "latestOffset - endOffset"
"""The measure in rows: the difference of a source's offsets."""

# Of each unit the first that is there: the furthest partition says most, the nearest one least.
_METRICS: tuple[tuple[Unit, tuple[str, ...]], ...] = (
    ("files", ("numFilesOutstanding",)),
    ("offsets", ("maxOffsetsBehindLatest", "avgOffsetsBehindLatest", "minOffsetsBehindLatest")),
    ("bytes", ("numBytesOutstanding", "estimatedTotalBytesBehindLatest")),
    ("ms", ("maxMsBehindLatest", "avgMsBehindLatest", "minMsBehindLatest")),
)
_OF_SHARD = "msBehindLatest"


class Behind(NamedTuple):
    """How far behind a source is: the amount, its unit, and the name that Spark or the connector gives it."""

    amount: float
    unit: Unit
    measure: str


def behind(rows: int | None, metrics: Mapping[str, Any], end: Any) -> tuple[Behind, ...]:
    """Return all that a source tells of how far behind it is, the plainest unit first; empty when it tells nothing.

    Args:
        rows: Rows beyond the batch by the offsets; None when they do not tell. Where they do, the rest is left out:
            connectors are known to report metrics that contradict the offsets.
        metrics: The source's own metrics.
        end: Its end offset; the one of Kinesis holds how far behind each shard is.
    """
    if rows is not None:
        return (Behind(rows, "rows", ROWS),)
    told = []
    for unit, names in _METRICS:
        amounts = ((name, _amount(metrics.get(name))) for name in names)
        first = next(((name, amount) for name, amount in amounts if amount is not None), None)
        if first is not None:
            told.append(Behind(first[1], unit, first[0]))
        elif unit == "ms" and isinstance(end, list):
            shards = _shards(end)
            if shards:
                told.append(Behind(max(shards), unit, _OF_SHARD))
    return tuple(told)


def _amount(x: Any) -> float | None:
    amount = v.number(x)
    return amount if amount is not None and amount >= 0 else None


def _shards(end: Sequence[Any]) -> list[float]:
    """How far behind each shard is in ms; none unless all of them say so."""
    late = [_amount(shard.get(_OF_SHARD)) if isinstance(shard, dict) else None for shard in end]
    known = [ms for ms in late if ms is not None]
    return known if len(known) == len(late) else []
