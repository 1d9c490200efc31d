"""Single values of a progress record: what is missing, not finite or impossible is unknown (None)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from math import isfinite
from typing import Any
from uuid import UUID

from jupyter_streamwatch.text.outside import kept

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MS = timedelta(milliseconds=1)
NAME = 1_000  # characters that are kept of a name, an id or a key
TEXT = 20_000  # of any other text: the description of a source that reads hundreds of topics is shorter
ERROR = 100_000  # of the error that ended a run, whose causes stand at its end
_LARGEST = 2**63 - 1  # Spark's counts are Java longs
_DEEPEST = 12  # real offsets are four levels deep; recursion must end somewhere
_FRACTION = re.compile(r"\.([0-9]+)")
_NUMERIC = re.compile(r"-?[0-9]{1,19}(?:\.[0-9]+)?")


def number(x: Any) -> int | float | None:
    """A finite number, also from its text."""
    if type(x) is int:  # nearly all are
        return x if -_LARGEST <= x <= _LARGEST else None
    if isinstance(x, str):
        try:
            x = int(x) if len(x) < 20 else float(x)
        except ValueError:
            try:
                x = float(x)
            except ValueError:
                return None
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return None
    if isinstance(x, int):
        return x if -_LARGEST <= x <= _LARGEST else None
    return x if isfinite(x) else None


def count(x: Any) -> int | None:
    """A number of things, a size in bytes: whole and not negative."""
    if type(x) is int:
        return x if 0 <= x <= _LARGEST else None
    found = number(x)
    if found is None or found < 0 or found > _LARGEST or found != int(found):
        return None
    return int(found)


def whole(x: Any) -> int | None:
    """A time in milliseconds, rounded down; not negative."""
    if type(x) is int:
        return x if 0 <= x <= _LARGEST else None
    found = number(x)
    return None if found is None or found < 0 or found > _LARGEST else int(found)


def rate(x: Any) -> float | None:
    """A number a second; not negative."""
    found = number(x)
    return None if found is None or found < 0 else float(found)


def text(x: Any, length: int = TEXT) -> str | None:
    """Text, or the text of an id; at most ``length`` characters of it."""
    if isinstance(x, str):
        return kept(x, length)
    return str(x) if isinstance(x, (UUID, int)) and not isinstance(x, bool) and abs(int(x)) < 2**128 else None


def timestamp(x: Any) -> str | None:
    """ISO text as sent; a number of milliseconds since the epoch (Spark 2.0) becomes ISO text in UTC."""
    if isinstance(x, str) and not _NUMERIC.fullmatch(x):
        return kept(x, NAME)
    if isinstance(x, datetime):
        return x.isoformat()
    ms = number(x)
    return None if ms is None else iso(ms)


def epoch_ms(x: str | None) -> float | None:
    """Milliseconds since the epoch of an ISO text (without a zone it is UTC); None when it is none."""
    if not isinstance(x, str):
        return None
    try:
        if x[-1:] == "Z":
            x = x[:-1] + "+00:00"
        try:
            found = datetime.fromisoformat(x)
        except ValueError:  # Python 3.10 knows three or six digits of a second only
            found = datetime.fromisoformat(_FRACTION.sub(lambda digits: f".{digits[1]:0<6.6}", x))
        if found.tzinfo is None:
            found = found.replace(tzinfo=timezone.utc)
        return (found - EPOCH) / _MS
    except (ValueError, OverflowError):
        return None


def moment(ms: float | None) -> datetime | None:
    """The aware UTC datetime of milliseconds since the epoch; None when unknown or beyond the calendar."""
    if ms is None or not isfinite(ms):
        return None
    try:
        return EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None


def iso(ms: float | None) -> str | None:
    """ISO text in UTC with milliseconds, as Spark writes it."""
    found = moment(ms)
    return None if found is None else found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def items(x: Any) -> Iterator[tuple[str, Any]]:
    """Pairs of a mapping whose keys are text; nothing of anything else. Keys are names, and as long as names are."""
    if type(x) is not dict and not isinstance(x, Mapping):  # nearly all are; asking an abstract class takes longer
        return iter(())
    return iter(
        [(key if _is_plain(key) else kept(key, NAME), value) for key, value in x.items() if isinstance(key, str)]
    )


def _is_plain(key: str) -> bool:
    return len(key) <= NAME and key.isascii()


def mappings(x: Any) -> list[Mapping[Any, Any]]:
    """The mappings in a list; nothing of anything else. The list and its parts may also be their JSON."""
    parts = decoded(x)
    return (
        [part for part in map(decoded, parts) if isinstance(part, Mapping)] if isinstance(parts, (list, tuple)) else []
    )


def decoded(x: Any) -> Any:
    """What the JSON of an object or a list says, as ``prettyJson`` gives for a part of a record; else the value."""
    if not isinstance(x, str) or x.lstrip()[:1] not in ("{", "["):
        return x
    try:
        return json.loads(x, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return x


def metrics(x: Any) -> dict[str, float | str]:
    """Metrics of a source or sink: numbers where they are numbers (Kafka sends text), text otherwise."""
    found: dict[str, float | str] = {}
    for key, value in items(x):
        amount = number(value)
        if amount is not None:
            found[key] = amount
        elif isinstance(value, str):
            found[key] = kept(value, TEXT)
    return found


def offset(x: Any) -> Any:
    """An offset as decoded JSON: event logs and Connect hold its text, PySpark's own dictionary Python's text of it."""
    if isinstance(x, str):
        try:
            x = json.loads(x, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return _of_python(x)
    return plain(x)


def _of_python(text: str) -> Any:
    if text == "None":
        return None
    if text[:1] not in ("{", "[") or "\\" in text:  # Python warns of escapes that are none
        return kept(text, TEXT)
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return kept(text, TEXT)
    return plain(found) if isinstance(found, (dict, list)) else kept(text, TEXT)


def plain(x: Any, depth: int = 0) -> Any:
    """A copy of what JSON can hold; what it cannot hold, or is nested too deep, is None."""
    if x is None or isinstance(x, (str, bool)):
        return kept(x, TEXT) if isinstance(x, str) else x
    if isinstance(x, (int, float)):
        return number(x)
    if depth >= _DEEPEST:
        return None
    if isinstance(x, Mapping):
        return {
            key: value if type(value) is int and -_LARGEST <= value <= _LARGEST else plain(value, depth + 1)
            for key, value in items(x)
        }
    if isinstance(x, (list, tuple)):
        return [plain(part, depth + 1) for part in x]
    return str(x) if isinstance(x, (UUID, datetime)) else None
