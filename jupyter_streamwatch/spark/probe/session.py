"""What runs in a session, what Spark says it is doing, and what the session is."""

from __future__ import annotations

import platform
import time
from typing import Any

from jupyter_streamwatch.model.history import RunningBatch, Status
from jupyter_streamwatch.spark import fallback, jvm
from jupyter_streamwatch.spark.bounded import ask
from jupyter_streamwatch.text.redaction import redact

_CONF = {
    "Master": "spark.master",
    "Application": "spark.app.name",
    "Application id": "spark.app.id",
    "Scheduler": "spark.scheduler.mode",
    "Shuffle partitions": "spark.sql.shuffle.partitions",
    "State store": "spark.sql.streaming.stateStore.providerClass",
}


def status(query: Any) -> Status | None:
    """Return what Spark says the query is doing (``query.status``); None when it does not answer within 5 s."""

    def look() -> Status:
        said = query.status
        return Status(
            message=str(said["message"]),
            isDataAvailable=bool(said["isDataAvailable"]),
            isTriggerActive=bool(said["isTriggerActive"]),
            seen=time.time() * 1_000.0,
        )

    return ask(query, look, None, seconds=5.0)


def reported(query: Any, batch: RunningBatch) -> bool:
    """Say whether Spark has reported this batch although its event has not come: it runs no longer.

    PySpark hands over the events of Connect on one thread, so a listener of the user that waits holds up all others.
    """

    def look() -> bool:
        last = query.lastProgress
        return last is not None and (batch.batchId is None or int(last["batchId"]) >= batch.batchId)

    return bool(ask(query, look, None, seconds=5.0))


def active(spark: Any) -> list[tuple[str, str, str | None, Any]]:
    """List the active queries as (id, runId, name, query).

    A classic session shares its JVM with those that ``newSession()`` made: theirs come last. They run, and can be
    asked, but send no events to listeners of this session.
    """
    empty: list[tuple[str, str, str | None, Any]] = []

    def look() -> list[tuple[str, str, str | None, Any]]:
        if not jvm.is_connect(spark) and jvm.gateway(spark) is None:
            return []
        own = [_described(query) for query in spark.streams.active]
        seen = {runId for _, runId, _, _ in own}
        return own + [query for query in _elsewhere(spark) if query[1] not in seen]

    return ask(spark, look, empty, seconds=10.0)


def environment(spark: Any) -> dict[str, str]:
    """Return versions and settings that matter when somebody else reads a report; secrets are redacted."""
    known = {"Python": platform.python_version()}

    def look() -> dict[str, str]:
        import pyspark

        gateway = jvm.gateway(spark)
        found = {"Spark": str(spark.version), "PySpark": str(pyspark.__version__)}
        if gateway is not None:
            found["Java"] = str(gateway.jvm.java.lang.System.getProperty("java.version"))
            found["Cores"] = str(spark.sparkContext.defaultParallelism)
        found["Session"] = "Connect" if jvm.is_connect(spark) else "classic"
        return found | {label: value for label, name in _CONF.items() if (value := _setting(spark, name))}

    return ask(spark, lambda: known | {key: redact(value) for key, value in look().items()}, known, seconds=5.0)


def _described(query: Any) -> tuple[str, str, str | None, Any]:
    return str(query.id), str(query.runId), query.name, query


def _elsewhere(spark: Any) -> list[tuple[str, str, str | None, Any]]:
    """Return the active queries of all sessions of the JVM."""
    if jvm.is_connect(spark):
        return []
    try:
        from pyspark.sql.streaming.query import StreamingQuery

        running = spark._jsparkSession.sharedState().activeStreamingQueries()  # noqa: SLF001 - there is no public way
        return [_described(StreamingQuery(run)) for run in list(running.values())]
    except Exception:
        fallback.taken()
        return []


def _setting(spark: Any, name: str) -> str | None:
    try:
        value = spark.conf.get(name, None)
    except Exception:
        fallback.taken()
        return None
    return None if value is None else str(value)
