"""How a chart's figure is made: one look, one time axis, one cursor, and the few kinds of glyph that charts use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bokeh.models import (
    AdaptiveTicker,
    BasicTickFormatter,
    BoxZoomTool,
    ColumnDataSource,
    CrosshairTool,
    DataRange1d,
    DatetimeAxis,
    DatetimeTickFormatter,
    LabelSet,
    LinearAxis,
    PanTool,
    Plot,
    Range1d,
    Span,
    VSpan,
    WheelZoomTool,
)
from bokeh.models.glyphs import Quad, Scatter, Segment, Text
from bokeh.models.grids import Grid

from jupyter_streamwatch.charts import theme

if TYPE_CHECKING:
    from jupyter_streamwatch.charts.plan import Plan, Series

LINE_WIDTH = 1.75
UNDER_WIDTH = 3.5  # a line that another one may cover exactly is wider: both stay visible
EMPTY_SPAN = 4.0  # the y range when all values are zero
NEEDLE_WIDTH = 1.5  # px that a bar is wide at least, at any zoom
TICK_DIGITS = (1, 2, 5)
SHARE = "share"  # a second y range from 0 to 1, without an axis: what stands in the frame whatever the values are


@dataclass(frozen=True)
class Shared:
    """What all figures of one document have in common."""

    batches: ColumnDataSource
    marks: ColumnDataSource
    x_range: DataRange1d
    crosshair: Span


def shared() -> Shared:
    """Make the sources (empty, named ``batches`` and ``marks``), the time range and the cursor of a document."""
    return Shared(
        batches=ColumnDataSource(name="batches"),
        marks=ColumnDataSource(name="marks"),
        x_range=DataRange1d(range_padding=0.01, default_span=60_000, name="time"),
        crosshair=Span(dimension="height", level="overlay", line_color=theme.QUIET, line_width=1, name="cursor"),
    )


def figure(plan: Plan, common: Shared, *, axis: bool, words: bool) -> Plot:
    """Make the empty figure of a chart: transparent, with light horizontal lines.

    Args:
        plan: What the chart shows.
        common: What it shares with the others.
        axis: Whether the time axis is shown.
        words: Whether the marks have their words; the lines alone are on every chart.
    """
    bottom = theme.BOTTOM + (theme.AXIS_HEIGHT if axis else 0)
    frame = theme.FRAME_HEIGHT + (theme.WORDS_HEIGHT if words else 0)
    padding = theme.PADDING + (2 * theme.WORDS_HEIGHT / frame if words else 0.0)
    y_range = DataRange1d(range_padding=padding, default_span=EMPTY_SPAN)
    if not plan.negative:
        y_range.start = 0
    made = Plot(
        name=plan.name,
        x_range=common.x_range,
        y_range=y_range,
        extra_y_ranges={SHARE: Range1d(0, 1)},
        height=frame + theme.TOP + bottom,
        sizing_mode="stretch_width",
        toolbar_location=None,
        title=None,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border_left=theme.LEFT,
        min_border_right=theme.RIGHT,
        min_border_top=theme.TOP,
        min_border_bottom=bottom,
        html_attributes={"role": "img", "aria-label": f"{plan.title}: {plan.question}"},
    )
    made.toolbar.logo = None
    made.add_glyph(common.batches, Scatter(x="room", y=0.5, size=0), y_range_name=SHARE)
    _axes(made, plan, axis=axis)
    _tools(made, common)
    _marks(made, common, words=words)
    return made


def _axes(made: Plot, plan: Plan, *, axis: bool) -> None:
    font = f"{theme.FONT_SIZE}px"
    quiet: dict[str, Any] = {
        # A page's colours for guides replace ours, so that what must not show is also transparent.
        "axis_line_alpha": 0,
        "major_tick_line_alpha": 0,
        "minor_tick_line_alpha": 0,
        "major_label_text_font_size": font,
    }
    x = DatetimeAxis(visible=axis, formatter=_clock(), major_label_standoff=4, **quiet)
    x.ticker.desired_num_ticks = 6
    x.ticker.num_minor_ticks = 0
    made.add_layout(x, "below")
    y = LinearAxis(
        ticker=AdaptiveTicker(
            mantissas=list(TICK_DIGITS),
            desired_num_ticks=4,
            num_minor_ticks=0,
            min_interval=1 if plan.unit == "rows" else 0,  # there is no half a row
        ),
        formatter=BasicTickFormatter(use_scientific=False),
        major_label_standoff=6,
        **quiet,
    )
    if plan.divisor == 1 and "rows" in plan.unit:
        y.major_label_overrides = COUNTS
    made.add_layout(y, "left")
    made.add_layout(Grid(dimension=1, axis=y, grid_line_width=1), "center")


def _clock() -> DatetimeTickFormatter:
    """Write times as short as they can be told apart; the day stands where it begins."""
    day, clock, exact = "%b %d", "%H:%M", "%H:%M:%S"
    return DatetimeTickFormatter(
        milliseconds="%H:%M:%S.%3N",
        seconds=exact,
        minsec=exact,
        minutes=clock,
        hourmin=clock,
        hours=clock,
        days=day,
        months="%b %Y",
        years="%Y",
        boundary_scaling=False,
    )


def _tools(made: Plot, common: Shared) -> None:
    """Drag selects a stretch of time; the wheel zooms only with Ctrl, because a page must stay scrollable."""
    zoom = BoxZoomTool(dimensions="width")
    zoom.overlay.update(fill_color=theme.QUIET, fill_alpha=0.2, line_color=theme.QUIET, line_dash="solid", line_width=1)
    wheel = WheelZoomTool(dimensions="width", modifiers={"ctrl": True})
    made.add_tools(zoom, wheel, PanTool(dimensions="width"), CrosshairTool(overlay=common.crosshair))
    made.toolbar.active_drag = zoom
    made.toolbar.active_scroll = wheel


def _marks(made: Plot, common: Shared, *, words: bool) -> None:
    """Draw runs, failures and gaps as vertical lines, if wanted with a word at the top."""
    lines = VSpan(x="x", line_color="color", line_width=1, line_dash="dashed")
    made.add_glyph(common.marks, lines, level="underlay")
    if not words:
        return
    labels = LabelSet(
        source=common.marks,
        x="x",
        y=theme.FRAME_HEIGHT + theme.WORDS_HEIGHT,
        y_units="screen",
        text="label",
        x_offset="offset",
        text_align="align",
        text_baseline="top",
        text_color="color",
        text_font_size=f"{theme.FONT_SIZE}px",
    )
    made.add_layout(labels)


def line(made: Plot, common: Shared, series: Series, *, width: float = LINE_WIDTH, dash: str = "solid") -> None:
    """Draw a line from the columns that ``rows.joined`` makes; a line's first batch has a dot."""
    name = series.column
    piece = Segment(
        x0=f"{name}.x0",
        y0=f"{name}.y0",
        x1="time",
        y1=f"{name}.y",
        line_color=series.color,
        line_width=width,
        line_dash=dash,
        line_cap="round",
    )
    made.add_glyph(common.batches, piece)
    dot = Scatter(x="time", y=f"{name}.dot", size=width + 2.5, fill_color=series.color, line_color=None)
    made.add_glyph(common.batches, dot)


