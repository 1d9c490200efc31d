"""Vertical marks with a word: where runs began and ended, failed, and where batches are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.model.trigger import ONCE

if TYPE_CHECKING:
    from jupyter_streamwatch.charts.rows import Rows
    from jupyter_streamwatch.model.history import HistoryView

MOST = 60  # marks of one kind; the newest stay
CHARACTER = 0.012  # of the time shown: how much of a narrow chart a character of a word takes
COLUMNS = ("x", "word", "kind", "label", "align", "offset", "color")


class Mark(NamedTuple):
    """A moment (epoch ms), the word of it and its kind: run, failed, stopped or gap."""

    x: float
    word: str
    kind: str


def marks(history: HistoryView, rows: Rows) -> dict[str, list[object]]:
    """Return the ``marks`` source: few rows, in order of time, always all of them.

    ``label`` is the word where there is room for it, else empty; ``align`` and ``offset`` (px) place it: the word
    of an end stands before its line, that of a start or a gap after it.
    """
    found = sorted([*_runs(history), *_gaps(history)], key=lambda mark: (mark.x, mark.kind == "failed"))
    times = [mark.x for mark in found] + [t for t in (*rows.start[:1], *rows.end[-1:]) if np.isfinite(t)]
    first, span = (min(times), max(max(times) - min(times), 1.0)) if times else (0.0, 1.0)
    places = [_place(mark, (mark.x - first) / span) for mark in found]
    labelled = _with_room(found, places)
    made: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for number, (mark, (low, high)) in enumerate(zip(found, places, strict=True)):
        before = (low + high) / 2 < (mark.x - first) / span
        row = (
            round(mark.x),
            mark.word,
            mark.kind,
            mark.word if number in labelled else "",
            "right" if before else "left",
            -4 if before else 4,
            theme.ALARM if mark.kind == "failed" else theme.MARK,
        )
        for name, value in zip(COLUMNS, row, strict=True):
            made[name].append(value)
    return made


def _place(mark: Mark, at: float) -> tuple[float, float]:
    """Return between which shares of the time shown the word of a mark lies."""
    width = CHARACTER * (len(mark.word) + 1)
    before = mark.kind in ("failed", "stopped")
    if before and at < width:
        before = False
    elif not before and at + width > 1:
        before = True
    return (at - width, at) if before else (at, at + width)


def _with_room(found: list[Mark], places: list[tuple[float, float]]) -> set[int]:
    """Return the numbers of the marks whose words fit beside each other; failures and the newest first."""
    order = sorted(range(len(found)), key=lambda number: (found[number].kind != "failed", -found[number].x))
    fitting: set[int] = set()
    for number in order:
        low, high = places[number]
        if all(high <= places[other][0] or low >= places[other][1] for other in fitting):
            fitting.add(number)
    return fitting


def _runs(history: HistoryView) -> list[Mark]:
    """Mark each run but the first where it starts, failures where they end, and the end of the last run."""
    run_of = np.asarray(history.batches.runIndex)
    times = history.batches.numbers("timestamp")
    found = []
    once = history.trigger is not None and history.trigger.kind in ONCE
    first_shown = max(len(history.runs) - MOST, 0)
    for number, run in enumerate(history.runs[first_shown:], start=first_shown):
        own = times[run_of == number]
        own = own[np.isfinite(own)]
        start = run.started if run.started is not None else (float(own[0]) if len(own) else None)
        if number and start is not None:
            found.append(Mark(start, f"run {number + 1}", "run"))
        end = run.ended
        if run.state == "failed":
            end = end if end is not None else (float(own[-1]) if len(own) else None)
            if end is not None:
                found.append(Mark(end, "failed", "failed"))
        elif end is not None and run.state == "ended" and number == len(history.runs) - 1:
            found.append(Mark(end, "finished" if once else "stopped", "stopped"))
    return found


def _gaps(history: HistoryView) -> list[Mark]:
    """Mark missing batches at the one that came after them."""
    found = []
    ids = history.batches.numbers("batchId")
    times = history.batches.numbers("timestamp")
    for before, after in history.gaps[-MOST:]:
        at = np.flatnonzero((ids == after) & np.isfinite(times))
        if len(at):
            found.append(Mark(float(times[at[-1]]), f"gap {before}–{after}", "gap"))
    return found
