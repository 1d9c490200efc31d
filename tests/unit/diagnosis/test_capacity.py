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
