"""Progress records in text of any kind, whole or damaged: pasted, logged, quoted, wrapped, cut."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_streamwatch.recordings.formats import layout, outline, reader, shapes
from jupyter_streamwatch.recordings.formats.lifecycle import lifecycle
from jupyter_streamwatch.recordings.formats.literals import unescape
from jupyter_streamwatch.recordings.formats.shapes import BEGIN, MARKER, Item, items

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH: Final = 5  # JSON in a string in JSON in a log line ...
RUN: Final = 1 << 20  # characters of plain text that are searched at a time
MAX_CARRY: Final = 8 << 20  # a record is far smaller; what is longer has no end
BEHIND: Final = 4096  # characters before a marker in which its record may begin
ENCLOSING: Final = 8_000  # characters before a marker that may lie between it and the brace that opens its record
LONGEST: Final = 1 << 16  # characters after which another record's beginning is not looked for

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_WORDS: Final = (
    "runId", "batchId", "InputRows", "durationMs", "stateOperators", "triggerExecution", "numRows", "queryStatus",
    "Offset", "progressJson", "numRecords",
)  # fmt: skip
_NAME = re.compile(r"\s*\"")
_BRACKET = re.compile(r"[{}()]")
# A brace opens an object when a name, a string, its end, a comment or nothing follows on its line.
_OBJECT = re.compile(
    r"\{(?=[^\S\n]*(?:$|[\n\"'\\}]|[uUbr][\"']|//|#|/\*|<|\.\.|[\w.$@\-]+\s*(?:[:=]|->)|\w+[^\S\n]+\{))"
)
_CALLED: Final = ("Row", "Map", "Dict", "dict", "mappingproxy", "Progress")
_KEY_LINE = re.compile(r"[^\n]*?[\"'][\w.\-]+[\"']\s*[:=]|[^\n\"'{]{0,200}\w+\s*[=:]")
_PAIR = re.compile(r"\b(?:id|runId|batchId|numInputRows|\w+RowsPerSecond)=[^\s=]")
_STRING_END = re.compile(r"(?<!\\)[\"\n]|\Z")
_decoder = json.JSONDecoder()

CUT: Final = "The text ends inside this record: what came after it is unknown."
PART: Final = "Only a part of a progress record: its batch, time and rows are unknown."
DURATIONS_ONLY: Final = "Durations without the record around them: which batch they belong to is unknown."


@dataclass(frozen=True)
class Found:
    """A record (``progress``), an event of a query's life (``event``), or what could not be used (``skipped``)."""

    kind: str
    value: Any
    line: int = 0


@dataclass(frozen=True)
class _Place:
    items: list[Item]
    end: int
    cut: bool


