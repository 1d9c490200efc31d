"""Texts of any length that are read: logs as drivers write them, and what would make a careless reader go back."""

# ruff: noqa: E501 - lines of a log are as long as they are

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ID, RUN = "5b0c7d1e-3f52-4a86-9d17-c2e84f60a9b3", "e91a6f24-70bd-4c35-8a6e-1d3f5b7c9024"
_AT = "26/03/01 10:00:00"


def record(batch: int) -> dict:
    """A batch of a stateful query on Kafka, as Spark reports it."""
    return {
        "id": ID,
        "runId": RUN,
        "name": "orders",
        "timestamp": f"2026-03-{1 + batch // 8640 % 28:02}T{batch // 360 % 24:02}:{batch // 6 % 60:02}:{batch % 6}0.000Z",
        "batchId": batch,
        "batchDuration": 4300 + batch % 700,
        "numInputRows": 1300,
        "inputRowsPerSecond": 130.5,
        "processedRowsPerSecond": 1000.25,
        "durationMs": {
            "addBatch": 4240, "commitOffsets": 31, "getBatch": 3, "latestOffset": 7, "queryPlanning": 12,
            "triggerExecution": 4300 + batch % 700, "walCommit": 21,
        },
        "eventTime": {"avg": "2026-03-01T09:59:30.000Z", "max": "2026-03-01T10:00:00.000Z", "min": "2026-03-01T09:59:00.000Z", "watermark": "2026-03-01T09:50:00.000Z"},
        "stateOperators": [
            {
                "operatorName": "stateStoreSave", "numRowsTotal": 70_000 + batch, "numRowsUpdated": 300, "numRowsRemoved": 3,
                "allUpdatesTimeMs": 90, "allRemovalsTimeMs": 4, "commitTimeMs": 800, "memoryUsedBytes": 9_000_000,
                "numRowsDroppedByWatermark": 0, "numShufflePartitions": 200, "numStateStoreInstances": 200,
                "customMetrics": {"loadedMapCacheHitCount": 800, "loadedMapCacheMissCount": 0, "stateOnCurrentVersionSizeBytes": 8_000_000},
            }
        ],
        "sources": [
            {
                "description": "KafkaV2[Subscribe[orders]]",
                "startOffset": {"orders": {str(part): 9000 + 100 * batch for part in range(12)}},
                "endOffset": {"orders": {str(part): 9100 + 100 * batch for part in range(12)}},
                "latestOffset": {"orders": {str(part): 9100 + 100 * batch for part in range(12)}},
                "numInputRows": 1300, "inputRowsPerSecond": 130.5, "processedRowsPerSecond": 1000.25,
                "metrics": {"avgOffsetsBehindLatest": "0.0", "maxOffsetsBehindLatest": "0", "minOffsetsBehindLatest": "0"},
            }
        ],
        "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
    }  # fmt: skip


def pretty(batch: int) -> str:
    """A record as Spark logs it."""
    return json.dumps(record(batch), indent=2, separators=(",", " : "))


def progress(batch: int) -> str:
    """A record with the log line that opens it."""
    return f"{_AT} INFO MicroBatchExecution: Streaming query made progress: {pretty(batch)}\n"


def _around(batch: int) -> str:
    """What Spark logs about one batch at INFO, beside its progress."""
    offsets = json.dumps({"orders": {str(part): 9100 + 100 * batch for part in range(12)}})
    lines = [
        f"MicroBatchExecution: Committed offsets for batch {batch}. Metadata OffsetSeqMetadata(0,{1773000000000 + batch}, Map(spark.sql.streaming.stateStore.providerClass -> org.apache.spark.sql.execution.streaming.state.HDFS, spark.sql.shuffle.partitions -> 200))",
        f"KafkaOffsetReaderAdmin: Partitions added: Map(), latestOffset: {offsets}",
        f"StateStore: Retrieved reference to StateStoreCoordinator; queryRunId={RUN}, batchId={batch}",
        f"IncrementalExecution: Current batch timestamp = {1773000000000 + batch}",
        f"MicroBatchExecution: Resuming at batch {batch} with committed offsets {{KafkaV2[Subscribe[orders]]: {offsets}}}",
    ]
    lines += [
        f"TaskSetManager: Finished task {task}.0 in stage {batch}.0 (TID {task}) in 31 ms on 10.0.0.7 ({task + 1}/200)"
        for task in range(40)
    ]
    lines += [
        f"BlockManagerInfo: Removed broadcast_{batch}_piece{piece} on 10.0.0.7:44123 in memory (size: 23.1 KiB, free: 2.1 GiB)"
        for piece in range(20)
    ]
    lines.append(f"SparkContext: Created broadcast {batch} from start at <unknown>:0 {{x}} [y]")
    return "".join(f"{_AT} INFO {line}\n" for line in lines)


def driver_log(size: int) -> str:
    """A driver log of a streaming query of that many characters: about a fifth of it is progress."""
    parts, length, batch = [], 0, 0
    while length < size:
        part = _around(batch) + progress(batch)
        parts.append(part)
        length += len(part)
        batch += 1
    return "".join(parts)


def event_log(batches: int) -> str:
    """An event log with so many batches."""
    lines = [{"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"}]
    event = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
    for batch in range(batches):
        lines += [{"Event": "SparkListenerTaskEnd", "Task": "x" * 3000}] * 2
        lines.append({"Event": event, "progress": record(batch)})
    return "\n".join(map(json.dumps, lines)) + "\n"


