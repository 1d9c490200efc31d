"""The classic bridge: our own py4j proxy, and what it fetches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_streamwatch.spark.events import classic
from jupyter_streamwatch.spark.events.open import active_session, open_bridge
from tests.helpers import wait_until
from tests.spark.queries import rate, start


@pytest.fixture
def attached(spark: Any):
    bridge = open_bridge(spark)
    arrivals: list[Any] = []
    bridge.attach(arrivals.append)
    yield bridge, arrivals
    bridge.detach()


@pytest.mark.oldest
def test_events_arrive_as_references_and_are_read_later(spark, attached):
    """Started, progress and terminated come in order for one run; their text is read off the listener's thread."""
    bridge, arrivals = attached
    query = start(rate(spark), name="bridge", trigger={"processingTime": "200 milliseconds"})
    run = str(query.runId)
    wait_until(lambda: sum(a.kind == "progress" for a in arrivals) >= 2)
    query.stop()
    wait_until(lambda: arrivals[-1].kind == "terminated")
    events = [dict(bridge.read(arrival)) for arrival in arrivals]
    assert events[0] | {"at": 0} == {
        "event": "started",
        "id": str(query.id),
        "runId": run,
        "name": "bridge",
        "timestamp": events[0]["timestamp"],
        "at": 0,
    }
    assert events[0]["timestamp"].endswith("Z")
    progress = [json.loads(event["progress"]) for event in events if event["event"] == "progress"]
    assert [p["batchId"] for p in progress] == list(range(len(progress)))
    assert {p["runId"] for p in progress} == {run}
    assert events[-1] | {"at": 0} == {
        "event": "terminated",
        "id": str(query.id),
        "runId": run,
        "exception": None,
        "errorClass": None,
        "at": 0,
    }


@pytest.mark.oldest
def test_long_text_with_any_characters_is_the_same_in_pieces(spark, attached):
    """A progress above 8 kB, with characters outside ASCII and of two code units, is read exactly."""
    bridge, arrivals = attached
    text = "späße 🚰 " * 3000
    query = start(rate(spark), name=text, trigger={"availableNow": True})
    query.awaitTermination()
    wait_until(lambda: arrivals[-1].kind == "terminated")
    arrival = next(a for a in arrivals if a.kind == "progress")
    plain, in_pieces = (bridge.read(arrival)["progress"] for _ in range(2))
    assert in_pieces.isascii()
    assert not plain.isascii()
    assert json.loads(in_pieces) == json.loads(plain)
    assert json.loads(plain)["name"] == text


@pytest.mark.oldest
def test_a_spark_without_the_private_names_gets_the_public_listener(spark, monkeypatch):
    """When our proxy cannot be made the public listener is used, and a sentence says so."""

    def missing(gateway):
        raise TypeError("'JavaPackage' object is not callable")

    monkeypatch.setattr(classic._pool, "take", missing)
    bridge = open_bridge(spark)
    arrivals: list[Any] = []
    bridge.attach(arrivals.append)
    try:
        assert "PySpark's own is used" in bridge.problem
        query = start(rate(spark), trigger={"processingTime": "200 milliseconds"})
        wait_until(lambda: any(a.kind == "progress" for a in arrivals))
        query.stop()
        wait_until(lambda: arrivals[-1].kind == "terminated")
        events = [bridge.read(arrival) for arrival in arrivals]
        assert events[0]["event"] == "started"
        assert events[0]["runId"] == events[-1]["runId"] == str(query.runId)
        assert json.loads(events[1]["progress"])["batchId"] == 0
    finally:
        bridge.detach()


def test_a_spark_without_the_json_writer_is_asked_for_its_json(spark, attached, monkeypatch):
    """When a long text cannot be taken in pieces it is asked for as a whole."""
    bridge, arrivals = attached

    def missing(self):
        raise TypeError("'JavaPackage' object is not callable")

    monkeypatch.setattr(classic.JsonText, "_made", missing)
    query = start(rate(spark), name="long " * 2000, trigger={"processingTime": "200 milliseconds"})
    arrival = wait_until(lambda: next((a for a in arrivals if a.kind == "progress"), None))
    query.stop()
    assert [json.loads(bridge.read(arrival)["progress"])["batchId"] for _ in range(3)] == [0, 0, 0]


def test_proxies_are_used_again(spark):
    """py4j never frees a proxy in pinned-thread mode: a hundred attachments use one."""
    made = set()
    for _ in range(100):
        bridge = open_bridge(spark)
        bridge.attach(lambda arrival: None)
        made.add(id(bridge._proxy))
        bridge.detach()
    assert len(made) == 1


def test_detaching_gives_pyspark_its_own_stop_back(spark):
    """``StreamingQuery.stop`` is PySpark's own again after the last bridge left."""
    from pyspark.sql.streaming.query import StreamingQuery

    own = StreamingQuery.stop
    first, second = open_bridge(spark), open_bridge(spark)
    first.attach(lambda arrival: None)
    second.attach(lambda arrival: None)
    first.detach()
    assert StreamingQuery.stop is not own
    second.detach()
    second.detach()
    assert StreamingQuery.stop is own


@pytest.mark.oldest
def test_the_active_session_is_found(spark):
    """Without a name the session of this kernel is meant."""
    assert active_session() is not None
    assert open_bridge(spark).serves(active_session())
    assert not open_bridge(spark).serves(spark.newSession())
