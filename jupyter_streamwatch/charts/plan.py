"""What a chart of one history will look like, before anything is drawn: hashable, cheap, equal for equal structure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.text.numbers import clean, middle
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jupyter_streamwatch.model.batches import Batches
    from jupyter_streamwatch.model.history import HistoryView

    Floats = NDArray[np.float64]

# (largest raw value that still reads well, how many raw units make one, name)
TIME_UNITS = (
    (1_500, 1, "ms"),
    (180_000, 1000, "s"),
    (3 * 3_600_000, 60_000, "min"),
    (3 * 86_400_000, 3_600_000, "h"),
    (math.inf, 86_400_000, "d"),
)
SIZE_UNITS = tuple((2 * 1024.0 ** (i + 1), 1024**i, f"{letter}B") for i, letter in enumerate(("", "Ki", "Mi", "Gi")))
SIZE_UNITS = (*SIZE_UNITS[:-1], (math.inf, 1024**3, "GiB"))


LONGEST_LABEL = 28  # characters of a name in a legend
FOOT = 0.035  # share of the frame at which a small mark stands on the axis, whole


@dataclass(frozen=True)
class Series:
    """One thing that a chart shows: a word, the column that holds its raw value, its colour and form.

    ``format`` names the function of ``jupyter_streamwatch.text.numbers`` that writes the value; ``shape`` is how it is
    drawn: ``square`` (bars), ``line``, ``hatch``, ``hollow`` or ``triangle`` (marks), ``dash`` (a limit), ``none``.
    """

    label: str
    column: str
    color: str
    format: str
    shape: str = "line"


@dataclass(frozen=True)
class Plan:
    """The structure of one chart: equal plans draw the same figure over the same columns.

    ``unit`` is the unit of the y axis, ``divisor`` how many raw units (rows, ms, bytes) make one of it. ``lines``
    are those raw columns that are drawn as lines, ``bins`` tells whether thinned batches need their min-max bands,
    ``limit`` is the y of a horizontal line and ``cut`` where larger bars are cut, both in raw units, ``extras`` what
    only this chart's module understands.
    """

    name: str
    title: str
    unit: str
    question: str
    series: tuple[Series, ...]
    divisor: float = 1.0
    lines: tuple[Series, ...] = ()
    bins: bool = False
    limit: float | None = None
    cut: float | None = None
    negative: bool = False
    extras: tuple[object, ...] = ()


def label(text: str) -> str:
    """Return a name from outside as a short word of a legend, on one line, without secrets."""
    return middle(clean(redact(text)), LONGEST_LABEL)  # before it is cut: half a secret must not stay


def known(values: Floats) -> bool:
    """Tell whether a column holds any number at all."""
    return bool(np.isfinite(values).any())


def largest(*columns: Floats) -> float:
    """Return the largest known number of some columns, 0.0 without any."""
    tops = [float(np.fmax.reduce(column)) for column in columns if len(column)]
    return max((top for top in tops if math.isfinite(top)), default=0.0)


def unit(raw: float, units: tuple[tuple[float, float, str], ...]) -> tuple[float, str]:
    """Return (divisor, name) of the unit in which the raw value reads well."""
    _, divisor, name = next(row for row in units if raw < row[0])
    return float(divisor), name


def thinned(batches: Batches) -> bool:
    """Tell whether old batches are shown as bins."""
    return bool(len(batches.count) and batches.count[0] > 1)


def indexed(history: HistoryView, group: str, field: str) -> list[tuple[int, str]]:
    """Return (i, column) of the per-source or per-operator columns ``group[i].field`` that hold a number."""
    names = [(i, f"{group}[{i}].{field}") for i in range(20)]
    there = set(history.batches.names)
    return [(i, name) for i, name in names if name in there and known(history.batches.numbers(name))]
