"""What was saved of a record, as far as it fits: a damaged file must not make a record that no view can show."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from jupyter_streamwatch.model import values as v

if TYPE_CHECKING:
    from collections.abc import Callable


def fitting(record: type, data: Any) -> dict[str, Any]:
    """Those members of ``data`` that are fields of the dataclass ``record`` and of their type, or of a type of its own.

    Unknown names, and values that do not fit, are left out: the field has its default then.
    """
    types = {field.name: str(field.type) for field in fields(record)}
    given = {}
    for name, x in v.items(data):
        if name in types:
            read = _READ.get(types[name].removesuffix(" | None"), _as_it_is)
            value = read(x)
            if value is not None:
                given[name] = value
    return given


def _as_it_is(x: Any) -> Any:
    return x


def _text(x: Any) -> str | None:
    return v.text(x, v.ERROR)


def _number(x: Any) -> float | None:
    return None if isinstance(x, str) else v.number(x)


def _truth(x: Any) -> bool | None:
    return x if isinstance(x, bool) else None


def _texts(x: Any) -> tuple[str, ...] | None:
    return tuple(text for part in x if (text := v.text(part)) is not None) if isinstance(x, (list, tuple)) else None


def _pairs(second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read(x: Any) -> Any:
        if not isinstance(x, (list, tuple)):
            return None
        two = [part for part in x if isinstance(part, (list, tuple)) and len(part) == 2]
        known = [(v.text(name), second(value)) for name, value in two]
        return tuple((name, value) for name, value in known if name is not None and value is not None)

    return read


def _mapping(x: Any) -> dict[str, str]:
    return {name: text for name, value in v.items(x) if (text := v.text(value)) is not None}


def _overruns(x: Any) -> Any:
    if not isinstance(x, (list, tuple)):
        return None
    three = [part for part in x if isinstance(part, (list, tuple)) and len(part) == 3]
    read = [(_number(at), v.rate(interval), v.rate(spent)) for at, interval, spent in three]
    return tuple(overrun for overrun in read if overrun[1] and overrun[2] is not None)


_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "str": _text,
    "float": _number,
    "int": v.count,
    "bool": _truth,
    "tuple[str, ...]": _texts,
    "tuple[tuple[str, str], ...]": _pairs(v.text),
    "tuple[tuple[str, float], ...]": _pairs(_number),
    "tuple[tuple[float | None, float, float], ...]": _overruns,
    "Mapping[str, str]": _mapping,
}
