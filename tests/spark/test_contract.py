"""The public API as its users know it, on real queries: nothing but what is public is used."""

from __future__ import annotations

import json
import threading
from datetime import timedelta

import pytest

import jupyter_streamwatch as sw
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, rate, start

FAST = {"processingTime": "200 milliseconds"}
ONCE = {"availableNow": True}


def count(spark, directory, checkpoint, *, name=None, each=None):
    """Count rows by five minutes of event time, the watermark ten minutes behind; availableNow."""
    from pyspark.sql import functions as F

    frame = files(spark, directory, "ts TIMESTAMP").withWatermark("ts", "10 minutes")
    counts = frame.groupBy(F.window("ts", "5 minutes")).count()
    named = {} if name is None else {"name": name}
    return start(
        counts,
        mode="update",
        checkpoint=checkpoint,
        trigger=ONCE,
        each=each or (lambda frame, _: frame.count()),
        **named,
    )


@pytest.mark.oldest
def test_the_example_of_three_runs(spark, watch, tmp_path):
    """Right after ``awaitTermination`` a read has that run: rows, kinds, watermarks and dropped rows of three runs."""
    times = ["12:01", "12:02", "12:07"], ["12:20", "12:03"], ["12:04"]
    batches = 0
    for number, moments in enumerate(times):
        rows = [{"ts": f"2026-09-15T{moment}:00Z"} for moment in moments]
        add_file(tmp_path / "in", f"{number}.json", rows)
        query = count(spark, tmp_path / "in", tmp_path / "cp", name="windows")
        query.awaitTermination()
        history = watch.queries["windows"]
        assert len(history.runs) == number + 1
        assert len(history.to_pandas()) > batches
        batches = len(history.to_pandas())
    frame = history.to_pandas()
    assert frame["batchId"].tolist() == [0, 1, 2, 3, 4]
    assert frame["numInputRows"].tolist() == [3, 0, 2, 0, 1]
    assert frame["kind"].tolist() == ["data", "no-data", "data", "no-data", "data"]
    marks = frame["eventTime.watermark"]
    assert [None if mark is marks.iloc[0] else mark.strftime("%H:%M") for mark in marks] == [
        None,
        "11:57",
        "11:57",
        "12:10",
        "12:10",
    ]
    assert marks.isna().tolist() == [True, False, False, False, False]
    assert str(marks.dt.tz) == "UTC"
    assert frame["state.numRowsDroppedByWatermark"].tolist() == [0, 0, 0, 0, 1]
    assert frame["runId"].nunique() == 3
    diagnosis = watch.diagnose("windows")
    assert diagnosis.verdict == "finished"
    assert "late-rows-dropped" in [hint.code for hint in diagnosis.hints]


@pytest.mark.oldest
def test_a_session_has_one_watch(spark):
    """``sw.watch`` again is the same watch, with and without the session; no row is there twice; stop is safe twice."""
    with sw.watch() as first:
        query = start(rate(spark), name="one", trigger=FAST)
        assert sw.watch() is sw.watch(spark) is first
        wait_until(lambda: query.lastProgress)
        query.stop()
        ids = [p["batchId"] for p in query.recentProgress if "addBatch" in p["durationMs"]]
        assert list(first.queries["one"].batches["batchId"]) == ids
        left = first.stop()
        assert first.stop() is left
    html = left._repr_mimebundle_()["text/html"]
    assert "one" in html
    assert "<script" not in html
    assert list(first.queries["one"].batches["batchId"]) == ids
    assert first.diagnose("one").verdict == "stopped"
    assert query.exception() is None


@pytest.mark.oldest
def test_stopping_the_watch_stops_no_query(spark):
    """The end of the block, also by an error, leaves queries alone, and a new watch sees them at once."""
    query = start(rate(spark), name="lives", trigger=FAST)
    with pytest.raises(ZeroDivisionError), sw.watch(spark) as watch:
        print(1 / 0)
    assert query.isActive
    wait_until(lambda: query.lastProgress)
    with sw.watch(spark) as again:
        assert again is not watch
        assert "lives" in again.queries
        assert again.queries[query].last is not None
    assert query.isActive


