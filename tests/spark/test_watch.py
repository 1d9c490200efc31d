"""``sw.watch()`` on a classic session with real queries: sources, sinks, triggers and how queries end."""

from __future__ import annotations

import runpy
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

import jupyter_streamwatch as sw
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, rate, start

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "structured_streaming_example.py"


def clock(time):
    return None if time is None else time.strftime("%H:%M")


@pytest.mark.oldest
def test_the_example_of_late_rows_to_the_digit(spark, capsys):
    """Rows 3, 0, 2, 0, 1; the watermark unset, 11:57, 11:57, 12:10, 12:10; one row dropped; three runs of one id."""
    ran = runpy.run_path(str(EXAMPLE))
    with ran["watch"] as watch:
        (history,) = [history for history in watch.queries.values() if history.id == str(ran["query"].id)]
        batches = history.batches
        assert list(batches["batchId"]) == [0, 1, 2, 3, 4]
        assert list(batches["numInputRows"]) == [3, 0, 2, 0, 1]
        assert list(batches["kind"]) == ["data", "no-data", "data", "no-data", "data"]
        assert [clock(time) for time in batches["eventTime.watermark"]] == [None, "11:57", "11:57", "12:10", "12:10"]
        assert list(batches["state.numRowsDroppedByWatermark"]) == [0, 0, 0, 0, 1]
        assert [(run.firstBatch, run.lastBatch) for run in history.runs] == [(0, 1), (2, 3), (4, 4)]
        assert [(run.state, run.restartedBy) for run in history.runs] == [("ended", None)] * 3
        assert watch.problems == ()
        assert watch.missed == 0
    assert "3 runs of one query" in capsys.readouterr().out


@pytest.mark.oldest
def test_a_second_call_returns_the_same_watch(spark):
    """A session has one watch, however often it is asked for, until it is stopped."""
    first = sw.watch()
    assert sw.watch() is first
    assert sw.watch(spark, trigger="2 seconds") is first
    assert sw.Watch.current() is first
    first.stop()
    assert sw.Watch.current() is None
    second = sw.watch(spark)
    assert second is not first
    second.stop()


@pytest.mark.oldest
def test_queries_that_run_already_appear_at_once(spark):
    """Attached late, the watch has what Spark remembers of the batches; later ones follow without a gap."""
    query = start(rate(spark), name="early", trigger={"processingTime": "200 milliseconds"})
    wait_until(lambda: query.lastProgress and query.lastProgress["batchId"] >= 3)
    with sw.watch(spark) as watch:
        history = watch.queries["early"]
        assert history.id == str(query.id)
        assert history.batches.rows >= 3
        assert history.runs[0].state == "active"
        before = history.last.batchId
        wait_until(lambda: history.last.batchId >= before + 2)
        assert list(history.batches["batchId"]) == list(range(history.batches.rows))
        wait_until(lambda: history.trigger is not None)
        assert (history.trigger.kind, history.trigger.interval_ms, history.trigger.origin) == (
            "processingTime",
            200,
            "asked",
        )
        wait_until(lambda: history.status is not None)
        query.stop()
        assert watch.queries[query].runs[0].state == "ended"


@pytest.mark.oldest
@pytest.mark.parametrize("read", ["queries", "diagnose", "recording"])
def test_reads_after_the_end_include_the_last_batch(spark, watch, tmp_path, read):
    """Right after ``awaitTermination`` every read has the run's last batch and its end."""
    add_file(tmp_path / "in", "1.json", [{"n": i} for i in range(10)])
    for round_ in range(3):
        add_file(tmp_path / "in", f"more-{round_}.json", [{"n": round_}])
        query = start(files(spark, tmp_path / "in"), checkpoint=tmp_path / "cp", trigger={"availableNow": True})
        query.awaitTermination()
        if read == "diagnose":
            assert watch.diagnose(query).verdict == "finished"
        histories = watch.recording().queries if read == "recording" else watch.queries
        history = histories[query]
        assert history.runs[-1].state == "ended"
        assert history.runs[-1].lastBatch == query.lastProgress["batchId"]
        assert len(history.runs) == round_ + 1


@pytest.mark.oldest
def test_a_failing_udf_ends_the_run_as_failed(spark, watch):
    """The run is failed, with Spark's error class and the full text, the person's own error in it."""
    from pyspark.sql import functions as F

    @F.udf("int")
    def broken(value):
        raise ValueError("no such carrier: ZZ")

    query = start(rate(spark).select(broken("value")), name="udf")
    with pytest.raises(Exception, match="no such carrier"):
        query.awaitTermination()
    run = watch.queries["udf"].runs[0]
    assert run.state == "failed"
    assert "no such carrier: ZZ" in run.exception
    assert "Traceback" in run.exception
    assert watch.diagnose("udf").verdict == "failed"


@pytest.mark.oldest
def test_a_failing_foreach_batch_ends_the_run_as_failed(spark, watch):
    """What a foreachBatch function raises is in the run's error."""

    def each(frame, batch):
        raise RuntimeError("the table is locked")

    query = start(rate(spark), each=each, name="batch function")
    with pytest.raises(Exception, match="the table is locked"):
        query.awaitTermination()
    run = watch.queries["batch function"].runs[0]
    assert run.state == "failed"
    assert "the table is locked" in run.exception


