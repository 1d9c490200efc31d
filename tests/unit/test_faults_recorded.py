"""Recordings of real runs, each with one injected fault or none, give the right first hint."""

from __future__ import annotations

import json

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.model.facts import RunningBatch
from tests.faults.outcome import judged
from tests.faults.runner import CASES, LARGEST, RECORDINGS, recorded

FAULTS = [case for case in CASES.values() if case.code]
HEALTHY = [case for case in CASES.values() if not case.code]
# What the machine disturbed on the way through a server leaves no recording.
OVER_CONNECT = [case for case in CASES.values() if recorded(case, connect=True).exists()]
KEPT = [(case, False) for case in CASES.values()] + [(case, True) for case in OVER_CONNECT]


def replay(case, *, connect=False):
    """Diagnose the query that the recording was made for, as it was then."""
    path = recorded(case, connect=connect)
    more = json.loads(path.read_text().splitlines()[-1])
    recording = sw.load(path)
    history = recording.queries[more["query"]]
    if "running" in more:  # known of a live query only
        history.set_running(RunningBatch(**more["running"]))
    return judged(case, diagnose(history, now=more.get("now"), others=recording.queries.values()), history)


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


@pytest.mark.parametrize("case", OVER_CONNECT, ids=lambda case: case.name)
def test_over_connect_less_is_known_and_nothing_is_wrong(case):
    """The fault, what is true as well, a symptom or silence; a healthy run is left in peace as ever."""
    outcome = replay(case, connect=True)
    assert outcome.degraded != "WRONG", (outcome.verdict, outcome.hints)


def test_most_faults_are_named_over_connect_too():
    """What needs neither tasks nor options: three of five are found at least."""
    faults = [case for case in OVER_CONNECT if case.code]
    named = [case.name for case in faults if replay(case, connect=True).degraded == "right"]
    assert len(named) >= 0.6 * len(faults) >= 0.6 * 25, named


def test_the_capacity_is_where_the_query_breaks():
    """The fit of a whole run, and of its beginning, against the rate at which the query stopped keeping up."""
    outcome = replay(CASES["rate-ramp"])
    assert outcome.also.right, str(outcome.also)


def test_every_case_has_a_recording():
    """Nothing is left out, and no recording lies there unread."""
    assert set(CASES) == {path.stem for path in RECORDINGS.glob("*.jsonl")}
    assert set(CASES) >= {path.stem for path in (RECORDINGS / "connect").glob("*.jsonl")}


@pytest.mark.parametrize(("case", "connect"), KEPT, ids=lambda one: getattr(one, "name", ""))
def test_recordings_are_small_and_say_nothing_of_the_machine(case, connect):
    """Less than 60 kB, everything understood, and no path of where they were made."""
    path = recorded(case, connect=connect)
    text = path.read_text()
    assert len(text) < LARGEST
    assert not sw.load(path).skipped
    assert not [place for place in ("/home/", "/root/", "/Users/", "/work/", "faults-") if place in text]
