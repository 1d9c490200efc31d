"""Shuffle partitions: when they are too many for the rows, and when that matters."""

from __future__ import annotations

import pytest

from tests.unit.diagnosis.made import codes, hint, judge, loud, operator, records


def partitioned(count, rows=34, *, ms=4900, total=34, commit=13, interval=2000):
    return records(
        interval=interval,
        rows=rows,
        ms=ms,
        state=[
            operator(
                numShufflePartitions=count,
                numStateStoreInstances=count,
                commitTimeMs=commit * count,
                numRowsTotal=total,
            )
        ],
    )


@pytest.mark.parametrize(
    ("count", "rows", "fires"),
    [(200, 34, True), (32, 34, True), (31, 34, False), (200, 9_900, True), (200, 10_100, False), (4, 34, False)],
)
def test_too_many_partitions_for_few_rows(count, rows, fires):
    """32 partitions or more, with fewer than 50 rows each."""
    assert ("too-many-partitions" in codes(judge(partitioned(count, rows)))) == fires


def test_too_many_partitions_says_what_to_set_and_what_it_brings():
    """The number, that it is pinned, and the predicted batch time with its range."""
    diagnosis = judge(partitioned(200))
    found = hint(diagnosis, "too-many-partitions")
    assert codes(diagnosis)[0] == "too-many-partitions"
    assert found.code_fix.startswith('spark.conf.set("spark.sql.shuffle.partitions", "4")')
    assert "pinned" in found.fix
    assert found.effect.low <= found.effect.best <= found.effect.high < 4900
    assert found.effect.best < 1000
    assert hint(diagnosis, "falling-behind").under == "too-many-partitions"


def test_many_partitions_that_cost_nothing_are_no_warning():
    """On many cores 200 partitions take a moment; large state needs them."""
    assert loud(judge(partitioned(200, ms=450, commit=2))) == []
    assert codes(judge(partitioned(200, total=10_000_000))) == ["falling-behind"]


@pytest.mark.parametrize(("ms", "found"), [(1_060, ["too-many-partitions"]), (1_040, [])])
def test_partitions_that_cost_less_than_a_second_are_no_warning_while_time_is_left(ms, found):
    """A second of addBatch in an interval of ten."""
    made = partitioned(64, ms=ms, interval=10_000)
    assert codes(judge(made, 10_000)) == ["too-many-partitions"]
    assert loud(judge(made, 10_000)) == found


@pytest.mark.parametrize(
    ("ms", "commit", "warns"), [(1_500, 11, True), (1_500, 9, False), (2_100, 2, True), (1_900, 2, False)]
)
def test_partitions_of_ten_ms_each_are_a_warning(ms, commit, warns):
    """Ten to save the state of one of 200, or ten of addBatch (51 ms less than the batch) for each."""
    made = partitioned(200, ms=ms, commit=commit, interval=10_000)
    assert codes(judge(made, 10_000)) == ["too-many-partitions"]
    assert loud(judge(made, 10_000)) == ["too-many-partitions"] * warns


@pytest.mark.parametrize(("ms", "found"), [(471, ["too-many-partitions"]), (431, [])])
def test_partitions_of_less_than_two_ms_each_cost_nothing(ms, found):
    """200 in 420 ms of addBatch are worth knowing, in 380 ms they are not."""
    assert codes(judge(partitioned(200, ms=ms, commit=1))) == found


def test_rocksdb_that_counts_no_rows_proves_no_small_state():
    """With trackTotalNumberOfRows off the state may be of any size."""
    made = partitioned(200, total=0)
    for record in made:
        record["stateOperators"][0]["customMetrics"] = {"rocksdbGetCount": 5}
    assert "too-many-partitions" not in codes(judge(made))


def test_partitions_of_an_idle_record_prove_it():
    """They are fixed: also a trigger without data shows them, with the state's own times."""
    made = partitioned(200)[5]
    made.update(numInputRows=0, durationMs={"latestOffset": 0, "triggerExecution": 0})
    made["sources"][0]["numInputRows"] = 0
    assert loud(judge([made])) == ["too-many-partitions"]


def test_partitions_are_inferred_for_old_sparks():
    """Before 3.2 the cache hits of the state tell: two a partition and batch of an aggregation."""

    def state(i):
        old = {"numRowsTotal": 3, "numRowsUpdated": 2, "memoryUsedBytes": 113_431}
        return [
            {
                **old,
                "customMetrics": {"loadedMapCacheHitCount": 400 * i, "loadedMapCacheMissCount": 400 if not i else 0},
            }
        ]

    diagnosis = judge(records(ms=4900, rows=30, state=state))
    assert "200" in hint(diagnosis, "too-many-partitions").title
    few = judge(
        records(ms=4900, rows=30, state=lambda i: [{**state(i)[0], "customMetrics": {"loadedMapCacheHitCount": 8 * i}}])
    )
    assert "too-many-partitions" not in codes(few)


def test_the_partitions_of_a_join_with_itself_are_not_made_more():
    """A source that is joined with itself is one source: its many asks are four stores, not four times the partitions.

    What is said to be the least may not be more than there are, whatever operator proves the most.
    """

    def state(i):
        asked = (1600 * i, 200 * i)  # 200 partitions: four stores read and saved; a deduplication asks once
        old = {"numRowsTotal": 80, "numRowsUpdated": 30, "memoryUsedBytes": 140_000}
        return [{**old, "customMetrics": {"loadedMapCacheHitCount": hits}} for hits in asked]

    for made in (records(ms=4900, rows=30, state=state), records(ms=4900, rows=30, state=state)[6:7]):
        title = hint(judge(made), "too-many-partitions").title
        assert title.startswith("At least 200 shuffle partitions")
