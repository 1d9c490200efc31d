"""The one line of text under a query, its error in full, and the batch that runs right now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from jupyter_streamwatch.model.error_line import error_line
from jupyter_streamwatch.model.runs import goes_on
from jupyter_streamwatch.text.numbers import clean, clock, duration, middle, when
from jupyter_streamwatch.text.outside import cut, printable
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis import Diagnosis
    from jupyter_streamwatch.model.history import HistoryView, Run

MOMENT = 1_000.0  # ms; a batch that runs for less is no news, unless its usual time is shorter still
# Properties of a query that its hints say once, calmly: no news that would stand under every line for ever.
STANDING = frozenset(
    {"limit-ignored", "metric-unreliable", "no-rate-limit", "pinned-conf", "state-growth"}
    | {"sink-not-idempotent", "source-not-replayable", "temporary-checkpoint"}
)
NOTE_LENGTH = 200  # characters; the whole text is in the details or in the hint
DETAILS_LENGTH = 20_000  # characters of an error; a stack trace beyond this says nothing more
_TODAY = 12 * 3_600_000  # ms; a time of day alone is clear within half a day


class SessionLike(Protocol):
    """What a line needs of a session."""

    @property
    def state(self) -> str:
        """``live``, ``stopped`` or ``gone``."""

    @property
    def text(self) -> str:
        """The state as a sentence."""


@dataclass(frozen=True)
class Note:
    """One line of text; ``at`` is the epoch ms of a time in it, for pages that show the reader's zone."""

    text: str
    level: str
    code: str | None = None
    at: float | None = None


@dataclass(frozen=True)
class Running:
    """The batch that runs now; ``fraction`` of its tasks that are done, where they are known."""

    text: str
    fraction: float | None


def note(history: HistoryView, diagnosis: Diagnosis, now: float | None) -> Note | None:
    """Return what there is to say under the line, or None when nothing is."""
    verdict = diagnosis.verdict
    run = history.runs[-1] if history.runs else None
    top = next((hint for hint in diagnosis.hints if hint.severity != "info" or hint.code not in STANDING), None)
    if verdict == "failed" and run is not None:
        return Note(error_line(run), "critical", top.code if top else None)
    if verdict == "starting":
        return Note(_starting(history, run, now), "info")
    if verdict == "running" and history.trigger is not None and history.trigger.kind == "continuous":
        return Note("Spark reports no progress in this mode", "info", top.code if top else None)
    if verdict in ("finished", "stopped") and (top is None or top.severity == "info") and _nothing_new(history, run):
        return Note(diagnosis.reason.removesuffix("."), "info")
    if verdict == "idle" and (top is None or top.severity == "info"):
        return _idle(history, now)
    return Note(middle(redact(clean(top.title)), NOTE_LENGTH), top.severity, top.code) if top else None


def _nothing_new(history: HistoryView, run: Run | None) -> bool:
    """Whether the numbers shown are of a run before the latest one, which has ended without a batch."""
    last = history.last
    return run is not None and run.firstBatch is None and last is not None and last.runId != run.runId


def details(history: HistoryView) -> str | None:
    """Return the full text of the latest run's error, or None; bounded."""
    text = history.runs[-1].exception if history.runs else None
    return cut(printable(redact(text)), DETAILS_LENGTH) if text else None


def running(history: HistoryView, usual: float | None, now: float) -> Running | None:
    """Describe the running batch once it takes longer than a moment or than usual; None before and without one."""
    batch = history.running
    if batch is None or not goes_on(history.runs) or _finished(history):
        return None
    so_far = None if batch.started is None else max(now - batch.started, 0.0)
    if so_far is None or so_far <= min(MOMENT, usual if usual is not None else MOMENT):
        return None
    which = "running batch" if batch.batchId is None else f"running batch {batch.batchId}"
    parts = []
    fraction = None
    if batch.tasksTotal and batch.tasksDone is not None:
        parts.append(f"{batch.tasksDone} of {batch.tasksTotal} tasks")
        fraction = min(batch.tasksDone / batch.tasksTotal, 1.0)
    if batch.tasksFailed:
        parts.append(f"{batch.tasksFailed} failed")
    parts.append(f"{duration(so_far)} so far" + (f", usually {duration(usual)}" if usual is not None else ""))
    return Running(f"{which}: {' · '.join(parts)}", fraction)


def _finished(history: HistoryView) -> bool:
    """Whether the last event already tells of the batch that the probe saw running."""
    last, batch = history.last, history.running
    if last is None or batch is None or batch.batchId is None or last.batchId is None or last.runId != batch.runId:
        return False
    return last.batchId >= batch.batchId


def _starting(history: HistoryView, run: Run | None, now: float | None) -> str:
    says = clean(history.status.message) if history.status else ""
    parts = [middle(says, NOTE_LENGTH) if says else "No batch yet"]
    if now is not None and run is not None and run.started is not None:
        parts.append(f"{duration(max(now - run.started, 0.0))} since the start")
    return " · ".join(parts)


def _idle(history: HistoryView, now: float | None) -> Note:
    at = _last_data(history)
    if at is None:
        return Note("No new data", "info")
    near = now is not None and abs(now - at) < _TODAY
    return Note(f"No new data since {clock(at) if near else when(at)}", "info", at=at)


def _last_data(history: HistoryView) -> float | None:
    """Return when the last batch with rows ended, in epoch ms; else when Spark first said that it idles."""
    batches = history.batches
    of_data = np.flatnonzero(batches.isData)
    if not len(of_data):
        return history.idleSince
    start, took = (float(batches.numbers(name)[of_data[-1]]) for name in ("timestamp", "batchDuration"))
    if math.isnan(start):
        return history.idleSince
    return start if math.isnan(took) else start + took
