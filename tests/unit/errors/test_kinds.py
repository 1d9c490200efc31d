"""What stopped a query: each kind by class, condition and owner, and near misses that are another kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_streamwatch.diagnosis.errors import judge_error
from jupyter_streamwatch.diagnosis.errors.registry import KINDS
from jupyter_streamwatch.model.facts import Facts

CASES = json.loads((Path(__file__).resolve().parents[2] / "cases" / "errors.json").read_text(encoding="utf-8"))
FIRES, NEAR_MISSES = CASES["fires"], CASES["near misses"]
JOB = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent"
    " failure: Lost task 0.3 in stage 3.0 (TID 9) (10.0.0.7 executor 2): "
)


@pytest.mark.parametrize("case", FIRES, ids=[f"{place}-{case['kind']}" for place, case in enumerate(FIRES)])
def test_each_kind_fires(case):
    """By its last cause, with the owner, a reason and a cure."""
    judgement = judge_error(case["text"], None, Facts())
    assert judgement.failure.kind == case["kind"]
    assert case["owner"] is None or judgement.failure.owner == case["owner"]
    assert judgement.told.why.endswith(".")
    assert all(cure.endswith(".") for cure in judgement.told.cures)
    assert judgement.told.cures


def test_every_kind_has_a_case():
    """None is without a text that shows it."""
    assert {kind.name for kind in KINDS} == {case["kind"] for case in FIRES}


@pytest.mark.parametrize("case", NEAR_MISSES, ids=[f"{place}-{case['kind']}" for place, case in enumerate(NEAR_MISSES)])
def test_near_misses(case):
    """What looks like a kind and is none, or another one."""
    assert judge_error(case["text"], None, Facts()).failure.kind == case["kind"], case["why"]


def test_an_unknown_error_is_told_by_owner_place_and_last_cause():
    """No guess, and nothing that loses state or rows."""
    text = JOB + "java.lang.IllegalStateException: shard 7 is odd\n\tat com.microsoft.azure.eventhubs.A.b(A.java:5)"
    judgement = judge_error(text, None, Facts())
    assert judgement.failure.kind == "unknown"
    assert "shard 7 is odd" in judgement.told.title
    assert "Event Hubs" in judgement.told.why
    assert "A.java:5" in judgement.told.why
    assert not any("new checkpoint" in cure for cure in judgement.told.cures)


def test_the_failure_is_plain_and_bounded():
    """Condition, SQLSTATE, the frame of the user's code, and a short chain."""
    deep = "".join(
        f"\nCaused by: java.lang.RuntimeException: layer {n} of many\n\tat a.b.C.d(C.java:{n})" for n in range(40)
    )
    failure = judge_error("java.lang.X: a" + deep + "x" * 9_000, None, Facts()).failure
    assert len(failure.causes) == 12
    assert all(len(cause.message) <= 1_000 and len(cause.frames) <= 5 for cause in failure.causes)
    cast = judge_error(
        JOB + "a.b.E: [CAST_OVERFLOW] x. SQLSTATE: 22003\n\tat org.example.A.b(A.scala:9)", None, Facts()
    )
    assert (cast.failure.condition, cast.failure.sqlState) == ("CAST_OVERFLOW", "22003")
    assert (cast.failure.frame.file, cast.failure.frame.line) == ("A.scala", 9)


def test_a_condition_without_a_text():
    """A session that tells the condition alone."""
    judgement = judge_error("", "CONCURRENT_STREAM_LOG_UPDATE", Facts())
    assert (judgement.failure.kind, judgement.failure.condition) == ("concurrent-run", "CONCURRENT_STREAM_LOG_UPDATE")


def test_a_record_that_cannot_be_read_is_no_number():
    """Spark 3.5 names the parser's exception last: the advice is about the reader's mode, not about arithmetic."""
    told = judge_error("org.apache.spark.sql.catalyst.util.BadRecordException: unexpected end", None, Facts()).told
    assert "PERMISSIVE" in (told.code or "")
    assert "try_" not in " ".join(told.cures)


@pytest.mark.parametrize(("version", "told"), [("3.5.9", True), (None, True), ("4.3.0", False)])
def test_an_operator_that_was_added_is_told_where_spark_does_not_say_so(version, told):
    """Before Spark 4.0 an added operator shows as missing state."""
    text = "java.io.FileNotFoundException: File file:/data/checkpoint/state/1/0/1.delta does not exist"
    cures = judge_error(text, None, Facts(sparkVersion=version)).told.cures
    assert any("operator with state" in cure for cure in cures) == told


def test_a_commit_that_exists_may_be_ahead_of_the_offsets():
    """Spark calls it a second run; where no other run is, the newest offsets are gone."""
    text = (
        "org.apache.spark.SparkException: [CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple"
        " streaming jobs detected for 0.\n\tat org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution."
    )
    committing = judge_error(text + "markMicroBatchEnd(MicroBatchExecution.scala:1611)", None, Facts())
    planning = judge_error(text + "markMicroBatchStart(MicroBatchExecution.scala:1581)", None, Facts())
    assert any("newer in commits" in cure for cure in committing.told.cures)
    assert not any("newer in commits" in cure for cure in planning.told.cures)


@pytest.mark.parametrize(("format", "told"), [("kafka", True), ("delta", False)])
def test_a_module_of_spark_may_not_be_there_yet(format, told):
    """Spark's own connectors come with its version; whether Maven Central has it is not known here."""
    text = f"[DATA_SOURCE_NOT_FOUND] Failed to find the data source: {format}."
    cures = judge_error(text, "DATA_SOURCE_NOT_FOUND", Facts(sparkVersion="4.3.0")).told.cures
    assert any("none of that version" in cure for cure in cures) == told
