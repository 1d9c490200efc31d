"""One history: rows, runs, gaps, snapshots, thinning, threads."""

from __future__ import annotations

import sys
import threading
from datetime import datetime, timezone

import numpy as np
import pytest

from jupyter_streamwatch import testing
from jupyter_streamwatch.model.history import Facts, History, RunningBatch, Status
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.trigger import Trigger
from tests.benchmarks import bench_history

OTHER = "bbbbbbbb-bbbb-4ccc-8ddd-eeeeeeeeeeee"
SECOND = 1000.0
T0 = 1_767_225_600_000.0  # testing.START


def idle(at, batchId=9, **changes):
    durations = {"latestOffset": 0, "triggerExecution": 0}
    return testing.progress(batchId, 0, 0, T0 + at * SECOND, durationMs=durations, **changes)


def ids(history):
    return history.batches["batchId"].tolist()


def test_one_row_a_batch_in_sparks_words():
    """Columns carry Spark's names with dots; unknown is NaN or None; the first batch has no input rate."""
    history = testing.history(batches=3, stateful=True, backlog=4)
    batches = history.batches
    assert batches.rows == history.seen == 3
    assert len(batches) == len(batches.names)
    assert set(batches) >= {"batchId", "runId", "kind", "durationMs.addBatch", "state.numRowsTotal", "count"}
    assert batches["batchId"].dtype == np.int64
    assert batches["batchId"].tolist() == [0, 1, 2]
    assert batches["kind"].tolist() == ["data"] * 3
    assert batches["runId"].tolist() == [testing.RUN] * 3
    assert batches["timestamp"][0] == datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert batches.numbers("timestamp")[1] == T0 + 2 * SECOND
    assert np.isnan(batches["inputRowsPerSecond"][0])
    assert batches["inputRowsPerSecond"][1] == 50
    assert batches["state.numRowsTotal"].tolist() == batches["state[0].numRowsTotal"].tolist() == [10, 20, 30]
    assert batches["backlog"].tolist() == batches["source[0].backlog"].tolist() == [4, 4, 4]
    assert batches["eventTime.watermark"].tolist() == [None] * 3
    assert np.isnan(batches.numbers("nothing")).all()
    with pytest.raises(KeyError, match="batchId"):
        batches["nothing"]


def test_a_watermark_of_the_epoch_is_unset():
    """Spark writes 1970 until the first event time was seen."""
    times = {"watermark": "1970-01-01T00:00:00.000Z", "max": "1970-01-01T00:00:00.000Z"}
    batches = testing.history(batches=1, eventTime=times).batches
    assert batches["eventTime.watermark"][0] is None
    assert batches["eventTime.max"][0] == datetime(1970, 1, 1, tzinfo=timezone.utc)


def test_sums_over_operators_are_unknown_when_one_is():
    """The state of two operators is the sum of both, and nobody knows it when one does not tell."""
    operators = [{"numRowsTotal": 5, "memoryUsedBytes": 0}, {"numRowsTotal": 7, "memoryUsedBytes": 90}]
    batches = testing.history(batches=1, stateOperators=operators).batches
    assert batches["state.numRowsTotal"][0] == 12
    assert np.isnan(batches["state.memoryUsedBytes"][0])
    assert batches["state[1].memoryUsedBytes"][0] == 90


def test_an_empty_history_has_all_that_a_view_reads():
    """No batch, no run, nothing known: every attribute is there."""
    history = History("a")
    assert (history.runs, history.gaps, history.recent, history.trigger) == ((), (), (), None)
    assert history.batches.rows == 0
    assert all(len(history.batches[name]) == 0 for name in history.batches)
    assert (history.last, history.record, history.idleSince, history.running, history.status) == (None,) * 5
    assert history.facts == Facts()


def test_a_batch_is_taken_once_and_a_replay_is_a_row_of_its_own():
    """The same batch of the same run is known; the same id in a new run is another batch."""
    history = History(testing.ID)
    p = testing.progress(4)
    assert history.append(p)
    assert not history.append(p)
    assert history.append(testing.progress(4, runId=OTHER, start=T0 + 9 * SECOND))
    assert ids(history) == [4, 4]
    assert history.batches.runIndex.tolist() == [0, 1]
    assert [run.state for run in history.runs] == ["ended", "active"]


def test_batches_that_come_late_stand_at_their_time():
    """What was read once on attach may be older than what the listener brought; gaps close as it comes."""
    history = History(testing.ID)
    made = testing.run(12)
    for i in (5, 9, 6, 2, 3):
        assert history.append(made[i])
    assert ids(history) == [2, 3, 5, 6, 9]
    assert history.gaps == ((3, 5), (6, 9))
    assert history.inserted == 3
    assert history.last.batchId == 9
    assert not history.append(made[3])
    for i in (4, 7, 8):
        history.append(made[i])
    assert history.gaps == ()
    assert (history.runs[0].firstBatch, history.runs[0].lastBatch) == (2, 9)


