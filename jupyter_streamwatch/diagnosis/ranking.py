"""Which hint comes first: what explains the lag, with its symptoms right under it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.result import SEVERITIES
from jupyter_streamwatch.diagnosis.window import DISCOVERY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_streamwatch.diagnosis.result import Hint

GREW = " grew by"
"""Ends the name of the evidence for the part of the batch that takes longer and longer."""

BEFORE = "triggerExecution before"
"""Names the evidence for how long batches took before they took longer and longer."""

PEAKS = "triggerExecution of these"
"""Names the evidence for how long every n-th batch takes."""

_FIRST = ("query-failed", "batch-stuck")

_LAST = (
    "temporary-checkpoint",
    "metric-unreliable",
    "missed-progress",
    "sink-not-idempotent",
    "source-not-replayable",
)
"""What is true all the time stands behind what is true now."""

_LATE = ("falling-behind", "at-capacity", "backlog-growing", "duration-trend")
"""What the verdict says anyway: first only where no cause is known."""

_OF_PART = {
    "addBatch": ("state-growth", "state-commit-slow"),
    "walCommit": ("slow-checkpoint",),
    "commitOffsets": ("slow-checkpoint",),
    "queryPlanning": ("slow-planning",),
    **dict.fromkeys(DISCOVERY, ("slow-source-discovery",)),
}
"""What makes a part of the batch take longer and longer, the likeliest first."""

_CAUSES = {
    "duplicate-query": ("contention",),
    "watermark-unset": ("state-growth", "results-pending"),
    "watermark-ahead": ("late-rows-dropped",),
    "watermark-stuck": ("state-growth", "results-pending"),
    "state-growth": ("state-memory",),
    "duration-trend": ("falling-behind", "at-capacity", "backlog-growing"),
    "falling-behind": ("backlog-growing",),
}
"""What a hint explains beside the time it costs; tried in this order after the hints that cost time."""


def rank(hints: list[Hint]) -> tuple[Hint, ...]:
    """Put symptoms under their causes and sort: first the worst, then what costs most time."""
    under = _under(hints)
    by_code = {hint.code: hint for hint in hints}
    worst = {hint.code: SEVERITIES.index(hint.severity) for hint in hints}
    for code in by_code:
        # A cause is as severe as the worst of what it causes, also of what that causes in turn.
        place = code
        while place in under:
            place = under[place]
            worst[place] = min(worst[place], worst[code])
    order = {code: place for place, code in enumerate(by_code)}

    def key(hint: Hint) -> tuple[bool, int, bool, float, int]:
        return hint.code not in _FIRST, worst[hint.code], hint.code in _LAST, -(hint.share or 0.0), order[hint.code]

    ranked: list[Hint] = []

    def place_with_symptoms(hint: Hint) -> None:
        ranked.append(replace(hint, severity=SEVERITIES[worst[hint.code]], under=under.get(hint.code)))
        for symptom in sorted((one for one in hints if under.get(one.code) == hint.code), key=key):
            place_with_symptoms(symptom)

    for hint in sorted((one for one in hints if one.code not in under), key=key):
        place_with_symptoms(hint)
    return tuple(ranked)


def _under(hints: list[Hint]) -> dict[str, str]:
    """Return the code of the cause for each symptom that has one: the first that explains it."""
    by_code = {hint.code: hint for hint in hints}
    under: dict[str, str] = {}
    for cause, symptoms, proven in _explanations(by_code):
        for symptom in symptoms:
            found = by_code.get(symptom)
            if found is None or symptom in under:
                continue
            # What is only worth knowing causes nothing worse, unless the numbers say so.
            if proven or cause.severity != "info" or found.severity == "info":
                under[symptom] = cause.code
    return under


def _explanations(by_code: dict[str, Hint]) -> Iterator[tuple[Hint, tuple[str, ...], bool]]:
    """Yield (cause, what it may explain, whether numbers prove it), the likelier first."""
    if "rate-limit-reached" in by_code:  # a limit that holds rows back while time is left is the whole reason
        yield by_code["rate-limit-reached"], ("falling-behind", "backlog-growing"), False
    growing = _grows(by_code)
    if growing is not None:
        yield growing, ("duration-trend",), True
        if _was_in_time(by_code):  # what takes the same time as ever did not make the query late
            yield by_code["duration-trend"], _CAUSES["duration-trend"], True
        if growing.code == "state-growth":
            yield growing, ("state-commit-slow",), True
    late = _LATE if not _peaks(by_code) else tuple(code for code in _LATE if code != "duration-trend")
    timed = [hint for hint in by_code.values() if hint.share and hint.code not in _LATE]
    if timed:
        yield max(timed, key=_cost), late, False
    for code, symptoms in _CAUSES.items():
        if code in by_code:
            yield by_code[code], symptoms, False


def _grows(by_code: dict[str, Hint]) -> Hint | None:
    """Return the hint that explains why batches take longer and longer: what is said of the part that grew."""
    trend = by_code.get("duration-trend")
    if trend is None:
        return None
    parts = [one.name.removesuffix(GREW) for one in trend.evidence if one.name.endswith(GREW)]
    codes = [code for part in parts for code in _OF_PART.get(part, ())]
    return next((by_code[code] for code in codes if code in by_code), None)


def _peaks(by_code: dict[str, Hint]) -> bool:
    """Whether every n-th batch alone takes longer: nothing that each batch costs explains that."""
    trend = by_code.get("duration-trend")
    return trend is not None and any(one.name == PEAKS for one in trend.evidence)


def _was_in_time(by_code: dict[str, Hint]) -> bool:
    """Whether batches that take longer and longer once ended before the next trigger."""
    late = by_code.get("falling-behind") or by_code.get("at-capacity")
    interval = [one.value for one in late.evidence if one.name == "trigger interval"] if late else []
    before = [one.value for one in by_code["duration-trend"].evidence if one.name == BEFORE]
    return bool(interval and before) and float(before[0]) < float(interval[0])


def _cost(hint: Hint) -> tuple[int, float]:
    return -SEVERITIES.index(hint.severity), hint.share or 0.0
