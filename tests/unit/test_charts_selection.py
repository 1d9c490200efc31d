"""Which rows are sent when there are more batches than pixels."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from jupyter_streamwatch import charts, testing
from jupyter_streamwatch.charts.rows import Rows
from jupyter_streamwatch.charts.selection import select

if TYPE_CHECKING:
    from jupyter_streamwatch.model.history import History

T0 = 1_767_225_600_000.0


@lru_cache
def long() -> History:
    """5,000 batches of two runs with single extremes and missing batches; nobody changes it."""
    history = testing.history([])
    for i in range(5000):
        number = i if i < 3000 else i + 5
        history.append(
            testing.progress(
                number,
                rows={700: 99_999}.get(i, 100 + int(20 * math.sin(i / 50))),
                duration={1234: 60_000.0, 4321: 1.0}.get(i, 500),
                start=T0 + 2000 * i,
                backlog={2500: 5_000_000, 2600: 0}.get(i, 1000),
                runId="one" if i < 2000 else "two",
            )
        )
    return history


def test_all_rows_when_they_fit() -> None:
    """Nothing is selected while there are no more rows than allowed."""
    history = testing.history(batches=20)
    assert select(history, 20).tolist() == list(range(20))


@pytest.mark.parametrize("most", [50, 300, 600, 2000])
def test_bounded_and_in_order(most: int) -> None:
    """At most as many rows as allowed, most of them used, in order, none twice."""
    index = select(long(), most)
    assert 0.6 * most < len(index) <= most
    assert (np.diff(index) > 0).all()


def test_keeps_extremes_ends_and_borders() -> None:
    """The longest batch, the most rows, the smallest and largest backlog, ends, run borders and gaps are there."""
    index = set(select(long(), 200).tolist())
    assert {0, 4999, 700, 1234, 2500, 2600, 1999, 2000, 2999, 3000} <= index


def test_rows_are_real() -> None:
    """What is sent are batches as they were, not averages of ours."""
    history = long()
    made = charts.data(history, 200)["batches"]
    index = select(history, 200)
    assert made["numInputRows"] == history.batches.numbers("numInputRows")[index].tolist()


def test_a_burst_and_the_hours_after() -> None:
    """Neither 3,000 batches in minutes nor the 300 of the day after are left without rows."""
    starts = [1000.0 * i for i in range(3000)] + [3_000_000 + 300_000.0 * i for i in range(300)]
    history = testing.history([testing.progress(i, 10, 500, T0 + at) for i, at in enumerate(starts)])
    index = select(history, 200)
    assert (index < 3000).sum() > 50
    assert (index >= 3000).sum() > 50


def test_bars_stand_for_what_was_left_out() -> None:
    """After a cut bars reach the next selected row, without holes and without overlap."""
    history = long()
    rows = Rows(history.snapshot(), select(history, 200))
    same_run = rows.line[1:] == rows.line[:-1]
    skipped = np.diff(rows.index) > 1
    assert (rows.right[:-1] <= rows.left[1:]).all()
    assert (rows.right[:-1] == rows.left[1:])[same_run & skipped].all()


def test_lines_stay_whole() -> None:
    """Rows that were left out are no silence: a line breaks at the new run alone."""
    rows = Rows(long().snapshot(), select(long(), 100))
    assert np.unique(rows.line).tolist() == [0, 1]


def test_many_runs() -> None:
    """More run borders than rows allowed: still bounded, with both ends."""
    records = [testing.progress(i, start=T0 + 2000 * i, runId=f"run{i}") for i in range(1000)]
    index = select(testing.history(records), 100)
    assert len(index) <= 100
    assert {0, 999} <= set(index.tolist())


def test_without_times() -> None:
    """Batches whose times are unknown are selected by their number."""
    index = select(testing.history([testing.progress(i, timestamp=None) for i in range(500)]), 100)
    assert 20 < len(index) <= 100
