"""The public API as its users know it: what a diagnosis, its hints and its capacity are."""

from __future__ import annotations

import json

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch import testing

CODES = (
    "falling-behind at-capacity backlog-growing rate-limit-reached no-rate-limit overhead-bound duration-trend "
    "time-unaccounted batch-stuck batch-recomputed driver-bound contention too-few-tasks task-skew "
    "too-many-partitions slow-user-code source-read-slow slow-sink slow-planning slow-source-discovery source-stuck "
    "offset-rewind slow-checkpoint pinned-conf temporary-checkpoint replayed-batch state-growth state-commit-slow "
    "state-memory state-reload watermark-unset watermark-ahead watermark-stuck late-rows-dropped results-pending "
    "sink-not-idempotent source-not-replayable query-failed duplicate-query metric-unreliable no-progress-mode "
    "missed-progress snapshot-upload-lag rows-lost limit-ignored cache-not-released executor-lost small-files"
)
VERDICTS = (
    "failed finished stopped stuck starting idle falling-behind catching-up at-capacity keeping-up running unknown"
)


@pytest.fixture(autouse=True)
def _all_rules():
    yield
    sw.rules.switch_on()


def late(i: int) -> dict:
    """A windowed count that drops rows and runs 200 partitions for 10 rows."""
    operator = {
        "operatorName": "stateStoreSave",
        "numRowsTotal": 30,
        "numRowsUpdated": 5,
        "numRowsRemoved": 0,
        "allUpdatesTimeMs": 4000,
        "allRemovalsTimeMs": 200,
        "commitTimeMs": 9000,
        "memoryUsedBytes": 90000,
        "numRowsDroppedByWatermark": 4,
        "numShufflePartitions": 200,
        "numStateStoreInstances": 200,
        "customMetrics": {"loadedMapCacheHitCount": 400 * i, "loadedMapCacheMissCount": 0},
    }
    moment = {
        "watermark": "2026-01-01T00:00:00.000Z",
        "max": "2026-01-01T00:10:00.000Z",
        "min": "2025-12-31T23:50:00.000Z",
    }
    return testing.progress(
        i, 10, 5000, f"2026-01-01T00:0{i}:00.000Z", offset=10 * i, stateOperators=[operator], eventTime=moment
    ).to_dict()


def test_all_rules_have_the_codes_that_are_named():
    """Each code is a rule of ``sw.rules``; another one is a KeyError."""
    assert set(CODES.split()) <= set(sw.rules)
    assert all(rule.code == code and rule.about and rule.family for code, rule in sw.rules.items())
    with pytest.raises(KeyError):
        sw.rules["nothing"]


def test_a_rule_can_be_switched_off():
    """A code that is off is in no diagnosis until it is on again."""
    records = [late(i) for i in range(3)]

    def codes() -> set[str]:
        return {hint.code for hint in sw.diagnose(records).hints}

    assert {"late-rows-dropped", "too-many-partitions"} <= codes()
    sw.rules.switch_off("late-rows-dropped")
    assert "late-rows-dropped" not in codes()
    assert "too-many-partitions" in codes()
    sw.rules.switch_on("late-rows-dropped")
    assert "late-rows-dropped" in codes()
    with pytest.raises(KeyError):
        sw.rules.switch_off("nothing")


def test_thresholds_are_one_object():
    """All have a default, unit, reason and source; an unknown or impossible one is refused."""
    for row in sw.Thresholds.table():
        assert row.reason
        assert row.source
        assert row.value >= 0
        assert hasattr(sw.Thresholds(), row.name)
    records = testing.run(20, duration=1500)
    assert sw.diagnose(records, trigger=2).verdict == "keeping-up"
    assert (
        sw.diagnose(records, trigger=2, thresholds=sw.Thresholds(behind=0.6, capacity=0.5)).verdict == "falling-behind"
    )
    with pytest.raises(TypeError):
        sw.Thresholds(nothing=1)
    with pytest.raises(ValueError, match="behind"):
        sw.Thresholds(behind=-1)


