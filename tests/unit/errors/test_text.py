"""The lines of an error come out as they were printed, whatever was put around them."""

from __future__ import annotations

import time

import pytest

from jupyter_streamwatch.model.errors import causes_of
from jupyter_streamwatch.model.errors.text import MAX_TEXT, lines_of

TRACE = [
    "java.lang.IllegalStateException: meter 7 is unknown",
    "\tat com.example.Meters.find(Meters.scala:12)",
    "\tat com.example.Meters.all(Meters.scala:40)",
    "Caused by: java.lang.RuntimeException: no row for meter 7",
    "\tat com.example.Rows.one(Rows.scala:3)",
]


@pytest.mark.parametrize(
    "mark", ["> ", " * ", "# ", "// ", "| ", "> > ", "-- ", "spark-1  | ", "2026-03-09T08:07:06Z F "]
)
def test_margins_are_taken_off(mark):
    """Quotes, comments, boxes and what a log shipper puts before each line are no part of the error."""
    assert lines_of("\n".join(mark + line for line in TRACE)) == TRACE


def test_a_mark_in_few_lines_stays():
    """A list inside a message is not a quote."""
    text = "java.lang.Exception: these are missing\n* a\nb\nc"
    assert lines_of(text) == text.split("\n")


@pytest.mark.parametrize("width", [44, 60])
def test_lines_that_a_terminal_broke_are_joined(width):
    """Pieces of one width become the frames and causes that they were."""
    pieces = [line[at : at + width] for line in TRACE * 4 for at in range(0, len(line), width)]
    causes = causes_of("\n".join(pieces))
    assert [cause.message for cause in causes] == ["meter 7 is unknown", "no row for meter 7"]


def test_frames_that_a_mail_program_broke_are_joined():
    """A break at a space leaves an open frame, and a lonely "at"."""
    assert lines_of("\tat\ncom.example.Meters.find(Meters.scala:12)\n\tat com.example.Rows.one(Rows.scala:\n3)") == [
        "\tat com.example.Meters.find(Meters.scala:12)",
        "\tat com.example.Rows.one(Rows.scala:3)",
    ]


def test_the_same_long_frame_again_and_again_is_no_wrapped_line():
    """A stack that overflowed has many lines of one length."""
    frame = "\tat com.example.deep.Recursion.again(Recursion.scala:1)"
    assert lines_of("\n".join([frame] * 5)) == [frame] * 5


def test_escapes_entities_and_colours_are_resolved():
    """An error in a JSON string, in HTML and from a terminal."""
    assert lines_of("\\n".join(TRACE).replace("\t", "\\t")) == TRACE
    assert lines_of("java.lang.X: a &lt;b&gt;<br>\tat c.D.e(D.java:1)")[0] == "java.lang.X: a <b>"
    assert lines_of("\x1b[31mjava.lang.X: red\x1b[0m") == ["java.lang.X: red"]


@pytest.mark.parametrize(
    "part",
    [
        "\tat org.apache.spark.A.b(A.scala:1)\n",
        "a.",
        "> > x\n",
        "lorem: ipsum [X] \n",
        "\tat a.b.c\n",
        " ",
        "x" * 80 + "\n",
    ],
)
def test_a_text_of_a_megabyte_is_read_in_time(part):
    """The work grows with the length alone, and what is kept is bounded."""
    began = time.perf_counter()
    causes = causes_of("java.lang.Exception: " + part * (MAX_TEXT // len(part)))
    assert time.perf_counter() - began < 20
    assert len(causes) <= 64
    assert all(len(cause.message) <= 6_000 and len(cause.frames) <= 100 for cause in causes)
