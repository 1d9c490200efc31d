"""What the first sentences of a plan say: which batch is next, and which rows come again, by the mode of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.restart.modes import ASYNCHRONOUS, looks_asynchronous
from jupyter_streamwatch.text.numbers import exact, when

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.parts import OffsetEntry
    from jupyter_streamwatch.checkpoints.restart.modes import Mode, Name

_STATE_IT = {
    ("trigger",): "restart(trigger=...)",
    ("options",): "restart(options={...}) ({} for none)",
    ("trigger", "options"): "restart(trigger=..., options={...}) ({} for none)",
}
_STATE_IT_BY_COMMAND = {
    ("trigger",): "--trigger=...",
    ("options",): "--options='{...}' ({} for none)",
    ("trigger", "options"): "--trigger=... and --options='{...}' ({} for none)",
}
_OTHERS: dict[Name, str] = {
    "continuous": "in continuous mode",
    "real-time": "in real-time mode",
    "asynchronous": f"with asynchronous progress tracking ({ASYNCHRONOUS})",
}
_CALLED = {"trigger": "the trigger", "options": "the writer's options"}


def batch_of(checkpoint: Contents, mode: Mode) -> int:
    """The batch that the next start runs first."""
    if mode.name == "continuous":
        return 0 if checkpoint.lastCommit is None else checkpoint.lastCommit + 1
    return checkpoint.nextBatch


def replay_of(checkpoint: Contents, mode: Mode) -> bool | None:
    """Whether the batch's offsets are in the log; None where rows that no log names may come again."""
    planned = checkpoint.lastOffset
    if planned is None:
        return False
    if mode.name == "continuous" or (mode.name is None and checkpoint.continuous):
        return None
    if planned != checkpoint.lastCommit:
        return True
    if mode.name in ("asynchronous", "real-time"):
        return None
    return None if mode.could_be("asynchronous") and looks_asynchronous(checkpoint) else False


def first(checkpoint: Contents, mode: Mode, entry: OffsetEntry | None, *, blocked: bool) -> str:
    """The first sentence: which batch, and whether it ran before."""
    runs = "would run" if blocked else "runs"
    if mode.name == "continuous":
        done = checkpoint.lastCommit
        goes = "would go" if blocked else "goes"
        if done is None:
            return f"The next start {goes} back to where the sources begin, with epoch 0: no epoch is committed."
        return (
            f"The next start {goes} on with epoch {exact(done + 1)}, after the offsets of epoch {exact(done)}, the last"
            " one committed."
        )
    batch = exact(checkpoint.nextBatch)
    if entry is None:
        return f"The next start {runs} batch 0 for the first time: no batch was planned yet on this checkpoint."
    last = exact(entry.batchId)
    if checkpoint.lastOffset != checkpoint.lastCommit:
        at = f", first planned {when(entry.timestampMs)}" if entry.timestampMs else ""
        return (
            f"The next start {runs} batch {batch} again{at}: offsets/{entry.batchId} is there and"
            f" commits/{entry.batchId} is not, so the sink may have all, some or none of it."
        )
    if replay_of(checkpoint, mode) is None:
        return f"The next start {runs} batch {batch}: batch {last} is the last one in the logs, and committed."
    return f"The next start {runs} batch {batch} for the first time: batch {last}, the last one planned, is committed."


def rows(checkpoint: Contents, mode: Mode, entry: OffsetEntry | None, *, moved: bool, noted: bool) -> list[str]:
    """Say which rows come again.

    Args:
        checkpoint: The checkpoint.
        mode: The mode of the next start.
        entry: The newest entry of the offsets.
        moved: Whether the last commit moved the watermark of a query that keeps state.
        noted: Whether a file source's log has files that no batch was planned with.
    """
    if entry is None:
        return []
    last = exact(entry.batchId)
    if mode.name is not None and mode.name != "micro-batch":
        return [_behind_the_logs(mode.name, entry)]
    if replay_of(checkpoint, mode) is None:
        return _unknown(checkpoint, mode, f"batch {last}")[1:]  # what either mode does is said already
    if checkpoint.lastOffset != checkpoint.lastCommit:
        same = (
            "The batch keeps its id, offsets and watermark: its numInputRows come again, for a deterministic query with"
            f" the same rows; then batch {exact(checkpoint.nextBatch + 1)} follows as usual."
        )
        return [same, *_unknown(checkpoint, mode, f"batch {last}")]
    found = []
    if moved:
        finished = (
            "The watermark moved with the last batch: the results that it finishes come with the first new data, not"
            " at the start."
        )
        found.append(finished)
    unless = _unknown(checkpoint, mode, f"batch {last}")
    plain = ", if the query runs in plain micro-batches" if unless else ""
    if noted:
        return [
            *found,
            f"A batch runs for those files at once; no row of a committed batch is read again{plain}.",
            *unless,
        ]
    return [*found, f"Without new data no batch runs, and no row is read again{plain}.", *unless]


def _behind_the_logs(mode: Name, entry: OffsetEntry) -> str:
    """Say which rows come again that no log names."""
    last = exact(entry.batchId)
    if mode == "continuous":
        return (
            "Continuous mode is at-least-once: rows that were read after these offsets may have reached the sink"
            " already, and come again; no log says how many."
        )
    if mode == "asynchronous":
        return (
            "Asynchronous progress tracking logs a batch only once in a while: the rows of all batches after batch"
            f" {last} come again, under the ids from {exact(entry.batchId + 1)} on. No log says whether there were any."
        )
    return (
        f"Real-time mode logs offsets only when a batch is over: rows that a batch after batch {last} had read when it"
        " was cut short come again. No log says whether there were any."
    )


def _unknown(checkpoint: Contents, mode: Mode, after: str) -> list[str]:
    """Say what is not known of the mode, and how to state it."""
    if mode.name is not None:
        return []
    others = [how for name, how in _OTHERS.items() if mode.could_be(name)]
    listed = others[0] if len(others) == 1 else f"{', '.join(others[:-1])} or {others[-1]}"
    missing = " and ".join(_CALLED[one] for one in mode.unstated)
    how = (_STATE_IT_BY_COMMAND if checkpoint.commands else _STATE_IT)[mode.unstated]
    verb = "is" if mode.unstated == ("trigger",) else "are"
    return [
        f"{listed[0].upper()}{listed[1:]} rows that were read after {after} may come again.",
        f"A checkpoint does not tell which it is: {missing} {verb} not known here; state {how}.",
    ]
