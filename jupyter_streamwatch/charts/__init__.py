"""Charts of a history: defined once, drawn by Bokeh in pages and by a small writer as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.charts.columns import MAX_ROWS, data, rows_after

if TYPE_CHECKING:
    from jupyter_streamwatch.charts.document import Chart, ChartSet, build, embed, key

__all__ = ["MAX_ROWS", "Chart", "ChartSet", "build", "data", "embed", "key", "rows_after"]


def __getattr__(name: str) -> Any:
    """Import Bokeh when figures are made, not before: numbers alone do not need it."""
    if name in ("Chart", "ChartSet", "build", "embed", "key"):
        from jupyter_streamwatch.charts import document as module

        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
