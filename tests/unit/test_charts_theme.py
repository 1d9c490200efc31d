"""Colours: seen on white and on dark, and told apart where they touch, with every kind of colour vision."""

from __future__ import annotations

import numpy as np
import pytest

from jupyter_streamwatch import testing
from jupyter_streamwatch.charts import build, theme

# Machado, Oliveira, Fernandes (2009): how colours look without one kind of cone, for linear RGB.
VISIONS = {
    "all": np.eye(3),
    "protan": np.reshape(
        [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998], (3, 3)
    ),
    "deutan": np.reshape(
        [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881], (3, 3)
    ),
    "tritan": np.reshape(
        [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900], (3, 3)
    ),
}
COLOURS = sorted({*theme.STACK, *theme.LINES, theme.ALARM, theme.QUIET, theme.MARK})


def lab(rgb: str, vision: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a colour as this vision has it."""
    c = np.array([int(rgb[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.clip(vision @ np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    f = np.cbrt(to_xyz @ linear / [0.9505, 1, 1.089] + 1e-6)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: str, other: str, vision: str) -> float:
    """CIE 1976 distance of two colours; about 2 is just noticeable side by side."""
    return float(np.linalg.norm(lab(one, VISIONS[vision]) - lab(other, VISIONS[vision])))


@pytest.mark.parametrize("color", COLOURS)
@pytest.mark.parametrize("surface", [theme.LIGHT_SURFACE, theme.DARK_SURFACE])
def test_contrast_on_both_surfaces(color: str, surface: str) -> None:
    """Every colour has at least 3:1 on white and on dark."""
    assert theme.contrast(color, surface) >= 3.0


def test_limit_is_seen_on_everything() -> None:
    """Of the two colours of a limit's line one is seen on each surface."""
    for surface in (theme.LIGHT_SURFACE, theme.DARK_SURFACE):
        assert max(theme.contrast(theme.LIMIT_DARK, surface), theme.contrast(theme.LIMIT_LIGHT, surface)) >= 7.0
    assert theme.contrast(theme.LIMIT_DARK, theme.LIMIT_LIGHT) >= 7.0


@pytest.mark.parametrize("vision", VISIONS)
def test_neighbours_in_the_stack_differ(vision: str) -> None:
    """Parts that touch in a bar are told apart with every kind of colour vision."""
    for below, above in zip(theme.STACK, theme.STACK[1:], strict=False):
        assert difference(below, above, vision) >= 20


@pytest.mark.parametrize("vision", VISIONS)
def test_overlaid_lines_differ(vision: str) -> None:
    """The two rates, and watermark and newest event, are told apart with every kind of colour vision."""
    assert difference(theme.INPUT, theme.PROCESSED, vision) >= 40
    assert difference(theme.PROCESSED, theme.PLANNING, vision) >= 15


def test_figures_use_the_palette_alone() -> None:
    """No chart brings a colour of its own; surfaces are left to the page."""
    allowed = {*COLOURS, theme.LIMIT_DARK, theme.LIMIT_LIGHT}
    for chart in build(testing.history(batches=3, stateful=True, backlog=5, trigger=2)).charts:
        assert {series.color for series in chart.series} <= {*allowed, theme.NONE}
        assert chart.figure.background_fill_color is None
        assert chart.figure.border_fill_color is None