def _numbered(line: str) -> Callable[[int], str]:
    return lambda at: line.replace("№", str(at))


_RANDOM = 'processing "runId" : , [x] {y} = (z) batchId->'
KINDS: dict[str, Callable[[int], str]] = {
    "progress, pretty": progress,
    "progress, a line each": lambda at: json.dumps(record(at)) + "\n",
    "progress, as Python prints it": lambda at: repr(record(at)) + "\n",
    "driver log": lambda at: _around(at) + progress(at),
    "driver log without progress": _around,
    "lines: processing batchId=N": _numbered("processing batchId=№\n"),
    "log lines: batchId=N": _numbered(f"{_AT} INFO App: processing batchId=№ now\n"),
    "log lines: batchId and timestamp": _numbered(f"{_AT} INFO App: batchId=№ timestamp=1773000000№ ok\n"),
    "log lines: Starting": _numbered(f"{_AT} INFO M: Starting orders [id = {ID}, runId = {RUN}]. Use file:/cp/№\n"),
    "log lines: runId and batchId": _numbered(f"{_AT} INFO M: run [id = {ID}, runId = {RUN}, batchId = №] goes on\n"),
    "log lines: terminated": _numbered(f"Query a [id = {ID}, runId = {RUN}] terminated with error\njava.lang.E: №\n"),
    "log lines: falling behind": _numbered(
        f"{_AT} WARN ProcessingTimeExecutor: Current batch is falling behind. The trigger interval is 20000"
        " milliseconds, but spent 2№ milliseconds\n"
    ),
    "log lines with an offset each": _numbered(f'{_AT} INFO App: startOffset {{"orders":{{"0":№}}}} endOffset: № {{\n'),
    "lines of names and values": _numbered(f"event=progress runId={RUN} batchId=№ numInputRows=12\n"),
    "source code": _numbered("row['batchId'] = p.batchId  # №\nif p.numInputRows: total['numInputRows'] += №\n"),
    "outline without an end": _numbered("batchId: №\n  numInputRows: x\n"),
    "outline of pairs": _numbered("batchId: №\nnumInputRows: №\n"),
    "outline: one name": _numbered("numInputRows: №\n"),
    "metrics: state operators": _numbered("numRowsTotal: №, numRowsUpdated: №\n"),
    'open: {"runId":': lambda _: '{"runId":',
    'open: {"batchId":1,"numInputRows":': lambda _: '{"batchId":1,"numInputRows":',
    'open, lines: {"batchId":1, "sources": [': lambda _: '{"batchId" : 1,\n "sources" : [\n',
    "open: Row(batchId=": lambda _: "Row(batchId=1, durationMs=",
    "open: {batchId=1, durationMs={": lambda _: "{batchId=1, durationMs={addBatch=",
    "open: {a: 1 batchId: 1": lambda _: "{a: 1 batchId: 1, numInputRows: 2, ",
    "open, lines: {a: 1 batchId: 1": lambda _: "{a: 1,\n batchId: 1, numInputRows: 2,\n",
    "closed early": lambda _: '} ] "batchId" : 1, "numInputRows" : }',
    "brackets: [": lambda _: "[",
    "brackets: {": lambda _: "{",
    "brackets: (": lambda _: "(runId=",
    "quotes": lambda _: '"batchId":"',
    "quotes, single": lambda _: "{'batchId':'",
    "escaped quotes": lambda _: '{\\"batchId\\":\\"',
    "backslashes": lambda _: '{"batchId":"\\\\\\',
    "comments": lambda _: "/* batchId: 1, numInputRows: 2 ",
    "markup comments": lambda _: "<!-- batchId: 1, numInputRows: 2 ",
    "lines of a comment": _numbered("# batchId : №, durationMs\n"),
    "one long line": lambda _: "batchId=1 durationMs ",
    "one long word": lambda _: "batchIdnumInputRows",
    "spaces": lambda _: "batchId      \t     ",
    "line breaks": lambda _: "\n",
    "carriage returns": lambda _: "\r",
    "markup": lambda _: '<span class="x">&quot;runId&quot;: <br>',
    "curly quotes": lambda _: "“runId”: “",
    "colours": lambda _: "\x1b[34mbatchId\x1b[0m : 1, numInputRows ",
    "calls": lambda _: "Row(Map(batchId -> 1, a(",
    "wrapped at 80": lambda at: f'{"x" * 62}batchId: {at:09}'[:80] + "\n",
    "cut records": lambda at: pretty(at)[:700] + "\n",
    "records without their beginning": lambda at: pretty(at)[300:] + "\n",
    "records in strings": lambda at: json.dumps(pretty(at)) + "\n",
    "records in strings, cut": lambda at: json.dumps(pretty(at))[:900] + "\n",
    "shipped line by line": lambda at: "".join(json.dumps({"message": line}) + "\n" for line in pretty(at).split("\n")),
    "shipped after a prefix": lambda at: "".join(
        f"pod-1 stdout F {json.dumps({'message': line})}\n" for line in pretty(at).split("\n")
    ),
    "signs of all kinds": lambda at: _RANDOM[at * 7 % 40 :] + _RANDOM[: at * 3 % 17],
}  # fmt: skip


def of(kind: str, size: int) -> str:
    """Text of a kind, of just that many characters."""
    parts, length, at = [], 0, 0
    while length < size:
        part = KINDS[kind](at)
        parts.append(part)
        length += len(part)
        at += 1
    return "".join(parts)[:size]
