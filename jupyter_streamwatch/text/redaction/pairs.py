"""Names and values: settings, parameters, headers, JSON, XML, options of programs and calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_streamwatch.text.redaction import extents
from jupyter_streamwatch.text.redaction.harmless import is_harmless
from jupyter_streamwatch.text.redaction.mark import REDACTED, Span
from jupyter_streamwatch.text.redaction.names import WORD, Name, secret_name

_RIGHT = re.compile(r"[\w.\-$]*")
_FARTHEST = 120  # characters of a name, before the word and after it
_BEFORE = 60  # characters before a name that say what it is

_VALUE_KEY = r"(?:value|Value|VALUE|val)"
_ASSIGNS = re.compile(r"[ \t]*(?P<sign>=>|->|:=|={1,3}|:(?!:|//))[ \t]*")
_AFTER_KEY = re.compile(r"\\*[\"'`][\])]?\s*(?P<sign>=>|->|={1,3}|:)\s*")
_AFTER_ITEM = re.compile(r"\][ \t]*(?P<sign>=)[ \t]*")
_NEXT_FIELD = re.compile(rf"\\*[\"']\s*,\s*\\*[\"']{_VALUE_KEY}\\*[\"']\s*[:=]\s*")
_NEXT_ATTRIBUTE = re.compile(rf"\\*[\"']\s+{_VALUE_KEY}\s*=\s*")
_NEXT_ELEMENT = re.compile(rf"\s*</\w{{1,20}}>\s*<{_VALUE_KEY}>\s*")
_ELEMENT = re.compile(r"(?:\s[^<>]{0,200})?>")
_NEXT_IN_TUPLE = re.compile(r"(?:\\*[\"'])?\s*,\s*")
_END_OF_TAG = re.compile(r"[\"']\s*>")
_NEXT_CELL = re.compile(r"[ \t]*\|[ \t]*")
_NEXT_WORD = re.compile(r"[ \t]+(?=\S+[ \t]*(?:[\r\n]|\Z))")
_BLOCK = re.compile(r"(?:!\w+[ \t]+)?[|>][+\-]?\d?[ \t]*\n(?P<indent>[ \t]+)(?P<body>[^\n]*(?:\n(?P=indent)[^\n]*)*)")
_SPACE = re.compile(r"(?:\\*[\"'])?[ \t]+")

_NAME_KEY = re.compile(
    r"(?:name|key|property|option|setting|header|variable|parameter)\\*[\"']?\s*[:=]\s*\\*[\"']\Z", re.IGNORECASE
)
_SETTER = re.compile(r"(?:(?:option|config|conf|set|put|add|header|property)\w{0,20}|(?:\A|[\[({,])\s*)\(\s*\\*[\"']\Z", re.IGNORECASE)
_TUPLE = re.compile(r"(?<!\w)\(\Z")
_OPTIONS = re.compile(r"[(,]\s*\\*[\"'`]?\Z")
_PARSER = re.compile(
    r"(?:unexpected|expect(?:ed|ing)|unrecognized|unknown|mismatched|extraneous|illegal|missing|next|current|last|first"
    r"|bad|stop|start|end|input)\s+\Z",
    re.IGNORECASE,
)
_ERROR = re.compile(r"(?:invalid|expired|missing|bad|unknown|illegal|mismatched|unexpected|unsupported|wrong)", re.IGNORECASE)

_OPEN_QUOTE = re.compile(r"[bBfFrRuU]?(?P<slashes>\\*)(?P<quote>\"\"\"|'''|[\"'`])")
_SCHEME = re.compile(
    r"(?P<scheme>bearer|basic|digest|negotiate|ntlm|token|apikey|aws4-hmac-sha256|sharedkey|sharedkeylite"
    r"|sharedaccesssignature|oauth|hawk)[ \t]+(?=\S)",
    re.IGNORECASE,
)
_WITH_PARAMETERS = {"digest", "oauth", "hawk"}
_WITH_NAMES = {"aws4-hmac-sha256", "sharedaccesssignature"}  # found by the names of their parameters
_CALL = re.compile(r"[A-Z]\w{0,30}(?=\()")


@dataclass(frozen=True)
class _Key:
    """A name in its place: what stands around it decides whether a value follows."""

    text: str
    start: int
    end: int
    name: Name
    full: str
    before: str
    quote: str


@dataclass(frozen=True)
class _Sign:
    """What leads from a name to its value: where the value begins, and what says so."""

    end: int
    kind: str


def find(text: str) -> Iterator[Span]:
    """Find the values under the names of secrets."""
    at = 0
    while match := WORD.search(text, at):
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
    key = _Key(text, start, end, name, full, before, quote)
    sign = _sign(key)
    if sign is None or not _may_hold(key, sign):
        return None
    first, last, quoted, opening = _extent(key, sign)
    value = text[first:last]
    if value == REDACTED:
        return first, last, value  # nothing in it is looked at again
    if not value.strip() or _harmless(key, sign, value, quoted=quoted):
        return None
    around = key.quote if not quoted and sign.kind == "key" and not opening else ""
    return first, last, f"{around}{REDACTED}{around}"


def _sign(key: _Key) -> _Sign | None:
    """Find what leads from the name to a value."""
    text, end = key.text, key.end
    if key.quote:
        if match := _AFTER_KEY.match(text, end):
            return _Sign(match.end(), "key" if match["sign"] == ":" else match["sign"])
        if _NAME_KEY.search(key.before) and (match := _NEXT_FIELD.match(text, end) or _NEXT_ATTRIBUTE.match(text, end)):
            return _Sign(match.end(), "field")
        if _NAME_KEY.search(key.before) and (match := _END_OF_TAG.match(text, end)):
            return _Sign(match.end(), "element")
        if _SETTER.search(key.before) and (match := _NEXT_IN_TUPLE.match(text, end)):
            return _Sign(match.end(), "tuple")
    elif _TUPLE.search(key.before) and (match := _NEXT_IN_TUPLE.match(text, end)):
        return _Sign(match.end(), "tuple")
    if match := _ASSIGNS.match(text, end) or (_AFTER_ITEM.match(text, end) if key.before.endswith("[") else None):
        return _Sign(match.end(), match["sign"])
    if match := _NEXT_ELEMENT.match(text, end):
        return _Sign(match.end(), "element")
    if key.before.endswith("<") and (match := _ELEMENT.match(text, end)):
        return _Sign(match.end(), "element") if _is_closed(key, match.end()) else None
    if match := _SPACE.match(text, end):
        if key.full.startswith("--") and not text.startswith("-", match.end()):
            return _Sign(match.end(), "option")
        option = _OPTIONS.search(key.before) or key.name.word.startswith("passw")
        if option and text[match.end() : match.end() + 1] in ("'", '"'):
            return _Sign(match.end(), "option")
    return _sign_in_table(key)


def _sign_in_table(key: _Key) -> _Sign | None:
    """Find what leads to a value in a row of a table, or in a line of spark-defaults.conf: no column has a dot."""
    if "." not in key.full.strip("."):
        return None
    before = key.before.rstrip(" \t")
    if before.endswith("|") and (match := _NEXT_CELL.match(key.text, key.end)):
        return _Sign(match.end(), "tuple")
    if before[-1:] in ("", "\n") and (match := _NEXT_WORD.match(key.text, key.end)):
        return _Sign(match.end(), "tuple")
    return None


def _is_closed(key: _Key, start: int) -> bool:
    """Whether the XML element of the name ends; ``<token>`` alone is a gap to fill in."""
    end = extents.element_end(key.text, start)
    return key.text.startswith("</", end) or extents.nested_element_end(key.text, end, key.full) >= 0


def _may_hold(key: _Key, sign: _Sign) -> bool:
    """Whether the name stands there as one of a setting, and not as a word of a sentence, a class or a host."""
    last = key.before[-1:]
    if key.name.word == "sig":
        return sign.kind == "=" and last in ("?", "&", "")
    if key.name.word == "auth" and not key.name.exact:
        return False
    if key.name.word in ("pass", "signature") and (key.name.further or key.text[sign.end : sign.end + 1] in ("{", "[")):
        return False
    if sign.kind in (":", "key") and _ERROR.match(key.full):
        return False
    if sign.kind != ":":
        return True
    spaced = key.text[sign.end - 1] != ":"
    if spaced and "$" in key.full:  # a class inside a class
        return False
    prose = spaced and not key.quote and "." not in key.full
    if prose and key.name.weak and key.name.word not in ("authorization", "cookie"):
        return False
    if prose and _PARSER.search(key.before):
        return False
    return not key.before.endswith("/")  # a host: "http://token:8080"


def _extent(key: _Key, sign: _Sign) -> tuple[int, int, bool, bool]:
    """Where the value begins and ends, whether it is in quotes, and whether a scheme was left before it."""
    text, start = key.text, sign.end
    if sign.kind == "element":
        end = extents.element_end(text, start)
        nested = -1 if text.startswith("</", end) else extents.nested_element_end(text, end, key.full)
        return start, max(end, nested), True, False
    if block := _BLOCK.match(text, start):
        return block.start("body"), block.end(), True, False
    if opened := _OPEN_QUOTE.match(text, start):
        start = opened.end()
        end = extents.quoted_end(text, start, len(opened["slashes"]), opened["quote"])
        scheme = _SCHEME.match(text, start, end)
        return scheme.end() if scheme else start, end, True, False
    if scheme := _SCHEME.match(text, start):
        start = scheme.end()
        if scheme["scheme"].lower() in _WITH_NAMES:
            return start, start, False, True
        if scheme["scheme"].lower() in _WITH_PARAMETERS:
            return start, extents.line_end(text, start), False, True
        return start, extents.bare_end(text, start), False, True
    if text.startswith(REDACTED, start):
        return start, start + len(REDACTED), False, False
    if text[start : start + 1] in ("[", "{") or _CALL.match(text, start):
        limit = extents.structure_limit(text, start, quoted_name=bool(key.quote))
        end = extents.bracketed_end(text, start, limit)
        return start, extents.bare_end(text, end) if end < limit else end, False, False
    end = extents.bare_end(text, start)
    if end >= len(text) or sign.kind in ("option", "tuple"):
        return start, end, False, False
    return start, _with_spaces(key, sign, start, end), False, False


def _with_spaces(key: _Key, sign: _Sign, start: int, end: int) -> int:
    """Where a value without quotes ends if the place of its name allows spaces in it."""
    text = key.text
    if not extents.goes_on(text, end):
        return end
    if key.name.word == "cookie":
        return extents.spread_end(text, start, extents.line_end(text, start), open_end=True)
    before = key.before.rstrip(" \t")
    last = before[-1:]
    if last in ("", "\n", ";", "\r") or key.quote:
        return extents.spread_end(text, start, end, open_end=True)
    if last in "{([,|" and sign.kind != ":":
        return extents.spread_end(text, start, end, open_end=False)
    return end


def _harmless(key: _Key, sign: _Sign, value: str, *, quoted: bool) -> bool:
    """Whether the value is none of a secret."""
    if is_harmless(key.name, value, quoted=quoted, typed=sign.kind in (":", "key", "tuple")):
        return True
    # The shell's working directory, not a password.
    return key.full.endswith("PWD") and value.startswith("/") and not key.before.rstrip().endswith(";")
