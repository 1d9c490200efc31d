"""Rules about what is lost or left behind: rows, limits, executors, cached batches, tiny files."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.measure import count, gathered, version
from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.diagnosis.rules.recomputation import CODE, offsets
from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.statistics import known, median
from jupyter_streamwatch.text.numbers import exact, number, size
from jupyter_streamwatch.text.spark_names import kind
from jupyter_streamwatch.text.spark_names import source as source_name

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.progress import Progress, SourceProgress

KAFKA = GUIDE + "structured-streaming-kafka-integration.html"
_ROWS = ("maxoffsetspertrigger", "maxrowspertrigger")
_LEAST_SHARE = 0.01  # of the offsets: every transaction leaves a marker among them, which is no row


@rule("rows-lost", "Rows of a source may be missing, and the query was told to go on without them.")
def rows_lost(window: Window, load: Load) -> Hint | None:
    """Raise when a batch read fewer rows than it should, and an option lets rows go by; without one Spark fails."""
    del load
    allowed = {name.lower(): value.strip().lower() for name, value in window.facts.lenient or ()}
    # A function may read less than its batch, and a limit stops when it has enough.
    stateful = window.facts.stateful
    if window.foreach_batch is not False or stateful is None or "globalLimit" in stateful:
        return None
    if allowed.get("failondataloss") == "false":
        hint = _fewer_rows(window)
        if hint is not None:
            return hint
    return _no_rows(window) if allowed.get("ignoremissingfiles") == "true" else None


def _fewer_rows(window: Window) -> Hint | None:
    """Compare the rows of Kafka sources with their offsets, the newest batch first."""
    for record in reversed(window.with_data):
        for source in record.sources if len(record.sources) == 1 else ():  # whose option is it else
            if kind(source.description) != "kafka" or source.numInputRows is None:
                continue
            moved = offsets(source)
            missing = (moved or 0) - source.numInputRows
            if moved is None or missing < max(_LEAST_SHARE * moved, 1):
                continue
            name = source_name(source.description)
            ids = (record.batchId,) if record.batchId is not None else ()
            return Hint(
                code="rows-lost",
                severity="info",
                title=f"A batch read {exact(source.numInputRows)} rows of {name}, {exact(missing)} fewer than its"
                " offsets moved by",
                evidence=(
                    Evidence("numInputRows", source.numInputRows, "rows", ids),
                    Evidence("offsets moved by", moved, "rows", ids),
                    Evidence("failOnDataLoss", "false"),
                ),
                cause="Either retention removed rows before they were read, which failOnDataLoss=false goes on from"
                " without an error, or the topic is compacted or written in transactions: then some of its offsets"
                " never had a row for a reader.",
                fix="Compare with the topic's earliest offset and its cleanup.policy. If rows are removed before they"
                " are read, keep them longer (retention.ms), and let failOnDataLoss=true (the default) stop the query"
                " when it happens.",
                link=KAFKA,
            )
    return None


def _no_rows(window: Window) -> Hint | None:
    """Find a batch of new files that had not one row."""
    for record in reversed(window.with_data):
        files = [one for one in record.sources if kind(one.description) == "files" and one.moved]
        empty = [one for one in files if one.numInputRows == 0]
        if not empty or len(record.sources) > 1:
            continue
        ids = (record.batchId,) if record.batchId is not None else ()
        return Hint(
            code="rows-lost",
            severity="info",
            title=f"A batch took new files of {source_name(empty[0].description)} and read no row",
            evidence=(Evidence("numInputRows", 0, "rows", ids), Evidence("ignoreMissingFiles", "true")),
            cause="Its files were empty, or they were gone when they were read: ignoreMissingFiles skips such files"
            " without an error, and they count as read.",
            fix="Look whether something deletes or moves input files while the query runs. Without ignoreMissingFiles"
            " the query stops instead.",
            link=API + "#input-sources",
        )
    return None


@rule("limit-ignored", "The trigger reads everything in one batch, whatever the rate limit says.")
def limit_ignored(window: Window, load: Load) -> Hint | None:
    """Raise for the trigger once with a limit; a warning only when the batch is known to have taken more."""
    del load
    limits = window.facts.rateLimit
    if window.trigger is None or window.trigger.kind != "once" or not limits:
        return None
    name, value = limits[0]
    rows = [record.numInputRows for record in window.with_data if record.numInputRows is not None]
    bound = v.count(value) if len(limits) == 1 and name.lower() in _ROWS else None
    over = bound is not None and bool(rows) and rows[-1] > bound
    spark = version(window)
    old = spark is not None and spark < (3, 3)
    return Hint(
        code="limit-ignored",
        severity="warning" if over else "info",
        title=f"{name} {value} has no effect: trigger(once=True) takes everything in one batch",
        evidence=gathered(
            Evidence(name, value),
            Evidence("trigger", "once"),
            Evidence("numInputRows", rows[-1], "rows") if rows else None,
        ),
        cause="This trigger runs one batch with all that is there; Spark leaves out the limits of the sources.",
        fix="Run it with a processing-time trigger and stop it when nothing waits, or upgrade to Spark 3.3, whose"
        " trigger availableNow keeps the limits."
        if old
        else "Use the trigger availableNow: it also ends when it has taken what is there, in as many batches as the"
        " limits ask for.",
        code_fix=None if old else ".trigger(availableNow=True)",
        link=API + "#triggers",
    )


@rule("cache-not-released", "Each batch leaves cached data behind.")
def cache_not_released(window: Window, load: Load) -> Hint | None:
    """Raise when the session has more cached data after each batch of a foreachBatch function than after the last."""
    if not window.foreach_batch:
        return None
    held = known(window.recent("tasks.cachedRdds"))
    if len(held) < window.t.min_trend:
        return None
    steps = [after - before for before, after in pairwise(held)]
    if min(steps) < 1:
        return None
    each = median(steps) or 0.0
    return Hint(
        code="cache-not-released",
        severity="warning" if load.pressed else "info",
        title=f"{number(held[-1])} cached datasets are held, {number(each)} more after each batch",
        evidence=(Evidence("tasks.cachedRdds", held[-1], "", window.evidence()),),
        cause="The foreachBatch function, or other code of this session that runs as often, persists data and does not"
        " release it. It fills the executors' memory, is then written to disk, and slows all that runs there.",
        fix="Release what a batch persists at the end of the function, also when it fails.",
        code_fix=CODE,
        link=API + "#foreachbatch",
    )


@rule("executor-lost", "Attempts of tasks failed, by a lost executor or an error.")
def executor_lost(window: Window, load: Load) -> Hint | None:
    """Raise when task attempts of the last batches failed although the batches ended."""
    failed, ids = window.column("tasks.failed"), window.column("batchId")
    most = int(window.t.recent)
    where = [
        (int(batch), attempts)
        for batch, attempts in zip(ids[-most:], failed[-most:], strict=True)
        if attempts > 0 and batch >= 0
    ]
    if not where:
        return None
    total = sum(attempts for _, attempts in where)
    batches = tuple(batch for batch, _ in where)
    again = len(where) >= window.t.min_batches
    return Hint(
        code="executor-lost",
        severity="warning" if again and load.pressed else "info",
        title=f"{count(total, 'task attempt')} of {count(len(where), 'batch', 'es')} failed",
        evidence=(Evidence("tasks.failed", total, "", batches),),
        cause="An executor was lost (out of memory, taken away by the cluster), or the code of the task raised an"
        " error. Spark runs such a task again, up to spark.task.maxFailures times, and the batch waits for it.",
        fix="Look in the Spark UI for the errors of the failed tasks, and under Executors for dead ones and why they"
        " ended. With too little memory give executors more (spark.executor.memory, spark.executor.memoryOverhead for"
        " Python).",
        link="https://spark.apache.org/docs/latest/monitoring.html",
    )


@rule("small-files", "A source has very many small files.")
def small_files(window: Window, load: Load) -> Hint | None:
    """Raise when a source says how many files wait and how large they are: many, and tiny on the average."""
    record = window.records[-1] if window.records else None
    for source in record.sources if record is not None else ():
        waiting = _waiting_files(source)
        if record is None or waiting is None:
            continue
        files, total = waiting
        if files < window.t.small_files or total / files >= window.t.small_file:
            continue
        name = source_name(source.description)
        ids = _ids(record)
        return Hint(
            code="small-files",
            severity="warning" if load.pressed else "info",
            title=f"{number(files)} files of {name} wait, {size(total / files)} each on the average",
            evidence=(
                Evidence("numFilesOutstanding", files, "", ids),
                Evidence("numBytesOutstanding", total, "bytes", ids),
            ),
            cause="Listing and opening a file takes as long as reading megabytes of it, so many tiny ones cost more"
            " than their rows.",
            fix="Let what writes them write fewer and larger files (a longer trigger interval, fewer partitions)."
            + (
                " OPTIMIZE helps readers that start later: its rewritten files are no new rows for this query."
                if kind(source.description) == "delta"
                else ""
            ),
            link=API + "#input-sources",
        )
    return None


def _waiting_files(source: SourceProgress) -> tuple[float, float] | None:
    """Return how many files wait and their bytes; None where the source does not tell both."""
    files, total = source.metrics.get("numFilesOutstanding"), source.metrics.get("numBytesOutstanding")
    if not isinstance(files, (int, float)) or not isinstance(total, (int, float)) or files <= 0 or total <= 0:
        return None
    return float(files), float(total)


def _ids(record: Progress) -> tuple[int, ...]:
    return () if record.batchId is None else (record.batchId,)
