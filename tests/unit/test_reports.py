"""What people post when they ask for help, re-created: what the whole answer must say, and what it must never say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import jupyter_streamwatch as sw

REPORTS = Path(__file__).resolve().parents[1] / "cases" / "reports"
EXPECTED = json.loads((REPORTS / "expected.json").read_text(encoding="utf-8"))


def answer(path):
    """Verdict, hints, and all that is said of a text or a log, or of a checkpoint."""
    if path.is_dir():
        checkpoint = sw.checkpoint(path)
        plan = checkpoint.restart()
        return None, [], [*plan.sentences, json.dumps(plan.to_dict()), str(checkpoint)]
    recording = sw.load(path)
    verdict, hints = None, []
    said = [*recording.notes, *(skipped.reason for skipped in recording.skipped if not recording.queries)]
    for diagnosis in recording.diagnose().values():
        verdict = diagnosis.verdict
        hints += diagnosis.hints
        said += [diagnosis.verdict, diagnosis.reason, *map(str, diagnosis.hints)]
    return verdict, hints, said


def test_every_report_is_expected():
    """No report is without its line in the table."""
    assert {path.name for path in REPORTS.iterdir()} - {"expected.json"} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_report(name):
    """The verdict, the hints and the words that an expert would use, without those that mislead."""
    expected = EXPECTED[name]
    verdict, hints, said = answer(REPORTS / name)
    codes = {hint.code for hint in hints}
    text = "\n".join(said)
    assert verdict in expected.get("verdict", [verdict])
    assert codes >= set(expected.get("must", ()))
    assert not codes & set(expected.get("must_not", ()))
    assert [words for words in expected.get("says", ()) if not re.search(words, text, re.IGNORECASE | re.DOTALL)] == []
    assert [words for words in expected.get("never", ()) if re.search(words, text, re.IGNORECASE | re.DOTALL)] == []
    if "kind" in expected:
        assert hints[0].failure.kind == expected["kind"]


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
