"""Checkpoints of queries that read a real Kafka topic: offsets, the next start, and changes of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jupyter_streamwatch as sw

if TYPE_CHECKING:
    from tests.kafka.conftest import KafkaBench


def opened(bench: KafkaBench) -> Any:
    return sw.checkpoint(bench.root / "checkpoint", bench.spark)


def said(changes: Any) -> dict[str, str]:
    return {one.what: one.verdict for one in changes}


def test_the_next_start_goes_on_where_the_topic_was_left(bench: KafkaBench) -> None:
    """Offsets by topic and partition; the broker says whether they are still there, and what retention took."""
    topic = bench.broker.topic("kept", 3)
    bench.broker.send(topic, range(90))
    query = bench.start(bench.topic(topic))
    bench.wait_for(query, 1)
    query.stop()
    checkpoint = opened(bench)
    at = {topic: {"0": 30, "1": 30, "2": 30}}
    assert [(one.kind, one.value) for one in checkpoint.offsets[0].sources] == [("kafka", at)]
    plan = checkpoint.restart()
    assert (plan.batchId, plan.replay) == (1, False)
    assert (plan.sources[0]["from"], plan.sources[0].to) == (at, None)
    assert plan.sources[0].replayable is True, plan
    bench.broker.send(topic, range(90))
    bench.broker.forget(topic, 40)
    plan = opened(bench).restart()
    assert plan.sources[0].replayable is False
    assert "kept 0 begins at 40, not at 30" in str(plan)
    bench.broker.delete(topic)
    assert "there is no topic kept" in str(opened(bench).restart())


def test_a_batch_that_is_run_again_names_its_range(bench: KafkaBench) -> None:
    """A crash between sink and commit: the batch comes again, over exactly these offsets."""
    topic = bench.broker.topic("again", 2)

    def crash(frame: Any, batch: int) -> None:
        frame.write.format("noop").mode("overwrite").save()
        if batch == 1:
            raise ConnectionError("the machine went away")

    query = bench.rounds(bench.start(bench.topic(topic), each=crash), topic, 100, 1)
    bench.broker.send(topic, range(60))
    bench.until(query, lambda: not query.isActive)
    plan = opened(bench).restart()
    assert (plan.batchId, plan.replay) == (1, True)
    assert plan.sources[0]["from"] == {topic: {"0": 50, "1": 50}}
    assert plan.sources[0].to == {topic: {"0": 80, "1": 80}}
    assert plan.sources[0].replayable is True
    assert (plan.sink, plan.sinkSafe) == ("foreachBatch", "depends")


def test_changes_of_the_topic_and_of_the_limit(bench: KafkaBench) -> None:
    """A topic that is added or replaced, and another limit, by the rules of Spark's guide."""
    topic, other = bench.broker.topic("now-read"), bench.broker.topic("not-read")
    query = bench.rounds(bench.start(bench.topic(topic, maxOffsetsPerTrigger=100)), topic, 50, 1)
    query.stop()
    checkpoint = opened(bench)
    assert not list(checkpoint.compare(bench.topic(topic, maxOffsetsPerTrigger=100)))
    more = checkpoint.compare(bench.topic(topic, maxOffsetsPerTrigger=500))
    assert said(more) == {"rate-limit": "allowed"}
    replaced = said(checkpoint.compare(bench.topic(other, maxOffsetsPerTrigger=100)))
    writer = bench.topic(topic, maxOffsetsPerTrigger=100).writeStream.format("parquet").option("path", "/data/out")
    assert "sink" in said(checkpoint.compare(writer))
    bench.broker.send(other, range(50))
    query = bench.start(bench.topic(other, maxOffsetsPerTrigger=100))
    bench.until(query, lambda: not query.isActive or bench.done(query))
    assert replaced == {"sources": "silently-wrong" if query.isActive else "not-allowed"}, query.exception()
