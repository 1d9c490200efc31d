"""All charts of a history as one PNG, without a browser: what a saved notebook keeps."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import LabelSet
from PIL import Image, ImageDraw, ImageFont

from jupyter_streamwatch.charts import catalogue, theme
from jupyter_streamwatch.charts.columns import MAX_ROWS, columns
from jupyter_streamwatch.charts.document import build
from jupyter_streamwatch.charts.kinds.backlog import ETA
from jupyter_streamwatch.charts.layout import COUNTS
from jupyter_streamwatch.charts.marks import marks
from jupyter_streamwatch.charts.png.painter import Frame, frame_height, y_range
from jupyter_streamwatch.charts.rows import Rows
from jupyter_streamwatch.charts.selection import select
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.text import numbers as words

if TYPE_CHECKING:
    from bokeh.models import Plot

    from jupyter_streamwatch.charts.document import Chart
    from jupyter_streamwatch.charts.plan import Series
    from jupyter_streamwatch.charts.rows import Floats
    from jupyter_streamwatch.model.history import HistoryView

TITLE_SIZE, TEXT_SIZE, TICK_SIZE = 14, 12, 11
LINE_HEIGHT, HEAD_GAP, GAP, MARGIN = 19, 3, 16, 14
SWATCH, SPACE = 9, 4
COLOURS = 128  # of the palette; smoothed edges need most of them
MOST_COLOURS = 4096  # different ones that are counted; a picture has about a thousand
_PACK = np.array([1 << 16, 1 << 8, 1], dtype=np.int32)
Y_TICKS, X_TICK_PX = 4, 84
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
X_STEPS = (
    *(_SECOND * n for n in (1, 2, 5, 10, 15, 30)),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 7, 14, 30, 90, 365)),
)
# Pillow's own font has Latin letters only; everything else would be an empty box.
_PLAIN = str.maketrans({words.MINUS: "-", "–": "-", "—": "-", words.ELLIPSIS: "...", "µ": "u", "×": "x"})


@dataclass(frozen=True)
class Look:
    """Surface, text, quiet text and grid lines."""

    surface: str
    text: str
    quiet: str
    grid: str


LIGHT = Look(theme.LIGHT_SURFACE, "#1f2328", "#6b7280", "#ececee")
DARK = Look(theme.DARK_SURFACE, "#e6e6e6", "#9aa0a6", "#2a2b2d")


def png(history: HistoryView, width: int = 900, dark: bool = False) -> bytes:
    """Draw all charts of a history below each other; a title is the legend, with the values of the last batch.

    Args:
        history: A history or its snapshot.
        width: Width of the picture in px; its height follows from the charts.
        dark: Draw for a dark surface.

    Returns:
        A PNG with a palette; empty bytes when there is no chart yet.
    """
    history = history.snapshot()
    charts = build(history).charts
    if not charts:
        return b""
    rows = Rows(history, select(history, MAX_ROWS), diagnose(history).backlog)
    sources = {"batches": columns(history, rows, catalogue.plans(history)), "marks": marks(history, rows)}
    sheet = _Sheet(width, DARK if dark else LIGHT, _x_range(sources))
    heads = [sheet.head(chart, sources["batches"]) for chart in charts]
    tall = sum(
        len(head) * LINE_HEIGHT + HEAD_GAP + theme.TOP + frame_height(chart.figure) + GAP
        for chart, head in zip(charts, heads, strict=True)
    )
    sheet.start(MARGIN + tall + theme.AXIS_HEIGHT + 6)
    for chart, head in zip(charts, heads, strict=True):
        sheet.chart(chart.figure, head, sources)
    sheet.time_axis()
    out = io.BytesIO()
    _palette(sheet.image).save(out, "PNG")
    return out.getvalue()


def _palette(image: Image.Image) -> Image.Image:
    """Return the picture in the colours that it has most of: those stay exact, smoothed edges get the nearest one.

    Pillow's own ways to do this change the most frequent colours by a few shades: white would not be white.
    """
    found: Any = image.getcolors(MOST_COLOURS)
    if found is None:
        return image.quantize(COLOURS, dither=Image.Dither.NONE)
    all_colours = np.array([color for _, color in sorted(found, reverse=True)], dtype=np.int32)
    colours = all_colours[:COLOURS]
    nearest = ((all_colours[:, None, :] - colours[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
    number_of = np.zeros(1 << 24, dtype=np.uint8)  # only the pages of the few colours are ever touched
    number_of[all_colours @ _PACK] = nearest
    made = Image.fromarray(number_of[np.asarray(image).astype(np.int32) @ _PACK])
    made.putpalette(colours.astype(np.uint8).tobytes())
    return made


class _Sheet:
    """The picture while it is drawn from top to bottom."""

    def __init__(self, width: int, look: Look, x: tuple[float, float]) -> None:
        self.width, self.look, self.x = width, look, x
        self.top = MARGIN
        self.inner = width - theme.LEFT - theme.RIGHT

    def start(self, height: int) -> None:
        """Make the empty picture."""
        self.image = Image.new("RGB", (self.width, height), self.look.surface)
        self.pen = ImageDraw.Draw(self.image)

    def head(self, chart: Chart, batches: dict[str, Any]) -> list[list[tuple[Series | None, str, float]]]:
        """Lay out title, unit and legend in lines of (series or None, text, x); None is the title and its unit."""
        at = theme.LEFT - 44
        line: list[tuple[Series | None, str, float]] = [(None, f"{chart.title}\n{chart.unit}", float(at))]
        lines = [line]
        x = (
            at
            + sum(_length(word, TITLE_SIZE) + SPACE for word in chart.title.split())
            + 8
            - SPACE
            + _length(chart.unit, TEXT_SIZE)
            + 16
        )
        for series in chart.series:
            text = f"{series.label}\n{_value(series, batches)}"
            wide = sum(_length(part, TEXT_SIZE) for part in text.split("\n")) + SPACE + 14
            wide += 0 if series.shape == "none" else SWATCH + 5
            if x + wide > self.width - theme.RIGHT and line:
                line, x = [], float(at)
                lines.append(line)
            line.append((series, text, x))
            x += wide
        return lines

    def chart(self, figure: Plot, head: list[list[tuple[Series | None, str, float]]], sources: dict[str, Any]) -> None:
        """Draw the head of a chart, its frame, the numbers of its y axis and the words of its marks."""
        for line in head:
            for series, text, x in line:
                self._word(series, text, x)
            self.top += LINE_HEIGHT
        self.top += theme.TOP + HEAD_GAP
        height = frame_height(figure)
        y = y_range(figure, sources)
        ticks = _y_ticks(*y, least=figure.left[0].ticker.min_interval)
        frame = Frame((self.inner, height), self.look.surface, self.x, y)
        frame.grid(ticks, self.look.grid)
        frame.figure(figure, sources)
        self.image.paste(frame.small(), (theme.LEFT, self.top))
        labels = figure.left[0].major_label_overrides
        for tick in ticks.tolist():
            at = self.top + (y[1] - tick) / (y[1] - y[0]) * height
            number = f"{tick:.10g}"
            self._text(theme.LEFT - 8, at, COUNTS.get(tick, number) if labels else number, "rm")
        if any(isinstance(item, LabelSet) for item in figure.center):
            self._marks(sources["marks"])
        self.top += height + GAP

    def time_axis(self) -> None:
        """Write the times below the last chart, and once what zone and day they are of."""
        self.top -= GAP - 6
        low, high = self.x
        step, form = _x_step(low, high, self.inner)
        for tick in np.arange(math.ceil(low / step) * step, high + 1, step).tolist():
            text = _time(tick, form)
            x = theme.LEFT + (tick - low) / (high - low) * self.inner
            half = _length(text, TICK_SIZE) / 2
            if x - half > theme.LEFT - 8 and x + half < self.width - 2:
                self._text(x, self.top, text, "ma")
        first, last = _time(low, "%Y-%m-%d"), _time(high, "%Y-%m-%d")
        day = first if first == last else f"{first} to {last}"
        self._text(self.width - theme.RIGHT, self.top + LINE_HEIGHT, f"{day}, UTC", "ra")

    def _word(self, series: Series | None, text: str, x: float) -> None:
        middle = self.top + LINE_HEIGHT / 2
        if series is None:
            title, unit = text.split("\n")
            # The font has one weight: drawn twice, half a px apart, it is bold enough for a title. That eats
            # into its narrow spaces, so they are set here.
            for word in title.split():
                for shift in (0.0, 0.5):
                    self._text(x + shift, middle, word, "lm", size=TITLE_SIZE, color=self.look.text)
                x += _length(word, TITLE_SIZE) + SPACE
            self._text(x + 8 - SPACE, middle + 0.5, unit, "lm", size=TEXT_SIZE)
            return
        if series.shape != "none":
            _swatch(self.pen, x, middle, series)
            x += SWATCH + 5
        label, value = text.split("\n")
        self._text(x, middle + 0.5, label, "lm", size=TEXT_SIZE)
        self._text(
            x + _length(label, TEXT_SIZE) + SPACE, middle + 0.5, value, "lm", size=TEXT_SIZE, color=self.look.text
        )

    def _marks(self, source: dict[str, list[Any]]) -> None:
        low, high = self.x
        for x, text, align, offset, color in zip(
            *(source[name] for name in ("x", "label", "align", "offset", "color")), strict=True
        ):
            at = theme.LEFT + (x - low) / (high - low) * self.inner + offset
            self._text(at, self.top, text, "ra" if align == "right" else "la", color=color)

    def _text(self, x: float, y: float, text: str, anchor: str, *, size: int = TICK_SIZE, color: str = "") -> None:
        self.pen.text((x, y), _plain(text), fill=color or self.look.quiet, font=_font(size), anchor=anchor)


def _swatch(pen: ImageDraw.ImageDraw, x: float, middle: float, series: Series) -> None:
    left, top = round(x), round(middle - SWATCH / 2)
    box = (left, top, left + SWATCH - 1, top + SWATCH - 1)
    if series.shape == "line":
        pen.rectangle((left, top + 3, left + SWATCH, top + 5), fill=series.color)
    elif series.shape == "dash":
        for shift in (0, 6):
            pen.rectangle((left + shift, top + 4, left + shift + 3, top + 5), fill=series.color)
    elif series.shape == "hollow":
        pen.ellipse(box, outline=series.color)
    elif series.shape == "triangle":
        pen.polygon(
            [(left, top + SWATCH - 1), (left + SWATCH - 1, top + SWATCH - 1), (left + SWATCH // 2, top)], series.color
        )
    elif series.shape == "hatch":
        pen.rectangle(box, outline=series.color)
        for shift in range(2, 2 * SWATCH, 4):
            a, b = min(shift, SWATCH - 1), max(shift - SWATCH + 1, 0)
            pen.line((left + b, top + a, left + a, top + b), fill=series.color)
    else:
        pen.rectangle(box, fill=series.color)


def _value(series: Series, batches: dict[str, Any]) -> str:
    """Write the value of the last batch."""
    values = batches.get(series.column)
    return str(getattr(words, series.format)(None if values is None else float(values[-1])))


def _x_range(sources: dict[str, Any]) -> tuple[float, float]:
    batches = sources["batches"]
    marked = np.array(sources["marks"]["x"], dtype=np.float64)
    ahead = [batches[name] for name in (f"{ETA}.x0",) if name in batches]
    times = np.concatenate((batches["left"], batches["right"], batches["room"], *ahead, marked))
    times = times[np.isfinite(times)]
    low, high = (float(times.min()), float(times.max())) if len(times) else (0.0, 0.0)
    room = max(high - low, 1000.0) * 0.005
    return low - room, high + room


def _y_ticks(low: float, high: float, least: float = 0.0) -> Floats:
    """Return round numbers, about four, as the figures choose them."""
    wanted = (high - low) / Y_TICKS
    power = 10.0 ** math.floor(math.log10(wanted))
    steps = [power * digit for digit in (1, 2, 5, 10)]
    step = max(min(steps, key=lambda step: abs((high - low) / step - Y_TICKS)), least)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return np.array([number * step for number in range(first, last + 1)], dtype=np.float64)


def _x_step(low: float, high: float, width: int) -> tuple[float, str]:
    """Return the ms between the labels of the time axis, and how they are written."""
    wanted = (high - low) / (width / X_TICK_PX)
    if wanted < 250:
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if step >= wanted)
        return float(step), "ms"
    step = next((step for step in X_STEPS if step >= wanted), X_STEPS[-1] * max(math.ceil(wanted / X_STEPS[-1]), 1))
    return float(step), "%H:%M:%S" if step < _MINUTE else "%H:%M" if step < _DAY else "%b %d"


def _time(ms: float, form: str) -> str:
    try:
        at = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)
    except OverflowError:  # an impossible moment in a record must not cost the picture
        return ""
    return f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}" if form == "ms" else at.strftime(form)


def _plain(text: str) -> str:
    """Replace what the font does not have."""
    return text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")


@lru_cache(maxsize=8)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


@lru_cache(maxsize=1024)
def _length(text: str, size: int) -> float:
    return float(_font(size).getlength(_plain(text)))
