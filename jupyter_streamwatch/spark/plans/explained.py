"""The plan of a running query as Connect prints it (``explain``), and the facts that its text tells."""

from __future__ import annotations

import re
from typing import Any

from jupyter_streamwatch.spark.plans.expressions import delay_ms
from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.redaction import redact

FIELDS = ("outputMode", "checkpoint", "watermarks", "stateful", "shufflePartitions", "pythonUdf")

# Physical operators that write state, and the names that they have in progress records; narrower names first.
_OPERATORS = (
    ("SessionWindowStateStoreSave", "sessionWindowStateStoreSaveExec"),
    ("StateStoreSave", "stateStoreSave"),
    ("StreamingDeduplicateWithinWatermark", "dedupeWithinWatermark"),
    ("StreamingDeduplicate", "dedupe"),
    ("StreamingSymmetricHashJoin", "symmetricHashJoin"),
    ("FlatMapGroupsWithState", "flatMapGroupsWithState"),
    ("FlatMapGroupsInPandasWithState", "applyInPandasWithState"),
    ("TransformWithStateInPandas", "transformWithStateInPandasExec"),
    ("TransformWithStateInPySpark", "transformWithStateInPySparkExec"),
    ("TransformWithState", "transformWithStateExec"),
    ("StreamingGlobalLimit", "globalLimit"),
)
_NODE = re.compile(r"^[\s:|+\-*]*(?:\(\d+\))?\s*~?(?P<name>[A-Za-z]\w*)", re.MULTILINE)
_WATERMARK = re.compile(
    r"EventTimeWatermark (?:[0-9a-f-]{36}, )?(?P<column>\S+?)#\d+[^:\n]*: \w+, (?P<delay>[\w .-]+?)\s*$", re.MULTILINE
)
_STATE_INFO = re.compile(
    r"state info \[ checkpoint = (?P<checkpoint>.*?)/state, runId = .*?(?:numPartitions = (?P<partitions>\d+))?\]"
)
_SAVE_MODE = re.compile(r"StateStoreSave .*\],? (?:stateStoreCkptIds = [^,]*, )?(?P<mode>Append|Update|Complete),")
_SINK_V1 = re.compile(
    r"WriteToMicroBatchDataSourceV1 .*, [0-9a-f-]{36}, \[(?P<options>.*)\], (?P<mode>Append|Update|Complete)\b"
)
_CHECKPOINT = re.compile(r"(?i)\bcheckpointLocation=(?P<path>[^,\]]+)")
_PYTHON = re.compile(r"(?:Python|InPandas|InArrow|InPySpark|ArrowEval)")


def explained(query: Any) -> str:
    """Return what ``query.explain(True)`` would print; printing it would land in somebody's cell."""
    from pyspark.sql.connect.proto import StreamingQueryCommand

    command = StreamingQueryCommand()
    command.explain.extended = True
    return str(query._execute_streaming_query_cmd(command).explain.result)  # noqa: SLF001 - explain() itself prints


def of_plan(text: str) -> dict[str, Any]:
    """Read facts from the text of an extended explain; all None before there is a physical plan."""
    unknown = dict.fromkeys((*FIELDS, "temporaryCheckpoint"))
    _, found, physical = text.partition("== Physical Plan ==")
    if not found:
        return unknown
    nodes = [node["name"] for node in _NODE.finditer(physical)]
    stateful = tuple(called for node in nodes for name, called in _OPERATORS if node in (name, f"{name}Exec"))
    state = _STATE_INFO.search(physical)
    written = _SINK_V1.search(text)
    option = _CHECKPOINT.search(written["options"]) if written else None
    checkpoint = state["checkpoint"] if state else option["path"] if option else None
    mode = _SAVE_MODE.search(physical) or written
    return unknown | {
        "outputMode": mode["mode"].lower() if mode else None,
        "checkpoint": redact(names.local_path(checkpoint)) if checkpoint else None,
        "temporaryCheckpoint": names.is_temporary(checkpoint) if checkpoint else None,
        "watermarks": _watermarks(text),
        "stateful": stateful,
        "shufflePartitions": int(state["partitions"]) if state and state["partitions"] else None,
        "pythonUdf": any(_PYTHON.search(node) for node in nodes),
    }


def _watermarks(text: str) -> tuple[tuple[str, float], ...] | None:
    found = [(match["column"], delay_ms(match["delay"])) for match in _WATERMARK.finditer(text)]
    known = tuple(dict.fromkeys((column, delay) for column, delay in found if delay is not None))
    return None if any(delay is None for _, delay in found) else known


def field(record: Any, name: str) -> Any:
    """Return a field of a progress: an object in PySpark 4, a dict before."""
    return record.get(name) if isinstance(record, dict) else getattr(record, name, None)
