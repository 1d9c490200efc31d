"""What leads from a name to its value: a sign, a quote and a colon, the next field, cell, word or element."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_streamwatch.text.redaction import extents

if TYPE_CHECKING:
    from jupyter_streamwatch.text.redaction.names import Name

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
_SPACE = re.compile(r"(?:\\*[\"'])?[ \t]+")
_NAME_KEY = re.compile(
    r"(?:name|key|property|option|setting|header|variable|parameter)\\*[\"']?\s*[:=]\s*\\*[\"']\Z", re.IGNORECASE
)
_SETTER = re.compile(
    r"(?:(?:option|config|conf|set|put|add|header|property)\w{0,20}|(?:\A|[\[({,])\s*)\(\s*\\*[\"']\Z", re.IGNORECASE
)
_TUPLE = re.compile(r"(?<!\w)\(\Z")
_OPTIONS = re.compile(r"[(,]\s*\\*[\"'`]?\Z")
_PARSER = re.compile(
    r"(?:unexpected|expect(?:ed|ing)|unrecognized|unknown|mismatched|extraneous|illegal|missing|next|current|last|first"
    r"|bad|stop|start|end|input)\s+\Z",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?:invalid|expired|missing|bad|unknown|illegal|mismatched|unexpected|unsupported|wrong)", re.IGNORECASE
)


@dataclass(frozen=True)
class Key:
    """A name in its place: what stands around it decides whether a value follows."""

    text: str
    start: int
    end: int
    name: Name
    full: str
    before: str
    quote: str


@dataclass(frozen=True)
class Sign:
    """What leads from a name to its value: where the value begins, and what says so."""

    end: int
    kind: str


def sign(key: Key) -> Sign | None:
    """Find what leads from the name to a value."""
    return (
        _sign_of_quoted(key)
        or _sign_of_assignment(key)
        or _sign_of_element(key)
        or _sign_of_option(key)
        or _sign_in_table(key)
    )


def _sign_of_quoted(key: Key) -> Sign | None:
    text, end = key.text, key.end
    if key.quote and (match := _AFTER_KEY.match(text, end)):
        return Sign(match.end(), "key" if match["sign"] == ":" else match["sign"])
    if key.quote and _NAME_KEY.search(key.before):
        if match := _NEXT_FIELD.match(text, end) or _NEXT_ATTRIBUTE.match(text, end):
            return Sign(match.end(), "field")
        if match := _END_OF_TAG.match(text, end):
            return Sign(match.end(), "element")
    before_comma = _SETTER if key.quote else _TUPLE
    if before_comma.search(key.before) and (match := _NEXT_IN_TUPLE.match(text, end)):
        return Sign(match.end(), "tuple")
    return None


def _sign_of_assignment(key: Key) -> Sign | None:
    match = _ASSIGNS.match(key.text, key.end)
    if match is None and key.before.endswith("["):
        match = _AFTER_ITEM.match(key.text, key.end)
    return Sign(match.end(), match["sign"]) if match else None


def _sign_of_element(key: Key) -> Sign | None:
    if match := _NEXT_ELEMENT.match(key.text, key.end):
        return Sign(match.end(), "element")
    if key.before.endswith("<") and (match := _ELEMENT.match(key.text, key.end)) and _is_closed(key, match.end()):
        return Sign(match.end(), "element")
    return None


def _sign_of_option(key: Key) -> Sign | None:
    """Find the space after an option of a program, ``--password x``, or of SQL, ``OPTIONS (password 'x')``."""
    match = _SPACE.match(key.text, key.end)
    if match is None:
        return None
    after = key.text[match.end() : match.end() + 1]
    if key.full.startswith("--"):
        return None if after == "-" else Sign(match.end(), "option")
    is_option = _OPTIONS.search(key.before) or key.name.word.startswith("passw")
    return Sign(match.end(), "option") if is_option and after in ("'", '"') else None


def _sign_in_table(key: Key) -> Sign | None:
    """Find what leads to a value in a row of a table, or in a line of spark-defaults.conf: no column has a dot."""
    if "." not in key.full.strip("."):
        return None
    before = key.before.rstrip(" \t")
    if before.endswith("|") and (match := _NEXT_CELL.match(key.text, key.end)):
        return Sign(match.end(), "tuple")
    if before[-1:] in ("", "\n") and (match := _NEXT_WORD.match(key.text, key.end)):
        return Sign(match.end(), "tuple")
    return None


def _is_closed(key: Key, start: int) -> bool:
    """Whether the XML element of the name ends; ``<token>`` alone is a gap to fill in."""
    end = extents.element_end(key.text, start)
    return key.text.startswith("</", end) or extents.nested_element_end(key.text, end, key.full) >= 0


def may_hold(key: Key, sign: Sign) -> bool:  # noqa: PLR0911 - one a case
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
