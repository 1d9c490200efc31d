"""Rules about state."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.model.facts import Facts
from tests.unit.diagnosis.made import BEGIN, FILES, KAFKA, codes, hint, iso, judge, loud, operator, records

HOUR = 3_600_000


def growing(name="stateStoreSave", rows=lambda i: 1000 + 200 * i, count=30, event=None, **values):
    return records(count, state=lambda i: [operator(name, numRowsTotal=int(rows(i)), **values)], event=event, output=1)


@pytest.mark.parametrize(
    ("name", "words"),
    [("stateStoreSave", "no watermark"), ("dedupe", "every key for ever"), ("symmetricHashJoin", "neither watermarks")],
)
def test_state_growth_without_a_watermark(name, words):
    """The reason is found by the operator."""
    found = hint(judge(growing(name)), "state-growth")
    assert words in found.cause
    assert found.severity == "warning"
    assert found.code_fix


def test_state_growth_in_complete_mode():
    """Every group is kept, whatever the watermark."""
    diagnosis = judge(growing(event={"watermark": iso(BEGIN)}), facts=Facts(outputMode="complete"))
    assert "Complete mode" in hint(diagnosis, "state-growth").cause


@pytest.mark.parametrize(
    "made",
    [
        growing(rows=lambda i: 1000 + 500 * min(i, 5)),  # the keys are known now
        growing(rows=lambda i: 3000 * (1 - 0.8**i)),  # ever fewer new keys
        growing(numRowsRemoved=1),
        growing(count=8),
        growing(rows=lambda i: 1000 + 200 * (i % 9)),
    ],
)
def test_state_growth_is_silent(made):
    """Keys that come back, removal, few batches."""
    assert "state-growth" not in codes(judge(made))


@pytest.mark.parametrize(("each", "fires"), [(20, True), (18, False)])
def test_state_growth_is_by_half(each, fires):
    """From 1,020 to 1,580 rows, not from 1,018 to 1,522."""
    assert ("state-growth" in codes(judge(growing(rows=lambda i: 1000 + each * i)))) == fires


@pytest.mark.parametrize(("rows", "fires"), [(13, True), (9, False)])
def test_a_hundred_rows_are_worth_a_hint(rows, fires):
    """From 16 to 100 rows, or to 96: a few keys."""
    assert ("state-growth" in codes(judge(growing(rows=lambda i: rows + 3 * i)))) == fires


@pytest.mark.parametrize(("share", "fires"), [(0.75, True), (0.65, False)])
def test_keys_that_come_back_fill_the_state_ever_more_slowly(share, fires):
    """The second half of the batches brings less than seven tenths of what the first brought."""
    made = growing(count=20, rows=lambda i: 1000 + 100 * min(i, 10) + share * 100 * max(i - 10, 0))
    assert ("state-growth" in codes(judge(made))) == fires


def moving(lag):
    def event(i):
        start = BEGIN + 2000 * i
        return {"max": iso(start), "min": iso(start - 1000), "avg": iso(start - 500), "watermark": iso(start - lag)}

    return event


def test_state_growth_with_a_moving_watermark_waits_until_removal_is_overdue():
    """A window may end long after its rows; and then it is info, because the length of the window is not known."""
    overdue = judge(growing(event=moving(3_000)), facts=Facts(watermarks=(("ts", 3_000.0),)))
    assert hint(overdue, "state-growth").severity == "info"
    assert "state-growth" not in codes(judge(growing(event=moving(HOUR))))


@pytest.mark.parametrize(("count", "fires"), [(21, True), (20, False)])
def test_twenty_batches_show_that_a_removal_is_overdue(count, fires):
    """Beside the first, which starts cold; with fewer the distance of the watermark proves nothing."""
    made = growing(count=count, event=moving(3_000))
    assert ("state-growth" in codes(judge(made, facts=Facts(watermarks=(("ts", 3_000.0),))))) == fires


def test_a_deduplication_that_removes_nothing_is_proven_by_the_watermark():
    """Its keys have no window: passed is passed."""
    diagnosis = judge(growing("dedupe", event=moving(3_000)), facts=Facts(watermarks=(("ts", 3_000.0),)))
    found = hint(diagnosis, "state-growth")
    assert found.severity == "warning"
    assert found.code_fix.startswith(".dropDuplicatesWithinWatermark(keys)")


@pytest.mark.parametrize(("commit", "fires"), [(1400, True), (1100, False), (300, False)])
def test_state_commit_slow_by_the_mean_of_the_partitions(commit, fires):
    """However many tasks ran at once, the mean of a partition passed by the clock: half of addBatch (2,549 ms)."""
    made = records(ms=2600, state=[operator(commitTimeMs=4 * commit)])
    diagnosis = judge(made)
    assert ("state-commit-slow" in codes(diagnosis)) == fires
    if fires:
        assert codes(diagnosis)[0] == "state-commit-slow"
        assert "RocksDB" in hint(diagnosis, "state-commit-slow").code_fix


@pytest.mark.parametrize(("commit", "fires"), [(550, True), (450, False)])
def test_saving_the_state_for_less_than_half_a_second_is_not_worth_a_hint(commit, fires):
    """Though both are most of addBatch (749 ms) in batches that are late."""
    made = records(ms=800, interval=500, state=[operator(commitTimeMs=4 * commit)])
    assert ("state-commit-slow" in codes(judge(made, 500))) == fires


@pytest.mark.parametrize(
    ("slow", "fires"), [({18, 19}, False), ({17, 18, 19}, True), ({15, 16, 17}, True), ({14, 15, 16}, False)]
)
def test_a_finding_holds_for_three_batches(slow, fires):
    """It is raised by the third batch that shows it, and gone with the third after that does not."""
    made = records(ms=2600, state=lambda i: [operator(commitTimeMs=5600 if i in slow else 40)])
    assert ("state-commit-slow" in codes(judge(made))) == fires


def test_commit_times_are_sums_over_tasks():
    """A sum beyond the interval is ordinary."""
    many = [operator(commitTimeMs=5000, numShufflePartitions=20, numStateStoreInstances=20)]
    assert codes(judge(records(ms=1500, rows=5000, state=many))) == []


@pytest.mark.parametrize(("size", "fires"), [(2_250_000_000, True), (2_050_000_000, False)])
def test_state_memory_in_the_heap(size, fires):
    """Two GiB in the JVM; RocksDB keeps it outside."""
    assert ("state-memory" in codes(judge(records(3, state=[operator(memoryUsedBytes=size)])))) == fires
    rocksdb = [operator(memoryUsedBytes=size, customMetrics={"rocksdbGetCount": 5})]
    assert "state-memory" not in codes(judge(records(3, state=rocksdb)))
    assert loud(judge(records(3, state=[operator(memoryUsedBytes=size)]))) == []


@pytest.mark.parametrize(
    ("misses", "fires"), [(lambda i: 4 * i, True), (lambda i: 4, False), (lambda i: 4 * (i // 6), False)]
)
def test_state_reload_when_the_cache_misses_again_and_again(misses, fires):
    """The first load is ordinary."""
    made = records(20, state=lambda i: [operator(customMetrics={"loadedMapCacheMissCount": misses(i)})])
    assert ("state-reload" in codes(judge(made))) == fires


@pytest.mark.parametrize(
    ("commit", "added", "severity"),
    [
        (200 * 10_100, 20_000, "warning"),
        (200 * 9_900, 19_000, "info"),
        (200 * 2_100, 4_000, "info"),
        (200 * 1_900, 3_000, None),
        (200 * 4_900, 10_000, None),
        (200 * 12_000, 11_000, None),
    ],
)
def test_saving_the_state_in_one_record(commit, added, severity):
    """The mean of the partitions is the least that passed; more than the batch itself took is no time of it."""
    state = [operator(commitTimeMs=commit, numShufflePartitions=200, numRowsTotal=9_000_000)]
    made = records(8, rows=500_000, ms=added + 100, parts={"addBatch": added}, state=state)
    diagnosis = judge([made[7]])
    assert [one.severity for one in diagnosis.hints if one.code == "state-commit-slow"] == [severity] * bool(severity)
    assert "state-commit-slow" not in codes(judge([made[0]]))


@pytest.mark.parametrize(("count", "fires"), [(10, True), (9, False)])
def test_state_reload_needs_eight_pairs_of_batches(count, fires):
    """The first batch of a query finds no state, so that it counts for none."""
    made = records(count, state=lambda i: [operator(customMetrics={"loadedMapCacheMissCount": 4 * i})], output=1)
    assert ("state-reload" in codes(judge(made))) == fires


@pytest.mark.parametrize(
    ("source", "words"),
    [(KAFKA, "startingOffsets"), (FILES, "from its beginning"), ("KinesisSource", "where its options say")],
)
def test_what_a_new_checkpoint_costs_is_said_for_this_source(source, words):
    """Kafka begins with the newest rows unless it is told otherwise, files with the first."""
    made = records(3, state=[operator(memoryUsedBytes=3_000_000_000)], source=source)
    assert words in hint(judge(made), "state-memory").fix


@pytest.mark.parametrize(
    ("spark", "rocksdb", "changes"), [("3.1.2", False, False), ("3.4.0", True, False), ("3.5.0", True, True)]
)
def test_faster_commits_are_those_of_this_version(spark, rocksdb, changes):
    """RocksDB from 3.2 on, its changelog from 3.5 on."""
    made = records(ms=2600, state=[operator(commitTimeMs=5600)])
    code = hint(judge(made, facts=Facts(sparkVersion=spark)), "state-commit-slow").code_fix or ""
    assert ("RocksDBStateStoreProvider" in code, "changelog" in code) == (rocksdb, changes)


def test_the_provider_is_not_guessed_where_no_metric_tells_it():
    """By the names of its own metrics it is known."""
    made = records(3, state=[operator(memoryUsedBytes=3_000_000_000)])
    assert hint(judge(made), "state-memory").cause.startswith("Unless it is in RocksDB")
    made = records(3, state=[operator(memoryUsedBytes=3_000_000_000, customMetrics={"loadedMapCacheHitCount": 4})])
    assert hint(judge(made), "state-memory").cause.startswith("The default provider")
