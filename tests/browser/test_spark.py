"""The dashboard over a real query of a real Spark, in a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browser.lab import Notebook

from tests.browser.conftest import PROLOGUE

START = f"""{PROLOGUE}
import tempfile
from pyspark.sql import SparkSession
import jupyter_streamwatch as sw
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "2").getOrCreate())
watch = sw.watch()
query = (spark.readStream.format("rate").option("rowsPerSecond", 20).load()
         .writeStream.format("memory").queryName("ticks")
         .option("checkpointLocation", tempfile.mkdtemp("-checkpoint")).trigger(processingTime="1 second").start())
watch.dashboard()"""
BUSY = "while not (query.lastProgress and query.lastProgress.batchId >= 5):\n    query.awaitTermination(0.1)"
STOP = "query.stop(); left = watch.stop(); spark.stop()"


def test_a_rate_query(notebook: Callable[..., Notebook]) -> None:
    """Batches are painted while a cell sleeps, the checkpoint's card opens; stopping leaves text and picture."""
    made = notebook(START, BUSY, STOP)
    made.ran(0)
    made.wait("d.queries === '1'")
    made.run(1)
    made.wait("d.lastBatch >= 3 && d.painted > 3")
    data = made.data()
    assert data["batches"] == f"0-{data['lastBatch']}"
    assert made.page.locator(".sw-name").inner_text() == "ticks"
    card = made.page.locator(".sw-checkpoint")
    card.locator(".sw-checkpoint-summary", has_text="batch").wait_for()
    assert not card.locator("dl").is_visible()
    card.locator("summary").focus()
    made.page.keyboard.press("Enter")
    card.locator("dd", has_text="-checkpoint").wait_for()
    assert "Last commit" in card.inner_text()
    assert "not exactly once" in card.inner_text()
    made.ran(2)
    made.page.wait_for_selector(".jp-OutputArea-output img")
    assert "ticks" in made.text(0)
    assert "Checkpoint: a restart" in made.text(0) or "runs it again" in made.text(0)
    assert made.errors == []
