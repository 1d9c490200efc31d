"""What a case gave, whether that is right, and the table of all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.faults.bench import Case

LOUD = ("warning", "critical")
CALM = ("keeping-up", "catching-up", "running", "idle", "finished", "stopped", "unknown")
SYMPTOMS = ("falling-behind", "at-capacity", "backlog-growing", "duration-trend")
"""Named first only where no cause is known, which is so more often where less can be asked."""

FACTOR = 2.0
"""How far a batch time may be from the predicted one."""


@dataclass(frozen=True)
class Outcome:
    """What a case gave."""

    case: Case
    hints: tuple[tuple[str, str, str], ...]  # code, severity, cause; the most important first
    verdict: str
    seconds: float = 0.0
    also: Any = None  # see Case.also

    @property
    def loud(self) -> list[str]:
        """Codes of the hints that warn."""
        return [code for code, severity, _ in self.hints if severity in LOUD]

    @property
    def first(self) -> str:
        """The code of the first hint; of a healthy run only what warns counts."""
        codes = self.loud if self.case.code is None else [code for code, _, _ in self.hints]
        return codes[0] if codes else ""

    @property
    def right(self) -> bool:
        """Whether the fault is named first, or a healthy run is left in peace."""
        if self.case.code is None:
            return not self.loud and self.verdict in CALM
        named = self.first == self.case.code and self.case.says in self.hints[0][2]
        return named and (self.also is None or self.also.right)

    @property
    def degraded(self) -> str:
        """The same where less can be known: ``right``, ``instead`` (what is true, too), ``no hint``, else ``WRONG``."""
        if self.right:
            return "right"
        if self.verdict == "broken" or self.case.code is None:
            return "WRONG"
        named = [hint for hint in self.hints if hint[0] == self.case.code]
        if any(self.case.says not in cause for _, _, cause in named):
            return "WRONG"
        allowed = {self.case.code, *self.case.instead, *SYMPTOMS}
        if not allowed.issuperset(self.loud):
            return "WRONG"
        return "instead" if self.loud or named else "no hint"


def judged(case: Case, diagnosis: Any, history: Any, seconds: float = 0.0) -> Outcome:
    hints = tuple((hint.code, hint.severity, hint.cause) for hint in diagnosis.hints)
    return Outcome(case, hints, diagnosis.verdict, seconds, case.also(history) if case.also else None)


@dataclass(frozen=True)
class Mended:
    """What the code of a hint did to its query."""

    case: Case
    code: str  # pasted
    hints: tuple[str, ...]  # codes, after it
    verdict: str
    before: float | None  # the usual batch time in ms
    after: float | None
    predicted: float | None  # None where the hint predicts none

    @property
    def ratio(self) -> float | None:
        """Batch time over what was predicted."""
        return self.after / self.predicted if self.after and self.predicted else None

    @property
    def right(self) -> bool:
        """Whether the hint is gone, the query keeps up and its batches take about what was predicted."""
        told = self.predicted is None or (self.ratio is not None and 1 / FACTOR <= self.ratio <= FACTOR)
        return self.case.code not in self.hints and self.verdict == "keeping-up" and told


def batch_time(effect: Any, interval: float | None) -> float | None:
    """Return the batch time in ms that an effect predicts, with the trigger interval in ms; None where it does not."""
    if effect is None or effect.unit not in ("ms", "share") or "backlog" in effect.name:
        return None
    if effect.unit == "ms":
        return float(effect.best)
    return effect.best * interval if interval else None


def line(outcome: Outcome, *, connect: bool = False) -> str:
    case = outcome.case
    more = outcome.degraded if connect else "right" if outcome.right else "WRONG"
    if more == "WRONG":
        more += f" {[hint[:2] for hint in outcome.hints]}"
    told = "" if outcome.also is None else f"\n    {outcome.also}"
    cells = (case.name, case.code or "(calm)", outcome.first or "-", outcome.verdict, f"{outcome.seconds:.0f}", more)
    return row(*cells) + told


def row(*cells: str) -> str:
    widths = (36, 22, 22, 15, 8, 0)
    return " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def mended_line(mended: Mended) -> str:
    def ms(value: float | None) -> str:
        return "n/a" if value is None or math.isnan(value) else f"{value:.0f} ms"

    times = f"{ms(mended.before)} to {ms(mended.after)}"
    if mended.predicted is not None:
        times += f", predicted {ms(mended.predicted)}"
    more = "" if mended.right else f" WRONG {mended.hints}"
    return f"    mended by {' '.join(mended.code.split())[:70]}: {mended.verdict}, {times}{more}"


def summary(outcomes: list[Outcome], mended: list[Mended], *, connect: bool = False) -> str:
    """Count: precision is the share of right ones among the first hints, recall among the faults."""
    faults = [one for one in outcomes if one.case.code]
    calm = [one for one in outcomes if not one.case.code]
    alarms = len(calm) - sum(one.right for one in calm)
    if connect:
        count = {word: sum(one.degraded == word for one in faults) for word in ("right", "instead", "no hint", "WRONG")}
        told = ", ".join(f"{number} {word}" for word, number in count.items())
        return f"{len(faults)} faults: {told}; {len(calm)} healthy runs, {alarms} false alarms"
    found = sum(one.right for one in faults)
    named = sum(bool(one.first) for one in outcomes)
    precision = found / named if named else 1.0
    recall = found / len(faults) if faults else 1.0
    text = (
        f"{len(faults)} faults, {len(calm)} healthy runs, {alarms} false alarms; "
        f"precision {precision:.2f}, recall {recall:.2f}"
    )
    if mended:
        text += f"; {sum(one.right for one in mended)} of {len(mended)} mended by the code of their hint"
    return text