@pytest.mark.oldest
def test_a_stopped_run_is_ended_not_failed(spark, watch):
    """``query.stop()`` ends a run without an error; the verdict is stopped."""
    query = start(rate(spark), name="to stop", trigger={"processingTime": "200 milliseconds"})
    wait_until(lambda: query.lastProgress)
    query.stop()
    run = watch.queries["to stop"].runs[0]
    assert (run.state, run.exception) == ("ended", None)
    assert run.ended >= run.started
    assert watch.diagnose("to stop").verdict == "stopped"


@pytest.mark.oldest
def test_the_same_query_started_again_while_active_is_replaced(spark, watch, tmp_path):
    """On one checkpoint Spark stops the run that is active: it is replaced, and both runs are of one query."""
    frame = rate(spark)
    trigger = {"processingTime": "200 milliseconds"}
    first = start(frame, checkpoint=tmp_path, trigger=trigger)
    history = watch.queries[first]
    wait_until(lambda: history.facts.trigger and history.last)
    second = start(frame, checkpoint=tmp_path, trigger=trigger)
    wait_until(lambda: len(history.runs) == 2 and history.runs[1].lastBatch is not None)
    second.stop()
    runs = watch.queries[second].runs
    assert [run.restartedBy for run in runs] == ["replaced", None]
    assert [run.runId for run in runs] == [str(first.runId), str(second.runId)]
    assert runs[1].firstBatch > runs[0].lastBatch


@pytest.mark.oldest
def test_a_query_stopped_and_started_again_is_not_replaced(spark, watch, tmp_path):
    """A person who stops a query and starts it at once on its checkpoint gets a second run, without the word."""
    frame = rate(spark)
    trigger = {"processingTime": "200 milliseconds"}
    first = start(frame, checkpoint=tmp_path, trigger=trigger)
    history = watch.queries[first]
    wait_until(lambda: history.facts.trigger and history.last)
    first.stop()
    second = start(frame, checkpoint=tmp_path, trigger=trigger)
    wait_until(lambda: len(history.runs) == 2)
    second.stop()
    runs = watch.queries[second].runs
    assert [(run.state, run.restartedBy) for run in runs] == [("ended", None), ("ended", None)]


def test_one_name_twice_means_the_newest(spark, watch):
    """Two active queries of one name (two sessions of one JVM) are both there; the name means the newest."""
    other = spark.newSession()
    old = start(rate(other), name="twin", trigger={"processingTime": "200 milliseconds"})
    wait_until(lambda: old.lastProgress)
    watch.stop()
    with sw.watch(spark) as again:
        assert str(old.id) in set(again.queries)
        assert any("another session" in sentence for sentence in again.problems)
        new = start(rate(spark), name="twin", trigger={"processingTime": "200 milliseconds"})
        assert again.queries["twin"].id == str(new.id)
        assert {str(old.id), str(new.id)} <= set(again.queries)
    old.stop()


@pytest.mark.oldest
def test_an_unknown_key_names_the_right_ones(spark, watch):
    """``watch.queries["wrong"]`` says which names there are."""
    start(rate(spark), name="flights")
    with pytest.raises(KeyError, match="flights"):
        watch.queries["flihgts"]


def test_sources_and_sinks(spark, watch, tmp_path):
    """File, rate and socket sources; memory, console, noop, file and foreachBatch sinks: each gives its batches."""
    add_file(tmp_path / "in", "1.json", [{"n": 1}, {"n": 2}])
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"one\ntwo\nthree\n")
            done.wait(60)

    done = threading.Event()
    threading.Thread(target=serve, daemon=True).start()
    from_socket = spark.readStream.format("socket").option("host", "127.0.0.1")
    from_socket = from_socket.option("port", server.getsockname()[1]).load()
    counts = from_socket.groupBy("value").count()
    queries = {
        "files to memory": start(files(spark, tmp_path / "in"), "memory", name="files_to_memory"),
        "rate to console": start(rate(spark), "console", name="rate_to_console"),
        "socket": start(counts, "memory", mode="complete", name="from_socket"),
        "each": start(rate(spark), each=lambda frame, batch: frame.count(), name="each"),
    }
    try:
        histories = {name: watch.queries[query] for name, query in queries.items()}
        wait_until(lambda: all(history.last for history in histories.values()))
        wait_until(lambda: all(history.facts.sink for history in histories.values()))
        total = np.nansum(histories["files to memory"].batches["numInputRows"])
        assert total == 2
        wait_until(lambda: np.nansum(histories["socket"].batches["numInputRows"]) == 3)
        assert histories["each"].facts.foreachBatch is True
        assert histories["socket"].last.stateOperators[0].numRowsTotal == 3
    finally:
        done.set()
        server.close()


