"""What a driver log says in words about a query's life: it started, waits, is late, ended with an error."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from jupyter_streamwatch.recordings.formats import layout, pasted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# An id whole, shortened (``5b0c7d1e...``, ``5b0c...``) or starred out by who pasted it.
_ID: Final = r"[0-9A-Za-z*.…<>_\-]{2,60}"


def _ids(of: str) -> str:
    return rf"\[id = (?P<{of}_id>{_ID}), runId = (?P<{of}_run>{_ID})\]"


_NAME: Final = r"[^\[\n]{1,200}?"
# MicroBatchExecution: "Starting name [id = ..., runId = ...]. Use ... to store the query checkpoint."
# StreamExecution: "Query name [id = ..., runId = ...] terminated with error", then the stack trace; the structured log
# of Spark 4 leaves the ids out.
# StreamingQueryException (also as a Python traceback ends): "Query ... terminated with exception: ...".
_SAID = re.compile(
    rf"Starting (?:(?P<name>{_NAME}) )?{_ids('started')}\."
    rf"|Query (?:(?:{_NAME} )?{_ids('ended')} )?terminated with (?P<how>error|exception)(?:: (?P<why>[^\n]*))?"
    r"|=== Streaming Query ===[^\n]*\n(?P<block>(?:[^\n]*\n){0,3}?)"
    rf"[^\n]{{0,40}}Identifier: (?:(?P<called>{_NAME}) )?{_ids('block')}"
    r"|(?P<idle>Streaming query has been idle and waiting for new data)"
    # ProcessingTimeExecutor, right after the progress of the batch; it names no query.
    r"|Current batch is falling behind\. The trigger interval is (?P<interval>[1-9]\d{0,11}) m(?:illi)?s(?:econds)?,"
    r" but spent (?P<spent>\d{1,12}) m"
    r"|Resuming at batch (?P<resumed>\d{1,18}) with committed offsets"
    r"|(?:Committed offsets for|Completed) batch (?P<committed>\d{1,18})\b"
)
_WORDS: Final = ("runId", "terminated", "Streaming", "idle", "behind", "Resuming", "ommitted", "ompleted")
_HINTS: Final = (
    "runId = ", "terminated with", "=== Streaming Query", "has been idle", "falling behind", "Resuming at",
    "Committed offsets for", "Completed batch",
)  # fmt: skip
_MARGIN = re.compile(r"(?:[^\S\n]*(?:>|\*|#|//|--|\|)[^\S\n]?)+")
_LOG_LINE = re.compile(
    r"\s*\[?(?:\d{2,4}[-/.]\d\d?[-/.]\d|\d\d:\d\d:\d\d|(?:INFO|WARN|ERROR|DEBUG)\b"
    r"|Query [^\n]{0,300}terminated with error)"
    r"|\s*(?:```|>>>|In ?\[)"
)
_TIME = re.compile(r"(?:(\d{4})|(\d\d))[-/.](\d\d)[-/.](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,3}))?")
_EXCEPTION = re.compile(r"[^\n]*\b[\w.$]*(?:Exception|Error)\b")
_OFFSETS = re.compile(r"Current (Committed|Available) Offsets: ([^\n]*)")
_CLASS = re.compile(r"[\w.$]*:?\s*\[([A-Z][A-Z0-9_.]+)\]")
HEAD: Final = 20_000  # characters of an exception that are kept from its beginning
TAIL: Final = 10_000  # and from its end, where its first cause stands
_FARTHEST: Final = 400_000  # characters that one trace may take
_BEFORE: Final = 40  # lines above the block of a StreamingQueryException in which its message stands
LONG_LINE: Final = 4_000
FOLLOWING: Final = 1_000  # characters of the next lines that may belong to what a line says


def lifecycle(text: str, start: int, end: int) -> Iterator[dict[str, Any]]:
    """The events between two places of a log, in order, in the form in which a recording keeps them.

    Beside the kinds of a recording there are ``late`` (a batch took longer than the interval), ``waiting`` (an idle
    line), ``committed`` and ``note`` (a sentence about what was understood and belongs to no batch).
    """
    piece = text[start:end]
    if any(word in piece for word in _WORDS):
        piece = layout.rejoined(piece)
        if any(hint in piece for hint in _HINTS):
            yield from _said(piece)
    yield from pasted.entries(piece)


def _said(text: str) -> Iterator[dict[str, Any]]:
    done = 0  # up to where an exception was taken
    for said in _sentences(text):
        if said.start() < done:
            continue
        at = _time(text, said.start())
        if said["idle"]:
            yield {"event": "waiting", "at": at}
        elif said["spent"]:
            interval, spent = float(said["interval"]), float(said["spent"])
            yield {"event": "late", "runId": None, "intervalMs": interval, "spentMs": spent, "at": at}
        elif said["resumed"] is not None:
            yield from _resumed(int(said["resumed"]))
        elif said["committed"] is not None:
            yield {"event": "committed", "batch": int(said["committed"])}
        elif said[0].startswith("Starting"):
            yield {
                "event": "started",
                "id": said["started_id"],
                "runId": said["started_run"],
                "name": said["name"],
                "at": None,
            }
        else:
            done = yield from _ended(text, said)


def _sentences(text: str) -> Iterator[re.Match[str]]:
    """What is said, looked for only in the lines that hold a word of it."""
    begins: set[int] = set()
    for hint in _HINTS:
        at = text.find(hint)
        while at >= 0:
            begins.add(_line_begin(text, at))
            at = text.find(hint, at + len(hint))
    done = 0
    for begin in sorted(begins):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        while (said := _SAID.search(text, max(begin, done), end + FOLLOWING)) and said.start() < end:
            done = said.end()
            yield said


def _resumed(batch: int) -> Iterator[dict[str, Any]]:
    done = f"; batch {batch - 1} was the last one done" if batch else ""
    yield {"event": "note", "text": f"The query went on at batch {batch}{done}."}


def _ended(text: str, said: re.Match[str]) -> Generator[dict[str, Any], None, int]:
    """The end of a run with an error, from the line that names it or from the block that Spark puts into the error."""
    block = said["block"] is not None
    id, run = (said["block_id"], said["block_run"]) if block else (said["ended_id"], said["ended_run"])
    margin = _margin(text, said.start())
    begin = _message_before(text, said.start(), margin) if block else said.end()
    trace, end = _trace(text, text.find("\n", said.end()), margin)
    if block:
        trace = "\n".join([*_lines(text[begin : said.end()], margin), trace])
        if not _EXCEPTION.search(trace):
            return said.end()
    exception = "\n".join(part for part in (said["why"], trace) if part)
    error_class = _CLASS.match(exception)
    yield {
        "event": "terminated", "id": id, "runId": run, "at": None, "name": said["called"],
        "exception": bounded(exception) or "terminated with an error", "errorClass": error_class and error_class[1],
    }  # fmt: skip
    committed = dict(_OFFSETS.findall(trace))
    planned = pasted.between(committed.get("Committed"), committed.get("Available"))
    if planned:
        yield {"event": "note", "text": planned}
    return end


def bounded(exception: str) -> str:
    """An exception's text, without its middle where it is very long: message and first cause stand at its ends."""
    if len(exception) <= HEAD + TAIL:
        return exception
    return f"{exception[:HEAD]}\n... {len(exception) - HEAD - TAIL} characters left out ...\n{exception[-TAIL:]}"


