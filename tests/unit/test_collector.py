"""The collector: arrivals become histories; nothing is lost, waited for, or raised."""

from __future__ import annotations

import json
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.recordings.recording import Recording
from jupyter_streamwatch.recordings.writer import Recorder
from jupyter_streamwatch.spark.events import stops
from jupyter_streamwatch.spark.events.base import Arrival
from jupyter_streamwatch.watching.collector import Collector
from tests.helpers import wait_until

ID = "6d1fe2a2-0000-0000-0000-000000000001"
RUNS = ["9c1d8a00-0000-0000-0000-000000000001", "9c1d8a00-0000-0000-0000-000000000002"]


def reading(**limits):
    """A collector of arrivals that are plain events already."""
    collector = Collector(**limits)
    collector.read = plain
    return collector


def record(batch=0, id=ID, run=RUNS[0], **changes):
    return {
        "id": id,
        "runId": run,
        "name": None,
        "timestamp": f"2026-01-01T00:{batch // 60 % 60:02d}:{batch % 60:02d}.000Z",
        "batchId": batch,
        "numInputRows": 10,
        "durationMs": {"addBatch": 100, "triggerExecution": 120},
        "stateOperators": [],
        "sources": [],
        "sink": {"description": "console"},
        **changes,
    }


def plain(arrival):
    return {"event": arrival.kind, "at": arrival.at, **arrival.payload}


def progress(*args, **changes):
    return Arrival("progress", {"progress": json.dumps(record(*args, **changes))}, 1.0)


@pytest.fixture
def collector():
    collector = reading()
    collector.start()
    yield collector
    collector.close()


def test_events_of_one_query_make_one_history(collector):
    """Start, batches, an idle look and the end of a run are in the history of its id."""
    words = {"id": ID, "runId": RUNS[0]}
    collector.put(Arrival("started", {**words, "name": "q", "timestamp": "2026-01-01T00:00:00.000Z"}, 1.0))
    for batch in range(3):
        collector.put(progress(batch))
    collector.put(progress(2))
    collector.put(Arrival("idle", {**words, "timestamp": "2026-01-01T00:01:00.000Z"}, 2.0))
    collector.put(Arrival("terminated", {**words, "exception": None, "errorClass": None}, 3.0))
    assert collector.drain(5)
    (history,) = collector.histories()
    assert (history.id, history.name) == (ID, "q")
    assert list(history.batches["batchId"]) == [0, 1, 2]
    assert history.idleSince is not None
    assert (history.runs[0].state, history.runs[0].ended) == ("ended", 3.0)
    assert not collector.problems


def test_a_full_queue_counts_and_does_not_wait():
    """While the collector is held up, what does not fit is counted; the rest is there afterwards."""
    collector = reading(limit=100)
    collector.start()
    with collector.held():
        begin = time.perf_counter()
        for batch in range(250):
            collector.put(progress(batch))
        assert time.perf_counter() - begin < 1.0
    collector.drain(5)
    rows = collector.histories()[0].batches.rows
    assert rows in (100, 101)  # one may have been taken from the queue before it was full
    assert collector.missed == 250 - rows
    collector.close()


def test_what_cannot_be_understood_is_a_sentence(collector):
    """Text that is no progress, a payload that cannot be read and an unknown kind are noted; the next is taken."""
    collector.put(Arrival("progress", {"progress": "{not json"}, 1.0))
    collector.put(Arrival("progress", {"progress": "[]"}, 1.0))
    collector.put(Arrival("progress", None, 1.0))
    collector.put(Arrival("started", {}, 1.0))
    collector.put(progress(0))
    assert collector.drain(5)
    assert len(collector.problems) >= 3
    assert all("\n" not in sentence for sentence in collector.problems)
    assert collector.histories()[0].batches.rows == 1


def test_problems_are_bounded(collector):
    """A thousand different problems keep a hundred sentences."""
    for number in range(1_000):
        collector.note(f"problem {number}")
    assert len(collector.problems) == 100


def test_a_failing_observer_does_not_stop_the_others(collector):
    """What an observer raises is noted; the other observers and the next events are served."""
    seen = []

    def broken(event):
        raise RuntimeError("mine")

    collector.observers += [broken, seen.append]
    collector.put(progress(0))
    collector.put(progress(1))
    assert collector.drain(5)
    assert [event["progress"].batchId for event in seen] == [0, 1]
    assert any("mine" in sentence for sentence in collector.problems)


