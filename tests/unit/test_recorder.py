"""The file that a watch appends to: it says what the watch knows, whatever happens to the process that writes it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jupyter_streamwatch import testing
from jupyter_streamwatch.model.checkpoint_card import Card
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.recordings.recording import Recording
from jupyter_streamwatch.recordings.writer import Recorder
from jupyter_streamwatch.watching.collector import Collector
from tests.unit.histories import same

ROOT = Path(__file__).parents[2]
START = 1_767_225_600_000.0
OTHER = "22222222-2222-4333-8444-555555555555"


@pytest.fixture(autouse=True)
def closed_files(monkeypatch):
    """Whatever a test opens is closed after it."""
    opened = []

    def opening(*arguments):
        opened.append(Recorder(*arguments))
        return opened[-1]

    monkeypatch.setitem(globals(), "open_recorder", opening)
    yield
    for recorder_of_test in opened:
        recorder_of_test.close()


open_recorder = Recorder


def recorder(path, known=None, note=pytest.fail) -> Recorder:
    made = open_recorder(path, note)
    made.begin(known or Recording([]))
    return made


def event(batch, start=None, **changes):
    progress = testing.progress(batch, start=START + batch * 2000 if start is None else start, **changes)
    return {"event": "progress", "at": 5.0, "id": progress.id, "progress": progress}


def test_a_recording_survives_fifty_crashes(tmp_path):
    """Killed at random moments, and gone on with each time: every event that was written is read, once."""
    path = tmp_path / "run.jsonl"
    program = [sys.executable, "-m", "tests.hostile.crash", str(path), "50", "1"]
    written = json.loads(subprocess.run(program, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
    recording = load(path)
    batches = [p.batchId for p in recording.progress]
    assert len(written) > 30
    assert set(written) <= set(batches)
    assert len(set(batches)) == len(batches) <= len(written) + 50
    assert len(recording.skipped) <= 50


@pytest.mark.parametrize("seed", range(50))
def test_a_half_last_line_takes_no_other_with_it(tmp_path, seed):
    """A file that was cut anywhere, is gone on with: whole lines before it and all after it are read."""
    path = tmp_path / "run.jsonl"
    first = recorder(path)
    for batch in range(3):
        first.write(event(batch))
    first.close()
    whole = path.read_bytes()
    chance = random.Random(seed)
    cut = chance.randrange(40) if seed < 15 else chance.randrange(len(whole))
    path.write_bytes(whole[:cut])
    kept = max(whole[:cut].count(b"\n") - 1, 0)
    second = recorder(path)
    for batch in range(3, 6):
        second.write(event(batch))
    second.close()
    again = load(path)
    assert [p.batchId for p in again.progress] == [*range(kept), 3, 4, 5]
    assert len(again.skipped) <= 1


def lives(collector: Collector, seed: int):
    """Do something of what happens to queries, at random: batches, idle notes, starts, ends, facts, tasks, cards."""
    chance = random.Random(seed)
    clock, batch, run = START, {}, {}
    while True:
        id = chance.choice([testing.ID, OTHER])
        clock += chance.choice([500, 2000, 2000, 30_000])
        what = chance.choice(
            ["progress"] * 12 + ["idle"] * 3 + ["restart", "fail", "facts", "tasks", "card", "trigger"]
        )
        if id not in run or what == "restart":
            run[id] = f"{chance.getrandbits(32):08x}-bbbb-4ccc-8ddd-eeeeeeeeeeee"
            collector.apply({"event": "started", "id": id, "runId": run[id], "name": f"name of {id[0]}", "at": clock})
        of = {"id": id, "runId": run[id], "at": clock}
        if what == "progress":
            batch[id] = batch.get(id, -1) + chance.choice([1, 1, 1, 3])
            rows = chance.choice([0, 10, 10, 500])
            made = testing.progress(batch[id], rows, start=clock, id=id, runId=run[id], backlog=chance.randrange(99))
            collector.apply({"event": "progress", "at": clock, "progress": made})
        elif what == "idle":
            collector.apply({"event": "idle", **of, "timestamp": None})
        elif what == "fail":
            collector.apply({"event": "terminated", **of, "exception": "Boom\n at x", "errorClass": "BOOM"})
        elif what == "facts":
            facts = Facts(mode="classic", sparkVersion="4.3.0", outputMode=chance.choice(["append", "update"]))
            collector.history(id).set_facts(facts)
            collector.record({"event": "facts", **of, "facts": facts})
        elif what == "tasks" and id in batch:
            values = {"tasks.count": float(chance.randrange(9))}
            collector.history(id).set_tasks(run[id], batch[id], values)
            collector.record({"event": "tasks", **of, "batchId": batch[id], "values": values})
        elif what == "card":
            card = Card(clock, path="/c", runId=run[id], nextBatch=chance.randrange(99))
            collector.history(id).set_checkpoint(card)
            collector.record({"event": "checkpoint", **of, "checkpoint": card})
        elif what == "trigger":
            collector.state_trigger(Trigger("processingTime", chance.choice([1000.0, 2000.0])))
        yield


def known(collector: Collector) -> Recording:
    return Recording.of(collector.histories(), {"Spark": "4.3.0"})


def equal(ours: Recording, theirs: Recording) -> None:
    """Fail unless both say the same of each query, and list the same records of it in the same order."""
    assert not theirs.skipped or not theirs.queries
    assert list(ours.queries) == list(theirs.queries)
    assert ours.environment == theirs.environment
    for id, history in ours.queries.items():
        other = theirs.queries[id]
        same(history.snapshot(), other.snapshot())
        assert other.checkpoint == history.checkpoint
        mine = [p for p in ours.progress if p.id == id]
        assert [p.to_dict() for p in theirs.progress if p.id == id][-len(mine) :] == [p.to_dict() for p in mine]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("before", [0, 3, 60, 900])
def test_a_file_says_what_the_watch_knows(tmp_path, seed, before):
    """Recorded from the beginning or from later on: what is read from the file is what the watch has."""
    collector = Collector(keep=10_000)
    life = lives(collector, seed)
    for _ in range(before):
        next(life)
    collector.recorder = open_recorder(tmp_path / "run.jsonl", pytest.fail)
    collector.recorder.begin(known(collector))
    equal(known(collector), load(tmp_path / "run.jsonl"))
    for _ in range(80):
        next(life)
    equal(known(collector), load(tmp_path / "run.jsonl"))
    known(collector).save(tmp_path / "saved.jsonl")
    equal(known(collector), load(tmp_path / "saved.jsonl"))


def test_events_that_come_while_what_is_known_is_written_are_not_lost(tmp_path):
    """They stand behind it, in their order."""
    writer = open_recorder(tmp_path / "run.jsonl", pytest.fail)
    threads = [threading.Thread(target=writer.write, args=(event(batch),)) for batch in (5,)]
    for thread in threads:
        thread.start()
        thread.join()
    writer.begin(testing.recording(batches=5))
    writer.write(event(6))
    assert load(tmp_path / "run.jsonl").queries[testing.ID].batches["batchId"].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_a_file_that_is_gone_on_with_holds_no_record_twice(tmp_path):
    """The same watch records to one file, to another, and to the first again."""
    collector = Collector()
    life = lives(collector, 7)
    for name in ("a", "b", "a"):
        for _ in range(30):
            next(life)
        collector.recorder = open_recorder(tmp_path / name, pytest.fail)
        collector.recorder.begin(known(collector))
    for _ in range(30):
        next(life)
    again = load(tmp_path / "a")
    equal(known(collector), again)
    assert len(again.progress) == len({(p.id, p.runId, p.batchId) for p in again.progress})


@pytest.mark.parametrize("keep", [None, 600])
def test_a_later_watch_adds_to_what_the_file_knows(tmp_path, keep):
    """A kernel that was started anew knows its own run only; the file keeps those before, also thinned ones."""
    early = testing.history(batches=700 if keep else 5, runId=testing.RUN, **({"keep": 100} if keep else {}))
    late = testing.history(
        batches=700 if keep else 4, runId=OTHER, start="2026-02-01T00:00:00Z", first=early.seen,
        **({"keep": 100} if keep else {}),
    )  # fmt: skip
    for history in (early, late):
        recorder(tmp_path / "run.jsonl", Recording([history], history.recent)).close()
    both = load(tmp_path / "run.jsonl").queries[testing.ID]
    assert [run.runId for run in both.runs] == [testing.RUN, OTHER]
    assert both.seen == int(both.batches.count.sum()) == early.seen + late.seen
    starts = both.batches.numbers("timestamp")
    assert (starts[1:] > starts[:-1]).all()
    assert sum(both.batches.count * both.batches.numbers("numInputRows")) == 100 * both.seen
    assert {p.runId for p in both.recent} == ({OTHER} if keep else {testing.RUN, OTHER})


def test_no_other_file_is_appended_to(tmp_path):
    """A wrong name must not spoil a file that is somebody's."""
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(ValueError, match="is no recording"):
        open_recorder(path, pytest.fail)
    assert path.read_text() == "mine"


def test_a_full_disk_is_a_sentence():
    """The recording stops, the watching does not."""
    said = []
    writer = recorder("/dev/full", note=said.append)
    writer.write(event(0))
    writer.close()
    assert len(said) == 1
    assert "No space left" in said[0]
