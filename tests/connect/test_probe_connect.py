"""What is learned of a query through Spark Connect: from its explained plan and its progress, nothing guessed."""

from __future__ import annotations

import os
import signal

import pytest

from jupyter_streamwatch.spark import probe
from tests.helpers import wait_until

pytest.importorskip("grpc")


def rate(session):
    return session.readStream.format("rate").option("rowsPerSecond", 5).load()


def with_progress(query):
    wait_until(lambda: query.lastProgress, 120, "a batch")
    return query


def test_before_the_first_batch_the_plan_is_unknown(connect):
    """Connect shows no plan before the first batch, and never the trigger: unknown, each with its reason."""
    from pyspark.sql import functions as F

    sleepy = rate(connect).groupBy(F.expr("value")).count()
    query = sleepy.writeStream.outputMode("update").format("noop").trigger(processingTime="1 second").start()
    facts = probe.facts(connect, query)
    assert facts.mode == "connect"
    assert facts.trigger is None
    assert "stated" in facts.why["trigger"]
    if facts.stateful is None:
        assert set(facts.why) >= {"watermarks", "stateful", "pythonUdf", "checkpoint", "outputMode"}
    query.stop()


def test_a_windowed_count_is_explained(connect):
    """Watermark, operator, partitions, mode and checkpoint come from the plan; sink and sources from progress."""
    from pyspark.sql import functions as F

    marked = rate(connect).withWatermark("timestamp", "90 seconds")
    frame = marked.groupBy(F.window("timestamp", "5 seconds")).count()
    query = with_progress(frame.writeStream.outputMode("update").format("noop").queryName("windowed").start())
    facts = probe.facts(connect, query)
    assert facts.watermarks == (("timestamp", 90_000.0),)
    assert facts.stateful == ("stateStoreSave",)
    assert (facts.shufflePartitions, facts.sessionPartitions) == (2, 2)
    assert facts.outputMode == "update"
    assert facts.temporaryCheckpoint is True
    assert facts.checkpoint.startswith("/")
    assert facts.pythonUdf is False
    assert (facts.sink, facts.sinkKind, facts.foreachBatch) == ("noop", "noop", False)
    assert facts.sources == ("rate 5/s",)
    assert facts.sparkVersion == connect.version
    assert facts.rateLimit is None
    assert set(facts.why) == {"trigger", "rateLimit"}
    assert ("windowed", str(query.runId)) in {(name, runId) for _, runId, name, _ in probe.active(connect)}
    assert probe.status(query).message
    assert probe.running(connect, str(query.runId)) is None
    assert probe.tasks(connect, str(query.runId), 0) == {}
    assert probe.environment(connect)["Session"] == "Connect"
    query.stop()


def test_explaining_prints_nothing(connect, capsys):
    """Asking for the plan writes nothing into somebody's cell."""
    query = with_progress(rate(connect).dropDuplicates(["value"]).writeStream.format("noop").start())
    facts = probe.facts(connect, query)
    assert facts.stateful == ("dedupe",)
    assert facts.watermarks == ()
    assert capsys.readouterr().out == ""
    query.stop()


def test_a_batch_that_takes_its_time_is_seen_running(connect):
    """Nothing tells of its tasks, but Spark's status tells that it runs, and for how long it has been seen to."""

    def linger(frame, batch):
        import time

        time.sleep(8)

    query = rate(connect).writeStream.foreachBatch(linger).trigger(processingTime="10 seconds").start()
    runId = str(query.runId)

    def look(before=None):
        return probe.by_status(probe.status(query), runId, 0, before)

    begun = wait_until(look, 60, "the batch")
    later = wait_until(lambda: (seen := look(begun)) and seen.seen > begun.seen + 1_000 and seen, 10, "a later look")
    assert (later.runId, later.batchId, later.started) == (runId, 0, begun.seen)
    assert (later.jobs, later.tasksTotal, later.tasksRunning) == (None, None, None)
    wait_until(lambda: look(begun) is None, 30, "its end")
    query.stop()


def test_a_server_that_is_away_answers_unknown(connect):
    """While the server does not answer, who asks waits for the time given, and learns nothing."""
    from pyspark import SparkContext

    from jupyter_streamwatch.spark.probe import about

    query = rate(connect).writeStream.format("noop").start()
    process = SparkContext._gateway.proc
    os.kill(process.pid, signal.SIGSTOP)
    try:
        assert about.facts(connect, query).why["stateful"] == "The Connect server did not answer."
        assert probe.status(query) is None
    finally:
        os.kill(process.pid, signal.SIGCONT)
    wait_until(lambda: probe.status(query), 60, "the server is back")
    query.stop()