def _line_begin(text: str, at: int) -> int:
    return text.rfind("\n", max(0, at - LONG_LINE), at) + 1


def _margin(text: str, at: int) -> str:
    """What precedes the line of ``at`` where it is quoted or commented out."""
    found = _MARGIN.match(text, _line_begin(text, at), at)
    return found[0].strip() if found else ""


def _bare(line: str, margin: str) -> str:
    """A line without the margin; a tab behind it belongs to the line."""
    if margin and line.lstrip(" ").startswith(margin):
        line = line.lstrip(" ")[len(margin) :]
        return line.removeprefix(" ")
    return line


def _lines(text: str, margin: str) -> list[str]:
    return [_bare(line, margin) for line in text.split("\n")]


def _message_before(text: str, at: int, margin: str) -> int:
    """Where the exception begins in whose text the block at ``at`` stands: a line that names one, above it."""
    begin = at = _line_begin(text, at)
    for _ in range(_BEFORE):
        if at == 0:
            break
        above = _line_begin(text, at - 1)
        line = _bare(text[above : at - 1], margin)
        at = above
        if _EXCEPTION.match(line) and not line.lstrip().startswith("at "):
            begin = above
        elif _LOG_LINE.match(line) or not line.strip():
            break
    return begin


def _trace(text: str, at: int, margin: str) -> tuple[str, int]:
    """The lines of message and stack trace that follow, up to the log's next line, and where they end."""
    lines: list[str] = []
    begin = at + 1
    while 0 <= at < len(text) and at - begin < _FARTHEST:
        line_end = text.find("\n", at + 1)
        line_end = len(text) if line_end < 0 else line_end
        line = _bare(text[at + 1 : line_end], margin)
        if _LOG_LINE.match(line):
            break
        lines.append(line)
        at = line_end
    return "\n".join(lines).strip("\n"), max(at, 0)


def _time(text: str, at: int) -> float | None:
    """The time at the beginning of the line in ms, whatever its zone: only the time between two lines is told."""
    found = _TIME.search(text, _line_begin(text, at), at)
    if found is None:
        return None
    year, short, *rest = found.groups()
    month, day, hour, minute, second = map(int, rest[:5])
    try:
        moment = datetime(int(year or 2000 + int(short)), month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    return moment.timestamp() * 1000 + int((rest[5] or "0").ljust(3, "0"))
