"""Rules about where the time inside a batch goes."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.model.facts import Facts
from tests.unit.diagnosis.made import FILES, FOREACH_BATCH, codes, hint, judge, loud, operator, records

BUSY = {"busyMs": 2300, "queueMs": 5, "count": 8, "stages": 2, "runTimeMs": 4400}
EVEN = {"runTimeMs.median": 500, "runTimeMs.max": 700}


def late(**more):
    """Return batches of 2.6 s at an interval of 2 s."""
    return records(ms=2600, **more)


@pytest.mark.parametrize(("queue", "fires"), [(1500, True), (900, False)])
def test_contention_when_stages_wait_for_cores(queue, fires):
    """A second and a third of the batch before the first task starts; that is not the driver's fault."""
    diagnosis = judge(late(), tasks={**BUSY, **EVEN, "busyMs": 900, "queueMs": queue})
    assert ("contention" in codes(diagnosis)) == fires
    if fires:
        assert codes(diagnosis)[0] == "contention"


@pytest.mark.parametrize(("queue", "fires"), [(1600, True), (1400, False)])
def test_a_wait_for_cores_is_three_tenths_of_addbatch(queue, fires):
    """Of 4,949 ms, where a second alone is long exceeded."""
    diagnosis = judge(records(ms=5000), tasks={**BUSY, **EVEN, "queueMs": queue})
    assert ("contention" in codes(diagnosis)) == fires


@pytest.mark.parametrize(("queue", "fires"), [(1050, True), (950, False)])
def test_a_wait_for_cores_is_a_second(queue, fires):
    """Of 2,549 ms both are more than three tenths."""
    diagnosis = judge(late(), tasks={**BUSY, **EVEN, "busyMs": 1400, "queueMs": queue})
    assert ("contention" in codes(diagnosis)) == fires


@pytest.mark.parametrize(("every", "queue", "fires"), [(3, 3900, True), (3, 900, False), (10, 3900, False)])
def test_contention_when_every_third_batch_waits(every, queue, fires):
    """A small query beside a large one: quick batches in the gaps, and most of the time lost in those between."""

    def waits(i):
        return i % every == every - 1

    made = records(interval=1000, ms=lambda i: queue + 100 if waits(i) else 250)
    diagnosis = judge(made, tasks={"busyMs": 10, "queueMs": lambda i: queue if waits(i) else 5})
    assert ("contention" in codes(diagnosis)) == fires
    if fires:
        found = hint(diagnosis, "contention")
        assert found.severity == "warning"
        assert found.title == "6 of the last 19 batches wait about 3.9 s for a free core"
        assert found.evidence[0].batches == (2, 5, 8, 11, 14, 17)


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        (
            {"runTimeMs.median": 2200, "runTimeMs.max": 2200, "runTimeMs": 2300, "count": 3, "stages": 2},
            "too-few-tasks",
        ),
        (
            {"runTimeMs.median": 2200, "runTimeMs.max": 2200, "runTimeMs": 4300, "count": 2, "stages": 1},
            None,
        ),  # two even ones
        (
            {"runTimeMs.median": 2200, "runTimeMs.max": 2200, "runTimeMs": 3300, "count": 3, "stages": 2},
            None,
        ),  # others work
        ({"runTimeMs.median": 900, "runTimeMs.max": 900, "runTimeMs": 1000, "count": 1, "stages": 1}, None),
        ({"runTimeMs.median": 100, "runTimeMs.max": 2200}, "task-skew"),
        ({"runTimeMs.median": 420, "runTimeMs.max": 2200}, "task-skew"),
        ({"runTimeMs.median": 460, "runTimeMs.max": 2200}, None),
        ({"runTimeMs.median": 600, "runTimeMs.max": 700}, None),
    ],
)
def test_one_task_or_one_long_task(tasks, code):
    """The stage that takes the time has one task, one much longer than the others, or none that stands out."""
    diagnosis = judge(late(), tasks={**BUSY, **tasks})
    found = [one for one in codes(diagnosis) if one in ("too-few-tasks", "task-skew")]
    assert found == ([code] if code else [])


