"""What a sink does with a batch that comes again: the file sink and Delta skip it, others do not.

From Spark's guide (fault-tolerance semantics of sinks) and its sources: ``FileStreamSink.addBatch`` skips a batch that
``_spark_metadata`` has, Delta's sink one whose ``txn`` of the query's id it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from jupyter_streamwatch.text.numbers import clean

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints.known import Known
    from jupyter_streamwatch.checkpoints.parts import KnownSink

Safe = Literal["yes", "no", "depends"]


class Verdict(NamedTuple):
    """Whether a sink keeps the result exactly-once; the sentence that says so, and code that makes it so."""

    safe: Safe | None
    sentence: str
    code: str | None = None


_UNKNOWN = (
    "The checkpoint does not say which sink the query has. Exactly-once needs one that skips or overwrites a batch id"
    " that it already has: the file sink and Delta do, foreachBatch does if its function does, Kafka and foreach get"
    " the rows twice, memory and console keep nothing."
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


_SINKS = {
    "file": Verdict(
        "yes",
        "The file sink keeps it exactly-once: its _spark_metadata knows the batches that it has, and it skips those."
        " Readers must go through that log, as Spark does.",
    ),
    "delta": Verdict(
        "yes",
        "The Delta sink keeps it exactly-once: it writes the query's id and the batch id (txnAppId, txnVersion)"
        " with the rows, and skips a batch that it has.",
    ),
    "foreachbatch": Verdict(
        "depends",
        "foreachBatch is called with batch_id {batch} again: a plain append writes the rows a second time; it is"
        " exactly-once only if the function skips or overwrites a batch id that it has written.",
        _FOREACH_BATCH,
    ),
    "foreach": Verdict(
        "no",
        "The foreach writer is at-least-once: it gets the rows again, with epoch id {batch}; it must skip what it has"
        " written.",
        _FOREACH,
    ),
    "kafka": Verdict(
        "no",
        "The Kafka sink is at-least-once: rows that it already has are written again; put a unique key into each"
        " row and let the readers drop what they know.",
    ),
    "memory": Verdict(
        "no", "The memory sink is not fault-tolerant: its table starts empty; it is for trying things out."
    ),
    "console": Verdict("no", "The console sink is not fault-tolerant: it only prints; it is for trying things out."),
    "noop": Verdict("yes", "The noop sink writes nothing, so nothing can come twice."),
}
_SINKS["files"] = _SINKS["file"]


def refuses(known: Known) -> bool:
    """Whether Spark refuses to start the sink on a checkpoint with offsets: memory, but in complete mode."""
    memory = known.sink is not None and known.sink.kind.lower() == "memory"
    return memory and known.outputMode not in (None, "complete")


def verdict(sink: KnownSink | None, batchId: int, id: str | None) -> Verdict:
    """Say what becomes of a batch that the sink may already have.

    Args:
        sink: the sink, None when it is not known.
        batchId: the batch.
        id: the query's id, for the code.
    """
    if sink is None:
        return Verdict(None, _UNKNOWN)
    found = _SINKS.get(sink.kind.lower())
    if found is None:
        return Verdict(
            None,
            f"Whether the sink ({clean(sink.kind)[:100]}) skips a batch id that it already has is not known here;"
            " exactly-once needs that.",
        )
    code = found.code.format(app=id or "<name of this checkpoint>") if found.code else None
    return Verdict(found.safe, found.sentence.format(batch=batchId), code)
