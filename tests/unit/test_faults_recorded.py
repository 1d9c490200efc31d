"""Recordings of real runs, each with one injected fault or none, give the right first hint."""

from __future__ import annotations

import json

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.facts import RunningBatch
from tests.faults.runner import CASES, RECORDINGS, judged, recorded

FAULTS = [case for case in CASES.values() if case.code]
HEALTHY = [case for case in CASES.values() if not case.code]


def replay(case):
    """Diagnose the query that the recording was made for, as it was then."""
    path = recorded(case)
    more = json.loads(path.read_text().splitlines()[-1])
    recording = sw.load(path)
    history = recording.queries[more["query"]]
    if "running" in more:  # known of a live query only
        history.set_running(RunningBatch(**more["running"]))
    return judged(case, diagnose(history, now=more.get("now"), others=recording.queries.values()))


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.name)
def test_the_fault_is_the_first_hint(case):
    """The first hint has the fault's code and, where one code has several causes, names the right one."""
    outcome = replay(case)
    assert outcome.first == case.code, outcome.hints
    assert outcome.right, outcome.hints[0]


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_a_healthy_run_is_left_in_peace(case):
    """No warning, nothing critical, and a verdict that worries nobody."""
    outcome = replay(case)
    assert outcome.first == "", outcome.hints
    assert outcome.right, outcome.verdict


def test_every_case_has_a_recording():
    """Nothing is left out, and no recording lies there unread."""
    assert sorted(CASES) == sorted(path.stem for path in RECORDINGS.glob("*.jsonl"))


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_recordings_are_small_and_say_nothing_of_the_machine(case):
    """Less than 60 kB, everything understood, and no path of where they were made."""
    path = recorded(case)
    text = path.read_text()
    assert len(text) < 60_000
    assert not sw.load(path).skipped
    assert not [place for place in ("/home/", "/root/", "/Users/", "/work/", "faults-") if place in text]