def test_late_batches_find_their_place_across_chunks():
    """Order holds however many rows there are, in any order of arrival."""
    made = testing.run(1500)
    order = np.random.default_rng(1).permutation(1500)
    history = History(testing.ID)
    for i in order:
        history.append(made[i])
    assert ids(history) == list(range(1500))
    assert history.gaps == ()


def test_progress_of_a_stopped_run_belongs_to_its_run():
    """It may come after the next run's start, and changes neither the latest run nor the last batch."""
    history = History(testing.ID)
    history.start(testing.RUN, "orders", T0)
    history.append(testing.progress(0))
    history.end(testing.RUN, T0 + 5 * SECOND)
    history.start(OTHER, "orders", T0 + 10 * SECOND)
    history.append(testing.progress(2, runId=OTHER, start=T0 + 11 * SECOND))
    history.append(testing.progress(1, start=T0 + 4 * SECOND))
    assert ids(history) == [0, 1, 2]
    assert [(run.runId, run.firstBatch, run.lastBatch, run.state) for run in history.runs] == [
        (testing.RUN, 0, 1, "ended"),
        (OTHER, 2, 2, "active"),
    ]
    assert history.last.batchId == 2
    assert history.runs[0].restartedBy is None


def test_a_run_that_another_one_took_over_was_replaced():
    """Running a cell again stops the active run without an error; its end may come before or after that."""
    history = History(testing.ID)
    history.start(testing.RUN, "orders", T0)
    history.start(OTHER, "orders", T0 + 10 * SECOND)
    history.end(testing.RUN, T0 + 11 * SECOND)
    assert [(run.restartedBy, run.state) for run in history.runs] == [("replaced", "ended"), (None, "active")]


def test_an_error_ends_a_run_as_failed():
    """The full text and the class are kept; the batch that ran is gone."""
    history = testing.history(batches=1)
    history.set_running(RunningBatch(testing.RUN, 1))
    history.end(testing.RUN, T0 + 9 * SECOND, "a\nb", "PYTHON_EXCEPTION")
    run = history.runs[0]
    assert (run.state, run.exception, run.errorClass) == ("failed", "a\nb", "PYTHON_EXCEPTION")
    assert run.ended == T0 + 9 * SECOND
    assert history.running is None


def test_the_end_of_an_unseen_run_leaves_the_active_one_alone():
    """A late termination of a run from before we watched is an earlier run."""
    history = testing.history(batches=1)
    history.end(OTHER, T0)
    assert [(run.runId, run.state) for run in history.runs] == [(OTHER, "ended"), (testing.RUN, "active")]


def test_idle_records_are_no_batches():
    """The first one after the last batch tells since when; a batch ends the idleness, a start does too."""
    history = testing.history(batches=2)
    assert history.append(idle(12))
    assert not history.append(idle(12))
    assert history.append(idle(22))
    assert history.batches.rows == 2
    assert history.idleSince == T0 + 12 * SECOND
    assert history.last.batchId == 1
    assert history.record.kind == "idle"
    assert [p.kind for p in history.recent] == ["data", "data", "idle", "idle"]
    history.append(testing.progress(2, start=T0 + 30 * SECOND))
    assert history.idleSince is None
    assert history.idle(testing.RUN, T0 + 40 * SECOND)
    assert history.idleSince == T0 + 40 * SECOND
    history.start(OTHER, at=T0 + 50 * SECOND)
    assert history.idleSince is None
    history.append(idle(45, 10))
    assert history.idleSince is None


def test_records_without_ids_are_rows():
    """Spark 2.1 sent no batch ids: the timestamp tells batches apart; without a run they belong to the latest."""
    record = {"numInputRows": 3, "timestamp": "2026-01-01T00:00:00Z"}
    history = History("a")
    assert history.append(parse(record))
    assert not history.append(parse(record))
    assert history.append(parse({**record, "timestamp": "2026-01-01T00:00:09Z"}))
    assert history.append(parse({"numInputRows": 3}))
    assert history.batches.rows == 3
    assert np.isnan(history.batches["batchId"]).all()
    assert [run.runId for run in history.runs] == [""]


