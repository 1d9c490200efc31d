"""Verdicts that do not change with noise, with the order of the records or with what is missing."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import parse
from tests.unit.diagnosis.made import codes, hint, judge, loud, operator, records


@pytest.mark.parametrize(("usual", "spread"), [(0.95, 0.08), (1.0, 0.1), (0.8, 0.1), (1.02, 0.15)])
def test_noise_around_a_bound_seldom_changes_the_verdict(usual, spread):
    """Batch times that vary by a tenth around a bound: ten changes in 200 batches at most."""
    rng = random.Random(1)
    times = [2000 * max(rng.gauss(usual, spread), 0.05) for _ in range(200)]
    history = History("query-1")
    verdicts = []
    for record in records(200, ms=lambda i: int(times[i])):
        history.append(parse(record))
        verdicts.append(diagnose(history, 2).verdict)
    verdicts = [verdict for verdict in verdicts if verdict != "running"]
    assert sum(a != b for a, b in pairwise(verdicts)) <= 10


@pytest.mark.parametrize(("ms", "verdict"), [(2000, "at-capacity"), (2001, "falling-behind")])
def test_a_batch_of_just_the_interval_is_in_time(ms, verdict):
    """Only a longer one is late, and its time is told apart from the interval."""
    diagnosis = judge(records(ms=ms))
    assert diagnosis.verdict == verdict
    if verdict == "falling-behind":
        assert diagnosis.reason == "Batches take 2001 ms of the 2 s trigger interval."
        assert hint(diagnosis, verdict).title == "Batches take 2001 ms, longer than the 2 s trigger interval"


@pytest.mark.parametrize("ms", [600, 1900])
@pytest.mark.parametrize("turned", [lambda made: made[::-1], lambda made: random.Random(2).sample(made, len(made))])
def test_records_in_any_order_give_the_same(turned, ms):
    """Logs list the newest first: trigger, verdict and hints are those of the records in order."""
    made = records(20, ms=ms, state=[operator(numRowsDroppedByWatermark=3)])
    diagnosis = judge(turned(made), None)
    assert diagnosis.verdict == judge(made, None).verdict == ("keeping-up" if ms == 600 else "at-capacity")
    assert codes(diagnosis) == codes(judge(made, None))


@pytest.mark.parametrize(
    "made",
    [records(ms=2600), records(ms=1900), records(ms=2600, backlog=lambda i: 400 * i, parts={"queryPlanning": 2000})],
)
def test_an_idle_query_is_not_late_any_more(made):
    """Its last batches were long; whatever they left has been read. Where their time went is worth knowing still."""
    found = {**made[-1], "numInputRows": 0, "durationMs": {"latestOffset": 2, "triggerExecution": 2}}
    found["timestamp"] = "2026-01-01T00:10:00.000Z"
    assert loud(judge(made))
    diagnosis = judge([*made, found])
    assert diagnosis.verdict == "idle"
    assert not {"falling-behind", "at-capacity", "backlog-growing"} & set(codes(diagnosis))
    assert ("slow-planning" in codes(diagnosis)) == ("slow-planning" in codes(judge(made)))


@pytest.mark.parametrize("at", range(6, 20))
@pytest.mark.parametrize("interval", [2000, None])
def test_rows_that_come_at_once_are_a_burst_and_no_trend(interval, at):
    """They wait and become neither more nor less; the same for rows that are gone at once."""
    for backlog in (lambda i: 50_000 * (i >= at), lambda i: 50_000 * (i < at) + 900):
        diagnosis = judge(records(20, interval=interval, backlog=backlog, rows=lambda i: 100 + i % 3), interval)
        assert diagnosis.verdict in ("keeping-up", "at-capacity")
        assert loud(diagnosis) == []


@pytest.mark.parametrize("at", [15, 20, 22, 24, 25])
@pytest.mark.parametrize("times", [(500, 2600), (2600, 500), (500, 1800), (1800, 2600)])
def test_a_verdict_and_its_numbers_agree_after_a_change(times, at):
    """Whatever is said of now names a time on the verdict's side of the bounds."""
    diagnosis = judge(records(30, ms=lambda i: times[i >= at]))
    told = diagnosis.reason.partition(" of the 2 s")[0].removeprefix("Batches take ").removeprefix("Most batches take ")
    took = float(told.removesuffix(" ms").removesuffix(" s")) * (1 if told.endswith("ms") else 1000)
    bounds = {"keeping-up": (0, 1600), "at-capacity": (1500, 2600), "falling-behind": (2001, 2600)}
    low, high = bounds[diagnosis.verdict]
    assert low <= took <= high
    for found in diagnosis.hints:
        assert found.code != "falling-behind" or " s, longer than the 2 s" in found.title


def test_batches_that_overrun_now_and_then_are_counted():
    """Late on the whole, while the usual batch is not: the title says how many are, and what follows is true."""
    made = records(30, ms=lambda i: 2600 if i % 5 < 2 else 1960)
    diagnosis = judge(made)
    found = hint(diagnosis, "falling-behind")
    assert found.title == "8 of the last 20 batches overran the 2 s trigger interval"
    assert diagnosis.reason == found.title + "."
    assert "less often than every 2 s" in found.cause


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ((9000, 2600, 2300, 2100), "running"),
        ((9000, 2600, 2300, 2100, 1900, 1700), "running"),
        ((9000, 2600, 2300, 2100, 1700, 1400), "keeping-up"),
        ((9000, 2600, 2500, 2410), "falling-behind"),  # by a tenth at most
        ((9000, 3600, 2900, 2500), "falling-behind"),  # far from the interval still
        ((9000, 2600, 2100, 2300), "falling-behind"),
        ((9000, *(2600 - 50 * i for i in range(8))), "falling-behind"),  # long enough
    ],
)
def test_first_batches_that_still_get_quicker_are_not_judged(times, verdict):
    """A new JVM compiles and fills its caches: who knows yet where that ends."""
    diagnosis = judge(records(len(times), ms=lambda i: times[i]))
    assert diagnosis.verdict == verdict
    assert bool(loud(diagnosis)) == (verdict == "falling-behind")


@pytest.mark.parametrize(("ms", "verdict"), [(1920, "falling-behind"), (1880, "at-capacity")])
def test_a_lag_clears_a_twentieth_below_the_bound(ms, verdict):
    """Batches of 0.96 of the interval leave it as it is, those of 0.94 end it."""
    diagnosis = judge(records(60, ms=lambda i: 2600 if i < 30 else ms))
    assert diagnosis.verdict == verdict


@pytest.mark.parametrize(("seed", "verdict"), [(69, "falling-behind"), (77, "falling-behind"), (15, "keeping-up")])
def test_a_backlog_must_grow_beyond_chance(seed, verdict):
    """Noise of six times the growth: at 3.2 standard deviations it is a trend, at 2.9 not."""
    rng = random.Random(seed)
    waits = [int(max(3000 + 100 * i + rng.gauss(0, 600), 0)) for i in range(20)]
    assert judge(records(20, backlog=lambda i: waits[i])).verdict == verdict


def test_every_tenth_batch_shows_no_interval():
    """Batches are missing between two that are there, so their distance is not the trigger's."""
    diagnosis = judge(records(200, ms=500)[::10], None)
    assert "20 s" not in diagnosis.reason
    assert diagnosis.verdict == "running"
    assert judge(records(200, ms=2600)[::10], None).verdict == "running"
