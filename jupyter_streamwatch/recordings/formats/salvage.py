"""Progress records in text of any kind, whole or damaged: pasted, logged, quoted, wrapped, cut."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_streamwatch.recordings.formats import layout, reader
from jupyter_streamwatch.recordings.formats.finder import FREE, Finder, parts
from jupyter_streamwatch.recordings.formats.lifecycle import lifecycle
from jupyter_streamwatch.recordings.formats.shapes import Item, items

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH: Final = 5  # JSON in a string in JSON in a log line ...
RUN: Final = 1 << 20  # characters of plain text that are searched at a time
MAX_PREFIX: Final = 200  # characters of a line before the JSON object that ends it
MAX_CARRY: Final = 8 << 20  # a record is far smaller; what is longer has no end
BEHIND: Final = 4096  # characters before a marker in which its record may begin

_NAME = re.compile(r"\s*\"")

CUT: Final = "The text ends inside this record: what came after it is unknown."
PART: Final = "Only a part of a progress record: its batch, time and rows are unknown."
DURATIONS_ONLY: Final = "Durations without the record around them: which batch they belong to is unknown."


@dataclass(frozen=True)
class Found:
    """A record (``progress``), an event of a query's life (``event``), or what could not be used (``skipped``)."""

    kind: str
    value: Any
    line: int = 0


class Salvager:
    """Takes text piece by piece (``feed``, then ``close``) and gives what it finds, in order.

    Memory is bounded by the longest record, not by the text.
    """

    def __init__(self, depth: int = 0) -> None:
        """Start with nothing; ``depth`` counts the strings in strings around."""
        self._depth = depth
        self._run: list[str] = []
        self._size = 0
        self._limit = RUN  # of the size, beyond which the run is searched
        self._credit = FREE
        self._line = 1  # of the start of the run
        self._messages: Salvager | None = None

    def feed(self, text: str) -> Iterator[Found]:
        """Search whole lines."""
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        begin = 0  # of what was not taken yet
        brace = text.find("{")
        while brace >= 0:
            start = text.rfind("\n", begin, brace) + 1 or begin
            end = text.find("\n", brace) + 1 or len(text)
            value = _json_line(text, start, brace, end)
            inside = [] if value is None else list(items(value))
            if inside:
                yield from self._take(text, begin, start)
                yield from self._search(final=True)
                yield from self._deliver(inside)
                self._line += 1
                begin = end
            brace = text.find("{", end)
        yield from self._take(text, begin, len(text))

    def _take(self, text: str, begin: int, end: int) -> Iterator[Found]:
        """Search lines that are no JSON objects, so many at a time."""
        while begin < end:
            most = begin + self._limit - self._size
            stop = end if end <= most else text.find("\n", max(begin, most), end) + 1 or end
            self._run.append(text[begin:stop])
            self._size += stop - begin
            begin = stop
            if self._size > self._limit or begin < end:
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
                inside = list(items(value)) or parts(value)
                yield from self._deliver(inside)
                yield from self._flush()
                if not inside:
                    yield from self._between(text, 0, len(text))
                return
            if len(text) < RUN:  # a list of parts in another notation
                value = reader.read(text, len(text) - len(text.lstrip()), len(text)).value
                alone = parts(value) if isinstance(value, list) and not list(items(value)) else []
                if alone:
                    yield from self._deliver(alone)
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
        finder = Finder(text, self._credit)
        pos = done = 0  # where to search on; up to where everything was given
        while found := finder.next(pos):
            start, place = found
            if place.cut and not final and place.end >= len(text) and len(text) - start < MAX_CARRY:
                break
            pos = place.end
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
        self._credit = finder.credit
        self._run = [text[start:]] if start < len(text) else []
        self._size = len(text) - start
        self._limit = max(RUN, 2 * self._size)  # what goes on is searched again when there is twice as much of it

    def _between(self, text: str, start: int, end: int) -> Iterator[Found]:
        """Events of a query's life that a driver log tells in words."""
        for event in lifecycle(text, start, end):
            yield from self._flush()
            yield Found("event", event, self._line)
        self._line += text.count("\n", start, end)


def _json_line(text: str, start: int, brace: int, end: int) -> Any:
    """The JSON value that is the line from ``start`` to ``end`` or ends it; ``brace`` is the first one of the line."""
    if brace - start > MAX_PREFIX or not _NAME.match(text, brace + 1) or '"' in text[start:brace]:
        return None
    line = text[brace:end].rstrip(" \t\n,;")
    if not line.endswith("}"):
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _part(value: dict[str, Any], line: int) -> Iterator[Found]:
    text = json.dumps(value, default=str)[:200]
    if value.keys() == {"durationMs"}:
        yield Found("skipped", (DURATIONS_ONLY, text), line)
    else:
        yield Found("progress", value, line)
        yield Found("skipped", (PART, text), line)
