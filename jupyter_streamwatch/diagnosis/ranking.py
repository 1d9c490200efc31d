"""Which hint comes first: what explains the lag, with its symptoms right under it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.hint import SEVERITIES

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.hint import Hint

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
_CAUSES = {
    "watermark-unset": ("state-growth", "results-pending"),
    "watermark-ahead": ("late-rows-dropped",),
    "watermark-stuck": ("state-growth", "results-pending"),
    "state-growth": ("state-memory", "duration-trend"),
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
    """Return the code of the cause for each symptom that has one; what is only worth knowing causes nothing worse."""
    by_code = {hint.code: hint for hint in hints}
    under: dict[str, str] = {}

    def explain(symptom: str, cause: Hint) -> None:
        found = by_code.get(symptom)
        if found is not None and symptom not in under and (cause.severity != "info" or found.severity == "info"):
            under[symptom] = cause.code

    if "rate-limit-reached" in by_code:  # a limit that holds rows back while time is left is the whole reason
        for symptom in ("falling-behind", "backlog-growing"):
            explain(symptom, by_code["rate-limit-reached"])
    costly = max((hint for hint in hints if hint.share and hint.code not in _LATE), key=_cost, default=None)
    if costly is not None:
        for symptom in _LATE:
            explain(symptom, costly)
    for code, symptoms in _CAUSES.items():
        if code in by_code:
            for symptom in symptoms:
                explain(symptom, by_code[code])
    return under


def _cost(hint: Hint) -> tuple[int, float]:
    return -SEVERITIES.index(hint.severity), hint.share or 0.0
