"""The lines of an error as they were printed: without quote marks, log prefixes, escapes and hard line breaks."""

from __future__ import annotations

import html
import re
from collections import Counter
from itertools import pairwise
from typing import Final

from jupyter_streamwatch.text.numbers import middle

MAX_TEXT: Final = 1 << 20  # characters that are read: the first three quarters and the last one
MAX_LINE: Final = 4_000  # characters of one line; longer ones are plans or rows
_MARGINS: Final = 5  # quote marks within quote marks
_NARROW: Final = 40  # no terminal is narrower
_PIECES: Final = 20  # lines of the terminal that one line may have had
_WRAPPED: Final = 3  # lines of one length, and none longer: a terminal's width, no chance

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_ESCAPED = re.compile(r"\\r?\\n(?=\\t|\s|at |Caused by|Traceback|[a-z]+\.)")
_TAGS = re.compile(r"<br ?/?>", re.IGNORECASE)
_MARGIN = re.compile(r"[ \t]{0,8}(>|\*|#|//|\||--|;)(?: |(?=\t|$|>))")
# What stands before a frame or a cause in the output of a log shipper: "spark-1  | ", "2026-03-09T08:07:06Z stderr F ".
_PREFIXED = re.compile(r"(\S[^\n]{0,150}?)(?:[ \t]+at [\w.$/@<>-]+\(|[ \t]*Caused by: |[ \t]+File \")")
_NUMBER = re.compile(r"\d+")
_FRAME_OPEN = re.compile(r"[ \t]*at [\w.$/@<>-]+(?:\([^()]{0,300})?$")
# What begins a line of its own, however long the line before it was.
_BEGINS = re.compile(r"\s*(?:at \S|Caused by: |\.\.\. \d+ |File \"|Traceback \(|Driver stacktrace:|Suppressed: )")
_ALONE = re.compile(r"[ \t]*(?:at|Caused by:)[ \t]*$")


def lines_of(text: str) -> list[str]:
    """The lines of an error's text, each bounded, without what a mail, a comment, a log or a terminal put around them.

    The work grows with the text's length alone.
    """
    if len(text) > MAX_TEXT:
        text = text[: MAX_TEXT * 3 // 4] + "\n" + text[-MAX_TEXT // 4 :]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\\n" in text and ("\\tat " in text or "\\nCaused by" in text or '\\n  File \\"' in text):
        text = _ESCAPED.sub("\n", text).replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    if "&gt;" in text or "&lt;" in text or "&quot;" in text:
        text = html.unescape(_TAGS.sub("\n", text))
    lines = _unmargined(text.replace("\N{NO-BREAK SPACE}", " ").split("\n"))
    return [middle(line.rstrip(), MAX_LINE) for line in _unwrapped(_unprefixed(lines))]


def _unmargined(lines: list[str]) -> list[str]:
    """Take off the marks of quotes, comments and boxes that most lines begin with."""
    for _ in range(_MARGINS):
        filled = [line for line in lines if line.strip()]
        marks = Counter(mark[1] for line in filled if (mark := _MARGIN.match(line)))
        if not marks:
            break
        sign, count = marks.most_common(1)[0]
        if count * 3 < len(filled) * 2:
            break
        lines = [
            line[mark.end() :] if (mark := _MARGIN.match(line)) is not None and mark[1] == sign else line
            for line in lines
        ]
    return lines


def _unprefixed(lines: list[str]) -> list[str]:
    """Take off what a log shipper put before each line, where the frames show it."""
    heads: Counter[str] = Counter()
    for line in lines:
        before = _PREFIXED.match(line)
        if before is not None:
            heads[_NUMBER.sub("0", before[1].rstrip())] += 1
    if not heads:
        return lines
    head, count = heads.most_common(1)[0]
    if count < 2:
        return lines
    pattern = re.compile(r"\d+".join(re.escape(part) for part in head.split("0")) + " ?")
    return [line[found.end() :] if (found := pattern.match(line)) else line for line in lines]


def _unwrapped(lines: list[str]) -> list[str]:
    """Join lines that a terminal broke at its width, and frames that a mail program broke at a space."""
    width = max(map(len, lines), default=0)
    broken = sum(
        len(line) == width and bool(after.strip()) and not _BEGINS.match(after) for line, after in pairwise(lines)
    )
    wrapped = width >= _NARROW and broken >= _WRAPPED
    joined: list[str] = []
    pieces = 0
    is_open = False
    for line in lines:
        if is_open and line.strip() and pieces < _PIECES and not _BEGINS.match(line):
            last = joined[-1]
            joined[-1] = last.rstrip() + " " + line.lstrip() if _ALONE.match(last) else last + line
            pieces += 1
        else:
            joined.append(line)
            pieces = 0
        is_open = (wrapped and len(line) == width) or _is_open(joined[-1])
    return joined


def _is_open(line: str) -> bool:
    return len(line) < MAX_LINE and (_ALONE.match(line) is not None or _FRAME_OPEN.match(line) is not None)
