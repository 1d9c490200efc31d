"""What a sink does with a batch that comes again: the file sink and Delta skip it, others do not.

From Spark's guide (fault-tolerance semantics of sinks) and its sources: ``FileStreamSink.addBatch`` skips a batch that
``_spark_metadata`` has, Delta's sink one whose ``txn`` of the query's id it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints.model import KnownSink

Safe = Literal["yes", "no", "depends"]


class Verdict(NamedTuple):
    """Whether a sink keeps the result exactly-once; the sentence that says so, and code that makes it so."""

    safe: Safe | None
    sentence: str
    code: str | None = None


_UNKNOWN = (
    "Exactly-once needs a sink that skips or overwrites a batch id that it already has: the file sink and Delta do,"
    " foreachBatch does if its function does, Kafka and foreach get the rows twice, memory and console keep nothing."
    " The checkpoint does not say which sink the query has."
)
_FOREACH_BATCH = """\
def write_batch(batch_df, batch_id):
    (batch_df.write.format("delta").mode("append")
        .option("txnAppId", {app!r})  # stable for this checkpoint
        .option("txnVersion", batch_id)  # a batch that comes again is skipped
        .save(target_path))

# without Delta: each batch has a folder of its own, which is written anew when the batch comes again
def write_batch(batch_df, batch_id):
    batch_df.write.mode("overwrite").parquet(f"{{target_path}}/batch_id={{batch_id}}")"""
_FOREACH = """\
def open(self, partition_id, epoch_id):
    return not self.has_written(partition_id, epoch_id)  # False: the rows of this partition are skipped"""


def verdict(sink: KnownSink | None, batchId: int, id: str | None) -> Verdict:
    """Say what becomes of a batch that the sink may already have.

    Args:
        sink: the sink, None when it is not known.
        batchId: the batch.
        id: the query's id, for the code.
    """
    kind = (sink.kind if sink is not None else "").lower()
    if kind in ("file", "files"):
        return Verdict(
            "yes",
            "The file sink keeps it exactly-once: its _spark_metadata knows the batches that it has, and it skips those."
            " Readers must go through that log, as Spark does.",
        )
    if kind == "delta":
        return Verdict(
            "yes",
            "The Delta sink keeps it exactly-once: it writes the query's id and the batch id (txnAppId, txnVersion)"
            " with the rows, and skips a batch that it has.",
        )
    if kind == "foreachbatch":
        return Verdict(
            "depends",
            f"foreachBatch is called with batch_id {batchId} again: a plain append writes the rows a second time; it is"
            " exactly-once only if the function skips or overwrites a batch id that it has written.",
            _FOREACH_BATCH.format(app=id or "<name of this checkpoint>"),
        )
    if kind == "foreach":
        return Verdict(
            "no",
            f"The foreach writer is at-least-once: it gets the rows again, with epoch id {batchId}; it must skip what"
            " it has written.",
            _FOREACH,
        )
    if kind == "kafka":
        return Verdict(
            "no",
            "The Kafka sink is at-least-once: rows that it already has are written again; put a unique key into each"
            " row and let the readers drop what they know.",
        )
    if kind in ("memory", "console"):
        keeps = "its table starts empty" if kind == "memory" else "it only prints"
        return Verdict("no", f"The {kind} sink is not fault-tolerant: {keeps}; it is for trying things out.")
    if kind == "noop":
        return Verdict("yes", "The noop sink writes nothing, so nothing can come twice.")
    if kind:
        return Verdict(
            None,
            f"Whether the sink ({kind}) skips a batch id that it already has is not known here; exactly-once needs"
            " that.",
        )
    return Verdict(None, _UNKNOWN)
