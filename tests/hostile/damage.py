"""Files that were damaged: bytes lost, doubled or changed, values of another type; from those in ``corpus``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

CORPUS = Path(__file__).parent / "corpus"
VALUES: list[Any] = [
    None, True, -1, 0, 1e308, -1e308, 2**63, 10**40, "", "x", "NaN", "\ud83d", "\x1b[2J", [], [[]], {},
    {"a": []}, [None],
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
]  # fmt: skip


def files() -> list[bytes]:
    """What is damaged: each file of the corpus."""
    return [path.read_bytes() for path in sorted(CORPUS.iterdir())]


def damaged(chance: random.Random) -> bytes:
    """One of the files, damaged once or several times."""
    data = chance.choice(files())
    for _ in range(chance.choice([1, 1, 2, 5])):
        data = chance.choice([_value, _value, _value, _cut, _doubled, _bytes])(data, chance)
    return data


def _value(data: bytes, chance: random.Random) -> bytes:
    """Put a value of any type where another one stands."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except ValueError:
        return data
    places = list(_places(value))
    if places:
        holder, key = chance.choice(places)
        holder[key] = chance.choice(VALUES)
    lines[at] = json.dumps(value).encode()
    return b"\n".join(lines)


def _places(value: Any):
    for key, inner in list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from _places(inner)


def _cut(data: bytes, chance: random.Random) -> bytes:
    start, length = chance.randrange(len(data) + 1), chance.choice([1, 10, len(data)])
    return data[:start] + data[start + length :]


def _doubled(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in "ab")
    return data[:end] + data[start:]


def _bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.choice([1, 4])) + data[at + 1 :]
