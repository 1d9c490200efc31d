"""A watch knows when events do not come any more, says so, mends it, and marks what is missing."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from typing import Any

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.watching import session as attachment
from tests.helpers import wait_until
from tests.spark.queries import rate, start
from tests.spark.test_sessions import run_apart

FAST = {"processingTime": "200 milliseconds"}
SOON = 10.0  # seconds within which a watch says that something is wrong


@pytest.fixture
def running(spark: Any, watch: Any):
    """A query with some batches, its history, and the watch."""
    query = start(rate(spark), name="alive", trigger=FAST)
    history = watch.queries["alive"]
    wait_until(lambda: history.last and history.last.batchId >= 2)
    return query, history, watch


def spark_at(query: Any, batch: int) -> int:
    """Wait until Spark has reported that batch."""
    wait_until(lambda: query.lastProgress and query.lastProgress["batchId"] >= batch)
    return int(query.lastProgress["batchId"])


def end_callback_server(spark: Any) -> None:
    """As ``StreamingContext.stop()`` and some libraries do it."""
    gateway = spark._sc._gateway
    for connection in list(gateway._callback_server.connections):
        with contextlib.suppress(OSError):
            connection.socket.shutdown(socket.SHUT_RDWR)  # py4j would wait for the next event of each
    gateway.shutdown_callback_server()


def remove_listeners(spark: Any) -> None:
    """As a cell does that cleans up whatever listens."""
    manager = spark._jsparkSession.streams()
    for listener in manager.listListeners():
        manager.removeListener(listener)


def listeners(spark: Any) -> int:
    return len(spark._jsparkSession.streams().listListeners())


def has_all(history: Any) -> bool:
    """Whether the history has every batch up to its last one."""
    return list(history.batches["batchId"]) == list(range(history.batches.rows))


@pytest.mark.oldest
@pytest.mark.parametrize("lose", [end_callback_server, remove_listeners])
def test_lost_events_are_noticed_mended_and_filled_in(spark, running, lose):
    """Within 10 s a sentence says what was lost; events come again through the same proxy, and no batch is missing."""
    query, history, watch = running
    proxy = watch._attachment.bridge._proxy
    lose(spark)
    lost_at = history.last.batchId
    wait_until(lambda: watch.problems, SOON, "a sentence about it")
    assert "again" in watch.problems[0]
    wait_until(lambda: history.last.batchId > lost_at + 3)
    arrived = watch._collector.arrived
    wait_until(lambda: watch._collector.arrived > arrived + 3)
    assert has_all(history)
    assert watch._attachment.bridge._proxy is proxy
    assert listeners(spark) == 1
    assert watch.session.text == "Watching the Spark session of this kernel."
    assert query.isActive


@pytest.mark.oldest
@pytest.mark.parametrize("lose", [end_callback_server, remove_listeners])
def test_calling_watch_again_mends_at_once(spark, running, monkeypatch, lose):
    """The same call restores the events and takes in what was missed before it returns."""
    query, history, watch = running
    monkeypatch.setattr(watch._attachment._comparer, "_each_round", lambda: True)  # nothing is noticed by itself
    lose(spark)
    reported = spark_at(query, history.last.batchId + 3)
    assert sw.watch(spark) is watch
    assert history.last.batchId >= reported
    arrived = watch._collector.arrived
    wait_until(lambda: watch._collector.arrived > arrived + 2)
    assert has_all(history)


def test_a_run_that_starts_and_one_that_ends_unheard_are_noticed(spark, running, monkeypatch):
    """Events that cannot be restored: a start, batches and an end are asked for, and the session says so."""
    query, _, watch = running
    bridge = watch._attachment.bridge
    monkeypatch.setattr(bridge, "keep", lambda: None)
    remove_listeners(spark)
    unheard = start(rate(spark), name="unheard", trigger=FAST)
    query.stop()
    history = wait_until(lambda: next((h for h in watch.histories() if h.name == "unheard"), None), SOON)
    first = spark_at(unheard, 0)
    wait_until(lambda: history.last and history.last.batchId >= first, SOON)
    wait_until(lambda: "without an event" in watch.session.text, SOON)
    assert watch.session.state == "live"
    wait_until(lambda: [h.runs[0].state for h in watch.histories() if h.name == "alive"] == ["ended"], SOON)
    reported = spark_at(unheard, history.last.batchId + 5)
    wait_until(lambda: history.last.batchId >= reported, SOON)
    assert has_all(history)
    assert any("the start of unheard" in sentence for sentence in watch.problems)
    monkeypatch.undo()
    sw.watch(spark)
    wait_until(lambda: watch.session.text == "Watching the Spark session of this kernel.")


def test_a_bus_that_drops_events_leaves_no_hole_that_can_be_filled(spark, running):
    """Some events are dropped and later ones come: the batches between are read from what the query remembers."""
    query, history, watch = running
    proxy = watch._attachment.bridge._proxy
    put, proxy.put = proxy.put, None
    spark_at(query, history.last.batchId + 3)
    proxy.put = put
    wait_until(lambda: history.gaps or not has_all(history))
    wait_until(lambda: not history.gaps, SOON)
    assert has_all(history)


def test_what_spark_has_forgotten_stays_a_gap(spark, monkeypatch):
    """Spark remembers few batches: those that are lost for good are a gap, and a hint names them."""
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "2")
    try:
        _lose_more_than_is_remembered(spark, monkeypatch)
    finally:
        spark.conf.unset("spark.sql.streaming.numRecentProgressUpdates")


def _lose_more_than_is_remembered(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    query = start(rate(spark), name="forgetful", trigger=FAST)
    with sw.watch(spark) as watch:
        history = watch.queries["forgetful"]
        wait_until(lambda: history.last and history.last.batchId >= 2)
        monkeypatch.setattr(watch._attachment._comparer, "_each_round", lambda: True)
        remove_listeners(spark)
        before = history.last.batchId
        reported = spark_at(query, before + 6)
        sw.watch(spark)
        assert history.last.batchId >= reported
        assert history.gaps
        assert history.gaps[0][0] >= before
        assert "missed-progress" in {hint.code for hint in watch.diagnose("forgetful").hints}


def test_stale_data_is_not_judged(spark, running, monkeypatch):
    """Spark is further and tells nothing of the batches between: the verdict is unknown and says why."""
    _, history, watch = running
    bridge = watch._attachment.bridge
    monkeypatch.setattr(bridge, "keep", lambda: None)
    monkeypatch.setattr(bridge, "recent", lambda query, after=-1: [])
    remove_listeners(spark)
    wait_until(lambda: history.stale, SOON)
    diagnosis = watch.diagnose("alive")
    assert diagnosis.verdict == "unknown"
    assert f"batch {history.last.batchId} is the last that is known here" in diagnosis.reason
    monkeypatch.undo()
    sw.watch(spark)
    assert history.stale is None
    assert watch.diagnose("alive").verdict != "unknown"


def test_a_healthy_watch_has_no_complaint(running):
    """Rounds of comparing while events come find nothing to say."""
    _, history, watch = running
    for _ in range(3):
        watch._attachment.mend()
    last = history.last.batchId
    wait_until(lambda: history.last.batchId > last + 5)
    assert watch.problems == ()
    assert history.stale is None


def ours() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("streamwatch")]


def test_an_interrupt_at_any_moment_leaves_nothing(spark):
    """Ctrl-C after any part of the time that ``sw.watch()`` takes: no listener, no thread and no watch stay."""
    query = start(rate(spark), name="busy", trigger=FAST)
    spark_at(query, 1)
    began = time.monotonic()
    sw.watch(spark).stop()
    took = time.monotonic() - began

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for part in range(1, 13):
            signal.setitimer(signal.ITIMER_REAL, took * part / 16)
            try:
                watch = sw.watch(spark)
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                watch.stop()
            except KeyboardInterrupt:
                interrupted += 1
            wait_until(lambda: not ours(), 10, "the threads are gone")
            assert listeners(spark) == 0
            assert sw.Watch.current() is None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    with sw.watch(spark) as watch:
        assert "busy" in {history.name for history in watch.histories()}


def test_an_interrupt_of_the_second_call_leaves_the_watch(spark, watch, monkeypatch):
    """A watch that was there goes on when the call that found it is interrupted."""

    def interrupted(self: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(attachment.Attachment, "mend", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sw.watch(spark)
    assert sw.watch(spark) is watch
    assert listeners(spark) == 1


def test_a_paused_jvm_keeps_nobody_waiting():
    """Paused: ``watch()`` and ``stop()`` come back in seconds, what is known is not judged. After it: all is clean."""
    done = run_apart("""
        import faulthandler, gc, os, signal, threading, time
        faulthandler.dump_traceback_later(200, exit=True)
        spark = make_session()
        manager = spark._jsparkSession.streams()
        watch = sw.watch(spark)
        query = start(rate(spark), name="paused", trigger={"processingTime": "200 milliseconds"})
        wait_until(lambda: watch.queries["paused"].last)
        other = spark.newSession()
        pid = spark._sc._gateway.proc.pid

        def timed(call):
            begun = time.monotonic()
            try:
                return call(), time.monotonic() - begun
            except RuntimeError as error:
                print("SAID", error)
                return None, time.monotonic() - begun

        gc.collect()
        gc.disable()  # py4j tells the JVM of each reference that is collected, and would wait for it here
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: "does not answer" in watch.session.text, 10)
        wait_until(lambda: watch.diagnose("paused").verdict == "unknown", 10)
        assert "does not answer" in watch.diagnose("paused").reason
        for call in (lambda: sw.watch(), lambda: sw.watch(spark), lambda: sw.watch(other)):
            again, took = timed(call)
            assert took < 5.0, took
        assert again is None
        left, took = timed(watch.stop)
        assert took < 5.0, took
        again, took = timed(lambda: sw.watch(spark))
        assert again is None and took < 5.0, took
        os.kill(pid, signal.SIGCONT)
        gc.enable()
        ours = lambda: [t.name for t in threading.enumerate() if t.name.startswith("streamwatch")]
        wait_until(lambda: not ours(), 20)
        assert not list(manager.listListeners())
        assert not list(other._jsparkSession.streams().listListeners())
        watch = sw.watch(spark)
        history = watch.queries["paused"]
        last = history.last.batchId
        wait_until(lambda: history.last.batchId > last + 1)
        assert len(list(manager.listListeners())) == 1
        print("DONE", flush=True)
        os._exit(0)
    """)
    assert "DONE" in done.stdout, done.stdout + done.stderr
    assert "SAID Spark does not answer" in done.stdout
    assert "Traceback" not in done.stderr, done.stderr


def test_a_jvm_that_goes_on_is_judged_again():
    """After a pause the state, the batches and the verdict come back by themselves."""
    done = run_apart("""
        import gc, os, signal
        spark = make_session()
        watch = sw.watch(spark)
        query = start(rate(spark), name="back", trigger={"processingTime": "200 milliseconds"})
        history = watch.queries["back"]
        wait_until(lambda: history.last and history.last.batchId > 3)
        gc.collect()
        gc.disable()
        pid = spark._sc._gateway.proc.pid
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: history.stale, 10)
        os.kill(pid, signal.SIGCONT)
        gc.enable()
        wait_until(lambda: history.stale is None, 10)
        assert watch.session.text == "Watching the Spark session of this kernel."
        last = history.last.batchId
        wait_until(lambda: history.last.batchId > last + 1)
        assert list(history.batches["batchId"]) == list(range(history.batches.rows))
        print("DONE", flush=True)
        os._exit(0)
    """)
    assert "DONE" in done.stdout, done.stdout + done.stderr