def test_snapshots_never_change():
    """A snapshot is as the history was, also when rows, tasks, columns and runs come later; it refuses changes."""
    history = testing.history(batches=600)
    history.set_tasks(testing.RUN, 599, {"tasks.count": 3})
    snapshot = history.snapshot()
    assert snapshot is history.snapshot()
    assert snapshot.snapshot() is snapshot
    before = {name: snapshot.batches.numbers(name).copy() for name in ("batchId", "numInputRows")}
    other = snapshot.batches  # columns that were not read yet must not change either
    history.set_tasks(testing.RUN, 599, {"tasks.count": 8, "tasks.failed": 1, "other": 2})
    history.set_tasks(testing.RUN, 5, {"tasks.count": 8})
    history.append(testing.progress(600, durationMs={"brandNew": 4}, start=T0 + 1e7))
    history.append(testing.progress(0, runId=OTHER, start=T0 + 2e7))
    assert other.numbers("tasks.count")[599] == 3
    assert np.isnan(other.numbers("tasks.count")[5])
    assert all((snapshot.batches.numbers(name) == before[name]).all() for name in before)
    assert "durationMs.brandNew" not in snapshot.batches.names
    assert (len(snapshot.runs), snapshot.seen, snapshot.version < history.version) == (1, 600, True)
    assert history.batches.numbers("tasks.count")[[5, 599]].tolist() == [8, 8]
    with pytest.raises(ValueError, match="read-only"):
        snapshot.batches["numInputRows"][0] = 1
    for change in (
        lambda: snapshot.append(testing.progress(9)),
        lambda: snapshot.start("x"),
        lambda: snapshot.end("x"),
        lambda: snapshot.set_facts(Facts()),
        lambda: snapshot.set_running(None),
        lambda: snapshot.set_status(None),
        lambda: snapshot.set_tasks("x", 1, {}),
        lambda: snapshot.state_trigger(None),
    ):
        with pytest.raises(TypeError, match="snapshot"):
            change()


def test_tasks_may_come_before_their_batch():
    """They wait for it; names that are no tasks column and values that are no numbers are left out."""
    history = History(testing.ID)
    history.set_tasks(testing.RUN, 0, {"tasks.count": 4, "tasks.failed": float("nan"), "batchId": 9})
    history.append(testing.progress(0))
    assert history.batches["tasks.count"].tolist() == [4]
    assert ids(history) == [0]
    assert "tasks.failed" not in history.batches


def test_versions_tell_whether_anything_changed():
    """Every change raises the version; what is known already does not."""
    history = testing.history(batches=1)
    seen = [history.version]
    for change in (
        lambda: history.set_status(Status("Processing new data")),
        lambda: history.set_running(RunningBatch(testing.RUN, 1)),
        lambda: history.set_facts(Facts(outputMode="append")),
        lambda: history.append(testing.progress(1, start=T0 + SECOND)),
    ):
        change()
        seen.append(history.version)
    assert seen == sorted(set(seen))
    assert history.running is None  # its batch has come
    history.set_status(Status("Processing new data"))
    history.append(testing.progress(1, start=T0 + SECOND))
    assert history.version == seen[-1]


def test_stated_beats_asked_beats_inferred():
    """The user knows best, then Spark, then the starts of the batches."""
    history = testing.history(batches=6, interval=3)
    assert history.trigger == Trigger("processingTime", 3000, "inferred")
    history.set_facts(Facts(trigger=Trigger("processingTime", 5000, "asked")))
    assert history.trigger.origin == "asked"
    history.state_trigger(Trigger.parse(7))
    assert history.trigger == Trigger("processingTime", 7000, "stated")
    history.state_trigger(None)
    assert history.trigger.origin == "asked"


def test_old_batches_are_thinned_and_the_whole_run_stays_visible():
    """Beyond the full rows there are few bins of equal size, with mean, least and largest; sums stay."""
    history = History(testing.ID, keep=500)
    made = testing.run(20_000, rows=lambda i: i % 100 + 1, duration=lambda i: 1900 if i == 7777 else 500)
    for p in made:
        history.append(p)
    batches = history.batches
    assert 500 <= int((batches.count == 1).sum()) <= batches.rows <= 2500
    assert batches.count.sum() == history.seen == 20_000
    assert batches.numbers("timestamp")[0] == T0
    assert batches["batchId"][0] == 0
    assert (np.diff(batches.numbers("batchId")) == batches.count[:-1]).all()
    assert (batches.numbers("numInputRows") * batches.count).sum() == sum(p.numInputRows for p in made)
    spike = int(np.argmax(batches.maximum("batchDuration")))
    assert batches.maximum("batchDuration")[spike] == 1900
    assert batches.minimum("batchDuration")[spike] == 500
    assert 500 < batches.numbers("batchDuration")[spike] < 1900
    assert (batches["batchId"][spike], batches["batchId"][spike + 1]) <= (7777, 7777 + int(batches.count[spike]))
    assert not history.append(made[3])
    assert ids(history)[-500:] == list(range(19_500, 20_000))


