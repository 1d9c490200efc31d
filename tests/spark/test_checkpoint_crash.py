"""A process that dies after its sink wrote a batch and before Spark committed it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.checkpoints.facade import Checkpoint
from jupyter_streamwatch.checkpoints.parts import KnownSink
from jupyter_streamwatch.checkpoints.storage.files import Local
from tests.conftest import ROOT
from tests.spark.checkpoint_queries import SCHEMA, Maker

if TYPE_CHECKING:
    from pathlib import Path

CRASHING = f"""
import os, signal, sys
from tests.spark.conftest import make_session

base = sys.argv[1]

def write(rows, id):
    rows.write.mode("append").parquet(base + "/plain")
    if id == 1:
        os.kill(os.getpid(), signal.SIGKILL)

spark = make_session()
frame = spark.readStream.schema("{SCHEMA}").option("maxFilesPerTrigger", 1).json(base + "/in")
query = frame.writeStream.foreachBatch(write).option("checkpointLocation", base + "/checkpoints/crash")
query.trigger(availableNow=True).start().awaitTermination()
"""


@pytest.mark.oldest
def test_killed_between_sink_and_commit(spark: Any, tmp_path: Path) -> None:
    """A kill -9 after the write of batch 1: the plan says batch 1 again over its file, and so it is."""
    maker = Maker(spark, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", CRASHING, str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == -9, done.stderr[-2_000:]
    folder = maker.path("crash")
    assert sorted(path.name for path in (folder / "commits").iterdir() if not path.name.startswith(".")) == ["0"]
    assert spark.read.parquet(str(tmp_path / "plain")).count() == 4  # the sink has both batches

    found = Checkpoint(Local(folder), sink=KnownSink("foreachBatch"))
    plan = found.restart()
    assert (plan.batchId, plan.replay, plan.blocked) == (1, True, None)
    (source,) = plan.sources
    assert [path.rpartition("/")[2] for path in source.files] == ["2.json"]
    assert (source["from"], source["to"], source.gone) == ({"logOffset": 0}, {"logOffset": 1}, ())
    assert plan.sinkSafe == "depends"
    assert "txnVersion" in plan.code_fix

    rows: list[tuple[int, list[int]]] = []

    def write(batch: Any, id: int) -> None:
        rows.append((id, sorted(row["id"] for row in batch.collect())))
        batch.write.mode("append").parquet(str(tmp_path / "plain"))

    query = maker.run("crash", maker.source(), each=write)
    assert str(query.id) == found.id
    assert rows == [(1, [1, 3])]
    assert spark.read.parquet(str(tmp_path / "plain")).count() == 6  # a plain append has the batch twice
    after = sw.checkpoint(folder)
    assert after.lastCommit == 1
    assert after.offsets[1].timestampMs == plan.plannedMs