class Salvager:
    """Takes text piece by piece (``feed``, then ``close``) and gives what it finds, in order.

    Memory is bounded by the longest record, not by the text.
    """

    def __init__(self, depth: int = 0) -> None:
        """Start with nothing; ``depth`` counts the strings in strings around."""
        self._depth = depth
        self._run: list[str] = []
        self._size = 0
        self._line = 1  # of the start of the run
        self._messages: Salvager | None = None

    def feed(self, text: str) -> Iterator[Found]:
        """Search whole lines."""
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        for line in _LINES.findall(text):
            value = _json_line(line)
            inside = [] if value is None else list(items(value))
            if inside:
                yield from self._search(final=True)
                yield from self._deliver(inside)
                self._line += 1
                continue
            self._run.append(line)
            self._size += len(line)
            if self._size > RUN:
                yield from self._search(final=False)

    def close(self) -> Iterator[Found]:
        """Search what is left."""
        yield from self._search(final=True)
        yield from self._flush()

    def whole(self, text: str) -> Iterator[Found]:
        """Search a text that is all there: one JSON document is read as such, else ``feed`` and ``close``."""
        text = text.lstrip("\ufeff")
        if text.lstrip()[:1] in ("{", "[", '"'):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                pass
            else:
                yield from self._deliver(list(items(value)) or _parts(value))
                yield from self._flush()
                return
            if len(text) < RUN:  # a list of parts in another notation
                value = reader.read(text, len(text) - len(text.lstrip()), len(text)).value
                parts = _parts(value) if isinstance(value, list) and not list(items(value)) else []
                if parts:
                    yield from self._deliver(parts)
                    return
        yield from self.feed(text)
        yield from self.close()

    def _deliver(self, inside: list[Item]) -> Iterator[Found]:
        for item in inside:
            if item.kind == "text":
                if self._depth >= MAX_DEPTH:
                    continue
                if self._messages is None:
                    self._messages = Salvager(self._depth + 1)
                message = item.value if item.cut or item.value.endswith("\n") else item.value + "\n"
                for found in self._messages.feed(message):
                    yield Found(found.kind, found.value, self._line)
                if item.cut:
                    yield from self._flush()
                continue
            yield from self._flush()
            if item.kind == "part":
                yield from _part(item.value, self._line)
            else:
                yield Found(item.kind, item.value, self._line)

    def _flush(self) -> Iterator[Found]:
        """End the text that log records carry: what comes next stands outside of it."""
        if self._messages is not None:
            messages, self._messages = self._messages, None
            yield from (Found(found.kind, found.value, self._line) for found in messages.close())

    def _search(self, *, final: bool) -> Iterator[Found]:
        if not self._run:
            return
        text = layout.clean("".join(self._run))
        pos = done = 0  # where to search on; up to where everything was given
        words = [word for word in _WORDS if word in text]
        while marker := _marker(text, pos, words):
            start, place = _record(text, pos, marker)
            if place.cut and not final and place.end >= len(text) and len(text) - start < MAX_CARRY:
                break
            pos = max(place.end, start + 1)
            if place.items:
                yield from self._between(text, done, start)
                yield from self._deliver(place.items)
                if place.cut and any(item.kind == "progress" for item in place.items):
                    yield Found("skipped", (CUT, text[start : start + 200]), self._line)
                self._line += text.count("\n", start, pos)
                done = pos
        else:
            start = len(text) if final else max(pos, text.rfind("\n", 0, max(0, len(text) - BEHIND)) + 1)
        yield from self._between(text, done, start)
        self._run = [text[start:]] if start < len(text) else []
        self._size = len(text) - start

    def _between(self, text: str, start: int, end: int) -> Iterator[Found]:
        """Events of a query's life that a driver log tells in words."""
        for event in lifecycle(text, start, end):
            yield from self._flush()
            yield Found("event", event, self._line)
        self._line += text.count("\n", start, end)


def _marker(text: str, pos: int, words: list[str]) -> re.Match[str] | None:
    """The first key of a record from ``pos`` on: each record holds one of a few words, ordinary log text none."""
    if near := MARKER.search(text, pos, pos + BEHIND):
        return near
    first = min((at for word in words if (at := text.find(word, pos)) >= 0), default=len(text))
    return MARKER.search(text, max(pos, first - BEHIND)) if first < len(text) else None


