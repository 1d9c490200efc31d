"""Vertical marks with a word: where runs began and ended, failed, and where batches are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jupyter_streamwatch.charts import theme

if TYPE_CHECKING:
    from jupyter_streamwatch.charts.rows import Rows
    from jupyter_streamwatch.history import History

MOST = 60  # marks of one kind; the newest stay
WORD_SHARE = 0.09  # of the time shown: two words closer than this would lie over each other
EDGE_SHARE = 0.88  # beyond this a word stands to the left of its line
COLUMNS = ("x", "word", "kind", "label", "align", "offset", "color")


class Mark(NamedTuple):
    """A moment (epoch ms), the word of it and its kind: run, failed, stopped or gap."""

    x: float
    word: str
    kind: str


def marks(history: History, rows: Rows) -> dict[str, list[object]]:
    """Return the ``marks`` source: few rows, in order of time, always all of them.

    ``label`` is the word where there is room for it, else empty; ``align`` and ``offset`` (px) place it.
    """
    found = sorted([*_runs(history), *_gaps(history)], key=lambda mark: mark.x)
    times = [mark.x for mark in found] + [t for t in (*rows.start[:1], *rows.end[-1:]) if np.isfinite(t)]
    first, span = (min(times), max(max(times) - min(times), 1.0)) if times else (0.0, 1.0)
    made: dict[str, list[object]] = {name: [] for name in COLUMNS}
    taken = -np.inf
    for mark in found:
        place = (mark.x - first) / span
        room = place - taken >= WORD_SHARE or mark.kind == "failed"
        left = place > EDGE_SHARE
        taken = place if room else taken
        row = (
            round(mark.x),
            mark.word,
            mark.kind,
            mark.word if room else "",
            "right" if left else "left",
            -4 if left else 4,
            theme.ALARM if mark.kind == "failed" else theme.QUIET,
        )
        for name, value in zip(COLUMNS, row, strict=True):
            made[name].append(value)
    return made


def _runs(history: History) -> list[Mark]:
    """Mark each run but the first where it starts, failures where they end, and the end of the last run."""
    run_of = np.asarray(history.batches.runIndex)
    times = history.batches.numbers("timestamp")
    found = []
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
            found.append(Mark(end, "stopped", "stopped"))
    return found


def _gaps(history: History) -> list[Mark]:
    """Mark missing batches at the one that came after them."""
    found = []
    ids = history.batches.numbers("batchId")
    times = history.batches.numbers("timestamp")
    for before, after in history.gaps[-MOST:]:
        at = np.flatnonzero((ids == after) & np.isfinite(times))
        if len(at):
            found.append(Mark(float(times[at[-1]]), f"gap {before}–{after}", "gap"))
    return found
