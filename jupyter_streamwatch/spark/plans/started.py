"""What a query was started with over Connect: the message of its writer, which the server does not tell later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.spark import fallback
from jupyter_streamwatch.spark.plans import sinks as shape_sinks
from jupyter_streamwatch.spark.writer import OPTION, SETTING
from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

_HIDING = frozenset({"sql", "extension", "unknown", "cached_remote_relation"})
_TRIGGERS = {
    "processing_time_interval": "processingTime",
    "continuous_checkpoint_interval": "continuous",
    "real_time_batch_duration": "realTime",
    "available_now": "availableNow",
    "once": "once",
}


@dataclass(frozen=True)
class Written:
    """What a writer said when it was started.

    Attributes:
        trigger: Its trigger; None where it is of a kind that is not known here.
        outputMode: ``append``, ``update`` or ``complete``.
        sink: The kind of sink; None for a table, of which only the catalog knows.
        sinkPath: Where it writes.
        sinkFormat: The format of files.
        checkpoint: The option ``checkpointLocation``.
        checkpointRoot: Without that option, the folder where the session keeps checkpoints as the query started; ``""``
            where it has none, so that Spark made a temporary one. None where the server did not tell.
        name: The query's name.
        options: Options that change what its checkpoint means, as a shape has them.
        sources: Of each source that the plan reads, in its order: the format of files, and the limits, as a shape has
            them. None where the plan reads a table or a view, or may: their options are not in it.
    """

    trigger: Trigger | None
    outputMode: str
    sink: str | None
    sinkPath: str | None
    sinkFormat: str | None
    checkpoint: str | None
    checkpointRoot: str | None
    name: str | None
    options: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str | None, tuple[tuple[str, str], ...]], ...] | None


def written(writer: Any) -> Written:
    """Read a Connect ``DataStreamWriter`` that has just started a query.

    Asks the server one setting where the writer names no checkpoint: a session's settings may be others a line later.

    Raises:
        Exception: Where this PySpark has other names than expected.
    """
    message = writer._write_proto  # noqa: SLF001 - there is no public way
    options = {name.lower(): str(value) for name, value in message.options.items()}
    checkpoint = options.get(OPTION)
    return Written(
        trigger=trigger(message),
        **of_writer(message),
        checkpoint=redact(names.local_path(checkpoint)) if checkpoint else None,
        checkpointRoot=None if checkpoint else _root(writer),
        name=message.query_name or None,
        sources=_sources(message.input),
    )


def of_writer(message: Any) -> dict[str, Any]:
    """Return mode and sink that a writer's message names, by the attributes of a shape."""
    how = message.WhichOneof("sink_destination")
    if message.HasField("foreach_batch"):
        kind: str | None = "foreachBatch"
    elif message.HasField("foreach_writer"):
        kind = "foreach"
    else:
        kind = shape_sinks.kind(message.format) if message.format else "files" if how != "table_name" else None
    options = dict(message.options) | ({"path": message.path} if how == "path" else {})
    return {
        "sink": kind,
        "sinkPath": shape_sinks.path(kind, options),
        "sinkFormat": shape_sinks.file_format(message.format),
        "outputMode": message.output_mode.lower() or "append",
        "options": shape_sinks.of_writer(options),
    }


def reads(message: Any) -> Iterator[Any]:
    """Find the streams that a plan reads, in its order: messages of type ``Read``."""
    for name, part in _parts(message):
        if name != "read":
            yield from reads(part)
        elif part.is_streaming:
            yield part


def _hiding(message: Any) -> Iterator[str]:
    """Find what may read a stream that the plan does not show: a query as text, or a name, which may be a view's."""
    for name, part in _parts(message):
        if name in _HIDING or (name == "read" and not part.is_streaming and part.HasField("named_table")):
            yield name
        elif name != "read":
            yield from _hiding(part)


def _parts(message: Any) -> Iterator[tuple[str, Any]]:
    for descriptor, value in message.ListFields():
        if descriptor.type == descriptor.TYPE_MESSAGE:
            parts = value if _is_repeated(value) else [value]
            yield from ((descriptor.name, part) for part in parts if hasattr(part, "ListFields"))  # no map of texts


def trigger(message: Any) -> Trigger | None:
    """Return the trigger that a writer's message names; None where it is of a kind that is not known here."""
    how = message.WhichOneof("trigger")
    if how is None:
        return Trigger("default", None, "asked")
    if how not in _TRIGGERS:
        return None
    try:
        return Trigger.parse({_TRIGGERS[how]: getattr(message, how)}, "asked")
    except ValueError:
        return None  # Spark reads more ways to write a length of time


def _root(writer: Any) -> str | None:
    try:
        return str(writer._session.conf.get(SETTING, "") or "")  # noqa: SLF001 - there is no public way
    except Exception:
        fallback.taken()
        return None


def _sources(plan: Any) -> tuple[tuple[str | None, tuple[tuple[str, str], ...]], ...] | None:
    found = tuple(reads(plan))
    if not found or any(one.WhichOneof("read_type") != "data_source" for one in found):
        return None
    hiding = set(_hiding(plan))
    # Spark reads one stream that stands twice in a plan once or twice: then a view's may be counted for one of them.
    twice = any(one in found[:at] for at, one in enumerate(found))
    if hiding - {"read"} or (hiding and twice):
        return None
    told = (one.data_source for one in found)
    return tuple((shape_sinks.file_format(one.format), shape_sinks.limits(one.options)) for one in told)


def _is_repeated(value: Any) -> bool:
    return not hasattr(value, "ListFields") and hasattr(value, "__iter__")
