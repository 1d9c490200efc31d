"""Where a value ends: in quotes at any depth of escapes, in brackets, in a list of pairs, on its line.

Each function reads no further than the text it says is the value's, or a bounded piece more: so all of a text is read
about once, whatever it holds. Where an end is missing, more is taken rather than less.
"""

from __future__ import annotations

import re

_LOOK_AHEAD = 1_000  # how far the end of a value with spaces is looked for, where none may come
_ELEMENT_LENGTH = 4_000  # how far the end of an element of elements is looked for
_OPENING = "([{"
_CLOSING = ")]}"

# A quote or a bracket ends a value when no more of a value can follow.
_AFTER = re.compile(r"$|[\s,;:&|<>()\[\]{}\"'`\\]|[.!?](?:\s|$)")
_NAMED = r"\\*[\"']?[\w.\-]{1,100}\\*[\"']?[ \t]*(?:=|->|:(?!//))"
_PAIR = re.compile(rf"[ \t]*{_NAMED}")
# The line end of a text inside a JSON text, where what follows shows that it is one.
_LINE_END = re.compile(rf"\\+(?:r\\+)?n(?:$|\s|\\|\"|Caused by|at |org\.|java\.|{_NAMED})")
_STOP = re.compile(r"\\+|[\s,;&|\"'`<()\[\]{}]")
_SPREAD = re.compile(
    r"\n|;|[()\[\]{}]|(?<!\\)\\*[\"'`]|(?<!\\)\\+(?:r\\+)?n"
    rf"|(?<![ \t,&|])(?:[,&|][ \t]*|[ \t]+)(?={_NAMED})"
)
_OPENS_LINES = re.compile(r"\w*[\[{(][ \t]*\r?\n")
_BRACKET = re.compile(r"[\"'()\[\]{}]")


def line_end(text: str, start: int) -> int:
    """Where the line ends."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def run_start(text: str, start: int, at: int) -> int:
    """Where the run of backslashes before ``at`` begins, not before ``start``."""
    first = at
    while first > start and text[first - 1] == "\\":
        first -= 1
    return first


def quoted_end(text: str, start: int, slashes: int, quote: str) -> int:
    r"""Where the text ends that began before ``start`` with the quote behind so many backslashes.

    At each level of escapes a quote inside has one backslash more than twice as many. A text without an end goes on to
    the end of its line: it was cut.
    """
    limit = line_end(text, start)
    at = text.find(quote, start, limit)
    behind = start
    while at >= 0:
        first = run_start(text, behind, at)
        if _closes(quote, at - first, slashes) and _AFTER.match(text, at + len(quote)):
            return max(at - slashes, first)
        behind = at + 1
        at = text.find(quote, behind, limit)
    return limit


def element_end(text: str, start: int) -> int:
    """Where the text of an XML element ends that begins at ``start``."""
    raw = text.startswith("<![CDATA[", start)
    end = text.find("]]>" if raw else "<", start)
    if end < 0:
        return len(text)
    return end + len("]]>") if raw else end


def bracketed_end(text: str, start: int, limit: int) -> int:
    """Where the bracket that opens at ``start`` has closed; ``limit`` when it does not before that."""
    depth = 0
    inside: tuple[str, int] | None = None
    behind = start
    for match in _BRACKET.finditer(text, start, limit):
        character, at = match[0], match.start()
        if character in "\"'":
            slashes = at - run_start(text, behind, at)
            if inside is None:
                inside = character, slashes
            elif inside[0] == character and _closes(character, slashes, inside[1]):
                inside = None
        elif inside is None:
            depth += 1 if character in _OPENING else -1
            if depth == 0:
                return match.end()
        behind = match.end()
    return limit


def structure_limit(text: str, start: int, *, quoted_name: bool) -> int:
    """How far the bracket at ``start`` may reach: over lines in JSON, and where its line ends with it."""
    return len(text) if quoted_name or _OPENS_LINES.match(text, start) else line_end(text, start)


def nested_element_end(text: str, start: int, tag: str) -> int:
    """Where the XML element of this tag ends that begins at ``start`` with another one; -1 if it does not soon."""
    return text.find(f"</{tag}>", start, start + _ELEMENT_LENGTH)


def bare_end(text: str, start: int) -> int:  # noqa: C901, PLR0911 - one a character
    """Where a value without quotes ends; commas, semicolons, brackets and quotes may be part of it."""
    depth = 0
    at = start
    while match := _STOP.search(text, at):
        stop, character = match.start(), match[0][0]
        at = match.end()
        if character.isspace():
            return stop
        if character == "\\":
            if at < len(text) and text[at] in "\"'`" and _AFTER.match(text, at + 1):
                return stop
            if _LINE_END.match(text, stop):
                return stop
        elif character in ",;&|":
            if _separates(text, at):
                return stop
        elif character == "<":
            if text.startswith("/", at):
                return stop
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING and depth:
            depth -= 1
        elif _AFTER.match(text, at):
            return stop
    return len(text)


def spread_end(text: str, start: int, end: int, *, open_end: bool) -> int:  # noqa: C901, PLR0911 - one a character
    """Where a value with spaces ends that began at ``start`` and goes on behind ``end``.

    Args:
        text: The text.
        start: The first character of the value.
        end: Its first space, or what separates it from what follows.
        open_end: Whether the end of the line may end it. Where not, and nothing else does, it ends at ``end``.
    """
    depth = sum((character in _OPENING) - (character in _CLOSING) for character in text[start : min(end, start + 200)])
    limit = len(text) if open_end else min(len(text), end + _LOOK_AHEAD)
    at = end
    while match := _SPREAD.search(text, at, limit):
        stop, found = match.start(), match[0]
        at = max(match.end(), at + 1)
        if found == "\n" or found.endswith("n"):
            return stop if open_end else end
        if found == ";":
            if at >= len(text) or text[at] in "\r\n" or _PAIR.match(text, at):
                return stop
        elif found in _OPENING:
            if not open_end:
                return end
            depth += 1
        elif found in _CLOSING:
            depth -= 1
            if depth < 0 and _AFTER.match(text, at):
                return stop
        elif found[-1] in "\"'`":
            if _AFTER.match(text, at):
                return stop if open_end else end
        else:
            return stop
    return limit if open_end else end


def goes_on(text: str, end: int) -> bool:
    """Whether a value with spaces may go on behind the end of its first word."""
    if text[end : end + 1] in (" ", "\t"):
        return True
    return text[end : end + 2] in (", ", ",\t") and not _PAIR.match(text, end + 1)


def _separates(text: str, at: int) -> bool:
    """Whether the comma, semicolon or ampersand before ``at`` ends a value."""
    return at >= len(text) or text[at].isspace() or text[at] in "\"'`)]}\\" or _PAIR.match(text, at) is not None


def _closes(quote: str, slashes: int, opened: int) -> bool:
    """Whether a quote behind so many backslashes closes what one behind ``opened`` opened."""
    if slashes <= opened:
        return True
    # A single quote gets no backslash of its own where the text is put into JSON, so more of them tell nothing.
    return quote[0] == '"' and (slashes - opened) % (2 * (opened + 1)) == 0
