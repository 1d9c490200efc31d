"""The overview: one line a query, the same words in the widget, the report and the static picture.

A line is made of one HistoryView and its Diagnosis; every number is the one of Spark's last event, shortened, with
the exact value in its tip. What is not known is ``n/a``, with the reason in the tip. Texts are cleaned and
redacted here, once, because every view may end on a disk (a notebook keeps what a widget shows).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.diagnosis.waiting import written
from jupyter_streamwatch.diagnosis.words import SHAPES
from jupyter_streamwatch.model.progress import epoch_ms
from jupyter_streamwatch.summary.checkpoint import Sheet, sheet
from jupyter_streamwatch.summary.facts import ORIGINS, source_name
from jupyter_streamwatch.summary.facts import capacity as capacity_facts
from jupyter_streamwatch.summary.facts import rows as fact_rows
from jupyter_streamwatch.summary.note import details, note, running
from jupyter_streamwatch.text.numbers import UNKNOWN, duration, exact, iso, middle, number, query_name, rate
from jupyter_streamwatch.text.plain import plain
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.diagnosis import Diagnosis
    from jupyter_streamwatch.model.history import HistoryView
    from jupyter_streamwatch.model.progress import Progress
    from jupyter_streamwatch.summary.note import Note, Running, SessionLike

NAME_LENGTH = 40  # characters of a name in a line; the whole name is in its tip
SPARK_POINTS = 30  # batches in the small rate chart
ENDED = frozenset({"finished", "stopped"})  # a failed query stays in sight until it is started again

_LEVEL_ORDER = ("critical", "warning", "info", "ok", "muted")
_VERDICT_ORDER = (
    *("failed", "stuck", "falling-behind", "at-capacity", "catching-up", "starting", "idle"),
    *("running", "unknown", "keeping-up"),
)
_EPOCH_AGE = (
    2 * 86_400_000
)  # ms; a watermark further from the batch's time than this is shown as a date (replayed data)


@dataclass(frozen=True)
class State:
    """The verdict as a word, with the level that colours it and the shape beside it."""

    verdict: str
    label: str
    level: str
    shape: str
    reason: str


@dataclass(frozen=True)
class Rates:
    """Rows a second of the last batch, in Spark's words, and the processed rates of recent batches."""

    input: str
    processed: str
    tip: str
    spark: tuple[float | None, ...]


@dataclass(frozen=True)
class Batch:
    """The last batch: its time against the trigger interval, else against the usual time of this run.

    ``against`` is what stands after the time: `` of 2 s`` for an interval, which is a limit, else ``, usually 2 s``.
    """

    id: str
    duration: str
    of: str | None
    basis: str | None
    ratio: float | None
    tip: str
    against: str | None


@dataclass(frozen=True)
class Value:
    """A text with its exact value or the reason why it is unknown; ``trend`` only where one is known."""

    text: str
    tip: str
    trend: str | None = None


