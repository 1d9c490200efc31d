"""A watch of a Connect session knows when its events break off and when its server does not answer."""

from __future__ import annotations

import pytest

from tests.connect.test_watch_connect import FAST, run_apart
from tests.helpers import wait_until
from tests.spark.queries import rate, start

SOON = 10.0  # seconds within which a watch says that something is wrong


@pytest.mark.filterwarnings("ignore:StreamingQueryListenerBus Handler")
def test_a_broken_stream_of_events_is_noticed_mended_and_filled_in(spark, watch):
    """PySpark drops all listeners when its connection breaks: ours is added again, and no batch is missing."""
    query = start(rate(spark), name="broken", trigger=FAST)
    history = watch.queries["broken"]
    wait_until(lambda: history.last and history.last.batchId >= 2)
    bus = spark.streams._sqlb
    own = bus.deserialize

    def broken(event):
        bus.deserialize = own
        raise ConnectionError("cut")

    bus.deserialize = broken
    wait_until(lambda: watch.problems, SOON, "a sentence about it")
    assert "added again" in watch.problems[0]
    arrived = watch._collector.arrived
    wait_until(lambda: watch._collector.arrived > arrived + 3)
    assert list(history.batches["batchId"]) == list(range(history.batches.rows))
    assert query.isActive


def test_a_paused_and_then_killed_server_is_a_state():
    """Reads wait at most 2 s, the report not at all; the state comes back with the server; dead is not judged."""
    done = run_apart("""
        import faulthandler, os, signal, tempfile, time
        from pyspark import SparkContext
        faulthandler.dump_traceback_later(150, exit=True)
        history = watch.queries["apart"]
        wait_until(lambda: "Spark" in watch._attachment.environment())
        pid = SparkContext._gateway.proc.pid

        def took(call):
            begun = time.monotonic()
            call()
            return time.monotonic() - begun

        os.kill(pid, signal.SIGSTOP)
        assert took(lambda: watch.queries) < 2.5
        wait_until(lambda: watch.session.state == "gone", 10)
        assert took(lambda: watch.report(tempfile.mkdtemp() + "/paused.md")) < 2.0
        assert took(lambda: sw.watch(spark)) < 5.0
        wait_until(lambda: watch.diagnose("apart").verdict == "unknown", 10)
        assert "does not answer" in watch.diagnose("apart").reason
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: watch.session.state == "live", 10)
        last = history.last.batchId
        wait_until(lambda: history.last.batchId > last + 2)
        assert list(history.batches["batchId"]) == list(range(history.batches.rows))
        wait_until(lambda: history.stale is None, 10)

        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: watch.session.state == "gone", 10)
        wait_until(lambda: watch.diagnose("apart").verdict == "unknown", 10)
        assert took(lambda: watch.report(tempfile.mkdtemp() + "/dead.md")) < 2.0
        assert took(watch.stop) < 5.0
        print("DONE", flush=True)
        os._exit(0)
    """)
    assert "DONE" in done.stdout, done.stdout + done.stderr
