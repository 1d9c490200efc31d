"""Parts of a checkpoint that people paste: entries of its offset and commit logs, and the offsets in an error."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENTRY = re.compile(
    r"(?m)^(?:[^\S\n]*(?:>|\*|#|//|--|\|)[^\S\n]?)*(?P<meta>\{\"(?:batchWatermarkMs|nextBatchWatermarkMs)\"[^\n]*\})"
    r"[^\S\n]*\n?(?P<offsets>(?:[^\S\n]*(?:(?:>|\*|#|//|--|\|)[^\S\n]?)*(?:\{[^\n]*\}|-?\d{1,18}|-)[^\S\n]*(?:\n|\Z)){0,20})"
)
_MARGIN = re.compile(r"^(?:[^\S\n]*(?:>|\*|#|//|--|\|)[^\S\n]?)+")
_MOST: Final = 6  # partitions that a sentence names


def entries(text: str) -> Iterator[dict[str, Any]]:
    """A sentence about each entry of an offset or commit log that stands in the text, as a ``note``."""
    if "atchWatermarkMs" not in text:
        return
    for found in _ENTRY.finditer(text):
        try:
            meta = json.loads(found["meta"])
        except (ValueError, RecursionError):
            continue
        if "nextBatchWatermarkMs" in meta:
            yield {"event": "note", "text": "An entry of the commit log: the batch that has its file's name was done."}
            continue
        lines = [_MARGIN.sub("", line) for line in found["offsets"].splitlines()]
        told = "; ".join(_offset(line.strip()) for line in lines if line.strip())
        planned = _day(meta.get("batchTimestampMs"))
        when = f", planned {planned}" if planned else ""
        what = f": {told}" if told else ""
        meaning = "It says up to where a batch was to read, not that it was done."
        yield {"event": "note", "text": f"An entry of the offset log{when}{what}. {meaning}"}


def between(committed: str | None, available: str | None) -> str | None:
    """What was planned and not committed when a query failed, in a sentence; None where the offsets do not tell."""
    before, after = _topics(committed), _topics(available)
    if not before or not after or before.keys() != after.keys():
        return None
    pairs = [(name, before[name], after[name]) for name in after if after[name] > before[name]]
    rows = sum(end - start for _, start, end in pairs)
    if not rows:
        return "The error says that all offsets that were planned had been committed."
    where = ", ".join(f"{name} {start:,} to {end:,}" for name, start, end in pairs[:_MOST])
    more = f" and {len(pairs) - _MOST} more partitions" if len(pairs) > _MOST else ""
    return f"When the query failed, up to {rows:,} rows were planned and not committed: {where}{more}."


def _topics(text: str | None) -> dict[str, int]:
    """Offsets by topic and partition, of Kafka's sources only: others' offsets do not count rows."""
    found: dict[str, int] = {}
    for source in re.finditer(r"Kafka\w*\[[^\n{]{0,300}?\]: (?=\{)", text or ""):
        try:
            value, _ = json.JSONDecoder().raw_decode(text or "", source.end())
        except (ValueError, RecursionError):
            return {}
        for topic, partitions in value.items():
            for partition, offset in partitions.items() if isinstance(partitions, dict) else ():
                if not isinstance(offset, int) or offset < 0:
                    return {}
                found[f"{topic} partition {partition}"] = offset
    return found


def _offset(line: str) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "a source without an offset" if line == "-" else line[:100]
    if isinstance(value, int):
        return f"a source up to {value:,}"
    ends = [
        f"{topic} partition {partition} up to {offset:,}"
        for topic, partitions in (value.items() if isinstance(value, dict) else ())
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
        if isinstance(offset, int)
    ]
    if not ends:
        return "a source up to " + json.dumps(value)[:200]
    more = f" and {len(ends) - _MOST} more partitions" if len(ends) > _MOST else ""
    return ", ".join(ends[:_MOST]) + more


def _day(ms: Any) -> str | None:
    try:
        return datetime.fromtimestamp(ms / 1000, tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC") if ms > 0 else None
    except (TypeError, ValueError, OverflowError, OSError):
        return None
