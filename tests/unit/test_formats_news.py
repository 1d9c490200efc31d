"""Log lines that carry the news: what they say is in the verdict, in the error or in the notes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.recordings.formats.lifecycle import HEAD, TAIL
from jupyter_streamwatch.recordings.recording import NO_ID
from tests.unit.test_formats_files import ID, RUN, record

REPORTS = Path(__file__).parent.parent / "cases" / "reports"
AT = "26/03/09 08:0"
STARTING = f"{AT}0:00 INFO MicroBatchExecution: Starting orders [id = {ID}, runId = {RUN}]. Use file:/cp\n"
IDLE = (
    f"{AT}1:22 INFO MicroBatchExecution: Streaming query has been idle and waiting for new data more than 10000 ms.\n"
)
ENDED = "ERROR MicroBatchExecution: Query [id = {id}, runId = {run}] terminated with error\n"
TRACE = (
    "org.apache.spark.SparkException: Job aborted\n\tat org.apache.spark.A.b(A.scala:1)\n"
    "Caused by: x.Y: amount is null\n"
)


def progress(batch):
    return f"{AT}0:{batch:02d} INFO MicroBatchExecution: Streaming query made progress: {json.dumps(record(batch))}\n"


def late(*spent, interval=20_000, start=70.0):
    """Lines about late batches, each as long after the one before as it took."""
    lines, now = [], start
    for took in spent:
        now += took / 1000
        lines.append(
            f"26/03/09 08:{int(now) // 60:02d}:{int(now) % 60:02d} WARN ProcessingTimeExecutor: Current batch is"
            f" falling behind. The trigger interval is {interval} milliseconds, but spent {took} milliseconds\n"
        )
    return "".join(lines)


def only(text):
    """The diagnosis of the only query of a text, and its history."""
    recording = sw.load(text)
    ((id, history),) = recording.queries.items()
    return recording.diagnose(id), history


@pytest.mark.parametrize(
    ("name", "verdict", "says"),
    [
        ("021", "running", "At least 57 of 700 rows"),
        ("023", "running", "At least 4 rows"),
        ("024", "running", "to judge"),
        ("025", "idle", "went on at batch 8; batch 7 was the last one done"),
        ("027", "idle", "No new data has come since the last batch"),
        ("028", "falling-behind", "4 batches in a row took 23.1 s to 31 s of the 20 s trigger interval"),
        ("029", "failed", "up to 600 rows .*900 to 1,500"),
        ("030", "failed", "kind: not-serializable"),
        ("061", "failed", "error: amount is null"),
        ("070", "running", "to judge: 1"),
        ("072", "keeping-up", "Between batches the query waits"),
        ("085", None, "meter.reads partition 0 up to 1,234"),
    ],
)
def test_reports(name, verdict, says):
    """What people paste when they ask for help: the answer of each."""
    (path,) = REPORTS.glob(f"{name}-*")
    recording = sw.load(path)
    said = [*recording.notes]
    for diagnosis in recording.diagnose().values():
        assert diagnosis.verdict == verdict
        said.append(diagnosis.reason)
        for hint in diagnosis.hints:
            said += [hint.title, *(f"{one.name}: {one.value}" for one in hint.evidence)]
    assert bool(recording.queries) == (verdict is not None)
    assert re.search(says, "\n".join(said)), said


def test_the_verdict_is_that_of_the_last_line():
    """An idle line after the last batch makes the query idle, a batch or a late one after it does not."""
    assert only(STARTING + progress(1) + progress(2) + IDLE)[0].verdict == "idle"
    assert only(STARTING + progress(1) + IDLE + progress(2))[0].verdict == "running"
    assert only(STARTING + IDLE + late(23_000, 24_000, 25_000))[0].verdict == "falling-behind"
    assert only(STARTING + IDLE + ENDED.format(id=ID, run=RUN) + TRACE)[0].verdict == "failed"


def test_an_idle_line_of_nobody():
    """Where two queries could be meant, or none is named, it is a note and nobody's idleness."""
    other = STARTING.replace(ID, ID[::-1]).replace(RUN, RUN[::-1])
    assert {one.verdict for one in sw.load(STARTING + other + IDLE).diagnose().values()} == {"starting"}
    recording = sw.load(IDLE + "\n")
    assert (len(recording.queries), recording.notes) == (
        0, ["Once the log says that the query was idle and waited for new data."],
    )  # fmt: skip


def test_late_batches_that_do_not_follow_each_other():
    """One late batch, or late ones with time between them, prove so many overruns and no lag; the interval is known."""
    diagnosis, history = only(late(23_000) + "\n")
    assert (diagnosis.verdict, history.trigger.interval_ms) == ("running", 20_000.0)
    assert "A batch took 23 s of the 20 s trigger interval" in diagnosis.reason
    apart = "".join(late(23_000, start=100.0 * at) for at in range(5))
    assert only(apart)[0].verdict == "running"


