"""A history, and the facts of its latest run, as plain data for a line of a recording, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.batches import BASE, Bins
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.history import History, HistoryView
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.query_shape import Shape
from jupyter_streamwatch.model.runs import Run
from jupyter_streamwatch.model.trigger import Kind, Origin, Trigger

if TYPE_CHECKING:
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
    if data.get("trigger") is not None:
        history.state_trigger(trigger(data["trigger"]))
    return history


def facts(data: Any) -> Facts:
    """Facts from what ``dataclasses.asdict`` made of them; keys that are unknown, and values of odd types, are ignored.

    A recording comes from anywhere: what is not of its kind is unknown.
    """
    if isinstance(data, Facts):
        return data
    given: dict[str, Any] = {}
    for key, value in v.items(data):
        if value is not None and key in _FACTS and (known := _FACTS[key](_tuples(value))) is not None:
            given[key] = known
    return Facts(**given)


def _mode(x: Any) -> str | None:
    return x if x in ("classic", "connect") else None


def _text(x: Any) -> str | None:
    return v.text(x) if isinstance(x, str) else None


def _flag(x: Any) -> bool | None:
    return x if isinstance(x, bool) else None


def _texts(x: Any) -> tuple[str, ...] | None:
    texts = tuple(map(_text, x)) if isinstance(x, tuple) else (None,)
    return None if None in texts else tuple(text for text in texts if text is not None)


def _pairs(second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def pairs(x: Any) -> Any:
        if not isinstance(x, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in x):
            return None
        found = tuple((_text(name), second(value)) for name, value in x)
        return None if any(None in pair for pair in found) else found

    return pairs


def trigger(x: Any) -> Trigger | None:
    """A trigger from what ``dataclasses.asdict`` made of it; None of anything else."""
    if isinstance(x, Trigger):
        return x
    if not isinstance(x, Mapping) or x.get("kind") not in get_args(Kind):
        return None
    origin: Origin = x["origin"] if x.get("origin") in get_args(Origin) else "stated"
    return Trigger(x["kind"], v.rate(x.get("interval_ms")), origin)


def _overruns(x: Any) -> Any:
    if not isinstance(x, tuple) or not all(isinstance(one, tuple) and len(one) == 3 for one in x):
        return None
    found = tuple((v.number(at), v.rate(interval), v.rate(spent)) for at, interval, spent in x)
    return None if any(not interval or spent is None for _, interval, spent in found) else found


def _shape(x: Any) -> Shape | None:
    try:
        return Shape.from_dict(x)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


_FACTS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("sparkVersion", "outputMode", "sink", "sinkKind", "checkpoint"), _text),
    **dict.fromkeys(("temporaryCheckpoint", "pythonUdf", "foreachBatch"), _flag),
    **dict.fromkeys(("shufflePartitions", "sessionPartitions"), v.count),
    **dict.fromkeys(("sources", "stateful"), _texts),
    "mode": _mode,
    "trigger": trigger,
    "watermarks": _pairs(v.rate),
    "rateLimit": _pairs(_text),
    "shape": _shape,
    "overruns": _overruns,
    "why": lambda x: {key: text for key, value in v.items(x) if (text := _text(value)) is not None},
}


def _run(data: Mapping[str, Any]) -> Run:
    followed = data.get("restartedBy")
    return Run(
        runId=v.text(data.get("runId")) or "",
        started=v.number(data.get("started")),
        ended=v.number(data.get("ended")),
        exception=v.text(data.get("exception"), v.ERROR),
        errorClass=v.text(data.get("errorClass")),
        firstBatch=v.count(data.get("firstBatch")),
        lastBatch=v.count(data.get("lastBatch")),
        restartedBy=followed if followed in ("replaced", "restarted") else None,
        over=data.get("over") is True,
    )


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


def _tuples(x: Any) -> Any:
    return tuple(_tuples(part) for part in x) if isinstance(x, (list, tuple)) else x
