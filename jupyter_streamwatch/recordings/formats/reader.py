"""A reader for objects as people paste them: JSON, Python, Java and Scala notation, whole or damaged.

It reads what is certain and leaves out the rest: a number or a string that the end of the text cuts is
not there, never a wrong one. It never raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from jupyter_streamwatch.recordings.formats.literals import ESCAPE, MISSING, construct, unescape, word

MAX_DEPTH: Final = 60  # progress nests eight deep; deeper is an attack on the stack
MAXFOREIGN_LINES: Final = 40  # other lines tolerated inside a record before it counts as cut
MAX_COMMENT: Final = 1 << 14  # characters between the signs of a comment
MAX_AFTER_LOG_LINE: Final = 4  # of those, where the line of a log is all that the beginning is known from

_SPACE = re.compile(r"(?:[^\S\n]|\\[nrt]|\\(?=\n)|[\u200b\u200e\u2060\ufeff])*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|(?:<[-=<]|[←⟵⬅])[^\n]*")
_BLOCK_COMMENTS: Final = (("/*", "*/"), ("<!--", "-->"))
_SEPARATOR = r"\s*(?::(?!//)|=>|->|=(?!=))"
_QUOTED_KEY = re.compile(r"[uUbBrR]{0,2}(?:\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)')" + _SEPARATOR)
_BARE_KEY = re.compile(r"([A-Za-z0-9_$@.\-/]+)[\"']?" + _SEPARATOR)
# HOCON leaves the sign out before a brace.
_BLOCK = re.compile(r"([A-Za-z_][\w.\-]*)[^\S\n]+(?=\{[^\S\n]*\n|\[\s*\{\s)")
_HALF_KEY = re.compile(r"[\"']([\w.\-]+)" + _SEPARATOR)
_STRING = re.compile(r"[uUbBrRfF]{0,2}(\"\"\"|'''|\"|')")
_NUMBER = re.compile(
    r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?P<suffix>[LlfFdD]?)(?=[\s,}\])#;]|//|/\*|\\[nrt]|$)"
)
_CALL = re.compile(r"(?:new\s+)?([A-Za-z_][\w.]*)\(")
_EMBEDDED = re.compile(r"[\"'](?=[{\[]\s*[\"'])")
_VALUE_ENDS = re.compile(r"\s*(?:[,}\]);\"'#]|\\[nrt]|//|<|$)|[^\S\n]*\n")
_NEXT_LINE = re.compile(r"\s*(?:[\"']?[\w.\-]+[\"']?\s*[:=]|[}\]]|\{\s*(?:[\"'\n]|$))")
_MARKS = re.compile(r"[\[\](){},\n\"<>]|\\[nrt]|[^\S\n](?=[A-Za-z_]\w*=[^=\s])")  # what may end an unquoted value
_JUNK = re.compile(r"\[[^\[\]{}\"'\n]{0,80}\]|[^\n\"'{}\[\],\\]+|.", re.DOTALL)
FOREIGN_LINE = re.compile(
    r"\s*(?:\[?\d{2,4}[-/.]\d\d?[-/.]\d{1,4}[ T,]\s*\d\d?:\d\d|\d\d:\d\d:\d\d[.,\s]"
    r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\b|\[Stage \d|at [\w.$]+\(|\+-[-+]*\+|-{4,}|={4,}"
    r"|Batch: \d|only showing top|scala>|>>>|In ?\[|Out ?\[|Traceback|Caused by|```)"
)
_NAMES: Final = frozenset({"id", "runId"})
_ONCE: Final = frozenset({"timestamp", "batchId", "numInputRows", "durationMs"})
_OF_A_SOURCE: Final = frozenset({"description", "startOffset", "endOffset"})  # whose brace may be missing
_OPENS = re.compile(r"made progress|[{(]\s*$|```")  # where a code block of Markdown ends, its record does


@dataclass(frozen=True)
class Reading:
    """What was read: the value, where reading ended, and whether the text stops inside it."""

    value: Any
    end: int
    cut: bool


def read(text: str, start: int, end: int, margin: re.Pattern[str] | None = None) -> Reading:
    """Read the value from ``start``, at most to ``end``; ``margin`` precedes the content of each further line."""
    reader = _Reader(text, start, end, margin)
    value = reader.value()
    return Reading(None if value is MISSING else value, reader.pos, reader.cut or reader.stopped)


def read_open(
    text: str, start: int, end: int, margin: re.Pattern[str] | None = None
) -> tuple[list[list[Any]], Reading]:
    """Read an object whose beginning is missing, from one of its members on.

    Returns:
        The levels from the innermost out: each the objects that stand side by side on it; and how far it was read.
    """
    first = margin.match(text, start, end) if margin else None
    reader = _Reader(text, first.end() if first else start, end, margin)
    if margin is None and reader.log_line(text.rfind("\n", 0, start) + 1):
        reader.foreign = MAXFOREIGN_LINES - MAX_AFTER_LOG_LINE
    levels: list[list[Any]] = []
    while not reader.done():
        level: list[Any] = [reader.members()]
        while reader.next_is(",", "{"):
            level.append(reader.value())
        levels.append(level)
        while reader.take("]"):
            pass
        if not reader.next_is(","):
            break
    return levels, Reading(None, reader.pos, reader.cut or reader.stopped)


class _Reader:
    """Recursive descent over one text; ``cut`` when it ends inside, ``stopped`` where another record begins."""

    def __init__(self, text: str, pos: int, end: int, margin: re.Pattern[str] | None) -> None:
        self.text = text
        self.pos = pos
        self.end = end
        self.margin = margin
        self.cut = False
        self.stopped = False
        self.depth = 0
        self.arrays = 0
        self.foreign = 0
        self.root: dict[str, Any] | None = None

    def done(self) -> bool:
        """Skip to the next token; True at the end of the text or of the record."""
        while not self.stopped:
            self.pos = self._match(_SPACE).end()  # type: ignore[union-attr] # it matches the empty text
            if self.pos >= self.end:
                self.cut = True
                return True
            if self.text[self.pos] == "\n":
                self.pos += 1
                self._line()
            elif comment := self._comment():
                self.pos = comment
            else:
                return False
        return True

    def next_is(self, *tokens: str) -> bool:
        """Whether these tokens follow; all but the last, or the only one, are taken."""
        before = self.pos, self.cut
        for index, token in enumerate(tokens):
            if self.done() or self.text[self.pos] != token:
                self.pos, self.cut = before
                return False
            if index < len(tokens) - 1 or len(tokens) == 1:
                self.pos += 1
        return True

    def take(self, token: str) -> bool:
        """Take the token if it follows."""
        return self.next_is(token)

    def value(self) -> Any:
        """Read one value; ``MISSING`` where none stands or the text ends in it."""
        if self.done():
            return MISSING
        if self.text[self.pos] in ",}])" or self.depth > MAX_DEPTH:
            return MISSING
        self.depth += 1
        value = self._of_kind(self.text[self.pos])
        self.depth -= 1
        return value

    def _of_kind(self, first: str) -> Any:
        if first in "{[(":
            self.pos += 1
            return self.members() if first == "{" else self._array("]" if first == "[" else ")")
        if self._match(_STRING):
            return self._string()
        if number := self._match(_NUMBER):
            return self._number(number)
        call = self._match(_CALL)
        return self._call(call) if call else self._bare()

    def members(self) -> dict[str, Any]:
        """Read members up to the closing brace."""
        out: dict[str, Any] = {}
        if self.root is None:
            self.root = out
        while not self.done():
            here = self.text[self.pos]
            if here == "}":
                self.pos += 1
                break
            if here == "]" and self.arrays:
                break
            if here == "{":  # an object where a name must stand: another record, this one was cut
                self.stopped = True
                break
            start = self.pos
            key = None if here == "," else self._key()
            if key is None:
                self._junk()
            elif self._begins(key, out):
                self.pos = start
                self.stopped = True
            elif (value := self.value()) is not MISSING and not (key in _ONCE and key in out):
                out[key] = value
        return out

    def _begins(self, key: str, inside: dict[str, Any]) -> bool:
        """Whether another record begins with this key: it is there already, and not as that of a source."""
        if key in inside:
            of_a_source = key == "numInputRows" and inside.keys() & _OF_A_SOURCE
            return key in _NAMES or (key in _ONCE and inside is self.root and not of_a_source)
        return key == "runId" and key in (self.root or ())

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return pattern.match(self.text, self.pos, self.end)

    def _comment(self) -> int | None:
        """Where the comment ends that begins here; None where none does."""
        for opening, closing in _BLOCK_COMMENTS:
            if self.text.startswith(opening, self.pos):
                longest = min(self.end, self.pos + MAX_COMMENT)
                end = self.text.find(closing, self.pos + len(opening), longest)
                return end + len(closing) if end >= 0 else None
        comment = self._match(_COMMENT)
        return comment.end() if comment else None

    def log_line(self, start: int) -> bool:
        """Whether the line that begins at ``start`` is one of a log, a table or a trace."""
        return FOREIGN_LINE.match(self.text, start, self.end) is not None

    def _line(self) -> None:
        """Step over the margin of a new line, and over lines of somebody else."""
        if self.margin and (margin := self._match(self.margin)):
            self.pos = margin.end()
        if not self._match(FOREIGN_LINE):
            return
        end = self.text.find("\n", self.pos, self.end)
        end = self.end if end < 0 else end
        self.foreign += 1
        if _OPENS.search(self.text, self.pos, end) or self.foreign > MAXFOREIGN_LINES:
            self.stopped = True
        else:
            self.pos = end

    def _key(self) -> str | None:
        found = self._match(_QUOTED_KEY) or self._match(_BARE_KEY) or self._match(_HALF_KEY) or self._match(_BLOCK)
        if found is None:
            return None
        self.pos = found.end()
        return unescape(next(group for group in found.groups() if group is not None))

    def _junk(self) -> None:
        self.pos = self._match(_JUNK).end()  # type: ignore[union-attr] # it matches any character

    def _array(self, close: str) -> Any:
        out: list[Any] = []
        commas = 0
        self.arrays += 1
        while not self.done():
            here = self.text[self.pos]
            if here == close:
                self.pos += 1
                break
            if here == "}" or (close == "]" and self._match(_QUOTED_KEY)):
                break  # its closing bracket is missing
            if here == ",":
                self.pos += 1
                commas += 1
            elif (value := self.value()) is MISSING:
                if not self.cut and not self.stopped:
                    self._junk()
            else:
                out.append(value)
        self.arrays -= 1
        if close == ")" and len(out) == 1 and not commas:
            return out[0]  # only parentheses, as pprint puts around long strings
        return out

    def _number(self, found: re.Match[str]) -> Any:
        self.pos = found.end()
        if self.pos >= self.end:
            self.cut = True
            return MISSING
        digits = found[0].replace("_", "")
        digits = digits[:-1] if found["suffix"] else digits
        try:
            return int(digits)
        except ValueError:
            try:
                return float(digits)
            except ValueError:
                return MISSING

    def _string(self) -> Any:
        if embedded := self._match(_EMBEDDED):  # JSON in a string whose inner quotes were never escaped
            self.pos = embedded.end()
            value = self.value()
            self.pos += self.pos < self.end and self.text[self.pos] == embedded[0]
            return value
        value = self._one_string()
        while isinstance(value, str) and not self.done() and self._match(_STRING) and not self._match(_QUOTED_KEY):
            more = self._one_string()  # adjacent literals are one string, as pprint wraps them
            value = value + more if more is not MISSING else MISSING
        return value

    def _one_string(self) -> Any:
        opening = self._match(_STRING)
        quote = opening[1]  # type: ignore[index] # the caller saw it
        self.pos = opening.end()  # type: ignore[union-attr]
        stop = re.compile(rf"{quote}|\\|\n" if len(quote) == 1 else rf"{quote}|\\")
        parts: list[str] = []
        while special := stop.search(self.text, self.pos, self.end):
            parts.append(self.text[self.pos : special.start()])
            self.pos = special.end()
            if special[0] == "\\":
                escape = self._match(ESCAPE)
                parts.append(unescape("\\" + escape[0]) if escape else "\\")
                self.pos = escape.end() if escape else self.pos
            elif special[0] == "\n":
                if self._ends_here():
                    return "".join(parts).rstrip().rstrip(",")
            elif len(quote) == 3 or self._match(_VALUE_ENDS):
                return "".join(parts)
            else:
                parts.append(quote)  # a quote inside, not escaped
        self.pos = self.end
        self.cut = True
        return MISSING

    def _ends_here(self) -> bool:
        """At a line break in a string: was its closing quote lost (True) or was the line wrapped?"""
        start = self.pos
        if self.margin and (margin := self._match(self.margin)):
            self.pos = margin.end()
        if self._match(_NEXT_LINE) or self._match(FOREIGN_LINE):
            self.pos = start - 1
            return True
        return False

    def _call(self, found: re.Match[str]) -> Any:
        start = self.pos
        self.pos = found.end()
        positional: list[Any] = []
        named: dict[str, Any] = {}
        while not self.done():
            here = self.text[self.pos]
            if here == ")":
                self.pos += 1
                break
            if here in "}]":
                break
            if here != "," and (key := self._key()) is not None:
                if (value := self.value()) is not MISSING:
                    named[key] = value
            elif here == "," or (value := self.value()) is MISSING:
                if not self.cut and not self.stopped:
                    self._junk()
            else:
                positional.append(value)
        value = construct(found[1], positional, named)
        if value is MISSING and not self.cut:  # not a constructor that we know: it is text
            self.pos = start
            return self._bare()
        return value

    def _bare(self) -> Any:
        start = self.pos
        nesting: list[str] = []
        for found in _MARKS.finditer(self.text, start, self.end):
            mark = found[0]
            self.pos = found.start()
            if mark in "[(<" or (mark == "{" and nesting):
                nesting.append({"[": "]", "(": ")", "{": "}", "<": ">"}[mark])
            elif nesting and mark == nesting[-1]:
                nesting.pop()
            elif mark != ">" and (not nesting or mark[0] in '\n"\\'):
                return word(self.text[start : self.pos])
        self.pos = self.end
        self.cut = True
        return MISSING
