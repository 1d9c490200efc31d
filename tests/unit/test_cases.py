"""Shapes of progress that people have pasted: how many records are in each, how many rows, of which kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jupyter_streamwatch as sw

CASES = Path(__file__).parent.parent / "cases"
EXPECTED = {
    name: expected
    for table in ("expected.json", "expected-more.json")
    for name, expected in json.loads((CASES / table).read_text(encoding="utf-8"))["cases"].items()
}


def test_every_case_is_expected():
    """No case file is without its line in a table of expectations."""
    files = {path.name for path in CASES.iterdir() if path.name[:3].isdigit()}
    assert files == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_is_read(name):
    """Records, rows and kinds are those in the text, whether it is loaded by path or pasted."""
    expected = EXPECTED[name]
    for recording in (sw.load(CASES / name), sw.load((CASES / name).read_bytes().decode("utf-8"))):
        read = {
            "records": len(recording.progress),
            "rows": sum(p.numInputRows for p in recording.progress if p.numInputRows is not None),
            "kinds": [p.kind for p in recording.progress],
            "batches": [p.batchId for p in recording.progress],
            "skipped": bool(recording.skipped),
        }
        assert {key: read[key] for key in read if key in expected} == {
            key: expected[key] for key in read if key in expected
        }


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_is_said(name):
    """The verdict and the hints are those that the numbers prove; a healthy record raises no alarm."""
    expected = EXPECTED[name]
    diagnoses = list(sw.load(CASES / name).diagnose().values())
    codes = {hint.code for diagnosis in diagnoses for hint in diagnosis.hints}
    if "verdict" in expected:
        assert diagnoses[0].verdict in expected["verdict"]
    assert set(expected.get("must", ())) <= codes
    assert "must_any" not in expected or codes & set(expected["must_any"])
    assert not codes & set(expected.get("must_not", ()))
    if expected.get("quiet"):
        assert [h.code for d in diagnoses for h in d.hints if h.severity in ("warning", "critical")] == []
