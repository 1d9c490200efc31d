"""From a history to its diagnosis: window, load, verdict, rules, ranking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.diagnosis.capacity import capacity
from jupyter_streamwatch.diagnosis.hint import Diagnosis
from jupyter_streamwatch.diagnosis.load import load
from jupyter_streamwatch.diagnosis.ranking import rank
from jupyter_streamwatch.diagnosis.registry import rules
from jupyter_streamwatch.diagnosis.thresholds import Thresholds
from jupyter_streamwatch.diagnosis.verdict import verdict
from jupyter_streamwatch.diagnosis.window import Window
from jupyter_streamwatch.history import History
from jupyter_streamwatch.progress import Progress, Trigger, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_streamwatch.diagnosis.hint import Hint
    from jupyter_streamwatch.diagnosis.load import Load

_DEFAULT = Thresholds()


def diagnose(
    records: History | Iterable[Any],
    trigger: Any = None,
    *,
    now: float | None = None,
    thresholds: Thresholds | None = None,
    others: Sequence[History] = (),
) -> Diagnosis:
    """Judge one query: a verdict, hints with the most important first, and its capacity.

    Args:
        records: The query's history, or its progress records in order (whatever :func:`parse` takes).
        trigger: Seconds, ``"2 seconds"``, ``"availableNow"``, ``"once"`` or ``"continuous"``; beats what is known.
        now: The time in epoch ms, for a live query: only then can a batch be stuck. Without it the judgement is as of
            the last record.
        thresholds: What counts as late, slow, large or many.
        others: Histories of the other queries of the session.

    Raises:
        ValueError: When the records are of several queries, or are no progress records.
    """
    stated = None if trigger is None else Trigger.parse(trigger)
    history = records if isinstance(records, History) else _history(records)
    window = Window(history, thresholds or _DEFAULT, trigger=stated, now=now, others=others)
    measured = load(window)
    name, reason = verdict(window, measured)
    return Diagnosis(name, reason, rank(_hints(window, measured)), capacity(window, measured))


def _hints(window: Window, measured: Load) -> list[Hint]:
    found: list[Hint] = []
    explained: dict[str, str] = {}  # severity of what already explains the time inside a part
    for code, rule in rules.items():
        if code in rules.off or explained.get(rule.within or "") in ("warning", "critical"):
            continue
        hint = rule.check(window, measured)
        if hint is None or (rule.within in explained and hint.severity == "info"):
            continue
        found.append(hint)
        if rule.within:
            explained[rule.within] = hint.severity
    return found


def _history(records: Iterable[Any]) -> History:
    if isinstance(records, (str, bytes, Mapping)) and not isinstance(records, Progress):
        records = [records]
    parsed = [parse(one) for one in ([records] if isinstance(records, Progress) else records)]
    ids = {one.id for one in parsed if one.id is not None}
    if len(ids) > 1:
        raise ValueError(f"These records are of {len(ids)} queries; sw.load(...).diagnose() judges each of them.")
    history = History(next(iter(ids), "query"), next((one.name for one in parsed if one.name), None))
    for one in parsed:
        history.append(one)
    return history
