"""Looks outside the checkpoint: whether a batch's files or offsets are still there, which batches a file sink has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
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
    from jupyter_streamwatch.checkpoints.parts import KnownSink
    from jupyter_streamwatch.checkpoints.storage.files import Storage

_MOST_LOOKED_AT = 10_000  # files
_NAMED = 4  # partitions
_MOST_COMPARED = 100  # batches
_CLOCKS_MS = 2_000  # that the clocks of a driver and of a storage may differ
_CLOCK_MS = 250  # that the time of a file on this machine may be behind


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


class Unwritten(NamedTuple):
    """Batches that a file sink skips: the sentence, and whether there are more to come."""

    text: str
    to_come: bool


def unwritten(checkpoint: Contents, sink: KnownSink | None) -> Unwritten | None:
    """Say that a file sink skips batches because its folder has their ids already, from another checkpoint.

    Args:
        checkpoint: The checkpoint.
        sink: The sink, as far as it is known.

    Returns:
        Which; None when the sink has no such batches, or there is no telling.
    """
    entries = _entries_of(sink, checkpoint.spark)
    if entries is None or entries.last is None:
        return None
    last = checkpoint.lastOffset
    older = _older(checkpoint, entries)
    following = 0 if last is None else last + 1
    if entries.last >= following:
        return Unwritten(_taken(older[0] if older else following, entries.last), to_come=True)
    if not older:
        return None
    text = (
        f"The file sink's folder had {_batches(older[0], older[-1])} before this checkpoint planned"
        f" {'it' if len(older) == 1 else 'them'}: the sink skips ids that it has, so these rows are committed and not"
        " written. Later batches are written beside the other query's files. Give the query a new output folder and a"
        " new checkpoint: its source is read again."
    )
    return Unwritten(text, to_come=False)


def unwritten_new(sink: KnownSink | None, spark: Any) -> str | None:
    """Say of a query that has no batch on its checkpoint yet which of its batches a file sink is going to skip."""
    entries = _entries_of(sink, spark)
    return None if entries is None or entries.last is None else _taken(0, entries.last)


def written(checkpoint: Contents, sink: KnownSink | None, batchId: int) -> str | None:
    """Say what a file sink does with a batch that comes again; None when its log cannot be seen."""
    entries = _entries_of(sink, checkpoint.spark)
    if entries is None or entries.last is None:
        return None
    log = "file sink's _spark_metadata"
    if entries.last > checkpoint.nextBatch or _older(checkpoint, entries):
        return f"The {log} already has batch {exact(batchId)}, and the sink skips it."
    if entries.last == batchId:
        return f"Exactly-once: the {log} already has batch {exact(batchId)}, and the sink skips it."
    return f"Exactly-once: the {log} does not have batch {exact(batchId)}, and the sink writes it once."


def _entries_of(sink: KnownSink | None, spark: Any) -> SinkLog | None:
    if sink is None or sink.kind not in ("file", "files") or not sink.path:
        return None
    try:
        return sink_log(storage_of(sink.path, spark))
    except (ImportError, OSError, ValueError):
        return None


def _taken(first: int, last: int) -> str:
    return (
        f"The file sink's _spark_metadata already has batches up to {exact(last)}, which this checkpoint did not plan:"
        f" the sink skips those ids, so {_batches(first, last)} {'is' if first == last else 'are'} committed without"
        " being written, silently. Give the query a new output folder, or this folder its own checkpoint back."
    )


def _batches(first: int, last: int) -> str:
    return f"batch {exact(first)}" if first == last else f"batches {exact(first)} to {exact(last)}"


def _older(checkpoint: Contents, entries: SinkLog) -> list[int]:
    """Return the newest batches whose entry in the sink's log is older than their plan in the checkpoint."""
    found: list[int] = []
    apart = _CLOCK_MS if isinstance(checkpoint.storage, Local) and entries.local else _CLOCKS_MS
    for id in list(checkpoint.offsets)[: -_MOST_COMPARED - 1 : -1]:
        planned, at = checkpoint.offsets[id].timestampMs, entries.writtenMs(id)
        if planned is not None and at is not None and at + apart < planned:
            found.append(id)
    return sorted(found)
