"""Draws the glyphs of a figure with Pillow: those kinds, and those properties of them, that our charts use.

Everything is drawn at three times its size and made smaller: that is what smooths the lines.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import Span, VSpan
from bokeh.models.glyphs import Quad, Scatter, Segment, Text
from PIL import Image, ImageColor, ImageDraw, ImageFont

from jupyter_streamwatch.charts.layout import EMPTY_SPAN, SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bokeh.models import GlyphRenderer, Plot
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rgb = tuple[int, int, int]
    Columns = Mapping[str, Any]

SCALE = 3
DASH = 4  # px of a dash, and of the space after it
HATCH = 6  # px from one line of a hatch to the next


class Frame:
    """The plotting area of one figure as an image, ``width`` x ``height`` px, drawn larger."""

    def __init__(self, size: tuple[int, int], surface: str, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Start with an empty surface that shows the data ranges ``x`` (epoch ms) and ``y``."""
        self.width, self.height = size[0] * SCALE, size[1] * SCALE
        self.surface = ImageColor.getrgb(surface)[:3]
        self.x, self.y = x, y
        self.image = Image.new("RGB", (self.width, self.height), self.surface)
        self.pen = ImageDraw.Draw(self.image)

    def across(self, values: Floats) -> Floats:
        """Return px from the left for epoch ms."""
        low, high = self.x
        return np.asarray((values - low) / (high - low) * self.width, dtype=np.float64)

    def down(self, values: Floats) -> Floats:
        """Return px from the top for values of the y axis."""
        low, high = self.y
        return np.asarray((high - values) / (high - low) * self.height, dtype=np.float64)

    def grid(self, ticks: Floats, color: str) -> None:
        """Draw thin horizontal lines."""
        for y in self.down(ticks):
            top = min(round(y / SCALE) * SCALE, self.height - SCALE)  # on whole px of the true size: crisp
            self.pen.rectangle((0, top, self.width, top + SCALE - 1), fill=color)

    def figure(self, figure: Plot, sources: Mapping[str, Columns]) -> None:
        """Draw all glyphs of a figure, what is beneath first, and its horizontal lines."""
        order = {"underlay": 0, "glyph": 1, "overlay": 2}
        for renderer in sorted(figure.renderers, key=lambda renderer: order[renderer.level]):
            self.glyph(renderer, sources[renderer.data_source.name])
        for span in figure.center:
            if isinstance(span, Span) and span.dimension == "width":
                y = float(self.down(np.array([span.location]))[0])
                self._dashes((0, y, self.width, y), span.line_color, span.line_width, solid=not span.line_dash)

    def glyph(self, renderer: GlyphRenderer, columns: Columns) -> None:
        """Draw one glyph for all rows."""
        glyph, whole = renderer.glyph, self.y
        draw = next((draw for kind, draw in _DRAW.items() if isinstance(glyph, kind)), None)
        if draw is None:
            raise NotImplementedError(f"the picture cannot draw {type(glyph).__name__}")
        if renderer.y_range_name == SHARE:
            self.y = (0.0, 1.0)
        draw(self, glyph, columns)
        self.y = whole

    def small(self) -> Image.Image:
        """Return the frame in its true size."""
        return self.image.reduce(SCALE)

    def _quads(self, glyph: Quad, columns: Columns) -> None:
        left, right = (self.across(_values(columns, getattr(glyph, side))) for side in ("left", "right"))
        top, bottom = (self.down(_values(columns, getattr(glyph, side))) for side in ("top", "bottom"))
        have = np.isfinite(left) & np.isfinite(right) & np.isfinite(top) & np.isfinite(bottom)
        boxes = np.rint(np.column_stack((left, top, right - 1, bottom - 1))[have])
        boxes = boxes[(boxes[:, 2] >= boxes[:, 0]) & (boxes[:, 3] >= boxes[:, 1])].astype(int).tolist()
        color = self._blend(glyph.fill_color, glyph.fill_alpha)
        for box in boxes:
            self.pen.rectangle(box, fill=color)
        if _plain(glyph.hatch_pattern) and boxes:
            mask = Image.new("1", self.image.size)
            pen = ImageDraw.Draw(mask)
            for box in boxes:
                pen.rectangle(box, fill=1)
            lines = Image.new("RGB", self.image.size, self._blend(glyph.hatch_color, glyph.hatch_alpha))
            where = Image.composite(mask, Image.new("1", mask.size), _hatch(self.width, self.height))
            self.image.paste(lines, mask=where)

    def _segments(self, glyph: Segment, columns: Columns) -> None:
        x0, x1 = (self.across(_values(columns, getattr(glyph, end))) for end in ("x0", "x1"))
        y0, y1 = (self.down(_values(columns, getattr(glyph, end))) for end in ("y0", "y1"))
        have = np.flatnonzero(np.isfinite(x0) & np.isfinite(x1) & np.isfinite(y0) & np.isfinite(y1))
        color = self._blend(glyph.line_color, glyph.line_alpha)
        width = max(round(_plain(glyph.line_width) * SCALE), 1)
        x0, x1, y0, y1 = x0[have], x1[have], y0[have], y1[have]
        if _plain(glyph.line_dash) == "dotted" and len(have):
            x0, x1, y0, y1 = _dotted(x0, x1, y0, y1)
        if glyph.x0 == glyph.x1:  # upright: as wide as asked, ends cut exactly
            first = np.rint(x0 - width / 2).astype(int)
            high, low = np.rint(np.minimum(y0, y1)).astype(int), np.rint(np.maximum(y0, y1)).astype(int) - 1
            for x, a, b in zip(first.tolist(), high.tolist(), low.tolist(), strict=True):
                if b >= a:
                    self.pen.rectangle((x, a, x + width - 1, b), fill=color)
            return
        starts = np.flatnonzero(np.concatenate(([True], (x0[1:] != x1[:-1]) | (y0[1:] != y1[:-1]))))
        for a, b in zip(starts, np.append(starts[1:], len(x0)), strict=True):
            if b > a:
                points = np.column_stack((np.append(x0[a], x1[a:b]), np.append(y0[a], y1[a:b])))
                self.pen.line(list(map(tuple, points.tolist())), fill=color, width=width, joint="curve")

    def _scatter(self, glyph: Scatter, columns: Columns) -> None:
        x, y = self.across(_values(columns, glyph.x)), self.down(_values(columns, glyph.y))
        size = float(_plain(glyph.size))
        if not size:
            return
        fill, line = _plain(glyph.fill_color), _plain(glyph.line_color)
        fill = fill if _plain(glyph.fill_alpha) else None
        half = size * SCALE / 2
        have = np.isfinite(x) & np.isfinite(y)
        for cx, cy in zip(x[have].tolist(), y[have].tolist(), strict=True):
            if glyph.marker == "triangle":
                self.pen.polygon(
                    [(cx - half, cy + half * 0.7), (cx + half, cy + half * 0.7), (cx, cy - half)], fill=fill
                )
            else:
                box = (cx - half, cy - half, cx + half, cy + half)
                outline = {"outline": line, "width": round(_plain(glyph.line_width) * SCALE)} if line else {}
                self.pen.ellipse(box, fill=fill or self.surface, **outline)

    def _texts(self, glyph: Text, columns: Columns) -> None:
        x, y = self.across(_values(columns, glyph.x)), self.down(_values(columns, glyph.y))
        x += _plain(glyph.x_offset) * SCALE
        font = ImageFont.load_default(int(_plain(glyph.text_font_size).removesuffix("px")) * SCALE)
        color = self._blend(glyph.text_color, glyph.text_alpha)
        for at in np.flatnonzero(np.isfinite(x) & np.isfinite(y)).tolist():
            self.pen.text((x[at], y[at]), columns[str(glyph.text)][at], fill=color, font=font, anchor="la")

    def _verticals(self, glyph: VSpan, columns: Columns) -> None:
        xs = self.across(_values(columns, glyph.x))
        for x, color in zip(xs.tolist(), columns[glyph.line_color], strict=True):
            self._dashes((x, 0, x, self.height), color, 1)

    def _dashes(
        self, ends: tuple[float, float, float, float], color: str, width: float, *, solid: bool = False
    ) -> None:
        x0, y0, x1, y1 = ends
        length = int(max(x1 - x0, y1 - y0))
        step = length if solid else DASH * SCALE
        half = width * SCALE / 2
        for at in range(0, length, 2 * step):
            end = min(at + step, length)
            box = (at, y0 - half, end - 1, y0 + half - 1) if y0 == y1 else (x0 - half, at, x0 + half - 1, end - 1)
            self.pen.rectangle([round(edge) for edge in box], fill=color)

    def _blend(self, color: Any, alpha: Any) -> Rgb:
        """Return the colour that lies over the surface."""
        share = float(_plain(alpha))
        rgb = ImageColor.getrgb(_plain(color))[:3]
        mixed = (round(c * share + s * (1 - share)) for c, s in zip(rgb, self.surface, strict=True))
        return tuple(mixed)  # type: ignore[return-value]


