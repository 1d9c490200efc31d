"""Events of a streaming query as Spark's listener bus writes them, of Spark 2.0 to 4.3."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Final

PREFIX: Final = "StreamingQueryListener$Query"

Found = tuple[str, dict[str, Any]]


def listener_event(value: dict[str, Any]) -> list[Found] | None:
    """Read one event.

    Returns:
        None when this is no event of a streaming query, else what it holds: ``("progress", record)`` or
        ``("started" | "idle" | "terminated", event)`` with the keys that a recording has.
    """
    event = value.get("Event")
    if not isinstance(event, str) or "StreamingQueryListener" not in event:
        return None
    status = value.get("queryStatus")
    if event.endswith("QueryProgressEvent"):
        if isinstance(status, dict):
            return [("progress", _of_status(status))]
        record = value.get("progress")
        return [("progress", record)] if isinstance(record, dict) else []
    source = status if isinstance(status, dict) else value
    life = _life(event, value, source)
    return [] if source.get("id") is None or life is None else [life]


def _life(event: str, value: dict[str, Any], source: dict[str, Any]) -> Found | None:
    kind = {"QueryStartedEvent": "started", "QueryIdleEvent": "idle", "QueryTerminatedEvent": "terminated"}.get(
        event.rpartition("$")[2]
    )
    if kind is None:
        return None
    known = {
        "event": kind,
        "id": _text(source.get("id")),
        "runId": _text(source.get("runId")),
        "at": _at(source.get("timestamp")),
    }
    if kind == "started":
        known["name"] = source.get("name")
    elif kind == "terminated":
        known |= {"exception": value.get("exception"), "errorClass": value.get("errorClassOnException")}
    return kind, known


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _at(value: Any) -> Any:
    """A time as ISO text; Spark 2.0 wrote epoch milliseconds."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        moment = datetime.fromtimestamp(value / 1000, tz=timezone.utc)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


# Spark 2.0.0 to 2.0.2 told times by these names; the right side is what later versions call the same part.
_STATUS_DURATIONS: Final = {
    "latency.fullTrigger": "triggerExecution",
    "latency.getBatch.total": "getBatch",
    "latency.getOffset.total": "getOffset",
    "latency.offsetLogWrite": "walCommit",
    "latency.optimizer": "queryPlanning",
}


def _of_status(status: dict[str, Any]) -> dict[str, Any]:
    """The progress record that a ``StreamingQueryStatus`` of Spark 2.0 amounts to."""
    details = _details(status)
    sources = [each for each in status.get("sourceStatuses") or () if isinstance(each, dict)]
    sink = status.get("sinkStatus")
    return {
        "id": _text(status.get("id")),
        "runId": _text(status.get("runId")),
        "name": status.get("name"),
        "timestamp": details.get("timestamp.triggerStart", status.get("timestamp")),
        "numInputRows": details.get("numRows.input.total"),
        "inputRowsPerSecond": status.get("inputRate"),
        "processedRowsPerSecond": status.get("processingRate"),
        "durationMs": {new: details[old] for old, new in _STATUS_DURATIONS.items() if old in details},
        "sources": [
            {
                "description": each.get("description"),
                "endOffset": each.get("offsetDesc"),
                "numInputRows": _details(each).get("numRows.input.source"),
                "inputRowsPerSecond": each.get("inputRate"),
                "processedRowsPerSecond": each.get("processingRate"),
            }
            for each in sources
        ],
        "sink": {"description": sink.get("description")} if isinstance(sink, dict) else None,
    }


def _details(status: dict[str, Any]) -> dict[str, Any]:
    details = status.get("triggerDetails")
    if not isinstance(details, dict):
        return {}
    return {name: int(text) if isinstance(text, str) and text.isdigit() else text for name, text in details.items()}
