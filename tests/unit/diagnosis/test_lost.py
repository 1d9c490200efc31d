"""Rules about what is lost or left behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jupyter_streamwatch.model.facts import Facts
from tests.unit.diagnosis.made import FILES, FOREACH_BATCH, codes, hint, judge, operator, records

LENIENT = Facts(stateful=(), foreachBatch=False, lenient=(("failOnDataLoss", "false"), ("ignoreMissingFiles", "true")))


def fewer(rows):
    """Return batches whose offsets move by 100, the last of which reads fewer rows."""
    made = records(6)
    made[-1]["numInputRows"] = made[-1]["sources"][0]["numInputRows"] = rows
    return made


@pytest.mark.parametrize(
    ("rows", "facts", "fires"),
    [
        (60, LENIENT, True),
        (99, LENIENT, True),
        (100, LENIENT, False),
        (60, replace(LENIENT, lenient=()), False),
        (60, replace(LENIENT, lenient=None), False),
        (60, replace(LENIENT, foreachBatch=True), False),
        (60, replace(LENIENT, stateful=("globalLimit",)), False),
        (60, replace(LENIENT, stateful=None), False),
    ],
)
def test_fewer_rows_than_offsets_may_be_lost(rows, facts, fires):
    """Only where the query goes on without an error, and nothing else reads less; it is no proof, so info."""
    diagnosis = judge(fewer(rows), facts=facts)
    assert ("rows-lost" in codes(diagnosis)) == fires
    if fires:
        found = hint(diagnosis, "rows-lost")
        assert found.severity == "info"
        assert "compacted or written in transactions" in found.cause


def test_a_marker_of_a_transaction_is_no_lost_row():
    """One offset in many is not a hundredth."""
    made = records(6, rows=1000)
    made[-1]["numInputRows"] = made[-1]["sources"][0]["numInputRows"] = 999
    assert "rows-lost" not in codes(judge(made, facts=LENIENT))


@pytest.mark.parametrize(
    ("rows", "facts", "fires"), [(0, LENIENT, True), (5, LENIENT, False), (0, replace(LENIENT, lenient=()), False)]
)
def test_new_files_without_a_row_may_have_been_gone(rows, facts, fires):
    """With ignoreMissingFiles nothing else tells."""
    diagnosis = judge(records(3, rows=rows, source=FILES), facts=facts)
    assert ("rows-lost" in codes(diagnosis)) == fires


@pytest.mark.parametrize(
    ("trigger", "limits", "severity"),
    [
        ("once", (("maxOffsetsPerTrigger", "50"),), "warning"),
        ("once", (("maxOffsetsPerTrigger", "500"),), "info"),
        ("once", (("maxFilesPerTrigger", "5"),), "info"),
        ("once", (), None),
        ("once", None, None),
        ("availableNow", (("maxOffsetsPerTrigger", "50"),), None),
        (2, (("maxOffsetsPerTrigger", "50"),), None),
    ],
)
def test_the_trigger_once_ignores_limits(trigger, limits, severity):
    """A warning where the batch is known to have taken more."""
    diagnosis = judge(records(1), facts=Facts(rateLimit=limits), trigger=trigger)
    found = [one.severity for one in diagnosis.hints if one.code == "limit-ignored"]
    assert found == ([severity] if severity else [])


def test_a_version_without_available_now_is_not_told_to_use_it():
    """It is there from 3.3 on."""
    facts = Facts(rateLimit=(("maxOffsetsPerTrigger", "50"),), sparkVersion="3.1.2")
    assert hint(judge(records(1), facts=facts, trigger="once"), "limit-ignored").code_fix is None


@pytest.mark.parametrize(
    ("cached", "sink", "fires"),
    [
        (lambda i: 3 + i, FOREACH_BATCH, True),
        (lambda i: 3 + i, "Noop", False),
        (3, FOREACH_BATCH, False),
        (lambda i: i % 5, FOREACH_BATCH, False),
    ],
)
def test_cached_data_that_grows_with_each_batch_is_not_released(cached, sink, fires):
    """One more after every batch of a foreachBatch function; what stays the same is the user's own."""
    diagnosis = judge(records(20, sink=sink), tasks={"cachedRdds": cached})
    assert ("cache-not-released" in codes(diagnosis)) == fires


@pytest.mark.parametrize(("failed", "fires"), [(lambda i: 2 * (i == 15), True), (0, False)])
def test_failed_attempts_of_tasks(failed, fires):
    """One batch proves it; it says what is not known."""
    diagnosis = judge(records(20), tasks={"failed": failed})
    assert ("executor-lost" in codes(diagnosis)) == fires
    if fires:
        found = hint(diagnosis, "executor-lost")
        assert found.title == "2 task attempts of 1 batch failed"
        assert found.evidence[0].batches == (15,)


@pytest.mark.parametrize(
    ("files", "size", "fires"), [(5_000, 20_000, True), (500, 20_000, False), (5_000, 20_000_000, False)]
)
def test_many_small_files_wait(files, size, fires):
    """By what the source says of files and bytes."""
    made = records(3, source="DeltaSource[file:/lake/orders]")
    for record in made:
        told = {"numFilesOutstanding": str(files), "numBytesOutstanding": str(files * size)}
        record["sources"][0]["metrics"] = told
    assert ("small-files" in codes(judge(made))) == fires


@pytest.mark.parametrize(
    ("uploaded", "interval", "fires"),
    [(40, 10_000, True), (40, 2_000, False), (100, 10_000, False), (-1, 10_000, False)],
)
def test_snapshots_of_the_state_lag(uploaded, interval, fires):
    """Fifty batches and ten minutes, as in Spark's own warning; a partition without a snapshot says nothing."""
    name = "SnapshotLastUploaded.partition_3_default"
    made = records(120, interval=interval, state=[operator(customMetrics={name: uploaded})], output=1)
    diagnosis = judge(made, interval)
    assert ("snapshot-upload-lag" in codes(diagnosis)) == fires
    if fires:
        found = hint(diagnosis, "snapshot-upload-lag")
        assert found.title == "The last snapshot of the state of partition 3 is 80 batches old"
