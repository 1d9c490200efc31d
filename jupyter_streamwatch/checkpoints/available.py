"""Looks outside the checkpoint: whether a batch's files are still there, and which batches a file sink has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from jupyter_streamwatch.checkpoints.files import Local, Tree, is_number
from jupyter_streamwatch.checkpoints.source_log import SinkLog
from jupyter_streamwatch.format import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.checkpoints.files import Storage
    from jupyter_streamwatch.checkpoints.reader import Checkpoint

_MOST_LOOKED_AT = 10_000  # files


def gone(storage: Storage, paths: Sequence[str]) -> list[str] | None:
    """Return those of a source's files that are not there any more; None when they are not on this machine.

    Args:
        storage: where the checkpoint lies: only one on this machine says something about files of this machine.
        paths: as in the source's log: ``file:///in/a%20b.json``.
    """
    if not isinstance(storage, Local) or len(paths) > _MOST_LOOKED_AT:
        return None
    if any(not path.startswith(("file:", "/")) for path in paths):
        return None
    return [path for path in paths if not _is_there(path)]


def _is_there(path: str) -> bool:
    plain = path.removeprefix("file:").removeprefix("//")
    try:
        return Path(unquote(plain)).exists() or Path(plain).exists()
    except (OSError, ValueError):
        return False


def sink_log(storage: Storage) -> SinkLog | None:
    """Read ``_spark_metadata`` of a file sink's output folder; None when there is none that can be read."""
    tree = Tree(storage)
    names: dict[str, object] = {}
    try:
        for entry in storage.list("_spark_metadata"):
            if is_number(entry.name.removesuffix(".compact")):
                names[entry.name] = entry
    except OSError:
        return None
    tree.folders["_spark_metadata"] = names
    return SinkLog(tree, "_spark_metadata")


def sink_last(checkpoint: Checkpoint) -> int | None:
    """The newest batch that the file sink of the last watched run has; None when there is no telling."""
    sink = checkpoint.sink
    if sink is None or sink.kind not in ("file", "files") or not sink.path:
        return None
    from jupyter_streamwatch.checkpoints.opening import storage_of

    try:
        found = sink_log(storage_of(sink.path, checkpoint.spark))
    except (ImportError, OSError, ValueError):
        return None
    return None if found is None else found.last


def sink_says(last: int, batchId: int, *, replay: bool) -> str | None:
    """Say what a file sink that has batches up to ``last`` does with a batch; None when there is nothing to say."""
    log = "the file sink's _spark_metadata"
    if last >= batchId and not replay:
        return (
            f"T{log[1:]} already has batches up to {exact(last)}: the sink skips those ids, so batches {exact(batchId)}"
            f" to {exact(last)} would be read and silently not written. The output belongs to another checkpoint: give"
            " the query a new output folder, or its own checkpoint back."
        )
    if last >= batchId:
        return f"Exactly-once: {log} already has batch {exact(batchId)}, and the sink skips it."
    return f"Exactly-once: {log} does not have batch {exact(batchId)}, and the sink writes it once." if replay else None
