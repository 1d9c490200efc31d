"""Spark's types as text: one way of writing them on both sides of a comparison."""

from __future__ import annotations

from typing import Any

_INSIDE = {"array": ("elementType",), "map": ("keyType", "valueType"), "udt": ("sqlType",)}
_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def type_text(x: Any) -> str:
    """Write a type of Spark's JSON as ``simpleString`` does: ``{"type": "array", ...}`` is ``array<bigint>``."""
    if isinstance(x, str):
        return _NAMES.get(x, x)
    kind = x.get("type") if isinstance(x, dict) else None
    if kind == "struct" and isinstance(x.get("fields"), list):
        inner = (one for one in x["fields"] if isinstance(one, dict))
        named = ",".join(f"{one.get('name')}:{type_text(one.get('type'))}" for one in inner)
        return f"struct<{named}>"
    inside = [type_text(x.get(part)) for part in _INSIDE.get(str(kind), ())] if isinstance(x, dict) else []
    if kind == "udt":
        return inside[0]
    named = kind if isinstance(kind, str) else "n/a"
    return f"{named}<{','.join(inside)}>" if inside else named
