"""What may stand under the name of a secret without being one: nothing, a mask, a type, a count, offsets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.text.redaction.mark import is_mask

if TYPE_CHECKING:
    from jupyter_streamwatch.text.redaction.names import Name

_NOTHING = re.compile("null|none|nil|undefined|true|false|n/a|empty|nan")
_MECHANISM = re.compile("none|basic|simple|kerberos|sasl|nosasl|gss|ldap|pam|plain|ssl|tls|oauth|oauth2|jwt|digest")
_TYPE = re.compile(
    r"(?:string|str|binary|bytes?|boolean|bool|tinyint|smallint|int|integer|bigint|short|long|float|double|decimal"
    r"|date|timestamp(?:_ntz|_ltz)?|void|varchar|char|array|map|struct|variant|any|object|optional)(?:type)?"
    r"(?:\(\d[\d, ]*\)|[<\[].*)?",
    re.IGNORECASE | re.DOTALL,
)
_SIGNATURE = re.compile(r"[\w+/%=\-~.:]{6,}")  # of a request; one of a function has brackets
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+\-]?\d+)?%?")
_LONG_NUMBER = 12  # digits: longer ones are no counts, sizes, lines or ports
_OFFSETS = re.compile(r"\{(?:\s*\\*[\"']?\d+\\*[\"']?\s*[:=]\s*(?:-?\d+|null)\s*,?)+\s*\}")
_PARTITIONS = re.compile(r"\[[\d,\s]*\]")


def is_harmless(name: Name, value: str, *, quoted: bool, typed: bool) -> bool:
    """Whether a text under a secret's name is no secret.

    Args:
        name: The name.
        value: The text.
        quoted: Whether it stood in quotes, so that a number is meant as a text.
        typed: Whether a type may stand in its place.
    """
    bare = value.strip()
    lowered = bare.lower().rstrip(".,;")
    if not bare or _NOTHING.fullmatch(lowered) or is_mask(bare):
        return True
    if typed and _TYPE.fullmatch(bare):
        return True
    if name.word in ("auth", "signature"):
        return bool(_MECHANISM.fullmatch(lowered)) if name.word == "auth" else not _SIGNATURE.fullmatch(bare)
    return _is_count(name, bare, quoted=quoted)


def _is_count(name: Name, value: str, *, quoted: bool) -> bool:
    """Whether a text counts something, or holds the partitions or offsets of a topic of that name."""
    if _OFFSETS.fullmatch(value) or (name.is_topic and _PARTITIONS.fullmatch(value)):
        return True
    number = value.rstrip(".,;")
    return not name.exact and not quoted and len(number) < _LONG_NUMBER and _NUMBER.fullmatch(number) is not None


def is_harmless_plain(name: Name, value: Any) -> bool:
    """Do so for plain data: of numbers, lists and mappings, those that count or hold a topic's offsets."""
    if isinstance(value, str):
        return is_harmless(name, value, quoted=True, typed=True)
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, (int, float)):
        return not name.exact and len(str(value)) < _LONG_NUMBER
    if isinstance(value, Mapping):
        return bool(value) and all(str(key).isdigit() and _is_offset(offset) for key, offset in value.items())
    if isinstance(value, Sequence):
        return name.is_topic and all(_is_offset(part) for part in value)
    return False


def _is_offset(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))
