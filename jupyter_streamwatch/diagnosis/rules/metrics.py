"""Rules about the numbers themselves: missing, wrong, or not to be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.measure import count
from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.text.numbers import duration
from jupyter_streamwatch.text.spark_names import source as source_name

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window

MONITORING = API + "#monitoring-streaming-queries"


@rule("no-progress-mode", "Spark reports no progress in this trigger mode, or only once in a long while.")
def no_progress_mode(window: Window, load: Load) -> Hint | None:
    """Say that a continuous query sends no progress, and when the first one of a real-time query comes."""
    del load
    trigger = window.trigger
    if trigger is None or trigger.kind not in ("continuous", "realTime") or window.rows:
        return None
    if trigger.kind == "realTime":
        every = f"after {duration(trigger.interval_ms)}" if trigger.interval_ms else "minutes after its start"
        return Hint(
            code="no-progress-mode",
            severity="info",
            title=f"Real-time mode reports its first progress {every}",
            evidence=(Evidence("trigger", trigger.kind),),
            cause="Its batches last as long as the trigger says. Each reports rows, rates and offsets when it ends;"
            " rows are written all the time.",
            fix="Wait for the end of the first batch. How late rows are is measured at the sink.",
            link=GUIDE + "real-time-mode.html",
        )
    return Hint(
        code="no-progress-mode",
        severity="info",
        title="Spark reports no progress in continuous mode",
        evidence=(Evidence("trigger", trigger.kind),),
        cause="A continuous query has no micro-batches, so there are no batch times, rates or offsets to show; its"
        " start, its status and its end are known.",
        fix="Measure at the sink, or run a copy of the query with a processing-time trigger and a checkpoint of its"
        " own: it does not run on one of continuous mode.",
        link=GUIDE + "performance-tips.html",
    )


@rule("missed-progress", "Batches are missing in what was received.")
def missed_progress(window: Window, load: Load) -> Hint | None:
    """Say how many batches of the latest run are not there."""
    del load
    run = window.run
    if run is None or run.firstBatch is None or run.lastBatch is None or not window.history.gaps:
        return None
    # Batch ids go on over runs of a query, so what lies within this run's ids is of this run.
    gaps = [gap for gap in window.history.gaps if gap[0] >= run.firstBatch and gap[1] <= run.lastBatch]
    missing = sum(after - before - 1 for before, after in gaps)
    if not missing:
        return None
    return Hint(
        code="missed-progress",
        severity="info",
        title=f"{count(missing, 'batch', 'es')} {'is' if missing == 1 else 'are'} missing between batch"
        f" {gaps[0][0]} and batch {gaps[-1][1]}",
        evidence=(Evidence("missing batches", missing, "", tuple(one for gap in gaps[-10:] for one in gap)),),
        cause="Their progress was not received: the log was cut, the listener was attached later, or events were"
        " dropped.",
        fix="Nothing is wrong with the query; rates and trends over the gap are left out.",
        link=MONITORING,
    )


@rule("metric-unreliable", "A metric is known to be wrong.")
def metric_unreliable(window: Window, load: Load) -> Hint | None:
    """Say that a source's own metrics contradict its offsets, or that RocksDB's memory is not reported."""
    del load
    last = window.ran[-1] if window.ran else None
    if last is None:
        return None
    ids = (last.batchId,) if last.batchId is not None else ()
    for one in last.sources:
        behind = one.metrics.get("maxOffsetsBehindLatest")
        if behind == 0 and (one.backlog or 0) > 0:
            return Hint(
                code="metric-unreliable",
                severity="info",
                title=f"{source_name(one.description)} says that nothing waits, but its offsets say"
                f" {count(one.backlog, 'row')}",
                evidence=(
                    Evidence("maxOffsetsBehindLatest", 0, "rows", ids),
                    Evidence("latestOffset - endOffset", one.backlog or 0, "rows", ids),
                ),
                cause="Some versions of the Kafka connector compare with the offsets that the batch itself asked for.",
                fix="Go by the offsets; the backlog shown here does.",
                link=GUIDE + "structured-streaming-kafka-integration.html",
            )
    for operator in last.stateOperators:
        rocksdb = any(name.startswith("rocksdb") for name in operator.customMetrics)
        if rocksdb and operator.memoryUsedBytes is None and operator.numRowsTotal:
            return Hint(
                code="metric-unreliable",
                severity="info",
                title="The memory of the RocksDB state is not reported",
                evidence=(Evidence("numRowsTotal", operator.numRowsTotal, "rows", ids),),
                cause="Some versions of Spark report 0 bytes for RocksDB state that has rows.",
                fix="Look at the memory of the executors' processes instead: RocksDB lives outside the JVM's heap.",
                link=API + "#rocksdb-state-store-implementation",
            )
    return None
