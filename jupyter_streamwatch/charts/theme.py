"""The colours and sizes of all charts: one set that reads on white and on dark surfaces alike.

Nothing repaints glyph colours when a page changes its theme, so every colour here has a contrast of at least 3:1
(WCAG 2.2, 1.4.11) on both surfaces. That leaves a narrow band of luminance in which seven colours cannot all differ
for every kind of colour vision; what touches or overlaps on one chart does, and position, order, shape and the
words of the legend tell the rest.
"""

from __future__ import annotations

LIGHT_SURFACE = "#ffffff"
DARK_SURFACE = "#111111"

INPUT = "#D9730D"
PROCESSED = "#3B6FC9"
QUIET = "#8C8C8C"  # what gives scale to the rest
MARK = "#787878"  # vertical marks and their words
NONE = "transparent"  # a number of the legend that is not drawn
ALARM = "#D93A3A"  # failures and dropped rows alone

# A limit crosses bars and empty space on either theme: dark dashes with light between them are seen on all.
LIMIT_DARK, LIMIT_LIGHT = "#454545", "#ededed"

# Parts of a batch from the bottom up: the sink's and operators' own work is calm, Spark's bookkeeping stands out.
ADD_BATCH = "#6C8EBF"
OFFSETS = "#D9730D"
GET_BATCH = "#8A4FB0"
PLANNING = "#0F9D8A"
WAL_COMMIT = "#BF3453"
COMMIT = "#B58A00"
OTHER = "#3A67A8"
UNACCOUNTED = QUIET
STACK = (ADD_BATCH, OFFSETS, GET_BATCH, PLANNING, WAL_COMMIT, COMMIT, OTHER, UNACCOUNTED)

# Lines of one chart in order of appearance; more than these (many sources or operators) start again.
LINES = (PROCESSED, INPUT, PLANNING, GET_BATCH, COMMIT, WAL_COMMIT)

FRAME_HEIGHT = 118  # px of the plotting area of a chart
AXIS_HEIGHT = 22  # px that the time axis adds below it
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 6, 8  # px around the plotting area; LEFT keeps all charts aligned
WORDS_HEIGHT = 14  # px at the top of a plotting area that has the words of marks
PADDING = 0.08  # of the y range that stays empty, half of it above
FONT_SIZE = 11  # px of the words on a chart


def colour(index: int) -> str:
    """Return the colour of line number ``index`` of a chart."""
    return LINES[index % len(LINES)]


def luminance(rgb: str) -> float:
    """Return the relative luminance (0 to 1) of ``#rrggbb`` as WCAG 2.2 defines it."""
    channels = (int(rgb[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast (1 to 21) of two colours as WCAG 2.2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
