"""Did it come true: what a hint of the run before predicted, beside what this run shows."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.diagnosis.measure import trigger_code
from jupyter_streamwatch.diagnosis.result import TIMES_COMPUTED, Outcome
from jupyter_streamwatch.diagnosis.window import STARTS, inferred
from jupyter_streamwatch.model.history import Parts, Snapshot
from jupyter_streamwatch.text.numbers import duration, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_streamwatch.diagnosis.result import Effect, Hint
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.history import HistoryView, Run

    Judged = tuple["Window", "Load", "tuple[Hint, ...]"]

_FEWEST = 5  # settled batches of this run: the first ones are still warming up
_TRIES = 5  # runs that are looked back
_ALIKE = 1.5  # times the rows a batch: beyond it the times of two runs cannot be compared
_ROWS = 200  # batches of the run before that are looked at, as of any run

# The run before is over, so what it gives stays the same: found by the object that stands for it while it stays.
_KEPT: deque[tuple[Run, object, Judged]] = deque(maxlen=64)


def before(history: HistoryView, others: Iterable[HistoryView]) -> tuple[HistoryView, int] | None:
    """Return (history, place of the run) of the run before the latest one: of this id, else of another of its name.

    Runs that ended before they had a few batches, such as a start that failed, are passed over.
    """
    runs = history.runs
    for place in range(len(runs) - 2, max(len(runs) - 2 - _TRIES, -1), -1):
        first, last = runs[place].firstBatch, runs[place].lastBatch
        if first is not None and last is not None and last - first >= _FEWEST:
            return history, place
    if not history.name or not runs:
        return None
    began = _began(history)
    same = [one for one in others if one.name == history.name and one.id != history.id and one.runs]
    over = [(at, one) for one in same if one.runs[-1].state != "active" and (at := _began(one)) is not None]
    if began is None:
        return None
    earlier = [(at, one) for at, one in over if at < began]
    found = max(earlier, key=lambda pair: pair[0])[1] if earlier else None
    return None if found is None else (found, len(found.runs) - 1)


def outcome(
    now: Judged, earlier: tuple[HistoryView, int], judge: Callable[[HistoryView], Judged], settings: object
) -> Outcome | None:
    """Compare the first prediction of the run before with this run; None while its hint still holds, or too early.

    Args:
        now: Window, load and hints of the latest run.
        earlier: What :func:`before` returned.
        judge: Gives the same of a history's latest run.
        settings: Thresholds and rules that ``judge`` goes by.
    """
    _, load, hints = now
    if load.judged < _FEWEST or load.typical is None:
        return None
    history, place = earlier
    run = history.runs[place]
    kept = next((judged for key, how, judged in _KEPT if key is run and how == settings), None)
    if kept is None:
        kept = judge(_past(history.snapshot(), place))
        _KEPT.append((run, settings, kept))
    _, past, past_hints = kept
    hint = next((one for one in past_hints if one.effect is not None), None)
    if hint is None or hint.effect is None or hint.code in {one.code for one in hints}:
        return None
    rows = past.rows and past.rows / _times(hint)
    if not load.rows or not rows or not 1 / _ALIKE <= load.rows / rows <= _ALIKE:
        return None
    return _compared(hint, hint.effect, past, load)


def _times(hint: Hint) -> float:
    """Return how often a batch of the run before was computed: its rows were counted as often."""
    return next((float(one.value) for one in hint.evidence if one.name == TIMES_COMPUTED), 1.0)


def _compared(hint: Hint, effect: Effect, past: Load, load: Load) -> Outcome | None:
    write: Callable[[float | None], str]
    if effect.name == "batch time":
        write, was, came, what = duration, past.typical, load.typical, "batches take"
    elif effect.name == "utilisation" and load.interval and hint.code_fix == trigger_code(load.interval / 1000):
        write, was, came, what = percent, past.utilisation, load.utilisation, "of the interval batches take"
    else:
        return None  # another number, or another interval than the one that was proposed
    if was is None or came is None:
        return None
    word = "Not as" if came > effect.high else "As" if came >= effect.low else "Better than"
    text = (
        f"{word} predicted: {what} {write(came)} now, after {write(was)} in the run before; {hint.code} predicted about"
        f" {write(effect.best)} ({write(effect.low)} to {write(effect.high)})."
    )
    return Outcome(hint.code, effect.name, (effect.low, effect.best, effect.high), was, came, effect.unit, text)


def _past(history: Snapshot, place: int) -> HistoryView:
    """Return a history as it was when the run at ``place`` was its latest; only what is of that run."""
    if place == len(history.runs) - 1:
        return history
    run = history.runs[place]
    batches = history.batches.taken(np.flatnonzero(history.batches.runIndex == place)[-_ROWS:])
    recent = tuple(one for one in history.recent if one.runId == run.runId)
    seen = inferred(*(batches.numbers(name).tolist() for name in STARTS))
    past = Snapshot(
        history,
        Parts(
            runs=history.runs[: place + 1],
            batches=batches,
            gaps=history.parts.run_gaps[place],
            run_gaps=history.parts.run_gaps[: place + 1],
            recent=recent,
            trigger=seen or history.trigger,
        ),
    )
    past.last = past.record = recent[-1] if recent else None
    past.running = past.status = past.idleSince = past.checkpoint = None
    return past


def _began(history: HistoryView) -> float | None:
    run = history.runs[-1]
    if run.started is not None:
        return run.started
    starts = history.batches.tail(_ROWS).numbers("timestamp")
    return float(starts[0]) if len(starts) and starts[0] == starts[0] else None