@pytest.mark.oldest
def test_keys_of_the_queries(spark, watch, tmp_path):
    """An id, its beginning, a name, a query; iteration yields ids; a reused name is its newest query."""
    first = start(rate(spark), name="twice", trigger=FAST, checkpoint=tmp_path / "a")
    first.stop()
    second = start(rate(spark), name="twice", trigger=FAST, checkpoint=tmp_path / "b")
    unnamed = start(rate(spark), trigger=FAST)
    ids = [str(query.id) for query in (first, second, unnamed)]
    assert set(ids) <= set(watch.queries)
    assert len(watch.queries) == len(list(watch.queries))
    for query in (first, second, unnamed):
        id = str(query.id)
        for key in (id, id[:8], query, query.id):
            assert watch.queries[key].id == id
            assert watch.diagnose(key).verdict
    assert watch.queries["twice"].id == ids[1]
    assert watch.queries["twice"].name == "twice"
    assert watch.queries[unnamed].name is None
    for read in (watch.queries.__getitem__, watch.diagnose, lambda key: watch.report(tmp_path / "x.md", key)):
        with pytest.raises(KeyError) as error:
            read("thrice")
        assert all(text in str(error.value) for text in ("thrice", "twice", *ids))
    assert "thrice" not in watch.queries


@pytest.mark.oldest
def test_records_are_those_of_spark(spark, watch):
    """Code that reads ``lastProgress`` reads a record: the same names, and the same values where both know them."""
    query = start(rate(spark), name="same", trigger=FAST)
    wait_until(lambda: query.lastProgress and query.lastProgress["numInputRows"])
    query.stop()
    theirs, ours = query.lastProgress, watch.queries["same"].record
    for of in (ours, watch.recording().progress[-1]):
        assert of["batchId"] == of.batchId == theirs["batchId"]
        assert of["timestamp"] == theirs["timestamp"]
        assert (of["id"], of["runId"]) == (str(theirs["id"]), str(theirs["runId"]))
        assert dict(of["durationMs"]) == dict(theirs["durationMs"])
        assert of["numInputRows"] == theirs["numInputRows"]
        assert of["sources"][0]["description"] == theirs["sources"][0]["description"]
        assert of["sink"]["description"] == theirs["sink"]["description"]
        assert set(theirs) <= set(of)
        assert set(theirs["sources"][0]) <= set(of["sources"][0])
    assert (
        sw.diagnose(query.recentProgress).to_dict()
        == sw.diagnose([query.lastProgress, *query.recentProgress]).to_dict()
    )
    assert sw.diagnose(query.lastProgress).verdict == "running"


@pytest.mark.oldest
def test_verdicts_of_live_queries(spark, watch, tmp_path):
    """Starting or waiting, running or keeping up, then stopped; a failure is failed; without a key each by its id."""
    add_file(tmp_path / "in", "1.json", [{"n": 1}])
    fails = start(files(spark, tmp_path / "in"), name="fails", each=lambda frame, batch: 1 / 0)
    with pytest.raises(Exception, match="division"):
        fails.awaitTermination()
    assert watch.diagnose(fails).verdict == "failed"
    assert watch.diagnose(fails).hints[0].code == "query-failed"
    assert "division" in watch.queries[fails].runs[-1].exception
    empty = start(files(spark, tmp_path / "none"), name="waits", trigger=FAST)
    assert watch.diagnose(empty).verdict in ("starting", "idle")
    lives = start(rate(spark), name="lives", trigger=FAST)
    assert watch.diagnose(lives).verdict in ("starting", "running")
    wait_until(lambda: len(watch.queries[lives].to_pandas()) > 6)
    assert watch.diagnose(lives).verdict in ("keeping-up", "running", "at-capacity")
    lives.stop()
    assert watch.diagnose(lives).verdict == "stopped"
    assert watch.diagnose().keys() == set(watch.queries)
    assert all(json.dumps(found.to_dict(), allow_nan=False) for found in watch.diagnose().values())


@pytest.mark.oldest
def test_a_stated_trigger_beats_the_one_that_is_asked(spark):
    """``trigger`` is that of each query, also of one that starts later."""
    early = start(rate(spark), name="early", trigger=FAST)
    with sw.watch(spark, trigger="3 seconds") as watch:
        late = start(rate(spark), name="late", trigger=FAST)
        for query in (early, late):
            trigger = watch.queries[query].trigger
            assert (trigger.kind, trigger.interval_ms, trigger.origin) == ("processingTime", 3000, "stated")
        with pytest.raises(ValueError, match="rigger"):
            sw.watch(spark, trigger="soon")


