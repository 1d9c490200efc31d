"""Whether a query fits an existing checkpoint: every difference, with what Spark does about it.

What the checkpoint holds (offsets, state schemas by name, settings) is compared with it alone. What it does not hold
(sink, output mode, filters, rate limits, join type, arguments of aggregates) is compared with the last watched run of
its query, and is listed as unseen when none is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.checkpoints import known
from jupyter_streamwatch.checkpoints.comparing import plan as compatibility_plan
from jupyter_streamwatch.checkpoints.comparing import sources as compatibility_sources
from jupyter_streamwatch.checkpoints.comparing import state as compatibility_state
from jupyter_streamwatch.checkpoints.comparing.changes import TAKEN, Change, Changes
from jupyter_streamwatch.checkpoints.comparing.verdicts import Case
from jupyter_streamwatch.checkpoints.parts import KnownSink
from jupyter_streamwatch.checkpoints.restart.available import unwritten
from jupyter_streamwatch.model.history import HistoryView
from jupyter_streamwatch.model.query_shape import Shape
from jupyter_streamwatch.spark.plans import state as shape_state

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints.comparing.changes import Verdict
    from jupyter_streamwatch.checkpoints.contents import Contents

_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


def compare(checkpoint: Contents, x: Any, against: Any = None) -> Changes:
    """Compare a query with a checkpoint.

    Args:
        checkpoint: the checkpoint.
        x: a streaming DataFrame, its writer before the start, or a query; classic or Connect.
        against: where a run of the checkpoint's query was watched: a Recording, the path of one, a History or a Watch;
            by default the watch of this kernel.

    Returns:
        The changes, empty when nothing changed, with what could not be compared in ``unseen``.

    Raises:
        TypeError: when ``x`` or ``against`` is nothing that can be compared.
        ValueError: when ``x`` is a DataFrame that reads no stream.
        FileNotFoundError: when there is no recording at the path ``against``.
    """
    now = _shape(checkpoint, x)
    before, reason = _before(checkpoint, against)
    taken = _taken(checkpoint, now)
    if not checkpoint.offsets:
        return Changes(taken, ["The checkpoint holds no batch yet: there is nothing to compare with."])
    found = judge(checkpoint, now, before, reason)
    moved = any(change.what == "sink" and change.verdict in ("not-allowed", "silently-wrong") for change in found)
    return found if moved else Changes([*found, *taken], found.unseen)


def _taken(checkpoint: Contents, now: Shape) -> list[Change]:
    """Say that the file sink's folder has batch ids that this checkpoint did not plan: the sink skips them."""
    if now.sink is None:
        return []
    skipped = unwritten(checkpoint, KnownSink(now.sink, now.sinkPath))
    if skipped is None:
        return []
    return [taken_by_another(now, skipped.text, "silently-wrong" if skipped.to_come else "changed-meaning")]


def taken_by_another(now: Shape, sentence: str, verdict: Verdict = "silently-wrong") -> Change:
    """Make the change of a sink's folder that has another checkpoint's batches."""
    return Change("sink", verdict, TAKEN, now.sinkPath, sentence)


def judge(checkpoint: Contents, now: Shape, before: Shape | None, reason: str = "") -> Changes:
    """Compare what a query is with a checkpoint, and with what the last watched run on it was.

    Args:
        checkpoint: the checkpoint.
        now: the query.
        before: the watched run; None when none is known.
        reason: why none is known.
    """
    case = Case(checkpoint, now, before)
    if now.operators is None and now.state is None and now.sources is None:
        return Changes((), ["Spark did not answer when it was asked for the plan of the query: nothing was compared."])
    compatibility_sources.compare(case)
    compatibility_state.compare(case)
    compatibility_plan.compare(case)
    _conf(case)
    return Changes(case.changes, [*_limits_of_sight(case, reason), *case.unseen])


def _shape(checkpoint: Contents, x: Any) -> Shape:
    if isinstance(x, Shape):
        return x
    if isinstance(x, HistoryView):
        if x.facts.shape is None:
            instead = "record it in classic mode" if checkpoint.commands else "give its DataFrame or writer"
            raise ValueError(f"Of this watched query it is not known what it is; {instead}.")
        return _as_planned(x.facts.shape)
    from jupyter_streamwatch.spark import probe

    shape = probe.shape(x, tuple(checkpoint.conf))
    if type(x).__name__ == "DataStreamWriter" and shape.sink in (None, "files") and shape.sinkPath is None:
        # Files are the default, and so is append: a writer without a path has not been told where to write.
        mode = None if shape.outputMode == "append" else shape.outputMode
        return replace(shape, sink=None, sinkFormat=None, outputMode=mode)
    return shape


def _as_planned(shape: Shape) -> Shape:
    """Return the shape of a watched run with the state that its analyzed plan tells of; a run's shape has none."""
    if shape.state is not None or shape.operators is None:
        return shape
    output = shape.output or ()
    types = {one.name: (one.type, one.nullable) for one in output if one.type is not None}
    return replace(shape, state=shape_state.planned(shape.operators, types, output))


def _before(checkpoint: Contents, against: Any) -> tuple[Shape | None, str]:
    """Return the shape of the last watched run of the checkpoint's query, or why there is none."""
    id = checkpoint.id
    if id is None:
        return None, "the checkpoint does not tell the id of its query"
    if against is None and checkpoint.commands:
        return None, "no recording of a run on it was given (--against=FILE)"
    history, where = known.history(id, against)
    if history is None:
        return None, f"{where} knows no run of this checkpoint's query ({id})"
    if history.facts.shape is None:
        return None, f"{where} does not know what the query of this checkpoint was ({id})"
    return history.facts.shape, ""


def _conf(case: Case) -> None:
    """Note settings that the checkpoint keeps and the session has other values for: the checkpoint's win."""
    session = dict(case.now.conf)
    for name, kept in sorted(case.checkpoint.conf.items()):
        own = session.get(name)
        if own is None or own == kept or (name == _POLICY and own.lower() == kept.lower()):
            continue
        reason = (
            f"{name} was fixed by the first run: the checkpoint's value wins, {kept}, whatever the session says. "
            "Another value needs a new checkpoint."
        )
        case.add("conf", "allowed", f"{name} = {kept}", f"{name} = {own}", reason)


def _limits_of_sight(case: Case, reason: str) -> list[str]:
    """Return what was out of sight as a whole."""
    now, before = case.now, case.before
    found = []
    if before is None:
        found.append(
            "Sink, output mode, filters, output columns, rate limits, join types and arguments of aggregates: the "
            f"checkpoint does not hold them, and {reason or 'no run of its query was watched'}."
        )
    elif not case.texts:
        found.append(
            "Filters, output columns and conditions: Spark writes them another way in another version or over Connect, "
            "and the watched run was one."
        )
    why = (
        "the recording does not tell"
        if case.checkpoint.commands
        else "not said yet; compare the writer with all that it will have"
    )
    if before is not None and now.sink is None:
        found.append(f"The sink and its place: {why}.")
    if before is not None and now.outputMode is None:
        found.append(f"The output mode: {why}.")
    if before is not None and (before.sink is None or before.outputMode is None):
        missing = [name for name, value in (("sink", before.sink), ("output mode", before.outputMode)) if value is None]
        found.append(f"The {' and the '.join(missing)} of the watched run: Spark did not tell.")
    return found
