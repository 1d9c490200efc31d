"""What a cell shows whose last line is a diagnosis: the text of a terminal, and the same as plain HTML."""

from __future__ import annotations

import pytest
from IPython.lib.pretty import pretty

from jupyter_streamwatch.diagnosis import Capacity, Diagnosis, Effect
from jupyter_streamwatch.text.numbers import significant
from tests.unit.queries import hint

CAPACITY = Capacity((2100.0, 2300.0, 2600.0), (1.0, 1.2, 1.5), (300.0, 400.0, 500.0), rows_per_second=1750.0)
SENTENCE = (
    "Keeps up to about 2,300 rows/s (2,100 to 2,600); now 1,750. Shortest trigger interval: about 1.2 s (1 s to 1.5 s)."
)
EFFECT = Effect("batch time", 400, 600, 900, "ms", "About 0.6 s instead of 3.4 s a batch.")
FOUND = Diagnosis(
    "falling-behind",
    "Batches take 3 s.",
    (
        hint(title="200 partitions for 34 <rows>", code_fix="a < b", effect=EFFECT),
        hint("at-capacity", under="too-many-partitions"),
    ),
    CAPACITY,
)


def test_the_capacity_is_a_sentence():
    """The highest rate, the present one and the shortest interval, each with its range; nothing while unknown."""
    assert CAPACITY.sentence == SENTENCE
    assert Capacity(reason="Too few batches.").sentence == ""
    assert Capacity((2100.0, 2300.0, 2600.0)).sentence == "Keeps up to about 2,300 rows/s (2,100 to 2,600)."
    assert str(FOUND).splitlines()[:3] == ["Falling behind: Batches take 3 s.", SENTENCE, ""]


def test_a_cell_shows_the_text():
    """A diagnosis or a hint at the end of a cell is its text, not a dataclass."""
    assert pretty(FOUND) == str(FOUND)
    assert pretty(FOUND.hints[0]) == str(FOUND.hints[0])


def test_all_diagnoses_read_well():
    """In the dict of all queries each text is a block of its own under the id of its query."""
    first, *lines = pretty({"3d1f": FOUND}).removesuffix("}").splitlines()
    assert first.strip() == "{'3d1f':"
    assert [line.removeprefix(" " * 5).rstrip() for line in lines] == [
        line.rstrip() for line in str(FOUND).splitlines()
    ]


def test_html_says_the_same_and_escapes():
    """The notebook shows verdict, capacity and hints as plain elements; what came from outside is text."""
    html = FOUND._repr_html_()
    assert "Falling behind" in html
    assert SENTENCE in html
    assert "200 partitions for 34 &lt;rows&gt;" in html
    assert "a &lt; b" in html
    assert "Effect: About 0.6 s instead of 3.4 s a batch." in html
    assert "<script" not in html
    assert "<style" not in html
    assert "Nothing to say" in Diagnosis("keeping-up", "Fine.")._repr_html_()


def test_secrets_are_not_shown():
    """A password in a text from Spark is redacted in both forms: a notebook keeps them."""
    leaky = Diagnosis("failed", "jdbc://ann:hunter2@db/orders failed.")
    assert "hunter2" not in leaky._repr_html_()
    assert "hunter2" not in pretty(leaky)


@pytest.mark.parametrize(
    ("x", "text"),
    [(2312.4, "2,310"), (1750, "1,750"), (99.96, "100"), (17.54, "17.5"), (0, "0"), (999_950, "1,000,000"),
     (1_234_567, "1.23M"), (-2312, "\N{MINUS SIGN}2,310"), (None, "n/a"), (float("nan"), "n/a")],
)  # fmt: skip
def test_significant(x, text):
    """Three digits count, and below a million all are written."""
    assert significant(x) == text
