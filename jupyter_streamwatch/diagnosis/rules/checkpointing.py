"""Rules about the checkpoint: slow to write, pinned settings, temporary, a batch that ran twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.measure import (
    batch_time,
    begins_anew,
    gathered,
    seen,
    severity,
    shorter,
    slow_part,
    version,
)
from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.diagnosis.window import CHECKPOINT, DISCOVERY
from jupyter_streamwatch.text.numbers import duration, percent, when

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.checkpoint_card import Card
    from jupyter_streamwatch.model.progress import Progress

RECOVERY = API + "#recovering-from-failures-with-checkpointing"
CHANGES = API + "#recovery-semantics-after-changes-in-a-streaming-query"
_PINNED = {
    "spark.sql.streaming.stateStore.providerClass": "Each state store provider writes its state in its own form, so"
    " Spark takes the provider from the checkpoint and not from the session.",
    "spark.sql.streaming.multipleWatermarkPolicy": "With another policy the watermark could go back, so Spark takes the"
    " policy from the checkpoint and not from the session.",
}
"""Settings beside the shuffle partitions that a checkpoint keeps and that people change, and why it keeps them."""
_NEW_CHECKPOINT = "A new checkpoint takes the new {}: {}."
_S3 = ("s3://", "s3a://", "s3n://")


@rule("slow-checkpoint", "Writing the offset and commit log takes a large part of each batch.")
def slow_checkpoint(window: Window, load: Load) -> Hint | None:
    """Raise when walCommit and commitOffsets together are a large part of the batch for a while."""
    slow = slow_part(window, CHECKPOINT)
    if slow is None:
        return None
    path = window.facts.checkpoint or ""
    temporary = window.facts.temporaryCheckpoint
    code = None
    if temporary:
        code = _location(f"<fast storage>/{_own_name(window)}")
    elif path:
        name = path.rstrip("/").rpartition("/")[2]
        code = _location(f"<fast storage>/{name}") + "  # where the whole directory was copied"
    move = "stop the query, copy the whole checkpoint directory, start with the new checkpointLocation"
    if temporary:  # Spark deletes it when the query stops: there is nothing to copy
        move = "this one is temporary, so start the query with a checkpointLocation of its own"
    fix = f"Put the checkpoint on faster storage: {move}. A longer trigger interval writes it less often."
    all_slow = _all_slow(window)
    cause = "Each batch writes two small files to the checkpoint and waits for both"
    if all_slow:
        cause += "; other parts of the batch that write nothing are slow as well, so the whole machine may be busy."
    else:
        cause += "; most often the storage is slow to create or rename files."
    if path.startswith(_S3):
        code = (
            'spark.conf.set("spark.sql.streaming.checkpointFileManagerClass",'
            ' "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager")'
        )
        fix = "Write the checkpoint without renaming (Spark 3.3 and later, with hadoop-cloud). " + fix
    elif window.facts.stateful == () and window.sink_kind == "kafka" and not window.once and _asynchronous(window):
        code = '.option("asyncProgressTrackingEnabled", "true")'
        fix = (
            "Write the progress asynchronously (Spark 3.4 and later, stateless, to Kafka; at-least-once, as that sink"
            " is). " + fix
        )
    return Hint(
        code="slow-checkpoint",
        severity=severity(load, slow),
        title=f"Writing the checkpoint takes {duration(slow.ms)}, {percent(slow.share)} of a batch",
        evidence=gathered(
            Evidence("walCommit + commitOffsets", slow.ms, "ms", slow.batches),
            seen(window, "walCommit", "ms", "durationMs.walCommit"),
            seen(window, "commitOffsets", "ms", "durationMs.commitOffsets"),
            *batch_time(window, load),
        ),
        cause=cause,
        fix=fix,
        code_fix=code,
        # Other storage takes nearly all of it away (measured); leaving out the renames, a part. On a busy machine
        # nothing tells.
        effect=None if slow.alone or all_slow else shorter(window, slow.ms, low=0.5 if path.startswith(_S3) else 0.9),
        link=GUIDE + "performance-tips.html" if code and "async" in code else RECOVERY,
        share=slow.share,
    )


@rule("pinned-conf", "A changed setting has no effect on this checkpoint, which keeps the one of its first start.")
def pinned_conf(window: Window, load: Load) -> Hint | None:
    """Raise when the session's shuffle partitions, state store or watermark policy are not what the checkpoint has.

    Only for a run that goes on with a checkpoint: a setting changed after a first start is meant for other queries.
    """
    del load
    last = window.last
    if last is None or not last.stateOperators or window.run is None or not window.run.firstBatch:
        return None
    return _pinned_partitions(window, last) or _pinned_setting(window, last)


def _pinned_setting(window: Window, last: Progress) -> Hint | None:
    """Look at the settings that the checkpoint was seen to keep."""
    card = card_of(window)
    inputs = len(last.sources)
    for one in card.pinned if card is not None else ():
        what = _PINNED.get(one.name)
        if what is None or (one.name.endswith("WatermarkPolicy") and inputs < 2):
            continue
        wanted, kept = (value.rpartition(".")[2] for value in (one.session, one.checkpoint))
        path = card.path if card is not None else None
        return Hint(
            code="pinned-conf",
            severity="info",
            title=f"{one.name} is {wanted}, but this query keeps the {kept} of its first start",
            evidence=(
                Evidence(f"{one.name} of the checkpoint", one.checkpoint),
                Evidence(f"{one.name} of the session", one.session),
            ),
            cause=what,
            fix=_NEW_CHECKPOINT.format("setting", begins_anew(window)),
            code_fix=_location(f"{path}_{wanted}") if path else None,
            link=CHANGES,
        )
    return None


def _pinned_partitions(window: Window, last: Progress) -> Hint | None:
    wanted = window.facts.sessionPartitions
    if wanted is None:
        return None
    used = [one.numShufflePartitions for one in last.stateOperators if one.numShufflePartitions]
    # A global limit or an aggregation without keys has one partition whatever the setting.
    pinned = max(used, default=1)
    if pinned in {wanted, 1}:
        return None
    ids = (last.batchId,) if last.batchId is not None else ()
    return Hint(
        code="pinned-conf",
        severity="info",
        title=f"spark.sql.shuffle.partitions is {wanted}, but this query keeps the {pinned} of its first start",
        evidence=(
            Evidence("numShufflePartitions", pinned, "partitions", ids),
            Evidence("spark.sql.shuffle.partitions", wanted, "partitions"),
        ),
        cause="State is spread by key over a fixed number of partitions, so Spark takes the number from the"
        " checkpoint and"
        " not from the session.",
        fix=_NEW_CHECKPOINT.format("number", begins_anew(window)),
        code_fix=_location(f"{window.facts.checkpoint}_{wanted}_partitions") if window.facts.checkpoint else None,
        link=CHANGES,
    )


@rule("temporary-checkpoint", "The query has no checkpoint of its own and starts from nothing each time.")
def temporary_checkpoint(window: Window, load: Load) -> Hint | None:
    """Raise when Spark made the checkpoint itself; not for sinks that are for looking only."""
    del load
    if not window.facts.temporaryCheckpoint or window.sink_kind in ("console", "memory", "noop"):
        return None
    return Hint(
        code="temporary-checkpoint",
        severity="info",
        title="The checkpoint is temporary: a restart forgets offsets and state",
        evidence=(Evidence("checkpoint", window.facts.checkpoint or "temporary"),),
        cause="No checkpointLocation was given, so Spark made a directory that it deletes when the query stops.",
        fix="Give the query a checkpoint of its own on storage that survives the cluster.",
        code_fix=_location(f"/checkpoints/{_own_name(window)}"),
        link=RECOVERY,
    )


@rule("replayed-batch", "After a restart a batch ran again that had begun before.")
def replayed_batch(window: Window, load: Load) -> Hint | None:
    """Raise when the run's first batch did not plan its offsets: they were in the log already."""
    del load
    run = window.run
    first = window.ran[0] if window.ran else None
    if run is None or first is None or first.batchId is None or first.batchId != run.firstBatch:
        return None
    planned = _planned(window, first.batchId)
    if planned is None and not _unplanned(first, window.ran[1:]):
        return None
    idempotent = any(word in window.sink for word in ("FileSink", "Delta"))
    rows = first.numInputRows
    empty = rows == 0 and not (first.stateOperators or window.foreach)
    harmless = idempotent or empty or window.sink_kind in ("console", "memory", "noop")
    if empty:
        what = "The batch had no rows, so nothing is doubled."
    elif idempotent:
        what = "This sink skips a batch that it has already written, so nothing is doubled."
    elif harmless:
        what = "This sink is for looking only: nothing that lasts is doubled."
    else:
        what = (
            "What the sink had got of this batch before the failure is there twice, unless what writes it skips a"
            " batchId that it has already written."
        )
        if rows == 0:
            what = f"The batch read no rows, but it may have written results from the state. {what}"
    return Hint(
        code="replayed-batch",
        severity="info" if harmless else "warning",
        title=f"Batch {first.batchId} ran again after the restart",
        evidence=(
            Evidence("first batch of the run", first.batchId, "", (first.batchId,)),
            *([] if rows is None else [Evidence("numInputRows", rows, "rows", (first.batchId,))]),
            *([Evidence("planned at", planned, "time", (first.batchId,))] if planned is not None else []),
            *_both_runs(window),
        ),
        cause="The run before ended after this batch had begun and before it was committed, so Spark repeats it"
        " with the"
        " same offsets.",
        fix=what,
        code_fix=None
        if harmless or not window.foreach_batch
        else '.option("txnAppId", "<name of this checkpoint>").option("txnVersion", batch_id)  # a Delta write',
        link=API + "#foreachbatch" if window.foreach_batch else RECOVERY,
    )


