"""What is asked of a session that is stopped, of a JVM that is gone, and of a JVM that hangs: nothing raises."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.oldest

BEFORE = """
    import logging, os, signal, sys
    logging.basicConfig(level=logging.WARNING)
    from jupyter_streamwatch import probe
    from jupyter_streamwatch.history import Facts
    from tests.helpers import wait_until
    from tests.spark.conftest import make_session
    spark = make_session()
    query = spark.readStream.format("rate").load().writeStream.format("noop").start()
    runId = str(query.runId)
    assert probe.facts(spark, query).trigger
    wait_until(lambda: query.lastProgress, 120, "a batch")

    def all_unknown():
        facts = probe.facts(spark, query)
        assert facts.trigger is None and facts.sink is None and facts.mode == "classic", facts
        assert facts.why["trigger"] and facts.why["watermarks"]
        assert probe.running(spark, runId) is None
        assert probe.tasks(spark, runId, 0) == {}
        assert probe.active(spark) == []
        assert "Python" in probe.environment(spark)  # a stopped session may still tell its version
"""
SCENES = {
    "stopped": """
        spark.stop()
        all_unknown()
        probe.status(query)  # Spark may still say something
    """,
    "dead": """
        process = spark.sparkContext._gateway.proc
        os.killpg(process.pid, signal.SIGKILL) if os.getpgid(process.pid) == process.pid else process.kill()
        process.wait()
        all_unknown()
        assert probe.status(query) is None
        os._exit(0)  # PySpark's own clean-up would talk to the JVM that is gone
    """,
    "hanging": """
        process = spark.sparkContext._gateway.proc
        os.kill(process.pid, signal.SIGSTOP)
        all_unknown()
        assert probe.status(query) is None
        assert probe.running(spark, runId) is None
        os.kill(process.pid, signal.SIGCONT)
        wait_until(lambda: probe.status(query), 120, "the JVM is back")
        assert probe.facts(spark, query).trigger
        query.stop()
        spark.stop()
    """,
}


@pytest.mark.parametrize("scene", list(SCENES))
def test_nothing_raises_without_spark(scene):
    """Every function answers (a JVM that hangs never would), and py4j writes no traceback into the notebook."""
    code = textwrap.dedent(BEFORE) + textwrap.dedent(SCENES[scene])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert "Traceback" not in done.stderr
