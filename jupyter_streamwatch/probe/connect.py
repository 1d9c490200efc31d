"""What can be learned of a query through Spark Connect: its plan as text, and its last progress."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.history import Facts
from jupyter_streamwatch.probe.plan import LIMITS
from jupyter_streamwatch.probe.shape_expressions import delay_ms
from jupyter_streamwatch.probe.writer import in_root
from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.model.query_shape import Shape
    from jupyter_streamwatch.probe.started import Written

_ONLY = "Connect tells it only of a query that this process starts while it is watched"
_NO_TRIGGER = f"{_ONLY}; else it is inferred from when batches start, or stated with trigger=..."
_NO_PLAN = "Connect shows the plan with the first batch, and none has been planned yet."
_NO_MODE = "Connect tells the output mode only in the plans of stateful queries and of some sinks."
_NO_CHECKPOINT = "Connect tells the checkpoint only in the plans of stateful queries and of some sinks."
_NO_LIMIT = f"{_ONLY}."
_NO_NAME = (
    "The query has no name: Spark gave it a folder of a random name below spark.sql.streaming.checkpointLocation."
)
_NO_ANSWER = "The Connect server did not answer."
_NO_PROGRESS = "The query has not reported its sink and its sources yet."
_FIELDS = ("outputMode", "checkpoint", "watermarks", "stateful", "shufflePartitions", "pythonUdf")

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


def silent() -> Facts:
    """Return the facts of a query whose server does not answer."""
    fields = (*_FIELDS, "trigger", "sink", "sources", "rateLimit", "sparkVersion")
    return Facts(mode="connect", why=dict.fromkeys(fields, _NO_ANSWER))


def facts(spark: Any, query: Any, written: Written | None) -> Facts:
    """Learn what a Connect server tells of a query, and what its start told; see ``about.facts``.

    May raise, and may wait for ever.
    """
    text = explained(query)
    progress = query.lastProgress
    sink = field(field(progress, "sink"), "description")
    sources = [field(source, "description") for source in field(progress, "sources") or ()]
    why = {"trigger": _NO_TRIGGER, "rateLimit": _NO_LIMIT}
    if progress is None:
        why |= {"sink": _NO_PROGRESS, "sources": _NO_PROGRESS}
    known = of_plan(text)
    if known["stateful"] is None:
        why |= dict.fromkeys(_FIELDS, _NO_PLAN)
    else:
        missing = {
            "outputMode": _NO_MODE,
            "checkpoint": _NO_CHECKPOINT,
            "shufflePartitions": "The plan shuffles nothing.",
        }
        why |= {name: reason for name, reason in missing.items() if known[name] is None}
    kind = names.kind(sink)
    if written is not None:
        known |= _started(written, known, len(sources))
        why = {name: reason for name, reason in why.items() if known.get(name) is None}
        if known["temporaryCheckpoint"]:
            why.pop("checkpoint", None)
        elif written.checkpointRoot:
            why |= {} if known["checkpoint"] else {"checkpoint": _NO_NAME}
        kind = kind or written.sink
    return Facts(
        mode="connect",
        sparkVersion=str(spark.version),
        sink=redact(names.sink(sink)) if sink else None,
        sinkKind=kind,
        sources=tuple(redact(names.source(source)) for source in sources),
        sessionPartitions=_session_partitions(spark),
        foreachBatch=kind == "foreachBatch" if kind else None,
        shape=_shape(text, progress, str(spark.version), written),
        why=why,
        **known,
    )


def _started(written: Written, known: dict[str, Any], sources: int) -> dict[str, Any]:
    """Return the facts that the start told; those of the plan, which Spark has resolved, stand before them."""
    checkpoint, temporary = known["checkpoint"], known["temporaryCheckpoint"]
    if checkpoint is None:
        checkpoint, root = written.checkpoint or _in_root(written), written.checkpointRoot
        temporary = False if checkpoint or root else None if root is None else True
    told = written.sources if written.sources is not None and len(written.sources) == sources else None
    limits = (
        None
        if told is None
        else tuple((LIMITS[name], value) for _, all in told for name, value in all if name in LIMITS)
    )
    return {
        "trigger": written.trigger,
        "outputMode": known["outputMode"] or written.outputMode,
        "checkpoint": checkpoint,
        "temporaryCheckpoint": temporary,
        "rateLimit": limits,
    }


def _in_root(written: Written) -> str | None:
    path = in_root(written.checkpointRoot, written.name)
    return redact(names.local_path(path)) if path else None


def _shape(text: str, progress: Any, version: str, written: Written | None) -> Shape | None:
    from jupyter_streamwatch.probe import shape_connect

    try:
        return shape_connect.of_run(text, progress, version, written)
    except Exception:
        return None  # a plan that is too long, or printed another way


def explained(query: Any) -> str:
    """Return what ``query.explain(True)`` would print; printing it would land in somebody's cell."""
    from pyspark.sql.connect.proto import StreamingQueryCommand

    command = StreamingQueryCommand()
    command.explain.extended = True
    return str(query._execute_streaming_query_cmd(command).explain.result)  # noqa: SLF001 - explain() itself prints


def _session_partitions(spark: Any) -> int | None:
    value = str(spark.conf.get("spark.sql.shuffle.partitions"))  # a default that is no number is refused
    return int(value) if value.isdigit() else None


def of_plan(text: str) -> dict[str, Any]:
    """Read facts from the text of an extended explain; all None before there is a physical plan."""
    unknown = dict.fromkeys((*_FIELDS, "temporaryCheckpoint"))
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
