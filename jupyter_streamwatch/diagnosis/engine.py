"""From a history to its diagnosis: window, load, verdict, rules, ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from jupyter_streamwatch.diagnosis.capacity import capacity
from jupyter_streamwatch.diagnosis.outcome import before, outcome
from jupyter_streamwatch.diagnosis.ranking import rank
from jupyter_streamwatch.diagnosis.registry import rules
from jupyter_streamwatch.diagnosis.result import Backlog, Diagnosis
from jupyter_streamwatch.diagnosis.twins import twins
from jupyter_streamwatch.diagnosis.utilisation import load
from jupyter_streamwatch.diagnosis.verdict import verdict
from jupyter_streamwatch.diagnosis.window import Window
from jupyter_streamwatch.model.history import History, HistoryView
from jupyter_streamwatch.model.progress import Trigger, parse

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.result import Hint
    from jupyter_streamwatch.diagnosis.thresholds import Thresholds
    from jupyter_streamwatch.diagnosis.utilisation import Load

ADD_BATCH = (
    "batch-recomputed",
    "driver-bound",
    "contention",
    "too-few-tasks",
    "task-skew",
    "too-many-partitions",
    "state-commit-slow",
    "slow-user-code",
    "source-read-slow",
    "slow-sink",
)
"""The rules that explain the time inside addBatch, in this order: an earlier one makes a later one look true."""

# Several views ask for the same diagnosis: it is kept as long as the snapshot that it was made from.
_KEPT: WeakKeyDictionary[HistoryView, tuple[Any, Diagnosis]] = WeakKeyDictionary()


def diagnose(
    records: HistoryView | Iterable[Any],
    trigger: Any = None,
    *,
    now: float | None = None,
    thresholds: Thresholds | None = None,
    others: Iterable[HistoryView] = (),
) -> Diagnosis:
    """Judge one query: a verdict, hints with the most important first, and its capacity.

    Args:
        records: The query's history, or its progress records in order (whatever :func:`parse` takes).
        trigger: Seconds, ``"2 seconds"``, ``"availableNow"``, ``"once"`` or ``"continuous"``; beats what is known.
        now: The time in epoch ms, for a live query: only then can a batch be stuck. Without it the judgement is as of
            the last record.
        thresholds: What counts as late, slow, large or many; by default ``rules.thresholds``.
        others: Histories of the other queries of the session.

    Raises:
        ValueError: When the records are of several queries, or are no progress records.
    """
    stated = None if trigger is None else Trigger.parse(trigger)
    history = records if isinstance(records, HistoryView) else history_of(records)
    snapshot = history.snapshot()
    others = [one.snapshot() for one in others]
    same = twins(snapshot, others)
    earlier = before(snapshot, others)
    clock = now if snapshot.running is not None else None  # the time matters only to a batch that runs
    run = None if earlier is None else earlier[0].runs[earlier[1]]
    t = thresholds or rules.thresholds
    asked = (stated, t, clock, rules.off, tuple(one.id for one in same), run)
    kept = _KEPT.get(snapshot)
    if kept is not None and kept[0] == asked:
        return kept[1]
    window, measured, hints = judged = _judge(Window(snapshot, t, trigger=stated, now=now, twins=same))
    came = None
    if earlier is not None:
        came = outcome(judged, earlier, lambda one: _judge(Window(one, t, trigger=stated)), (t, rules.off, stated))
    name, reason = verdict(window, measured)
    here = measured.waiting
    waiting = Backlog(
        measured.backlog,
        here.trend,
        measured.change,
        here.remaining,
        here.unit,
        here.behind.amount if here.behind else None,
        here.change,
        here.text,
    )
    found = Diagnosis(name, reason, hints, capacity(window, measured), waiting, came, measured.worsens)
    _KEPT[snapshot] = (asked, found)
    return found


def _judge(window: Window) -> tuple[Window, Load, tuple[Hint, ...]]:
    measured = load(window)
    return window, measured, rank(_hints(window, measured))


def _hints(window: Window, measured: Load) -> list[Hint]:
    found = []
    left_out = rules.off.union(ADD_BATCH)
    for code, rule in rules.items():
        if code not in left_out:
            hint = rule.check(window, measured)
            if hint is not None:
                found.append(hint)
    return _first(window, measured) + found


def _first(window: Window, measured: Load) -> list[Hint]:
    """Return the first explanation of addBatch that holds; after one of severity info also the first worse one."""
    found: list[Hint] = []
    for code in ADD_BATCH:
        hint = None if code in rules.off else rules[code].check(window, measured)
        if hint is not None and (not found or hint.severity != "info"):
            found.append(hint)
            if hint.severity != "info":
                break
    return found


def history_of(records: Any) -> History:
    """Make a history of one query's progress records; ValueError when they are of several."""
    single = isinstance(records, (str, bytes, Mapping)) or hasattr(records, "asDict")  # a Row is iterable, too
    parsed = [parse(one) for one in ([records] if single or not isinstance(records, Iterable) else records)]
    ids = {one.id for one in parsed if one.id is not None}
    if len(ids) > 1:
        raise ValueError(f"These records are of {len(ids)} queries; sw.load(...).diagnose() judges each of them.")
    history = History(next(iter(ids), "query"), next((one.name for one in parsed if one.name), None))
    for one in parsed:
        history.append(one)
    return history
