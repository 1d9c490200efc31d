"""``sw.watch()`` on Spark Connect: a listener in the client, or polling where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.spark.events import connect as connect_bridge
from jupyter_streamwatch.watching import session as attachment
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, rate, start

ROOT = Path(__file__).resolve().parents[2]
FAST = {"processingTime": "300 milliseconds"}


def test_a_query_is_followed_by_events(spark, watch):
    """Start, batches without a gap and the end arrive; the session says that it is Connect."""
    assert sw.watch() is watch
    assert watch.session.mode == "connect"
    assert watch.session.state == "live"
    assert watch.session.sparkVersion == spark.version
    query = start(rate(spark), name="followed", trigger=FAST)
    history = watch.queries["followed"]
    wait_until(lambda: history.last and history.last.batchId >= 2)
    query.stop()
    history = watch.queries[query]
    assert list(history.batches["batchId"]) == list(range(history.batches.rows))
    assert [(run.state, run.runId) for run in history.runs] == [("ended", str(query.runId))]
    assert watch.problems == ()


def test_reads_after_the_end_include_the_last_batch(spark, watch, tmp_path):
    """Right after ``awaitTermination`` the run's last batch and its end are there; runs join one history."""
    for round_ in range(2):
        add_file(tmp_path / "in", f"{round_}.json", [{"n": 1}, {"n": 2}])
        query = start(files(spark, tmp_path / "in"), checkpoint=tmp_path / "cp", trigger={"availableNow": True})
        query.awaitTermination()
        history = watch.queries[query]
        assert [run.state for run in history.runs] == ["ended"] * (round_ + 1)
        assert list(history.batches["numInputRows"])[-1] == 2


def test_queries_that_run_already_appear_at_once(spark):
    """Attached late, the watch knows id, name and recent batches; facts are what Connect can tell."""
    query = start(rate(spark), name="early", trigger=FAST)
    wait_until(lambda: query.lastProgress and query.lastProgress["batchId"] >= 2)
    with sw.watch(spark) as watch:
        history = watch.queries["early"]
        assert history.batches.rows >= 2
        before = history.last.batchId
        wait_until(lambda: history.last.batchId >= before + 2)
        assert list(history.batches["batchId"]) == list(range(history.batches.rows))
        wait_until(lambda: history.facts.mode == "connect")
        query.stop()


def test_facts_are_asked_again_after_the_first_batch(spark, watch):
    """Connect shows no plan before a batch is planned, nor a sink before its progress: they are known after it."""
    query = start(rate(spark).dropDuplicates(["value"]), name="planned", trigger=FAST)
    history = watch.queries["planned"]
    wait_until(lambda: history.facts.stateful is not None and history.facts.sink is not None)
    assert history.facts.stateful == ("dedupe",)
    assert (history.facts.sink, history.facts.sources) == ("noop", ("rate 20/s",))
    query.stop()


@pytest.mark.parametrize(
    ("trigger", "known"),
    [
        ({"processingTime": "1 minute 30 seconds"}, ("processingTime", 90_000.0)),
        ({"availableNow": True}, ("availableNow", None)),
        ({"once": True}, ("once", None)),
        ({}, ("default", None)),
    ],
)
def test_what_a_start_tells_is_known(spark, watch, tmp_path, trigger, known):
    """The server tells neither trigger nor options; of a query that this process starts, the start does."""
    add_file(tmp_path / "in", "0.json", [{"n": 1}])
    source = spark.readStream.schema("n long").option("maxFilesPerTrigger", "7").json(str(tmp_path / "in"))
    how = {"trigger": trigger} if trigger else {}
    query = start(source, checkpoint=tmp_path / "cp", **how)
    facts = wait_until(lambda: (told := watch.queries[query].facts).sources and told, 60, "the facts")
    assert (facts.trigger.kind, facts.trigger.interval_ms, facts.trigger.origin) == (*known, "asked")
    assert (facts.rateLimit, facts.outputMode) == ((("maxFilesPerTrigger", "7"),), "append")
    assert (facts.checkpoint, facts.temporaryCheckpoint) == (str(tmp_path / "cp"), False)
    assert [(one.format, one.limits) for one in facts.shape.sources] == [("json", (("maxfilespertrigger", "7"),))]


