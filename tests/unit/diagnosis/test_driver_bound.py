"""A batch in which no task runs: whose fault it is, and when it is none."""

from __future__ import annotations

import pytest

from tests.unit.diagnosis.made import FOREACH_BATCH, codes, hint, judge, loud, records
from tests.unit.diagnosis.test_processing import BUSY, EVEN, late


@pytest.mark.parametrize(("busy", "fires"), [(100, True), (1200, True), (1350, False), (2300, False)])
def test_driver_bound_when_no_task_runs_for_half_of_the_batch(busy, fires):
    """A sleeping foreachBatch function: half of addBatch (2,549 ms) is the bound."""
    diagnosis = judge(late(sink=FOREACH_BATCH), tasks={**BUSY, **EVEN, "busyMs": busy})
    assert ("driver-bound" in codes(diagnosis)) == fires
    assert codes(diagnosis)[0] == ("driver-bound" if fires else "slow-user-code")
    assert hint(diagnosis, "falling-behind").under == codes(diagnosis)[0]


def test_driver_bound_names_the_part_that_it_is_of():
    """The time without a task is in addBatch, which is not all of the batch."""
    diagnosis = judge(late(parts={"latestOffset": 1000}), tasks={**BUSY, **EVEN, "busyMs": 100})
    found = hint(diagnosis, "driver-bound")
    assert found.title == "No task runs for 1.4 s of the 1.6 s in addBatch: the driver works alone"
    assert {"addBatch", "triggerExecution"} <= {one.name for one in found.evidence}


@pytest.mark.parametrize(
    ("count", "ms", "busy", "fires"),
    [(3, 4300, 100, False), (8, 4300, 100, False), (9, 4300, 100, True), (9, 4300, 2300, False)],
)
@pytest.mark.parametrize("trigger", [None, "availableNow"])
def test_driver_bound_says_nothing_of_a_few_first_batches(trigger, count, ms, busy, fires):
    """A new JVM loads classes: where no interval is missed, eight settled batches and two seconds are needed."""
    made = records(count, interval=None, ms=ms)
    diagnosis = judge(made, None, trigger=trigger, tasks={**BUSY, **EVEN, "busyMs": busy})
    assert ("driver-bound" in codes(diagnosis)) == fires
    assert loud(diagnosis) == []


def test_driver_bound_is_silent_while_time_is_left():
    """A short batch may spend its time on the driver."""
    assert loud(judge(records(ms=600, sink=FOREACH_BATCH), tasks={**BUSY, **EVEN, "busyMs": 50})) == []
