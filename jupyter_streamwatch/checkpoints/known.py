"""What this kernel knows of a query beyond its checkpoint: from the last watched run with the checkpoint's id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.parts import KnownSink
from jupyter_streamwatch.model import watched

if TYPE_CHECKING:
    from jupyter_streamwatch.model.facts import Facts


def stateful(id: str | None) -> bool:
    """Whether the last watched run with this id kept state between its batches; False when it is not known."""
    known = watched.history(id)
    shape = None if known is None else known.facts.shape
    return shape is not None and any(one.name != "globalLimit" for one in shape.operators or ())


def sink(id: str | None) -> KnownSink | None:
    """Return the sink of the last watched run with this id; None when it is not known."""
    known = watched.history(id)
    return None if known is None else sink_of(known.facts, known.name)


def sink_of(facts: Facts, name: str | None) -> KnownSink | None:
    """Return the sink that the facts of a run name."""
    kind = facts.sinkKind or ("foreachBatch" if facts.foreachBatch else None)
    shape = getattr(facts, "shape", None)
    return None if kind is None else KnownSink(kind, getattr(shape, "sinkPath", None), name)