@pytest.mark.parametrize(("longest", "fires"), [(1050, True), (950, False)])
@pytest.mark.parametrize(
    ("tasks", "code"),
    [({"runTimeMs.median": 50}, "task-skew"), ({"runTimeMs": 1100, "count": 1, "stages": 1}, "too-few-tasks")],
)
def test_one_task_must_take_a_second(tasks, code, longest, fires):
    """In batches of 1.2 s at an interval of one, where it is most of addBatch on both sides."""
    made = records(ms=1200, interval=1000)
    tasks = {**BUSY, "runTimeMs.median": 900, "runTimeMs.max": longest, **tasks}
    assert (code in codes(judge(made, 1000, tasks=tasks))) == fires


def test_skew_has_code_where_no_key_is_needed():
    """Without state, rows may be spread without their key; with it, each key's rows must meet."""
    skewed = {**BUSY, "runTimeMs.median": 100, "runTimeMs.max": 2200}
    for stateful, code in (((), True), (("stateStoreSave",), False), (None, False)):
        found = hint(judge(late(), tasks=skewed, facts=Facts(stateful=stateful)), "task-skew")
        assert bool(found.code_fix) == code


@pytest.mark.parametrize(
    ("most", "usual", "words"),
    [(9000, 100, "Most rows have the same key"), (110, 100, "slow itself"), (None, None, "or it is slow itself")],
)
def test_skew_tells_a_full_task_from_a_slow_one(most, usual, words):
    """By the rows that the tasks read; where these are not known it says both."""
    tasks = {**BUSY, "runTimeMs.median": 100, "runTimeMs.max": 2200}
    if most is not None:
        tasks |= {"rows.max": most, "rows.median": usual}
    found = hint(judge(late(), tasks=tasks, facts=Facts(stateful=())), "task-skew")
    assert words in found.cause
    assert bool(found.code_fix) == (most != 110)


def test_few_blocks_of_cached_data_are_no_rows():
    """A foreachBatch function may have cached its batch: then the tasks' counts are of blocks."""
    tasks = {**BUSY, "runTimeMs.median": 100, "runTimeMs.max": 2200, "rows.max": 1, "rows.median": 1}
    assert "or it is slow itself" in hint(judge(late(sink=FOREACH_BATCH), tasks=tasks), "task-skew").cause


def test_skew_is_silent_while_time_is_left():
    """A long task that nobody waits for."""
    made = records(ms=1400)
    assert codes(judge(made, tasks={**BUSY, "runTimeMs.median": 100, "runTimeMs.max": 1200})) == []


@pytest.mark.parametrize(("times", "fires"), [(3, True), (2, True), (1, False)])
def test_batch_recomputed_when_rows_are_a_multiple_of_the_offsets(times, fires):
    """Rows = k x offset delta, in a foreachBatch query; also from one record."""
    made = late(times=times, sink=FOREACH_BATCH)
    diagnosis = judge(made)
    assert ("batch-recomputed" in codes(diagnosis)) == fires
    assert ("batch-recomputed" in codes(judge([made[7]]))) == fires
    if fires:
        found = hint(diagnosis, "batch-recomputed")
        assert codes(diagnosis)[0] == "batch-recomputed"
        assert "persist" in found.code_fix
        assert found.effect.low < found.effect.best < found.effect.high < 2600


def test_batch_recomputed_needs_a_whole_multiple_and_a_foreach_batch():
    """A count that stopped early, cut offsets, or another sink prove nothing."""
    made = late(sink=FOREACH_BATCH)
    for record in made:
        record["numInputRows"] = record["sources"][0]["numInputRows"] = 241
    assert "batch-recomputed" not in codes(judge(made))
    assert "batch-recomputed" not in codes(judge(late(times=3)))


def test_batch_recomputed_clears_after_the_fix():
    """With persist() the same query reads each row once."""
    made = records(40, times=lambda i: 3 if i < 20 else 1, sink=FOREACH_BATCH)
    assert "batch-recomputed" in codes(judge(made[:20]))
    assert "batch-recomputed" not in codes(judge(made[:30]))


