"""Records as people paste them, each with what must and must not be said of it."""

from __future__ import annotations

import pytest

import jupyter_streamwatch as sw
from tests.unit.diagnosis import field_calm, field_proofs, field_runs

CASES = {**field_calm.CASES, **field_proofs.CASES, **field_runs.CASES}


@pytest.mark.parametrize("name", CASES)
def test_records_of_the_field(name):
    """The verdict, the codes that must and must not be there, and quiet where nothing is wrong."""
    case = CASES[name]
    found = sw.diagnose(case.records, trigger=case.trigger)
    codes = {hint.code for hint in found.hints}
    assert case.must <= codes
    assert not case.must_any or case.must_any & codes
    assert not case.must_not & codes
    assert not case.verdict or found.verdict in case.verdict
    assert not case.quiet or all(hint.severity == "info" for hint in found.hints)


@pytest.mark.parametrize("name", CASES)
def test_numbers_that_came_as_text_say_the_same(name):
    """Connect and log shippers send numbers as strings, in offsets too."""

    def text(x):
        if isinstance(x, dict):
            return {key: text(value) for key, value in x.items()}
        if isinstance(x, list):
            return [text(value) for value in x]
        return x if x is None or isinstance(x, bool) else str(x)

    case = CASES[name]
    found = sw.diagnose([text(record) for record in case.records], trigger=case.trigger)
    expected = sw.diagnose(case.records, trigger=case.trigger)
    assert found.verdict == expected.verdict
    assert [(one.code, one.severity) for one in found.hints] == [(one.code, one.severity) for one in expected.hints]


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_them_is_well_put(name):
    """One line a title, sentences with an end, nobody shouted at, no number that nobody can read."""
    case = CASES[name]
    for hint in sw.diagnose(case.records, trigger=case.trigger).hints:
        assert "\n" not in hint.title
        assert not hint.title.endswith(".")
        assert len(hint.title) <= 120
        for text in (hint.cause, hint.fix):
            assert text.endswith(".")
            assert text[0].isupper()
            assert "  " not in text
        words = f"{hint.title} {hint.cause} {hint.fix}"
        assert not [
            word for word in ("!", "may possibly", "n/a", "None", "nan", " 1 rows", " 1 batches") if word in words
        ]
