"""Writes expressions of a plan as a person would: windows, single conditions, nothing that differs from run to run."""

from __future__ import annotations

import re

from jupyter_streamwatch.spark.plans.text import split

_UNITS_MS = {"day": 86_400_000.0, "hour": 3_600_000.0, "minute": 60_000.0, "second": 1_000.0, "millisecond": 1.0}
_DELAY = re.compile(r"(-?\d+(?:\.\d+)?) (day|hour|minute|second|millisecond)s?")
_GAP = re.compile(r"cast\((?P<gap>[^()]+) as interval\)")
_RANDOM = re.compile(r"\b(rand|randn|uuid)\((?:[^()]|\([^()]*\))*\)")
_LAMBDA = re.compile(r"\b(lambda \w+?)_\d+\b")
_SLIDE, _START, _END = re.compile(r"% (\d+)\)"), re.compile(r"- (-?\d+)\) %"), re.compile(r"\+ (\d+)\)")
_NUMBER_CAST = re.compile(r"\bcast\((?P<number>-?\d+(?:\.\d+)?) as \w+(?:\(\d+,\d+\))?\)")
_COMPARISONS = {" = ": " = ", " <=> ": " <=> ", " < ": " < ", " <= ": " <= ", " > ": " < ", " >= ": " <= "}
_CONVERTED = re.compile(
    r"precisetimestampconversion\((?P<column>[^()]*(?:\([^()]*\))*[^()]*), TimestampType, LongType\)"
)


def delay_ms(text: str) -> float | None:
    """Read Spark's way of writing an interval: ``1 hours 30 minutes``."""
    parts = _DELAY.findall(text)
    return (
        sum(float(number) * _UNITS_MS[unit] for number, unit in parts)
        if parts and not _DELAY.sub("", text).strip()
        else None
    )


def steady(text: str) -> str:
    """Leave out the seeds of random functions: without one of the user's, each run has its own."""
    return _RANDOM.sub(r"\1()", text)


def without_ids(text: str) -> str:
    """Leave out what Spark numbers in lambda functions, beside the seeds."""
    return _LAMBDA.sub(r"\1", steady(text))


def conjuncts(text: str) -> list[str]:
    """Split ``((a AND b) AND c)`` into a, b and c."""
    text = text.strip()
    inner = text[1:-1] if text.startswith("(") and closing(text, 0) == len(text) - 1 else text
    depth = 0
    for at, letter in enumerate(inner):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and inner.startswith(" AND ", at):
            return [*conjuncts(inner[:at]), *conjuncts(inner[at + 5 :])]
    return [text]


def comparable(condition: str) -> tuple[str, ...]:
    """Return the parts of a condition as they are compared: in one order, each comparison written in one way.

    ``b = a`` is ``a = b``, ``x > 1`` is ``1 < x``, and ``between`` is its two comparisons, which Spark 4 prints as one,
    and without the types of their numbers.
    """
    found: list[str] = []
    for part in conjuncts(_NUMBER_CAST.sub(r"\g<number>", condition)):
        inside = split(part[len("between(") : -1]) if part.startswith("between(") and _whole(part, 7) else []
        if len(inside) == 3:
            found += [f"({inside[1]} <= {inside[0]})", f"({inside[0]} <= {inside[2]})"]
        else:
            found.append(_one_way(part))
    return tuple(sorted(set(found)))


def _one_way(part: str) -> str:
    """Write ``(b = a)`` as ``(a = b)`` and ``(a > b)`` as ``(b < a)``."""
    if part.startswith("NOT "):
        return f"NOT {_one_way(part[len('NOT ') :])}"
    if not part.startswith("(") or not _whole(part, 0):
        return part
    inner, depth = part[1:-1], 0
    for at, letter in enumerate(inner):
        depth += (letter in "([{") - (letter in ")]}")
        sign = next((one for one in _COMPARISONS if depth == 0 and inner.startswith(one, at)), None)
        if sign is not None:
            sides = [inner[:at], inner[at + len(sign) :]]
            if sign in (" = ", " <=> "):
                sides.sort()
            elif _COMPARISONS[sign] != sign:
                sides.reverse()
            return f"({_COMPARISONS[sign].join(sides)})"
    return part


def _whole(text: str, at: int) -> bool:
    """Whether the bracket that opens at ``at`` is closed by the last letter."""
    return closing(text, at) == len(text) - 1


def closing(text: str, at: int) -> int:
    """Return where the bracket that opens at ``at`` is closed; the end of the text when it is not."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place
    return len(text)


def converts(text: str) -> bool:
    """Whether a node computes a window."""
    return "precisetimestampconversion(" in text


def window(text: str) -> str:
    """Write a window as in a query; Spark prints the arithmetic that it is made of."""
    column = _CONVERTED.search(text)
    if column is None or not text.startswith("named_struct(start"):
        return text
    gap = _GAP.search(text)
    if gap:
        return f"session_window({_inner(column['column'])}, {gap['gap']})"
    plain = _CONVERTED.sub("", text)
    slide, start, ends = _SLIDE.search(plain), _START.search(plain), _END.findall(plain)
    if not (slide and start and ends):  # as older versions write it
        lengths = dict.fromkeys(int(number) for number in re.findall(r"(?<![\w.])\d+(?![\w.])", plain))
        return f"window({_inner(column['column'])}, {', '.join(_length(one) for one in lengths if one)})"
    length, every, begin = int(ends[-1]), int(slide[1]), int(start[1])
    told = [length, *([every] if every != length or begin else []), *([begin] if begin else [])]
    return f"window({_inner(column['column'])}, {', '.join(_length(one) for one in told)})"


def _inner(column: str) -> str:
    return column.rpartition("precisetimestampconversion(")[2]


def _length(microseconds: int) -> str:
    return f"{microseconds / 1_000_000:g} s"
