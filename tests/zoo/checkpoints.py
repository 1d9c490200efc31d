"""Checkpoints that two runs share, that lack files, or that belong to another query."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from tests.helpers import wait_until
from tests.zoo.cage import Cage, NotHere, Steps, fails
from tests.zoo.functions import nothing

OTHER_RUN = """
frame = spark.readStream.schema("value LONG, text STRING").option("maxFilesPerTrigger", 1).json(root + "/in")
writer = frame.writeStream.format("noop").option("checkpointLocation", root + "/checkpoint")
query = writer.start()
query.awaitTermination()
"""


@fails("concurrent-run", "program")
def two_runs_on_one_checkpoint(cage: Cage) -> Steps:
    """A second program runs the same query and commits a batch first; once it is stopped, the query goes on."""
    cage.text_files("a", "b")
    committed = cage.root / "checkpoint" / "commits" / "1"

    def each(frame: Any, batch: int) -> None:
        if batch == 1:
            cage.elsewhere(OTHER_RUN)
            wait_until(committed.exists, what="the other run did nothing")
        nothing(frame, batch)

    yield cage.failed(cage.start(cage.texts(), each=each))
    cage.stop_others()
    cage.text_files("c")
    yield cage.start(cage.texts(), each=nothing)


@fails("concurrent-run", "program")
def same_query_in_one_session(cage: Cage) -> Steps:
    """A second start is refused where it may not stop the first; the pasted lines show the first."""
    cage.conf("spark.sql.streaming.stopActiveRunOnRestart", "false")
    cage.text_files("a")
    first = cage.start(cage.texts())
    first.processAllAvailable()
    answer = yield cage.refused(lambda: cage.start(cage.texts()))
    assert answer.code
    cage.execute(answer.code)
    first.stop()
    cage.text_files("b")
    yield cage.start(cage.texts())


@fails("offset-log-gap", "storage")
def offset_log_with_a_gap(cage: Cage) -> Steps:
    """The offsets before the newest are gone; moving the newest ones aside plans their batches anew."""
    cage.text_files("a", "b", "c")
    cage.run(cage.texts())
    cage.aside("offsets/1")
    cage.text_files("d")
    answer = yield cage.failed(cage.start(cage.texts()))
    assert "offsets/2 (and its .crc) aside" in " ".join(answer.cures)
    for name in ("offsets/2", "commits/2", "commits/1"):
        cage.aside(name)
    yield cage.start(cage.texts())


@fails("checkpoint-not-empty", "storage")
def stopped_while_the_first_offsets_were_written(cage: Cage) -> Steps:
    """The first run left an unfinished file in offsets and nothing else; moved aside, the query begins."""
    cage.since(4, "Spark 3 begins without a look at what is there")
    cage.text_files("a")
    (cage.path("checkpoint/offsets") / ".0.1e1c5a52-4ee5-4e19-8d7a-5b2f8f4d3a10.tmp").write_text("v1\n")
    yield cage.failed(cage.start(cage.texts()))
    (cage.root / "checkpoint" / "offsets").rename(cage.root / "old-offsets")
    yield cage.start(cage.texts())


@fails("concurrent-run", "program")
def newest_offsets_missing(cage: Cage) -> Steps:
    """A batch is committed whose offsets are gone: to Spark the same; its commit moved aside, it is planned anew."""
    cage.text_files("a", "b")
    cage.run(cage.texts())
    cage.aside("offsets/1")
    cage.text_files("c")
    answer = yield cage.failed(cage.start(cage.texts()))
    assert "what is newer in commits aside" in " ".join(answer.cures)
    cage.aside("commits/1")
    yield cage.start(cage.texts())


@fails("checkpoint-file", "storage")
def offsets_cut_off(cage: Cage) -> Steps:
    """The newest file of offsets is empty; moved aside, its batch is planned anew."""
    cage.text_files("a", "b")
    cage.run(cage.texts())
    cage.aside("offsets/1")
    cage.aside("commits/1")
    (cage.root / "checkpoint" / "offsets" / "1").write_text("")
    yield cage.failed(cage.start(cage.texts()))
    cage.aside("offsets/1")
    yield cage.start(cage.texts())


@fails("checkpoint-file", "storage")
def offsets_damaged(cage: Cage) -> Steps:
    """The newest file of offsets was cut in the middle; moved aside, its batch is planned anew."""
    cage.text_files("a", "b")
    cage.run(cage.texts())
    cage.aside("commits/1")
    path = cage.root / "checkpoint" / "offsets" / "1"
    text = path.read_text()
    cage.aside("offsets/1")
    path.write_text(text[: len(text) // 2])
    yield cage.failed(cage.start(cage.texts()))
    cage.aside("offsets/1")
    yield cage.start(cage.texts())


@fails("checkpoint-file", "storage")
def metadata_cut_off(cage: Cage) -> Steps:
    """The file that holds the query's id is empty; written anew with the id, the query goes on as the same."""
    cage.text_files("a")
    first = cage.run(cage.texts())
    metadata = cage.root / "checkpoint" / "metadata"
    cage.aside("metadata")
    metadata.write_text("")
    cage.text_files("b")
    answer = yield cage.failed_or_refused(lambda: cage.start(cage.texts()))
    assert '{"id":"..."}' in " ".join(answer.cures)
    metadata.write_text(f'{{"id":"{first.id}"}}')
    query = cage.start(cage.texts())
    assert query.id == first.id
    yield query


