"""Rules about what is delivered how often: said once and calmly, from what the sink and the sources are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.text.spark_names import kind
from jupyter_streamwatch.text.spark_names import source as source_name

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window


class _Sink(NamedTuple):
    """What a sink does with a repeated batch."""

    title: str
    cause: str
    fix: str
    code: str | None = None


_SINKS = {
    "kafka": _Sink(
        "Kafka gets rows of a repeated batch twice",
        "Spark's Kafka sink is at-least-once: after a failure it writes the batch again.",
        "Put a unique key into each row and let the readers drop what they know.",
    ),
    "foreach": _Sink(
        "The foreach writer gets rows of a repeated batch twice",
        "After a failure Spark runs the batch again with the same epoch id.",
        "Write so that a second time changes nothing: skip (partition_id, epoch_id) pairs that are done, or upsert"
        " by key.",
    ),
    "foreachBatch": _Sink(
        "foreachBatch is as safe against repeated batches as its function",
        "After a failure Spark calls the function again with the same batch_id and, for a deterministic query, the"
        " same rows.",
        "Write so that a second time changes nothing: upsert by key, overwrite a partition by batch_id, or let"
        " Delta skip"
        " what it has.",
        '.option("txnAppId", "<name of this checkpoint>").option("txnVersion", batch_id)  # a Delta write',
    ),
}
_SOURCES = {
    "socket": "The socket source keeps nothing: rows that were read before a failure cannot be read again.",
    "memory": "The memory source lives in this process: after a restart its rows are gone.",
}


@rule("sink-not-idempotent", "The sink may get rows of a repeated batch twice.")
def sink_not_idempotent(window: Window, load: Load) -> Hint | None:
    """Say what the sink does with a repeated batch, when it does not skip it by itself."""
    del load
    found = _SINKS.get(window.sink_kind or "")
    if found is None:
        return None
    return Hint(
        code="sink-not-idempotent",
        severity="info",
        title=found.title,
        evidence=(Evidence("sink", window.sink_kind or ""),),
        cause=found.cause,
        fix=found.fix,
        code_fix=found.code,
        link=GUIDE + "structured-streaming-kafka-integration.html"
        if window.sink_kind == "kafka"
        else API + "#output-sinks",
    )


@rule("source-not-replayable", "Rows of the source cannot be read again after a failure.")
def source_not_replayable(window: Window, load: Load) -> Hint | None:
    """Say that a source cannot repeat a batch."""
    del load
    last = window.last
    for one in last.sources if last is not None else ():
        cause = _SOURCES.get(kind(one.description) or "")
        if cause is not None:
            return Hint(
                code="source-not-replayable",
                severity="info",
                title=f"Rows of {source_name(one.description)} cannot be read again after a failure",
                evidence=(Evidence("source", kind(one.description) or ""),),
                cause=cause,
                fix="Use it for trying things out; for data that matters read from Kafka, files or a table.",
                link=API + "#input-sources",
            )
    return None
