"""What helps when a start is refused: the cheapest first, each with its price; files are moved aside, never deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.restart import modes
from jupyter_streamwatch.text.numbers import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.parts import KnownSink
    from jupyter_streamwatch.checkpoints.restart.modes import Mode

_NAMED = 4  # files
_SKIPPING = frozenset({"file", "files", "delta"})


def numbered(cures: Sequence[str]) -> list[str]:
    """Write each cure as a sentence of its own."""
    return [f"Cure {place} of {len(cures)}: {cure}" for place, cure in enumerate(cures, start=1)]


def back(what: str) -> str:
    """Advise to bring files back."""
    return f"copy {what} back from a backup or an older version of the bucket. Nothing is lost."


def new_checkpoint(checkpoint: Contents, sink: KnownSink | None) -> str:
    """Advise to begin anew, which comes last."""
    kind = _kind(sink)
    state = "The state is lost, and the" if checkpoint.operators or checkpoint.leavesStateOut else "The"
    text = f"start with a new checkpointLocation. {state} source is read from where a new query begins"
    if kind in ("file", "files"):
        return f"{text}; the file sink needs a new folder as well, or it skips the batch ids that it already has."
    if kind == "noop":
        return f"{text}."
    return f"{text}; the sink gets rows again, or misses those in between."


def of_gap(checkpoint: Contents, mode: Mode, sink: KnownSink | None, what: str) -> list[str]:
    """Cures of logs that lack an entry that the start needs."""
    last = checkpoint.lastOffset or 0
    found = [back(what)]
    ran_so = mode.could_be("asynchronous") or modes.looks_asynchronous(checkpoint)
    if ran_so and last - 1 not in checkpoint.commits:
        with_it = (
            f"if the query ran with {modes.ASYNCHRONOUS}=true, start it with that option and {modes.INTERVAL}=0 until"
            " two batches have run; then it starts without, too. Rows of batches that had no entry come again."
        )
        found.append(with_it)
    aside = move_aside(checkpoint, sink)
    return [*found, *([aside] if aside else []), new_checkpoint(checkpoint, sink)]


def move_aside(checkpoint: Contents, sink: KnownSink | None) -> str | None:
    """Advise what Spark names itself for a gap: newest entries go until the newest two are consecutive.

    None when no two are, or when the state that the next batch would need is not there.
    """
    keep = _consecutive(checkpoint)
    if keep is None:
        return None
    planned = [id for id in checkpoint.offsets if id > keep]
    done = [id for id in checkpoint.commits if id > keep]
    if not planned and not done:
        return None
    following = keep + 1 if keep in checkpoint.commits else keep
    if _lacks(checkpoint, following):
        return None
    files = _files(("offsets", planned), ("commits", done))
    how = (
        f"batch {exact(following)} is planned anew after offsets/{keep}, perhaps over another range"
        if following > keep
        else f"batch {exact(keep)} runs again, and the batches after it are planned anew"
    )
    return f"move {files} out of the checkpoint, to keep: {how}. {_replanned(sink, following)}"


def of_state(checkpoint: Contents, sink: KnownSink | None, what: str) -> list[str]:
    """Cures of a state that lacks the version that the next batch reads."""
    found = [back(what)]
    version = checkpoint.nextBatch
    writer = version - 1
    again = writer >= 0 and writer in checkpoint.offsets and (writer == 0 or writer - 1 in checkpoint.offsets)
    if again and not _lacks(checkpoint, writer):
        planned = [id for id in checkpoint.offsets if id > writer]
        done = [id for id in checkpoint.commits if id >= writer]
        files = _files(("offsets", planned), ("commits", done))
        text = (
            f"move {files} out of the checkpoint, to keep: batch {exact(writer)} runs again over its old offsets and"
            f" writes the state anew, from version {exact(writer)}, which is there. {_repeated(sink, writer)}"
        )
        found.append(text)
    return [*found, new_checkpoint(checkpoint, sink)]


def of_metadata(checkpoint: Contents, sink: KnownSink | None) -> list[str]:
    """Cures of a checkpoint without its file metadata."""
    write = (
        'write it anew as one line, {"id":"<the query\'s id>"}: the id stands in the progress of the query, in logs and'
        " in the log of a Delta sink (txn). Nothing is lost."
    )
    new_id = (
        "set spark.sql.streaming.checkpoint.verifyMetadataExists.enabled=false for one start: Spark goes on under a new"
        " id."
    )
    kind = _kind(sink)
    if kind == "delta":
        new_id += " The Delta sink knows its batches by the old id, and writes one that comes again a second time."
    elif kind is None:
        new_id += " A Delta sink knows its batches by the old id, and writes one that comes again a second time."
    return [back("metadata"), write, new_id, new_checkpoint(checkpoint, sink)]


def _consecutive(checkpoint: Contents) -> int | None:
    """Return the newest batch whose offsets, and those of the batch before it, can be read."""
    ids = list(checkpoint.offsets)
    for id in reversed(ids):
        if id == 0 or id - 1 in checkpoint.offsets:
            needed = [id] if id == 0 else [id - 1, id]
            if all(checkpoint.offsets[one].sources for one in needed):
                return id
    return None


def _lacks(checkpoint: Contents, version: int) -> bool:
    """Whether the state lacks a version; batch 0 needs none."""
    if version == 0:
        return False
    operators = checkpoint.operators_at(version)
    return any(files.missing for one in operators for store in one.stores for files in store.files)


def _files(*logs: tuple[str, Iterable[int]]) -> str:
    names = [f"{log}/{id}" for log, ids in logs for id in ids]
    shown = names if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    crc = f" ({'each ' if len(names) > 1 else ''}with its hidden .crc file)"
    return f"{', '.join(shown[:-1])} and {shown[-1]}{crc}" if len(shown) > 1 else f"{shown[0]}{crc}"


def _replanned(sink: KnownSink | None, batch: int) -> str:
    """What it costs that a batch id comes with other rows than before."""
    kind = _kind(sink)
    if kind in _SKIPPING:
        return (
            f"The sink skips batch ids that it has, from {exact(batch)} on: rows that the new batches hold beyond the"
            " old ones are lost there."
        )
    if kind == "noop":
        return "The noop sink writes nothing: no row is lost."
    if kind == "foreachbatch":
        return f"foreachBatch gets batch ids that it may know, from {exact(batch)} on, with other rows."
    if kind is None:
        return "A sink that skips batch ids that it has (files, Delta) may lose rows; others get rows twice."
    return "Rows that the sink already has of those batches come twice."


def _repeated(sink: KnownSink | None, batch: int) -> str:
    """What it costs that a batch runs again to write its state."""
    kind = _kind(sink)
    if kind in ("file", "files"):
        return (
            f"The file sink skips a batch that it has without running it, so that no state is written: move"
            f" _spark_metadata/{batch} of the output aside as well. Its rows are then written again, and readers that"
            " ignore that log see them twice."
        )
    if kind == "delta":
        return "The Delta sink skips a batch that it has without running it: there this does not help."
    if kind == "noop":
        return "The noop sink writes nothing: no row is lost."
    if kind is None:
        return (
            "The sink gets the batch again; a sink that skips it unseen (files, Delta) does not run it, and then this"
            " does not help."
        )
    return f"The sink gets batch {exact(batch)} again."


def _kind(sink: KnownSink | None) -> str | None:
    return None if sink is None else sink.kind.lower()
