"""What Spark's status alone tells of the running batch."""

from __future__ import annotations

import pytest

from jupyter_streamwatch import probe
from jupyter_streamwatch.facts import Status

RUNS = "Processing new data"


def said(message: str = RUNS, *, active: bool = True, seen: float = 1_000.0) -> Status:
    return Status(message, isDataAvailable=True, isTriggerActive=active, seen=seen)


def test_a_batch_runs_since_it_was_first_seen():
    """What was seen before, of the same batch, tells its start; of tasks nothing is known."""
    first = probe.by_status(said(), "run", 4, None)
    assert (first.runId, first.batchId, first.started, first.tasksTotal) == ("run", 4, 1_000.0, None)
    later = probe.by_status(said(seen=9_000.0), "run", 4, first)
    assert (later.started, later.seen) == (1_000.0, 9_000.0)


@pytest.mark.parametrize(("run", "batch"), [("run", 5), ("other", 4)])
def test_another_batch_begins_anew(run, batch):
    """The batch before has been reported, or the query was started again."""
    before = probe.by_status(said(), "run", 4, None)
    assert probe.by_status(said(seen=9_000.0), run, batch, before).started == 9_000.0


@pytest.mark.parametrize(
    "status",
    [
        None,
        said("Waiting for next trigger", active=False),
        said(active=False),
        said("Getting offsets from RateStreamV2[rowsPerSecond=5]"),  # an idle query asks for them all the time
    ],
)
def test_between_batches_nothing_runs(status):
    """Unknown, waiting, and asking the sources for offsets are no running batch."""
    before = probe.by_status(said(), "run", 4, None)
    assert probe.by_status(status, "run", 4, before) is None
