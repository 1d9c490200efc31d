"""Names and values: settings, parameters, headers, JSON, XML, options of programs and calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_streamwatch.text.redaction import extents, signs
from jupyter_streamwatch.text.redaction.harmless import is_harmless
from jupyter_streamwatch.text.redaction.mark import REDACTED, Span
from jupyter_streamwatch.text.redaction.names import secret_name, words

if TYPE_CHECKING:
    from collections.abc import Iterator

_RIGHT = re.compile(r"[\w.\-$]*")
_FARTHEST = 120  # characters of a name, before the word and after it
_BEFORE = 60  # characters before a name that say what it is
_OPEN_QUOTE = re.compile(r"[bBfFrRuU]?(?P<slashes>\\*)(?P<quote>\"\"\"|'''|[\"'`])")
_SCHEME = re.compile(
    r"(?P<scheme>bearer|basic|digest|negotiate|ntlm|token|apikey|aws4-hmac-sha256|sharedkey|sharedkeylite"
    r"|sharedaccesssignature|oauth|hawk)[ \t]+(?=\S)",
    re.IGNORECASE,
)
_WITH_PARAMETERS = {"digest", "oauth", "hawk"}
_WITH_NAMES = {"aws4-hmac-sha256", "sharedaccesssignature"}  # found by the names of their parameters
_CALL = re.compile(r"[A-Z]\w{0,30}(?=\()")
_BLOCK = re.compile(r"(?:!\w+[ \t]+)?[|>][+\-]?\d?[ \t]*\n(?P<indent>[ \t]+)(?P<body>[^\n]*(?:\n(?P=indent)[^\n]*)*)")


def find(text: str) -> Iterator[Span]:
    """Find the values under the names of secrets."""
    at = 0
    for match in words(text):
        if match.start() < at:
            continue
        first = match.start()
        while first > max(at, match.start() - _FARTHEST) and (text[first - 1].isalnum() or text[first - 1] in "_.-$"):
            first -= 1
        right = _RIGHT.match(text, match.end(), match.end() + _FARTHEST)
        end = right.end() if right else match.end()
        if text.startswith(">", end) and text[end - 1] == "-":
            end -= 1
        at = end
        span = _value(text, first, end)
        if span is not None:
            yield span
            at = max(end, span[1])


def _value(text: str, start: int, end: int) -> Span | None:
    full = text[start:end]
    name = secret_name(full.rstrip("."))
    if name is None:
        return None
    quote = text[extents.run_start(text, 0, start - 1) : start] if start and text[start - 1] in "\"'`" else ""
    # The quotes that may stand before this one are behind as many backslashes.
    before = text[max(start - _BEFORE - 4 * len(quote), 0) : start]
    key = signs.Key(text, start, end, name, full, before, quote)
    sign = signs.sign(key)
    if sign is None or not signs.may_hold(key, sign):
        return None
    extent = _extent(key, sign)
    value = text[extent.start : extent.end]
    if value == REDACTED:
        return extent.start, extent.end, value  # nothing in it is looked at again
    if not value.strip() or _harmless(key, sign, value, quoted=extent.quoted):
        return None
    # What replaces a number or a list in JSON is a text.
    around = key.quote if sign.kind == "key" and not extent.quoted and not extent.scheme else ""
    return extent.start, extent.end, f"{around}{REDACTED}{around}"


@dataclass(frozen=True)
class _Extent:
    """Where a value begins and ends, and whether quotes or a scheme such as ``Bearer`` stand before it."""

    start: int
    end: int
    quoted: bool = False
    scheme: bool = False


def _extent(key: signs.Key, sign: signs.Sign) -> _Extent:  # noqa: PLR0911 - one a way to write a value
    text, start = key.text, sign.end
    if sign.kind == "element":
        end = extents.element_end(text, start)
        nested = -1 if text.startswith("</", end) else extents.nested_element_end(text, end, key.full)
        return _Extent(start, max(end, nested), quoted=True)
    if block := _BLOCK.match(text, start):
        return _Extent(block.start("body"), block.end(), quoted=True)
    if opened := _OPEN_QUOTE.match(text, start):
        start = opened.end()
        end = extents.quoted_end(text, start, len(opened["slashes"]), opened["quote"])
        scheme = _SCHEME.match(text, start, end)
        return _Extent(scheme.end() if scheme else start, end, quoted=True)
    if scheme := _SCHEME.match(text, start):
        return _Extent(scheme.end(), _end_behind(scheme, text), scheme=True)
    if text.startswith(REDACTED, start):
        return _Extent(start, start + len(REDACTED))
    if text[start : start + 1] in ("[", "{") or _CALL.match(text, start):
        limit = extents.structure_limit(text, start, quoted_name=bool(key.quote))
        end = extents.bracketed_end(text, start, limit)
        return _Extent(start, extents.bare_end(text, end) if end < limit else end)
    end = extents.bare_end(text, start)
    if end >= len(text) or sign.kind in ("option", "tuple"):
        return _Extent(start, end)
    return _Extent(start, _with_spaces(key, sign, start, end))


def _end_behind(scheme: re.Match[str], text: str) -> int:
    """Where the value behind a scheme of authorization ends."""
    name = scheme["scheme"].lower()
    if name in _WITH_NAMES:
        return scheme.end()
    return extents.line_end(text, scheme.end()) if name in _WITH_PARAMETERS else extents.bare_end(text, scheme.end())


def _with_spaces(key: signs.Key, sign: signs.Sign, start: int, end: int) -> int:
    """Where a value without quotes ends if the place of its name allows spaces in it."""
    text = key.text
    if not extents.goes_on(text, end):
        return end
    if key.name.word == "cookie":
        return extents.line_end(text, start)
    before = key.before.rstrip(" \t")
    last = before[-1:]
    if last in ("", "\n", ";", "\r") or key.quote:
        return extents.spread_end(text, start, end, open_end=True)
    if last in "{([,|" and sign.kind != ":":
        return extents.spread_end(text, start, end, open_end=False)
    return end


def _harmless(key: signs.Key, sign: signs.Sign, value: str, *, quoted: bool) -> bool:
    """Whether the value is none of a secret."""
    if is_harmless(key.name, value, quoted=quoted, typed=sign.kind in (":", "key", "tuple")):
        return True
    # The shell's working directory, not a password.
    return key.full.endswith("PWD") and value.startswith("/") and not key.before.rstrip().endswith(";")
