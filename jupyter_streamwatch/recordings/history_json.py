"""A history, and the facts of its latest run, as plain data for a line of a recording, and back."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.batches import BASE, Bins
from jupyter_streamwatch.model.facts import Facts, Mode
from jupyter_streamwatch.model.fitting import fitting
from jupyter_streamwatch.model.history import History, HistoryView
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.query_shape import Shape
from jupyter_streamwatch.model.runs import Followed, Run
from jupyter_streamwatch.model.trigger import Kind, Origin, Trigger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_BIN_ARRAYS = ("total", "known", "low", "high")


def dump(live: HistoryView) -> dict[str, Any]:
    """Runs, gaps and columns of a history as plain data."""
    history = live.snapshot()
    stated = history.trigger
    rows, bins, places = history.batches.parts()
    return {
        "id": history.id,
        "name": history.name,
        "seen": history.seen,
        "trigger": stated if stated is not None and stated.origin == "stated" else None,
        "idleSince": history.idleSince,
        "last": history.last,
        "record": history.record,
        "runs": [
            {**asdict(run), "gaps": [list(gap) for gap in gaps]}
            for run, gaps in zip(history.runs, history.parts.run_gaps, strict=True)
        ],
        "rows": {name: _list(column) for name, column in rows.items() if not name or not np.isnan(column).all()},
        "bins": {
            "size": bins.size,
            "count": bins.count.tolist(),
            "columns": {
                name: [_list(getattr(bins, array)[:, at]) for array in _BIN_ARRAYS]
                for name, at in places.items()
                if at < bins.total.shape[1] and bins.known[:, at].any()
            },
        },
    }


def restore(data: Mapping[str, Any]) -> History:
    """The history that ``dump`` saved. What an older or newer recording lacks has its default."""
    history = History(v.text(str(data["id"]), v.NAME) or "", v.text(data.get("name"), v.NAME))
    runs = [(_run(run), [(gap[0], gap[1]) for gap in run.get("gaps") or ()]) for run in v.mappings(data.get("runs"))]
    rows = {name: _column(column) for name, column in v.items(data.get("rows")) if isinstance(column, list)}
    if runs and rows:
        rows[""] = np.clip(np.nan_to_num(rows[""]), 0, len(runs) - 1)
        history.restore(runs, rows, _bins(data.get("bins") or {}, rows), v.count(data.get("seen")) or 0)
    last, record = (None if not data.get(name) else parse(data[name]) for name in ("last", "record"))
    history.recall(last, record, v.number(data.get("idleSince")))
    history.state_trigger(trigger(data.get("trigger")))
    return history


def facts(data: Any) -> Facts:
    """Facts from what ``dataclasses.asdict`` made of them; what is unknown or does not fit is left out."""
    if isinstance(data, Facts):
        return data
    given = fitting(Facts, data)
    given["shape"] = Shape.from_dict(given.get("shape"))
    if given.get("mode") not in get_args(Mode):
        given["mode"] = None
    if given.get("trigger") is not None:
        given["trigger"] = trigger(given["trigger"])
    return Facts(**given)


def trigger(data: Any) -> Trigger | None:
    """A trigger from what ``dataclasses.asdict`` made of it; None when it is none."""
    if isinstance(data, Trigger):
        return data
    given = fitting(Trigger, data)
    known = given.get("kind") in get_args(Kind) and given.get("origin", "stated") in get_args(Origin)
    return Trigger(**given) if known else None


def _run(data: Mapping[str, Any]) -> Run:
    given = fitting(Run, data)
    if given.get("restartedBy") not in get_args(Followed):
        given["restartedBy"] = None
    return Run(**{"runId": "", **given})


def _bins(data: Mapping[str, Any], rows: dict[str, NDArray[np.float64]]) -> Bins:
    """The bins; columns that only they have are added to the ``rows``, so that both number them alike."""
    count = np.array(data.get("count") or [], dtype=np.int64)
    saved = dict(v.items(data.get("columns")))
    for name in saved:
        rows.setdefault(name, np.full(len(rows[""]), np.nan))
    places = {name: at for at, name in enumerate(dict.fromkeys([*BASE, *rows]))}
    arrays = [np.full((len(count), len(places)), fill) for fill in (0.0, 0.0, np.nan, np.nan)]
    for name, columns in saved.items():
        for array, column in zip(arrays, columns, strict=True):
            array[:, places[name]] = _column(column)
    return Bins(int(data.get("size") or 1), count, *arrays)


def _list(column: NDArray[np.float64]) -> list[float | None]:
    return [None if not isfinite(value) else int(value) if value.is_integer() else value for value in column.tolist()]


def _column(values: list[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], dtype=float)
