"""Facts of a run that do not change: trigger, output mode, sink, checkpoint, and what its plan says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_streamwatch.model.history import Facts
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.spark import fallback, jvm, kafka_offsets
from jupyter_streamwatch.spark.bounded import ask
from jupyter_streamwatch.spark.plans import classic as shape_classic
from jupyter_streamwatch.spark.plans import nodes as plan
from jupyter_streamwatch.spark.probe import connect
from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.spark.plans.started import Written

T = TypeVar("T")


def facts(spark: Any, query: Any, written: Written | None = None) -> Facts:
    """Learn what Spark tells of a query's run.

    Args:
        spark: the session, classic or Connect.
        query: the run, a ``StreamingQuery`` of PySpark; it may have ended.
        written: what this process started it with, which a Connect server does not tell.

    Returns:
        The facts; what Spark does not say is None, with the reason in ``why``. Never raises, and takes at most ten
        seconds.
    """
    if jvm.is_connect(spark):
        return ask(spark, lambda: connect.facts(spark, query, written), connect.silent(), seconds=10.0)
    unknown = dict.fromkeys(_FIELDS, "Spark did not answer; is the session stopped?")
    return ask(spark, lambda: _classic(spark, query), Facts(mode="classic", why=unknown), seconds=10.0)


_FIELDS = (
    "trigger",
    "outputMode",
    "sink",
    "checkpoint",
    "sources",
    "watermarks",
    "stateful",
    "shufflePartitions",
    "sessionPartitions",
    "pythonUdf",
    "rateLimit",
)


_PARTITIONS = "spark.sql.shuffle.partitions"


def _classic(spark: Any, query: Any) -> Facts:
    gateway = jvm.gateway(spark)
    if gateway is None:
        raise RuntimeError("the session has no JVM any more")
    why: dict[str, str] = {}

    def asked(name: str, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except Exception:
            fallback.taken()
            why[name] = "This Spark does not tell it under the names that are known."
            return None

    run = jvm.execution(query)
    mode = asked("outputMode", lambda: str(run.outputMode().toString()).lower())
    described = asked("sink", lambda: str(run.sink().toString()))
    found = asked("plan", lambda: plan.read(gateway, run.analyzedPlan(), append=mode == "append"))
    kafka_offsets.remember(str(query.id), found.kafka if found else ())
    reason = why.pop("plan", None)
    if reason:
        why.update(dict.fromkeys(("sources", "watermarks", "stateful", "pythonUdf", "rateLimit"), reason))
    elif found and found.python is None:
        why["pythonUdf"] = "This Spark does not tell it under the names that are known."
    checkpoint = asked("checkpoint", lambda: str(run.resolvedCheckpointRoot()))
    kind = names.kind(described)
    version = asked("sparkVersion", lambda: str(spark.version))
    return Facts(
        mode="classic",
        sparkVersion=version,
        trigger=asked("trigger", lambda: Trigger.parse(str(run.trigger().toString()), "asked")),
        outputMode=mode,
        sink=redact(names.sink(described)) if described else None,
        sinkKind=kind,
        checkpoint=redact(names.local_path(checkpoint)) if checkpoint else None,
        temporaryCheckpoint=names.is_temporary(checkpoint) if checkpoint else None,
        sources=_sources(run) or (found.sources if found else ()),
        watermarks=found.watermarks if found else None,
        stateful=found.stateful if found else None,
        shufflePartitions=asked("shufflePartitions", lambda: _partitions(run)),
        sessionPartitions=asked("sessionPartitions", lambda: _session_partitions(run)),
        pythonUdf=found.python if found else None,
        foreachBatch=None if described is None else kind == "foreachBatch",
        rateLimit=tuple((name, redact(value)) for name, value in found.limits) if found else None,
        lenient=(asked("ignoreMissingFiles", lambda: _session_lenient(run)) or ()) + found.lenient if found else None,
        shape=asked("shape", lambda: shape_classic.of_run(gateway, run, version, mode, described)),
        why=why,
    )


def _sources(run: Any) -> tuple[str, ...]:
    """Name the sources as they describe themselves; empty until the run has made them."""
    try:
        return tuple(redact(names.source(str(source.toString()))) for source in jvm.sequence(run.sources()))
    except Exception:
        fallback.taken()
        return ()


def _partitions(run: Any) -> int:
    """Return the shuffle partitions of the run: those that its checkpoint pins, once a batch has been planned."""
    last = run.lastExecution()
    if last is not None:
        pinned = last.offsetSeqMetadata().conf().get(_PARTITIONS)
        if pinned.isDefined():
            return int(pinned.get())
    return _session_partitions(run)


def _session_lenient(run: Any) -> tuple[tuple[str, str], ...]:
    """Return what the session says of files that are gone; an option of a source comes after it and counts more."""
    return (("ignoreMissingFiles", str(run.sparkSession().conf().get("spark.sql.files.ignoreMissingFiles"))),)


def _session_partitions(run: Any) -> int:
    """Return the shuffle partitions that the session asks for; the run itself works on a copy of its settings."""
    return int(run.sparkSession().conf().get(_PARTITIONS))