def test_what_a_hint_says():
    """Each hint has its numbers, a cause, a fix and a link; all fields have the types that they are said to have."""
    diagnosis = sw.diagnose([late(i) for i in range(3)])
    assert len(diagnosis.hints) >= 2
    order = ["critical", "warning", "info"]
    for hint in diagnosis.hints:
        assert hint.code in sw.rules
        assert hint.severity in order
        assert all(isinstance(text, str) and text for text in (hint.title, hint.cause, hint.fix))
        assert hint.code_fix is None or (isinstance(hint.code_fix, str) and hint.code_fix)
        assert hint.under is None or hint.under in {other.code for other in diagnosis.hints}
        assert hint.link.startswith("https://spark.apache.org/docs/")
        assert hint.evidence
        for one in hint.evidence:
            assert isinstance(one.name, str)
            assert one.value is not None
            assert isinstance(one.unit, str)
            assert all(isinstance(batch, int) for batch in one.batches)
            name, value, unit, batches = one
            assert (name, value, unit, batches) == (one.name, one.value, one.unit, one.batches)
        if hint.effect is not None:
            assert hint.effect.low <= hint.effect.best <= hint.effect.high
    tops = [order.index(hint.severity) for hint in diagnosis.hints if hint.under is None]
    assert tops == sorted(tops)
    partitions = next(hint for hint in diagnosis.hints if hint.code == "too-many-partitions")
    assert "spark.sql.shuffle.partitions" in partitions.code_fix


def test_a_diagnosis_is_json():
    """``to_dict`` holds what JSON can hold, without NaN, and the same as the attributes."""
    for records in ([], [late(0)], [late(i) for i in range(3)], testing.run(30, rows=lambda i: 100 + 50 * (i % 7))):
        diagnosis = sw.diagnose(records)
        plain = json.loads(json.dumps(diagnosis.to_dict(), allow_nan=False))
        assert plain["verdict"] == diagnosis.verdict
        assert diagnosis.verdict in VERDICTS.split()
        assert [hint["code"] for hint in plain["hints"]] == [hint.code for hint in diagnosis.hints]
        assert {"code", "severity", "title", "evidence", "cause", "fix", "code_fix", "effect", "under", "link"} <= set(
            plain["hints"][0] if plain["hints"] else some_hint()
        )
        assert set(plain["capacity"]) >= {
            "max_rows_per_second",
            "min_trigger_seconds",
            "fixed_ms",
            "ms_per_1000_rows",
            "reason",
        }


def some_hint() -> dict:
    return sw.diagnose([late(0)]).hints[0].to_dict()


def test_capacity():
    """Batches of different size tell fixed cost and cost a row; each number is (low, best, high)."""
    sizes = [400, 1600, 900, 2500, 600, 3000, 1200, 2000]
    records = testing.run(32, 5.0, rows=lambda i: sizes[i % 8], duration=lambda i: 400 + sizes[i % 8] * 0.5 + i % 3)
    capacity = sw.diagnose(records, trigger=5).capacity
    for name, value in (("max_rows_per_second", 9200 / 5), ("fixed_ms", 400), ("ms_per_1000_rows", 500)):
        low, best, high = getattr(capacity, name)
        assert low <= best <= high
        assert best == pytest.approx(value, rel=0.25), name
    low, best, high = capacity.min_trigger_seconds
    assert low <= best <= high < 5


@pytest.mark.parametrize("records", [[], testing.run(2), testing.run(40, rows=100)])
def test_capacity_that_is_unknown_says_why(records):
    """Too few batches, or all of one size: None, with the reason."""
    capacity = sw.diagnose(records, trigger=2).capacity
    assert capacity.max_rows_per_second is None
    assert isinstance(capacity.reason, str)
    assert capacity.reason


HEALTHY = testing.run(20, duration=700)
IDLE = HEALTHY[-1].to_dict() | {
    "numInputRows": 0,
    "timestamp": "2026-01-01T00:01:00.000Z",
    "durationMs": {"latestOffset": 1, "triggerExecution": 1},
    "sources": [],
}