def band(made: Plot, common: Shared, series: Series) -> None:
    """Draw the range between minimum and maximum of thinned batches behind a line."""
    name = series.column
    box = Quad(left="left", right="right", bottom=f"{name}.low", top=f"{name}.high", line_color=None)
    box.fill_color, box.fill_alpha = series.color, 0.25
    made.add_glyph(common.batches, box, level="underlay")


def bars(made: Plot, common: Shared, bottom: str | int, top: str, color: str, *, hatched: bool = False) -> None:
    """Draw a bar for each row over its time, and a needle in it that stays visible when the bar is too narrow."""
    needle = Segment(x0="middle", x1="middle", y0=bottom, y1=top, line_color=color, line_width=NEEDLE_WIDTH)
    needle.line_alpha = 0.3 if hatched else 1.0
    made.add_glyph(common.batches, needle)
    # The thin edge closes the seams that smoothing leaves between bars without a space.
    box = Quad(left="left", right="right", bottom=bottom, top=top, fill_color=color, line_color=color, line_width=0.5)
    if hatched:
        box.update(fill_alpha=0.18, line_color=None)
        box.update(hatch_pattern="/", hatch_color=color, hatch_scale=6, hatch_weight=1, hatch_alpha=0.9)
    made.add_glyph(common.batches, box)


def limit(made: Plot, common: Shared, plan: Plan) -> None:
    """Draw the plan's limit as a dashed horizontal line, and keep it within the y range."""
    if plan.limit is None:
        return
    y = plan.limit / plan.divisor
    for color, dash in ((theme.LIMIT_LIGHT, "solid"), (theme.LIMIT_DARK, "dashed")):
        made.add_layout(Span(dimension="width", location=y, line_color=color, line_dash=dash, line_width=1.5))
    made.add_glyph(common.batches, Scatter(x="time", y={"value": y}, size=0, fill_alpha=0, line_alpha=0))


def words(made: Plot, common: Shared, where: str, text: str) -> None:
    """Write the column ``text`` to the right of the bars, at the heights in the column ``where``."""
    glyph = Text(x="right", y=where, text=text, x_offset=5, text_color=theme.MARK)
    glyph.update(text_font_size=f"{theme.FONT_SIZE}px", text_baseline="top", text_align="left")
    made.add_glyph(common.batches, glyph)


def triangles(made: Plot, common: Shared, where: str, color: str) -> None:
    """Draw small triangles on the axis where the column is ``plan.FOOT``: something happened in these batches."""
    shape = Scatter(x="middle", y=where, marker="triangle", size=8, fill_color=color, line_color=None)
    made.add_glyph(common.batches, shape, y_range_name=SHARE)


def rings(made: Plot, common: Shared, where: str, color: str) -> None:
    """Draw small hollow circles that stand on the axis where the column is ``plan.FOOT``."""
    shape = Scatter(x="middle", y=where, size=6, fill_alpha=0, line_color=color, line_width=1.25)
    made.add_glyph(common.batches, shape, y_range_name=SHARE)


def _counts() -> dict[float, str]:
    """Return the words of all ticks from a thousand on: ``12k``, ``1.5M``; no formatter writes them without eval."""
    words: dict[float, str] = {}
    for exponent in range(2, 18):
        for digit in TICK_DIGITS:
            for times in range(1, 13):
                value = digit * times * 10**exponent
                if value >= 1000:
                    power = min((len(str(value)) - 1) // 3, 5)
                    words[value] = f"{value / 1000**power:.6g}{' kMGTP'[power]}"
    return words


COUNTS = _counts()
