"""What a driver log says in words about a query's life: it started, it was late, it ended with an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_UUID: Final = r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
_IDS: Final = rf"\[id = {_UUID}, runId = {_UUID}\]"
# MicroBatchExecution: "Starting name [id = ..., runId = ...]. Use ... to store the query checkpoint."
# StreamExecution: "Query name [id = ..., runId = ...] terminated with error", then the stack trace;
# StreamingQueryException (also as a Python traceback ends): "Query ... terminated with exception: ...".
# Since Spark 4 the query's own text may be shorter, the ids stand as before.
_SAID = re.compile(
    rf"Starting (?:(?P<name>[^\[\n]{{1,200}}?) )?{_IDS}\."
    rf"|Query (?:[^\[\n]{{1,200}}? )?{_IDS} terminated with (?P<how>error|exception)(?:: (?P<why>[^\n]*))?"
)
# ProcessingTimeExecutor, right after the progress of the batch; it names no query.
_LATE = re.compile(
    r"Current batch is falling behind\. The trigger interval is ([1-9]\d{0,11}) m(?:illi)?s(?:econds)?,"
    r" but spent (\d{1,12}) m"
)
_LOG_LINE = re.compile(
    r"\s*\[?(?:\d{2,4}[-/.]\d\d?[-/.]\d|\d\d:\d\d:\d\d|(?:INFO|WARN|ERROR|DEBUG)\b)|\s*(?:```|>>>|In ?\[)"
)
MAX_TRACE: Final = 100_000  # characters of an exception that are kept; the last cause stands at the end of it


def lifecycle(text: str, start: int, end: int) -> Iterator[dict[str, Any]]:
    """The events between two places of a log, in the form in which a recording keeps them; times are not told."""
    for said in _SAID.finditer(text, start, end) if "runId = " in text[start:end] else ():
        if said["how"] is None:
            yield {"event": "started", "id": said[2], "runId": said[3], "name": said["name"], "at": None}
            continue
        rest = text.find("\n", said.end(), end)
        exception = "\n".join(part for part in (said["why"], _trace(text, rest, end)) if part)
        error_class = re.match(r"[\w.$]*:?\s*\[([A-Z][A-Z0-9_.]+)\]", exception)
        yield {
            "event": "terminated", "id": said[4], "runId": said[5], "at": None,
            "exception": exception or "terminated with an error", "errorClass": error_class and error_class[1],
        }  # fmt: skip
    for said in _LATE.finditer(text, start, end) if "falling behind" in text[start:end] else ():
        yield {"event": "late", "runId": None, "intervalMs": float(said[1]), "spentMs": float(said[2])}


def _trace(text: str, at: int, end: int) -> str:
    """The lines of message and stack trace that follow, up to the log's next line."""
    begin = at + 1
    while 0 <= at < end and at - begin < MAX_TRACE:
        line_end = text.find("\n", at + 1, end)
        line_end = end if line_end < 0 else line_end
        if _LOG_LINE.match(text, at + 1, line_end):
            break
        at = line_end
    return text[begin:at].strip("\n") if at > begin else ""