def test_a_start_without_a_checkpoint_is_temporary(spark, watch):
    """No option and no folder of the session: Spark makes one and deletes it; where it is, nobody tells."""
    query = start(rate(spark), name="nowhere", trigger=FAST)
    facts = wait_until(lambda: (told := watch.queries[query].facts).sources and told, 60, "the facts")
    assert (facts.checkpoint, facts.temporaryCheckpoint) == (None, True)
    assert "checkpoint" not in facts.why


def test_a_folder_of_the_session_is_where_checkpoints_are(spark, watch, tmp_path):
    """``spark.sql.streaming.checkpointLocation`` with the query's name, as Spark puts them together when it starts."""
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path))
    try:
        query = start(rate(spark), name="at_home", trigger=FAST)
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")
    facts = wait_until(lambda: (told := watch.queries[query].facts).sources and told, 60, "the facts")
    assert (facts.checkpoint, facts.temporaryCheckpoint) == (str(tmp_path / "at_home"), False)


def test_limits_of_a_view_are_unknown(spark, watch, tmp_path):
    """The plan names the view, not what its reader was told: nothing is said of limits."""
    add_file(tmp_path / "in", "0.json", [{"n": 1}])
    files(spark, tmp_path / "in").createOrReplaceTempView("in_a_view")
    query = start(spark.readStream.table("in_a_view"), checkpoint=tmp_path / "cp", trigger=FAST)
    facts = wait_until(lambda: (told := watch.queries[query].facts).sources and told, 60, "the facts")
    assert facts.trigger.interval_ms == 300.0
    assert facts.rateLimit is None


def test_facts_come_also_where_no_partitions_are_set(spark, watch):
    """A session that never set its shuffle partitions has Spark's 200."""
    spark.conf.unset("spark.sql.shuffle.partitions")
    try:
        query = start(rate(spark), name="unset", trigger=FAST)
        facts = wait_until(lambda: (told := watch.queries[query].facts).sources and told, 60, "the facts")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert facts.sessionPartitions == 200
    assert "pythonUdf" not in facts.why


def test_the_watch_gives_spark_its_methods_back(spark):
    """What notes starts and stops is there while somebody watches, and not longer."""
    from pyspark.sql.connect.streaming.query import StreamingQuery
    from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

    own = (DataStreamWriter._start_internal, StreamingQuery.stop)
    with sw.watch(spark):
        assert DataStreamWriter._start_internal is not own[0]
    assert (DataStreamWriter._start_internal, StreamingQuery.stop) == own


def test_a_failing_foreach_batch_ends_the_run_as_failed(spark, watch):
    """The error of a function that runs on the server is in the run, in full."""

    def each(frame, batch):
        raise RuntimeError("the table is locked")

    query = start(rate(spark), each=each, name="locked")
    with pytest.raises(Exception, match="locked"):
        query.awaitTermination()
    run = watch.queries["locked"].runs[0]
    assert run.state == "failed"
    assert "the table is locked" in run.exception


def test_replaced_and_stopped_are_told_apart(spark, watch, tmp_path):
    """Started again while active: replaced, where the trigger is known to go on. Stopped first: not."""
    frame = rate(spark)
    first = start(frame, checkpoint=tmp_path, trigger=FAST)
    history = watch.queries[first]
    wait_until(lambda: history.last)
    first.stop()
    second = start(frame, checkpoint=tmp_path, trigger=FAST)
    wait_until(lambda: len(history.runs) == 2)
    assert [run.restartedBy for run in history.runs] == [None, None]
    second.stop()