@pytest.mark.oldest
def test_triggers(spark, watch, tmp_path):
    """Default, processingTime, once and availableNow are known for what they are; the last two end by themselves."""
    add_file(tmp_path / "in", "1.json", [{"n": 1}])
    frame = files(spark, tmp_path / "in")
    started = {
        "default": start(frame),
        "processingTime": start(frame, trigger={"processingTime": "1 second"}),
        "once": start(frame, trigger={"once": True}),
        "availableNow": start(frame, trigger={"availableNow": True}),
    }
    histories = {kind: watch.queries[query] for kind, query in started.items()}
    wait_until(lambda: all(history.trigger and history.last for history in histories.values()))
    assert {kind: history.trigger.kind for kind, history in histories.items()} == {kind: kind for kind in started}
    assert {history.trigger.origin for history in histories.values()} == {"asked"}
    for kind in ("once", "availableNow"):
        started[kind].awaitTermination()
        assert watch.queries[started[kind]].runs[0].state == "ended"
        assert watch.diagnose(started[kind]).verdict == "finished"


def test_continuous_mode_reports_no_progress(spark, watch):
    """A continuous query is there with its trigger and status, without a batch; its verdict is running."""
    query = start(rate(spark).where("value % 2 = 0"), "memory", name="continuous", trigger={"continuous": "1 second"})
    history = watch.queries["continuous"]
    wait_until(lambda: history.trigger and history.status)
    assert history.trigger.kind == "continuous"
    assert history.batches.rows == 0
    diagnosis = watch.diagnose("continuous")
    assert diagnosis.verdict in ("running", "starting")
    assert any(hint.code == "no-progress-mode" for hint in diagnosis.hints)
    query.stop()
    assert watch.queries[query].runs[0].state == "ended"


@pytest.mark.oldest
def test_facts_are_read_again_after_the_first_batch(spark, tmp_path):
    """The checkpoint pins the partitions, which Spark tells once a batch is planned: the facts have them then."""
    add_file(tmp_path / "in", "1.json", [{"n": 1}])
    counts = files(spark, tmp_path / "in").groupBy("n").count()
    start(counts, mode="update", checkpoint=tmp_path / "cp", trigger={"availableNow": True}).awaitTermination()
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        with sw.watch(spark) as watch:
            add_file(tmp_path / "in", "2.json", [{"n": 2}])
            query = start(counts, mode="update", checkpoint=tmp_path / "cp", trigger={"availableNow": True})
            query.awaitTermination()
            history = watch.queries[query]
            wait_until(lambda: history.facts.shufflePartitions == 2)
            assert history.facts.sources == (f"files {tmp_path}/in",)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_a_stated_trigger_beats_what_spark_says(spark):
    """``sw.watch(trigger=...)`` holds for the queries that are there and for those that come."""
    old = start(rate(spark), trigger={"processingTime": "1 second"})
    with sw.watch(spark, trigger="5 seconds") as watch:
        new = start(rate(spark), trigger={"processingTime": "1 second"})
        for query in (old, new):
            trigger = watch.queries[query].trigger
            assert (trigger.interval_ms, trigger.origin) == (5000, "stated")


def test_a_bad_trigger_is_one_sentence(spark):
    """A trigger that is not understood raises ``ValueError`` and changes nothing."""
    with pytest.raises(ValueError, match="fortnightly"):
        sw.watch(spark, trigger="fortnightly")


def test_tasks_of_each_batch_are_read(spark, watch):
    """After a batch its tasks are in the history, without anything shown."""
    query = start(rate(spark, 1000).groupBy("value").count(), mode="update", trigger={"processingTime": "1 second"})
    history = watch.queries[query]
    wait_until(lambda: "tasks.count" in history.batches.names and np.nansum(history.batches["tasks.count"]) > 0)


def test_a_long_batch_is_seen_running(spark, watch):
    """While a batch runs its tasks are counted, and views are told."""
    from pyspark.sql import functions as F

    release = threading.Event()

    def each(frame, batch):
        frame.select(F.expr("java_method('java.lang.Thread', 'sleep', cast(300 as bigint))")).repartition(8).count()
        release.wait(30)

    told = threading.Event()
    remove = watch.subscribe(told.set)
    watch.shown(True)
    try:
        query = start(rate(spark, 5), each=each, trigger={"processingTime": "1 second"})
        history = watch.queries[query]
        running = wait_until(lambda: history.running)
        assert running.runId == str(query.runId)
        wait_until(lambda: history.running and history.running.tasksTotal)
        assert told.is_set()
    finally:
        release.set()
        watch.shown(False)
        remove()


@pytest.mark.oldest
def test_twenty_queries_at_once_lose_nothing(spark, watch):
    """Twenty queries that run at once: every batch of each is in its history, without a gap."""
    queries = [start(rate(spark, 2), name=f"q{i}", trigger={"processingTime": "1 second"}) for i in range(20)]
    histories = [watch.queries[query] for query in queries]
    wait_until(lambda: all(history.last and history.last.batchId >= 2 for history in histories), 90)
    for query in queries:
        query.stop()
    for query, history in zip(queries, (watch.queries[query] for query in queries), strict=True):
        assert list(history.batches["batchId"]) == list(range(query.lastProgress["batchId"] + 1))
        assert history.gaps == ()
    assert watch.missed == 0
