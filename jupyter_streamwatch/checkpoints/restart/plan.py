"""What the next start does, as ``MicroBatchExecution.populateStartOffsets`` decides it.

Spark compares the newest entry of the offset log with the newest commit. Equal: the batch is done, and the next one
is planned anew, after these offsets. Else the batch is run again over exactly these offsets, and for any but batch 0
Spark needs the entry before it, where the batch starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints import known
from jupyter_streamwatch.checkpoints.parts import MissingState, RestartPlan
from jupyter_streamwatch.checkpoints.restart import ranges, sinks
from jupyter_streamwatch.checkpoints.restart.available import sink_last, sink_says
from jupyter_streamwatch.checkpoints.restart.ranges import few
from jupyter_streamwatch.text.numbers import exact, when
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.parts import OffsetEntry


def plan(checkpoint: Contents) -> RestartPlan:
    """Say what the next start on a checkpoint does."""
    planned = checkpoint.lastOffset
    entry = checkpoint.offsets[planned] if planned is not None else None
    replay = planned is not None and planned != checkpoint.lastCommit
    reads = ranges.replayed(checkpoint, entry) if entry is not None and replay else ranges.continued(checkpoint, entry)
    lost = _missing_state(checkpoint)
    blocked = next(
        (
            why
            for why in (
                *_refusals(checkpoint, entry),
                *(read.blocked for read in reads),
                *_lost_state(checkpoint, lost),
                _no_state(checkpoint),
            )
            if why
        ),
        None,
    )
    verdict = sinks.verdict(checkpoint.sink, checkpoint.nextBatch, checkpoint.id)
    # A file sink's own log, where its path is known; of a batch that is new, only bad news.
    last = sink_last(checkpoint)
    said = None if last is None else sink_says(last, checkpoint.nextBatch, replay=replay)
    sentences = [
        _what(checkpoint, entry, replay=replay),
        *([f"The start will fail: {blocked}"] if blocked else []),
        *([said] if said and not replay else []),
        *(text for read in reads for text in read.sentences),
        *_same_again(checkpoint, entry, replay=replay),
        *([said or verdict.sentence] if replay else []),
        *([] if replay or said else [f"If a batch fails after the sink took it, it comes again. {verdict.sentence}"]),
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
        sink=checkpoint.sink.kind if checkpoint.sink is not None else None,
        sinkSafe=verdict.safe,
        code_fix=verdict.code,
        missingState=lost,
    )


def _what(checkpoint: Contents, entry: OffsetEntry | None, *, replay: bool) -> str:
    """The first sentence: which batch, and whether it ran before."""
    batch = exact(checkpoint.nextBatch)
    if entry is None:
        return "The next start runs batch 0 for the first time: no batch was planned yet on this checkpoint."
    if not replay:
        last = exact(entry.batchId)
        return (
            f"The next start runs batch {batch} for the first time: batch {last}, the last one planned, is committed."
        )
    at = f", first planned {when(entry.timestampMs)}" if entry.timestampMs else ""
    return (
        f"The next start runs batch {batch} again{at}: offsets/{entry.batchId} is there and commits/{entry.batchId} is"
        " not, so the sink may have all, some or none of it."
    )


def _same_again(checkpoint: Contents, entry: OffsetEntry | None, *, replay: bool) -> list[str]:
    """What comes again with a batch that is run again; or when a start without new data runs a batch all the same."""
    if replay:
        after = exact(checkpoint.nextBatch + 1)
        sentence = (
            "The batch keeps its id, offsets and watermark: its numInputRows come again, for a deterministic query with"
            f" the same rows; then batch {after} follows as usual."
        )
        return [sentence]
    if entry is None:
        return []
    if _watermark(checkpoint, entry, replay=False) != entry.watermarkMs and checkpoint.operators:
        return ["The watermark moved with the last batch: a batch without data may come first, to finish old results."]
    return ["Without new data no batch runs, and no row is read again."]


def _watermark(checkpoint: Contents, entry: OffsetEntry | None, *, replay: bool) -> int | None:
    """The watermark of the next batch: that of its own entry, or what the last commit set."""
    if entry is None:
        return None
    if replay:
        return entry.watermarkMs
    after = checkpoint.commits[entry.batchId].nextWatermarkMs
    return max((one for one in (after, entry.watermarkMs) if one is not None), default=None)


def _refusals(checkpoint: Contents, entry: OffsetEntry | None) -> Iterable[str | None]:
    """What makes a start fail that the logs show, worst first."""
    if checkpoint.metadataProblem and not checkpoint.metadataMissing:
        yield checkpoint.metadataProblem
    committed = checkpoint.lastCommit
    if entry is None:
        if committed is not None:
            yield f"there are commits up to {exact(committed)} but no offsets. Copy the folder offsets/ back."
        return
    if entry.problem and not entry.sources:
        yield f"{entry.problem} {_cure(checkpoint, entry.batchId)}"
    if committed is not None and committed > entry.batchId:
        yield (
            f"commits/{committed} is there but offsets/{committed} is not: batch {exact(entry.batchId)} goes to the"
            " sink again, and then Spark stops at its commit. Copy the missing files of offsets/ back."
        )
    if entry.batchId > 0:
        before = checkpoint.offsets.get(entry.batchId - 1)
        if before is None:
            yield f"offsets/{entry.batchId - 1} is missing, which says where batch {exact(entry.batchId)} begins."
        elif not before.sources:
            yield before.problem
    if committed is not None and checkpoint.commits[committed].version is None:
        yield checkpoint.commits[committed].problem


def _cure(checkpoint: Contents, batch: int) -> str:
    """What helps when the entry of the last batch cannot be read."""
    if batch in checkpoint.commits:
        return f"Copy it back: batch {exact(batch)} is done, and where it ended stands nowhere else."
    return f"Deleting it (and .{batch}.crc) makes Spark plan the batch anew."


def _no_state(checkpoint: Contents) -> str | None:
    """Say that all state is gone, where a watched run tells that there was some."""
    if checkpoint.lastCommit is None or checkpoint.leavesStateOut or checkpoint.operators:
        return None
    if not known.stateful(checkpoint.id):
        return None
    return "the folder state/ is missing, and the query keeps state: what it held is lost. Copy the folder back."


def _oddities(checkpoint: Contents) -> list[str]:
    """What does not stop a start and is still worth knowing."""
    found = []
    planned, committed = checkpoint.lastOffset, checkpoint.lastCommit
    if checkpoint.metadataMissing:
        found.append("The file metadata is missing: Spark 4 refuses to start, older versions go on under a new id.")
    if planned is not None and planned > 0 and committed is None:
        found.append("There is no commit at all: Spark takes the batches before the last planned one as done.")
    elif planned is not None and committed is not None and committed < planned - 1:
        sentence = (
            f"The last commit is {exact(committed)}, more than one batch behind: Spark takes the batches up to"
            f" {exact(planned - 1)} as done (asynchronous progress tracking writes so, or commits were deleted)."
        )
        found.append(sentence)
    return found


def _missing_state(checkpoint: Contents) -> tuple[MissingState, ...]:
    return tuple(
        MissingState(operator.id, store.name, files.partition, files.missing)
        for operator in checkpoint.operators
        for store in operator.stores
        for files in store.files
        if files.missing
    )


def _lost_state(checkpoint: Contents, lost: Sequence[MissingState]) -> list[str]:
    """One sentence an operator's store."""
    names = {operator.id: operator.name or operator.guess for operator in checkpoint.operators}
    groups: dict[tuple[int, str], list[MissingState]] = {}
    for one in lost:
        groups.setdefault((one.operator, one.store), []).append(one)
    found = []
    for (operator, store), parts in groups.items():
        what = f"operator {operator}" + (f" ({names[operator]})" if names.get(operator) else "")
        what += "" if store == "default" else f", store {store},"
        versions = few(dict.fromkeys(version for part in parts for version in part.versions))
        partitions = few(part.partition for part in parts)
        found.append(
            f"the state of {what} lacks version {versions} in partition{'' if len(parts) == 1 else 's'} {partitions}"
            f" (state/{operator}/{parts[0].partition}): batch {exact(checkpoint.nextBatch)} needs it, and what those"
            " partitions held is lost."
        )
    return found
