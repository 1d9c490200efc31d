"""Readable names of sources and sinks: what a person would say, from what Spark writes.

Spark describes a source or a sink by its ``toString``: sometimes a name with an argument
(``KafkaV2[Subscribe[orders]]``), sometimes a table name, often a Java object with a hash. These functions are
pure: they know the texts of Spark 2.1 to 4.3, Delta, Iceberg, Hudi and the cloud services, and turn an unknown
Java name into its telling part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

UNKNOWN = "n/a"

_SHOWN_TOPICS = 3
_TEMPORARY = re.compile(r"/temporary-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/?$")
_HASHED = re.compile(
    r"(?<![\w/:.@-])(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_$][\w$]*(?:/0x[0-9a-f]+)?)@[0-9a-f]{1,8}(?![\w.@-])"
)
_SHAPE = re.compile(r"(?P<head>[A-Za-z_][\w.$]*?)(?P<hash>@[0-9a-f]{1,8})?(?:\[(?P<argument>.*)|\(.*)?", re.DOTALL)
_TABLE_NAME = re.compile(r"[\w`-]+(\.[\w`-]+)+")
_SUFFIX = re.compile(r"(?<=\w)(?:MicroBatch|Continuous|Streaming|Stream|Provider|Source|Sink|Table|Reader|Writer|V\d)$")


class _Named(NamedTuple):
    """One family of sources and sinks: how it is recognised, called and described."""

    kind: str
    label: str
    pattern: re.Pattern[str]
    detail: Callable[[str], str]


def sink(description: str | None) -> str:
    """Name a sink as a person would.

    Args:
        description: ``sink.description`` of a progress record, or the sink object's ``toString``.

    Returns:
        For example ``"Kafka"``, ``"files /data/out"``, ``"Delta /lake/orders"``, ``"foreachBatch"``, ``"console"``;
        ``"n/a"`` for nothing. Never a Java object with a hash.
    """
    return _name(description)


def source(description: str | None) -> str:
    """Name a source as a person would.

    Args:
        description: ``sources[].description`` of a progress record, or the source object's ``toString``.

    Returns:
        For example ``"Kafka orders"``, ``"files /data/in"``, ``"rate 5/s"``, ``"socket localhost:9999"``;
        ``"n/a"`` for nothing. Never a Java object with a hash.
    """
    return _name(description)


def source_of_format(format: str, options: Mapping[str, str]) -> str:
    """Name a source that has not described itself yet, by its format and its options.

    Args:
        format: Spark's short name (``kafka``, ``rate``) or a class name.
        options: the reader's options; their case does not matter.
    """
    given = {key.lower(): value for key, value in options.items()}
    short = format.strip().lower()
    if short == "kafka":
        told = [f"{how}[{given[how.lower()]}]" for how in ("Subscribe", "SubscribePattern") if how.lower() in given]
        return source(f"KafkaV2[{told[0] if told else ''}]")
    if short == "rate":
        return source(f"RateStreamV2[rowsPerSecond={given.get('rowspersecond', '1')}]")
    if short == "rate-micro-batch":
        return source(f"RatePerMicroBatchStream[rowsPerBatch={given.get('rowsperbatch', '')}]")
    if short in ("socket", "textsocket"):
        return source(f"TextSocketV2[host: {given.get('host', '')}, port: {given.get('port', '')}]")
    known = {"delta": "DeltaSource", "cloudfiles": "CloudFilesSource", "memory": "MemoryStream"}
    name = known.get(short, format.strip())
    return source(f"{name}[{given.get('path', '')}]")


def local_path(path: str) -> str:
    """Return a path without the scheme of the local file system: ``file:///data/in`` -> ``/data/in``."""
    return re.sub(r"^file:/+", "/", path)


def is_temporary(checkpoint: str) -> bool:
    """Say whether Spark made a checkpoint's folder itself: it does so when neither query nor session names one."""
    return bool(_TEMPORARY.search(checkpoint))


def kind(description: str | None) -> str | None:
    """Say which family a source or sink belongs to.

    Args:
        description: as for :func:`sink` and :func:`source`.

    Returns:
        Spark's short name where there is one (``kafka files delta console memory foreach foreachBatch noop rate
        rate-micro-batch socket``), the product's in lower case else (``iceberg``, ``kinesis``); None when unknown.
    """
    text = (description or "").strip()
    shape = _shape(text)
    named = _family(shape) if shape else None
    return named.kind if named else None


def _name(description: str | None) -> str:
    text = (description or "").strip()
    if not text:
        return UNKNOWN
    shape = _shape(text)
    if shape is None:
        return _without_hashes(text)
    named = _family(shape)
    argument = _argument(shape)
    if named is None:
        label = _telling(shape["head"])
        detail = _without_hashes(local_path(argument))
    else:
        label = named.label
        detail = named.detail(argument)
    return f"{label} {detail}".strip()


