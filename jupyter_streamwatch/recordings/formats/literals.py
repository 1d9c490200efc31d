"""Single values as Python, Java, Scala and JSON write them."""

from __future__ import annotations

import re
from typing import Any, Final


class _Missing:
    """The type of ``MISSING``: no value stands here, or the text ends inside it."""

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()

ESCAPE = re.compile(r"u+[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.", re.DOTALL)
_ESCAPED = re.compile(r"\\(u+[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\", "/": "/", "$": "$"}
_WORDS: dict[str, Any] = {
    "null": None, "none": None, "nil": None, "undefined": None, "n/a": None, "<null>": None, "<na>": None, "nat": None,
    "true": True, "false": False,
    "nan": float("nan"), "-nan": float("nan"),
    "infinity": float("inf"), "inf": float("inf"), "-infinity": float("-inf"), "-inf": float("-inf"),
}  # fmt: skip
_REMARK = re.compile(r"\s+(?://|#|<-|←|--).*$")
_ELISION = re.compile(r"[.…\s<>\[\](){}]*(?:\.{2,}|…)[.…\s<>\[\](){}]*$")
_MAPPINGS = {
    "Row",
    "OrderedDict",
    "defaultdict",
    "mappingproxy",
    "dict",
    "Counter",
    "Map",
    "HashMap",
    "TreeMap",
    "ListMap",
}
_SEQUENCES = {
    "List",
    "Vector",
    "Seq",
    "Array",
    "ArrayBuffer",
    "WrappedArray",
    "ArraySeq",
    "Set",
    "tuple",
    "list",
    "Buffer",
}
_ONE = {
    "UUID", "Decimal", "BigDecimal", "BigInt", "Some", "Timestamp", "Instant", "int", "float", "str", "array",
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "str_", "bool_", "bool", "longlong", "long",
}  # fmt: skip


def unescape(text: str) -> str:
    r"""Resolve the backslash escapes of a string literal; an unknown one (``\d``) stays as it is."""
    if "\\" not in text:
        return text
    text = _ESCAPED.sub(_resolve, text)
    return _SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _resolve(escape: re.Match[str]) -> str:
    body = escape[1]
    if len(body) > 1:
        return chr(int(body.lstrip("ux"), 16))
    return _SIMPLE.get(body, escape[0])


def word(text: str) -> Any:
    """The value of an unquoted word: ``null``, ``None``, ``NaN``, an elision (``...``: missing), else the text."""
    text = _REMARK.sub("", text.strip()).strip().rstrip(";")
    if not text or _ELISION.match(text):
        return MISSING
    return _WORDS.get(text.lower(), text)


def construct(name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    """The value of ``name(positional, named=...)``; ``MISSING`` when the name is no constructor that is known."""
    last = name.rpartition(".")[2]
    if name.endswith(("datetime.datetime", "datetime")) and positional:
        return _moment(positional)
    if last in _MAPPINGS:
        return _mapping(positional, named)
    if last in _SEQUENCES:
        return named or positional
    if last in _ONE and positional:
        return positional[0]
    return named or MISSING


def _mapping(positional: list[Any], named: dict[str, Any]) -> Any:
    out: dict[str, Any] = {}
    for argument in positional:
        if isinstance(argument, dict):
            out.update(argument)
        elif isinstance(argument, list):
            out.update({str(pair[0]): pair[1] for pair in argument if isinstance(pair, list) and len(pair) == 2})
    return {**out, **named}


def _moment(parts: list[Any]) -> Any:
    numbers = [part for part in parts if isinstance(part, int)]
    if len(numbers) < 3:
        return MISSING
    year, month, day, hour, minute, second, micro = (*numbers[:7], 0, 0, 0, 0)[:7]
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{micro // 1000:03d}Z"
