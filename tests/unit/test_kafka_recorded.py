"""Recordings of real queries on Kafka and Delta give the verdict and the hints that they gave then."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch import charts
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.model.facts import RunningBatch
from tests.conftest import ROOT

RECORDINGS = ROOT / "tests" / "cases" / "kafka"
LOUD = ("warning", "critical")
HASH = re.compile(r"@[0-9a-f]{5,8}\b")


class Expected(NamedTuple):
    """What a recording must give; ``first`` is the first hint's code, empty where nothing warns."""

    verdict: str
    first: str = ""
    source: str = "Kafka"
    sink: str = "noop"


EXPECTED = {
    "available-now": Expected("finished"),
    "connector-defect": Expected("failed", "query-failed", sink="foreachBatch"),
    "delta-sink": Expected("keeping-up", sink="Delta"),
    "delta-sink-mended": Expected("keeping-up", sink="Delta"),
    "delta-sink-too-slow": Expected("falling-behind", "slow-sink", sink="Delta"),
    "delta-source": Expected("keeping-up", source="Delta"),
    "kafka-to-kafka": Expected("stopped", sink="Kafka"),
    "limit-added": Expected("catching-up"),
    "limit-below-arrivals": Expected("falling-behind", "rate-limit-reached"),
    "limit-raised": Expected("keeping-up"),
    "limit-with-room": Expected("keeping-up"),
    "no-limit": Expected("keeping-up", "no-rate-limit"),
    "restart": Expected("catching-up"),
    "rows-deleted": Expected("failed", "query-failed"),
    "slow-function": Expected("falling-behind", "slow-user-code"),
    "topic-deleted": Expected("failed", "query-failed"),
    "topic-made-again": Expected("failed", "query-failed"),
}


def replay(name: str) -> tuple[Any, Any]:
    """Return the history of the recorded query and its diagnosis as of then."""
    path = RECORDINGS / f"{name}.jsonl"
    more = json.loads(path.read_text().splitlines()[-1])
    recording = sw.load(path)
    history = recording.queries[more["query"]]
    if "running" in more:
        history.set_running(RunningBatch(**more["running"]))
    return history, diagnose(history, now=more.get("now"), others=recording.queries.values())


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_the_verdict_and_the_first_hint_are_right(name, expected):
    """As on the real broker: the verdict, the first hint that warns, and nothing that warns where all is well."""
    _, diagnosis = replay(name)
    loud = [hint.code for hint in diagnosis.hints if hint.severity in LOUD]
    assert diagnosis.verdict == expected.verdict, diagnosis.reason
    assert loud[:1] == ([expected.first] if expected.first else []), loud


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_sources_and_sinks_have_readable_names(name, expected):
    """Names as a person would say them, never a Java object with its hash."""
    history, _ = replay(name)
    assert all(one.startswith(f"{expected.source} ") for one in history.facts.sources), history.facts.sources
    assert history.facts.sink.split()[0] == expected.sink
    assert not HASH.search(" ".join((*history.facts.sources, history.facts.sink)))


def test_every_case_has_a_recording():
    """Nothing is left out, and no recording lies there unread."""
    assert sorted(EXPECTED) == sorted(path.stem for path in RECORDINGS.glob("*.jsonl"))


@pytest.mark.parametrize("name", EXPECTED)
def test_recordings_are_small_and_say_nothing_of_the_machine(name):
    """Less than 60 kB, everything understood, and no path of where they were made."""
    text = (RECORDINGS / f"{name}.jsonl").read_text()
    assert len(text) < 60_000
    assert not sw.load(RECORDINGS / f"{name}.jsonl").skipped
    assert not [place for place in ("/home/", "/root/", "/Users/", "/work/", "/tmp/") if place in text]


def test_the_backlog_is_what_the_offsets_say():
    """After each batch: latest minus end, summed over the partitions, in the column and in the chart."""
    history, _ = replay("available-now")
    sums = [
        sum(source["latestOffset"]["now"][p] - end for p, end in source["endOffset"]["now"].items())
        for record in history.recent
        if record.kind == "data"
        for source in record.sources
    ]
    assert history.batches.numbers("backlog").tolist() == sums
    assert charts.data(history)["batches"]["backlog"] == sums
    assert sums[-1] == 0 < sums[0]
    assert "backlog" in [chart.name for chart in charts.build(history).charts]


def test_a_query_that_catches_up_says_how_long_it_takes():
    """The time is what waits divided by how fast it shrinks."""
    _, diagnosis = replay("restart")
    backlog = diagnosis.backlog
    assert backlog.gone_in_ms == pytest.approx(backlog.rows / -backlog.rows_per_second * 1000)
    assert "to go" in diagnosis.reason


def test_the_limit_to_paste_is_above_what_arrives_and_named_as_in_the_guide():
    """300 rows arrive in an interval."""
    _, diagnosis = replay("limit-below-arrivals")
    found = re.fullmatch(r'\.option\("maxOffsetsPerTrigger", "(\d+)"\)', diagnosis.hints[0].code_fix)
    assert found
    assert int(found[1]) > 300
    assert diagnosis.hints[1].under == "rate-limit-reached"


def test_the_tasks_that_read_a_tables_log_are_not_the_querys():
    """50 of them in each batch: the sink is slow by them, and no hint blames the query's own partitions."""
    history, diagnosis = replay("delta-sink-too-slow")
    assert history.batches.numbers("tasks.count")[-1] > 50
    assert {hint.code for hint in diagnosis.hints} <= {"slow-sink", "falling-behind", "sink-not-idempotent"}
    assert "snapshotPartitions" in diagnosis.hints[0].code_fix


def test_how_many_rows_a_table_holds_back_is_not_guessed():
    """Delta counts files and bytes; and where it left none, no limit of files was reached."""
    history, diagnosis = replay("delta-source")
    assert all(record.backlog is None for record in history.recent)
    assert "rate-limit-reached" not in [hint.code for hint in diagnosis.hints]


def test_the_defect_of_a_connector_is_known():
    """It ends a query that has done nothing wrong; another start goes on."""
    _, diagnosis = replay("connector-defect")
    assert ("kind", "connector-defect") in [(one.name, one.value) for one in diagnosis.hints[0].evidence]


@pytest.mark.parametrize("name", ["rows-deleted", "topic-made-again"])
def test_rows_that_are_gone_are_loss_of_data(name):
    """Retention took them, or the topic was made again."""
    _, diagnosis = replay(name)
    assert ("kind", "data-loss") in [(one.name, one.value) for one in diagnosis.hints[0].evidence]
    assert "failOnDataLoss" in diagnosis.hints[0].code_fix


def test_a_topic_that_is_gone_is_said_to_be_gone():
    """Nothing can be read from it, with or without failOnDataLoss."""
    _, diagnosis = replay("topic-deleted")
    assert ("kind", "topic-missing") in [(one.name, one.value) for one in diagnosis.hints[0].evidence]
    assert diagnosis.hints[0].code_fix is None
