"""The schema of the state: ``_metadata/schema`` (version 1 and 2) and ``_stateSchema/...`` (version 3).

All are written with Java's ``DataOutputStream`` (``StateSchemaCompatibilityChecker``, ``SchemaHelper``): first the
version as a text with a length of two bytes. Version 1: key and value as such texts of JSON, of 64 kB at most.
Version 2: each as a number of pieces (four bytes) and the pieces. Version 3: a number of column families; each a name,
and key, value, the key's encoder and the user's key as in version 2, key and value after a number of their schema (two
bytes).
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from jupyter_streamwatch.checkpoints.logs.log import NotJsonError, loads
from jupyter_streamwatch.checkpoints.parts import Field
from jupyter_streamwatch.model.spark_types import type_text
from jupyter_streamwatch.text.numbers import clean

_MOST_PIECES = 10_000  # of 64 kB; a schema has one or two
_MOST_FAMILIES = 10_000
_MOST_FIELDS = 10_000


class SchemaError(ValueError):
    """The bytes are no schema file; the message says why, without the file's name."""


class Columns(NamedTuple):
    """Key and value of a store or column family; ``family`` is None for a store's own schema."""

    version: int
    family: str | None
    key: tuple[Field, ...]
    value: tuple[Field, ...]


def read_schema(content: bytes) -> list[Columns]:
    """Read a schema file of any version.

    Raises:
        SchemaError: When it is damaged, or of a version that is not known.
    """
    data = _Data(content)
    version = data.text()
    try:
        if version == "v1":
            return [Columns(1, None, _fields(data.text()), _fields(data.text()))]
        if version == "v2":
            return [Columns(2, None, _fields(data.pieces()), _fields(data.pieces()))]
        if version == "v3":
            return _families(data)
    except NotJsonError as error:
        raise SchemaError(f"its columns are no JSON: {error}") from None
    raise SchemaError(f"its version is {clean(version)[:20]!r}, not v1, v2 or v3")


def _families(data: _Data) -> list[Columns]:
    count = data.number("i")
    if not 0 <= count <= _MOST_FAMILIES:
        raise SchemaError(f"it says to hold {count} column families")
    found = []
    for _ in range(count):
        name = data.text()
        data.number("h")
        key = data.pieces()
        data.number("h")
        value = data.pieces()
        data.pieces()  # how keys are encoded
        data.pieces()  # the user's own key of a map, which is part of the key, too
        found.append(Columns(3, clean(name)[:300], _fields(key), _fields(value)))
    return found


class _Data:
    """Reads what ``DataOutputStream`` wrote."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self, format: str) -> int:
        (value,) = struct.unpack(f">{format}", self._take(struct.calcsize(format)))
        return int(value)

    def text(self) -> str:
        """A text in Java's modified UTF-8: NUL as two bytes, a character beyond 16 bits as two of three bytes."""
        raw = self._take(self.number("H")).replace(b"\xc0\x80", b"\0")
        try:
            text = raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise SchemaError("its text is no UTF-8") from None
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def pieces(self) -> str:
        count = self.number("i")
        if not 0 <= count <= _MOST_PIECES:
            raise SchemaError(f"it says to have {count} pieces")
        return "".join(self.text() for _ in range(count))

    def _take(self, length: int) -> bytes:
        taken = self._content[self._at : self._at + length]
        if len(taken) < length:
            raise SchemaError("it ends too early")
        self._at += length
        return taken


def _fields(text: str) -> tuple[Field, ...]:
    """The columns of a struct as JSON."""
    found = loads(text)
    fields = found.get("fields") if isinstance(found, dict) else None
    if not isinstance(fields, list) or len(fields) > _MOST_FIELDS:
        raise NotJsonError("no struct")
    return tuple(_field(one) for one in fields if isinstance(one, dict))


def _field(one: dict[str, Any]) -> Field:
    metadata = one.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, nullable, delay = one.get("name"), one.get("nullable"), metadata.get("spark.watermarkDelayMs")
    return Field(
        name=clean(name)[:300] if isinstance(name, str) else "n/a",
        type=clean(type_text(one.get("type")))[:2_000],
        nullable=nullable if isinstance(nullable, bool) else None,
        watermarkDelayMs=delay if isinstance(delay, int) and not isinstance(delay, bool) else None,
        window="session"
        if metadata.get("spark.sessionWindow")
        else "time"
        if metadata.get("spark.timeWindow")
        else None,
    )
