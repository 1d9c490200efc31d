"""What the monitor says of queries that read a real Kafka topic, and write to one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.faults.bench import slowly

if TYPE_CHECKING:
    from tests.kafka.conftest import KafkaBench

HASH = re.compile(r"@[0-9a-f]{5,8}\b")


def codes(diagnosis: Any, *severities: str) -> list[str]:
    return [hint.code for hint in diagnosis.hints if not severities or hint.severity in severities]


def hint(diagnosis: Any, code: str) -> Any:
    return next(one for one in diagnosis.hints if one.code == code)


def kind_of_failure(diagnosis: Any) -> str:
    assert diagnosis.verdict == "failed"
    assert codes(diagnosis)[0] == "query-failed"
    return str(next(one.value for one in diagnosis.hints[0].evidence if one.name == "kind"))


def test_progress_is_read_to_the_digit(bench: KafkaBench, tmp_path: Any) -> None:
    """Offsets, rows and metrics equal Spark's own; backlog is latest minus end, summed; names are readable."""
    topic, out = bench.broker.topic("orders", 3), bench.broker.topic("enriched")
    bench.broker.send(topic, range(1001))
    frame = bench.topic(topic, maxOffsetsPerTrigger=100).selectExpr("value")
    query = bench.start(frame, "kafka", trigger=5, **{"kafka.bootstrap.servers": bench.broker.address, "topic": out})
    bench.wait_for(query, 4)
    query.stop()
    history = bench.history(query)
    ours = {one.batchId: one for one in bench.watch.recording().progress if one.kind == "data"}
    theirs = [json.loads(one.json) for one in query.recentProgress]
    assert len(ours) >= 4
    for sent in theirs:
        if not sent["numInputRows"]:
            continue
        got, source = ours[sent["batchId"]], sent["sources"][0]
        assert got.numInputRows == sent["numInputRows"]
        assert got.sink.numOutputRows == sent["sink"]["numOutputRows"] == sent["numInputRows"]
        assert got.durationMs == sent["durationMs"]
        assert got.sources[0].startOffset == source["startOffset"]
        assert got.sources[0].endOffset == source["endOffset"]
        assert got.sources[0].metrics == {name: float(value) for name, value in source["metrics"].items()}
        end = source["endOffset"][topic]
        left = [latest - end[partition] for partition, latest in source["latestOffset"][topic].items()]
        assert got.backlog == sum(left)
        assert max(left) == got.sources[0].metrics["maxOffsetsBehindLatest"]
    assert history.batches.numbers("backlog").tolist()[0] == 1001 - ours[0].numInputRows
    assert history.facts.sources == ("Kafka orders",)
    assert history.facts.sink == "Kafka"
    report = tmp_path / "report.md"
    bench.watch.report(report, str(query.id))
    text = report.read_text()
    assert "Kafka orders" in text
    assert not HASH.search(text), HASH.search(text)
    bench.keep(query, "kafka-to-kafka")


def test_a_limit_below_the_arrival_rate_is_named_and_its_fix_works(bench: KafkaBench) -> None:
    """The backlog grows while time is left: falling behind because of the limit; raised as told, it keeps up."""
    topic = bench.broker.topic("below")
    query = bench.rounds(bench.start(bench.topic(topic, maxOffsetsPerTrigger=100), trigger=2), topic, 300, 8)
    diagnosis = bench.diagnose(query)
    assert diagnosis.verdict == "falling-behind"
    assert codes(diagnosis)[0] == "rate-limit-reached"
    reached = hint(diagnosis, "rate-limit-reached")
    assert reached.severity == "warning"
    bench.keep(query, "limit-below-arrivals")
    query.stop()
    bench.code = reached.code_fix
    mended = bench.start(bench.topic(topic), trigger=2)
    bench.rounds(mended, topic, 300, 15)
    diagnosis = bench.diagnose(mended)
    assert diagnosis.verdict == "keeping-up"
    assert not codes(diagnosis, "warning", "critical")
    bench.keep(mended, "limit-raised")


def test_a_limit_with_room_is_left_in_peace(bench: KafkaBench) -> None:
    """Batches below their limit: keeping up, no warning, no word about the limit."""
    topic = bench.broker.topic("room")
    query = bench.rounds(bench.start(bench.topic(topic, maxOffsetsPerTrigger=1000), trigger=2), topic, 200, 7)
    diagnosis = bench.diagnose(query)
    assert diagnosis.verdict == "keeping-up"
    assert not codes(diagnosis, "warning", "critical")
    assert "rate-limit-reached" not in codes(diagnosis)
    bench.keep(query, "limit-with-room")


