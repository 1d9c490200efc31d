"""The record to which a key in a text belongs: where it begins, what it says, how far it reaches."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from jupyter_streamwatch.recordings.formats import layout, outline, reader, shapes
from jupyter_streamwatch.recordings.formats.literals import unescape
from jupyter_streamwatch.recordings.formats.scan import ENCLOSING, Scan
from jupyter_streamwatch.recordings.formats.shapes import MARKER, Item, items

FREE: Final = 1 << 18  # characters that may be read in vain in any text
VAIN: Final = 2  # more of them for each character that lies behind
_WINDOW: Final = 1 << 13  # characters that are tried as JSON before a longer piece is

_KEY_LINE = re.compile(r"[^\n]*?[\"'][\w.\-]+[\"']\s*[:=]|[^\n\"'{]{0,200}\w\s*[=:]")
_PAIR = re.compile(r"\b(?:id|runId|batchId|numInputRows|\w+RowsPerSecond)=[^\s=]")
_STRING_END = re.compile(r"(?<!\\)[\"\n]|\Z")
_decoder = json.JSONDecoder()


@dataclass(frozen=True)
class Place:
    """What stands somewhere: ``end`` is where reading stopped, ``cut`` whether the text ends inside."""

    items: list[Item]
    end: int
    cut: bool


class Finder:
    """Finds the records of one text in order, in time that grows with the text and no faster.

    Reading from a key to see that it is no record's is reading in vain, and the next key may lead over the same text
    again. So what an opening leads to is kept, and once more than a few times the text was read in vain (the credit is
    spent), what was read so is not read again: :meth:`next` steps over it, up to where a record is seen to begin.
    """

    def __init__(self, text: str, credit: int = FREE) -> None:
        """Start at the beginning of ``text``; ``credit`` is what earlier pieces of it left."""
        self.text = text
        self.credit = credit
        self._scan = Scan(text)
        self._known: dict[int, Place] = {}
        self._farthest = 0  # where the reading in vain from the last key ended
        self._read_to = 0  # up to where objects were opened in vain
        self._no_outline = 0  # up to where there is no outline

    def next(self, pos: int) -> tuple[int, Place] | None:
        """The place of the first key from ``pos`` on: where it begins and what stands there, nothing perhaps."""
        marker = self._scan.marker(pos)
        if marker is None:
            return None
        self._farthest = marker.end()
        start, place = self._record(pos, marker)
        end = max(place.end, start + 1)
        if not place.items and self.credit < 0:
            end = max(end, min(self._farthest, self._scan.next_begin(marker.end())))
        self.credit = min(self.credit + VAIN * (end - pos), FREE + VAIN * len(self.text))
        return start, Place(place.items, end, place.cut)

    def _record(self, pos: int, marker: re.Match[str]) -> tuple[int, Place]:
        at = marker.start()
        best: tuple[int, Place] | None = None
        for start in self._scan.openings(pos, at):
            place = self.opened(start)
            if place.end <= at and not place.cut:
                continue
            if any(item.kind != "part" for item in place.items):
                return start, place
            if place.items and best is None:
                best = start, place
        if self.credit >= 0 or at >= self._no_outline:
            value, start, end = outline.read(self.text, pos, at)
            if value is not None and shapes.is_progress(value):
                return start, Place([Item("progress", value)], end, cut=False)
            self._no_outline = max(self._no_outline, end)
            self._vain(start, end)
        start, place = self._headless(pos, marker)
        if best is not None and not any(item.kind != "part" or len(item.value) > 1 for item in place.items):
            return best
        return start, place

    def _vain(self, start: int, end: int) -> None:
        self.credit -= end - start
        self._farthest = max(self._farthest, end)

    def opened(self, start: int) -> Place:
        """What the object that begins at ``start`` holds."""
        place = self._known.get(start)
        if place is None and self.credit < 0 and start < self._read_to and not self._scan.begins_at(start):
            return Place([], start, cut=False)
        if place is None:
            place = self._known[start] = self._read(start)
            if not place.items:
                self._vain(start, place.end)
                self._read_to = max(self._read_to, place.end)
        return place

    def _read(self, start: int) -> Place:
        text = self.text
        if text[start] == "{":
            whole = self._json(start)
            if whole is not None:
                return Place(list(items(whole[0])) or parts(whole[0]), whole[1], cut=False)
            inner = layout.literal(text, start)
            if inner is not None:
                self.credit -= inner[1] - start
                found = [Item("text", inner[0], cut=inner[2])] if MARKER.search(inner[0]) else []
                return Place(found, inner[1], inner[2])
        limit = self._scan.end_from(start)
        margin = layout.margin(text, start)
        if margin is None and (joined := layout.unwrapped(text, start, limit)) is not None:
            self.credit -= len(joined[0])
            found = Finder(joined[0], 0).opened(0).items if joined[0] != text[start:] else []
            if any(item.kind != "part" for item in found):
                return Place(found, joined[1], cut=False)
        reading = reader.read(text, start, limit, margin)
        found = [
            each
            for item in items(reading.value)
            for each in (_mended(item.value) if item.kind == "progress" else [item])
        ]
        return Place(found or parts(reading.value), reading.end, reading.cut)

    def _json(self, start: int) -> tuple[Any, int] | None:
        """The JSON value at ``start`` and its end; None when it is none, or not to its end."""
        text, size = self.text, _WINDOW
        while True:
            piece = text[start : start + size]
            try:
                value, length = _decoder.raw_decode(piece)
            except json.JSONDecodeError as error:
                goes_on = error.pos >= len(piece) - 16 or error.msg.startswith("Unterminated string")
                if not goes_on or len(piece) < size or self.credit < 0:
                    self.credit -= min(error.pos, len(piece))
                    return None
                size *= 4
            except (ValueError, RecursionError):
                return None
            else:
                return value, start + length

    def _headless(self, pos: int, marker: re.Match[str]) -> tuple[int, Place]:
        """A record whose beginning is missing: the marker is its first key, or near it."""
        text, at = self.text, marker.start()
        start = _first_line(text, pos, at)
        if "\\" in marker[0]:  # inside a string
            end = _STRING_END.search(text, at).start()  # type: ignore[union-attr] # the end of the text, at last
            inside = text[start:end]
            return start, Place([Item("text", unescape(inside), cut=end == len(text))], end, end == len(text))
        margin = layout.margin(text, max(0, text.rfind("\n", max(0, start - layout.MAX_MARGIN), start)))
        line = _line(text, max(start, text.rfind("\n", pos, at) + 1), at)
        start, end = line or (start, self._scan.end_from(start))
        levels, reading = reader.read_open(text, start, end, margin)
        if levels and text[start] not in "'\"":
            shapes.name_half(levels[0][0])
        value = shapes.assemble(levels)
        found: list[Item] = []
        if value and reading.end > at:
            if shapes.is_progress(value):
                found = _mended(value)
            elif part := shapes.part(value):
                found = [Item("part", part)]
        if found:
            return start, Place(found, reading.end, reading.cut and line is None)
        self._vain(start, reading.end)
        return at, Place([], marker.end(), cut=False)


def parts(value: Any) -> list[Item]:
    """Parts of a record that stand alone; those of one list belong to one record."""
    if isinstance(value, list):
        if len(value) > 1 and any(isinstance(each, dict) and shapes.part(each) for each in value):
            return [Item("part", shapes.assemble([value]))]
        return [item for each in value for item in parts(each)]
    found = shapes.part(value) if isinstance(value, dict) else None
    return [Item("part", found)] if found else []


def _mended(value: dict[str, Any]) -> list[Item]:
    return [Item("progress", each) for each in shapes.mend(value)]


def _line(text: str, start: int, at: int) -> tuple[int, int] | None:
    """Where a line of ``name=value`` pairs lies that is a record of its own, as scripts print one for each batch."""
    if at - start > ENCLOSING:
        return None
    end = text.find("\n", at, at + ENCLOSING)
    if end < 0 and len(text) > at + ENCLOSING:
        return None
    end = len(text) if end < 0 else end + 1
    pairs = _PAIR.findall(text, start, end)
    return (start, end) if len(pairs) > 1 and text.count("{", start, end) == text.count("}", start, end) else None


def _first_line(text: str, pos: int, at: int) -> int:
    """The start of the lines with members that lead to ``at``, where the beginning of a record is missing."""
    start = max(pos, text.rfind("\n", pos, at) + 1)
    while start > pos:
        before = max(pos, text.rfind("\n", pos, start - 1) + 1)
        if not _KEY_LINE.match(text, before, start) or "{" in text[before:start]:
            break
        start = before
    return start
