"""What a source's offset means: which kind of source wrote it, and how a person reads it and a range of two.

An offset names no source; its shape tells. Kafka: topics, partitions, numbers (``KafkaSourceOffset``); files:
``logOffset`` (``FileStreamSourceOffset``); rate-micro-batch: ``offset`` and ``timestamp``; Delta:
``reservoirVersion`` and ``index`` (``DeltaSourceOffset``). A bare number is a rate source's, or a socket's, or a memory
stream's: ``number``, until the source's own log says ``rate``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from jupyter_streamwatch.checkpoints.parts import SourceOffset
from jupyter_streamwatch.text.numbers import clean, exact, middle, when
from jupyter_streamwatch.text.redaction import redact

ARROW = "\N{RIGHTWARDS ARROW}"
_SHOWN = 6  # partitions, shards that are named; the rest is counted
_LENGTH = 160  # characters of an offset that nobody knows

LABELS = {
    "file": "files",
    "kafka": "Kafka",
    "rate": "rate",
    "rate-micro-batch": "rate per batch",
    "delta": "Delta",
    "iceberg": "Iceberg",
    "kinesis": "Kinesis",
    "autoloader": "Auto Loader",
    "number": "counted rows",
    "none": "no offset yet",
    "unknown": "unknown source",
}


def decode(index: int, value: Any, *, name: str | None = None) -> SourceOffset:
    """Say what an offset is.

    Args:
        index: number of the source.
        value: the offset as decoded JSON, None for ``-``.
        name: the source's name, where the log has one.
    """
    kind = kind_of(value)
    return SourceOffset(index, kind, value, position(kind, value), name=name)


def kind_of(value: Any) -> str:
    """Say which kind of source writes such an offset."""
    if value is None:
        return "none"
    if _is_int(value):
        return "number"
    if isinstance(value, Mapping):
        found = next((kind for kind, needed in _KEYS.items() if needed <= value.keys()), None)
        if found is not None:
            return found
        return "kinesis" if _has_shards(value) else "kafka" if _is_partitions(value) else "unknown"
    shards = isinstance(value, list) and value and all(isinstance(one, dict) and "shard" in one for one in value)
    return "kinesis" if shards else "unknown"


_KEYS = {
    "file": {"logOffset"},
    "delta": {"reservoirVersion"},
    "rate-micro-batch": {"offset", "timestamp"},
    "autoloader": {"seqNum", "sourceVersion"},
    "iceberg": {"snapshot_id", "position"},
}


def position(kind: str, value: Any) -> str:
    """Write where a source stands; an offset that is not as its kind has it is written as it is."""
    try:
        return _POSITIONS[kind](value)
    except (AttributeError, KeyError, TypeError, ValueError):
        return _short(value)


def span(kind: str, from_: Any, to: Any) -> str:
    """Write the range of a batch: from (None: the source's beginning) to (None: not planned yet)."""
    if kind == "none":
        return "no data yet"
    if to is None:
        return f"goes on after {position(kind, from_)}" if from_ is not None else "from its beginning"
    if from_ == to:
        return f"nothing new: stays at {position(kind, to)}"
    try:
        return _SPANS[kind](from_, to)
    except (AttributeError, KeyError, TypeError, ValueError):
        return f"{'start' if from_ is None else position(kind_of(from_), from_)}{ARROW}{position(kind, to)}"


def rows_between(kind: str, from_: Any, to: Any) -> int | None:
    """Count the rows of a range, where offsets count rows (Kafka; 0 rows between equal offsets); else None.

    Kafka's transactions take offsets too, and a compacted topic has gaps: it is the most there can be.
    """
    if kind != "kafka" or not _is_partitions(from_) or not _is_partitions(to):
        return None
    total = 0
    for topic, ends in to.items():
        for partition, end in ends.items():
            start = from_.get(topic, {}).get(partition)
            if start is None or start < 0 or end < start:
                return None
            total += end - start
    return total


def _kafka(from_: Any, to: Any) -> str:
    starts = from_ if _is_partitions(from_) else {}
    parts = []
    for topic, ends in _topics(to):
        pairs = sorted(ends.items(), key=lambda pair: _number(pair[0]))
        known = starts.get(topic, {})
        shown = [
            f"{partition}: {_end(known.get(partition))}{ARROW}{exact(end)}"
            for partition, end in pairs
            if known.get(partition) != end
        ]
        still = len(pairs) - len(shown)
        texts = shown[:_SHOWN]
        if len(shown) > _SHOWN:
            texts.append(f"{len(shown) - _SHOWN} more partitions")
        if still:
            texts.append(f"{still} without new rows" if shown else "no new rows")
        parts.append(f"{_topic(topic)} {', '.join(texts)}")
    rows = rows_between("kafka", from_, to)
    return "; ".join(parts) + (f" ({exact(rows)} rows at most)" if rows else "")


def _entries(from_: Any, to: Any) -> str:
    start = from_.get("logOffset") if isinstance(from_, Mapping) else None
    first = _int(start) + 1 if start is not None else 0
    last = _int(to["logOffset"])
    if last <= first:
        return f"entry {exact(last)} of its log"
    return f"entries {exact(first)} to {exact(last)} of its log"


def _rows_per_batch(from_: Any, to: Any) -> str:
    end = _int(to["offset"])
    if from_ is None:
        return f"rows start{ARROW}{exact(end)}"
    start = _int(from_["offset"])
    return f"rows {exact(start)}{ARROW}{exact(end)} ({exact(end - start)} rows)"


def _end(x: Any) -> str:
    """An offset of one partition; Kafka's -2 and -1 are its earliest and latest."""
    if x is None:
        return "start"
    return {-2: "earliest", -1: "latest"}.get(x) or exact(x)


def _delta(value: Any) -> str:
    text = exact(_int(value["reservoirVersion"]))
    index = value.get("index")
    if _is_int(index) and index >= 0:
        text += f", file {exact(index)}"
    # Its first pass reads the table as it was.
    return text + " (first snapshot)" if value.get("isStartingVersion") is True else text


def _shards(value: Any) -> str:
    found = value.get("shards") if isinstance(value, Mapping) else value
    if not isinstance(found, list):
        found = [key for key in value if str(key).startswith("shardId-")]
    streams = sorted(
        {str(one["shard"].get("stream")) for one in found if isinstance(one, dict) and isinstance(one["shard"], dict)}
        if all(isinstance(one, dict) and "shard" in one for one in found)
        else ()
    )
    shards = f"{len(found)} shard{'' if len(found) == 1 else 's'}"
    return redact(clean(f"{', '.join(streams[:_SHOWN])}: {shards}" if streams else shards))


def _topics(value: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return sorted(value.items())


def _topic(name: str) -> str:
    return middle(redact(clean(str(name))), 60)


def _listed(ends: Mapping[str, Any]) -> str:
    pairs = sorted(ends.items(), key=lambda pair: _number(pair[0]))
    texts = [f"{partition}: {_end(end)}" for partition, end in pairs[:_SHOWN]]
    if len(pairs) > _SHOWN:
        texts.append(f"{len(pairs) - _SHOWN} more partitions")
    return ", ".join(texts)


def _is_partitions(value: Any) -> bool:
    """Whether this is topic -> partition -> number."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(
            isinstance(ends, Mapping)
            and bool(ends)
            and all(str(at).isdigit() and _is_int(end) for at, end in ends.items())
            for ends in value.values()
        )
    )


def _has_shards(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("shards"), list) or any(str(key).startswith("shardId-") for key in value)


def _number(text: str) -> tuple[int, str]:
    return (len(text), text)


def _int(x: Any) -> int:
    if not _is_int(x):
        raise ValueError("no whole number")
    return int(x)


def _is_int(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and abs(x) < 1 << 63


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return middle(redact(clean(text)), _LENGTH)


_POSITIONS: dict[str, Callable[[Any], str]] = {
    "none": lambda _: "no offset yet",
    "kafka": lambda value: "; ".join(f"{_topic(topic)}: {_listed(ends)}" for topic, ends in _topics(value)),
    "file": lambda value: f"entry {exact(_int(value['logOffset']))} of its log",
    "delta": lambda value: f"table version {_delta(value)}",
    "rate-micro-batch": lambda value: f"row {exact(_int(value['offset']))}, {when(value['timestamp'])}",
    "rate": lambda value: f"second {exact(_int(value))}",
    "number": lambda value: f"row {exact(value)}" if _int(value) >= 0 else "its start",
    "kinesis": _shards,
    "autoloader": lambda value: f"file event {exact(_int(value['seqNum']))}",
    "iceberg": lambda value: f"snapshot {_int(value['snapshot_id'])}, position {_int(value['position'])}",
}
_SPANS: dict[str, Callable[[Any, Any], str]] = {
    "kafka": _kafka,
    "rate": lambda from_, to: f"seconds {_end(from_)}{ARROW}{exact(_int(to))}",
    "number": lambda from_, to: f"rows {_end(from_)}{ARROW}{exact(_int(to))}",
    "file": _entries,
    "delta": lambda from_, to: f"table version {'start' if from_ is None else _delta(from_)}{ARROW}{_delta(to)}",
    "rate-micro-batch": _rows_per_batch,
}
