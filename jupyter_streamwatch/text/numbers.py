"""How numbers, times and names are written for people: pure functions, the same words in every view.

The page formats the values under the cursor itself, so ``labextension/src/dom/format.ts`` has the same functions;
``tests/cases/numbers.json`` holds what both must answer. Halves are rounded up (not to even), because that
is a rule that both languages compute alike. Unknown (None, NaN, infinite) is always ``n/a``.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone
from typing import Any

from jupyter_streamwatch.text.redaction import redact

UNKNOWN = "n/a"
MINUS = "\N{MINUS SIGN}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

_DECIMAL_UNITS = ("", "k", "M", "G", "T", "P")
_BINARY_UNITS = (" B", " KiB", " MiB", " GiB", " TiB", " PiB")
# Below this many ms: the smaller unit in ms, how many make the larger one, both names. The limits are where the
# smaller unit rounds up to a whole larger one.
_LONG = (
    (3_599_500, 1000, 60, "min", "s"),
    (86_370_000, 60_000, 60, "h", "min"),
    (math.inf, 3_600_000, 24, "d", "h"),
)
_LARGEST = 1e300  # leaves room to scale a number without an overflow; nothing real is near
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Controls, line separators and direction overrides: a name must not break a line or turn the text after it around.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+")


def number(x: float | None) -> str:
    """Write a count with three significant digits: ``148``, ``12.4k``, ``1.2M``."""
    value = _known(x)
    return UNKNOWN if value is None else _scaled(value, 1000, _DECIMAL_UNITS)


def size(x: float | None) -> str:
    """Write bytes in binary units: ``512 B``, ``1.2 MiB``."""
    value = _known(x)
    return UNKNOWN if value is None else _scaled(value, 1024, _BINARY_UNITS)


def rate(x: float | None) -> str:
    """Write a number a second: ``148/s``."""
    text = number(x)
    return text if text == UNKNOWN else f"{text}/s"


def duration(ms: float | None) -> str:
    """Write milliseconds as ``870 ms``, ``3.4 s``, ``2 min 10 s``, ``3 h 5 min`` or ``2 d 4 h``; at most two units."""
    value = _known(ms)
    if value is None:
        return UNKNOWN
    sign, value = (MINUS, -value) if value < 0 else ("", value)
    if value < 9.95:
        tenths = _round(value * 10)
        return f"{sign}{_decimal(tenths, 1)} ms" if tenths or not value else f"{_beyond(sign)}0.1 ms"
    if value < 999.5:
        return f"{sign}{_round(value)} ms"
    if value < 59_950:
        return f"{sign}{_decimal(_round(value / 100), 1)} s"
    unit, base, large, small = next(row for row in _LONG if value < row[0])[1:]
    whole, rest = divmod(_round(value / unit), base)
    return f"{sign}{whole} {large} {rest} {small}" if rest else f"{sign}{whole} {large}"


def exact(x: Any) -> str:
    """Write a number as it was sent, digits in groups from five digits on: ``3412``, ``12,432``, ``147.93103``."""
    value = _known(x)
    if value is None:
        return UNKNOWN
    if isinstance(x, int) or (value.is_integer() and abs(value) < 1e15):
        whole = int(x)
        return f"{whole:,}".replace("-", MINUS) if abs(whole) >= 10_000 else str(whole).replace("-", MINUS)
    return repr(value).replace("-", MINUS)


def percent(share: float | None) -> str:
    """Write a share of 1 as whole percent: ``0.37`` is ``37 %``."""
    value = _known(share)
    return UNKNOWN if value is None else f"{_round(value * 100)} %".replace("-", MINUS)


def when(ms: float | None) -> str:
    """Write epoch milliseconds as ``2026-01-01 14:02:03 UTC``; pages may show the reader's zone instead."""
    at = _datetime(ms)
    return UNKNOWN if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def clock(ms: float | None) -> str:
    """Write epoch milliseconds as the time of day, ``14:02 UTC``."""
    at = _datetime(ms)
    return UNKNOWN if at is None else f"{at:%H:%M} UTC"


def iso(ms: float | None) -> str:
    """Write epoch milliseconds as Spark does: ``2026-01-01T14:02:03.000Z``."""
    at = _datetime(ms)
    return UNKNOWN if at is None else f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def middle(text: str, length: int) -> str:
    """Shorten ``text`` in the middle to at most ``length`` characters (code points), the ellipsis included."""
    if len(text) <= length:
        return text
    keep = max(length - 1, 0)
    tail = keep // 2
    return text[: keep - tail] + ELLIPSIS + (text[-tail:] if tail else "")


def significant(x: float | None) -> str:
    """Write a count with three significant digits, in full up to a million: ``2,300``, ``17.5``, ``1.2M``."""
    value = _known(x)
    if value is None or abs(value) >= 1e6:
        return number(x)
    whole = 0 if not value else max(math.floor(math.log10(abs(value))) - 2, 0)
    return f"{_round(value / 10**whole) * 10**whole:,}".replace("-", MINUS) if abs(value) >= 99.95 else number(x)


def lines(printer: Any, text: str) -> None:
    """Write a text to IPython's pretty printer; inside a dict or list as a block of its own, indented."""
    inside = printer.indentation > 0
    with printer.group(4 if inside else 0):
        for place, line in enumerate(text.split("\n")):
            if place or inside:
                printer.break_()
            printer.text(line)


def query_name(name: str | None, id: str) -> str:
    """Name a query, the same everywhere: one without a name is ``query 6be93ec0``, which is also a key to it."""
    return clean(redact(name or "")) or f"query {id[:8]}"


def clean(text: str) -> str:
    """Make one line of a text from outside: controls and direction overrides become one space."""
    return _INVISIBLE.sub(" ", text).strip()


def _known(x: Any) -> float | None:
    try:
        value = float(x)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if abs(value) < _LARGEST else None


def _round(x: float) -> int:
    return math.floor(x + 0.5)


def _decimal(digits: int, places: int) -> str:
    """Write ``digits / 10**places`` without trailing zeros."""
    whole, rest = divmod(digits, 10**places)
    fraction = f"{rest:0{places}d}".rstrip("0") if places else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    sign, value = (MINUS, -value) if value < 0 else ("", value)
    unit = 0
    while value >= 999.5 and unit < len(units) - 1:
        value /= base
        unit += 1
    places = 3 if value < 1 else 2 if value < 9.995 else 1 if value < 99.95 else 0
    digits = _round(value * 10**places)
    if not digits and value:
        return f"{_beyond(sign)}0.001{units[unit]}"
    return f"{sign}{_decimal(digits, places)}{units[unit]}"


def _beyond(sign: str) -> str:
    return f">{sign}" if sign else "<"


def _datetime(ms: float | None) -> datetime | None:
    value = _known(ms)
    try:
        return None if value is None else _EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        return None
