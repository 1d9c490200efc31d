"""Which dictionaries are progress records, which are parts of one, and where in a JSON value they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from jupyter_streamwatch.recordings.formats.events import listener_event

if TYPE_CHECKING:
    from collections.abc import Iterator

ENOUGH: Final = 5  # of the score below: a header (id, runId, timestamp, batchId) has it, a log line's context has not

DURATIONS = frozenset({
    "addBatch", "getBatch", "getOffset", "getEndOffset", "setOffsetRange", "latestOffset", "queryPlanning",
    "triggerExecution", "walCommit", "commitOffsets", "commitBatch", "collectSourceMetrics",
    "postAddBatchCallback", "postCommitBatchCallback", "preBatchCallback",
})  # fmt: skip
EVENT_TIMES = frozenset({"watermark", "max", "min", "avg"})
OPERATOR = frozenset({
    "operatorName", "numRowsTotal", "numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark", "memoryUsedBytes",
    "allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs", "numShufflePartitions", "numStateStoreInstances",
    "customMetrics", "numLateInputs",
})  # fmt: skip
SOURCE = frozenset({
    "description", "startOffset", "endOffset", "latestOffset", "numInputRows", "numRecords", "inputRowsPerSecond",
    "processedRowsPerSecond", "metrics",
})  # fmt: skip
_NUMBERS = ("numInputRows", "inputRowsPerSecond", "processedRowsPerSecond", "batchDuration", "currentWatermark")
_OWN = ("runId", "batchId", "durationMs", "sources", "stateOperators", "sink", "batchDuration")
_TELLING = (
    "batchId",
    "durationMs",
    "sources",
    "stateOperators",
    "numInputRows",
)  # without any there is nothing to tell
_MEASURED = ("runId", "batchId", "timestamp", "durationMs", "stateOperators", "numInputRows", "processedRowsPerSecond")

# A key at which a record, or one of its parts, can be recognised in text; each part of a record stands behind one.
_OWN_NAMES = frozenset({
    "runId", "batchId", "batchDuration", "durationMs", "stateOperators", "sources", "sink", "eventTime",
    "observedMetrics", "queryStatus", "progressJson", "currentWatermark", "timestamp", "watermark",
})  # fmt: skip
MARKER_NAMES = tuple(sorted(_OWN_NAMES | (DURATIONS | OPERATOR | SOURCE) - {"description", "metrics"}))
MARKER = re.compile(r"(?<![\w.$])(" + "|".join(MARKER_NAMES) + r")(?:\\*[\"']{0,2}\s*(?::|=|->)|[\"'],)")
# One of these may be all that is known of a record or of a part of it; of others it takes two.
_TELLS_ALONE = frozenset({"queryStatus", "progressJson", "durationMs", "stateOperators", "sources", "numInputRows"})
_TELLS_WITH_ID = frozenset({"runId", "batchDuration", "eventTime", "sink", "observedMetrics", "currentWatermark"})

# Where a record begins: with its id, or a member that no part of a record begins with.
BEGIN = re.compile(
    r"(?:\{|\b(?:Row|Map|HashMap|\w*Progress)\()(?:[^\S\n]*\n[^\n\"'{}]{0,200}|\s*)[uU]?\\*[\"']?"
    r"(?:id\\*[\"']?\s*(?::|=|->)\s*(?:UUID\()?[uU]?\\*[\"']?[0-9a-fA-F]{8}-"
    r"|(?:runId|batchId|batchDuration|durationMs|stateOperators)\\*[\"']?\s*(?::|=|->))"
)
NAMES = DURATIONS | OPERATOR | SOURCE | EVENT_TIMES | {
    "id", "runId", "name", "timestamp", "batchId", "batchDuration", "durationMs", "eventTime", "stateOperators",
    "sources", "sink", "observedMetrics",
}  # fmt: skip

_MESSAGE_KEYS = frozenset({
    "message", "msg", "log", "text", "line", "body", "_raw", "raw", "rawmessage", "textpayload", "short_message",
    "full_message", "@message", "formattedmessage", "logmessage", "log_message", "content", "original", "@rawstring",
})  # fmt: skip
# What carries text or events of other names: a JSON log, or an event of Spark's listener bus.
CARRIER = re.compile(
    r"StreamingQueryListener|[\"'](?:" + "|".join(sorted(map(re.escape, _MESSAGE_KEYS))) + r")[\"']\s*[:=]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Item:
    """One thing found: a progress record, a part of one, a lifecycle event, or text to search."""

    kind: Literal["progress", "part", "event", "text"]
    value: Any
    cut: bool = False  # text whose end is missing


def score(value: dict[str, Any]) -> int:
    """How much of a progress record this is; parts that only progress has weigh more."""
    if {"description", "startOffset", "endOffset"} & value.keys() and not value.keys() & set(_OWN):
        return 0  # a source
    if not (value.keys() & set(_MEASURED) and value.keys() & set(_TELLING)):
        return 0
    points = sum(2 for name in _NUMBERS if name in value and not isinstance(value[name], (dict, list)))
    points += 2 * (_whole(value.get("batchId")) + isinstance(value.get("runId"), str))
    points += ("id" in value) + ("timestamp" in value) + isinstance(value.get("observedMetrics"), dict)
    points += _weight(value.get("durationMs"), dict, lambda part: any(key in DURATIONS for key in part))
    points += _weight(value.get("eventTime"), dict, lambda part: any(key in EVENT_TIMES for key in part))
    points += _weight(value.get("stateOperators"), list, lambda part: any(_like(each, OPERATOR) for each in part))
    points += _weight(value.get("sources"), list, lambda part: any(_like(each, SOURCE) for each in part))
    return points + _weight(value.get("sink"), dict, lambda part: "description" in part)


def _weight(part: Any, kind: type, known: Any) -> int:
    if not isinstance(part, kind):
        return 0
    return 3 if part and known(part) else 1


def _whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.lstrip("-").isdigit())


def _like(value: Any, names: frozenset[str]) -> bool:
    return isinstance(value, dict) and len(value.keys() & names) >= 2


def _is_source(value: Any) -> bool:
    """Whether this can be nothing but a source: it has offsets or rows, or describes itself as Spark's sources do."""
    if not _like(value, SOURCE):
        return False
    described = re.match(r"\w+\[", str(value.get("description")))
    return bool(described or value.keys() & {"startOffset", "endOffset", "latestOffset"})


