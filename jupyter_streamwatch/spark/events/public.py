"""PySpark's own listener: all there is on Connect, and the fallback of classic sessions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.events import IDLE, PROGRESS, STARTED, TERMINATED
from jupyter_streamwatch.spark.events.base import Arrival, now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def listener_of(put: Callable[[Arrival], None]) -> Any:
    """A ``pyspark.sql.streaming.StreamingQueryListener`` that hands every event to ``put``."""
    from pyspark.sql.streaming import StreamingQueryListener

    class Listener(StreamingQueryListener):  # type: ignore[misc]
        def onQueryStarted(self, event: Any) -> None:
            put(Arrival(STARTED, event, now()))

        def onQueryProgress(self, event: Any) -> None:
            put(Arrival(PROGRESS, event, now()))

        def onQueryIdle(self, event: Any) -> None:
            put(Arrival(IDLE, event, now()))

        def onQueryTerminated(self, event: Any) -> None:
            put(Arrival(TERMINATED, event, now()))

    return Listener()


def read_public(arrival: Arrival) -> Mapping[str, Any]:
    """An arrival of PySpark's event objects as plain data."""
    event, kind = arrival.payload, arrival.kind
    if kind == PROGRESS:
        return {"event": PROGRESS, "at": arrival.at, "progress": event.progress.json}
    line = {"event": kind, "id": str(event.id), "runId": str(event.runId), "at": arrival.at}
    if kind == STARTED:
        line |= {"name": event.name, "timestamp": event.timestamp}
    elif kind == IDLE:
        line["timestamp"] = event.timestamp
    else:
        line |= {"exception": event.exception, "errorClass": getattr(event, "errorClassOnException", None)}
    return line


def text_of(progress: Any) -> str:
    """A PySpark progress as JSON text: PySpark 4 has it, older ones and older Connect give a dict."""
    text = getattr(progress, "json", None)
    return text if isinstance(text, str) else json.dumps(progress, default=str)


def recent_public(query: Any, after: int = -1) -> list[str]:
    """What a query still remembers of its batches after that one, as JSON texts, oldest first."""
    return [text_of(progress) for progress in query.recentProgress if progress["batchId"] > after]


def failure_of(query: Any) -> tuple[str | None, str | None]:
    """The full text and the error class of a query that failed, (None, None) when it did not."""
    error = query.exception()
    if error is None:
        return None, None
    for name in ("getCondition", "getErrorClass"):  # PySpark 4, PySpark 3.5
        method = getattr(error, name, None)
        if callable(method):
            found = method()
            return str(error), None if found is None else str(found)
    return str(error), None
