"""Records as they come from the field: every version, source, sink and kind of state; in logs, shells and comments."""

from __future__ import annotations

import json
import pprint

import pytest

import jupyter_streamwatch as sw

ID, RUN = "8a1f3c5e-2b4d-4f6a-9c8e-7d6b5a493827", "0f1e2d3c-4b5a-4697-8877-665544332211"
VERSIONS = [(2, 2), (2, 4), (3, 0), (3, 1), (3, 2), (3, 5), (4, 3)]
SOURCES = {
    "KafkaV2[Subscribe[t]]": ({"t": {"0": 100, "1": 7}}, {"t": {"0": 800, "1": 107}}),
    "FileStreamSource[hdfs://nn/in]": ({"logOffset": 4}, {"logOffset": 5}),
    "RateStreamV2[rowsPerSecond=400, rampUpTimeSeconds=0, numPartitions=default": (10, 12),
    "TextSocketV2[host: localhost, port: 9999]": (5, 805),
    "DeltaSource[s3://lake/t]": ({"reservoirVersion": 55, "index": -1}, {"reservoirVersion": 56, "index": -1}),
    "CloudFilesSource[/mnt/in]": ({"seqNum": 3}, {"seqNum": 9}),
    "KinesisV2[s]": ([{"shard": "0", "lastSeqNum": "49"}], [{"shard": "0", "lastSeqNum": "50"}]),
}
SINKS = (
    "org.apache.spark.sql.execution.streaming.ConsoleTable$@6b",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable@4d",
    "DeltaSink[s3://lake/o]",
    "ForeachBatchSink",
    "FileSink[/out]",
    "MemorySink",
)
STATES = ([], ["stateStoreSave"], ["dedupe"], ["symmetricHashJoin"], ["stateStoreSave", "dedupe"])


