"""What the next start does, as ``MicroBatchExecution.populateStartOffsets`` decides it.

Spark compares the newest entry of the offset log with the newest commit. Equal: the batch is done, and the next one
is planned anew, after these offsets. Else the batch is run again over exactly these offsets, and for any but batch 0
Spark needs the entry before it, where the batch starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from jupyter_streamwatch.checkpoints import offsets, sinks
from jupyter_streamwatch.checkpoints.available import gone, sink_has
from jupyter_streamwatch.checkpoints.model import MissingState, RestartPlan, SourceOffset, SourceRange
from jupyter_streamwatch.format import clean, exact, when
from jupyter_streamwatch.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_streamwatch.checkpoints.model import OffsetEntry
    from jupyter_streamwatch.checkpoints.reader import Checkpoint

_NAMED = 5  # files, partitions that a sentence names
_NOT_REPLAYABLE = {
    "number": "If it is a socket or memory source, its rows cannot be read again and are lost.",
}
_ASK_SOURCE = {
    "kafka": "Whether the topics still hold these offsets only a broker can say (failOnDataLoss decides what happens"
    " when not).",
    "kinesis": "Whether the stream still holds these records only the service can say.",
    "delta": "Whether the table still has these versions its log can say (VACUUM and log retention delete old ones).",
    "iceberg": "Whether the table still has this snapshot its metadata can say.",
    "autoloader": "Whether these files are still there only the store can say.",
    "unknown": "Whether the source can give this range again only the source can say.",
}


class _Read(NamedTuple):
    """A range and what there is to say about it."""

    range: SourceRange
    sentences: list[str]
    blocked: str | None = None


def plan(checkpoint: Checkpoint) -> RestartPlan:
    """Say what the next start on a checkpoint does."""
    planned, committed = checkpoint.lastOffset, checkpoint.lastCommit
    replay = planned is not None and planned != committed
    entry = checkpoint.offsets[planned] if planned is not None else None
    reads = _replayed(checkpoint, entry) if replay and entry is not None else _continued(checkpoint, entry)
    lost = _missing_state(checkpoint)
    blocked = next((one for one in _refusals(checkpoint, entry, replay=replay) if one), None)
    blocked = blocked or next((read.blocked for read in reads if read.blocked), None)
    lost_texts = _lost_state(checkpoint, lost)
    blocked = blocked or (lost_texts[0] if lost_texts else None)
    sink = checkpoint.sink
    verdict = sinks.verdict(sink, checkpoint.nextBatch, checkpoint.id)
    known = sink_has(checkpoint, checkpoint.nextBatch, replay=replay)
    sentences = [
        *_what(checkpoint, entry, replay=replay),
        *([f"Spark will refuse to start: {blocked}"] if blocked else []),
        *(text for read in reads for text in read.sentences),
        *_same_again(checkpoint, entry, replay=replay),
        *(known or [_later(verdict.sentence) if not replay else verdict.sentence]),
        *(text for text in lost_texts if text != blocked),
        *_oddities(checkpoint),
    ]
    return RestartPlan(
        batchId=checkpoint.nextBatch,
        replay=replay,
        sources=tuple(read.range for read in reads),
        sentences=tuple(redact(text) for text in dict.fromkeys(sentences)),
        blocked=redact(blocked) if blocked else None,
        watermarkMs=_watermark(checkpoint, entry, replay=replay),
        plannedMs=entry.timestampMs if replay and entry is not None else None,
        sink=sink.kind if sink is not None else None,
        sinkSafe=verdict.safe,
        code_fix=verdict.code,
        missingState=lost,
    )


def _what(checkpoint: Checkpoint, entry: OffsetEntry | None, *, replay: bool) -> list[str]:
    """The first sentence: which batch, and whether it ran before."""
    batch = exact(checkpoint.nextBatch)
    if entry is None:
        return ["The next start runs batch 0 for the first time: no batch was planned yet on this checkpoint."]
    if not replay:
        return [
            f"The next start runs batch {batch} for the first time: batch {exact(entry.batchId)}, the last one planned,"
            " is committed."
        ]
    at = f" (first planned {when(entry.timestampMs)})" if entry.timestampMs else ""
    return [
        f"The next start runs batch {batch} again{at}: offsets/{entry.batchId} is written and commits/{entry.batchId}"
        " is not, so the sink may have all, some or none of it."
    ]


def _same_again(checkpoint: Checkpoint, entry: OffsetEntry | None, *, replay: bool) -> list[str]:
    """What comes again with a batch that is run again; or when a start without new data runs a batch all the same."""
    if replay:
        return [
            "The batch keeps its id, offsets and watermark: numInputRows come again, and for a deterministic query the"
            f" same rows; after it goes batch {exact(checkpoint.nextBatch + 1)} as usual."
        ]
    if entry is None:
        return []
    if _watermark(checkpoint, entry, replay=False) != entry.watermarkMs and checkpoint.operators:
        return ["The watermark moved with the last batch: a batch without data may come first, to finish old results."]
    return ["Without new data no batch runs and no row is read again."]


def _later(sentence: str) -> str:
    return f"Should a batch fail after the sink took it: {sentence[0].lower() if sentence[:4] == 'The ' else sentence[0]}{sentence[1:]}"


def _watermark(checkpoint: Checkpoint, entry: OffsetEntry | None, *, replay: bool) -> int | None:
    """The watermark of the next batch: that of its own entry, or what the last commit set."""
    if entry is None:
        return None
    if replay:
        return entry.watermarkMs
    after = checkpoint.commits[entry.batchId].nextWatermarkMs
    return max((one for one in (after, entry.watermarkMs) if one is not None), default=None)


def _replayed(checkpoint: Checkpoint, entry: OffsetEntry) -> list[_Read]:
    """The ranges of a batch that is run again."""
    before = checkpoint.offsets.get(entry.batchId - 1)
    starts = before.sources if before is not None else ()
    return [
        _again(checkpoint, one, starts[one.index].value if one.index < len(starts) else None, len(entry.sources))
        for one in entry.sources
    ]


def _again(checkpoint: Checkpoint, one: SourceOffset, start: Any, count: int) -> _Read:
    name = _name(one, count)
    if one.kind == "file":
        return _files_again(checkpoint, one, start, name)
    source = checkpoint.sources.get(one.index)
    # Kafka writes down where it began: a first batch starts there.
    shown = source.initial if start is None and source is not None and one.kind == "kafka" else start
    text = offsets.span(one.kind, shown, one.value)
    moved = one.kind != "none" and start != one.value
    sentences = [f"{name} {'reads exactly' if moved else 'reads nothing:'} {text}."]
    if moved:
        sentences += [text for table in (_NOT_REPLAYABLE, _ASK_SOURCE) if (text := table.get(one.kind))]
    replayable = True if one.kind in ("rate", "rate-micro-batch") or not moved else None
    return _Read(SourceRange(one.index, one.kind, start, one.value, text, replayable=replayable), sentences)


def _files_again(checkpoint: Checkpoint, one: SourceOffset, start: Any, name: str) -> _Read:
    """The range of a file source: its log names the files."""
    first, last = _entry(start, -1) + 1, _entry(one.value, -1)
    source = checkpoint.sources.get(one.index)
    text = offsets.span("file", start, one.value)
    if last < first:
        return _Read(
            SourceRange(one.index, "file", start, one.value, text, files=(), gone=(), replayable=True),
            [f"{name} has no new file in this batch."],
        )
    if source is None or source.log.last is None:
        why = f"sources/{one.index} is missing, which names the files of the batch."
        return _Read(SourceRange(one.index, "file", start, one.value, text), [], blocked=why)
    taken, missing = source.taken(first, last)
    paths = [file.path for file in taken]
    lost = gone(checkpoint.storage, paths)
    blocked = None
    if missing:
        blocked = (
            f"sources/{one.index} lacks {_count(len(missing), 'entry', 'entries')} {_few(missing)}, which"
            f" name{'s' if len(missing) == 1 else ''} files of the batch."
        )
    shown = tuple(redact(clean(unquote(path))) for path in paths)
    text = f"{_count(len(paths), 'file')}: {_few(_base(path) for path in shown)}"
    sentences = [f"{name} reads exactly {text}."]
    if lost:
        sentences.append(
            f"{_count(len(lost), 'of these files is', 'of these files are')} gone"
            f" ({_few(redact(_base(clean(unquote(path)))) for path in lost)}): its rows are lost, and the batch"
            " fails unless spark.sql.files.ignoreMissingFiles is set."
        )
    elif lost is None:
        sentences.append("Whether these files are still there was not looked at: they are not on this machine.")
    return _Read(
        SourceRange(
            one.index,
            "file",
            start,
            one.value,
            text,
            files=shown,
            gone=None if lost is None else tuple(redact(clean(unquote(path))) for path in lost),
            replayable=None if lost is None else not lost,
        ),
        sentences,
        blocked,
    )


def _continued(checkpoint: Checkpoint, entry: OffsetEntry | None) -> list[_Read]:
    """Where each source goes on, for a batch that is not planned yet."""
    if entry is None:
        return []
    return [_on(checkpoint, one, len(entry.sources)) for one in entry.sources]


def _on(checkpoint: Checkpoint, one: SourceOffset, count: int) -> _Read:
    name = _name(one, count)
    text = offsets.span(one.kind, one.value, None)
    source = checkpoint.sources.get(one.index)
    if one.kind != "file":
        return _Read(SourceRange(one.index, one.kind, one.value, None, text), [f"{name} {_sentence(text)}."])
    at = _entry(one.value, -1)
    last = source.log.last if source is not None else None
    if source is None or last is None:
        why = f"sources/{one.index} is missing: the source forgets which files it took, and takes them all again."
        return _Read(SourceRange(one.index, "file", one.value, None, text), [why])
    sentences = [f"{name} goes on with files that its log does not know yet: none that it took is read again."]
    noted: tuple[str, ...] | None = None
    if last > at:
        # The source writes its own log first: it knows files that no batch was planned with.
        noted = tuple(redact(clean(unquote(file.path))) for file in source.taken(at + 1, last)[0])
        sentences.append(
            f"Its log already has {_count(len(noted), 'file')} that no batch was planned with:"
            f" {_few(_base(path) for path in noted)}; the next batch takes them."
        )
    return _Read(SourceRange(one.index, "file", one.value, None, text, files=noted), sentences)


def _refusals(checkpoint: Checkpoint, entry: OffsetEntry | None, *, replay: bool) -> Iterable[str | None]:
    """What makes Spark fail before it runs a batch, worst first."""
    if checkpoint.metadataProblem and "missing" not in checkpoint.metadataProblem:
        yield checkpoint.metadataProblem
    if entry is None:
        if len(checkpoint.commits):
            yield (
                f"there are commits up to {checkpoint.lastCommit} but no offsets: batch 0 would be planned anew, and its"
                " commit is already there. Copy the folder offsets/ back, or start with a new checkpoint."
            )
        return
    if entry.problem and not entry.sources:
        yield (
            f"{entry.problem} Without that file and its checksum (.{entry.batchId}.crc) the batch is planned anew, if"
            f" commits/{entry.batchId} is not there."
        )
    committed = checkpoint.lastCommit
    if committed is not None and committed > entry.batchId:
        yield (
            f"commits/{committed} is there but offsets/{committed} is not: batch {entry.batchId} would be run again,"
            " and its commit be refused. Copy the missing files of offsets/ back."
        )
    if replay and entry.batchId > 0 and entry.batchId - 1 not in checkpoint.offsets:
        yield f"offsets/{entry.batchId - 1} is missing, which says where batch {entry.batchId} begins."
    before = checkpoint.offsets.get(entry.batchId - 1) if replay else None
    if before is not None and before.problem and not before.sources:
        yield before.problem
    if committed is not None and (problem := checkpoint.commits[committed].problem) and "newer" not in problem:
        yield problem


def _oddities(checkpoint: Checkpoint) -> list[str]:
    """What does not stop a start and is still worth knowing."""
    found = []
    planned, committed = checkpoint.lastOffset, checkpoint.lastCommit
    if checkpoint.metadataProblem and "missing" in checkpoint.metadataProblem:
        found.append("The file metadata is missing: the query gets a new id, all else goes on.")
    if planned is not None and planned > 0 and committed is None:
        found.append("There is no commit at all: Spark takes the batches before the last planned one as done.")
    elif planned is not None and committed is not None and committed < planned - 1:
        found.append(
            f"The last commit is {exact(committed)}, more than one batch behind: Spark takes the batches up to"
            f" {exact(planned - 1)} as done (asynchronous progress tracking writes so, or commits were deleted)."
        )
    return found


def _missing_state(checkpoint: Checkpoint) -> tuple[MissingState, ...]:
    return tuple(
        MissingState(operator.id, store.name, files.partition, files.missing)
        for operator in checkpoint.operators
        for store in operator.stores
        for files in store.files
        if files.missing
    )


def _lost_state(checkpoint: Checkpoint, lost: Sequence[MissingState]) -> list[str]:
    """One sentence an operator's store."""
    names = {operator.id: operator.name or operator.guess for operator in checkpoint.operators}
    groups: dict[tuple[int, str], list[MissingState]] = {}
    for one in lost:
        groups.setdefault((one.operator, one.store), []).append(one)
    found = []
    for (operator, store), parts in groups.items():
        what = f"operator {operator}" + (f" ({names[operator]})" if names.get(operator) else "")
        what += "" if store == "default" else f", store {store},"
        versions = _few(dict.fromkeys(version for part in parts for version in part.versions))
        partitions = _few(part.partition for part in parts)
        found.append(
            f"the state of {what} lacks version {versions} in partition{'' if len(parts) == 1 else 's'} {partitions}"
            f" (state/{operator}/{parts[0].partition}): batch {exact(checkpoint.nextBatch)} needs it, and what those"
            " partitions held is lost."
        )
    return found


def _name(one: SourceOffset, count: int) -> str:
    label = offsets.LABELS.get(one.kind, one.kind)
    named = f"{one.name}, " if one.name and not one.name.isdigit() else ""
    return f"The source ({named}{label})" if count == 1 else f"Source {one.index} ({named}{label})"


def _sentence(text: str) -> str:
    return text if text.startswith("goes on") else f"has {text}" if text.startswith("no ") else f"starts {text}"


def _entry(offset: Any, default: int) -> int:
    found = offset.get("logOffset") if isinstance(offset, dict) else None
    return found if isinstance(found, int) else default


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _few(items: Iterable[Any]) -> str:
    shown = [str(one) for one in items]
    more = len(shown) - _NAMED
    return ", ".join(shown) if more <= 0 else f"{', '.join(shown[:_NAMED])} and {more} more"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{exact(number)} {one if number == 1 else many or one + 's'}"