@fails("checkpoint-file", "storage")
def source_log_missing(cage: Cage) -> Steps:
    """The file source's list of a planned batch is gone; its offsets moved aside, it is planned anew."""
    cage.text_files("a", "b")
    cage.run(cage.texts())
    cage.aside("commits/1")
    cage.aside("sources/0/1")
    answer = yield cage.failed(cage.start(cage.texts()))
    assert "If commits lacks the newest batch of offsets" in " ".join(answer.cures)
    cage.aside("offsets/1")
    yield cage.start(cage.texts())


@fails("newer-spark", "spark", incurable="there is no newer Spark here")
def offsets_of_a_newer_spark(cage: Cage) -> Steps:
    """The newest file of offsets has a version that is not known yet."""
    cage.text_files("a", "b")
    cage.run(cage.texts())
    path = cage.root / "checkpoint" / "offsets" / "1"
    text = path.read_text()
    cage.aside("offsets/1")
    cage.aside("commits/1")
    path.write_text(text.replace("v1", "v99", 1))
    yield cage.failed(cage.start(cage.texts()))


@fails("checkpoint-changed", "program")
def source_removed(cage: Cage) -> Steps:
    """A source of a union is taken away; put back, the query goes on."""
    cage.text_files("a")
    cage.path("more")
    both = cage.texts().union(cage.texts("more"))
    cage.run(both)
    cage.text_files("b")
    yield cage.failed(cage.start(cage.texts()))
    yield cage.start(both)


@fails("checkpoint-changed", "program")
def stateful_operator_added(cage: Cage) -> Steps:
    """A deduplication is put before an aggregation; taken back, the query goes on."""
    cage.since(4, "Spark 3 does not compare the operators: see operator-added-without-a-word")
    yield from operator_added(cage)


@fails("state-missing", "state-store")
def operator_added_without_a_word(cage: Cage) -> Steps:
    """The same before Spark 4, which looks for the new operator's state and does not find it."""
    if not cage.version.startswith("3."):
        reason = "Spark 4 compares the operators: see stateful-operator-added"
        raise NotHere(reason)
    yield from operator_added(cage)


def operator_added(cage: Cage) -> Steps:
    """Put a deduplication before an aggregation, and take it back."""
    cage.text_files("a")
    counts = cage.texts().groupBy("text").count()
    cage.run(counts, mode="update")
    cage.text_files("b")
    yield cage.failed(cage.start(cage.texts().dropDuplicates(["value"]).groupBy("text").count(), mode="update"))
    yield cage.start(counts, mode="update")


@fails("checkpoint-changed", "program")
def stateful_operator_of_another_kind(cage: Cage) -> Steps:
    """An aggregation becomes a deduplication; taken back, the query goes on."""
    cage.since(4, "Spark 3 does not compare the operators, and goes on with a wrong state")
    cage.text_files("a")
    counts = cage.texts().groupBy("text").count()
    cage.run(counts, mode="update")
    cage.text_files("b")
    yield cage.failed(cage.start(cage.texts().dropDuplicates(["text"]), mode="update"))
    yield cage.start(counts, mode="update")


@fails("continuous-checkpoint", "program", endless=True)
def continuous_checkpoint(cage: Cage) -> Steps:
    """A continuous query is started with a processing-time trigger; with its own one it goes on."""
    frame = cage.spark.readStream.format("rate").option("rowsPerSecond", 5).load()

    def continuous() -> Any:
        return cage.start(frame, trigger=None, last=lambda writer: writer.trigger(continuous="1 second"))

    query = continuous()
    wait_until((cage.root / "checkpoint" / "commits" / "1").exists)
    query.stop()
    last = cage.newest("commits")
    yield cage.failed(cage.start(frame))
    query = continuous()
    wait_until(lambda: cage.newest("commits") > last)
    yield query


@fails("not-streamable", "program")
def output_mode_that_is_not_supported(cage: Cage) -> Steps:
    """An aggregation without a watermark in append mode; in update mode it runs."""
    cage.text_files("a")
    counts = cage.texts().groupBy("text").count()
    yield cage.refused(lambda: cage.start(counts))
    yield cage.start(counts, mode="update")


@fails("not-streamable", "program")
def sort_of_a_stream(cage: Cage) -> Steps:
    """A streaming frame is sorted; sorted batch by batch, it runs."""
    cage.text_files("a")
    yield cage.refused(lambda: cage.start(cage.texts().orderBy("text")))
    yield cage.start(cage.texts(), each=lambda frame, batch: frame.orderBy("text").collect())


@fails("sink-without-recovery", "program")
def memory_sink_with_an_old_checkpoint(cage: Cage) -> Steps:
    """A memory sink cannot go on from a checkpoint in append mode; without one it runs."""
    cage.text_files("a")
    cage.run(cage.texts(), "memory", last=lambda writer: writer.queryName("zoo"))
    yield cage.refused(lambda: cage.start(cage.texts(), "memory", last=lambda writer: writer.queryName("zoo")))
    yield cage.start(cage.texts(), "memory", checkpoint=None, last=lambda writer: writer.queryName("zoo"))


@fails("not-streamable", "program")
def window_without_time(cage: Cage) -> Steps:
    """row_number over a stream; in foreachBatch it runs."""
    from pyspark.sql import Window

    cage.text_files("a")
    newest = F.row_number().over(Window.partitionBy("text").orderBy("value"))
    yield cage.refused(lambda: cage.start(cage.texts().withColumn("n", newest)))
    yield cage.start(cage.texts(), each=lambda frame, batch: frame.withColumn("n", newest).collect())
