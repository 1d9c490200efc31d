"""The fit of batch time over rows, and what follows from it."""

from __future__ import annotations

import random

import pytest

from tests.unit.diagnosis.made import judge, records


def made(fixed=400, cost=0.5, *, rows=lambda i: 500 + 150 * (i % 12), noise=0.0, odd=(), count=60, interval=2000):
    """Return batches that take ``fixed`` ms and ``cost`` ms a row."""
    rng = random.Random(7)

    def ms(i):
        time = (fixed + cost * rows(i)) * (1 + noise * rng.uniform(-1, 1))
        return int(5 * time if i in odd else time)

    return records(count, rows=rows, ms=ms, interval=interval)


def test_capacity_is_what_fits_into_the_interval():
    """400 ms and half a ms a row: 3,200 rows in 2 s."""
    capacity = judge(made()).capacity
    assert capacity.max_rows_per_second[1] == pytest.approx(1600, rel=0.02)
    assert capacity.fixed_ms[1] == pytest.approx(400, rel=0.05)
    assert capacity.ms_per_1000_rows[1] == pytest.approx(500, rel=0.02)


@pytest.mark.parametrize("noise", [0.05, 0.15])
def test_noise_and_odd_batches_do_not_move_it(noise):
    """Within a quarter, and the truth lies in the range."""
    capacity = judge(made(noise=noise, odd=(9, 23, 40, 41))).capacity
    low, best, high = capacity.max_rows_per_second
    assert best == pytest.approx(1600, rel=0.25)
    assert low <= 1600 * 1.1
    assert high >= 1600 * 0.9
    assert low <= best <= high


SIZES = {
    "any": lambda rng, i: rng.uniform(500, 2500),
    "skewed": lambda rng, i: 1000 * rng.lognormvariate(0, 0.5),
    "rising": lambda rng, i: 300 + 30 * i,
    "two": lambda rng, i: (400, 2400)[i % 2],
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("fixed", "cost", "truth"), [(400, 0.5, 1600), (50, 0.8, 1219)])
def test_a_tenth_of_noise_leaves_a_quarter_at_most(size, fixed, cost, truth):
    """Times vary by a tenth, some are four times as long, the first is cold, every fifth batch has no data."""
    near, held = [], []
    for seed in range(8):
        rng = random.Random(seed)
        rows = [0 if i % 5 == 4 else int(SIZES[size](rng, i)) for i in range(60)]
        odd = [4 if rng.random() < 0.03 else 1 for _ in rows]
        took = [one * (fixed + cost * n) * (1 + 0.1 * rng.gauss(0, 1)) for one, n in zip(odd, rows, strict=True)]
        took[0] += 5000
        found = judge(records(60, rows=lambda i, r=rows: r[i], ms=lambda i, t=took: int(max(t[i], 20)))).capacity
        low, best, high = found.max_rows_per_second
        near.append(abs(best / truth - 1) <= 0.25)
        held.append(0.98 * low <= truth <= 1.02 * high)
    assert sum(near) == 8
    assert sum(held) >= 6


@pytest.mark.parametrize(("cost", "known"), [(0.5, True), (0.02, False)])
def test_a_cost_below_the_noise_is_unknown(cost, known):
    """Rows of 20 ms among batches that differ by 40 ms: the range would be no answer."""
    capacity = judge(made(cost=cost, noise=0.1, count=40)).capacity
    assert (capacity.max_rows_per_second is not None) == known
    assert known or "differ by more" in capacity.reason or "did not take more" in capacity.reason


@pytest.mark.parametrize(("large", "known"), [(2, False), (3, True)])
def test_a_few_large_batches_prove_nothing(large, known):
    """Of twelve batches three must be large."""
    capacity = judge(made(rows=lambda i: 2000 if 1 <= i <= large else 500, count=12)).capacity
    assert (capacity.max_rows_per_second is not None) == known


def test_shortest_interval_takes_just_what_arrives():
    """Rows a second times the interval take as long as the interval."""
    capacity = judge(made(rows=lambda i: 1000 + 40 * (i % 12) - 220)).capacity
    arriving = 1000 / 2  # rows a second, in the middle
    assert capacity.min_trigger_seconds is None or capacity.min_trigger_seconds[1] == pytest.approx(
        0.4 / (1 - 0.5 * arriving / 1000), rel=0.15
    )


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        (made(count=6), "Too few"),
        (made(rows=lambda i: 1000 + i % 3), "too alike"),
        (made(cost=0.0), "did not take more time"),
    ],
)
def test_capacity_is_unknown_with_a_reason(batches, words):
    """Few batches, one size, or no cost a row."""
    capacity = judge(batches).capacity
    assert capacity.max_rows_per_second is None
    assert words in capacity.reason


def test_rows_that_cost_nothing_leave_the_fixed_cost():
    """No rate is too high as far as was seen; still, no interval below the fixed cost can be kept."""
    assert judge(made(cost=0.0)).capacity.min_trigger_seconds == pytest.approx((0.4, 0.4, 0.4), rel=0.01)


def test_without_an_interval_it_is_what_large_batches_approach():
    """Half a ms a row: 2,000 rows a second."""
    capacity = judge(made(interval=None), None).capacity
    assert capacity.max_rows_per_second[1] == pytest.approx(2000, rel=0.02)
    assert "larger batches" in capacity.reason


def test_numbers_far_beyond_what_was_seen_are_marked():
    """A line is a guess beyond three times the largest batch."""
    capacity = judge(made(fixed=20, cost=0.05, rows=lambda i: 100 + 30 * (i % 10))).capacity
    assert "largest batch seen" in capacity.reason


def test_capacity_as_data():
    """Ranges become lists."""
    plain = judge(made()).capacity.to_dict()
    assert plain["max_rows_per_second"] == list(judge(made()).capacity.max_rows_per_second)
