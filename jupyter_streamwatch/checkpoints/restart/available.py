"""Looks outside the checkpoint: whether a batch's files or offsets are still there, which batches a file sink has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from jupyter_streamwatch.checkpoints.logs.source_log import SinkLog
from jupyter_streamwatch.checkpoints.storage.files import Local, Tree, is_number
from jupyter_streamwatch.checkpoints.storage.opening import storage_of
from jupyter_streamwatch.spark import kafka_offsets
from jupyter_streamwatch.text.numbers import clean, exact
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.storage.files import Storage

_MOST_LOOKED_AT = 10_000  # files
_NAMED = 4  # partitions


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


def kafka(checkpoint: Contents, start: Any, end: Any) -> tuple[bool, str] | None:
    """Ask the broker, where the query was watched here, whether it still has a range of offsets.

    Args:
        checkpoint: opened by a person, who waits for it, with a session, by which the broker is asked.
        start: where the batch begins, as decoded JSON; None for the topic's beginning.
        end: where it ends; None when it is not planned yet.

    Returns:
        Whether all of it is there, and a sentence; None when nobody can say.
    """
    if not checkpoint.brokers:
        return None
    topics = {topic: list(partitions) for topic, partitions in (end or start).items()}
    held = kafka_offsets.held(checkpoint.spark, checkpoint.id, topics)
    if held is None:
        return None
    lost = list(_lost(held, start or {}, end or start))
    if not lost:
        return True, "The broker still has all from there."
    named = f"{', '.join(lost[:_NAMED])}{f' and {exact(len(lost) - _NAMED)} more' if len(lost) > _NAMED else ''}"
    return False, (
        f"The broker does not have all of it any more ({redact(clean(named))}): the start fails, or with"
        " failOnDataLoss=false goes on without these rows."
    )


def _lost(held: kafka_offsets.Held, start: Mapping[str, Any], end: Mapping[str, Any]) -> Iterator[str]:
    """Say of each partition that lacks rows what of it is there."""
    for topic, partitions in end.items():
        if not held.get(topic):
            yield f"there is no topic {topic}"
            continue
        for partition, last in partitions.items():
            there = held[topic].get(partition)
            begins = start.get(topic, {}).get(partition, last)
            if there is None:
                yield f"{topic} has no partition {partition}"
            elif there[0] > begins:
                yield f"{topic} {partition} begins at {exact(there[0])}, not at {exact(begins)}"
            elif there[1] < last:
                yield f"{topic} {partition} ends at {exact(there[1])}, before {exact(last)}: it was made again"


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


def sink_last(checkpoint: Contents) -> int | None:
    """The newest batch that the file sink of the last watched run has; None when there is no telling."""
    sink = checkpoint.sink
    if sink is None or sink.kind not in ("file", "files") or not sink.path:
        return None
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
            f" to {exact(last)} are committed without being written, silently. The output is another checkpoint's:"
            " give the query a new output folder, or its own checkpoint back."
        )
    if last >= batchId:
        return f"Exactly-once: {log} already has batch {exact(batchId)}, and the sink skips it."
    return f"Exactly-once: {log} does not have batch {exact(batchId)}, and the sink writes it once." if replay else None
