"""What is asked of a JVM that hangs, of a session that is stopped, and of a JVM that is gone: nothing raises."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.oldest

CODE = """
    import faulthandler, gc, logging, os, signal
    faulthandler.dump_traceback_later(300, exit=True)
    logging.basicConfig(level=logging.WARNING)
    from jupyter_streamwatch.spark import probe
    from tests.helpers import wait_until
    from tests.spark.conftest import make_session
    from tests.spark.queries import rate, start

    def begin():
        spark = make_session()
        query = start(rate(spark))
        assert probe.facts(spark, query).trigger
        return spark, query, str(query.runId)

    def all_unknown(spark, query, runId):
        facts = probe.facts(spark, query)
        assert facts.trigger is None and facts.sink is None and facts.mode == "classic", facts
        assert facts.why["trigger"] and facts.why["watermarks"]
        assert probe.running(spark, runId) is None
        assert probe.tasks(spark, runId, 0) == {}
        assert probe.active(spark) == []
        assert "Python" in probe.environment(spark)  # a stopped session may still tell its version

    spark, query, runId = begin()
    process = spark.sparkContext._gateway.proc
    gc.collect()
    gc.disable()  # py4j tells the JVM of each reference that is collected, and would wait for it here
    os.kill(process.pid, signal.SIGSTOP)
    print("HANGING", flush=True)
    facts = probe.facts(spark, query)
    assert facts.trigger is None and facts.why["trigger"], facts
    assert probe.status(query) is None
    assert probe.running(spark, runId) is None
    assert probe.tasks(spark, runId, 0) == {}
    assert probe.active(spark) == []
    assert set(probe.environment(spark)) == {"Python"}
    os.kill(process.pid, signal.SIGCONT)
    gc.enable()
    wait_until(lambda: probe.status(query), 120, "the JVM is back")
    assert probe.facts(spark, query).trigger

    query.stop()
    spark.stop()
    print("STOPPED", flush=True)
    all_unknown(spark, query, runId)
    probe.status(query)  # Spark may still say something

    spark, query, runId = begin()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    print("DEAD", flush=True)
    all_unknown(spark, query, runId)
    assert probe.status(query) is None
    print("DONE", flush=True)
    os._exit(0)  # PySpark's own clean-up would talk to the JVM that is gone
"""


def test_nothing_raises_without_spark():
    """Every function answers (a JVM that hangs never would), and py4j writes no traceback into the notebook."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CODE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert "DONE" in done.stdout, done.stdout + done.stderr[-3_000:]
    assert "Traceback" not in done.stderr, done.stderr[-3_000:]