@dataclass(frozen=True)
class Line:
    """What one query shows at a glance. ``facts`` are (label, value, tip or None); ``hints`` as in the Diagnosis."""

    id: str
    name: str
    fullName: str
    state: State
    ended: bool
    rates: Rates
    batch: Batch
    watermark: Value
    backlog: Value
    note: Note | None
    details: str | None
    running: Running | None
    facts: tuple[tuple[str, str, str | None], ...]
    checkpoint: Sheet | None
    hints: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the line as JSON-ready data, every text redacted."""
        data: dict[str, Any] = plain(self)
        return data


def line(
    history: HistoryView, diagnosis: Diagnosis, session: SessionLike | None = None, now: float | None = None
) -> Line:
    """Make the line of one query.

    Args:
        history: The query's history (a snapshot, so that the parts agree).
        diagnosis: What was found in it.
        session: State of the Spark session; None for a recording.
        now: Epoch ms, for what is still going on; None for a recording.
    """
    last = history.last
    usual = usual_duration(history)
    name = redact(query_name(history.name, history.id))
    level = diagnosis.level
    live = now is not None and (session is None or session.state == "live")
    reason = diagnosis.reason if diagnosis.outcome is None else f"{diagnosis.reason} {diagnosis.outcome.text}"
    return Line(
        id=history.id,
        name=middle(name, NAME_LENGTH),
        fullName=name,
        state=State(diagnosis.verdict, diagnosis.label, level, SHAPES[level], reason),
        ended=diagnosis.verdict in ENDED,
        rates=_rates(history, last),
        batch=_batch(history, last),
        watermark=_watermark(history, last),
        backlog=_backlog(last, diagnosis),
        note=note(history, diagnosis, now),
        details=details(history),
        running=running(history, usual, now) if live and now is not None else None,
        facts=(*fact_rows(history), *capacity_facts(diagnosis.capacity)),
        checkpoint=sheet(history),
        hints=tuple(hint.to_dict() for hint in diagnosis.hints),
    )


def lines(histories: Iterable[HistoryView], session: SessionLike | None = None, now: float | None = None) -> list[Line]:
    """Make the lines of several queries, the worst first, ended ones last (the newest end first)."""
    return [one for _, _, one in ranked(histories, session, now)]


def ranked(
    histories: Iterable[HistoryView], session: SessionLike | None = None, now: float | None = None
) -> list[tuple[HistoryView, Diagnosis, Line]]:
    """Do as :func:`lines`, with the snapshot and the diagnosis that each line was made of."""
    made = []
    snapshots = [history.snapshot() for history in histories]
    for snapshot in snapshots:
        diagnosis = diagnose(snapshot, now=now, others=snapshots)
        made.append((snapshot, diagnosis, line(snapshot, diagnosis, session, now)))
    return sorted(made, key=_rank)


def usual_duration(history: HistoryView, *, before_last: bool = False) -> float | None:
    """Return the median ms of the latest run's recent data batches; None below three of them.

    The first batch of a run is left out: it starts cold and often takes all that waited. ``before_last`` leaves
    out the last batch too, for comparing it with the others.
    """
    batches = history.batches
    rows = batches.rows
    if not rows:
        return None
    recent = slice(max(rows - 100, 0), rows - 1 if before_last else rows)  # recent: what is usual may change over days
    run = batches.runIndex
    same = (run[recent] == run[-1]) & batches.isData[recent]
    if rows <= 100 or run[rows - 101] != run[-1]:
        first = int(np.argmax(run == run[-1])) - recent.start
        if 0 <= first < len(same):
            same[first] = False
    times = batches.numbers("batchDuration")[recent][same]
    times = times[np.isfinite(times)]
    return float(np.median(times)) if len(times) >= 3 else None


def _rates(history: HistoryView, last: Progress | None) -> Rates:
    recent = history.batches.numbers("processedRowsPerSecond")[-SPARK_POINTS:]
    spark = tuple(None if np.isnan(x) else float(x) for x in recent)
    if last is None:
        return Rates(UNKNOWN, UNKNOWN, "No batch has been reported yet.", spark)
    arriving = last.inputRowsPerSecond
    parts = [
        f"Batch {_id(last)}: input {exact(arriving)} rows/s, processed {exact(last.processedRowsPerSecond)} rows/s"
    ]
    parts.append(f"{exact(last.numInputRows)} rows")
    tip = ", ".join(parts) + "."
    if not arriving and last.numInputRows:
        arriving = None  # rows came, so a rate of 0 is no measurement: Spark has no earlier trigger to compare with
        tip += " Spark gives no input rate for the first batch of a run."
    return Rates(rate(arriving), rate(last.processedRowsPerSecond), tip, spark)


def _batch(history: HistoryView, last: Progress | None) -> Batch:
    if last is None:
        return Batch(UNKNOWN, UNKNOWN, None, None, None, "No batch has been reported yet.", None)
    took = last.batchDuration
    trigger = history.trigger
    basis, against = "interval", trigger.interval_ms if trigger and trigger.kind == "processingTime" else None
    if not against:
        basis, against = "usual", usual_duration(history, before_last=True)
    tip = f"Batch {_id(last)}, started {last.timestamp or UNKNOWN}, "
    tip += "without a duration in its progress." if took is None else f"took {exact(took)} ms."
    if not against:
        return Batch(_id(last), duration(took), None, None, None, tip + " Too few batches to say what is usual.", None)
    if basis == "interval":
        origin = ORIGINS.get(trigger.origin if trigger else "", "")
        tip += f" The trigger interval is {exact(against)} ms{origin}."
    else:
        tip += (
            f" Usual is {exact(against)} ms: the median of the run's recent batches, as there is no trigger interval."
        )
    of = duration(against)
    ratio = took / against if took is not None else None
    return Batch(
        _id(last), duration(took), of, basis, ratio, tip, f" of {of}" if basis == "interval" else f", usually {of}"
    )


def _watermark(history: HistoryView, last: Progress | None) -> Value:
    text = last.eventTime.get("watermark") if last else None
    at = epoch_ms(text) if text else None
    if last is None:
        return Value(UNKNOWN, "No batch has been reported yet.")
    if at is None:
        if history.facts.watermarks == () or not last.eventTime:
            return Value("none", "The query defines no watermark.")
        return Value(UNKNOWN, "The progress carries no watermark.")
    if at <= 0:
        return Value("unset", "No event time has moved the watermark yet (Spark reports 1970-01-01).")
    started = last.start_ms
    newest = last.eventTime.get("max")
    tip = f"Watermark {text} in batch {_id(last)}, which started {last.timestamp or UNKNOWN}."
    if newest:
        tip += f" Newest event time of the batch: {newest}."
    if started is None or abs(at - started) > _EPOCH_AGE:
        return Value(iso(at)[:16].replace("T", " "), tip)
    return Value(duration(at - started), tip)


def _backlog(last: Progress | None, diagnosis: Diagnosis) -> Value:
    if last is None:
        return Value(UNKNOWN, "No batch has been reported yet.")
    told = [source.behind for source in last.sources if source.behind]
    if not told:
        silent = [source_name(source.description) for source in last.sources]
        who = ", ".join(middle(name, NAME_LENGTH) for name in silent[:3]) or "The source"
        more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
        return Value(UNKNOWN, f"{who}{more} does not report how many rows wait.")
    course = diagnosis.backlog
    tip = _amounts(last)
    if course.gone_in_ms is not None:
        gone = "it has caught up" if course.unit == "ms" else "they are gone"
        tip += f" At the speed of the last batches {gone} in about {duration(course.gone_in_ms)}."
    if last.backlog is not None:
        return Value(number(last.backlog), tip, course.trend if last.backlog else None)
    shown = [next((one for one in amounts if one.amount), amounts[0]) for amounts in told]
    if len(shown) == 1 and course.unit in {one.unit for one in told[0]}:
        shown = [one for one in told[0] if one.unit == course.unit]  # the unit that the verdict speaks of
    waits = [one for one in shown if one.amount] or shown[:1]
    return Value(
        ", ".join(written(one) for one in waits), tip, course.trend if any(one.amount for one in shown) else None
    )


def _amounts(last: Progress) -> str:
    """Write all that the sources tell, exactly; of several sources with their names, the silent ones, too."""
    if last.backlog is not None:
        return f"Up to {exact(last.backlog)} rows waited after batch {_id(last)}."
    parts = []
    for source in last.sources[:3]:
        told = ", ".join(f"{exact(one.amount)} {one.unit} ({one.measure})" for one in source.behind)
        name = f"{middle(source_name(source.description), NAME_LENGTH)} by " if len(last.sources) > 1 else ""
        parts.append(f"{name}{told or 'an amount that it does not report'}")
    more = f"; {len(last.sources) - 3} more sources" if len(last.sources) > 3 else ""
    return f"Behind after batch {_id(last)}: {'; '.join(parts)}{more}."


def _id(progress: Progress) -> str:
    return UNKNOWN if progress.batchId is None else str(progress.batchId)


def _rank(made: tuple[HistoryView, Diagnosis, Line]) -> tuple[bool, int, int, float]:
    history, _, one = made
    level = _LEVEL_ORDER.index(one.state.level)
    verdict = _VERDICT_ORDER.index(one.state.verdict) if one.state.verdict in _VERDICT_ORDER else len(_VERDICT_ORDER)
    ended = (history.runs[-1].ended or 0.0) if one.ended and history.runs else 0.0
    return one.ended, 0 if one.ended else level, 0 if one.ended else verdict, -ended