def able(names: set[str], *, described: bool) -> bool:
    """Whether keys of these names can make a record, or a part of one, if all belong together.

    ``described``: whether a description may be among them, which is no key that marks a record.
    """
    if names & _TELLS_ALONE or len(names & OPERATOR) > 1:
        return True
    if "triggerExecution" in names and len(names & DURATIONS) > 1:
        return True
    if len(names & SOURCE) + described > 1 and (described or names & {"startOffset", "endOffset"}):
        return True
    return "batchId" in names and bool(names & _TELLS_WITH_ID)


def is_progress(value: dict[str, Any]) -> bool:
    """Whether this is a progress record, perhaps with parts missing."""
    return score(value) >= ENOUGH


def part(value: dict[str, Any]) -> dict[str, Any] | None:
    """The record of which this is a part: a state operator, a source, durations, or some of its members."""
    if _like(value, OPERATOR):
        return {"stateOperators": [value]}
    whole = value.keys() & {"runId", "batchId"}
    if _like(value, SOURCE) and not whole and value.keys() & {"description", "startOffset", "endOffset"}:
        return {"sources": [value]}
    if "triggerExecution" in value and _like(value, DURATIONS):
        return {"durationMs": value}
    if not whole and isinstance(value.get("sources"), list) and any(_is_source(each) for each in value["sources"]):
        return value
    measured = value.keys() & {"durationMs", "stateOperators", "sources", "numInputRows"}
    if (measured and score(value) >= 3) or {"sources", "sink"} <= value.keys():
        return value
    return None


def name_half(members: dict[str, Any]) -> None:
    """Where a record's beginning is missing, its first name may be half: find it by what it holds, or drop it."""
    half = next(iter(members), None)
    if half is None or half in NAMES:
        return
    value = members.pop(half)
    one = value[0] if isinstance(value, list) and value else value
    whole = part(one) if isinstance(one, dict) else None
    for name, found in (whole or {}).items():
        members.setdefault(name, value if isinstance(value, list) else found)


def items(value: Any, key: str = "") -> Iterator[Item]:
    """Find what is in a JSON value, in order; strings that may hold more come back as ``text``."""
    if isinstance(value, dict):
        yield from _of_dict(value)
    elif isinstance(value, str):
        if key.lower() in _MESSAGE_KEYS or MARKER.search(value):
            yield Item("text", value)
    elif isinstance(value, list):
        if len(value) > 1 and all(isinstance(each, str) for each in value):
            if value[0].isdigit():  # the time beside a line of a log
                value, key = value[1:], "line"
            lines = "".join(value) if any(each.endswith("\n") for each in value) else "\n".join(value)
            yield from items(lines, key)
        else:
            for each in value:
                yield from items(each, key)


