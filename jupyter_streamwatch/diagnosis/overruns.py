"""Batches of which only the log tells that they took longer than the trigger interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_streamwatch.text.numbers import duration

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.window import Window

_SLACK = 1_500.0  # ms by which log times in whole seconds, and what Spark does between two batches, may differ
_SHARE = 0.05  # of the batch time; the same for long batches


@dataclass(frozen=True)
class Overruns:
    """Late batches of one interval, in ms: the last ones that follow each other without a pause, one at least."""

    interval: float
    spent: tuple[float, ...]

    @property
    def times(self) -> str:
        """The batch times in words."""
        low, high = duration(min(self.spent)), duration(max(self.spent))
        return low if low == high else f"{low} to {high}"


def overruns(window: Window) -> Overruns | None:
    """Return the late batches that the log tells of last; None when it tells of none.

    Spark logs the line when the batch has ended: two lines as far apart as the later batch took are of two batches of
    which one followed the other at once.
    """
    told = window.facts.overruns
    if not told:
        return None
    interval = told[-1][1]
    spent: list[float] = []
    after: float | None = None  # when the batch began that was taken before, which is the later one
    for at, its_interval, took in reversed(told):
        if its_interval != interval or took <= interval:
            break
        if spent and (at is None or after is None or abs(after - at) > _SLACK + _SHARE * spent[-1]):
            break
        spent.append(took)
        after = None if at is None else at - took
    return Overruns(interval, tuple(reversed(spent))) if spent else None


def verdict(window: Window) -> tuple[str, str] | None:
    """Judge a query by what its log says of late batches, where too few batches were reported to judge by them."""
    late = overruns(window)
    if late is None:
        return None
    count = len(late.spent)
    of = f"of the {duration(late.interval)} trigger interval"
    if count >= window.t.min_batches:
        return "falling-behind", (
            f"{count} batches in a row took {late.times} {of}, each begun as soon as the one before it had ended."
        )
    batches = "A batch" if count == 1 else f"{count} batches in a row"
    return "running", f"{batches} took {late.times} {of}; whether most do is not known from so few."