def _asynchronous(window: Window) -> bool:
    """Whether Spark may write its progress asynchronously: not before 3.4."""
    spark = version(window)
    return spark is None or spark >= (3, 4)


def card_of(window: Window) -> Card | None:
    """Return what was read of the checkpoint for the latest run; None when it was not read."""
    card, run = window.history.checkpoint, window.run
    return card if card is not None and run is not None and card.runId in (None, run.runId) else None


def _planned(window: Window, batch: int) -> float | None:
    """Return when the run's first batch was planned (epoch ms), if the checkpoint says that it was before the run."""
    card, run = card_of(window), window.run
    if card is None or run is None or run.started is None or card.firstBatch != batch or card.firstPlannedMs is None:
        return None
    return card.firstPlannedMs if card.firstPlannedMs < run.started else None


def _unplanned(first: Progress, later: tuple[Progress, ...]) -> bool:
    """Whether a batch neither asked the sources nor wrote the offset log, as a repeated one, while later ones did."""
    parts = first.durationMs
    if "addBatch" not in parts or "walCommit" in parts or ("commitOffsets" not in parts and "getBatch" not in parts):
        return False
    return any("walCommit" in one.durationMs for one in later)


def _both_runs(window: Window) -> list[Evidence]:
    """Name this run and the one before it, as far as they were seen."""
    runs = window.history.runs[-2:]
    if len(runs) < 2:
        return []
    old, new = runs
    ended = f", ended {when(old.ended)}" if old.ended is not None else ""
    started = f", started {when(new.started)}" if new.started is not None else ""
    return [Evidence("run before", f"{old.runId[:8]}{ended}"), Evidence("this run", f"{new.runId[:8]}{started}")]


def _all_slow(window: Window) -> bool:
    """Whether the parts that neither run the batch nor write the checkpoint take long, too."""
    others = (window.usual(f"durationMs.{name}") or 0.0 for name in ("queryPlanning", *DISCOVERY))
    return sum(others) >= window.t.part_least


def _own_name(window: Window) -> str:
    """Return a name for a checkpoint of this query."""
    return "".join(c if c.isalnum() else "_" for c in window.history.name or "this_query")


def _location(path: str) -> str:
    return f'.option("checkpointLocation", {json.dumps(path, ensure_ascii=False)})'
