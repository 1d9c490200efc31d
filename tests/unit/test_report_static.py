"""What a saved notebook keeps: readable after the kernel, scripts and styles are gone, and small."""

from __future__ import annotations

import base64
import io
import json
from html.parser import HTMLParser

import pytest
from PIL import Image

from jupyter_streamwatch.report import static as module
from jupyter_streamwatch.report.static import MOST_BYTES, Static, static
from jupyter_streamwatch.summary import line as overview
from tests.unit.queries import RUN, START, UDF_ERROR, hint, history, kafka, verdict

# What JupyterLab's sanitiser keeps of an untrusted output (a part of its list).
KEPT = {
    *("div", "p", "b", "br", "small", "pre", "code", "bdi", "ul", "li", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
KEPT_ATTRIBUTES = {"title", "colspan", "align"}


class Elements(HTMLParser):
    """Names of elements and attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def judged(monkeypatch, *hints, word="falling-behind"):
    monkeypatch.setattr(overview, "diagnose", lambda one, now, others: verdict(word, *hints))


def saved(still):
    """The size of the outputs in the JSON of a notebook."""
    return len(json.dumps(still.bundles()))


def test_the_still_says_what_the_line_says():
    """State, name, rates, batch time and backlog are the overview's words."""
    queried = history(5, sources=kafka(4, 12_432))
    line = overview.lines([queried])[0]
    still = static([queried])
    said = Elements(still.html).text
    for word in (line.state.label, line.name, line.rates.input, line.rates.processed, line.batch.duration, "12.4k"):
        assert word in said
        assert word in still.text


def test_the_html_survives_sanitising(monkeypatch):
    """Only plain elements, and no style, script, picture or event attribute, also with hints and an error."""
    judged(monkeypatch, hint(code_fix="spark.conf.set('a', '4')"), hint("x", "info"), word="failed")
    failed = history(3)
    failed.end(RUN, START + 9000, UDF_ERROR, "STREAM_FAILED")
    made = Elements(static([failed]).html)
    assert made.tags <= KEPT
    assert made.attributes <= KEPT_ATTRIBUTES
    assert "spark.conf.set('a', '4')" in made.text
    assert "ZeroDivisionError" in made.text


def test_the_charts_are_a_picture_beside_it():
    """Two outputs: HTML with text, and a PNG; a query without a batch has no picture."""
    still = static([history(10)])
    words, picture = still.bundles()
    assert set(words) == {"text/html", "text/plain"}
    image = Image.open(io.BytesIO(base64.b64decode(picture["image/png"])))
    assert image.width == module.WIDTH
    assert len(static([history(0)]).bundles()) == 1


def test_it_shows_itself_as_two_outputs(monkeypatch):
    """Displaying it makes two outputs, none of them a widget."""
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append((bundle, raw)))
    still = static([history(3)])
    still._ipython_display_()
    assert [raw for _, raw in shown] == [True, True]
    assert [next(iter(bundle)) for bundle, _ in shown] == ["text/html", "image/png"]
    assert still._repr_mimebundle_() == shown[0][0]


def test_a_hundred_queries_stay_small(monkeypatch):
    """A hundred queries with long names, hints and errors stay under the limit; the rest is counted by state."""
    long = "x" * 400
    judged(monkeypatch, *[hint(f"rule-{at}", title=long, cause=long, fix=long, code_fix=long) for at in range(10)])
    queries = [history(5, id=f"{at:08d}", name=f"{at}" + "long" * 60) for at in range(100)]
    still = static(queries)
    assert saved(still) < MOST_BYTES
    assert "more: " in Elements(still.html).text
    assert "falling behind" in Elements(still.html).text


def test_a_picture_that_is_too_large_loses_colours_then_pixels(monkeypatch):
    """A noisy picture is made smaller until it fits, or left out."""
    noise = Image.effect_noise((900, 900), 90).convert("RGB")

    def drawn(history, width, dark=False):
        buffer = io.BytesIO()
        noise.resize((width, width)).save(buffer, "PNG")
        return buffer.getvalue()

    monkeypatch.setattr("jupyter_streamwatch.charts.png.picture.png", drawn)
    still = static([history(3)])
    assert saved(still) < MOST_BYTES


def test_nothing_watched_says_so():
    """Without a query there is one sentence and no picture."""
    still = static([])
    assert "No streaming query yet" in still.html
    assert "No streaming query yet" in still.text
    assert still.png is None


def test_the_repr_makes_nothing():
    """Writing it in a list or a log costs nothing."""
    still = static([history(3)])
    assert repr(still).startswith("<Static of 1 streaming query, ")
    assert not {"html", "png", "text"} & set(vars(still))


def test_it_keeps_the_moment():
    """What happens after it was taken does not change it."""
    queried = history(3)
    still = static([queried], now=START + 10_000)
    queried.end(RUN, START + 20_000)
    assert "2026-01-01 14:00:10 UTC" in still.html
    assert "Stopped" not in still.html


def test_several_queries_name_the_one_of_the_charts():
    """With more than one query the still says whose charts the picture shows."""
    still = static([history(0, id="22222222", name="starts"), history(3)], now=START + 5000)
    assert "the charts are those of late_flights" in still.html
    assert len(still.bundles()) == 2


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a|b\n\u202ec"])
def test_hostile_names_are_text(name):
    """A name is only ever text."""
    made = Elements(static([history(1, name=name)]).html)
    assert made.tags <= KEPT
    assert isinstance(static([history(1, name=name)]), Static)
