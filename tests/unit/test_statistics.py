"""The small statistics that the rules share."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.model.statistics import ends, held, known, median, quantile, rising, slope, surely

NAN = float("nan")


def test_unknown_values_are_left_out():
    """NaN is no number."""
    assert known([1.0, NAN, 2.0]) == [1.0, 2.0]
    assert median([NAN, 3.0, 1.0]) == 2.0
    assert median([NAN]) is None
    assert quantile([0.0, 10.0], 0.95) == pytest.approx(9.5)


@pytest.mark.parametrize(
    ("values", "raised"),
    [
        ([1, 1], False),
        ([1, 1, 1], True),
        ([1, 0, 1, 0, 1], False),
        ([1, 1, 1, 0, 0], True),
        ([1, 1, 1, 0, 0, 0], False),
        ([1, 1, 1, 1, 1, 1, 0, 0, 0], False),  # a long past does not delay the end
        ([1, 0.97, 1, 0.97, 1], True),  # between the bounds nothing changes
    ],
)
def test_held_raises_after_a_while_and_clears_after_a_while(values, raised):
    """Three more for than against, and as many to clear."""
    assert held(values, 1.0, 0.95, 3) == raised


def test_rising_counts_pairs():
    """As many standard deviations as Mann and Kendall's test gives; few values say nothing."""
    assert rising([1, 2, 3]) == 0
    assert rising(list(range(10))) == pytest.approx(45 / (10 * 9 * 25 / 18) ** 0.5)
    assert rising([5] * 10) == 0
    assert rising([3, 2, 1, 0]) < 0


def test_surely_needs_every_step_of_few_values():
    """Five in a row are enough, five with one step back are not."""
    assert surely([1, 2, 3, 4, 5], 3.0)
    assert not surely([1, 2, 3, 5, 4], 3.0)
    assert not surely([1, 2, 3, 4], 3.0)
    assert surely([*range(15), 3, 16, 17, 18], 3.0)


def test_slope_is_robust():
    """Odd values in a fifth of the batches do not move it."""
    x = list(range(30))
    y = [2.0 * one + (100 if one % 5 == 0 else 0) for one in x]
    low, best, high = slope(x, y)
    assert best == pytest.approx(2.0, abs=0.5)
    assert low <= best <= high
    assert slope([1, 1], [2, 3]) is None
    assert slope([1, NAN], [2, 3]) is None


def test_ends_are_medians_of_thirds():
    """One odd value at an end does not count."""
    assert ends([1, 2, 900, 4, 5, 6, 7, 8, 9]) == (2, 8)
