"""Recordings: the way to a query, saving, reading."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from jupyter_streamwatch import testing
from jupyter_streamwatch.model.history import Facts, History
from jupyter_streamwatch.model.queries import Queries
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.recordings.recording import Recording, Skipped
from tests.unit.histories import same

OTHER = "11119999-2222-4333-8444-555555555555"
RUN2 = "bbbbbbbb-bbbb-4ccc-8ddd-eeeeeeeeeeee"


def saved(recording: Recording, path) -> Recording:
    recording.save(path)
    return load(path)


def test_a_query_answers_to_its_id_a_prefix_its_name_and_itself():
    """Iteration yields ids; a name that was used again means its newest query."""
    old, new = testing.history(batches=1), testing.history(batches=1, id=OTHER, start="2026-01-02T00:00:00Z")
    queries = Queries({new.id: new, old.id: old})
    assert list(queries) == [new.id, old.id]
    assert queries[old.id] is queries["11111"] is queries[SimpleNamespace(id=old.id)] is queries[old.snapshot()] is old
    assert queries["orders"] is new


@pytest.mark.parametrize("key", ["late", "1111", "", None, 3])
def test_an_unknown_query_is_a_key_error_that_names_the_right_ones(key):
    """So is a prefix of two."""
    queries = testing.recording(testing.history(batches=1), testing.history(batches=1, id=OTHER)).queries
    with pytest.raises(KeyError) as error:
        queries[key]
    assert f"orders ({testing.ID})" in str(error.value)
    assert OTHER in str(error.value)
    assert queries.get(key) is None


def test_an_empty_recording_says_that_there_is_no_query(tmp_path):
    """Also after it was saved."""
    with pytest.raises(KeyError, match="no query at all"):
        saved(Recording([]), tmp_path / "r.jsonl").queries["x"]


def long_history() -> History:
    history = testing.history(batches=3000, keep=500, stateful=True, backlog=3)
    history.set_tasks(testing.RUN, 2999, {"tasks.count": 7})
    history.end(testing.RUN, 1_767_300_000_000.0, "Boom\n at x", "BOOM")
    history.start(RUN2, "orders", 1_767_300_001_000.0)
    made = testing.run(9, start="2026-01-02T00:00:00Z", first=3000, runId=RUN2)
    for p in (*made[:4], *made[6:]):
        history.append(p)
    history.idle(RUN2, 1_767_400_000_000.0)
    history.set_facts(
        Facts(
            mode="classic",
            trigger=Trigger("processingTime", 2000, "asked"),
            watermarks=(("ts", 600_000.0),),
            stateful=("stateStoreSave",),
            rateLimit=(("maxOffsetsPerTrigger", "100"),),
            why={"checkpoint": "Spark does not tell."},
        )
    )
    return history


@pytest.mark.parametrize(
    "history",
    [
        testing.history(batches=0),
        testing.history(batches=5, stateful=True),
        testing.history([testing.progress(runId=None), replace(testing.progress(), batchId=None)]),
        long_history(),
    ],
    ids=["empty", "short", "without-ids", "long"],
)
def test_what_was_saved_is_read_again(history, tmp_path):
    """Thinned rows, runs, gaps, tasks, facts and records: all is there, and the history can go on."""
    recording = Recording([history], history.recent, environment={"Spark": "4.3.0"}, taken="2026-01-03T00:00:00Z")
    again = saved(recording, tmp_path / "r.jsonl")
    assert again.skipped == []
    assert again.progress == recording.progress
    assert (again.environment, again.taken) == (recording.environment, recording.taken)
    same(history.snapshot(), again.queries[history.id].snapshot())
    run = history.runs[-1].runId if history.runs else RUN2
    more = testing.progress(9999, start="2026-02-01T00:00:00Z", runId=run)
    assert again.queries[history.id].append(more)
    assert not again.queries[history.id].append(more)
    assert not list(tmp_path.glob("*.part"))


def test_records_that_are_in_a_history_alone_are_saved_with_it(tmp_path):
    """The latest records of a history come back, and ``progress`` is what it was."""
    again = saved(Recording([testing.history(batches=5)]), tmp_path / "r.jsonl")
    assert again.progress == []
    assert len(again.queries[testing.ID].recent) == 5


def test_events_become_histories():
    """Lines as a watch appends them: started, progress, idle, tasks, facts, terminated; others are ignored."""
    name = {"id": testing.ID, "runId": testing.RUN}
    recording = Recording.from_events(
        [
            {"streamwatch": 1, "taken": 1_767_225_600_000.0, "environment": {"Spark": "4.3.0"}, "new": 1},
            {"event": "started", **name, "name": "orders", "at": "2026-01-01T00:00:00Z"},
            {"event": "progress", "at": 5, "progress": testing.progress(0).to_dict()},
            {"event": "progress", "at": 5, "progress": testing.progress(1, start="2026-01-01T00:00:02Z")},
            {"event": "tasks", **name, "batchId": 1, "values": {"tasks.count": 3}},
            {"event": "facts", **name, "facts": {"outputMode": "append", "trigger": {"kind": "once", "new": 2}}},
            {"event": "idle", **name, "timestamp": "2026-01-01T00:00:20Z", "at": 7},
            {"event": "terminated", **name, "at": 1_767_225_690_000.0, "exception": "Boom", "errorClass": None},
            {"event": "something new", "id": 7},
            {},
        ]
    )
    history = recording.queries["orders"]
    assert recording.skipped == []
    assert recording.taken == 1_767_225_600_000.0
    assert [p.batchId for p in recording.progress] == [0, 1]
    assert history.runs[0].started == 1_767_225_600_000.0
    assert (history.runs[0].state, history.runs[0].ended) == ("failed", 1_767_225_690_000.0)
    assert history.batches["tasks.count"][1] == 3
    assert history.facts == Facts(outputMode="append", trigger=Trigger("once"))
    assert history.idleSince == 1_767_225_620_000.0


def test_what_cannot_be_read_is_skipped_with_its_line(tmp_path):
    """A recording that was cut in the middle of a line, or damaged, gives the rest."""
    path = tmp_path / "r.jsonl"
    good = json.dumps({"event": "progress", "progress": testing.progress(0).to_dict()})
    broken = [
        '{"event": "progress"}',
        '{"event": "progress", "progress": {}}',
        '{"event": "history", "id": "a", "runs": [{}], "rows": {"": [0], "batchId": [0, 1]}}',
        '{"event": "tasks", "id": "a", "values": 3}',
        '{"event": "facts", "facts": {"trigger": 3}}',
        "[" * 100_000,
        '{"event": "progr',
    ]
    path.write_text("\n".join(['{"streamwatch": 1}', good, *broken]))
    recording = load(path)
    assert len(recording.progress) == 1
    assert len(recording.skipped) >= 5
    assert all(isinstance(skipped, Skipped) and skipped.reason and skipped.line for skipped in recording.skipped)


def test_a_missing_file_is_not_found(tmp_path):
    """Like any file."""
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_no_secret_is_saved(tmp_path):
    """Descriptions, errors, facts and the environment are redacted on their way to the disk."""
    history = testing.history(batches=1, sink={"description": "jdbc:postgresql://me:hunter2@db/x?password=hunter2"})
    history.end(testing.RUN, exception='failed with {"sasl.password": "hunter2"}')
    history.set_facts(Facts(checkpoint="s3a://key:hunter2@bucket/c"))
    Recording([history], environment={"spark.ssl.keyPassword": "hunter2"}).save(tmp_path / "r.jsonl")
    text = (tmp_path / "r.jsonl").read_text()
    assert "redacted" in text
    assert "hunter2" not in text


def test_a_recording_diagnoses_its_queries():
    """Without a query it is one Diagnosis an id."""
    recording = testing.recording(batches=5)
    assert list(recording.diagnose()) == [testing.ID]
    assert recording.diagnose("orders").verdict == recording.diagnose()[testing.ID].verdict