def _json_line(line: str) -> Any:
    """The JSON value that is this line, or that ends it after a log prefix."""
    brace = line.find("{", 0, 200)
    if brace < 0 or '"' in line[:brace] or not _NAME.match(line, brace + 1):
        return None
    text = line[brace:].rstrip(" \t\n,;")
    if not text.endswith("}"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _parts(value: Any) -> list[Item]:
    """Parts of a record that stand alone; those of one list belong to one record."""
    if isinstance(value, list):
        if len(value) > 1 and any(isinstance(each, dict) and shapes.part(each) for each in value):
            return [Item("part", shapes.assemble([value]))]
        return [item for each in value for item in _parts(each)]
    found = shapes.part(value) if isinstance(value, dict) else None
    return [Item("part", found)] if found else []


def _part(value: dict[str, Any], line: int) -> Iterator[Found]:
    text = json.dumps(value, default=str)[:200]
    if value.keys() == {"durationMs"}:
        yield Found("skipped", (DURATIONS_ONLY, text), line)
    else:
        yield Found("progress", value, line)
        yield Found("skipped", (PART, text), line)


def _record(text: str, pos: int, marker: re.Match[str]) -> tuple[int, _Place]:
    """The record to which the marker belongs, and where it begins."""
    at = marker.start()
    best: tuple[int, _Place] | None = None
    for start in _openings(text, pos, at):
        place = _read(text, start)
        if place.end <= at and not place.cut:
            continue
        if any(item.kind != "part" for item in place.items):
            return start, place
        if place.items and best is None:
            best = start, place
    if (lines := outline.read(text, pos, at)) is not None:
        found = [Item("progress", lines[0])] if shapes.is_progress(lines[0]) else []
        return lines[1], _Place(found, lines[2], cut=False)
    start, place = _headless(text, pos, marker)
    if best is not None and not any(item.kind != "part" or len(item.value) > 1 for item in place.items):
        return best
    return start, place


def _headless(text: str, pos: int, marker: re.Match[str]) -> tuple[int, _Place]:
    """A record whose beginning is missing: the marker is its first key, or near it."""
    at = marker.start()
    start = _first_line(text, pos, at)
    if "\\" in marker[0]:  # inside a string
        end = _STRING_END.search(text, at).start()  # type: ignore[union-attr] # the end of the text, at last
        return start, _Place([Item("text", unescape(text[start:end]), cut=end == len(text))], end, end == len(text))
    margin = layout.margin(text, max(0, text.rfind("\n", 0, start)))
    line = _line(text, max(start, text.rfind("\n", pos, at) + 1), at)
    start, end = line or (start, _end(text, start))
    levels, reading = reader.read_open(text, start, end, margin)
    if levels and text[start] not in "'\"":
        shapes.name_half(levels[0][0])
    value = shapes.assemble(levels)
    found: list[Item] = []
    if value and reading.end > at:
        if shapes.is_progress(value):
            found = [Item("progress", each) for each in shapes.mend(value)]
        elif part := shapes.part(value):
            found = [Item("part", part)]
    cut = reading.cut and line is None
    return (start, _Place(found, reading.end, cut)) if found else (at, _Place([], marker.end(), cut=False))


def _line(text: str, start: int, at: int) -> tuple[int, int] | None:
    """Where a line of ``name=value`` pairs lies that is a record of its own, as scripts print one for each batch."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end + 1
    pairs = _PAIR.findall(text, start, end)
    return (start, end) if len(pairs) > 1 and text.count("{", start, end) == text.count("}", start, end) else None


def _end(text: str, start: int) -> int:
    """How far a record that begins at ``start`` may reach: to the next one."""
    limit = min(len(text), start + LONGEST)
    opening = text.find("{", start + 1, limit)
    while opening >= 0 and not BEGIN.match(text, opening):
        opening = text.find("{", opening + 1, limit)
    if text[start] == "{":
        return opening if opening >= 0 else len(text)
    called = BEGIN.search(text, start + 1, opening if opening >= 0 else limit)
    return called.start() if called else opening if opening >= 0 else len(text)


def _openings(text: str, pos: int, at: int) -> list[int]:
    """Where objects begin that are still open at ``at``, the innermost first."""
    first = max(pos, at - ENCLOSING)
    stack: list[tuple[str, int]] = []
    for found in _BRACKET.finditer(text, first, at):
        mark, here = found[0], found.start()
        if mark == "{":
            stack.append((mark, here if _OBJECT.match(text, here) else -1))
        elif mark == "(":
            stack.append((mark, _name(text, first, here) if text.endswith(_CALLED, first, here) else -1))
        elif mark == "}":
            while stack and stack.pop()[0] != "{":
                pass
        elif stack and stack[-1][0] == "(":
            stack.pop()
    return [start for _, start in reversed(stack) if start >= 0][:4]


def _name(text: str, first: int, end: int) -> int:
    """Where the name before a bracket begins."""
    while end > first and (text[end - 1].isalnum() or text[end - 1] == "_"):
        end -= 1
    return end


def _first_line(text: str, pos: int, at: int) -> int:
    """The start of the lines with members that lead to ``at``, where the beginning of a record is missing."""
    start = max(pos, text.rfind("\n", pos, at) + 1)
    while start > pos:
        before = max(pos, text.rfind("\n", pos, start - 1) + 1)
        if not _KEY_LINE.match(text, before, start) or "{" in text[before:start]:
            break
        start = before
    return start


def _read(text: str, start: int) -> _Place:
    if text[start] == "{":
        try:
            value, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
        else:
            return _Place(list(items(value)) or _parts(value), end, cut=False)
        inner = layout.literal(text, start)
        if inner is not None:
            found = [Item("text", inner[0], cut=inner[2])] if MARKER.search(inner[0]) else []
            return _Place(found, inner[1], inner[2])
    limit = _end(text, start)
    margin = layout.margin(text, start)
    if margin is None and (joined := layout.unwrapped(text[:limit], start)) is not None:
        found = _read(joined[0], 0).items if joined[0] != text[start:] else []
        if any(item.kind != "part" for item in found):
            return _Place(found, joined[1], cut=False)
    reading = reader.read(text, start, limit, margin)
    found = [
        each
        for item in items(reading.value)
        for each in ([Item("progress", one) for one in shapes.mend(item.value)] if item.kind == "progress" else [item])
    ]
    return _Place(found or _parts(reading.value), reading.end, reading.cut)
