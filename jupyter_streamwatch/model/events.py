"""One event of a query, applied to its history: the same for a live query and for a recording of it.

An event is a mapping in the words of a recording's lines: ``event`` is its kind, ``runId`` its run, a time (``at``, or
Spark's own ``timestamp``) is epoch ms or ISO text. What only the process that watched could know stands in the event,
so that a recording of it gives the same history: a start says which run Spark ended for it (``replaces``), or which run
was over by then though its end has not been reported yet (``over``, with ``runId`` and ``at``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model import values as v

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_streamwatch.model.history import History

STARTED, PROGRESS, IDLE, TERMINATED = "started", "progress", "idle", "terminated"
FACTS, CHECKPOINT, TASKS, TRIGGER = "facts", "checkpoint", "tasks", "trigger"


def apply(history: History, event: Mapping[str, Any]) -> bool:
    """Write an event into the history of its query; its progress, facts, checkpoint or trigger is parsed.

    Returns:
        False when the history knew it, or its kind is not known.
    """
    kind, run = event["event"], v.text(event.get("runId"), v.NAME) or ""
    if kind == PROGRESS:
        return history.append(event["progress"])
    if kind == IDLE:
        return history.idle(run, time_of(event))
    if kind == STARTED:
        _start(history, run, event)
    elif kind == TERMINATED:
        history.name = history.name or v.text(event.get("name"), v.NAME)
        history.end(
            run, time_of(event), v.text(event.get("exception"), v.ERROR), v.text(event.get("errorClass"), v.NAME)
        )
    elif kind == FACTS:
        history.set_facts(event["facts"])
    elif kind == CHECKPOINT:
        history.set_checkpoint(event["checkpoint"])
    elif kind == TRIGGER:
        history.state_trigger(event["trigger"])
    elif kind == TASKS:
        history.set_tasks(run, event["batchId"], event["values"])
    else:
        return False
    return True


def time_of(event: Mapping[str, Any]) -> float | None:
    """Epoch ms of an event: Spark's own time, else when it arrived; None when neither is known."""
    told = epoch_ms(event.get("timestamp"))
    return epoch_ms(event.get("at")) if told is None else told


def epoch_ms(x: Any) -> float | None:
    """Epoch ms of a number or ISO text; None when it is neither."""
    return v.epoch_ms(v.timestamp(x))


def _start(history: History, run: str, event: Mapping[str, Any]) -> None:
    over = event.get("over")
    if over:
        history.end(over["runId"], epoch_ms(over.get("at")))
    history.start(
        run, v.text(event.get("name"), v.NAME), time_of(event), replaces=v.text(event.get("replaces"), v.NAME)
    )
