"""The magics in a real kernel on real Spark: one notebook, run once; each test looks at its cells."""

from __future__ import annotations

import re

import pytest

from tests.ipython.notebooks import ran

CELLS = {
    "setup": """
import os, sys, threading
sys.path.insert(0, {root!r})
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
def threads_end():
    for thread in threading.enumerate():
        if thread.name == "streamwatch-cell":
            thread.join(30)
%load_ext jupyter_streamwatch
""",
    # The cell makes the session itself.
    "first": """%%streamwatch
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false").getOrCreate()
)
rate = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
first = rate.writeStream.queryName("first").format("noop").trigger(processingTime="1 second").start()
print("this cell made", first.name)
""",
    "progress": "while not first.lastProgress: first.awaitTermination(0.2)",
    "line": "%streamwatch first",
    "wrong": "%streamwatch nonsense",
    "report": "%streamwatch report first.html first",
    "diagnose": "%streamwatch diagnose first",
    "second": """%%streamwatch
folder = os.path.join({here!r}, "in")
os.makedirs(folder)
open(os.path.join(folder, "a.json"), "w").write('{{"n": 1}}\\n{{"n": 2}}\\n')
second = (
    spark.readStream.schema("n INT").json(folder).writeStream.queryName("second").format("noop")
    .trigger(availableNow=True).start()
)
second.awaitTermination()
"the value of the cell"
""",
    # What a thread shows between two cells is lost on nbclient: a cell runs until it is there.
    "second's end": '[t for t in threading.enumerate() if t.name == "streamwatch-cell"][-1].join(60)',
    "quick": """%%streamwatch
gate = threading.Event()
quick = (
    spark.readStream.schema("n INT").json(folder).writeStream.queryName("quick")
    .foreachBatch(lambda frame, batch: gate.wait(60) and None).trigger(availableNow=True).start()
)
""",
    "quick's end": """gate.set()
[thread for thread in threading.enumerate() if thread.name == "streamwatch-cell"][-1].join(60)
""",
    "failing": """%%streamwatch
raise ValueError("the user's own mistake")
""",
    "unclear": """%%streamwatch
this is no Python
""",
    "magics": """%%streamwatch
%pwd
""",
    "awaiting": """%%streamwatch
import asyncio
await asyncio.sleep(0)
""",
    "stop": "first.stop()\nfirst.awaitTermination()\nthreads_end()",
    "end": "%streamwatch stop",
    "after": "%streamwatch stop",
    "spark": "spark.stop()",
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The cells of the notebook after its run, by name."""
    here = tmp_path_factory.mktemp("notebook")
    return {**ran(CELLS, here), "folder": here}


def data(cell) -> list[dict]:
    """The bundles that a cell shows."""
    return [output.data for output in cell.outputs if "data" in output]


def shown(cell) -> str:
    """All text and HTML that a cell shows."""
    said = [output.text for output in cell.outputs if output.output_type == "stream"]
    return "\n".join(said + [text for bundle in data(cell) for text in bundle.values() if isinstance(text, str)])


def errors(cell) -> list:
    """The errors that a cell shows."""
    return [output for output in cell.outputs if output.output_type == "error"]


def is_static(cell) -> bool:
    """Whether what stays is a picture and plain HTML, with no widget that needs the kernel."""
    kinds = {kind for bundle in data(cell) for kind in bundle}
    return {"image/png", "text/html"} <= kinds and "application/vnd.jupyter.widget-view+json" not in kinds


def test_a_cell_that_returns_leaves_the_picture_when_its_query_ends(cells):
    """``%%streamwatch`` around a cell that makes the session and returns after ``.start()``."""
    cell = cells["first"]
    assert not errors(cell)
    assert "this cell made first" in shown(cell)
    assert is_static(cell)
    assert "first" in shown(cell)
    assert "Stopped" in shown(cell)


def test_a_cell_that_waits_shows_what_it_started_alone(cells):
    """The dashboard of a cell holds the query that it started, not those that ran before."""
    cell = cells["second"]
    assert not errors(cell)
    assert is_static(cell)
    html = "".join(bundle.get("text/html", "") for bundle in data(cell))
    assert "second" in html
    assert "Finished" in html
    assert not re.search(r">\s*first\s*<", html)
    assert "the value of the cell" in shown(cell)


def test_a_cell_that_returns_at_once_shows_what_it_started(cells):
    """A query that has only just started when the cell ends is shown until its end, not forgotten."""
    assert is_static(cells["quick"])
    assert "quick" in shown(cells["quick"])
    assert "Finished" in shown(cells["quick"])


def test_a_cell_that_fails_in_vain_leaves_no_dashboard(cells):
    """Nothing was started, so nothing but the user's own error is shown."""
    assert "streaming quer" not in shown(cells["failing"])


def test_the_users_own_error_is_shown_once(cells):
    """A cell that raises shows its own error, with its own line, once."""
    (error,) = errors(cells["failing"])
    assert (error.ename, error.evalue) == ("ValueError", "the user's own mistake")
    trace = "\n".join(error.traceback)
    assert "raise" in trace
    assert "jupyter_streamwatch" not in trace
    (error,) = errors(cells["unclear"])
    assert error.ename == "SyntaxError"


def test_magics_work_inside(cells):
    """The cell is run as IPython runs a cell."""
    assert not errors(cells["magics"])
    assert str(cells["folder"]) in shown(cells["magics"])


def test_a_cell_that_awaits_is_refused_in_one_sentence(cells):
    """The kernel's event loop runs already, so a cell within the cell cannot wait for it."""
    said = shown(cells["awaiting"]) + "".join(error.evalue for error in errors(cells["awaiting"]))
    assert "await" in said
    assert "Traceback" not in said


def test_the_line_magic_shows_the_widget_and_its_end_a_picture(cells):
    """``%streamwatch NAME`` is the live widget; ``%streamwatch stop`` swaps it for the picture."""
    assert not errors(cells["line"])
    assert is_static(cells["line"])
    assert is_static(cells["end"])


def test_a_wrong_name_lists_the_right_ones(cells):
    """One sentence, no traceback."""
    said = shown(cells["wrong"]) + "".join(error.evalue for error in errors(cells["wrong"]))
    assert "nonsense" in said
    assert "first" in said
    assert "Traceback" not in said


def test_the_report_is_written_and_says_where(cells):
    """``%streamwatch report FILE NAME`` writes the file."""
    assert not errors(cells["report"])
    assert "first.html" in shown(cells["report"])
    assert "streamwatch-data" in (cells["folder"] / "first.html").read_text()


def test_diagnose_prints_the_verdict(cells):
    """``%streamwatch diagnose NAME`` is text for a terminal, too."""
    assert not errors(cells["diagnose"])
    assert shown(cells["diagnose"]).startswith("first\n")
    assert ":" in shown(cells["diagnose"])


def test_stopping_twice_is_a_sentence(cells):
    """After ``%streamwatch stop`` nothing is watched."""
    said = shown(cells["after"]) + "".join(error.evalue for error in errors(cells["after"]))
    assert "Nothing is watched" in said


def test_no_cell_shows_an_error_of_ours(cells):
    """Apart from the user's own errors and our one-sentence refusals no cell fails."""
    failed = {name for name, cell in cells.items() if name != "folder" and errors(cell)}
    assert failed <= {"failing", "unclear", "wrong", "awaiting", "after"}
