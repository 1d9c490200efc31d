"""Our statistics against scipy's and numpy's: the same numbers for whatever a window of batches may hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_streamwatch.model import statistics

stats = pytest.importorskip("scipy.stats")  # the lane of lowest versions has no oracle

VALUES = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-5, 5).map(float), max_size=40)


@given(VALUES, st.floats(0, 1))
def test_a_quantile_is_numpys(values, share):
    """Interpolated between neighbours; None of nothing; NaN is left out."""
    ours = statistics.quantile([*values, math.nan], share)
    assert ours == (pytest.approx(float(np.quantile(values, share)), rel=1e-9, abs=1e-6) if values else None)


@given(VALUES)
def test_a_median_is_numpys(values):
    """Also of an even number of values."""
    ours = statistics.median(values)
    assert ours == (pytest.approx(float(np.median(values)), rel=1e-9, abs=1e-6) if values else None)


@given(VALUES)
def test_rising_is_mann_and_kendalls_statistic(values):
    """S, as Kendall's tau (variant c) has it, in standard deviations of chance without ties."""
    size = len(values)
    assume(size >= 4)
    tau = stats.kendalltau(range(size), values, variant="c").statistic
    deviation = math.sqrt(size * (size - 1) * (2 * size + 5) / 18)
    # Against places, variant c is 2 S / n^2 x m / (m - 1), m being the number of different values.
    different = min(size, len(set(values)))
    expected = 0.0 if different < 2 else tau * size**2 * (different - 1) / different / 2 / deviation
    assert statistics.rising(values) == pytest.approx(expected, abs=1e-9)


@given(VALUES, st.randoms(use_true_random=False))
def test_a_slope_is_theil_and_sens(values, random):
    """Its best is scipy's median of all pairs; its range holds the best."""
    assume(len(values) >= 2)
    places = sorted(random.sample(range(1000), len(values)))
    low, best, high = statistics.slope(places, values)
    expected = stats.theilslopes(values, places)
    assert best == pytest.approx(expected.slope, rel=1e-9, abs=1e-9)
    assert low <= best <= high


@pytest.mark.parametrize("size", [8, 15, 40])
def test_the_range_of_a_slope_is_sens(size):
    """Nine tenths, as scipy's interval without ties, but for the rounding of one pair at each end."""
    generator = np.random.default_rng(size)
    places = np.arange(size, dtype=float)
    values = 3 * places + generator.normal(0, 10, size)
    low, _, high = statistics.slope(places, values)
    expected = stats.theilslopes(values, places, alpha=0.9)
    above, below = np.triu_indices(size, 1)
    pairs = np.sort((values[below] - values[above]) / (places[below] - places[above]))

    def rank(value: float) -> int:
        return int(np.abs(pairs - value).argmin())

    assert abs(rank(low) - rank(expected.low_slope)) <= 1
    assert abs(rank(high) - rank(expected.high_slope)) <= 1


@given(st.lists(st.floats(0, 3), max_size=30), st.integers(1, 5))
def test_held_counts_up_and_down(values, hold):
    """What is at or above all the time holds from ``hold`` values on; what never gets there never does."""
    assert statistics.held([2.0] * len(values), 1.0, 0.5, hold) == (len(values) >= hold)
    assert not statistics.held([min(value, 0.99) for value in values], 1.0, 0.5, hold)


@pytest.mark.parametrize(
    ("waiting", "trend"),
    [
        (range(1000, 2000, 50), "grows"),
        (range(2000, 1000, -50), "shrinks"),
        ([1000] * 20, "steady"),
        ([1000] * 19 + [9000], "steady"),
        (range(4), None),
    ],
)
def test_a_course_is_a_trend_only_beyond_chance_and_burst(waiting, trend):
    """A slope that every step bears out is one; what came at once is none; four values tell nothing."""
    found, change = statistics.course(range(0, 1000 * len(waiting), 1000), list(map(float, waiting)), 100.0, 2.3)
    assert found == trend
    assert change == (None if trend is None else pytest.approx(stats.theilslopes(waiting).slope))
