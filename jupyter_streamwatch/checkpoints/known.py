"""What is known of a query beyond its checkpoint: stated, or from the last watched run with the checkpoint's id."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.checkpoints.parts import KnownSink
from jupyter_streamwatch.model import watched
from jupyter_streamwatch.model.history import HistoryView
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.recordings.recording import Recording

if TYPE_CHECKING:
    from jupyter_streamwatch.model.facts import Facts
    from jupyter_streamwatch.model.query_shape import Shape


@dataclass(frozen=True)
class Known:
    """What is known of the next start of a query; None is unknown.

    Attributes:
        trigger: Its trigger.
        options: Options of its writer, names in lower case: all that matter for a checkpoint.
        sink: Its sink.
        outputMode: ``append``, ``update`` or ``complete``.
        stateful: Whether the last watched run kept state between its batches.
        sparkVersion: Spark's version.
    """

    trigger: Trigger | None = None
    options: Mapping[str, str] | None = None
    sink: KnownSink | None = None
    outputMode: str | None = None
    stateful: bool | None = None
    sparkVersion: str | None = None


def of(
    id: str | None,
    *,
    trigger: Any = None,
    options: Mapping[str, Any] | None = None,
    against: Any = None,
    sink: KnownSink | None = None,
) -> Known:
    """Gather what is known of a query: what is stated, else what the last run that ``against`` knows had.

    Args:
        id: The checkpoint's id.
        trigger: As stated: seconds, ``"2 seconds"``, ``"availableNow"``, ``"continuous"``, PySpark's keyword as a dict.
        options: All options of the writer, as stated.
        against: A Recording, the path of one, a History or a Watch; by default the watch of this kernel.
        sink: The sink, where the one who asks knows it.

    Raises:
        TypeError: When ``options`` or ``against`` is nothing of that kind.
        ValueError: When ``trigger`` is no trigger.
        FileNotFoundError: When there is no recording at the path ``against``.
    """
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options takes the writer's options as a dict, not {type(options).__qualname__}.")
    stated = None if trigger is None else Trigger.parse(trigger)
    run = history(id, against)[0]
    known = Known() if run is None else of_facts(run.facts, run.name)
    return Known(
        trigger=stated or known.trigger,
        options=known.options if options is None else {str(key).lower(): _text(options[key]) for key in options},
        sink=sink or known.sink,
        outputMode=known.outputMode,
        stateful=known.stateful,
        sparkVersion=known.sparkVersion,
    )


def of_facts(facts: Facts, name: str | None) -> Known:
    """Return what the facts of a run tell."""
    shape = facts.shape
    return Known(
        trigger=facts.trigger,
        options=None if shape is None or shape.options is None else dict(shape.options),
        sink=sink_of(facts, name),
        outputMode=facts.outputMode,
        stateful=_stateful(shape),
        sparkVersion=facts.sparkVersion,
    )


def history(id: str | None, against: Any = None) -> tuple[HistoryView | None, str]:
    """Find where runs of a query were watched.

    Args:
        id: The checkpoint's id.
        against: A Recording, the path of one, a History or a Watch; by default the watch of this kernel.

    Returns:
        The history, None when there is none, and in words where it was looked for.

    Raises:
        TypeError: When ``against`` is none of these.
        FileNotFoundError: When there is no recording at the path.
    """
    if against is None:
        return watched.history(id), "the watch of this kernel"
    if isinstance(against, HistoryView):
        return (against if against.id == id else None), "the history that was given"
    if isinstance(against, (str, os.PathLike)):
        from jupyter_streamwatch.recordings.load import load

        against = load(against)
    queries = getattr(against, "queries", None)
    if queries is None:
        raise TypeError(
            "against takes a Recording, the path of one, a History or a Watch, "
            f"not {type(against).__module__}.{type(against).__qualname__}."
        )
    where = "the recording" if isinstance(against, Recording) else "the watch"
    return (queries[id] if id is not None and id in list(queries) else None), where


def sink(id: str | None) -> KnownSink | None:
    """Return the sink of the last watched run with this id; None when it is not known."""
    known = watched.history(id)
    return None if known is None else sink_of(known.facts, known.name)


def sink_of(facts: Facts, name: str | None) -> KnownSink | None:
    """Return the sink that the facts of a run name."""
    kind = facts.sinkKind or ("foreachBatch" if facts.foreachBatch else None)
    shape = getattr(facts, "shape", None)
    return None if kind is None else KnownSink(kind, getattr(shape, "sinkPath", None), name)


def _stateful(shape: Shape | None) -> bool | None:
    if shape is None or shape.operators is None:
        return None
    return any(one.name != "globalLimit" for one in shape.operators)


def _text(value: Any) -> str:
    """Write an option's value as PySpark does."""
    return str(value).lower() if isinstance(value, bool) else str(value)
