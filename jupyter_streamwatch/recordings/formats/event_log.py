"""Spark's event log: one JSON object a line, of which about one byte in seventy is about streaming."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from jupyter_streamwatch.recordings.formats.events import listener_event
from jupyter_streamwatch.recordings.formats.salvage import Found, Salvager

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OURS: Final = b"StreamingQueryListener$Query"
_ABOUT: Final = (b'"SparkListenerLogStart"', b'"SparkListenerApplicationStart"', b'"SparkListenerEnvironmentUpdate"')
# Of the environment only what explains how a query runs; the rest is long and may hold secrets.
_PROPERTIES: Final = (
    "spark.master",
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.default.parallelism",
    "spark.executor.instances",
    "spark.executor.cores",
    "spark.executor.memory",
    "spark.driver.memory",
    "spark.scheduler.mode",
)


def is_event_log(head: bytes) -> bool:
    """Whether a file that begins like this is an event log."""
    start = head.lstrip()[:200]
    return start.startswith(b'{"Event":') and b"treamingQueryListener" not in start.partition(b",")[0]


def read(lines: Iterable[bytes]) -> Iterator[Found]:
    """Read the streaming events and, as ``environment``, what the log says about the application."""
    for number, line in enumerate(lines, 1):
        if _OURS in line:
            yield from _event(line, number)
        elif any(name in line[:100] for name in _ABOUT):
            yield from _about(line, number)


def _event(line: bytes, number: int) -> Iterator[Found]:
    text = line.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # the last line of a log that is still written
        for found in Salvager().whole(text):
            yield Found(found.kind, found.value, number)
        return
    found_events = listener_event(value) if isinstance(value, dict) else None
    for kind, found_value in found_events or ():
        yield Found("progress" if kind == "progress" else "event", found_value, number)


def _about(line: bytes, number: int) -> Iterator[Found]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return
    about = {"Spark": value.get("Spark Version"), "application": value.get("App Name")}
    jvm, properties = value.get("JVM Information"), value.get("Spark Properties")
    if isinstance(jvm, dict):
        about["Java"] = jvm.get("Java Version")
    if isinstance(properties, dict):
        about.update({name: properties.get(name) for name in _PROPERTIES})
    known: dict[str, Any] = {name: text for name, text in about.items() if isinstance(text, str)}
    if known:
        yield Found("environment", known, number)
