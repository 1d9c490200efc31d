"""The report as JSON: for programs. Unknown is null; times are ISO text in UTC, as Spark writes them.

``{"streamwatchReport": 1, "taken", "session", "environment", "problems", "queries": {id: {"name", "verdict", "label",
"level", "reason", "hints", "capacity", "facts", "checkpoint", "runs", "details", "batchesSeen", "batches": {column:
[value]}}}}``
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from jupyter_streamwatch.text.numbers import iso
from jupyter_streamwatch.text.plain import plain

if TYPE_CHECKING:
    from jupyter_streamwatch.model.history import HistoryView, Run
    from jupyter_streamwatch.report.content import Content, Query

SCHEMA = 1


def write(content: Content) -> str:
    """Write the content as JSON text."""
    data = {
        "streamwatchReport": SCHEMA,
        "taken": iso(content.taken),
        "session": content.session or None,
        "environment": content.environment,
        "problems": list(content.problems),
        "queries": {query.history.id: _query(query) for query in content.queries},
    }
    return json.dumps(_plain(data), ensure_ascii=False, allow_nan=False) + "\n"


def _query(query: Query) -> dict[str, Any]:
    history, line = query.history, query.line
    return {
        "id": history.id,
        "name": None if history.name is None else plain(history.name),
        **query.diagnosis,
        "facts": _facts(history),
        "checkpoint": None if history.checkpoint is None else plain(asdict(history.checkpoint)),
        "runs": [_run(run) for run in history.runs],
        "details": line["details"],
        "overview": {key: line[key] for key in ("rates", "batch", "watermark", "backlog", "note")},
        "batchesSeen": history.seen,
        "batches": {name: _column(history, name) for name in history.batches.names},
    }


def _facts(history: HistoryView) -> dict[str, Any]:
    shape = history.facts.shape
    known: dict[str, Any] = plain({**_attributes(history.facts), "shape": None if shape is None else shape.to_dict()})
    known["trigger"] = None if history.trigger is None else _attributes(history.trigger)
    return known


def _run(run: Run) -> dict[str, Any]:
    known: dict[str, Any] = plain(_attributes(run))
    for key in ("started", "ended"):
        known[key] = None if known[key] is None else iso(known[key])
    return {**known, "state": run.state}


def _attributes(record: Any) -> dict[str, Any]:
    return {one.name: getattr(record, one.name) for one in fields(record)}


def _column(history: HistoryView, name: str) -> list[Any]:
    values: list[Any] = plain(history.batches[name].tolist())
    return values


def _plain(value: Any) -> Any:
    """Make anything JSON: what is not finite is null, a time its ISO text, a numpy number a number."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, datetime):
        return iso(value.timestamp() * 1000)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)
