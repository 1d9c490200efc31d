"""Batches that peak in a fixed rhythm: what merges a log every n-th batch is named, and nothing else."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tests.unit.diagnosis.made import FILES, codes, hint, judge, loud, operator, records

DELTA = "DeltaSink[file:/lake/orders]"


def peaking(peak=2600, every=10, count=60, **more):
    """Return records of 400 ms whose every ``every``-th batch takes ``peak``."""
    return records(count, ms=lambda i: peak if i % every == every - 1 else 400 + i % 7, **more)


def test_the_file_sink_merges_its_log_every_tenth_batch():
    """One info that says what it is and what to write; nobody is alarmed."""
    diagnosis = judge(peaking())
    found = hint(diagnosis, "duration-trend")
    assert found.severity == "info"
    assert found.title == "Every 10th batch takes 2.6 s, the others 404 ms"
    assert found.cause.startswith("The file sink merges its log every 10th batch in addBatch")
    assert found.code_fix == '.option("retention", "7 days")  # of the file sink'
    assert found.evidence[0].batches == (9, 19, 29, 39, 49, 59)
    assert loud(diagnosis) == []
    assert diagnosis.verdict == "keeping-up"


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"sink": DELTA}, "Delta writes a checkpoint of the table's log every 10th commit in addBatch"),
        ({"sink": "ForeachBatchSink"}, "Something is done every 10th batch in addBatch"),
        (
            {"source": FILES, "parts": {"latestOffset": lambda i: 2100 if i % 10 == 9 else 5}},
            "The file source merges its log every 10th batch in latestOffset",
        ),
    ],
)
def test_what_is_merged_depends_on_sink_and_part(more, cause):
    """The part that peaks tells source from sink."""
    assert hint(judge(peaking(**more)), "duration-trend").cause.startswith(cause)


@pytest.mark.parametrize(("peak", "fires"), [(2050, True), (1950, False), (1150, False)])
def test_a_peak_within_the_interval_bothers_nobody(peak, fires):
    """It must make the next trigger late."""
    assert ("duration-trend" in codes(judge(peaking(peak)))) == fires


@pytest.mark.parametrize(("usual", "fires"), [(800, True), (900, False)])
def test_a_peak_is_three_times_the_usual_time(usual, fires):
    """Less is how batches vary."""
    made = records(60, ms=lambda i: 2600 if i % 10 == 9 else usual)
    assert ("duration-trend" in codes(judge(made))) == fires


@pytest.mark.parametrize(("count", "fires"), [(40, True), (39, False)])
def test_four_peaks_make_a_rhythm(count, fires):
    """Three may be chance."""
    assert ("duration-trend" in codes(judge(peaking(count=count)))) == fires


@pytest.mark.parametrize(("every", "fires"), [(4, True), (3, False)])
def test_a_rhythm_of_few_batches_is_how_the_batches_are(every, fires):
    """Two batches in turn are not one that is odd."""
    assert ("duration-trend" in codes(judge(peaking(every=every)))) == fires


@pytest.mark.parametrize(
    "slow",
    [
        {9, 19, 29, 40, 49},
        {9, 19, 29, 39, 44, 49, 59},
        {9, 19, 29, 39},
        {5, 17, 23, 51},
    ],
    ids=["one out of step", "one between", "long over", "chance"],
)
def test_without_a_rhythm_nothing_is_said(slow):
    """Slow batches alone have many causes."""
    made = records(70, ms=lambda i: 2600 if i in slow else 400)
    assert "duration-trend" not in codes(judge(made))


@pytest.mark.parametrize(("rows", "fires"), [(119, True), (130, False)])
def test_a_batch_with_more_rows_may_take_longer(rows, fires):
    """Bursts every minute are no compaction."""
    made = peaking(rows=lambda i: rows if i % 10 == 9 else 100)
    assert ("duration-trend" in codes(judge(made))) == fires


def test_without_an_interval_two_seconds_count():
    """Shorter batches bother nobody."""
    slow = records(60, interval=None, pause=lambda i: 300 + 37 * i % 90, ms=lambda i: 2100 if i % 10 == 9 else 400)
    quick = records(60, interval=None, pause=lambda i: 300 + 37 * i % 90, ms=lambda i: 1900 if i % 10 == 9 else 400)
    assert "duration-trend" in codes(judge(slow, None))
    assert "duration-trend" not in codes(judge(quick, None))


def test_chance_makes_no_rhythm():
    """Over two thousand runs of batches with rare slow ones."""
    for seed in range(2000):
        rng = random.Random(seed)
        slow = rng.choice((0.04, 0.1, 0.2))
        made = records(45, ms=lambda i, rng=rng, slow=slow: 2600 if rng.random() < slow else 400)
        if seed % 40 == 0 or _evenly(made):
            assert "duration-trend" not in codes(judge(made)), seed


def _evenly(made):
    """Return whether the slow batches lie at one distance, as a rhythm would."""
    slow = [record["batchId"] for record in made[1:] if record["batchDuration"] > 2000]
    return len(slow) >= 4 and len({b - a for a, b in pairwise(slow)}) == 1


def test_a_trend_with_peaks_says_both():
    """Batches that grow, and every tenth of them more so."""
    made = records(
        100,
        ms=lambda i: 900 + 9 * i + (9000 if i % 10 == 9 else 0),
        interval=20_000,
        state=[operator(numRowsRemoved=1)],
        output=1,
    )
    found = hint(judge(made, 20_000), "duration-trend")
    assert "times as long as before" in found.title
    assert found.cause.endswith("most of it is in addBatch. Every 10th batch takes longer still: 10.4 s.")


def test_no_cost_of_each_batch_explains_a_rhythm():
    """The info stands beside a slow checkpoint, not under it."""
    diagnosis = judge(records(60, ms=lambda i: 3900 if i % 10 == 9 else 1200, parts={"walCommit": 700}))
    assert hint(diagnosis, "duration-trend").under is None
    assert "slow-checkpoint" in codes(diagnosis)