@pytest.mark.parametrize(
    ("records", "trigger", "verdicts"),
    [
        (HEALTHY, 2, ["keeping-up"]),
        (HEALTHY, None, ["keeping-up"]),
        (testing.run(20, duration=3000), 2, ["falling-behind"]),
        (testing.run(20, duration=1850), 2, ["at-capacity"]),
        (testing.run(20, duration=1000), 2, ["keeping-up"]),
        (testing.run(20, None, backlog=lambda i: 10_000 + 500 * i), None, ["falling-behind"]),
        (testing.run(20, None, backlog=lambda i: 100_000 - 4000 * i), None, ["catching-up"]),
        (testing.run(1), None, ["running"]),
        (testing.run(2), 2, ["running"]),
        ([*HEALTHY, IDLE], 2, ["idle"]),
        ([IDLE], None, ["idle"]),
        ([], None, ["unknown", "starting"]),
        (testing.run(3, rows=0), 2, ["running", "keeping-up", "idle"]),
    ],
)
def test_verdicts(records, trigger, verdicts):
    """Without a termination event the verdict is as of the last record; a healthy query hears no alarm."""
    diagnosis = sw.diagnose(records, trigger=trigger)
    assert diagnosis.verdict in verdicts
    if diagnosis.verdict in ("keeping-up", "running", "idle", "unknown"):
        assert [hint.code for hint in diagnosis.hints if hint.severity != "info"] == []


@pytest.mark.parametrize(
    ("ending", "trigger", "verdict"),
    [
        ({}, None, "stopped"),
        ({}, "availableNow", "finished"),
        ({}, "once", "finished"),
        ({"exception": "java.lang.RuntimeException: boom", "errorClass": None}, "availableNow", "failed"),
        ({"exception": "x", "errorClassOnException": "STREAM_FAILED"}, None, "failed"),
    ],
)
def test_verdicts_of_a_query_that_ended(ending, trigger, verdict):
    """The termination event of Spark's event log decides; hints of the last batches stay."""
    prefix = "org.apache.spark.sql.streaming.StreamingQueryListener$Query"
    first = late(0)
    start = {"id": first["id"], "runId": first["runId"], "name": "q", "timestamp": first["timestamp"]}
    lines = [{"Event": prefix + "StartedEvent", **start}]
    lines += [{"Event": prefix + "ProgressEvent", "progress": late(i)} for i in range(3)]
    assert "late-rows-dropped" in [h.code for h in sw.load(text(lines), trigger=trigger).diagnose("orders").hints]
    lines.append({"Event": prefix + "TerminatedEvent", "id": first["id"], "runId": first["runId"], **ending})
    rec = sw.load(text(lines), trigger=trigger)
    diagnosis = rec.diagnose(first["id"])
    assert diagnosis.verdict == verdict
    codes = [hint.code for hint in diagnosis.hints]
    assert "late-rows-dropped" in codes
    assert ("query-failed" in codes) == (verdict == "failed")
    assert verdict != "failed" or codes[0] == "query-failed"


def text(lines: list[dict]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize("nothing", [5, None, "x", [1], [None], [{}], {}, {"a": 1}, object(), ["[]"]])
def test_what_is_no_progress(nothing):
    """One sentence of ValueError, whatever it is."""
    with pytest.raises(ValueError, match="Not a progress record"):
        sw.diagnose(nothing)


def test_one_record_alone():
    """A record, its text, a Row, or an object of PySpark's 3.5 is judged without a list around it."""

    class Row(tuple):
        __slots__ = ()

        def asDict(self, recursive=False):
            return late(0)

    class Event:
        json = json.dumps(late(0))

    expected = sw.diagnose([late(0)]).to_dict()
    for record in (late(0), json.dumps(late(0)), sw.parse(late(0)), Row((1, 2)), Event()):
        assert sw.diagnose(record).to_dict() == expected