def test_a_server_that_sends_no_events_is_polled(spark, monkeypatch, tmp_path):
    """As on Connect before 4.0: batches come by asking, none twice and none missing, and so does the end."""
    monkeypatch.setattr(attachment, "open_bridge", connect_bridge.PollingBridge)
    with sw.watch(spark) as watch:
        assert any("before 4.0" in sentence for sentence in watch.problems)
        query = start(rate(spark), name="polled", trigger={"processingTime": "100 milliseconds"})
        history = watch.queries["polled"]
        wait_until(lambda: history.last and history.last.batchId >= 5)
        query.stop()
        wait_until(lambda: history.runs[0].state == "ended")
        history = watch.queries["polled"]
        assert list(history.batches["batchId"]) == list(range(query.lastProgress["batchId"] + 1))

        add_file(tmp_path / "in", "1.json", [{"n": 1}, {"n": 2}])
        short = start(files(spark, tmp_path / "in"), trigger={"availableNow": True})
        short.awaitTermination()
        wait_until(lambda: watch.queries[short].runs[0].state == "ended")
        assert list(watch.queries[short].batches["numInputRows"]) == [2]

        def each(frame, batch):
            raise RuntimeError("the table is locked")

        failing = start(rate(spark), each=each, name="fails")
        with pytest.raises(Exception, match="locked"):
            failing.awaitTermination()
        wait_until(lambda: watch.queries[failing].runs[0].state == "failed")
        assert "the table is locked" in watch.queries[failing].runs[0].exception


def test_a_query_that_ends_between_two_looks_is_seen(spark, monkeypatch, tmp_path):
    """Polled so seldom that no look sees it run: its start is known by the call, all else by asking after its end."""
    monkeypatch.setattr(attachment, "open_bridge", connect_bridge.PollingBridge)
    from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

    own = DataStreamWriter._start_internal
    add_file(tmp_path / "in", "1.json", [{"n": 1}, {"n": 2}])
    with sw.watch(spark) as watch:
        bridge = watch._attachment.bridge
        bridge._done.set()  # no look comes of itself
        query = start(files(spark, tmp_path / "in"), name="short", trigger={"availableNow": True})
        query.awaitTermination()
        bridge.look()
        history = watch.queries["short"]
        assert [(run.state, run.runId) for run in history.runs] == [("ended", str(query.runId))]
        assert list(history.batches["numInputRows"]) == [2]
    assert DataStreamWriter._start_internal is own


def test_a_server_that_does_not_answer_is_waited_for_once(spark, monkeypatch):
    """A call that hangs is given up after its time; the next ones fail at once until it is back."""
    monkeypatch.setattr(connect_bridge, "PATIENCE", 0.2)
    bridge = connect_bridge.ConnectBridge(spark)
    back, asked = threading.Event(), []
    assert bridge.ask(lambda: back.wait(30), "gave up") == "gave up"
    assert bridge.link().state == "gone"
    assert bridge.ask(lambda: asked.append(1), "gave up") == "gave up"
    assert not asked
    back.set()
    wait_until(lambda: bridge.ask(lambda: 1, None) == 1)
    assert bridge.link().state == "live"


def run_apart(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with a Connect session ``spark`` and a watch of it."""
    before = """
        import warnings
        warnings.simplefilter("always")
        from pyspark.sql import SparkSession
        import jupyter_streamwatch as sw
        from tests.helpers import wait_until
        from tests.spark.queries import rate, start
        FAST = {"processingTime": "300 milliseconds"}
        spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        watch = sw.watch(spark)
        query = start(rate(spark), name="apart", trigger=FAST)
        wait_until(lambda: watch.queries["apart"].last)
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(before) + textwrap.dedent(code)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_stopping_the_session_is_a_state_and_warns_of_nothing():
    """``spark.stop()`` with the watch attached: no warning of PySpark, the state is stopped, runs are over."""
    done = run_apart("""
        spark.stop()
        assert watch.session.state == "stopped", watch.session
        wait_until(lambda: watch.queries["apart"].runs[0].state == "ended")
        try:
            sw.watch()
        except RuntimeError as error:
            print("SAID", error)
        again = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        assert sw.watch(again) is watch
        query = start(rate(again), name="second", trigger=FAST)
        wait_until(lambda: watch.queries["second"].last)
        watch.stop()
        print("DONE")
        again.stop()
    """)
    assert "DONE" in done.stdout, done.stderr
    assert "SAID No active Spark session" in done.stdout
    assert "StreamingQueryListenerBus" not in done.stderr, done.stderr
    assert "Traceback (most recent call last)" not in done.stderr, done.stderr


def test_a_process_with_a_watch_ends():
    """A script that neither stops its watch nor its session still ends."""
    done = run_apart("print('DONE')")
    assert "DONE" in done.stdout, done.stderr
    assert done.returncode == 0
