"""``%%streamwatch --guard`` and the checkpoint's magics in a real kernel on real Spark: one notebook, run once."""

from __future__ import annotations

import pytest

from tests.ipython.notebooks import ran

CELLS = {
    "setup": """
import os, sys
sys.path.insert(0, {root!r})
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession, functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
own = DataStreamWriter.start, DataStreamWriter.toTable
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false").getOrCreate()
)
source = os.path.join({here!r}, "in")
checkpoint = os.path.join({here!r}, "checkpoint")
os.makedirs(source)
def add(name, city, country):
    with open(os.path.join(source, name), "w") as file:
        file.write('{{"city": "%s", "country": "%s"}}\\n' % (city, country))
add("a.json", "Delhi", "India")
def counts(key, frame=lambda frame: frame):
    orders = frame(spark.readStream.schema("city STRING, country STRING").json(source))
    return (
        orders.groupBy(key).count().writeStream.outputMode("update").queryName("counts").format("console")
        .option("checkpointLocation", checkpoint).trigger(availableNow=True)
    )
def finish(query):
    query.awaitTermination()
    print("last batch", max(int(name) for name in os.listdir(checkpoint + "/commits") if name.isdigit()))
%load_ext jupyter_streamwatch
""",
    "first": '%%streamwatch --guard\nfinish(counts("city").start())',
    "more": 'add("b.json", "Delhi", "India")',
    "changed": """%%streamwatch --guard
other = spark.readStream.format("rate").load().writeStream.queryName("other").format("noop").start()
finish(counts("country").start())
""",
    "state": 'print([query.name for query in spark.streams.active], os.listdir(checkpoint + "/commits"))',
    "restored": "print((DataStreamWriter.start, DataStreamWriter.toTable) == own)",
    "same": '%%streamwatch --guard\nfinish(counts("city").start())',
    "filtered": """%%streamwatch --guard
add("c.json", "Paris", "France")
finish(counts("city", lambda frame: frame.where("city <> 'Rome'")).start())
""",
    "checkpoint": "%streamwatch checkpoint {checkpoint}",
    "of": "%streamwatch checkpoint counts",
    "compare": "changed = counts('country')\n%streamwatch compare {checkpoint} changed",
    "query": "%streamwatch compare {checkpoint} counts",
    "nowhere": "%streamwatch checkpoint {here}/nowhere",
    "unnamed": "%streamwatch compare {checkpoint} nobody",
    "line": "%streamwatch --guard",
    "end": "other.stop()\n%streamwatch stop",
    "spark": "spark.stop()",
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The cells of the notebook after its run, by name."""
    here = tmp_path_factory.mktemp("guard")
    return ran(CELLS, here, checkpoint=here / "checkpoint")


def shown(cell) -> str:
    """All text that a cell shows, errors included."""
    said = [output.text for output in cell.outputs if output.output_type == "stream"]
    said += [f"{output.ename}: {output.evalue}" for output in cell.outputs if output.output_type == "error"]
    bundles = [output.data for output in cell.outputs if "data" in output]
    return "\n".join(said + [text for bundle in bundles for text in bundle.values() if isinstance(text, str)])


def test_a_first_start_passes_in_silence(cells):
    """There is no checkpoint yet, so nothing is compared and nothing is said."""
    said = shown(cells["first"])
    assert "last batch 0" in said
    assert "not started" not in said
    assert "without a comparison" not in said


def test_another_grouping_key_is_stopped(cells):
    """``city`` -> ``country``: Spark would run it with a wrong result; the cell says so, once, and starts nothing."""
    said = shown(cells["changed"])
    assert "The query was not started" in said
    assert "grouping-keys: city → country (silently wrong" in said
    assert "new checkpointLocation" in said
    assert "Traceback" not in said
    assert "guard.py" not in said
    assert said.count("The query was not started") == 1


def test_the_other_query_of_the_cell_goes_on_and_the_checkpoint_is_as_it_was(cells):
    """What was started before in the same cell is not touched; no batch ran on the checkpoint."""
    assert "['other']" in shown(cells["state"])
    assert "'1'" not in shown(cells["state"])


def test_the_calls_are_spark_s_own_again(cells):
    """After the cell nothing is wrapped."""
    assert "True" in shown(cells["restored"])


def test_the_same_query_passes(cells):
    """What fits its checkpoint starts, and goes on from it."""
    said = shown(cells["same"])
    assert "not started" not in said
    assert "last batch 1" in said
    assert "a restart goes on with batch 2" in said, "what stays has the checkpoint as it was at the end"


def test_a_changed_meaning_is_said_and_runs(cells):
    """A filter in front of an aggregation is allowed: one line says that old and new results mix."""
    said = shown(cells["filtered"])
    assert "filter" in said
    assert "not started" not in said
    assert "last batch 2" in said


def test_the_checkpoint_is_shown_with_what_a_restart_does(cells):
    """``%streamwatch checkpoint`` takes a path or a watched query."""
    for name in ("checkpoint", "of"):
        said = shown(cells[name])
        assert "runs batch 3" in said
        assert "city" in said


def test_a_variable_and_a_watched_query_are_compared(cells):
    """``%streamwatch compare PATH NAME``: a writer of the notebook, or a query that was watched."""
    assert "country" in shown(cells["compare"])
    assert "silently wrong" in shown(cells["compare"])
    assert "silently wrong" not in shown(cells["query"])


@pytest.mark.parametrize(("name", "word"), [("nowhere", "nowhere"), ("unnamed", "nobody"), ("line", "%%streamwatch")])
def test_mistakes_are_one_sentence(cells, name, word):
    """A path that is not there, a name that means nothing, the guard without a cell."""
    said = shown(cells[name])
    assert word in said
    assert "Traceback" not in said
