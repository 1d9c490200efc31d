"""What Spark's status alone tells of the running batch."""

from __future__ import annotations

import time

import pytest

from jupyter_streamwatch import testing
from jupyter_streamwatch.model.facts import RunningBatch, Status
from jupyter_streamwatch.spark import probe
from jupyter_streamwatch.watching.prober import look_at

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


class Query:
    def __init__(self, last):
        self.status = {"message": RUNS, "isDataAvailable": True, "isTriggerActive": True}
        self.lastProgress = None if last is None else {"batchId": last}


@pytest.mark.parametrize(("last", "runs"), [(3, True), (4, False), (6, False), (None, True)])
@pytest.mark.parametrize("seconds", [5, 15])
def test_a_batch_whose_event_is_late_does_not_run(last, runs, seconds):
    """A listener of the user that waits holds up our events, too: a batch that seems long is looked up once more."""
    history = testing.history([testing.progress(batch) for batch in range(4)])
    began = time.time() * 1_000 - seconds * 1_000
    history.set_running(RunningBatch(testing.RUN, 4, started=began, seen=began))
    look_at(None, history, testing.RUN, Query(last), classic=False)
    assert (history.running is not None) == (runs or seconds < 10)
    if history.running is not None:
        assert history.running.started == began