def test_thinning_keeps_unknown_apart_from_zero():
    """The mean of a bin is that of its known values, and unknown when there are none."""
    history = History(testing.ID, keep=100)
    for i in range(3000):
        backlog = 10 if i % 2 and i < 1500 else None
        history.append(testing.progress(i, start=T0 + i * SECOND, backlog=backlog))
    old = history.batches.numbers("backlog")[: history.batches.thinned]
    assert history.batches.count[0] > 1
    assert set(old[~np.isnan(old)]) == {10}
    assert np.isnan(old[-1])


def test_columns_are_bounded():
    """1,000 sources and endless names of parts do not make endless columns."""
    history = History(testing.ID)
    many = {"sources": [{"numInputRows": 1}] * 1000, "stateOperators": [{"numRowsTotal": 1}] * 1000}
    for i in range(50):
        durations = {f"part{i}_{j}": 1 for j in range(100)}
        history.append(testing.progress(i, start=T0 + i, durationMs=durations, **many))
    assert len(history.batches.names) <= 610
    assert "source[19].numInputRows" in history.batches
    assert "source[20].numInputRows" not in history.batches


def test_runs_and_their_errors_are_bounded():
    """A query that fails and restarts for ever keeps its latest runs, and full errors of the latest of those."""
    history = History(testing.ID, keep=200)
    for i in range(1000):
        history.start(f"run {i}", at=T0 + i * SECOND)
        history.append(testing.progress(i, runId=f"run {i}", start=T0 + i * SECOND))
        history.end(f"run {i}", T0 + i * SECOND, "x" * 5000)
    assert [run.runId for run in history.runs] == [f"run {i}" for i in range(800, 1000)]
    assert sum(len(run.exception) for run in history.runs) <= 100 * 5000 + 100 * 500
    assert history.batches["runId"][-1] == "run 999"
    assert history.batches.rows == 1000


def test_to_pandas_has_times_and_unknowns():
    """One row a batch; times are UTC-aware, unknown ones NaT."""
    frame = testing.history(batches=3).to_pandas()
    assert list(frame["batchId"]) == [0, 1, 2]
    assert str(frame["timestamp"].dtype).endswith("UTC]")
    assert frame["eventTime.watermark"].isna().all()


def test_to_pandas_says_what_is_missing(monkeypatch):
    """Without pandas it is one sentence."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        testing.history(batches=1).to_pandas()


def test_readers_and_a_writer_do_not_meet():
    """While one thread writes, snapshots taken by others are whole: every column as long as the rows, ids in order."""
    history = History(testing.ID, keep=300)
    made = testing.run(4000)
    errors, done = [], threading.Event()

    def read():
        try:
            while not done.is_set():
                snapshot = history.snapshot()
                batches = snapshot.batches
                assert all(len(batches.numbers(name)) == batches.rows for name in batches.names)
                first = batches["batchId"]
                assert (np.diff(first) > 0).all()
                assert batches.count.sum() == snapshot.seen
                assert not snapshot.seen or snapshot.last.batchId == snapshot.runs[0].lastBatch == snapshot.seen - 1
                assert len(history.recent) <= 200
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for p in made:
        history.append(p)
        if p.batchId % 3 == 0:
            history.set_tasks(testing.RUN, p.batchId - 1, {"tasks.count": 2})
    done.set()
    for reader in readers:
        reader.join()
    assert errors == []
    assert history.seen == 4000


def test_appending_costs_the_same_however_long_the_history_is():
    """The benchmark's own measure, with room for a busy machine."""
    assert bench_history.append_ratio(20_000, 2_000) < 2.0


@pytest.mark.parametrize("junk", [1e308, -1e308, np.nan, np.inf])
def test_to_pandas_never_reads_memory_that_nothing_was_written_to(monkeypatch, junk):
    """Whatever stood there before: unknown times are NaT, known ones exact."""
    history = testing.history(batches=2, start="2026-01-01T00:00:00.123Z", eventTime={})
    empty = np.empty

    def dirty(*given, **named):
        made = empty(*given, **named)
        if made.dtype.kind == "f":
            made[...] = junk
        return made

    monkeypatch.setattr(np, "empty", dirty)
    frame = history.to_pandas()
    monkeypatch.undo()
    assert frame["eventTime.watermark"].isna().all()
    assert str(frame["timestamp"][0]) == "2026-01-01 00:00:00.123000+00:00"
