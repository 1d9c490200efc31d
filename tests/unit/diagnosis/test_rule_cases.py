"""Shapes that were judged wrongly once: what must and must not be said of them, in which words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import jupyter_streamwatch as sw

CASES = Path(__file__).resolve().parents[2] / "cases" / "rules"
EXPECTED = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))["cases"]


def test_every_case_is_expected():
    """No file is without its line."""
    assert {path.name for path in CASES.iterdir()} == {*EXPECTED, "expected.json"}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_said(name):
    """Verdict and codes, and the words of the diagnosis as a person reads it."""
    expected = EXPECTED[name]
    found = [sw.diagnose(history) for history in sw.load(CASES / name).queries.values()]
    codes = {hint.code for diagnosis in found for hint in diagnosis.hints}
    text = "\n".join(f"{one.verdict} {one.reason}\n" + "\n".join(str(hint) for hint in one.hints) for one in found)
    assert "verdict" not in expected or {one.verdict for one in found} <= set(expected["verdict"])
    assert set(expected.get("must", ())) <= codes
    assert not set(expected.get("must_not", ())) & codes
    assert all(re.search(pattern, text) for pattern in expected.get("says", ()))
    assert not any(re.search(pattern, text) for pattern in expected.get("never", ()))
