"""Clocks that jump: on the driver, and where the dashboard runs."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_streamwatch import charts, testing
from jupyter_streamwatch.dashboard.messages import Delivery
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.model.history import History, RunningBatch
from jupyter_streamwatch.report.table import table
from jupyter_streamwatch.summary.line import line
from jupyter_streamwatch.text.numbers import MINUS

START = 1_793_494_800_000.0  # 25 October 2026, 01:00 UTC: the hour that European clocks show twice
HOUR = 3_600_000.0
SECOND = "bbbbbbbb-bbbb-4ccc-8ddd-eeeeeeeeeeee"
JUMPS = [-30 * 24 * HOUR, -HOUR, -5_000.0, HOUR, 30 * 24 * HOUR]


def lived(jump: float, *, restart: bool) -> tuple[History, float]:
    """Ten batches, a jump of the clock (and a start of the query after it), ten batches; and the time by then."""
    history, clock, run = History(testing.ID, "orders"), START, testing.RUN
    history.start(run, "orders", clock - 1000)
    for batch in range(20):
        if batch == 10:
            clock += jump
            if restart:
                run = SECOND
                history.start(run, "orders", clock - 500)
        history.append(testing.progress(batch, 100, 1000, clock, runId=run))
        clock += 2000
    return history, clock


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("restart", [False, True])
def test_the_last_batch_is_the_one_that_came_last(jump, restart):
    """Whatever the clock says: rows, records and runs are in the order of their batches."""
    history, _ = lived(jump, restart=restart)
    assert history.last.batchId == 19
    assert history.batches["batchId"].tolist() == list(range(20))
    assert history.gaps == ()
    assert [run.runId for run in history.runs] == [testing.RUN, SECOND][: 1 + restart]
    assert history.runs[-1].state == "active"
    assert [mark for mark in table(history).marks if mark] == ["run 2 starts"] * restart


def test_a_later_run_that_counts_anew_is_the_latest():
    """Its log was deleted: batch 0 comes after batch 9, when its run was started later."""
    history = History(testing.ID)
    for batch in range(10):
        history.append(testing.progress(batch, start=START + batch * 2000))
    history.start(SECOND, None, START + 50_000)
    history.append(testing.progress(0, start=START + 51_000, runId=SECOND))
    assert (history.last.runId, history.last.batchId) == (SECOND, 0)
    assert history.batches["batchId"].tolist() == [*range(10), 0]


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("ahead", [-HOUR, 0.0, HOUR])
def test_no_duration_is_negative(jump, restart, ahead):
    """Not where the clock of the page and that of the driver differ either."""
    history, clock = lived(jump, restart=restart)
    history.set_running(RunningBatch(history.runs[-1].runId, 20, started=clock + HOUR, tasksTotal=4, tasksDone=1))
    now = clock + ahead
    said = line(history.snapshot(), diagnose(history, now=now), None, now)
    assert MINUS not in json.dumps(said.to_dict(), ensure_ascii=False)
    data = charts.data(history)["batches"]
    assert all(left <= right for left, right in zip(data["left"], data["right"], strict=True))
    assert data["batchId"] == list(range(20))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([2_000.0, 0.0, 500.0, *JUMPS]), min_size=1, max_size=40), st.sampled_from(JUMPS), st.data()
)
def test_a_page_follows_a_clock_that_jumps(steps, ahead, data):
    """Every batch reaches it once, in order, and the numbers of the messages have no gap."""
    history = History(testing.ID, "orders")
    history.start(testing.RUN, "orders", START)
    clock = [START]
    source = SimpleNamespace(session=SimpleNamespace(state="live", text=""), histories=lambda: [history])
    delivery = Delivery(source, now=lambda: (clock[0] + ahead) / 1000)
    rows: dict[int, float] = {}
    for batch, step in enumerate(steps):
        clock[0] += step
        history.append(testing.progress(batch, start=clock[0]))
        if data.draw(st.booleans()) or batch == len(steps) - 1:
            message = delivery.step() if delivery.n else {"type": "snapshot", **delivery.snapshot()}
            sent = message["data"]["batches"] if message.get("data") else message.get("rows", {})
            if message["type"] == "snapshot" or message.get("data"):
                rows = {}
            rows.update(zip(sent.get("batchId", ()), sent.get("timestamp", ()), strict=True))
    assert list(rows) == list(range(len(steps)))
    assert list(rows.values()) == history.batches.numbers("timestamp").tolist()
