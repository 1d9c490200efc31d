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
