"""Reading goes over a text a bounded number of times: twice the text takes twice the steps, whatever stands in it."""

from __future__ import annotations

import sys

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.recordings.formats import finder
from tests.benchmarks import texts

SIZE = 12_000
TOLERANCE = 2.6


def steps(text):
    """Calls, of functions in Python and of built-in ones, that it takes to read the text: the same in each run."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        del frame, argument
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        sw.load(text + "\n")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", texts.KINDS)
def test_steps_grow_with_the_text(kind, monkeypatch):
    """No kind makes reading go back again and again, once the credit for reading in vain is spent."""
    monkeypatch.setattr(finder, "FREE", 2_000)
    sw.load(texts.of(kind, 3_000) + "\n")  # what is compiled or imported once
    text = texts.of(kind, 2 * SIZE)
    assert steps(text) <= TOLERANCE * steps(text[:SIZE]) + 500
