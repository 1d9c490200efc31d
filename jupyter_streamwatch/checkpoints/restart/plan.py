"""What the next start does, as ``MicroBatchExecution.populateStartOffsets`` and its like decide it.

Spark compares the newest entry of the offset log with the newest commit. Equal: the batch is done, and the next one
is planned anew, after these offsets. Else the batch is run again over exactly these offsets, and for any but batch 0
Spark needs the entry before it, where the batch starts. Asynchronous progress tracking takes the entry before it that
there is; continuous mode goes on from the newest commit, whatever the offset log has after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jupyter_streamwatch.checkpoints.parts import MissingState, RestartPlan
from jupyter_streamwatch.checkpoints.restart import again, cures, modes, ranges, sinks
from jupyter_streamwatch.checkpoints.restart.available import unwritten, written
from jupyter_streamwatch.checkpoints.restart.ranges import few
from jupyter_streamwatch.model.spark_version import NEWEST, version_of
from jupyter_streamwatch.text.numbers import exact
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.known import Known
    from jupyter_streamwatch.checkpoints.parts import KnownSink, OffsetEntry
    from jupyter_streamwatch.checkpoints.restart.modes import Mode

_METADATA_NEEDED = (4, 2)
_NEEDS_METADATA = (
    "The file metadata is missing: Spark 4.2 and newer refuse to start, older versions go on under a new id."
)


class _Refusal(NamedTuple):
    """Why a start fails, and what helps, the cheapest first."""

    why: str
    cures: Sequence[str] = ()
    fails: str = "The start"


def plan(checkpoint: Contents, known: Known) -> RestartPlan:
    """Say what the next start on a checkpoint does, of a query of which this is known."""
    mode = modes.of(checkpoint, known)
    planned = checkpoint.lastOffset
    entry = checkpoint.offsets[planned] if planned is not None else None
    replay = again.replay_of(checkpoint, mode)
    reads = _reads(checkpoint, mode, entry)
    lost = () if mode.name == "continuous" else _missing_state(checkpoint)
    refusal = next(iter(_all_refusals(checkpoint, known, mode, entry, reads, lost)), None)
    blocked = None if refusal is None else refusal.why
    batch = again.batch_of(checkpoint, mode)
    verdict = sinks.verdict(known.sink, batch, checkpoint.id)
    skipped = unwritten(checkpoint, known.sink)
    foreign = None if skipped is None else skipped.text
    sentences = [again.first(checkpoint, mode, entry, blocked=blocked is not None)]
    if refusal is not None:
        sentences += [f"{refusal.fails} will fail: {refusal.why}", *cures.numbered(refusal.cures)]
    elif checkpoint.metadataMissing and entry is not None:
        sentences += [_NEEDS_METADATA, *cures.numbered(cures.of_metadata(checkpoint, known.sink))]
    sentences += [foreign] if foreign else []
    sentences += _either(checkpoint, mode)
    if refusal is None:
        sentences += [text for read in reads for text in read.sentences]
        moved = _watermark(checkpoint, entry, replay=False) != (entry.watermarkMs if entry else None)
        noted = any(read.range.files for read in reads if read.range.to is None)
        moved = moved and bool(checkpoint.operators)
        sentences += again.rows(checkpoint, mode, entry, moved=moved, noted=noted)
        sentences += _of_sink(checkpoint, known, verdict, replay=replay, foreign=foreign is not None)
        sentences += _oddities(checkpoint, mode)
    return RestartPlan(
        batchId=batch,
        replay=replay,
        sources=tuple(read.range for read in reads),
        sentences=tuple(redact(text) for text in dict.fromkeys(sentences)),
        blocked=redact(blocked) if blocked else None,
        cures=() if refusal is None else tuple(redact(text) for text in refusal.cures),
        watermarkMs=_watermark(checkpoint, entry, replay=bool(replay)),
        plannedMs=entry.timestampMs if replay and entry is not None else None,
        sink=known.sink.kind if known.sink is not None else None,
        sinkSafe="no" if foreign else verdict.safe,
        code_fix=verdict.code,
        unwritten=redact(foreign) if foreign else None,
        missingState=lost,
    )


def _reads(checkpoint: Contents, mode: Mode, entry: OffsetEntry | None) -> list[ranges.Read]:
    """What the next batch takes of each source."""
    if mode.name == "continuous":
        done = checkpoint.lastCommit
        return ranges.continued(checkpoint, None if done is None else checkpoint.offsets.get(done), None)
    before = None
    if entry is not None:
        ids = [id for id in checkpoint.offsets if id < entry.batchId]
        gaps = mode.name == "asynchronous"
        before = checkpoint.offsets.get(ids[-1] if gaps and ids else entry.batchId - 1)
    if entry is not None and checkpoint.lastOffset != checkpoint.lastCommit:
        return ranges.replayed(checkpoint, entry, before)
    return ranges.continued(checkpoint, entry, before)


def _either(checkpoint: Contents, mode: Mode) -> list[str]:
    """Say what depends on a mode that is not known: whether the start goes on, or fails."""
    if mode.name is not None:
        return []
    if mode.could_be("continuous"):
        epoch = exact((checkpoint.lastCommit or 0) + 1)
        text = (
            f"Continuous mode wrote these logs. With a continuous trigger the next start goes on with epoch {epoch};"
            " with any other Spark fails with a NullPointerException (3.5 to 4.3)."
        )
        return [text]
    if mode.could_be("asynchronous") and modes.looks_asynchronous(checkpoint):
        last = checkpoint.lastOffset or 0
        text = (
            f"The logs have gaps, as asynchronous progress tracking leaves them. With {modes.ASYNCHRONOUS}=true the"
            f" next start goes on after batch {exact(last)}, and the rows of batches after it come again. Without that"
            f" option it fails, because offsets/{last - 1} is missing: then start it once with the option and"
            f" {modes.INTERVAL}=0 until two batches have run."
        )
        return [text]
    return []


def _of_sink(
    checkpoint: Contents, known: Known, verdict: sinks.Verdict, *, replay: bool | None, foreign: bool
) -> list[str]:
    """Say what the sink does with rows that come again."""
    if checkpoint.lastOffset is not None and known.sink is not None and known.sink.kind.lower() == "memory":
        if known.outputMode is None:
            return ["The memory sink recovers a checkpoint in complete mode alone.", verdict.sentence]
        return ["The memory sink forgets: its table starts empty, until the first batch with data.", verdict.sentence]
    if replay:
        own = written(checkpoint, known.sink, checkpoint.nextBatch)
        return [own or verdict.sentence] if own or not foreign else []
    if foreign:
        return []
    if replay is None:
        return [verdict.sentence]
    return [f"If a batch fails after the sink took it, it comes again. {verdict.sentence}"]


def _all_refusals(  # noqa: PLR0917 - all that is known
    checkpoint: Contents,
    known: Known,
    mode: Mode,
    entry: OffsetEntry | None,
    reads: Sequence[ranges.Read],
    lost: Sequence[MissingState],
) -> Iterable[_Refusal]:
    """Everything seen that makes the start fail, the first cause first."""
    sink = known.sink
    yield from _of_metadata(checkpoint, known)
    yield from _of_mode(checkpoint, known, mode, entry)
    if mode.name == "continuous":
        done = checkpoint.lastCommit
        if done is not None and not (done in checkpoint.offsets and checkpoint.offsets[done].sources):
            what = f"offsets/{done}"
            why = f"{what} is missing or damaged, which says where epoch {exact(done)} ended."
            yield _Refusal(why, [cures.back(what), cures.new_checkpoint(checkpoint, sink)])
        return
    yield from _of_logs(checkpoint, mode, entry, sink)
    for read in reads:
        if read.blocked:
            yield _Refusal(read.blocked, [cures.back("the folder"), cures.new_checkpoint(checkpoint, sink)])
    planned = checkpoint.lastOffset != checkpoint.lastCommit
    fails = "The start" if planned else "The first batch, which new data brings,"
    for why, folder in _lost_state(checkpoint, lost):
        yield _Refusal(why, cures.of_state(checkpoint, sink, folder), fails)
    gone = checkpoint.lastCommit is not None and not checkpoint.leavesStateOut and not checkpoint.operators
    if gone and known.stateful:
        why = "the folder state/ is missing, and the query keeps state: what it held is lost."
        yield _Refusal(why, [cures.back("the folder state/"), cures.new_checkpoint(checkpoint, sink)])


def _of_metadata(checkpoint: Contents, known: Known) -> Iterable[_Refusal]:
    if checkpoint.metadataMissing:
        if _needs_metadata(checkpoint, known):
            why = "the file metadata is missing, and Spark 4.2 and newer refuse to start without it."
            yield _Refusal(why, cures.of_metadata(checkpoint, known.sink))
    elif checkpoint.metadataProblem:
        yield _Refusal(checkpoint.metadataProblem, cures.of_metadata(checkpoint, known.sink)[:2])


def _needs_metadata(checkpoint: Contents, known: Known) -> bool:
    """Whether the Spark in use is known to refuse a checkpoint without its file metadata."""
    version = known.sparkVersion or str(getattr(checkpoint.spark, "version", None) or "") or None
    return (
        version is not None
        and checkpoint.lastOffset is not None
        and (version_of(version) or NEWEST) >= _METADATA_NEEDED
    )


def _of_mode(checkpoint: Contents, known: Known, mode: Mode, entry: OffsetEntry | None) -> Iterable[_Refusal]:
    """What the trigger and the sink refuse."""
    sink = known.sink
    if checkpoint.continuous and not mode.could_be("continuous"):
        why = (
            "continuous mode wrote these logs, and with any other trigger Spark fails with a NullPointerException"
            " (3.5 to 4.3)."
        )
        keep = "start it with a continuous trigger again. Rows after the last committed epoch may come again."
        yield _Refusal(why, [keep, cures.new_checkpoint(checkpoint, sink)])
    rates = [one for one in (entry.sources if entry is not None else ()) if one.kind == "rate"]
    if mode.name == "continuous" and rates and not checkpoint.continuous:
        why = "the rate source cannot read in continuous mode the offsets that it wrote in micro-batches."
        keep = "start it without a continuous trigger. Nothing is lost."
        yield _Refusal(why, [keep, cures.new_checkpoint(checkpoint, sink)])
    if entry is not None and sinks.refuses(known):
        why = (
            f"the memory sink recovers no checkpoint in {known.outputMode} mode: Spark refuses a start where offsets/"
            " is not empty."
        )
        helps = [
            "use complete mode, if the query aggregates. The table starts empty all the same.",
            cures.new_checkpoint(checkpoint, sink),
        ]
        yield _Refusal(why, helps)


def _watermark(checkpoint: Contents, entry: OffsetEntry | None, *, replay: bool) -> int | None:
    """The watermark of the next batch: that of its own entry, or what the last commit set."""
    if entry is None:
        return None
    if replay:
        return entry.watermarkMs
    commit = checkpoint.commits.get(entry.batchId)
    after = None if commit is None else commit.nextWatermarkMs
    return max((one for one in (after, entry.watermarkMs) if one is not None), default=None)


def _of_logs(checkpoint: Contents, mode: Mode, entry: OffsetEntry | None, sink: KnownSink | None) -> Iterable[_Refusal]:
    """What makes a start fail that the logs show, worst first."""
    committed = checkpoint.lastCommit
    if entry is None:
        if committed is not None:
            why = f"there are commits up to {exact(committed)} but no offsets."
            yield _Refusal(why, [cures.back("the folder offsets/"), cures.new_checkpoint(checkpoint, sink)])
        return
    if entry.problem and not entry.sources:
        yield _Refusal(entry.problem, cures.of_gap(checkpoint, mode, sink, f"offsets/{entry.batchId}"))
    if committed is not None and committed > entry.batchId:
        why = (
            f"commits/{committed} is there but offsets/{committed} is not: batch {exact(entry.batchId)} goes to the"
            " sink again, and then Spark stops at its commit."
        )
        yield _Refusal(why, cures.of_gap(checkpoint, mode, sink, "the missing files of offsets/"))
    if entry.batchId > 0 and mode.name != "asynchronous":
        before = checkpoint.offsets.get(entry.batchId - 1)
        missing = f"offsets/{entry.batchId - 1}"
        by_design = mode.could_be("asynchronous") and modes.looks_asynchronous(checkpoint)
        if before is None and not by_design:
            why = f"{missing} is missing, which says where batch {exact(entry.batchId)} begins."
            if mode.could_be("asynchronous") and committed != entry.batchId:
                why += f" ({modes.ASYNCHRONOUS}=true would do without it.)"
            yield _Refusal(why, cures.of_gap(checkpoint, mode, sink, missing))
        elif before is not None and not before.sources and before.problem:
            yield _Refusal(before.problem, cures.of_gap(checkpoint, mode, sink, missing))
    if committed is not None and checkpoint.commits[committed].version is None:
        why = checkpoint.commits[committed].problem or f"commits/{committed} cannot be read."
        aside = (
            f"move commits/{committed} (with its hidden .crc file) out of the checkpoint, to keep: batch"
            f" {exact(committed)} runs again, and the sink gets it again."
        )
        yield _Refusal(why, [cures.back(f"commits/{committed}"), aside, cures.new_checkpoint(checkpoint, sink)])


def _oddities(checkpoint: Contents, mode: Mode) -> list[str]:
    """What does not stop a start and is still worth knowing."""
    found: list[str] = []
    planned, committed = checkpoint.lastOffset, checkpoint.lastCommit
    if mode.name in ("asynchronous", "continuous"):
        return found
    if planned is not None and planned > 0 and committed is None:
        found.append("There is no commit at all: Spark takes the batches before the last planned one as done.")
    elif planned is not None and committed is not None and committed < planned - 1:
        asynchronous = "asynchronous progress tracking writes so, or " if mode.could_be("asynchronous") else ""
        found.append(
            f"The last commit is {exact(committed)}, more than one batch behind: Spark takes the batches up to"
            f" {exact(planned - 1)} as done ({asynchronous}commits were deleted)."
        )
    return found


def _missing_state(checkpoint: Contents) -> tuple[MissingState, ...]:
    return tuple(
        MissingState(operator.id, store.name, files.partition, files.missing)
        for operator in checkpoint.operators
        for store in operator.stores
        for files in store.files
        if files.missing
    )


def _lost_state(checkpoint: Contents, lost: Sequence[MissingState]) -> list[tuple[str, str]]:
    """One sentence an operator's store, with the folder that lacks something."""
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
        folder = f"state/{operator}/{parts[0].partition}"
        why = (
            f"the state of {what} lacks version {versions} in partition{'' if len(parts) == 1 else 's'} {partitions}"
            f" ({folder}), and batch {exact(checkpoint.nextBatch)} needs it."
        )
        found.append((why, folder if len(parts) == 1 else f"the missing files of state/{operator}"))
    return found
