"""Damaged text: nothing raises, a whole record is always found, and what is read of a cut one is true."""

from __future__ import annotations

import json
import pprint
import string
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jupyter_streamwatch as sw
from jupyter_streamwatch.recordings.recording import NO_ID
from tests.unit.test_formats_text import PRETTY, RECORDS, UNTYPED, notation, row, written, yaml

SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

FORMS = {
    "jackson": PRETTY,
    "json": [json.dumps(record) for record in RECORDS],
    "repr": [repr(record) for record in RECORDS],
    "pprint": [pprint.pformat(record) for record in RECORDS],
    "row": [row(record) for record in RECORDS],
    "log": ["24/01/01 10:00:00 INFO M: Streaming query made progress: " + text for text in PRETTY],
    "comment": ["\n".join("# " + line for line in text.splitlines()) for text in PRETTY],
    "log lines": [
        "\n".join(f"2024-01-01 10:00:00,{at:03d} INFO [x] M: {line}" for at, line in enumerate(text.splitlines()))
        for text in PRETTY
    ],
    "string": [json.dumps(text) for text in PRETTY],
    "string repr": [repr(text) for text in PRETTY],
    "java map": [notation(record, "{", "=", "}", "[", "]") for record in UNTYPED],
    "yaml": ["\n".join(yaml(record)) + "\n" for record in UNTYPED],
}
# Totals that are computed from the sources may lack what was cut away.
TOTALS = (".batchDuration", ".numInputRows", ".inputRowsPerSecond", ".processedRowsPerSecond")
SAFE = st.text(alphabet=string.ascii_letters + string.digits + " .:-=_/[]()\n", max_size=60)


@cache
def truth(form):
    return written(UNTYPED if form in ("java map", "yaml") else RECORDS)


def progress(text):
    """The records of a text; the id that is made up where there is none is none."""
    found = [each.to_dict() for each in sw.load(text if "\n" in text or "{" in text else "\n" + text).progress]
    return [{**each, "id": None if each["id"] == NO_ID else each["id"]} for each in found]


def untrue(read, true, path=""):
    """Where ``read`` says something that ``true`` does not say."""
    if read is None or read in ({}, [], ()):
        return []
    if isinstance(read, dict) and isinstance(true, dict):
        return [wrong for key in read for wrong in untrue(read[key], true.get(key), f"{path}.{key}")]
    if isinstance(read, (list, tuple)) and isinstance(true, (list, tuple)) and len(read) <= len(true):
        return [wrong for at, part in enumerate(read) for wrong in untrue(part, true[at], f"{path}[{at}]")]
    return [] if read == true else [(path, read, true)]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "yaml"])  # its text has no end of its own
@SETTINGS
@given(data=st.data())
def test_cut_at_its_end(form, data):
    """Of a record whose end is missing at most one record is read, and nothing in it is wrong."""
    which = data.draw(st.integers(0, len(FORMS[form]) - 1))
    text = FORMS[form][which]
    found = progress(text[: data.draw(st.integers(1, len(text)))])
    assert len(found) <= 1
    assert [wrong for read in found for wrong in untrue(read, truth(form)[which]) if wrong[0] not in TOTALS] == []


@pytest.mark.parametrize("form", ["jackson", "pprint", "log", "comment", "log lines"])
@SETTINGS
@given(data=st.data())
def test_beginning_missing(form, data):
    """Of a record whose first lines are missing the rest is read, and nothing in it is wrong."""
    which = data.draw(st.integers(0, len(FORMS[form]) - 1))
    lines = FORMS[form][which].splitlines(keepends=True)
    found = progress("".join(lines[data.draw(st.integers(1, len(lines) - 1)) :]))
    assert len(found) <= 1
    paths = [wrong for read in found for wrong in untrue(read, truth(form)[which])]
    assert [
        wrong for wrong in paths if wrong[0] not in TOTALS and not wrong[0].startswith((".stateOp", ".sources"))
    ] == []


@pytest.mark.parametrize("form", FORMS)
@SETTINGS
@given(data=st.data(), noise=st.tuples(SAFE, SAFE))
def test_whole_record_after_a_cut_one(form, data, noise):
    """A record that is whole is found, whatever stands before and after it, a cut record too."""
    texts = FORMS[form]
    which = data.draw(st.integers(0, len(texts) - 1))
    before = texts[data.draw(st.integers(0, len(texts) - 1))]
    cut = before[: data.draw(st.integers(0, len(before)))]
    if form in ("string", "string repr") or (form == "yaml" and data.draw(st.booleans())):
        cut = ""  # inside an open string, or an outline, nothing tells where another one begins
    prefix = noise[0].replace("=", " ").replace(":", " ")
    found = progress(f"{prefix}\n{cut}\n\n{texts[which]}\n\n{noise[1]}")
    assert truth(form)[which] in found


@pytest.mark.parametrize("form", FORMS)
@SETTINGS
@given(data=st.data())
def test_mutated(form, data):
    """Characters that are changed, lost, added or doubled never make reading raise."""
    text = FORMS[form][data.draw(st.integers(0, len(FORMS[form]) - 1))]
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        end = at + data.draw(st.integers(0, 12))
        new = data.draw(
            st.one_of(st.just(""), st.text(max_size=4), st.sampled_from(["{", "}", '"', "'", "[", "]", "\\", "\n"]))
        )
        text = text[:at] + new + text[end:]
    progress(text + "\n")


@SETTINGS
@given(st.text(alphabet="{}[]()\"'\\:=,\n #/|*idrunIdbatchIdnumInputRows0123456789.-", max_size=400))
def test_noise(text):
    """Text of the signs that notations are made of never makes reading raise."""
    progress(text + "\n")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{" * 100_000, '{"runId":' * 10_000, "((" * 50_000, "runId={" * 10_000]
)
def test_deep_nesting(text):
    """Nesting beyond any record's is refused without an error, in bounded time."""
    assert progress(text + "\n") == []
