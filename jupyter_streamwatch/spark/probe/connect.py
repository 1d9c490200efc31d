"""What can be learned of a query through Spark Connect: its plan as text, and its last progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.history import Facts
from jupyter_streamwatch.spark import fallback
from jupyter_streamwatch.spark.plans import connect as shape_connect
from jupyter_streamwatch.spark.plans.explained import FIELDS, explained, field, of_plan
from jupyter_streamwatch.spark.plans.nodes import LIMITS
from jupyter_streamwatch.spark.writer import in_root
from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.model.query_shape import Shape
    from jupyter_streamwatch.spark.plans.started import Written

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


def silent() -> Facts:
    """Return the facts of a query whose server does not answer."""
    fields = (*FIELDS, "trigger", "sink", "sources", "rateLimit", "sparkVersion")
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
        why |= dict.fromkeys(FIELDS, _NO_PLAN)
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
    try:
        return shape_connect.of_run(text, progress, version, written)
    except Exception:
        fallback.taken()
        return None  # a plan that is too long, or printed another way


def _session_partitions(spark: Any) -> int | None:
    value = str(spark.conf.get("spark.sql.shuffle.partitions"))  # a default that is no number is refused
    return int(value) if value.isdigit() else None