def test_batch_recomputed_by_the_state_of_a_deduplication():
    """It cannot see more rows than came."""
    seen = [
        operator(
            "dedupe", numRowsUpdated=25, numRowsDroppedByWatermark=1142, customMetrics={"numDroppedDuplicateRows": 0}
        )
    ]
    made = records(rows=360, state=seen, sink=FOREACH_BATCH, source=FILES)
    assert "batch-recomputed" in codes(judge([made[3]]))
    fair = [
        operator(
            "dedupe", numRowsUpdated=200, numRowsDroppedByWatermark=100, customMetrics={"numDroppedDuplicateRows": 60}
        )
    ]
    assert "batch-recomputed" not in codes(judge(records(rows=360, state=fair, sink=FOREACH_BATCH, source=FILES)))


def test_slow_user_code_of_python_functions():
    """Python in the plan and a batch that is late; not while time is left."""
    facts = Facts(pythonUdf=True)
    diagnosis = judge(late(), facts=facts, tasks={**BUSY, **EVEN})
    assert codes(diagnosis)[:2] == ["slow-user-code", "falling-behind"]
    assert codes(judge(records(ms=900), facts=facts, tasks={**BUSY, **EVEN})) == []
    assert codes(judge(late(), facts=Facts(pythonUdf=False), tasks={**BUSY, **EVEN})) == ["falling-behind"]


@pytest.mark.parametrize(
    ("ms", "rows", "severity"),
    [
        (371_801, 191, "warning"),
        (60_100, 100, "warning"),
        (59_000, 100, "info"),
        (10_100, 100, "info"),
        (9_900, 100, None),
        (371_801, 50_000, None),
        (10_100, 205, None),
        (10_100, 195, "info"),
    ],
)
def test_slow_user_code_from_one_extreme_record(ms, rows, severity):
    """A minute, and a thousand times what a plain row takes, is proof; ten seconds are worth knowing."""
    made = records(60, ms=ms, rows=rows, sink="ForeachSink")
    diagnosis = judge([made[55]])
    assert [one.severity for one in diagnosis.hints if one.code == "slow-user-code"] == [severity] * bool(severity)
    assert "falling-behind" not in codes(diagnosis)


def test_slow_sink_only_where_nothing_else_can_take_the_time():
    """A plain copy from a source that costs nothing to read."""
    rate = "RateStreamV2[rowsPerSecond=10, rampUpTimeSeconds=0, numPartitions=2"
    facts = Facts(pythonUdf=False, stateful=())
    assert codes(judge(late(source=rate), facts=facts, tasks={**BUSY, **EVEN}))[0] == "slow-sink"
    assert "slow-sink" not in codes(judge(late(source=FILES), facts=facts, tasks={**BUSY, **EVEN}))
    assert "slow-sink" not in codes(judge(records(source=rate), facts=facts, tasks={**BUSY, **EVEN}))
    assert "slow-sink" not in codes(judge(late(source=rate), tasks={**BUSY, **EVEN}))


DELTA = "DeltaSink[/lake/orders]"
LOG = {"busyMs": 2300, "queueMs": 5, "count": 55, "stages": 4, "jobs": 4, "runTimeMs": 4400, "runTimeMs.median": 70}


@pytest.mark.parametrize(
    ("tasks", "fires"),
    [
        ({}, True),
        ({"runTimeMs.median": 40}, False),  # most of the time goes elsewhere
        ({"count": 30}, False),  # few tasks
        ({"runTimeMs.median": 1900}, False),  # the stage that takes the longest has few tasks, and long ones
    ],
)
def test_the_tasks_that_read_the_log_of_a_delta_table(tasks, fires):
    """51 of 55 tasks take most of the time, whatever the source: the sink is slow, and its own setting mends it."""
    diagnosis = judge(late(source=FILES, sink=DELTA), facts=Facts(pythonUdf=False, stateful=()), tasks={**LOG, **tasks})
    assert ("slow-sink" in codes(diagnosis)) == fires
    if fires:
        found = hint(diagnosis, "slow-sink")
        assert codes(diagnosis)[0] == "slow-sink"
        assert 'set("spark.databricks.delta.snapshotPartitions", "4")' in found.code_fix
        assert found.effect.low < 1000 < found.effect.high < 2600


