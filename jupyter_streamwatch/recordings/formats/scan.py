"""Where things stand in one text: the keys of records, their beginnings, open brackets; each is looked for once."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from jupyter_streamwatch.recordings.formats.reader import FOREIGN_LINE
from jupyter_streamwatch.recordings.formats.shapes import BEGIN, CARRIER, MARKER, MARKER_NAMES, able

ENCLOSING: Final = 8_000  # characters before a marker that may lie between it and the brace that opens its record
LONG: Final = 2_000  # characters of a line; a longer one is no sentence of a log
NEAR: Final = 200  # characters before a marker in which the brace that opens its record stands, as a rule
MOST_OPENINGS: Final = 4  # objects around a marker that are tried, the innermost first

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each record holds one of these, ordinary log text none.
_WORDS: Final = (
    "runId", "batchId", "InputRows", "durationMs", "stateOperators", "triggerExecution", "numRows", "queryStatus",
    "Offset", "progressJson", "numRecords", "sources", "RowsPerSecond", "TimeMs", "memoryUsedBytes",
)  # fmt: skip
_DIFFERS = re.compile(r"\d+|\s+|-")
_BRACKET = re.compile(r"[{}()]")
# A brace opens an object when a name, a string, its end, a comment or nothing follows on its line.
_OBJECT = re.compile(
    r"\{(?=[^\S\n]*(?:$|[\n\"'\\}]|[uUbr][\"']|//|#|/\*|<|\.\.|[\w.$@\-]+\s*(?:[:=]|->)|\w+[^\S\n]+\{))"
)
_CALLED: Final = ("Row", "Map", "Dict", "dict", "mappingproxy", "Progress")
_CALL_BEGINS: Final = ("Row(", "Map(", "Progress(")  # of those that BEGIN knows


class _Open(NamedTuple):
    """An open bracket: its sign, where what it opens begins (-1: no object), and the object around it."""

    sign: str
    at: int
    start: int
    around: _Open | None


class Scan:
    """One text, and what was found in it so far. Its parts are asked for in order, from the beginning to the end."""

    def __init__(self, text: str) -> None:
        """Nothing is looked for before it is asked."""
        self.text = text
        self._markers: list[re.Match[str]] | None = None
        self._next = 0
        self._begins: dict[bool, list[int]] = {}
        self._stack: list[_Open] = []
        self._from = self._read_to = 0

    def marker(self, pos: int) -> re.Match[str] | None:
        """The first key from ``pos`` on that may lead to a record."""
        if self._markers is None:
            self._markers = _promising(self.text)
        markers = self._markers
        while self._next < len(markers):
            at = markers[self._next].start()
            if at >= pos and not self._said_in_passing(at):
                return markers[self._next]
            self._next += 1
        return None

    def _said_in_passing(self, at: int) -> bool:
        """Whether the key stands in a sentence of a log between others, in which too little stands for a record."""
        text = self.text
        begin = text.rfind("\n", max(0, at - LONG), at) + 1
        end = text.find("\n", at, at + LONG)
        if end < 0 or not FOREIGN_LINE.match(text, begin) or not FOREIGN_LINE.match(text, end + 1):
            return False
        before = text[begin:at]
        inside = before.count("{") > before.count("}") or before.count("(") > before.count(")")
        if inside or self._goes_on(begin, end, before):
            return False
        here = self._markers_within(begin, end)
        return not able(here, described="description" in text[begin:end])

    def _goes_on(self, begin: int, end: int, before: str) -> bool:
        """Whether a line beside this one begins as this one does before its key: then it may be a margin."""
        text, core = self.text, _alike(before.rstrip(" \t\"'"))
        above = text.rfind("\n", max(0, begin - 1 - LONG), max(0, begin - 1)) + 1
        size = len(before) + 20  # numbers may be longer there
        beside = (text[end + 1 : end + 1 + size], text[above : min(above + size, begin)])
        return any(_alike(line).startswith(core) for line in beside)

    def _markers_within(self, begin: int, end: int) -> set[str]:
        markers = self._markers or []
        first = self._next
        while first and markers[first - 1].start() >= begin:
            first -= 1
        last = self._next
        while last < len(markers) and markers[last].start() < end:
            last += 1
        return {marker[1] for marker in markers[first:last]}

    def end_from(self, start: int) -> int:
        """How far a record that begins at ``start`` may reach: to the next one."""
        return self.next_begin(start, only_braces=self.text[start] == "{")

    def next_begin(self, start: int, *, only_braces: bool = False) -> int:
        """Where the next record is seen to begin after ``start``; the end of the text when none is."""
        begins = self._all_begins(only_braces=only_braces)
        after = bisect_right(begins, start)
        return begins[after] if after < len(begins) else len(self.text)

    def begins_at(self, start: int) -> bool:
        """Whether a record is seen to begin just there."""
        return self.next_begin(start - 1) == start

    def openings(self, pos: int, at: int) -> Iterator[int]:
        """Where objects begin, at ``pos`` or later, that are still open at ``at``; the innermost first."""
        first = max(pos, at - ENCLOSING)
        nearest = self.text.rfind("{", max(first, at - NEAR), at)
        if nearest >= 0 and not _BRACKET.search(self.text, nearest + 1, at) and _OBJECT.match(self.text, nearest):
            yield nearest
        else:
            nearest = -1
        if self._read_to < first:
            self._stack, self._from = [], first
            self._read_to = first
        self._read_brackets(at)
        count = 0
        entry = self._stack[-1] if self._stack else None
        if entry is not None and entry.start < 0:
            entry = entry.around
        while entry is not None and entry.at >= first and count < MOST_OPENINGS:
            count += 1
            if entry.start != nearest:
                yield max(entry.start, first)
            entry = entry.around

    def _read_brackets(self, end: int) -> None:
        text, stack = self.text, self._stack
        for bracket in _BRACKET.finditer(text, self._read_to, end):
            sign, here = bracket[0], bracket.start()
            if sign in "{(":
                opens = _OBJECT.match(text, here) if sign == "{" else text.endswith(_CALLED, self._from, here)
                start = -1 if not opens else here if sign == "{" else _name(text, self._from, here)
                below = stack[-1] if stack else None
                stack.append(_Open(sign, here, start, below if below is None or below.start >= 0 else below.around))
            elif sign == "}":
                while stack and stack.pop().sign != "{":
                    pass
            elif stack and stack[-1].sign == "(":
                stack.pop()
        self._read_to = max(end, self._read_to)

    def _all_begins(self, *, only_braces: bool) -> list[int]:
        if not self._begins:
            text = self.text
            braces = [at for at in _places(text, "{") if BEGIN.match(text, at)]
            calls = []
            for at in sorted({at for word in _CALL_BEGINS for at in _places(text, word)}):
                start = at if word_begins(text, at) else _name(text, 0, at)
                if BEGIN.match(text, start):
                    calls.append(start)
            self._begins = {True: braces, False: sorted({*braces, *calls})}
        return self._begins[only_braces]


def _alike(line: str) -> str:
    """A line without what differs from line to line where the same is said."""
    return _DIFFERS.sub("0", line)


def word_begins(text: str, at: int) -> bool:
    """Whether no part of the word at ``at`` stands before it."""
    return at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "_")


def _places(text: str, word: str) -> list[int]:
    """Where a word stands, from the first on."""
    found = []
    at = text.find(word)
    while at >= 0:
        found.append(at)
        at = text.find(word, at + len(word))
    return found


def _promising(text: str) -> list[re.Match[str]]:
    """The keys of records without those around which too little stands for a record or a part of one."""
    if not any(word in text for word in _WORDS):
        return []
    places = sorted({at for name in MARKER_NAMES for at in _places(text, name)})
    markers = [marker for at in places if (marker := MARKER.match(text, at))]
    carries: bool | None = None
    described = "description" in text
    kept: list[re.Match[str]] = []
    first = 0
    for last, marker in enumerate(markers):
        if last + 1 < len(markers) and markers[last + 1].start() - marker.end() <= ENCLOSING:
            continue
        group = markers[first : last + 1]
        first = last + 1
        if not able({one[1] for one in group}, described=described):
            carries = CARRIER.search(text) is not None if carries is None else carries
            if not carries:
                continue
        kept += group
    return kept


def _name(text: str, first: int, end: int) -> int:
    """Where the name before a bracket begins."""
    while end > first and (text[end - 1].isalnum() or text[end - 1] == "_"):
        end -= 1
    return end
