"""The whole: ranking, calm, thresholds, switches, live and recorded alike, and shapes from the field."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.diagnosis import ADD_BATCH, diagnose, rules
from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.diagnosis.ranking import rank
from jupyter_streamwatch.diagnosis.result import SEVERITIES, Hint
from jupyter_streamwatch.model.facts import Facts
from tests.unit.diagnosis.made import FOREACH_BATCH, codes, hint, judge, operator, records

DESIGNED = {
    "falling-behind",
    "at-capacity",
    "backlog-growing",
    "rate-limit-reached",
    "no-rate-limit",
    "overhead-bound",
    "duration-trend",
    "time-unaccounted",
    "batch-stuck",
    "batch-recomputed",
    "driver-bound",
    "contention",
    "too-few-tasks",
    "task-skew",
    "too-many-partitions",
    "slow-user-code",
    "source-read-slow",
    "slow-sink",
    "slow-planning",
    "slow-source-discovery",
    "source-stuck",
    "offset-rewind",
    "slow-checkpoint",
    "pinned-conf",
    "temporary-checkpoint",
    "replayed-batch",
    "state-growth",
    "state-commit-slow",
    "state-memory",
    "state-reload",
    "watermark-unset",
    "watermark-ahead",
    "watermark-stuck",
    "late-rows-dropped",
    "results-pending",
    "sink-not-idempotent",
    "source-not-replayable",
    "query-failed",
    "duplicate-query",
    "metric-unreliable",
    "no-progress-mode",
    "missed-progress",
    "snapshot-upload-lag",
    "rows-lost",
    "limit-ignored",
    "cache-not-released",
    "executor-lost",
    "small-files",
}


def test_the_rules_are_those_of_the_documentation():
    """A code is a promise: hints, settings and links use it."""
    assert set(rules) == DESIGNED
    assert set(ADD_BATCH) <= set(rules)
    assert all(rule.about.endswith(".") for rule in rules.values())


def made(code: str, severity: str = "warning", share: float | None = None) -> Hint:
    return Hint(code, severity, code, (), "", "", share=share)


def test_symptoms_stand_under_the_cause_that_costs_most():
    """And the cause becomes as severe as its worst symptom."""
    ranked = rank(
        [
            made("falling-behind", "critical"),
            made("sink-not-idempotent", "info"),
            made("slow-checkpoint", share=0.35),
            made("too-many-partitions", share=0.6),
            made("backlog-growing"),
        ]
    )
    assert [(one.code, one.severity, one.under) for one in ranked] == [
        ("too-many-partitions", "critical", None),
        ("falling-behind", "critical", "too-many-partitions"),
        ("backlog-growing", "warning", "too-many-partitions"),
        ("slow-checkpoint", "warning", None),
        ("sink-not-idempotent", "info", None),
    ]


def test_a_failure_comes_first():
    """Whatever else was wrong."""
    ranked = rank(
        [made("falling-behind", "critical"), made("slow-planning", share=0.9), made("query-failed", "critical")]
    )
    assert ranked[0].code == "query-failed"


def test_what_is_always_true_stands_behind_what_is_true_now():
    """A sink of its kind is no news."""
    ranked = rank(
        [made("sink-not-idempotent", "info"), made("temporary-checkpoint", "info"), made("results-pending", "info")]
    )
    assert ranked[0].code == "results-pending"


def test_what_is_only_worth_knowing_causes_nothing_worse():
    """A limit that is reached while batches are late is not why they are late."""
    ranked = rank([made("rate-limit-reached", "info"), made("falling-behind", "critical")])
    assert [(one.code, one.severity, one.under) for one in ranked] == [
        ("falling-behind", "critical", None),
        ("rate-limit-reached", "info", None),
    ]


def test_a_limit_explains_a_backlog_better_than_a_slow_part():
    """While time is left."""
    ranked = rank([made("slow-checkpoint", share=0.4), made("backlog-growing"), made("rate-limit-reached")])
    assert {one.code: one.under for one in ranked}["backlog-growing"] == "rate-limit-reached"


def test_rules_can_be_switched_off_by_code():
    """And the next explanation shows; an unknown code names the right ones."""
    batches = records(ms=2600, times=3, sink=FOREACH_BATCH)
    try:
        sw.rules.switch_off("batch-recomputed")
        assert codes(judge(batches))[:2] == ["slow-user-code", "falling-behind"]
        with pytest.raises(KeyError, match="late-rows-dropped"):
            sw.rules.switch_off("no-such-rule")
    finally:
        sw.rules.switch_on()
    assert codes(judge(batches))[0] == "batch-recomputed"


def test_thresholds_of_ones_own():
    """One object; a bad value is one clear sentence."""
    assert judge(records(ms=1700)).verdict == "at-capacity"
    assert judge(records(ms=1700), thresholds=sw.Thresholds(capacity=0.9)).verdict == "keeping-up"
    with pytest.raises(ValueError, match="behind must be a number"):
        sw.Thresholds(behind="fast")


def test_the_table_lists_every_threshold():
    """Name and default of each, its unit, one sentence that says why, and where that is from."""
    table = sw.Thresholds.table()
    assert {row.name: row.value for row in table} == asdict(sw.Thresholds())
    assert all(row.unit and row.source for row in table)
    assert all(len(row.reason) > 20 and row.reason.endswith(".") for row in table)


@pytest.mark.parametrize("value", [0, 0.5, 2.5, float("inf")])
@pytest.mark.parametrize("name", [row.name for row in sw.Thresholds.table() if row.unit == "batches"])
def test_a_threshold_in_batches_can_be_counted(name, value):
    """A rule looks at so many batches."""
    with pytest.raises(ValueError, match=f"{name} must be a whole number of batches from 1 on, not {value}"):
        sw.Thresholds(**{name: value})


@pytest.mark.parametrize("row", sw.Thresholds.table(), ids=lambda row: row.name)
def test_no_threshold_makes_a_diagnosis_fail(row):
    """The least and the largest of each, over no record, one, idle ones, and batches that are late."""
    histories = ([], records(1), records(5, rows=0), records(30, ms=2600, backlog=lambda i: 40 * i, state=[operator()]))
    for value in (1, 10**18) if row.unit == "batches" else (0, float("inf")):
        for made in histories:
            assert judge(made, thresholds=sw.Thresholds(**{row.name: value})).verdict


def test_thresholds_for_every_view():
    """Set on the rules they hold for each diagnosis that has none of its own."""
    made = history_of(records(ms=1700))
    try:
        sw.rules.thresholds = sw.Thresholds(capacity=0.9)
        assert diagnose(made, 2).verdict == "keeping-up"
        assert diagnose(made, 2, thresholds=sw.Thresholds()).verdict == "at-capacity"
        with pytest.raises(TypeError, match="takes a Thresholds object, not dict"):
            sw.rules.thresholds = {"capacity": 0.9}
    finally:
        sw.rules.thresholds = sw.Thresholds()
    assert diagnose(made, 2).verdict == "at-capacity"


def test_live_and_recorded_give_the_same():
    """A diagnosis depends on the history alone, not on how often it was asked."""
    batches = records(120, ms=lambda i: 2600 if 30 < i < 80 else 700, backlog=lambda i: 10 * abs(60 - i))
    live = history_of(batches[:1])
    for record in batches[1:]:
        live.append(sw.parse(record))
        diagnose(live, 2)
    assert diagnose(live, 2) == judge(batches)


def test_everything_is_json():
    """Every part of a diagnosis, with its evidence."""
    diagnosis = judge(
        records(ms=4900, state=[operator(numShufflePartitions=200, numStateStoreInstances=200, commitTimeMs=3000)])
    )
    plain = json.loads(json.dumps(diagnosis.to_dict()))
    assert plain["verdict"] == "falling-behind"
    assert plain["label"] == "Falling behind"
    assert plain["hints"][0]["evidence"][0]["name"] == "numShufflePartitions"
    assert plain["hints"][1]["under"] == "too-many-partitions"


@pytest.mark.parametrize(
    "batches",
    [
        records(
            60,
            ms=2600,
            times=3,
            sink=FOREACH_BATCH,
            backlog=lambda i: 100 * i,
            state=[operator(numShufflePartitions=200)],
        ),
        records(60, ms=lambda i: 2000 + 30 * i, parts={"walCommit": 700, "latestOffset": 700, "queryPlanning": 700}),
    ],
)
def test_every_hint_is_whole(batches):
    """A title, evidence with batches, a cause in a sentence, a fix, and a page of Spark's documentation."""
    diagnosis = judge(batches, facts=Facts(temporaryCheckpoint=True, sessionPartitions=8))
    assert len(diagnosis.hints) >= 3
    for one in diagnosis.hints:
        assert one.severity in SEVERITIES
        assert one.title
        assert "!" not in one.title + one.cause + one.fix.replace("!=", "")
        assert one.evidence
        assert one.cause.endswith(".")
        assert one.fix.endswith(".")
        assert one.link.startswith("https://spark.apache.org/docs/latest/")
        assert all(len(item.batches) <= 20 for item in one.evidence)