def test_no_limit_and_a_backlog(bench: KafkaBench) -> None:
    """The first batch takes all that waited; with the limit that the hint computes, batches end within the interval."""
    topic = bench.broker.topic("unlimited")
    bench.broker.send(topic, range(5000))

    def start(frame: Any, checkpoint: str) -> Any:
        frame = frame.selectExpr("CAST(CAST(value AS STRING) AS LONG) AS value").select(slowly(4)("value"))
        return bench.start(frame, trigger=2, checkpoint=checkpoint)

    query = start(bench.topic(topic), "first")
    bench.wait_for(query, 1)
    bench.rounds(query, topic, 20, 5)
    diagnosis = bench.diagnose(query)
    assert codes(diagnosis)[0] == "no-rate-limit"
    bench.keep(query, "no-limit")
    query.stop()
    bench.code = hint(diagnosis, "no-rate-limit").code_fix
    mended = start(bench.topic(topic), "second")
    bench.wait_for(mended, 6)
    diagnosis = bench.diagnose(mended)
    assert diagnosis.verdict == "catching-up"
    assert not codes(diagnosis, "warning", "critical")
    bench.keep(mended, "limit-added")


def test_available_now_with_a_backlog_finishes(bench: KafkaBench) -> None:
    """A run that works through what waits, in limited batches, is finished and nothing is wrong."""
    topic = bench.broker.topic("now")
    bench.broker.send(topic, range(1000))
    frame = bench.topic(topic, maxOffsetsPerTrigger=150)
    query = bench.start(frame, trigger=None, last=lambda writer: writer.trigger(availableNow=True))
    bench.until(query, lambda: not query.isActive)
    diagnosis = bench.diagnose(query)
    assert diagnosis.verdict == "finished"
    assert not codes(diagnosis, "warning", "critical")
    assert bench.history(query).batches.numbers("backlog")[-1] == 0
    bench.keep(query, "available-now")


def test_rows_that_retention_deleted(bench: KafkaBench) -> None:
    """Rows that the checkpoint points at are gone: the query failed, and it was loss of data."""
    topic = bench.broker.topic("retention")
    bench.broker.send(topic, range(100))
    query = bench.start(bench.topic(topic))
    bench.wait_for(query, 1)
    query.stop()
    bench.broker.send(topic, range(100))
    bench.broker.forget(topic, 80)
    query = bench.start(bench.topic(topic))
    bench.until(query, lambda: not query.isActive)
    diagnosis = bench.diagnose(query)
    assert kind_of_failure(diagnosis) == "data-loss"
    bench.keep(query, "rows-deleted")
    bench.code = diagnosis.hints[0].code_fix
    mended = bench.start(bench.topic(topic))
    bench.wait_for(mended, 1)
    bench.rounds(mended, topic, 20, 3)
    assert bench.diagnose(mended).verdict in ("keeping-up", "running", "idle")


def test_a_topic_that_was_deleted_and_made_again(bench: KafkaBench) -> None:
    """Deleted while it is read: the topic is missing. Made again: what the checkpoint points at is lost."""
    topic = bench.broker.topic("deleted")
    bench.broker.send(topic, range(100))
    query = bench.start(bench.topic(topic))
    bench.wait_for(query, 1)
    bench.broker.delete(topic)
    bench.until(query, lambda: not query.isActive)
    assert kind_of_failure(bench.diagnose(query)) == "topic-missing"
    bench.keep(query, "topic-deleted")
    bench.broker.topic(topic)
    query = bench.start(bench.topic(topic))
    bench.until(query, lambda: not query.isActive)
    assert kind_of_failure(bench.diagnose(query)) == "data-loss"
    bench.keep(query, "topic-made-again")


def test_a_restart_with_a_backlog_catches_up(bench: KafkaBench) -> None:
    """What waited while the query was stopped shrinks: catching up, with the time it still takes."""
    topic = bench.broker.topic("restart")
    query = bench.rounds(bench.start(bench.topic(topic, maxOffsetsPerTrigger=500), trigger=2), topic, 50, 2)
    query.stop()
    bench.broker.send(topic, range(8000))
    query = bench.start(bench.topic(topic, maxOffsetsPerTrigger=500), trigger=2)
    bench.rounds(query, topic, 50, 7)
    diagnosis = bench.diagnose(query)
    assert diagnosis.verdict == "catching-up"
    assert not codes(diagnosis, "warning", "critical")
    bench.keep(query, "restart")


def test_batches_slower_than_rows_arrive(bench: KafkaBench) -> None:
    """A slow function and a backlog that grows: falling behind, and the function is the reason."""
    topic = bench.broker.topic("slow")
    frame = bench.topic(topic, maxOffsetsPerTrigger=600).selectExpr("CAST(CAST(value AS STRING) AS LONG) AS value")
    query = bench.start(frame.select(slowly(5)("value").alias("value")), trigger=1)
    bench.rounds(query, topic, 1000, 8)
    diagnosis = bench.diagnose(query)
    assert diagnosis.verdict == "falling-behind"
    assert codes(diagnosis)[0] == "slow-user-code"
    bench.keep(query, "slow-function")
