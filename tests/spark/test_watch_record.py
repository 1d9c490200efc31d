"""Recording while watching, hints, and what a watch does with callbacks that fail."""

from __future__ import annotations

import json
import threading

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.recordings.load import load
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, rate, start


@pytest.mark.oldest
def test_events_are_recorded_while_they_come(spark, tmp_path):
    """``record=`` appends each event as a JSON line; the file opens as what was watched."""
    path = tmp_path / "run.jsonl"
    add_file(tmp_path / "in", "1.json", [{"n": 1}])
    with sw.watch(spark, record=path) as watch:
        assert sw.watch(spark, record=path) is watch
        query = start(files(spark, tmp_path / "in"), name="taped", trigger={"availableNow": True})
        query.awaitTermination()
        history = watch.queries["taped"]
        wait_until(lambda: history.facts.trigger and '"tasks"' in path.read_text())
        wait_until(lambda: load(path).queries["taped"].facts == history.facts)
    kinds = [json.loads(text).get("event", "head") for text in path.read_text().splitlines()]
    assert kinds[0] == "head"
    assert kinds.count("head") == 1
    assert [kind for kind in kinds if kind in ("started", "progress", "terminated")] == [
        "started",
        "progress",
        "terminated",
    ]
    found = load(path)
    assert found.skipped == []
    assert found.environment["Spark"] == spark.version
    again = found.queries["taped"]
    assert again.runs == history.runs
    assert list(again.batches["batchId"]) == list(history.batches["batchId"])
    assert again.facts == history.facts


def test_recording_goes_on_in_a_file_that_is_there(spark, tmp_path):
    """A second watch appends to the same file: both runs are in it."""
    path = tmp_path / "run.jsonl"
    for _ in range(2):
        with sw.watch(spark, record=path) as watch:
            query = start(rate(spark), checkpoint=tmp_path / "cp", trigger={"availableNow": True})
            query.awaitTermination()
            watch.sync()
    assert len(load(path).queries[query].runs) == 2


def test_a_path_that_cannot_be_written_is_the_callers_error(spark, tmp_path):
    """A file that cannot be opened raises at the call, where it can be put right."""
    with pytest.raises(OSError, match="nowhere"):
        sw.watch(spark, record=tmp_path / "nowhere" / "run.jsonl")
    sw.watch(spark).stop()


def test_hints_are_raised_once(spark, watch):
    """``on_hint`` is called once for a code of a query, on a thread of ours, and can be taken back."""
    raised = []
    remove = watch.on_hint(lambda history, hint: raised.append((history.name, hint.code, threading.current_thread())))

    def each(frame, batch):
        raise ValueError("out of tune")

    for name in ("first", "second"):
        query = start(rate(spark), each=each, name=name)
        with pytest.raises(Exception, match="out of tune"):
            query.awaitTermination()
    wait_until(lambda: {name for name, code, _ in raised if code == "query-failed"} == {"first", "second"})
    watch._hints.look()
    assert len({(name, code) for name, code, _ in raised}) == len(raised)
    assert threading.main_thread() not in {thread for _, _, thread in raised}
    remove()
    query = start(rate(spark), each=each, name="third")
    with pytest.raises(Exception, match="out of tune"):
        query.awaitTermination()
    watch.sync()
    watch._hints.look()
    assert "third" not in {name for name, _, _ in raised}


def test_callbacks_that_fail_are_noted(spark, watch):
    """What a person's callbacks raise is a sentence in ``problems``; watching goes on."""

    def broken(*args):
        raise KeyError("mine")

    watch.on_hint(broken)
    watch.subscribe(broken)

    def each(frame, batch):
        raise ValueError("out of tune")

    query = start(rate(spark), each=each, name="noted")
    with pytest.raises(Exception, match="out of tune"):
        query.awaitTermination()
    assert watch.queries["noted"].runs[0].state == "failed"
    wait_until(lambda: any("on_hint callback raised KeyError" in sentence for sentence in watch.problems))
    assert any("view could not be told" in sentence for sentence in watch.problems)