def test_views_are_told_once_a_burst(collector):
    """A hundred events that came together are one change to tell."""
    told = []
    collector.views.subscribe(lambda: told.append(1))
    with collector.held():
        for batch in range(100):
            collector.put(progress(batch))
    wait_until(lambda: collector.histories() and collector.histories()[0].batches.rows == 100)
    assert collector.drain(5)
    assert 1 <= len(told) <= 3


def events(*, end_first: bool, gap: float = 5.0):
    """A run, its end and the start of the next one, in either order."""
    end = {"event": "terminated", "id": ID, "runId": RUNS[0], "at": 10_000.0, "exception": None, "errorClass": None}
    start = {"event": "started", "id": ID, "runId": RUNS[1], "name": None, "at": 10_000.0 + gap}
    first = {"event": "started", "id": ID, "runId": RUNS[0], "name": None, "at": 1_000.0}
    return [first, end, start] if end_first else [first, start, end]


@pytest.mark.parametrize("end_first", [True, False])
@pytest.mark.parametrize(
    ("kind", "stopped", "expected"),
    [
        ("processingTime", False, "replaced"),
        ("processingTime", True, None),
        ("availableNow", False, None),
        ("once", False, None),
    ],
)
def test_replaced_is_told_from_stopped_and_started(monkeypatch, end_first, kind, stopped, expected):
    """A run that nobody stopped and that does not end by itself was replaced, whichever event comes first."""
    monkeypatch.setattr(stops, "when", lambda runId: 9_990.0 if stopped else None)
    collector = reading()
    collector.note_trigger(RUNS[0], kind)
    for event in events(end_first=end_first):
        collector.apply(event)
    runs = collector.histories()[0].runs
    assert [run.restartedBy for run in runs] == [expected, None]
    assert [run.state for run in runs] == ["ended", "active"]


@pytest.mark.parametrize("end_first", [True, False])
@pytest.mark.parametrize("kind", ["processingTime", "availableNow"])
@pytest.mark.parametrize("stopped", [True, False])
def test_a_recording_replays_as_it_was_live(monkeypatch, tmp_path, end_first, kind, stopped):
    """Runs read from the file that a watch appends to are those of the watch, in whatever order their events came."""
    monkeypatch.setattr(stops, "when", lambda runId: 9_990.0 if stopped else None)
    collector = reading()
    recorder = Recorder(tmp_path / "watch.jsonl", pytest.fail)
    recorder.begin(Recording([]))
    collector.observers.append(recorder.write)
    collector.note_trigger(RUNS[0], kind)
    for event in events(end_first=end_first):
        collector.apply(event)
    recorder.close()
    assert load(tmp_path / "watch.jsonl").queries[ID].runs == collector.histories()[0].runs


def test_a_start_long_after_the_end_replaces_nothing(monkeypatch):
    """A run that ended minutes before the next start was not replaced by it."""
    collector = reading()
    collector.note_trigger(RUNS[0], "processingTime")
    for event in events(end_first=True, gap=60_000.0):
        collector.apply(event)
    assert collector.histories()[0].runs[0].restartedBy is None


def test_reading_from_a_callback_does_not_wait_for_itself(collector):
    """Draining on the collector's own thread returns at once."""
    results = []
    collector.observers.append(lambda event: results.append(collector.drain(5)))
    collector.put(progress(0))
    assert collector.drain(1)
    assert results == [True]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(record())), json_values, st.integers(0, 50))
def test_mutated_records_never_raise(key, value, batch):
    """Whatever stands in a field of a progress record, applying it raises nothing."""
    collector = reading()
    collector.apply({"event": "progress", "at": None, "progress": record(batch, **{key: value})})
    collector.apply({"event": "progress", "at": None, "progress": record(batch + 1)})
    assert any(history.id == ID for history in collector.histories())


def test_a_thousand_events_a_second_of_a_hundred_queries():
    """Three seconds of 1,000 events a second: nothing is lost, and the queue stays far from full."""
    collector = reading()
    collector.start()
    most = 0
    pause = threading.Event()
    begin = time.monotonic()
    for number in range(3_000):
        query, batch = number % 100, number // 100
        collector.put(progress(batch, id=f"{query:08d}-0000-0000-0000-000000000001", run=f"{query:08d}"))
        most = max(most, len(collector._queue))
        ahead = number / 1_000 - (time.monotonic() - begin)
        if ahead > 0.005:
            pause.wait(ahead)
    assert collector.drain(30)
    assert collector.missed == 0
    assert most < 10_000
    histories = collector.histories()
    assert len(histories) == 100
    assert all(list(history.batches["batchId"]) == list(range(30)) for history in histories)
    collector.close()
