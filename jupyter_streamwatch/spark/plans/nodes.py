"""What the logical plan of a streaming query says: sources, watermarks, stateful operators, Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jupyter_streamwatch.spark import fallback, jvm, kafka_offsets
from jupyter_streamwatch.text import spark_names as names

_MOST_NODES = 2_000
"""A larger plan is not walked: each node takes about a millisecond."""

# Spark's logical nodes, and the names that their operators have in progress records.
OPERATORS = {
    "Aggregate": "stateStoreSave",
    "Distinct": "stateStoreSave",
    "Deduplicate": "dedupe",
    "DeduplicateWithinWatermark": "dedupeWithinWatermark",
    "Join": "symmetricHashJoin",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithState": "transformWithStateExec",
    "TransformWithStateInPandas": "transformWithStateInPandasExec",
    "TransformWithStateInPySpark": "transformWithStateInPySparkExec",
    "GlobalLimit": "globalLimit",
}
LEAVES = ("StreamingRelation", "StreamingRelationV2", "StreamingExecutionRelation")
"""Spark's logical nodes that read a stream."""
# Options of sources that bound a batch (files, Kafka, Delta, Auto Loader, Event Hubs, Iceberg), by the lower case in
# which Spark passes them on to a source of its newer kind.
LIMITS = {
    option.lower(): option
    for option in (
        "maxFilesPerTrigger",
        "maxBytesPerTrigger",
        "maxOffsetsPerTrigger",
        "maxRowsPerTrigger",
        "maxEventsPerTrigger",
        "maxRecordsPerTrigger",
        "cloudFiles.maxFilesPerTrigger",
        "cloudFiles.maxBytesPerTrigger",
        "streaming-max-files-per-micro-batch",
        "streaming-max-rows-per-micro-batch",
    )
}
LENIENT = {option.lower(): option for option in ("failOnDataLoss", "ignoreMissingFiles")}
"""Options of sources that say whether rows that are gone stop the query (Kafka, files)."""


@dataclass(frozen=True)
class Plan:
    """What was found in a plan.

    Attributes:
        sources: readable names of the streaming sources, in the order of the plan.
        watermarks: (column, delay in ms), each declared watermark once.
        stateful: names of the stateful operators, as in progress records.
        python: whether an expression or an operator runs Python code.
        limits: (option, value) of every option that bounds a batch.
        lenient: (option, value) of every option that says what happens to rows that are gone.
        kafka: client options of each Kafka source; they may hold secrets and stay in the probe.
    """

    sources: tuple[str, ...]
    watermarks: tuple[tuple[str, float], ...]
    stateful: tuple[str, ...]
    python: bool | None
    limits: tuple[tuple[str, str], ...]
    lenient: tuple[tuple[str, str], ...]
    kafka: tuple[dict[str, str], ...] = field(default=(), repr=False)


def read(gateway: Any, plan: Any, *, append: bool) -> Plan:
    """Walk an analyzed plan once.

    Args:
        gateway: py4j's gateway to the JVM.
        plan: reference of the analyzed ``LogicalPlan``.
        append: whether the query runs in append mode; a limit keeps state in that mode alone.

    Raises:
        ValueError: when the plan is too large to walk.
        Exception: whatever py4j raises where Spark has other names than expected.
    """
    sources: list[str] = []
    watermarks: list[tuple[str, float]] = []
    stateful: list[str] = []
    limits: list[tuple[str, str]] = []
    lenient: list[tuple[str, str]] = []
    kafka: list[dict[str, str]] = []
    for name, node in _nodes(plan):
        if name in LEAVES:
            given = options(gateway, name, node)
            sources.append(source(node, given))
            kafka.append(kafka_offsets.client(given))
            limits += [(LIMITS[key.lower()], value) for key, value in given.items() if key.lower() in LIMITS]
            lenient += [(LENIENT[key.lower()], value) for key, value in given.items() if key.lower() in LENIENT]
        elif name == "EventTimeWatermark":
            watermarks.append(_watermark(gateway, node))
        elif name in OPERATORS and _keeps_state(name, node, append=append):
            stateful.append(_operator(name, node))
    return Plan(
        tuple(sources),
        tuple(dict.fromkeys(watermarks)),
        tuple(stateful),
        _python(gateway, plan),
        tuple(limits),
        tuple(lenient),
        tuple(one for one in kafka if one),
    )


def _nodes(plan: Any) -> list[tuple[str, Any]]:
    """Return (name, node) of every node, parents first, left before right."""
    found: list[tuple[str, Any]] = []
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        found.append((node.getClass().getSimpleName().rstrip("$"), node))
        if len(found) > _MOST_NODES:
            raise ValueError(f"the plan has more than {_MOST_NODES} nodes")
        waiting += reversed(jvm.sequence(node.children()))
    return found


def _keeps_state(name: str, node: Any, *, append: bool) -> bool:
    if name == "Join":
        return all(side.isStreaming() for side in jvm.sequence(node.children()))
    return bool(node.isStreaming()) and (name != "GlobalLimit" or append)


def _operator(name: str, node: Any) -> str:
    if name == "Aggregate" and "session_window#" in node.groupingExpressions().toString():
        return "sessionWindowStateStoreSaveExec"
    return OPERATORS[name]


def _watermark(gateway: Any, node: Any) -> tuple[str, float]:
    column = node.eventTime().name()
    logical = gateway.jvm.org.apache.spark.sql.catalyst.plans.logical
    return str(column), float(logical.EventTimeWatermark.getDelayMs(node.delay()))


def options(gateway: Any, name: str, node: Any) -> dict[str, str]:
    """Return a source's options; they may hold secrets: none but limits and names leave the probe."""
    try:
        found = node.extraOptions() if name == "StreamingRelationV2" else node.dataSource().options()
        return dict(jvm.to_data(gateway)(found))
    except Exception:
        fallback.taken()
        return {}


def source(node: Any, options: dict[str, str]) -> str:
    """Name a source before it has described itself in a progress record."""
    said = str(node.sourceName())
    return names.source(said) if "[" in said else names.source_of_format(said, options)  # FileSource[/data/in]


def _python(gateway: Any, plan: Any) -> bool | None:
    try:
        patterns = gateway.jvm.org.apache.spark.sql.catalyst.trees.TreePattern
        return bool(plan.containsPattern(patterns.PYTHON_UDF()))
    except Exception:
        fallback.taken()
        return None
