"""Charts of a history as Bokeh figures in one document, and that document for a page."""

from __future__ import annotations

import hashlib
import threading
import warnings
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bokeh.document import Document
from bokeh.embed.util import standalone_docs_json_and_render_items

from jupyter_streamwatch.charts import catalogue, layout, marks
from jupyter_streamwatch.charts.columns import column_names, is_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bokeh.models import Plot

    from jupyter_streamwatch.charts.plan import Plan, Series
    from jupyter_streamwatch.model.history import HistoryView


_embedding = threading.Lock()  # Bokeh marks a document while it writes it
WORDY = 2  # charts whose marks have words: the first row of a page, which is two charts wide at most


@dataclass(frozen=True)
class Chart:
    """One figure and the words around it."""

    name: str
    title: str
    unit: str
    question: str
    figure: Plot
    series: tuple[Series, ...]


@dataclass(frozen=True)
class ChartSet:
    """All charts of a history: ``key`` is equal as long as the same figures can show its rows."""

    key: str
    charts: tuple[Chart, ...]
    document: Document
    time_columns: dict[str, list[str]]


def key(history: HistoryView) -> str:
    """Return the identity of the charts' structure: charts, series, units and limits; cheap."""
    history = history.snapshot()
    return _key(catalogue.plans(history), history.inserted)


def _key(plans: Sequence[Plan], inserted: int) -> str:
    # A batch that came out of order moved the rows of a page: they must be sent anew, too.
    return hashlib.sha256(f"{inserted} {plans}".encode()).hexdigest()[:16]


def build(history: HistoryView) -> ChartSet:
    """Make the figures of a history; they hold no rows (see ``data``), only which columns they draw.

    Making Bokeh's models takes far longer than anything else here, so figures of the same structure are shared:
    they are there to be read and embedded, not to be changed.
    """
    history = history.snapshot()
    plans = catalogue.plans(history)
    made = _made(plans, history.batches.names)
    return ChartSet(_key(plans, history.inserted), made.charts, made.document, made.time_columns)


@lru_cache(maxsize=16)
def _made(plans: tuple[Plan, ...], names: tuple[str, ...]) -> ChartSet:
    common = layout.shared()
    common.batches.data = {name: [] for name in column_names(plans, names)}
    common.marks.data = {name: [] for name in marks.COLUMNS}
    charts = []
    for number, plan in enumerate(plans):
        made = layout.figure(plan, common, axis=number == len(plans) - 1, words=number < WORDY)
        catalogue.draw(made, common, plan)
        charts.append(Chart(plan.name, plan.title, plan.unit, plan.question, made, plan.series))
    document = Document()
    with document.models.freeze():  # else every figure is searched anew for each
        for chart in charts:
            document.add_root(chart.figure)
    times = [name for name in common.batches.data if is_time(name)]
    return ChartSet("", tuple(charts), document, {"batches": times, "marks": ["x"]})


def embed(charts: ChartSet) -> dict[str, Any]:
    """Return what a page needs to draw the figures: one document with a root a chart; ready for JSON.

    The document's sources are named ``batches`` and ``marks`` (``document.get_model_by_name``) and are empty: set
    their ``data`` to all columns of ``data(history)``, None as NaN (BokehJS takes null for 0) and the columns of
    ``timeColumns`` (epoch ms, UTC) moved to the reader's zone. Only the last figure shows the time axis: on another
    one set ``below[0].visible``, and ``height`` and ``min_border_bottom`` by ``theme.AXIS_HEIGHT`` more.
    """
    docid, document = _json(charts.document) if charts.charts else ("", None)
    return {
        "key": charts.key,
        "docs_json": {docid: document} if charts.charts else {},
        "docid": docid,
        "roots": [
            {
                "name": chart.name,
                "title": chart.title,
                "unit": chart.unit,
                "question": chart.question,
                "root_id": chart.figure.id,
                "height": chart.figure.height,
                "series": [asdict(series) for series in chart.series],
            }
            for chart in charts.charts
        ],
        "timeColumns": charts.time_columns,
    }


@lru_cache(maxsize=16)
def _json(document: Document) -> tuple[str, Any]:
    with _embedding, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Bokeh's warnings on sources without rows are for people who draw by hand
        docs, _ = standalone_docs_json_and_render_items(list(document.roots))
    ((docid, made),) = docs.items()
    return docid, made