_DRAW: dict[type, Callable[[Frame, Any, Any], None]] = {
    Quad: Frame._quads,  # noqa: SLF001 - the table of its own methods
    Segment: Frame._segments,  # noqa: SLF001
    Scatter: Frame._scatter,  # noqa: SLF001
    Text: Frame._texts,  # noqa: SLF001
    VSpan: Frame._verticals,  # noqa: SLF001
}


def _dotted(x0: Floats, x1: Floats, y0: Floats, y1: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the dashes of slanted segments, as segments."""
    pieces = []
    for ax, bx, ay, by in zip(x0.tolist(), x1.tolist(), y0.tolist(), y1.tolist(), strict=True):
        dashes = int(max(np.hypot(bx - ax, by - ay) // (2 * DASH * SCALE), 1))
        since = np.arange(dashes) / dashes
        until = since + 0.5 / dashes
        ends = ((ax, bx), (ay, by))
        pieces.append([[a + (b - a) * at for at in (since, until)] for a, b in ends])
    xs, ys = (np.concatenate([np.stack(piece[axis]) for piece in pieces], axis=1) for axis in (0, 1))
    return xs[0], xs[1], ys[0], ys[1]


def frame_height(figure: Plot) -> int:
    """Return the height of a figure's plotting area, in px."""
    return int(figure.height - figure.min_border_top - figure.min_border_bottom)


def y_range(figure: Plot, sources: Mapping[str, Columns]) -> tuple[float, float]:
    """Return the y range that the figure would choose: all its glyphs, from zero unless it is to show less."""
    found = [0.0] if figure.y_range.start == 0 else []
    for renderer in figure.renderers:
        if renderer.y_range_name == SHARE:
            continue
        glyph, columns = renderer.glyph, sources[renderer.data_source.name]
        for name in ("y", "y0", "y1", "top", "bottom"):
            if name in glyph.properties():
                values = _values(columns, getattr(glyph, name))
                values = values[np.isfinite(values)]
                found += [float(values.min()), float(values.max())] if len(values) else []
    low, high = (min(found), max(found)) if found else (0.0, 0.0)
    if high <= low:
        high = low + EMPTY_SPAN
    room = (high - low) * figure.y_range.range_padding / 2
    return (low if figure.y_range.start == 0 else low - room), high + room


def _plain(spec: Any) -> Any:
    """Return the value of a property that is the same for all rows."""
    return spec.value if hasattr(spec, "value") else spec


def _values(columns: Columns, spec: Any) -> Floats:
    """Return the values of a property: a column, or one value for all rows."""
    if isinstance(spec, str):
        return np.asarray(columns[spec], dtype=np.float64)
    rows = len(next(iter(columns.values()))) if columns else 0
    return np.full(rows, float(_plain(spec)))


@lru_cache(maxsize=4)
def _hatch(width: int, height: int) -> Image.Image:
    """Return slanted lines, one px wide in the true size, as a mask."""
    step = HATCH * SCALE
    x, y = np.arange(width)[None, :], np.arange(height)[:, None]
    return Image.fromarray((((x + y) % step) < SCALE).astype(np.uint8) * 255).convert("1")
