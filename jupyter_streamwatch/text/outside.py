"""Bounds of texts from outside: how much of one is kept and shown, and what of it can be shown at all."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

REPR_FIELD = 10_000  # characters of a field in the repr of a record: one that is pasted is read again
REPR = 40_000  # and of the whole repr

_LONE = re.compile("[\ud800-\udfff]")
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_REPLACED = "\N{REPLACEMENT CHARACTER}"


def cut(text: str, length: int) -> str:
    """At most ``length`` characters: beginning and end, and between them how many were left out."""
    if len(text) <= length:
        return text
    mark = f" [... {len(text) - length:,} characters left out ...] "
    keep = length - len(mark)
    if keep < 2:
        return text[:length]
    tail = keep // 3
    return text[: keep - tail] + mark + text[len(text) - tail :]


def kept(text: str, length: int) -> str:
    """What is kept of a text: halves of surrogate pairs, which no file or message can hold, are replaced; it is cut.

    Secrets go first, since half of one would not be known as such any more.
    """
    if not text.isascii():
        text = _LONE.sub(_REPLACED, text)
    return text if len(text) <= length else cut(redact(text), length)


def bounded(record: Record, length: int) -> Record:
    """The dataclass with every text in it, also in tuples and dataclasses, as :func:`kept` keeps it."""
    own = {field.name: getattr(record, field.name) for field in fields(record)}
    changed = {name: new for name, value in own.items() if (new := _bounded(value, length)) is not value}
    return replace(record, **changed) if changed else record


def _bounded(value: Any, length: int) -> Any:
    if isinstance(value, str):
        return kept(value, length)
    if isinstance(value, tuple):
        parts = tuple(_bounded(part, length) for part in value)
        return value if all(new is old for new, old in zip(parts, value, strict=True)) else parts
    return bounded(value, length) if is_dataclass(value) and not isinstance(value, type) else value


def printable(text: str) -> str:
    """The text with a visible sign for each control and direction override; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return _UNSHOWN.sub(_sign, text.replace("\r\n", "\n"))


def brief(record: Any) -> str:
    """The repr of a dataclass, bounded: long texts and many parts are cut, and visibly so."""
    parts = (
        f"{field.name}={cut(_repr(getattr(record, field.name)), REPR_FIELD)}" for field in fields(record) if field.repr
    )
    return cut(redact(f"{type(record).__name__}({', '.join(parts)})"), REPR)


def _repr(value: Any) -> str:
    return repr(cut(value, REPR_FIELD)) if isinstance(value, str) else repr(value)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\N{SYMBOL FOR DELETE}" if code == 0x7F else _REPLACED
