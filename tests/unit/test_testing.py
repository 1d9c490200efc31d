"""What is made up for tests is what Spark would send."""

from __future__ import annotations

import pytest

from jupyter_streamwatch import testing
from jupyter_streamwatch.model.progress import parse


def test_a_progress_has_what_was_asked_for():
    """Rows, duration, start and any key of the record."""
    p = testing.progress(7, rows=5, duration=400, start="2026-05-01T00:00:00.000Z", backlog=3, name="flights")
    assert (p.batchId, p.numInputRows, p.batchDuration, p.kind, p.name) == (7, 5, 400, "data", "flights")
    assert p.timestamp == "2026-05-01T00:00:00.000Z"
    assert p.backlog == 3
    assert p.processedRowsPerSecond == 12.5
    assert sum(p.durationMs.values()) - p.durationMs["triggerExecution"] <= 400
    assert testing.progress(rows=0).kind == "no-data"
    assert parse(p.json) == p


def test_a_run_starts_its_batches_as_the_trigger_would():
    """At multiples of the interval, or at once after a batch that took too long; offsets follow one another."""
    made = testing.run(5, interval=2, rows=[10, 20], duration=lambda i: 3000 if i == 1 else 500, stateful=True)
    starts = [p.start_ms - made[0].start_ms for p in made]
    assert starts == [0, 2000, 5001, 6000, 8000]
    assert [p.numInputRows for p in made] == [10, 20, 20, 20, 20]
    assert made[1].inputRowsPerSecond == 10
    assert made[0].inputRowsPerSecond == 0
    assert made[2].sources[0].startOffset == made[1].sources[0].endOffset
    assert [p.stateOperators[0].numRowsTotal for p in made] == [10, 20, 30, 40, 50]
    assert [p.start_ms - made[0].start_ms for p in testing.run(3, interval=None, duration=700)] == [0, 700, 1400]
    with pytest.raises(ValueError, match="ISO text"):
        testing.run(start="soon")


def test_a_history_and_a_recording_are_made_of_a_run():
    """One run of one query; the trigger is stated only when it is given."""
    assert testing.history(batches=3).seen == 3
    assert testing.history(batches=3).trigger is None
    assert testing.history(batches=3, trigger="5 seconds").trigger.interval_ms == 5000
    assert testing.history(testing.run(2)).seen == 2
    recording = testing.recording(batches=4)
    assert len(recording.progress) == recording.queries["orders"].seen == 4


def test_a_fake_clock_moves_only_when_told():
    """Seconds like ``time.time``; epoch ms beside it."""
    clock = testing.FakeClock()
    assert clock() == clock() == 1_767_225_600
    assert clock.advance(2.5) == clock.ms == 1_767_225_602_500
