"""Errors in the shape of those that people post: what the whole answer must say, and what it must never say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import jupyter_streamwatch as sw

REPORTS = Path(__file__).resolve().parents[2] / "cases" / "reports"
EXPECTED = json.loads((REPORTS / "expected.json").read_text(encoding="utf-8"))


def test_every_report_is_expected():
    """No report is without its line in the table."""
    assert {path.name for path in REPORTS.iterdir()} - {"expected.json"} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_report(name):
    """Failed, of its kind, with the words that an expert would use and without those that mislead."""
    expected = EXPECTED[name]
    (diagnosis,) = sw.load(REPORTS / name).diagnose().values()
    assert diagnosis.verdict == "failed"
    hint = diagnosis.hints[0]
    assert hint.failure.kind == expected["kind"]
    answer = f"{diagnosis.reason}\n{hint}"
    for said in expected.get("says", ()):
        assert re.search(said, answer, re.IGNORECASE | re.DOTALL)
    for never in expected.get("never", ()):
        assert not re.search(never, answer, re.IGNORECASE | re.DOTALL)


def test_the_last_cause_at_the_end_of_a_long_trace():
    """A log's exception is kept long enough: the job's and the task's frames come before what happened."""
    query = "Query q [id = 0a0a0a0a-1b1b-4c2c-8d3d-4e4e4e4e4e4e, runId = f0f0f0f0-e1e1-4d2d-8c3c-b4b4b4b4b4b4]"
    frames = "\tat org.apache.spark.sql.execution.SparkPlan.execute(SparkPlan.scala:1)\n" * 600
    log = (
        f"26/03/09 08:07:06 ERROR MicroBatchExecution: {query} terminated with error\n"
        f"org.apache.spark.SparkException: Job aborted.\n{frames}"
        "Caused by: java.io.IOException: No space left on device\n"
        "26/03/09 08:07:07 INFO SparkContext: bye\n"
    )
    (diagnosis,) = sw.load(log).diagnose().values()
    assert diagnosis.hints[0].failure.kind == "disk-full"
    assert "No space left" in diagnosis.reason
