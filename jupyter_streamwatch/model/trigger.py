"""What starts a query's batches: stated by the user, asked of Spark, or inferred from the starts of its batches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

Kind: TypeAlias = Literal["default", "processingTime", "once", "availableNow", "continuous", "realTime"]
Origin: TypeAlias = Literal["stated", "asked", "inferred"]

ONCE: tuple[Kind, ...] = ("once", "availableNow")
"""Triggers that work through what is there: a query with one ends by itself."""

_UNITS_MS = {
    "ms": 1.0, "millisecond": 1.0, "msec": 1.0,
    "s": 1_000.0, "sec": 1_000.0, "second": 1_000.0,
    "m": 60_000.0, "min": 60_000.0, "minute": 60_000.0,
    "h": 3_600_000.0, "hour": 3_600_000.0,
    "d": 86_400_000.0, "day": 86_400_000.0,
}  # fmt: skip
_LENGTH = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)\s*")
# How Spark's classes, its Python keywords and people write the same six triggers.
_KINDS: dict[str, Kind] = {
    "default": "default",
    "processingtime": "processingTime", "processingtimetrigger": "processingTime",
    "once": "once", "onetime": "once", "onetimetrigger": "once",
    "availablenow": "availableNow", "availablenowtrigger": "availableNow",
    "continuous": "continuous", "continuoustrigger": "continuous",
    "realtime": "realTime", "realtimetrigger": "realTime",
}  # fmt: skip
_CALL = re.compile(r"(?:trigger\.)?([a-z]+)\$?(?:@[0-9a-f]+)?\s*(?:\((.*)\))?")
_LONGEST_MS = 366 * 86_400_000.0


@dataclass(frozen=True)
class Trigger:
    """When a query starts its batches.

    Attributes:
        kind: Spark's kind of trigger; ``default`` starts a batch as soon as the one before has ended.
        interval_ms: Milliseconds between two starts (``processingTime``), between two commits of an epoch
            (``continuous``) or the length of a batch (``realTime``); None otherwise or when it is not known.
        origin: ``stated`` by the user, ``asked`` of Spark, or ``inferred`` from the starts of batches.
    """

    kind: Kind
    interval_ms: float | None = None
    origin: Origin = "stated"

    @classmethod
    def parse(cls, x: Any, origin: Origin = "stated") -> Trigger:
        """Read a trigger from what people and Spark write.

        Args:
            x: Seconds (``2``), a length (``"2 seconds"``), a kind (``"availableNow"``), PySpark's keyword
                (``{"processingTime": "2 seconds"}``) or Spark's own text (``ProcessingTimeTrigger(1000)``).
            origin: Who says so.

        Raises:
            ValueError: In one sentence, when ``x`` is none of these.
        """
        if isinstance(x, Trigger):
            return replace(x, origin=origin)
        if isinstance(x, Mapping) and len(x) == 1:
            ((name, value),) = x.items()
            kind = _KINDS.get(str(name).lower())
            if kind in ONCE and value is True:
                return cls(kind, None, origin)
            if kind in ("processingTime", "continuous", "realTime") and isinstance(value, str):
                return _timed(kind, _length(value), origin, x)
        elif isinstance(x, (int, float)) and not isinstance(x, bool):
            return _timed("processingTime", x * 1_000.0, origin, x)
        elif isinstance(x, str):
            return _of_text(x, origin)
        raise _unknown(x)


def _of_text(text: str, origin: Origin) -> Trigger:
    short = text.strip().lower().rsplit("streaming.", 1)[-1]
    length = _length(short)
    if length is not None:
        return _timed("processingTime", length, origin, text)
    match = _CALL.fullmatch(short)
    kind = _KINDS.get(match[1]) if match else None
    if match is None or kind is None:
        raise _unknown(text)
    if kind in ("default", "once", "availableNow") or not match[2]:
        return Trigger(kind, None, origin)
    inside = match[2].strip().strip("\"'")
    return _timed(kind, float(inside) if re.fullmatch(r"[0-9]{1,15}", inside) else _length(inside), origin, text)


def _timed(kind: Kind, ms: float | None, origin: Origin, said: Any) -> Trigger:
    if ms is None or not 0 <= ms <= _LONGEST_MS:
        raise _unknown(said)
    if kind == "processingTime" and ms == 0:
        return Trigger("default", None, origin)  # Spark's own default is ProcessingTime(0)
    return Trigger(kind, ms, origin)


def _length(text: str) -> float | None:
    """Milliseconds of ``"1 minute 30 seconds"``; None when it is no length of time."""
    rest = text.strip().lower().removeprefix("interval ")
    total = 0.0
    while rest:
        match = _LENGTH.match(rest)
        unit = match and _UNITS_MS.get(match[2], _UNITS_MS.get(match[2].removesuffix("s")))
        if not match or not unit:
            return None
        total += float(match[1]) * unit
        rest = rest[match.end() :]
    return total if text.strip() else None


def _unknown(x: Any) -> ValueError:
    kinds = ", ".join(repr(kind) for kind in get_args(Kind) if kind != "processingTime")
    return ValueError(f"A trigger is a number of seconds, a length like '2 seconds', or one of {kinds}; not {x!r:.80}.")


class TriggerGuess:
    """Infers the interval of one run from the starts of its batches.

    Spark starts a ``processingTime`` batch that had to wait at a multiple of the interval (counted from the epoch);
    a batch that follows one that took too long starts at once, and says nothing. Silent when in doubt.
    """

    FEWEST = 4  # batches that waited: with 2 % of tolerance, chance passes once in 6 million
    FEWEST_SHORT = 10  # below a second: the tolerance is a larger part of the interval
    KEPT = 24

    def __init__(self) -> None:
        """Start without any batch."""
        self._starts: list[tuple[float, bool]] = []  # start, and whether the batch waited for its trigger
        self._end: float | None = None
        self._new = 0  # batches that waited since the last judgement
        self.interval_ms: float | None = None

    def add(self, start_ms: float | None, duration_ms: float | None, *, follows: bool = True) -> None:
        """Take the start and the duration of the run's next batch; after missing ones it ``follows`` none."""
        if start_ms is None or (self._starts and start_ms <= self._starts[-1][0]):
            return
        # The first batch of a run starts when the query does; 5 ms is less than Spark needs between two batches.
        waited = follows and self._end is not None and start_ms - self._end > 5.0
        self._end = start_ms + duration_ms if duration_ms is not None else None
        self._starts.append((start_ms, waited))
        if len(self._starts) > self.KEPT:
            del self._starts[0]
        self._new += waited
        if self._new >= (self.FEWEST if self.interval_ms else 1):
            self._new = 0
            self.interval_ms = self._judge() or self.interval_ms

    def _judge(self) -> float | None:
        waited = [start for start, flag in self._starts if flag]
        if len(waited) < self.FEWEST:
            return None
        pairs = zip(self._starts, self._starts[1:], strict=False)
        gaps = sorted(after - before for (before, _), (after, flag) in pairs if flag)
        interval = _human(gaps[len(gaps) // 2])
        if interval is None or (interval < 1_000 and len(waited) < self.FEWEST_SHORT):
            return None
        late = max(4.0, min(50.0, 0.02 * interval))
        aligned = sum((start + 2.0) % interval <= late + 2.0 for start in waited)
        close = sum(abs(gap - interval) <= late for gap in gaps)
        return interval if aligned >= 0.9 * len(waited) and close >= 0.5 * len(gaps) else None


def _human(gap_ms: float) -> float | None:
    """The interval a person would have written for starts that are ``gap_ms`` apart; None when there is none."""
    for below, step in ((950.0, 100.0), (59_000.0, 500.0), (_LONGEST_MS, 10_000.0)):
        if gap_ms < below:
            nearest = round(gap_ms / step) * step
            return nearest if nearest and abs(gap_ms - nearest) <= max(4.0, min(50.0, 0.02 * nearest)) else None
    return None