def _of_dict(value: dict[str, Any]) -> Iterator[Item]:
    event = listener_event(value)
    if event is not None:
        yield from (Item("progress" if kind == "progress" else "event", found) for kind, found in event)
    elif is_progress(value):
        yield Item("progress", value)
    elif "nbformat" in value and isinstance(value.get("cells"), list):
        for cell in value["cells"]:
            yield from _of_cell(cell)
    else:
        yield from _of_members(value)


def _of_members(value: dict[str, Any]) -> Iterator[Item]:
    """A log record says the same thing in its message and in its context: take it once."""
    messages = [found for key, each in value.items() if key.lower() in _MESSAGE_KEYS for found in items(each, key)]
    if any(found.kind != "text" or MARKER.search(found.value) for found in messages):
        yield from messages
        return
    others = [found for key, each in value.items() if key.lower() not in _MESSAGE_KEYS for found in items(each, key)]
    yield from others or messages


def _of_cell(cell: Any) -> Iterator[Item]:
    """What a notebook cell shows: one form of each output (they say the same), and Markdown, but no code.

    Databricks keeps the progress that it shows under a cell in the cell's metadata and not among its outputs.
    """
    if not isinstance(cell, dict):
        return
    if cell.get("cell_type") != "code":
        yield from items(cell.get("source"), "text")
    yield from items(cell.get("metadata"))
    for output in cell.get("outputs") or ():
        data = output.get("data") if isinstance(output, dict) else None
        if not isinstance(data, dict):
            yield from items(output)
            continue
        for form in ("application/json", "text/plain", *sorted(data)):
            found = [each for each in items(data.get(form), "text") if each.kind != "text" or MARKER.search(each.value)]
            if found:
                yield from found
                break


def mend(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Put members that a missing brace left in the wrong part back into their places.

    Returns:
        The records in this one: itself, and others that were read as a part of it because its end is missing.
    """
    others: list[dict[str, Any]] = []
    for name in ("durationMs", "eventTime", "observedMetrics", "sink"):
        _lift(record.get(name), record)
    for name, inner, own in (
        ("stateOperators", ("customMetrics",), OPERATOR),
        ("sources", ("startOffset", "endOffset", "latestOffset", "metrics"), SOURCE),
    ):
        whole = record.get(name)
        if not isinstance(whole, list):
            continue
        for element in whole:
            for nested in inner if isinstance(element, dict) else ():
                _lift(element.get(nested), record)
                _lift(element.get(nested), element, own)
            _lift(element, record)
        others += [each for each in whole if isinstance(each, dict) and is_progress(each)]
        record[name] = [each for each in whole if each not in others]
    _take_out(record, others)
    return [record, *(each for other in others for each in mend(other))]


def _take_out(inner: dict[str, Any], others: list[dict[str, Any]]) -> None:
    for name, value in list(inner.items()):
        if isinstance(value, dict) and is_progress(value):
            others.append(inner.pop(name))
        elif isinstance(value, dict):
            _take_out(value, others)


def _lift(inner: Any, outer: dict[str, Any], names: frozenset[str] | None = None) -> None:
    if not isinstance(inner, dict):
        return
    for name, value in list(inner.items()):
        fits = name in names if names else _top_level(name, value)
        if fits and name not in outer:
            outer[name] = inner.pop(name)


def _top_level(name: str, value: Any) -> bool:
    if name in ("sources", "stateOperators"):
        return isinstance(value, list)
    if name == "sink":
        return isinstance(value, dict) and "description" in value
    if name == "durationMs":
        return isinstance(value, dict) and any(key in DURATIONS for key in value)
    return name in ("eventTime", "observedMetrics") and isinstance(value, dict)


def assemble(levels: list[list[Any]]) -> dict[str, Any] | None:
    """Build the record whose beginning is missing from its levels, the innermost first."""
    record: dict[str, Any] | None = None
    for level in levels:
        last = level[-1] if isinstance(level[-1], dict) else {}
        for each in reversed((record and [record]) or []):
            found = part(each)
            for name, value in (found or {}).items():
                if name not in last:
                    last[name] = value
        if len(level) > 1:
            whole = [part(each) for each in level if isinstance(each, dict)]
            known = [each for each in whole if each]
            merged: dict[str, Any] = {}
            for each in known:
                for name, value in each.items():
                    merged[name] = merged[name] + value if name in merged and isinstance(value, list) else value
            last = merged or last
        record = last
    return record
