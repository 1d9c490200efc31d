"""Kinds, places and limits of sources and sinks, and a session's settings, as a shape names them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.spark import fallback
from jupyter_streamwatch.spark.plans.nodes import LIMITS
from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PINNED = (
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.aggregation.stateFormatVersion",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
    "spark.sql.streaming.join.stateFormatVersion",
    "spark.sql.streaming.multipleWatermarkPolicy",
    "spark.sql.streaming.stateStore.compression.codec",
    "spark.sql.streaming.stateStore.encodingFormat",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.formatVersion",
)
"""Settings that a checkpoint keeps (``OffsetSeqMetadata.relevantSQLConfs``); those that people change."""
_ASYNCHRONOUS = ("asyncprogresstrackingenabled", "asyncprogresstrackingcheckpointintervalms")
_STARTS = frozenset(
    {
        "startingoffsets",
        "startingoffsetsbytimestamp",
        "startingtimestamp",
        "startingversion",
        "startingposition",
        "initialposition",
    }
)  # of Kafka, Delta, Event Hubs, Kinesis: where a query without a checkpoint begins
_CLASS_OF_FILES = re.compile(r"\.datasources\.(?:v2\.)?\w+\.(?P<format>\w+?)(?:FileFormat|DataSourceV2)$")
_RATES = frozenset({"rowspersecond", "rowsperbatch", "rampuptime"})
_FILES = frozenset({"parquet", "json", "csv", "orc", "text", "avro", "xml", "binaryfile"})
_PLACES = {
    "files": "path",
    "delta": "path",
    "iceberg": "path",
    "hudi": "path",
    "kafka": "topic",
    "deltaSharing": "path",
}
_SOURCES = {"files": "file", "cloudFiles": "autoloader"}
_IN_BRACKETS = re.compile(r"^[\w.$]+\[(?P<what>.*)\]$", re.DOTALL)


def kind(format: str) -> str:
    """Say which kind of sink a writer's format is: ``parquet`` writes files."""
    short = format.strip()
    lower = short.lower()
    if file_format(short):
        return "files"
    known = {"foreachbatch": "foreachBatch", "foreach": "foreach", "cloudfiles": "cloudFiles"}
    return known.get(lower) or names.kind(short) or lower


def file_format(format: Any) -> str | None:
    """Return the format of files as a person writes it, also of Spark's own class: ``parquet``; None for others."""
    text = str(format or "").strip()
    named = _CLASS_OF_FILES.search(text)
    lower = (named["format"] if named else text).lower()
    return lower if lower in _FILES else None


def source_kind(kind: str | None) -> str | None:
    """Return the name that a checkpoint's offsets have for a kind of source."""
    if kind is None:
        return None
    return _SOURCES.get(kind) or ("file" if kind.lower() in _FILES else kind)


def path(kind: str | None, options: Mapping[str, str]) -> str | None:
    """Return where a sink of ``kind`` writes, by its options; None when these do not say."""
    given = {key.lower(): str(value) for key, value in options.items()}
    found = given.get(_PLACES.get(kind or "", ""))
    return redact(names.local_path(found)).rstrip("/") or "/" if found else None


def described(kind: str | None, description: str | None) -> str | None:
    """Return where a sink of ``kind`` writes, as it describes itself: ``FileSink[/data/out]``."""
    found = _IN_BRACKETS.match(description or "")
    if found is None or _PLACES.get(kind or "") != "path":
        return None
    return redact(names.local_path(found["what"])).rstrip("/") or "/"


def limits(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the options of a source that bound a batch or set its rate, names in lower case."""
    found = {key.lower(): redact(str(value)) for key, value in options.items()}
    return tuple(sorted((key, value) for key, value in found.items() if key in LIMITS or key in _RATES))


def starts(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the options of a source that say where a query without a checkpoint begins, names in lower case."""
    found = {key.lower(): redact(str(value)) for key, value in options.items()}
    return tuple(sorted((key, value) for key, value in found.items() if key in _STARTS))


def of_writer(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the options of a writer that change what its checkpoint means, names in lower case."""
    found = {key.lower(): str(value) for key, value in options.items()}
    return tuple((key, found[key]) for key in _ASYNCHRONOUS if key in found)


def settings(conf: Any, names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the settings of these names that a session's ``conf`` has, PySpark's or Spark's own."""
    found = []
    for name in names:
        try:
            value = conf.get(name)
        except Exception:
            fallback.taken()
            continue  # a setting of another version of Spark
        if value is not None:
            found.append((name, redact(str(value))))
    return tuple(found)


def session(spark: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return version and settings of a session, by the names of a shape's attributes."""
    return {"sparkVersion": str(spark.version), "conf": settings(spark.conf, names)}