@pytest.mark.parametrize(
    ("id", "run"), [(ID, RUN), (ID[:8] + "...", RUN[:8] + "..."), (ID[:6] + "…", RUN[:6] + "…"), ("****", "****")]
)
def test_an_error_with_shortened_or_starred_ids(id, run):
    """It belongs to the query that is meant."""
    diagnosis, history = only(STARTING + progress(1) + ENDED.format(id=id, run=run) + TRACE)
    assert (history.id, len(history.runs), diagnosis.verdict) == (ID, 1, "failed")


def test_an_error_that_names_nobody():
    """It belongs to the only query of the log; where there is none, to one without a name."""
    without = "26/03/09 08:07:06 ERROR MicroBatchExecution: Query terminated with error\n" + TRACE
    assert only(STARTING + without)[1].id == ID
    assert only(without)[1].id == NO_ID


@pytest.mark.parametrize("margin", ["> ", " * ", "# ", "// ", "> > ", "| "])
def test_margins_are_taken_off(margin):
    """An error that is quoted or commented out is the same error."""
    text = STARTING + ENDED.format(id=ID, run=RUN) + TRACE
    quoted = "".join(margin + line for line in text.splitlines(keepends=True))
    assert only(quoted)[1].runs[0].exception == TRACE.strip()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_lines_that_a_terminal_broke(width):
    """A line that goes on in the next one is one line."""
    text = STARTING + ENDED.format(id=ID, run=RUN) + TRACE
    broken = "\n".join(line[at : at + width] for line in text.splitlines() for at in range(0, len(line), width))
    diagnosis, history = only(broken + "\n")
    assert (diagnosis.verdict, history.id, history.name) == ("failed", ID, "orders")


def test_a_long_error_keeps_both_ends():
    """Message and first cause stand at the ends of a trace of any length."""
    frames = "".join(f"\tat org.apache.spark.A{at}.b(A.scala:1)\n" for at in range(3_000))
    trace = TRACE.replace("Caused by", frames + "Caused by")
    exception = only(STARTING + ENDED.format(id=ID, run=RUN) + trace)[1].runs[0].exception
    assert exception.startswith("org.apache.spark.SparkException: Job aborted")
    assert exception.endswith("Caused by: x.Y: amount is null")
    assert HEAD + TAIL <= len(exception) < HEAD + TAIL + 100


def test_the_block_of_an_error_outside_of_a_log():
    """Spark's own block tells the query and what was planned; without any exception beside it, nothing has failed."""
    (path,) = REPORTS.glob("029-*")
    text = path.read_text()
    diagnosis, history = only(text + "\n\tat org.apache.spark.A.b(A.scala:1)\nCaused by: x.Y: no broker\n")
    assert (history.name, diagnosis.verdict) == ("meters", "failed")
    assert history.runs[0].exception.startswith("org.apache.spark.sql.streaming.StreamingQueryException")
    assert history.runs[0].exception.endswith("no broker")
    assert len(sw.load(text.split("\n", 1)[1]).queries) == 0


@pytest.mark.parametrize("first", ["v1\n", "", "> v1\n"])
def test_pasted_entries_of_a_checkpoint(first):
    """An entry of the offset or commit log is understood, and is no progress."""
    margin = "> " if first.startswith(">") else ""
    offsets = f'{first}{margin}{{"batchWatermarkMs":0,"batchTimestampMs":1773000000000,"conf":{{}}}}\n'
    recording = sw.load(f'{offsets}{margin}{{"t":{{"0":7,"1":1234}}}}\n{margin}-\n')
    assert recording.progress == []
    (note,) = recording.notes
    assert "planned 2026-03-08 20:00 UTC: t partition 0 up to 7, t partition 1 up to 1,234; a source without" in note
    (note,) = sw.load(f'{first}{margin}{{"nextBatchWatermarkMs":0}}\n').notes
    assert note.startswith("An entry of the commit log")


def test_notes_come_back(tmp_path):
    """Notes and late batches are saved with a recording."""
    recording = sw.load(late(23_000, 24_000, 25_000) + "26/03/09 INFO X: Committed offsets for batch 7. Metadata x\n")
    recording.save(tmp_path / "r.jsonl")
    again = sw.load(tmp_path / "r.jsonl")
    assert (
        again.notes == recording.notes == ["The log says that the offsets of batch 7 were written to the checkpoint."]
    )
    assert again.diagnose(NO_ID).verdict == recording.diagnose(NO_ID).verdict == "falling-behind"
