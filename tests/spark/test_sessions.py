"""Sessions that stop, start anew and die are states of a watch, never errors."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import jupyter_streamwatch as sw
from tests.helpers import wait_until
from tests.spark.conftest import make_session
from tests.spark.queries import rate, start

ROOT = Path(__file__).resolve().parents[2]
FAST = {"processingTime": "200 milliseconds"}


@pytest.mark.oldest
def test_a_stopped_session_and_the_next_one(spark, tmp_path, recwarn):
    """Stopped: shown, runs over, nothing raised. The same call goes on with the new session, in the same histories."""
    watch = sw.watch(spark)
    query = start(rate(spark), name="over two", checkpoint=tmp_path, trigger=FAST)
    wait_until(lambda: watch.queries[query].last)
    spark.stop()
    assert watch.session.state == "stopped"
    assert "sw.watch()" in watch.session.text
    history = watch.queries["over two"]
    wait_until(lambda: history.runs[0].state == "ended")
    assert watch.diagnose("over two").verdict == "stopped"
    with pytest.raises(RuntimeError, match="No active Spark session"):
        sw.watch()

    with pytest.raises(RuntimeError, match="was stopped"):
        sw.watch(spark)
    again = make_session()
    assert sw.watch() is watch
    assert watch.session.state == "live"
    query = start(rate(again), name="over two", checkpoint=tmp_path, trigger=FAST)
    assert watch.queries[query] is history
    wait_until(lambda: len(history.runs) == 2 and history.runs[1].lastBatch is not None)
    query.stop()
    watch.stop()
    assert [run.state for run in history.runs] == ["ended", "ended"]
    assert not [warning for warning in recwarn if "streamwatch" in str(warning.filename)]


def test_stopping_twice_and_reading_after_is_safe(spark):
    """``stop()`` returns what was known, twice the same; reads still work, and say that watching was stopped."""
    watch = sw.watch(spark)
    query = start(rate(spark), name="kept", trigger=FAST)
    wait_until(lambda: watch.queries[query].last)
    left = watch.stop()
    assert watch.stop() is left
    assert query.isActive
    assert watch.session.state == "stopped"
    assert watch.queries["kept"].batches.rows >= 1
    assert "kept" in repr(watch)
    assert "kept" in left.html


def run_apart(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with this Spark."""
    before = "from tests.spark.conftest import make_session\nfrom tests.spark.queries import rate, start\n"
    before += "from tests.helpers import wait_until\nimport jupyter_streamwatch as sw\n"
    return subprocess.run(
        [sys.executable, "-c", before + textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.oldest
def test_a_paused_and_then_killed_jvm_is_a_state():
    """Paused: every read returns with what is known. Dead: the session is gone, its runs are over, reads work.

    Nothing of ours prints a traceback.
    """
    done = run_apart("""
        import faulthandler, gc, os, signal
        faulthandler.dump_traceback_later(240, exit=True)
        spark = make_session()
        watch = sw.watch(spark)
        query = start(rate(spark), name="doomed", trigger={"processingTime": "200 milliseconds"})
        wait_until(lambda: watch.queries["doomed"].last)
        process = spark._sc._gateway.proc

        gc.collect()
        gc.disable()  # py4j tells the JVM of each reference that is collected, and would wait for it here
        os.kill(process.pid, signal.SIGSTOP)
        watch._attachment.hurry()  # somebody is asking when the JVM stops to answer
        assert watch.queries["doomed"].runs[0].state == "active"
        assert watch.diagnose("doomed").verdict != "stopped"
        assert watch.recording().queries["doomed"].batches.rows
        assert watch.session.state == "live"
        os.kill(process.pid, signal.SIGCONT)
        gc.enable()
        history = watch.queries["doomed"]
        last = history.last.batchId
        wait_until(lambda: history.last.batchId > last + 1)
        assert list(history.batches["batchId"]) == list(range(history.batches.rows))

        watch._attachment.hurry()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert watch.session.state == "gone", watch.session
        wait_until(lambda: watch.queries["doomed"].runs[0].state == "ended")
        assert watch.diagnose("doomed").verdict == "stopped"
        try:
            sw.watch()
        except RuntimeError as error:
            print("SAID", error)
        watch.recording()
        watch.stop()
        print("DONE", flush=True)
        os._exit(0)
    """)
    assert "DONE" in done.stdout, done.stderr
    assert "SAID No active Spark session" in done.stdout
    assert "Traceback" not in done.stderr, done.stderr


def test_without_spark_there_is_one_sentence():
    """No session, pyspark not even imported: ``RuntimeError`` says what to do, and pyspark is still not imported."""
    code = "import sys, jupyter_streamwatch as sw\ntry:\n    sw.watch()\nexcept RuntimeError as e:\n    print(e)\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "print('pyspark' in sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "No active Spark session to watch. Create one first" in done.stdout
    assert done.stdout.endswith("False\n")


@pytest.mark.oldest
def test_a_process_with_a_watch_ends():
    """A script that neither stops its watch nor its session still ends, and leaves no listener that fails."""
    done = run_apart("""
        spark = make_session()
        spark.sparkContext.setLogLevel("ERROR")
        watch = sw.watch(spark)
        queries = [start(rate(spark, 1000), name=name) for name in ("a", "b", "c")]
        wait_until(lambda: all(watch.queries[query].last for query in queries))
        print("DONE")
    """)
    assert done.returncode == 0
    assert "DONE" in done.stdout
    assert "Traceback" not in done.stderr, done.stderr
    assert "ListenerBus" not in done.stderr, done.stderr