def record(
    version=(3, 5), source="KafkaV2[Subscribe[t]]", sink="ForeachBatchSink", state=(), *, ran=True, rows=800, **changes
):
    """A batch as that version of Spark reports it; changes: partitions, total, dropped, times, ms, batch, rate."""
    start, end = SOURCES[source]
    partitions, ms, batch = (
        changes.get(name, usual) for name, usual in (("partitions", 4), ("ms", 900), ("batch", 12))
    )
    listing = "latestOffset" if version >= (3, 0) else "getOffset"
    durations = {"addBatch": ms * 9 // 10, "getBatch": 2, listing: 5, "triggerExecution": ms, "walCommit": 20}
    operators = []
    for name in state:
        operator = {"numRowsTotal": changes.get("total", 90), "numRowsUpdated": min(rows, 60), "memoryUsedBytes": 9000}
        stores = partitions * (4 if "Join" in name else 1)
        if version >= (2, 4):
            hits = {"loadedMapCacheHitCount": 2 * stores * batch, "loadedMapCacheMissCount": 0}
            operator["customMetrics"] = changes.get("metrics", hits)
        if version >= (3, 0):
            operator["numLateInputs" if version == (3, 0) else "numRowsDroppedByWatermark"] = changes.get("dropped", 0)
        if version >= (3, 2):
            operator |= {
                "operatorName": name,
                "commitTimeMs": partitions * 25,
                "numShufflePartitions": partitions,
                "numStateStoreInstances": stores,
            }
        operators.append(operator)
    came = rows * changes.get("times", 1) if ran else 0
    rates = {"inputRowsPerSecond": changes.get("rate", came / 2), "processedRowsPerSecond": came / ms * 1000}
    made = {"id": ID, "runId": RUN, "name": None, "timestamp": "2024-05-06T10:11:12.345Z", "batchId": batch}
    made |= {"numInputRows": came, **rates, "durationMs": durations if ran else {listing: 3, "triggerExecution": 3}}
    if state:
        made["eventTime"] = {"watermark": "2024-05-06T10:00:10.000Z"}
    made["stateOperators"] = operators
    offsets = {"startOffset": start if batch else None, "endOffset": end if ran else start}
    made["sources"] = [{"description": source, **offsets, "numInputRows": came, **rates}]
    made["sink"] = {"description": sink, **({"numOutputRows": -1} if version >= (3, 0) else {})}
    return made


def alarms(text):
    hints = [hint for diagnosis in sw.load(text).diagnose().values() for hint in diagnosis.hints]
    return [hint.code for hint in hints if hint.severity != "info"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("state", STATES, ids=str)
def test_a_healthy_record_raises_no_alarm(version, state):
    """Slow or fast, small or huge, behind its input rate or after a pause: one healthy record proves nothing bad."""
    for source in SOURCES:
        for sink in SINKS:
            for changes in (
                {},
                {"ran": False},
                {"ms": 4000, "rate": 900.0},
                {"ms": 900, "rate": 90_000.0},
                {"rows": 3, "ms": 400, "partitions": 2} if "Rate" not in source and "Kafka" not in source else {},
                {"batch": 0, "rows": 500_000, "ms": 95_000, "rate": 0.0, "partitions": 200, "total": 300_000},
            ):
                made = record(version, source, sink, state, **changes)
                assert alarms(json.dumps(made)) == [], (source, sink, changes)


@pytest.mark.parametrize("version", VERSIONS[2:])
@pytest.mark.parametrize("dropped", [1, 40])
def test_dropped_rows_are_a_proof(version, dropped):
    """One batch that dropped rows tells, under the name that Spark 3.0 had, too."""
    made = record(version, state=["stateStoreSave"], dropped=dropped, rows=800)
    assert "late-rows-dropped" in alarms(json.dumps(made))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("times", [2, 3, 6])
def test_rows_of_several_times_the_offsets_are_a_proof(version, times):
    """A foreachBatch function that computes its batch several times."""
    assert alarms(json.dumps(record(version, times=times, ms=3000))) == ["batch-recomputed"]
    assert alarms(json.dumps(record(version, sink=SINKS[0], times=times, ms=3000))) == []


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize("state", [STATES[1], STATES[2], STATES[4]], ids=str)
def test_partitions_against_rows_are_a_proof(version, state):
    """200 partitions for 40 rows that take seconds; before Spark 3.2 their number is inferred."""
    made = record(version, source=list(SOURCES)[1], state=state, rows=40, partitions=200, ms=6000)
    assert "too-many-partitions" in alarms(json.dumps(made))


def test_the_default_partitions_show_after_a_restart():
    """Before Spark 3.2 the counts of the state's cache begin again: 200 misses are the default number."""
    for metrics, expected in (
        ({"loadedMapCacheHitCount": 200, "loadedMapCacheMissCount": 200}, ["too-many-partitions"]),
        ({"loadedMapCacheHitCount": 1400, "loadedMapCacheMissCount": 200}, ["too-many-partitions"]),
        ({"loadedMapCacheHitCount": 8, "loadedMapCacheMissCount": 8}, []),
        ({"loadedMapCacheHitCount": 333, "loadedMapCacheMissCount": 200}, []),
    ):
        made = record(
            (2, 4), source=list(SOURCES)[1], state=["stateStoreSave"], rows=5, ms=16_000, metrics=metrics, batch=93
        )
        assert alarms(json.dumps(made)) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("sink", ["ForeachBatchSink", "ForeachSink"])
def test_one_extreme_duration_is_a_proof(version, sink):
    """Minutes for some hundred rows in a function of the user."""
    assert set(alarms(json.dumps(record(version, sink=sink, ms=370_000)))) & {"slow-user-code", "slow-sink"}


def test_state_operators_alone():
    """``lastProgress["stateOperators"]`` has no batch, but proves that rows were dropped."""
    operators = [{"operatorName": "dedupe", "numRowsTotal": 20, "numRowsUpdated": 2, "numRowsDroppedByWatermark": 3}]
    assert alarms(f">>> q.lastProgress['stateOperators']\n{operators}\n") == ["late-rows-dropped"]
    idle = record(state=["dedupe"], dropped=3, ran=False)
    assert alarms(json.dumps(idle)) == []


def pretty(made):
    return json.dumps(made, indent=2).replace('": ', '" : ')


def lines(made, margin):
    return "".join(f"{margin}{line}\n" for line in f"INFO Streaming query made progress: {pretty(made)}".split("\n"))


FORMS = {
    "driver log": lambda made: (
        f"24/05/06 10:11:14 INFO MicroBatchExecution: Streaming query made progress: {pretty(made)}\n"
    ),
    "json log": lambda made: json.dumps({"level": "INFO", "msg": f"Streaming query made progress: {pretty(made)}"}),
    "python": lambda made: f"{made}\n",
    "pprint": lambda made: f"Out[3]: {pprint.pformat(made)}\n",
    "quoted": lambda made: lines(made, "> "),
    "commented": lambda made: lines(made, "# "),
    "in a doc comment": lambda made: f"/**\n{lines(made, '     * ')}     */",
    "container log": lambda made: lines(made, "2024-05-06T10:11:14.123456789Z stdout F "),
    "no indentation": lambda made: "\n".join(line.strip() for line in pretty(made).split("\n")),
    "string in json": lambda made: json.dumps({"progressJson": json.dumps(made)}),
    "shell": lambda made: (
        f">>> q.status\n{{'message': 'Processing new data'}}\n>>> q.lastProgress\n{made}\n>>> q.stop()\n"
    ),
    "in a list": lambda made: f"[{made}]\n",
}


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("version", VERSIONS)
def test_what_surrounds_a_record_changes_nothing(form, version):
    """The same record, rows, kind, verdict and hints, wherever it was copied from."""
    for changes in ({"times": 3, "dropped": 2, "partitions": 200, "ms": 6000}, {"ran": False}, {}):
        made = record(version, state=["dedupe"], **changes)
        expected, found = sw.load(json.dumps(made)), sw.load(FORMS[form](made))
        assert [p.to_dict() for p in found.progress] == [p.to_dict() for p in expected.progress]
        assert found.diagnose(ID).to_dict() == expected.diagnose(ID).to_dict()


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_record_that_is_cut_raises_no_alarm(form):
    """Cut at any place it gives what is certain: no other number of rows, and no alarm."""
    text = FORMS[form](record((3, 5), source="FileStreamSource[hdfs://nn/in]", state=["dedupe"]))
    for end in range(20, len(text), 37):
        rec = sw.load(text[:end] + " {")
        assert {p.numInputRows for p in rec.progress} <= {None, 800}, end
        assert alarms(text[:end] + " {") == [], end


def test_an_excerpt_of_a_record():
    """People leave out what they find boring; the rows that they left are there."""
    log = 'Streaming query made progress: {\n  "numInputRows" : 934,\n  "processedRowsPerSecond" : 317.69,\n  ...\n}\n'
    rec = sw.load(f"Output:\n24/04/20 02:36:33 INFO MicroBatchExecution: {log}")
    assert [(p.kind, p.numInputRows) for p in rec.progress] == [("data", 934)]
    assert rec.skipped


def test_a_part_whose_offsets_or_state_moved_is_not_idle():
    """Offsets alone, or times with lines left out, without the rows: whether a batch ran is not known."""
    offsets = '"startOffset" : { "orders" : { "0" : 4, "1" : 9 } },\n"endOffset" : { "orders" : { "0" : 6, "1" : 12 } }'
    elided = """{
  "id" : "6d6f3c1e-0b0b-4a7f-9a43-2f1f5b1c7e11",
  ....
  "durationMs" : {
    "triggerExecution" : 1912,
    ....
  },
  "stateOperators" : [ {
    "numRowsTotal" : 12,
    "numRowsUpdated" : 3
  } ],
  ....
}"""
    for text in (offsets, elided):
        [diagnosis] = sw.load(text).diagnose().values()
        assert (diagnosis.verdict, diagnosis.hints) == ("running", ())


def test_an_excerpt_without_rows_and_times_is_not_idle():
    """Nothing in it says that no batch ran; Spark's own idle event says so."""
    shown = {"id": ID, "runId": RUN, "timestamp": "2026-03-02T08:00:00.000Z", "batchId": 7}
    rec = sw.load("INFO Streaming query made progress: " + pretty(shown).replace("\n}", ",\n  ...\n}\n"))
    assert [diagnosis.verdict for diagnosis in rec.diagnose().values()] == ["running"]
    event = {"Event": "org.apache.spark.sql.streaming.StreamingQueryListener$QueryIdleEvent", "id": ID, "runId": RUN}
    rec = sw.load(json.dumps({**event, "timestamp": "2026-03-02T08:00:00.000Z"}))
    assert [diagnosis.verdict for diagnosis in rec.diagnose().values()] == ["idle"]


@pytest.mark.parametrize(
    ("low", "mean", "high", "expected"),
    [
        ("2024-05-06T10:11:00.000Z", "2104-01-01T00:00:00.000Z", "9999-12-31T00:00:00.000Z", ["watermark-ahead"]),
        ("2024-05-06T10:11:00.000Z", "2024-05-06T10:25:00.000Z", "2024-05-06T13:00:00.000Z", ["watermark-ahead"]),
        ("2024-05-06T10:11:00.000Z", "2024-05-06T12:05:00.000Z", "2024-05-06T12:11:00.000Z", []),
        ("2024-05-06T12:00:00.000Z", "2024-05-06T12:05:00.000Z", "2024-05-06T12:11:00.000Z", []),
        ("2024-05-06T10:10:00.000Z", "2024-05-06T10:11:00.000Z", "2024-05-06T10:12:30.000Z", []),
    ],
)
def test_one_far_row_is_seen_in_its_own_batch(low, mean, high, expected):
    """A far row pulls the mean with it, and yet is one row; a clock that is wrong moves all of them."""
    made = record(state=["stateStoreSave"])
    made["eventTime"] |= {"min": low, "avg": mean, "max": high}
    assert alarms(json.dumps(made)) == expected