def _shape(text: str) -> re.Match[str] | None:
    """Take a description apart, or None when it is a plain name (of a table) that is best left alone."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        return None
    bare = shape["hash"] is None and shape.end("head") == len(text)
    return None if bare and _TABLE_NAME.fullmatch(text) and not text.startswith("org.apache.") else shape


def _family(shape: re.Match[str]) -> _Named | None:
    head = shape["head"]
    return next((named for named in _FAMILIES if named.pattern.search(head)), None)


def _argument(shape: re.Match[str]) -> str:
    """Return what stands between the brackets; the closing one is missing in Spark's rate source."""
    argument = (shape["argument"] or "").strip()
    return argument.removesuffix("]")


def _telling(head: str) -> str:
    """Shorten a class name to the part that says something: ``com.acme.QueueSinkProvider`` -> ``Queue``."""
    words = [word for word in re.split(r"[.$]", head) if word and not word.isdigit() and word != "anon"]
    name = words[-1] if words else head
    shorter = _SUFFIX.sub("", name)
    while shorter != name:
        name, shorter = shorter, _SUFFIX.sub("", shorter)
    return name


def _without_hashes(text: str) -> str:
    return _HASHED.sub(lambda found: _telling(found["name"].split("/")[0]), text)


def _nothing(_argument: str) -> str:
    return ""


def _plain(argument: str) -> str:
    return _without_hashes(argument)


def _topics(argument: str) -> str:
    """Return Kafka's topics: ``Subscribe[a, b]`` -> ``a, b``; a pattern is called one."""
    found = re.fullmatch(r"(?P<how>\w+)\[(?P<what>.*)\]?", argument, re.DOTALL)
    if found is None:
        return _plain(argument)
    what = found["what"].removesuffix("]")
    if found["how"] == "SubscribePattern":
        return f"pattern {what}"
    names = [name.strip() for name in what.split(",") if name.strip()]
    if found["how"] == "Assign":
        names = list(dict.fromkeys(re.sub(r"-\d+$", "", name) for name in names))
    more = len(names) - _SHOWN_TOPICS
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_SHOWN_TOPICS])} and {more} more"


def _rate(argument: str) -> str:
    found = re.search(r"rowsPerSecond=(\d+)", argument)
    return f"{found[1]}/s" if found else ""


def _rate_per_batch(argument: str) -> str:
    found = re.search(r"rowsPerBatch=(\d+)", argument)
    return f"{found[1]} a batch" if found else ""


def _address(argument: str) -> str:
    """Return a socket's address: ``host: localhost, port: 9999`` -> ``localhost:9999``."""
    host = re.search(r"host:\s*([^,\s]+)", argument)
    port = re.search(r"port:\s*(\d+)", argument)
    return ":".join(found[1] for found in (host, port) if found)


def _named(kind: str, label: str, pattern: str, detail: Callable[[str], str] = _nothing) -> _Named:
    return _Named(kind, label, re.compile(pattern), detail)


# The first that matches the class name wins: a narrow name stands before the wider one that it contains.
_FAMILIES = (
    _named("foreachBatch", "foreachBatch", r"ForeachBatch"),
    _named("foreach", "foreach", r"Foreach"),
    _named("console", "console", r"\bConsole"),
    _named("memory", "memory", r"Memory(Stream|Sink|Table|Continuous|V2|$)"),
    _named("noop", "noop", r"Noop(Table|DataSource|Sink|$)"),
    _named("rate-micro-batch", "rate", r"RatePerMicroBatch", _rate_per_batch),
    _named("rate", "rate", r"\bRate(Stream|Source)", _rate),
    _named("socket", "socket", r"TextSocket", _address),
    _named("cloudFiles", "Auto Loader", r"CloudFiles", local_path),
    _named("deltaSharing", "Delta Sharing", r"Delta(Format)?Sharing", local_path),
    _named("delta", "Delta", r"Delta(Source|Sink|Table|Data|V2|CDC|$)", local_path),
    _named("kafka", "Kafka", r"Kafka", _topics),
    _named("kinesis", "Kinesis", r"(?i)kinesis", _plain),
    _named("eventhubs", "Event Hubs", r"(?i)event-?hubs?", _plain),
    _named("pubsub", "Pub/Sub", r"(?i)pubsub", _plain),
    _named("pulsar", "Pulsar", r"(?i)pulsar", _plain),
    _named("iceberg", "Iceberg", r"(?i)iceberg", local_path),
    _named("hudi", "Hudi", r"(?i)hoodie|hudi", local_path),
    _named("paimon", "Paimon", r"(?i)paimon", local_path),
    _named("mongodb", "MongoDB", r"(?i)mongo", _plain),
    _named("cassandra", "Cassandra", r"(?i)cassandra", _plain),
    _named("bigquery", "BigQuery", r"(?i)bigquery", _plain),
    _named("snowflake", "Snowflake", r"(?i)snowflake", _plain),
    _named("elasticsearch", "Elasticsearch", r"EsSparkSql|(?i:elasticsearch)", _plain),
    _named("python", "Python data source", r"Python(DataSource|MicroBatch|Streaming|Table|Write)", _nothing),
    _named("files", "files", r"File(Stream|Sink|Source)", local_path),
)
