"""Shapes seen in the field, each with what must and must not be said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jupyter_streamwatch as sw

CASES = Path(__file__).resolve().parents[2] / "cases"
EXPECTED = json.loads((CASES / "expected.json").read_text())["cases"] if (CASES / "expected.json").exists() else {}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_case_from_the_field(name):
    """Verdict, codes that must and must not be there, and quiet where nothing is wrong."""
    expected = EXPECTED[name]
    found = [sw.diagnose(history) for history in sw.load(str(CASES / name)).queries.values()]
    codes = {hint.code for diagnosis in found for hint in diagnosis.hints}
    loud = {hint.code for diagnosis in found for hint in diagnosis.hints if hint.severity != "info"}
    if "verdict" in expected:
        assert {diagnosis.verdict for diagnosis in found} <= set(expected["verdict"])
    assert set(expected.get("must", ())) <= codes
    assert not set(expected.get("must_not", ())) & codes
    assert not expected.get("must_any") or set(expected["must_any"]) & codes
    assert not (expected.get("quiet") and loud)
