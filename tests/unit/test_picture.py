"""The static picture: a PNG of all charts, small, drawn from the figures without a browser."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from bokeh.models.glyphs import Text
from PIL import Image

from jupyter_streamwatch import charts, testing
from jupyter_streamwatch.charts import theme
from jupyter_streamwatch.charts.png import painter, picture

if TYPE_CHECKING:
    from jupyter_streamwatch.model.history import History

EVENT = {"eventTime": {"watermark": "2025-12-31T23:50:00.000Z", "max": "2025-12-31T23:59:00.000Z"}}
T0 = 1_767_225_600_000.0


def usual(batches: int = 300, **more: object) -> History:
    return testing.history(
        batches=batches,
        rows=lambda i: 0 if i % 7 == 6 else int(300 + 120 * math.sin(i / 9)),
        duration=lambda i: 700 + 500 * math.sin(i / 11) + 13 * (i % 5),
        stateful=lambda i: 1000 + 30 * i,
        backlog=lambda i: 500 + 100 * math.sin(i / 20),
        trigger=2,
        **{**EVENT, **more},
    )


def opened(history: History, **options: object) -> Image.Image:
    return Image.open(io.BytesIO(picture.png(history, **options)))  # type: ignore[arg-type]


def colours(image: Image.Image) -> set[tuple[int, int, int]]:
    return {color for _, color in image.convert("RGB").getcolors(10_000)}


def rgb(color: str) -> tuple[int, int, int]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))  # type: ignore[return-value]


def test_a_png_of_the_asked_width() -> None:
    """A PNG with a palette, as wide as asked, as high as its charts need."""
    image = opened(usual(50), width=700)
    assert image.format == "PNG"
    assert image.mode == "P"
    assert image.width == 700
    assert 7 * theme.FRAME_HEIGHT < image.height < 7 * 200


def test_small() -> None:
    """All seven charts of a usual history stay under 90 kB, also with every pixel's batch in it."""
    assert len(picture.png(usual(300))) < 90_000
    assert len(picture.png(usual(3000, keep=500))) < 90_000


def test_nothing_to_draw() -> None:
    """A query without batches has no picture."""
    assert picture.png(testing.history([])) == b""


@pytest.mark.parametrize("dark", [False, True])
def test_exact_colours(dark: bool) -> None:
    """The surface, the lines and the bars have the very colours of the theme."""
    found = colours(opened(usual(60), dark=dark))
    surface = theme.DARK_SURFACE if dark else theme.LIGHT_SURFACE
    assert {rgb(surface), rgb(theme.PROCESSED), rgb(theme.INPUT), rgb(theme.ADD_BATCH)} <= found


def test_draws_what_the_figures_draw() -> None:
    """Every glyph of every figure is known to the writer, bins and marks included."""
    history = usual(3000, keep=200)
    history.end(testing.RUN, T0 + 5e6, "boom")
    history.start("other", at=T0 + 6e6)
    assert rgb(theme.ALARM) in colours(opened(history))


def test_bars_are_where_their_numbers_are() -> None:
    """A bar of rows ends at the height of its value."""
    history = testing.history([testing.progress(i, rows, 1000, T0 + 2000 * i) for i, rows in enumerate((50, 100))])
    chart = next(c for c in charts.build(history).charts if c.name == "rows-per-batch")
    data = charts.data(history)
    sources = {name: {k: np.array(v, dtype=object) for k, v in columns.items()} for name, columns in data.items()}
    y = painter.y_range(chart.figure, sources)
    frame = painter.Frame((400, 100), "#ffffff", (T0, T0 + 4000), y)
    frame.figure(chart.figure, sources)
    pixels = np.asarray(frame.small())
    filled = (pixels == rgb(theme.ADD_BATCH)).all(axis=2)
    assert filled[:, 20].sum() == pytest.approx(50 / y[1] * 100, abs=1)
    assert filled[:, 220].sum() == pytest.approx(100 / y[1] * 100, abs=1)


def test_one_batch_and_odd_texts() -> None:
    """One batch, unknown numbers and names that the font does not have are drawn without complaint."""
    operator = {"operatorName": "状態 مرحبا " * 20, "numRowsTotal": 5, "memoryUsedBytes": 1}
    other = {"operatorName": "\u202eb\n\x00", "numRowsTotal": 1, "memoryUsedBytes": 1}
    history = testing.history([testing.progress(stateOperators=[operator, other], durationMs={}, batchDuration=None)])
    assert opened(history).width == 900


def test_impossible_numbers() -> None:
    """Durations and times that cannot be do not cost the picture."""
    records = [testing.progress(0, start="0001-01-01T00:00:00.000Z"), testing.progress(1, 10**18, batchDuration=1e300)]
    records.append(testing.progress(2, start="9999-12-31T00:00:00.000Z", processedRowsPerSecond=1e300))
    assert opened(testing.history(records)).width == 900


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 4.2, [0, 1, 2, 3, 4]), (0, 1040, [0, 200, 400, 600, 800, 1000]), (-20, 5, [-20, -15, -10, -5, 0, 5])],
)
def test_y_ticks(low: float, high: float, expected: list[float]) -> None:
    """The y axis has few, round numbers."""
    assert picture._y_ticks(low, high).tolist() == expected


@pytest.mark.parametrize(
    ("seconds", "step", "form"),
    [(1, 200, "ms"), (60, 10_000, "%H:%M:%S"), (7200, 900_000, "%H:%M"), (86_400 * 30, 86_400_000 * 7, "%b %d")],
)
def test_time_axis(seconds: float, step: float, form: str) -> None:
    """Times stand at round moments and are as short as they can be told apart."""
    assert picture._x_step(T0, T0 + 1000 * seconds, 832) == (step, form)


@pytest.mark.oldest
@pytest.mark.parametrize(("first", "cut"), [(31_000, True), (4000, False)])
def test_the_cut_of_a_cold_batch_is_said_in_the_picture(monkeypatch: pytest.MonkeyPatch, first: int, cut: bool) -> None:
    """Beside a bar that is cut stand words; where nothing is cut there are none."""
    times = ((0, first), *((31.0 + 5 * i, 2000) for i in range(5)))
    made = testing.history([testing.progress(i, 10, took, T0 + 1000 * at) for i, (at, took) in enumerate(times)])
    whole = np.asarray(opened(made).convert("RGB"))
    draw = painter.Frame.glyph

    def wordless(frame: painter.Frame, renderer: Any, columns: Any) -> None:
        if not isinstance(renderer.glyph, Text):
            draw(frame, renderer, columns)

    monkeypatch.setattr(painter.Frame, "glyph", wordless)
    assert bool((np.asarray(opened(made).convert("RGB")) != whole).any()) == cut
