"""The thread that asks Spark: what goes wrong on it is kept, and it goes on."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.watching.collector import Collector
from jupyter_streamwatch.watching.prober import Prober
from tests.helpers import wait_until


@pytest.fixture
def collector():
    return Collector()


@pytest.fixture
def prober(collector):
    made = Prober(pace=lambda: 0.01, each_round=lambda: None, note=collector.note)
    made.start()
    yield made
    made.close()


def fail():
    raise LookupError("no such stage")


def test_a_job_that_fails_is_a_sentence_and_the_next_one_is_done(collector, prober):
    """Nothing is dropped in silence: watch.problems has it, with how often."""
    done = []
    for _ in range(3):
        prober.soon(fail)
    prober.soon(lambda: done.append(True))
    wait_until(lambda: done)
    assert collector.problems == ("Spark could not be asked for something: LookupError: no such stage (3 times)",)


def test_a_round_that_fails_is_a_sentence_and_the_next_one_comes(collector):
    """So is a look at the running batches."""
    rounds = []

    def look():
        rounds.append(True)
        fail()

    prober = Prober(pace=lambda: 0.01, each_round=look, note=collector.note)
    prober.start()
    wait_until(lambda: len(rounds) > 2)
    prober.close()
    assert len(collector.problems) == 1
    assert "no such stage" in collector.problems[0]


def test_a_problem_that_keeps_coming_does_not_push_the_others_out(collector):
    """A hundred different sentences are kept, the same one is counted."""
    for number in range(50):
        collector.note(f"problem {number}")
        collector.note("again and again")
    assert len(collector.problems) == 51
    assert "again and again (50 times)" in collector.problems
