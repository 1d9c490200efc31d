"""The backlog's chart: its lines, and the dotted one to where a shrinking backlog goes."""

from __future__ import annotations

import pytest

from jupyter_streamwatch import Thresholds, diagnose, rules, testing
from jupyter_streamwatch.charts.columns import data, rows_after
from jupyter_streamwatch.charts.document import build, key
from jupyter_streamwatch.charts.plan import label
from jupyter_streamwatch.charts.png.picture import png

ENDS = tuple(f"backlog.eta.{end}" for end in ("x0", "y0", "y"))


def ahead(history):
    """Return the columns of the dotted line without what is unknown: {row: (x0, y0, y)}."""
    batches = data(history)["batches"]
    found = zip(*(batches[name] for name in ENDS), strict=True)
    return {row: ends for row, ends in enumerate(found) if ends != (None, None, None)}


def shrinking(count=20, step=400):
    """Return a history at 2 s whose backlog of 10,000 rows shrinks by ``step`` a batch."""
    return testing.history(batches=count, backlog=lambda i: max(10_000 - step * i, 0), trigger=2)


def test_a_shrinking_backlog_goes_on_dotted_from_the_last_batch():
    """Along its slope, as far ahead as half of the time seen, in the last row alone."""
    history = shrinking(step=200)
    starts, waiting = (data(history)["batches"][name] for name in ("timestamp", "backlog"))
    ((row, (x0, y0, y)),) = ahead(history).items()
    assert row == 19
    assert y == waiting[-1] == 6200
    assert x0 == starts[-1] + 0.5 * (starts[-1] - starts[0])
    assert y0 == pytest.approx(6200 - 100 * (x0 - starts[-1]) / 1000)


def test_the_extension_ends_where_the_backlog_is_gone():
    """Never below zero: its end is the time that the diagnosis names."""
    history = shrinking(24)
    ((_, (x0, y0, _)),) = ahead(history).items()
    assert y0 == 0
    assert x0 - data(history)["batches"]["timestamp"][-1] == pytest.approx(diagnose(history).backlog.gone_in_ms)


@pytest.mark.parametrize(
    "backlog",
    [
        lambda i: 10_000 + 400 * i,
        lambda i: 10_000 + 300 * (i % 3),
        lambda i: 5000 if i < 19 else 100,
        lambda i: 0,
        None,
    ],
    ids=["grows", "steady", "one drop", "nothing", "unknown"],
)
def test_without_a_sure_slope_nothing_is_drawn(backlog):
    """A guess is worse than no line."""
    history = testing.history(batches=20, backlog=backlog, trigger=2)
    assert "backlog.eta.x0" not in data(history)["batches"] or not ahead(history)


def test_the_extension_agrees_with_the_verdict():
    """After every batch: a dotted line exactly where the diagnosis says that the backlog shrinks."""
    for count in range(1, 30):
        for step in (0, 30, 90, 400):
            history = shrinking(count, step)
            assert bool(ahead(history)) == (diagnose(history).backlog.trend == "shrinks"), (count, step)


def test_a_query_that_ended_goes_nowhere():
    """And its chart has another structure, so that a page draws it anew."""
    history = shrinking()
    before = key(history)
    history.end(testing.RUN, 1.8e12)
    assert "backlog.eta.x0" not in data(history)["batches"]
    assert key(history) != before


def test_a_page_that_gets_each_batch_has_one_extension():
    """The row before comes along and has lost its own."""
    history = shrinking()
    seen = history.seen
    history.append(testing.progress(20, 100, 500, 1_767_225_600_000 + 40_000, backlog=2000))
    batches = rows_after(history, seen)["batches"]
    assert len(batches["batchId"]) == 2
    assert [x0 is None for x0 in batches["backlog.eta.x0"]] == [True, False]


def test_the_extension_is_dotted_on_the_page_and_in_the_picture():
    """The figure has a dotted glyph, whose place ahead is a time that the page moves to the reader's zone."""
    history = shrinking()
    made = build(history)
    figure = next(chart.figure for chart in made.charts if chart.name == "backlog")
    assert figure.html_attributes["aria-label"] == "Backlog: how far behind, when done?"
    dotted = [one.glyph for one in figure.renderers if getattr(one.glyph, "x0", None) == "backlog.eta.x0"]
    assert [glyph.line_dash for glyph in dotted] == ["dotted"]
    assert "backlog.eta.x0" in made.time_columns["batches"]
    ended = shrinking()
    ended.end(testing.RUN, 1.8e12)
    assert png(history) != png(ended)


def test_the_chart_goes_by_the_thresholds_that_the_user_set(monkeypatch):
    """A change that the user calls too small for a trend draws no extension either: chart and diagnosis agree."""
    assert ahead(shrinking())
    monkeypatch.setattr(rules, "thresholds", Thresholds(backlog_change=1e6))
    assert diagnose(shrinking()).backlog.trend == "steady"
    assert not ahead(shrinking())


def test_no_secret_is_a_word_of_a_legend():
    """The legend names a source as Spark describes it; a page keeps it."""
    assert "hunter2" not in label("jdbc:x://me:hunter2@host/orders")
    assert "hunter2" not in label("x" * 40 + " password=hunter2" + "x" * 40)