HEALTHY = {
    "steady": records(60, ms=900),
    "60 % busy": records(60, ms=lambda i: 1200 + 60 * (i % 5)),
    "noisy": records(60, ms=lambda i: 400 + 317 * i % 900, rows=lambda i: 100 + 37 * i % 90),
    "cold first batch": records(60, ms=lambda i: 500 if i else 9000),
    "foreachBatch": records(60, ms=900, sink=FOREACH_BATCH),
    "limited with time left": records(60, ms=900, backlog=lambda i: 300 + 100 * (i % 3)),
    "default trigger": records(60, interval=None, ms=300, pause=700),
    "no-data batches": records(60, rows=lambda i: 0 if i % 2 else 50, state=[operator()], output=1),
    "bursts": records(60, rows=lambda i: 1000 if i % 10 == 0 else 10, ms=lambda i: 1900 if i % 10 == 0 else 300),
    "few partitions": records(60, ms=900, state=[operator(numRowsRemoved=3)], output=1),
    "slow and rare": records(60, ms=20_000, interval=60_000),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_queries_are_quiet_after_every_batch(name):
    """No warning at any moment of the run, and at the end it keeps up."""
    batches = HEALTHY[name]
    interval = {"default trigger": None, "slow and rare": 60_000}.get(name, 2000)
    for count in range(1, len(batches) + 1):
        diagnosis = judge(batches[:count], interval)
        assert [one.code for one in diagnosis.hints if one.severity != "info"] == [], count
        assert diagnosis.verdict in ("keeping-up", "running"), (count, diagnosis.reason)
    assert diagnosis.verdict == "keeping-up"


def test_the_first_record_of_every_made_fault_proves_no_rate():
    """A single record never raises a lag."""
    for batches in (records(ms=9000), records(ms=2600, backlog=lambda i: 1000 * i)):
        for record in batches:
            assert not {"falling-behind", "at-capacity", "backlog-growing"} & set(codes(judge([record])))


def test_hints_do_not_flicker():
    """Over a noisy run each hint comes and goes at most once."""
    batches = records(150, ms=lambda i: (2600 if 40 < i < 100 else 900) + 311 * i % 400)
    seen = ["falling-behind" in codes(judge(batches[:count])) for count in range(5, 151)]
    assert sum(a != b for a, b in pairwise(seen)) == 2
    assert hint(judge(batches[:70]), "falling-behind")


def test_a_diagnosis_is_made_once_for_all_views():
    """Until something changes, or something else is asked."""
    history = history_of(records(ms=2600))
    first = diagnose(history, 2)
    assert diagnose(history, 2) is first
    assert diagnose(history, 4) is not first
    history.append(sw.parse(records(21, ms=2600)[20]))
    assert diagnose(history, 2) is not first


def test_a_diagnosis_as_text():
    """For a terminal and for the magic: verdict, evidence, fix and code, symptoms under their cause."""
    state = [operator(numShufflePartitions=200, numStateStoreInstances=200, commitTimeMs=3000)]
    text = str(judge(records(ms=4900, rows=34, state=state)))
    assert text.startswith("Falling behind: Batches take 4.9 s of the 2 s trigger interval.")
    assert "[warning] 200 shuffle partitions for 34 rows (too-many-partitions)" in text
    assert "    numShufflePartitions: 200 partitions (batch 19)" in text
    assert '      spark.conf.set("spark.sql.shuffle.partitions", "4")' in text
    assert "\n    [warning] Batches take 4.9 s" in text
    assert str(judge(records())).endswith("Nothing to say against it.")
