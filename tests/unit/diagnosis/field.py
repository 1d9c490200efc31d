"""Records as they are found in the field, made up, with what an expert says of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.unit.diagnosis.made import iso

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

ID, RUN = "6d0c2f4e-1b7a-4f0e-9a51-3d2b8c7e9f10", "b8a41e52-77c3-4d1c-8f0d-0a9e6c5d4b32"
FOREACH_BATCH = "ForeachBatchSink"
BEGIN = 1_762_153_200_000.0  # 2025-11-03T07:00:00Z
CONSOLE = "org.apache.spark.sql.execution.streaming.ConsoleTable$@3f1c2a7b"
DELTA = "DeltaSink[s3://lake/silver/orders]"


class Case(NamedTuple):
    """Records and what is to be said of them."""

    records: list[dict[str, Any]]
    must: AbstractSet[str] = frozenset()
    must_any: AbstractSet[str] = frozenset()
    must_not: AbstractSet[str] = frozenset()
    verdict: AbstractSet[str] = frozenset()
    quiet: bool = False
    trigger: Any = None


def kafka(start, end, latest=None, *, rows=None, topic="clicks", parts=1, **metrics):
    """Return a Kafka source whose partitions move from ``start`` to ``end`` each."""

    def offsets(value):
        return None if value is None else {topic: {str(i): value for i in range(parts)}}

    return {
        "description": f"KafkaV2[Subscribe[{topic}]]",
        "startOffset": offsets(start),
        "endOffset": offsets(end),
        "latestOffset": offsets(latest),
        "numInputRows": (end - (start or 0)) * parts if rows is None else rows,
        "metrics": metrics,
    }


def files(rows, at=5, path="s3a://raw/events"):
    """Return a file source."""
    return {
        "description": f"FileStreamSource[{path}]",
        "startOffset": {"logOffset": at - 1},
        "endOffset": {"logOffset": at},
        "latestOffset": None,
        "numInputRows": rows,
    }


def operator(name="stateStoreSave", total=40, updated=10, dropped=0, partitions=8, **more):
    """Return a state operator."""
    return {
        "operatorName": name,
        "numRowsTotal": total,
        "numRowsUpdated": updated,
        "numRowsRemoved": 0,
        "allUpdatesTimeMs": 60,
        "allRemovalsTimeMs": 3,
        "commitTimeMs": 30 * partitions,
        "memoryUsedBytes": 180_000,
        "numRowsDroppedByWatermark": dropped,
        "numShufflePartitions": partitions,
        "numStateStoreInstances": partitions,
        "customMetrics": {
            "loadedMapCacheHitCount": 40,
            "loadedMapCacheMissCount": 0,
            "stateOnCurrentVersionSizeBytes": 9,
        },
        **more,
    }


def batch(number=57, ms=900, source=None, *, sink=CONSOLE, state=(), at="2025-11-03T07:15:00.000Z", parts=None, **more):
    """Return one record: ``ms`` in all, most of it in addBatch."""
    source = kafka(4000, 4120, 4120) if source is None else source
    sources = source if isinstance(source, list) else [source]
    rows = sum(one["numInputRows"] or 0 for one in sources)
    times = {
        "latestOffset": 6,
        "getBatch": 1,
        "queryPlanning": 24,
        "walCommit": 31,
        "commitOffsets": 27,
        **(parts or {}),
    }
    times.setdefault("addBatch", max(ms - sum(times.values()), 0))
    return {
        "id": ID,
        "runId": RUN,
        "name": None,
        "timestamp": at,
        "batchId": number,
        "batchDuration": ms,
        "numInputRows": rows,
        "inputRowsPerSecond": 12.0 if number else 0.0,
        "processedRowsPerSecond": rows * 1000 / ms,
        "durationMs": {**times, "triggerExecution": ms},
        "eventTime": {},
        "stateOperators": list(state),
        "sources": sources,
        "sink": {"description": sink, "numOutputRows": None},
        **more,
    }


def idle(at="2025-11-03T07:20:00.000Z", **more):
    """Return a trigger that found nothing."""
    made = batch(ms=9, source=kafka(4120, 4120, 4120), at=at, **more)
    made["durationMs"] = {"latestOffset": 4, "triggerExecution": 9}
    return made


def several(count, step, made, first=10):
    """Return ``count`` batches that start ``step`` ms apart; ``made(i)`` gives their keywords."""
    return [batch(first + i, at=iso(BEGIN + step * i), **made(i)) for i in range(count)]


def moving(i, rows=500, latest=None, **more):
    """Return the keywords of batch ``i`` of a Kafka query with ``rows`` a batch; ``latest`` rows wait."""
    start = 100_000 + rows * i
    return {"source": kafka(start, start + rows, None if latest is None else start + rows + latest), **more}


EVENT = {
    "watermark": "2025-11-03T07:04:00.000Z",
    "max": "2025-11-03T07:14:40.000Z",
    "avg": "2025-11-03T07:14:10.000Z",
    "min": "2025-11-03T07:13:50.000Z",
}
LAG = {"falling-behind", "at-capacity", "backlog-growing"}
FLOW = {"falling-behind", "at-capacity", "backlog-growing", "rate-limit-reached", "overhead-bound", "duration-trend"}


def rocksdb(total=9_000_000, updated=40_000, **more):
    metrics = {
        "rocksdbCommitFlushLatency": 90,
        "rocksdbPutCount": 80_000,
        "rocksdbGetLatency": 400,
        "SnapshotLastUploaded": 3,
    }
    return operator(
        "stateStoreSave", total, updated, partitions=200, memoryUsedBytes=3_400_000_000, customMetrics=metrics, **more
    )
