"""Words of hints and capacity that every format writes alike. Hints come as data (``Hint.to_dict()``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.text.numbers import UNKNOWN, clean, duration, exact, number, percent, size, when

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHAPES = {"ok": "disc", "info": "half", "warning": "triangle", "critical": "square", "muted": "ring"}
GLYPHS = {"disc": "●", "half": "◐", "triangle": "▲", "square": "■", "ring": "○"}
WELL = "All is well: no rule has anything to say."
NOTHING_WRONG = "Nothing to say against it."
_UNSURE = ("running", "unknown", "at-capacity")

_UNITS: dict[str, Callable[[Any], str]] = {
    "ms": duration,
    "bytes": size,
    "rows/s": lambda value: f"{number(value)} rows/s",
    "share": percent,
    "time": when,
}
_CAPACITY: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("fixed_ms", "Fixed cost of a batch", duration),
    ("ms_per_1000_rows", "Cost of 1,000 rows more", duration),
)


def nothing_wrong(verdict: str, waits: float | None) -> bool:
    """Whether a query without hints is fine as far as anybody can tell: not while much may wait and nothing judges."""
    return not (waits and verdict in _UNSURE)


def capitalised(sentence: str) -> str:
    """Begin a sentence with a capital; what begins with a number stays."""
    return sentence[:1].upper() + sentence[1:]


def glyph(level: str) -> str:
    """Return the shape of a level as a character."""
    return GLYPHS[SHAPES[level]]


def evidence(one: dict[str, Any]) -> str:
    """Write one piece of evidence: ``addBatch 2.9 s (batches 138-142)``."""
    value, unit = one["value"], str(one.get("unit") or "")
    if isinstance(value, str):
        text = clean(value)
    elif unit in _UNITS:
        text = _UNITS[unit](value)
    else:
        text = f"{exact(value)} {clean(unit)}".strip()
    seen = batches(one.get("batches") or ())
    return f"{clean(one['name'])} {text}" + (f" ({seen})" if seen else "")


def batches(ids: Sequence[int]) -> str:
    """Write batch ids in short: ``batch 7``, ``batches 138-142, 150``."""
    spans: list[list[int]] = []
    for one in sorted(set(ids)):
        if spans and one == spans[-1][-1] + 1:
            spans[-1][1:] = [one]
        else:
            spans.append([one])
    text = ", ".join("\N{EN DASH}".join(str(end) for end in span) for span in spans)
    return f"{'batch' if len(set(ids)) == 1 else 'batches'} {text}" if text else ""


def span(first: int | None, last: int | None) -> str:
    """Write the batches of a run: ``0-57``, ``12``, or n/a when none is known."""
    if first is None or last is None:
        return UNKNOWN
    return str(first) if first == last else f"{first}\N{EN DASH}{last}"


def effect(hint: dict[str, Any]) -> str | None:
    """Return the predicted effect of the fix as a sentence; None when there is none."""
    predicted = hint.get("effect")
    return clean(predicted["text"]) if predicted else None


def capacity(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Write what the capacity rests on as (label, ``best (low to high)``); what follows is a fact of the query."""
    made = []
    for key, label, write in _CAPACITY:
        if data.get(key) is not None:
            low, best, high = data[key]
            made.append((label, f"{write(best)} ({write(low)} to {write(high)})"))
    return made
