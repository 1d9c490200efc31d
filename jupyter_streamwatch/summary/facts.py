"""What a query is: trigger, output mode, sink, sources, checkpoint and the like, as rows for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.numbers import UNKNOWN, clean, duration, middle, when
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis import Capacity
    from jupyter_streamwatch.model.history import Facts, HistoryView
    from jupyter_streamwatch.model.progress import Trigger

VALUE_LENGTH = 80  # characters of a value in a row; the whole one is in its tip
SHOWN = 4  # sources and operators named in a row; the others are counted
ORIGINS = {"stated": ", as stated", "asked": ", as Spark says", "inferred": ", inferred from when batches start"}

Row = tuple[str, str, "str | None"]


def rows(history: HistoryView) -> tuple[Row, ...]:
    """Return (label, value, tip or None) of everything known about the query; unknown is n/a with the reason."""
    facts = history.facts
    last = history.last or history.record
    sources = facts.sources or (tuple(source_name(s.description) for s in last.sources) if last else ())
    operators = facts.stateful
    if operators is None and last is not None:
        operators = tuple(operator.operatorName or UNKNOWN for operator in last.stateOperators)
    sink = facts.sink or (sink_name(last.sink.description) if last and last.sink else None)
    made = [
        _trigger(history.trigger, facts),
        _row(facts, "Output mode", "outputMode", facts.outputMode),
        _row(facts, "Sink", "sink", sink),
        _row(facts, "Sources", "sources", _joined(sources) if sources else None),
        _checkpoint(facts),
        _row(facts, "Watermark", "watermarks", _watermarks(facts)),
        _row(facts, "Stateful operators", "stateful", None if operators is None else _joined(operators) or "none"),
        _runs(history),
        _row(facts, "Spark", "sparkVersion", _spark(facts)),
    ]
    if facts.rateLimit:
        limits = ", ".join(f"{name} {value}" for name, value in facts.rateLimit)
        made.insert(4, _row(facts, "Rate limit", "rateLimit", limits))
    return tuple(made)


def capacity(known: Capacity) -> tuple[Row, ...]:
    """Return what the query could do as a row; none while nothing is known."""
    return (("Capacity", known.sentence, known.reason or None),) if known.sentence else ()


def started(history: HistoryView, number: int) -> str:
    """Write when run ``number`` (from 0) started: ``by`` its first batch where the start itself was not seen."""
    run = history.runs[number]
    if run.started is not None:
        return when(run.started)
    batches = history.batches
    times = batches.numbers("timestamp")[batches.runIndex == number]
    times = times[np.isfinite(times)]
    return f"by {when(float(times[0]))}" if len(times) else UNKNOWN


def source_name(description: str | None) -> str:
    """Name a source as a person would."""
    return clean(names.source(description)) if description else "a source without a name"


def sink_name(description: str | None) -> str | None:
    """Name a sink as a person would; None when its progress does not say."""
    return clean(names.sink(description)) if description else None


def trigger_text(trigger: Trigger) -> str:
    """Write a trigger: ``every 2 s``, ``as soon as possible``, ``available now``."""
    interval = duration(trigger.interval_ms)
    texts = {
        "default": "as soon as the last batch is done",
        "processingTime": f"every {interval}",
        "once": "once",
        "availableNow": "available now",
        "continuous": "continuous" if trigger.interval_ms is None else f"continuous, checkpoint every {interval}",
        "realTime": "real time" if trigger.interval_ms is None else f"real time, batches of {interval}",
    }
    return texts.get(trigger.kind, trigger.kind)


def _row(facts: Facts, label: str, name: str, value: str | None) -> Row:
    if value is None:
        return label, UNKNOWN, facts.why.get(name) or "Spark's progress does not say."
    whole = redact(clean(value))  # before it is cut: half a secret must not stay
    short = middle(whole, VALUE_LENGTH)
    return label, short, whole if short != whole else None


def _trigger(trigger: Trigger | None, facts: Facts) -> Row:
    if trigger is None:
        return (
            "Trigger",
            UNKNOWN,
            facts.why.get("trigger") or "Spark's progress does not say; state it with trigger=...",
        )
    inferred = " (inferred)" if trigger.origin == "inferred" else ""
    origin = ORIGINS.get(trigger.origin, "").removeprefix(", ")
    return "Trigger", trigger_text(trigger) + inferred, f"{origin[:1].upper()}{origin[1:]}." if origin else None


def _checkpoint(facts: Facts) -> Row:
    label, value, tip = _row(facts, "Checkpoint", "checkpoint", facts.checkpoint)
    if facts.temporaryCheckpoint and facts.checkpoint is None:
        return label, "temporary", "Spark deletes it when the query stops; Connect does not tell where it is."
    if facts.temporaryCheckpoint and facts.checkpoint:
        return label, f"{value} (temporary)", f"{redact(clean(facts.checkpoint))}: deleted when the query stops."
    return label, value, tip


def _watermarks(facts: Facts) -> str | None:
    if facts.watermarks is None:
        return None
    return ", ".join(f"{column}, {duration(delay)}" for column, delay in facts.watermarks) or "none"


def _runs(history: HistoryView) -> Row:
    runs = history.runs
    if not runs:
        return "Runs", UNKNOWN, "No run has been seen."
    since = started(history, len(runs) - 1)
    text = (
        str(len(runs)) if since == UNKNOWN else f"{len(runs)}, the last {'' if since[:2] == 'by' else 'from '}{since}"
    )
    return "Runs", text, f"Run id of the last: {runs[-1].runId}"


def _spark(facts: Facts) -> str | None:
    if facts.sparkVersion is None:
        return None
    return (
        f"{facts.sparkVersion}, {'Connect' if facts.mode == 'connect' else 'classic'}"
        if facts.mode
        else facts.sparkVersion
    )


def _joined(names_: tuple[str, ...]) -> str:
    more = f" and {len(names_) - SHOWN} more" if len(names_) > SHOWN else ""
    return ", ".join(clean(name) for name in names_[:SHOWN]) + more