def test_the_log_of_a_delta_table_is_no_matter_while_time_is_left():
    """A short batch may read it in as many tasks as it likes."""
    diagnosis = judge(records(sink=DELTA), facts=Facts(pythonUdf=False, stateful=()), tasks=LOG)
    assert codes(diagnosis) == []


def test_slow_reading_only_where_nothing_else_can_take_the_time():
    """A query without state and Python from a real source into a sink that costs nothing only reads."""
    noop = "org.apache.spark.sql.execution.datasources.noop.NoopTable$@5e"
    facts = Facts(pythonUdf=False, stateful=())
    rate = "RateStreamV2[rowsPerSecond=10]"
    assert codes(judge(late(source=FILES, sink=noop), facts=facts, tasks={**BUSY, **EVEN}))[0] == "source-read-slow"
    for silent in (
        judge(late(source=rate, sink=noop), facts=facts, tasks={**BUSY, **EVEN}),
        judge(late(source=FILES), facts=facts, tasks={**BUSY, **EVEN}),
        judge(records(source=FILES, sink=noop), facts=facts, tasks={**BUSY, **EVEN}),
        judge(late(source=FILES, sink=noop), tasks={**BUSY, **EVEN}),
        judge(late(source=FILES, sink=noop), facts=Facts(pythonUdf=True, stateful=()), tasks={**BUSY, **EVEN}),
    ):
        assert "source-read-slow" not in codes(silent)


@pytest.mark.parametrize(("ms", "fires"), [(1200, True), (700, False), (200, False)])
def test_slow_planning_is_a_large_part_for_a_while(ms, fires):
    """A third of the batch and half a second."""
    diagnosis = judge(late(parts={"queryPlanning": ms}))
    assert ("slow-planning" in codes(diagnosis)) == fires


def test_a_slow_part_in_one_batch_is_no_finding():
    """It must hold for a while."""
    assert (
        codes(
            judge(
                records(
                    parts={"queryPlanning": lambda i: 1500 if i == 19 else 10}, ms=lambda i: 1900 if i == 19 else 500
                )
            )
        )
        == []
    )


@pytest.mark.parametrize(("ms", "found"), [(1900, []), (2100, ["slow-user-code"]), (30_000, ["slow-user-code"])])
def test_without_an_interval_slow_batches_are_only_worth_knowing(ms, found):
    """Nothing says that they are too slow: results come later, that is all. The same for a query that ends itself."""
    made = records(interval=None, ms=ms, sink=FOREACH_BATCH)
    for trigger in (None, "availableNow"):
        diagnosis = judge(made, None, trigger=trigger)
        assert [code for code in codes(diagnosis) if code != "sink-not-idempotent"] == found
        assert loud(diagnosis) == []


@pytest.mark.parametrize(
    ("part", "code"),
    [("walCommit", "slow-checkpoint"), ("latestOffset", "slow-source-discovery"), ("queryPlanning", "slow-planning")],
)
@pytest.mark.parametrize(
    ("ms", "rest", "severity"),
    [
        (10_000, 5_000, "warning"),
        (9_900, 5_000, "info"),
        (2_000, 1_500, "info"),
        (1_900, 500, None),
        (3_000, 3_200, None),
    ],
)
def test_a_part_of_one_record(part, code, ms, rest, severity):
    """Half of the batch or more, and seconds: worth knowing; from ten on a warning. A single record knows no trend."""
    quiet = dict.fromkeys(("latestOffset", "getBatch", "queryPlanning", "walCommit", "commitOffsets"), 0)
    made = records(8, ms=ms + rest, parts={**quiet, part: ms})
    diagnosis = judge([made[7]])
    assert [one.severity for one in diagnosis.hints if one.code == code] == [severity] * bool(severity)
    first = judge([made[0]])
    assert code not in codes(first)
