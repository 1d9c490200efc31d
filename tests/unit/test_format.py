"""How numbers, times and names are written; the page's functions answer the same table."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_streamwatch.text import numbers as write

CASES = json.loads((Path(__file__).parent.parent / "cases" / "numbers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['function']}-{case['text']}")
def test_the_table_that_python_and_the_page_share(case):
    """Each function gives the text that the shared table states."""
    assert getattr(write, case["function"])(*case["input"]) == case["text"]


@pytest.mark.parametrize("name", ["number", "size", "rate", "duration", "exact", "percent", "when", "clock", "iso"])
@pytest.mark.parametrize("unknown", [None, math.nan, math.inf, -math.inf, "x", 10**400])
def test_unknown_is_never_a_number(name, unknown):
    """What is missing, not a number or infinite is n/a, never 0."""
    assert getattr(write, name)(unknown) == "n/a"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_written_in_few_characters(x):
    """No finite number raises; within the units the text is short."""
    for name in ("number", "size", "rate", "duration", "exact", "percent", "when"):
        assert getattr(write, name)(x)
    if abs(x) < 1e17:
        assert len(write.number(x)) <= 7
        assert len(write.size(x)) <= 10


@given(st.text(), st.integers(1, 60))
def test_a_shortened_name_keeps_both_ends(text, length):
    """A name fits in the length asked for, starts as it did and ends as it did."""
    short = write.middle(text, length)
    assert len(short) == min(len(text), length)
    if len(text) > length >= 3:
        assert short[0] == text[0]
        assert short[-1] == text[-1]


@given(st.text())
def test_a_cleaned_text_is_one_line(text):
    """Controls, line separators and direction overrides are gone."""
    clean = write.clean(text)
    assert len(clean.splitlines()) <= 1
    assert "\u202e" not in clean
    clean.encode("utf-8")
