"""What surrounds a record in pasted text: margins before its lines, hard line wraps, string literals, markup."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from jupyter_streamwatch.recordings.formats.literals import unescape

_ANSI = re.compile(r"(?:\x1b|\\x1b|\\u001b|\\033|\u241b)\[[0-9;?]*[A-Za-z]")
_ESCAPES: Final = ("\x1b", "\\x1b", "\\u001b", "\\033", "\u241b")
_LOST_ANSI = re.compile(r"\[\d{1,2}(?:;\d{1,3})*m")
_TAG = re.compile(
    r"</?(?:br|pre|code|span|div|p|b|i|em|strong|td|tr|table|tbody|font|html|body|samp|tt)\b[^<>]{0,300}>",
    re.IGNORECASE,
)
_SAFE_ESCAPE = re.compile(r"\\u(00[2-7][0-9a-fA-F])")  # of JSON made safe for HTML
_CURLY_KEY = re.compile(r"[“”„][\w.]+[“”„]\s*[:,}\]]")
_CURLY = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})

_LINE_KEY = re.compile(
    r"([^\n]*?)(?:u?[\"'][\w@.\-]+[\"']|\b(?:id|runId|batchId|numInputRows|\w{1,40}PerSecond|durationMs)\b)\s*[:=]"
)
_STRUCTURE: Final = frozenset("{}[](), \t")
MAX_MARGIN: Final = 300  # characters; more is no margin
MAX_WIDTH: Final = 4_000  # characters of a line that a terminal broke
NARROWEST: Final = 60  # columns of a terminal that breaks lines
WIDEST: Final = 250
_NEW_LINE = re.compile(
    r"\s|$|[>#*|]\s|//|\{|\[?\d{2,4}[-/.]\d\d?[-/.]\d\d?[ T]|\d\d:\d\d:\d\d|[A-Z][A-Za-z]* (?!=)"
    r"|[\w.$]+(?:Exception|Error)\b|Caused by|Traceback"
)
_MAX_LINE: Final = 1 << 16  # characters of a line whose beginning is looked at for a margin

_JOINT = re.compile(r"[\"']\s*(?:\+|\\\n)\s*(?=[\"'])")  # between the pieces of a string in source code
_AFTER_BRACE = re.compile(r"[\[\s]*\{((?:\s|\\+[nrt])*)(\\*)(\"\"\w|[\"'])?")


def clean(text: str) -> str:
    """Take away terminal colours and markup, and make curly quotes straight where they quote names."""
    if "[" in text:
        if any(escape in text for escape in _ESCAPES):
            text = _ANSI.sub("", text)
        if len(_LOST_ANSI.findall(text[:100_000])) > 3:
            text = _LOST_ANSI.sub("", text)
    if "&quot;" in text or "&#34;" in text or "&#39;" in text or "&#x27;" in text:
        text = html.unescape(_TAG.sub(_line_break, text.replace("&nbsp;", " ")))
    elif "<span" in text or "<br" in text:
        text = _TAG.sub(_line_break, text)
    if "\\u0022" in text:
        text = _SAFE_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    if "%22runId%22" in text:
        text = unquote(text)
    if ("“" in text or "”" in text) and _CURLY_KEY.search(text):
        text = text.translate(_CURLY)
    return text


def _line_break(tag: re.Match[str]) -> str:
    return "\n" if tag[0].lower().startswith(("<br", "</p", "</div", "</tr", "<pre", "</pre")) else ""


def margin(text: str, start: int) -> re.Pattern[str] | None:
    """What precedes the content of each line after the one of ``start``: comment signs, quote marks, a log prefix."""
    lines = _next_lines(text, start, 6)
    keyed = next((found for line in lines if (found := _LINE_KEY.match(line))), None)
    if keyed is None:
        return None
    core = keyed[1].strip()
    if not core or len(core) > MAX_MARGIN or set(core) <= _STRUCTURE:
        return None
    pattern = re.compile(r"[^\S\n]*" + _general(core))
    others = [line for line in lines if line.strip()][:4]
    if sum(1 for line in others if pattern.match(line)) * 2 <= len(others):
        return None
    return pattern


def _next_lines(text: str, start: int, count: int) -> list[str]:
    lines: list[str] = []
    at = text.find("\n", start, start + _MAX_LINE)
    while at >= 0 and len(lines) < count:
        end = text.find("\n", at + 1, at + _MAX_LINE)
        lines.append(text[at + 1 : min(end if end >= 0 else len(text), at + 2001)])
        at = end
    return lines


@lru_cache(maxsize=256)  # the lines of a log begin alike
def _general(core: str) -> str:
    """A pattern for this margin on other lines: numbers and times differ, ``grep`` swaps ``:`` and ``-``."""
    if core in ("+", "-"):
        return "[-+]?"
    parts = []
    for piece in re.findall(r"\d+|\s+|[A-Za-z_]+|.", core):
        if piece.isdigit():
            parts.append(r"\d+")
        elif piece.isspace():
            parts.append(r"\s+")
        elif piece in ":-":
            parts.append("[:-]")
        else:
            parts.append(re.escape(piece))
    return "".join(parts)


def rejoined(text: str) -> str:
    """The text with the lines put together that a terminal broke at its width; as it is where nothing shows a width.

    A width shows where the longest line is as long as others are, and what follows each goes on in the middle.
    """
    lines = text.split("\n")
    width = max(map(len, lines), default=0)
    full = [at for at, line in enumerate(lines[:-1]) if len(line) == width]
    if not NARROWEST <= width <= WIDEST or not full or any(_NEW_LINE.match(lines[at + 1]) for at in full):
        return text
    if len(full) == 1 and lines[full[0]].count("[") <= lines[full[0]].count("]"):
        return text  # one line is always the longest
    joined: list[str] = []
    goes_on = False
    for line in lines:
        if goes_on:
            joined[-1] += line
        else:
            joined.append(line)
        goes_on = len(line) == width
    return "\n".join(joined)


def unwrapped(text: str, start: int, limit: int) -> tuple[str, int] | None:
    """Join the lines of a text that a terminal broke at a fixed width, at most up to ``limit``.

    Returns:
        The text from ``start`` on without those breaks and the end of it in ``text``; None when nothing was broken.
    """
    begin = text.rfind("\n", max(0, start - MAX_WIDTH), start) + 1
    first = text.find("\n", start, min(limit, start + MAX_WIDTH))
    width = first - begin
    if first < 0 or width < 40 or text.count("{", start, first) == text.count("}", start, first):
        return None
    pieces = [text[start:first]]
    at = first + 1
    while True:
        end = text.find("\n", at, min(limit, at + width + 1))
        end = limit if end < 0 else end
        if end - at > width or not text[at:end].strip():
            break
        pieces.append(text[at:end])
        full = end - at == width
        at = end + 1
        if not full or end == limit:
            break
    return ("".join(pieces), min(at, limit)) if len(pieces) > 1 else None


def literal(text: str, start: int) -> tuple[str, int, bool] | None:
    """The content of a string literal (or CSV field) that holds the object at ``start`` in escaped form.

    Returns:
        The content with one level of escapes resolved, where it ends, and whether the text ends first; or None.
    """
    found = _AFTER_BRACE.match(text, start)
    if found is None:
        return None
    spaced, slashes, quote = found[1], found[2], found[3]
    before = text[start - 1] if start else ""
    if before == "[" and start > 1:
        before = text[start - 2]
    if quote and len(quote) > 1:
        end = re.compile(r'(?:[^"]|"")*').match(text, start).end()  # type: ignore[union-attr] # matches the empty text
        return text[start:end].replace('""', '"'), end, end == len(text)
    delimiter = before if before in ("'", '"') else '"' if slashes else ""
    if not delimiter:
        return None
    if text[max(0, start - 3) : start] == delimiter * 3 and not slashes and "\\" not in spaced:
        return None
    body = re.compile(rf"(?:[^{delimiter}\\]|\\.)*", re.DOTALL)
    end = body.match(text, start).end()  # type: ignore[union-attr] # it matches the empty text
    pieces = [text[start:end]]
    while (joint := _JOINT.match(text, end)) and text[end] == text[joint.end()] == delimiter:
        end = body.match(text, joint.end() + 1).end()  # type: ignore[union-attr] # it matches the empty text
        pieces.append(text[joint.end() + 1 : end])
    if len(pieces) == 1 and "\\" not in spaced and not slashes:
        return None
    return "".join(map(unescape, pieces)), end, end >= len(text)