@pytest.mark.oldest
def test_hints_are_told_until_the_remover_is_called(spark, watch, tmp_path):
    """``on_hint`` gets the history and the hint of each finding; what it raises disturbs nobody."""
    told, silent, event = [], [], threading.Event()

    def tell(history, hint):
        told.append((history.id, hint.code))
        if hint.code == "late-rows-dropped":
            event.set()
        raise RuntimeError("not your fault")

    watch.on_hint(tell)
    remove = watch.on_hint(lambda history, hint: silent.append(hint))
    remove()
    remove()
    moments = ["2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z"], ["2026-01-01T09:00:00Z"] * 3
    for number, times in enumerate(moments):
        add_file(tmp_path / "in", f"{number}.json", [{"ts": time} for time in times])
        query = count(spark, tmp_path / "in", tmp_path / "cp")
        query.awaitTermination()
    assert event.wait(10)
    assert (str(query.id), "late-rows-dropped") in told
    assert silent == []
    hint = next(hint for hint in watch.diagnose(query).hints if hint.code == "late-rows-dropped")
    assert (hint.severity in ("warning", "info"), bool(hint.title), bool(hint.evidence)) == (True, True, True)


@pytest.mark.oldest
def test_a_recording_is_a_snapshot_that_comes_back(spark, watch, tmp_path):
    """It does not grow with the query; saved and loaded it is the same, as is the file of ``record``."""
    sw.watch(spark, record=tmp_path / "live.jsonl")
    query = start(rate(spark), name="kept", trigger=FAST)
    wait_until(lambda: len(watch.queries["kept"].to_pandas()) > 2)
    early = watch.recording()
    before = list(early.queries["kept"].batches["batchId"])
    query.stop()
    rec = watch.recording()
    assert list(early.queries["kept"].batches["batchId"]) == before
    ids = list(rec.queries["kept"].batches["batchId"])
    assert ids == list(range(len(ids)))
    assert len(ids) >= len(before)
    rec.save(tmp_path / "saved.jsonl")
    watch.stop()
    for name in ("saved.jsonl", "live.jsonl"):
        again = sw.load(tmp_path / name)
        history = again.queries["kept"]
        assert history.id == str(query.id)
        assert list(history.batches["batchId"]) == ids, name
        assert [p.batchId for p in again.progress if p.kind != "idle"] == ids
        assert [run.state for run in history.runs] == ["ended"]
        assert again.diagnose("kept").verdict == "stopped"
        assert history.runs[0].started
        assert history.runs[0].ended >= history.runs[0].started
        assert all(moment.utcoffset() == timedelta(0) for moment in history.batches["timestamp"])
    assert again.skipped == []


@pytest.mark.oldest
def test_reports(spark, watch, tmp_path):
    """Written by suffix, for one query or all; the object shows itself; another suffix is refused."""
    query = start(rate(spark), name="told", trigger=FAST)
    start(rate(spark), name="other", trigger=FAST)
    wait_until(lambda: len(watch.queries["told"].to_pandas()) > 2)
    query.stop()
    for suffix in ("html", "md", "json"):
        shown = watch.report(tmp_path / f"x.{suffix}")
        text = (tmp_path / f"x.{suffix}").read_text(encoding="utf-8")
        assert "told" in text
        assert "other" in text
        assert "told" in shown._repr_mimebundle_()["text/html"]
        watch.report(str(tmp_path / f"one.{suffix}"), query)
        assert "told" in (tmp_path / f"one.{suffix}").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "x.json").read_text())
    for bad in ("x.pdf", "x"):
        with pytest.raises(ValueError, match=r"\.html"):
            watch.report(tmp_path / bad)


@pytest.mark.oldest
def test_continuous_mode_says_that_it_reports_nothing(spark, watch):
    """No progress is no fault: running, and a hint says that Spark reports nothing in this mode."""
    query = start(rate(spark).filter("value % 2 = 0"), "console", name="continuous", trigger={"continuous": "1 second"})
    wait_until(lambda: watch.diagnose(query).verdict == "running", timeout=20)
    diagnosis = watch.diagnose(query)
    assert "no-progress-mode" in [hint.code for hint in diagnosis.hints]
    assert [hint.code for hint in diagnosis.hints if hint.severity in ("warning", "critical")] == []
    assert len(watch.queries[query].to_pandas()) == 0
    query.stop()
    assert watch.diagnose(query).verdict == "stopped"
