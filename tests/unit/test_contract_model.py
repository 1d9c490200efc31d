"""The public API as its users know it: records and histories."""

from __future__ import annotations

import json
import math
from datetime import timedelta

import numpy as np
import pytest

import jupyter_streamwatch as sw

ID, RUN = "7d0c1f7e-5a11-4c1e-9a5e-0f2a6f3b1c20", "1b9ad0a4-6a52-4c3c-8c35-6a9ef0f7a001"
COLUMNS = [
    "batchId",
    "runId",
    "kind",
    "timestamp",
    "batchDuration",
    "numInputRows",
    "inputRowsPerSecond",
    "processedRowsPerSecond",
    "durationMs.addBatch",
    "durationMs.triggerExecution",
    "eventTime.watermark",
    "eventTime.max",
    "state.numRowsTotal",
    "state.numRowsUpdated",
    "state.numRowsRemoved",
    "state.numRowsDroppedByWatermark",
    "state.memoryUsedBytes",
    "backlog",
    "count",
]


def record(batch: int = 0, rows: int = 40, **changes: object) -> dict:
    """A stateful Kafka batch as Spark 4 sends it."""
    end = {"clicks": {"0": 1000 + 40 * batch, "1": 900}}
    made = {
        "id": ID,
        "runId": RUN,
        "name": "clicks",
        "timestamp": f"2026-03-02T08:00:{2 * batch:02}.000Z",
        "batchId": batch,
        "batchDuration": 700,
        "numInputRows": rows,
        "inputRowsPerSecond": rows / 2,
        "processedRowsPerSecond": rows / 0.7,
        "durationMs": {
            "addBatch": 500,
            "commitOffsets": 30,
            "getBatch": 2,
            "latestOffset": 20,
            "queryPlanning": 60,
            "triggerExecution": 700,
            "walCommit": 40,
        },
        "eventTime": {
            "avg": "2026-03-02T07:59:30.000Z",
            "max": "2026-03-02T08:00:00.000Z",
            "min": "2026-03-02T07:59:00.000Z",
            "watermark": "2026-03-02T07:49:00.000Z" if batch else "1970-01-01T00:00:00.000Z",
        },
        "stateOperators": [
            {
                "operatorName": "stateStoreSave",
                "numRowsTotal": 12,
                "numRowsUpdated": 4,
                "numRowsRemoved": 1,
                "allUpdatesTimeMs": 20,
                "allRemovalsTimeMs": 3,
                "commitTimeMs": 90,
                "memoryUsedBytes": 4000,
                "numRowsDroppedByWatermark": 0,
                "numShufflePartitions": 4,
                "numStateStoreInstances": 4,
                "customMetrics": {"loadedMapCacheHitCount": 8},
            }
        ]
        * 2,
        "sources": [
            {
                "description": "KafkaV2[Subscribe[clicks]]",
                "startOffset": {"clicks": {"0": 960 + 40 * batch, "1": 900}},
                "endOffset": end,
                "latestOffset": {"clicks": {"0": 1005 + 40 * batch, "1": 902}},
                "numInputRows": rows,
                "inputRowsPerSecond": rows / 2,
                "processedRowsPerSecond": rows / 0.7,
                "metrics": {"avgOffsetsBehindLatest": "3.5", "maxOffsetsBehindLatest": "5"},
            }
        ],
        "sink": {"description": "org.apache.spark.sql.execution.streaming.ConsoleTable$@7e1", "numOutputRows": 4},
        "observedMetrics": {},
    }
    return {**made, **changes}


def history(*records: dict) -> sw.History:
    return sw.load(json.dumps(list(records))).queries[ID]


def test_a_record_has_the_names_of_pyspark():
    """Attributes and items of a record and of its nested parts are those of PySpark's own classes."""
    listener = pytest.importorskip("pyspark.sql.streaming.listener")
    text = json.dumps(record())
    p, q = sw.parse(text), listener.StreamingQueryProgress.fromJson(json.loads(text))
    pairs = [(p, q), (p.sources[0], q.sources[0]), (p.stateOperators[0], q.stateOperators[0]), (p.sink, q.sink)]
    for ours, theirs in pairs:
        for name in (name for name, value in vars(type(theirs)).items() if isinstance(value, property)):
            assert hasattr(ours, name), name
            if name not in ("json", "prettyJson"):
                assert getattr(ours, name) is ours[name]
        assert json.loads(ours.json) == json.loads(ours.prettyJson) == ours.to_dict()
    assert [p.batchId, p.name, p.numInputRows, p.durationMs, dict(p.eventTime)] == [
        q.batchId,
        q.name,
        q.numInputRows,
        q.durationMs,
        q.eventTime,
    ]
    assert str(q.id) == p.id


def test_code_for_a_dict_of_progress_runs_on_a_record():
    """``lastProgress`` is a dict in PySpark: reading, ``in``, ``get``, ``items`` and unpacking work on a record."""
    p = sw.parse(record(3))
    assert p["durationMs"]["addBatch"] == 500
    assert p["eventTime"]["watermark"][11:16] == "07:49"
    assert p["stateOperators"][0]["numRowsDroppedByWatermark"] == 0
    assert p["sources"][0].get("nothing", 7) == 7
    assert "numInputRows" in p
    assert {**p}["batchId"] == dict(p.items())["batchId"] == 3
    assert sum(s["numInputRows"] for s in p["sources"]) == 40
    with pytest.raises(KeyError):
        p["nothing"]
    with pytest.raises(AttributeError):
        p.batchId = 4


@pytest.mark.parametrize("unknown", [None, "NaN", "Infinity", "-Infinity", float("nan"), float("inf"), "", "n/a"])
def test_what_is_not_finite_is_none(unknown):
    """Missing, NaN and infinite numbers are None wherever they stand, never 0."""
    p = sw.parse(record(inputRowsPerSecond=unknown, processedRowsPerSecond=unknown, sources=[], batchId=unknown))
    assert (p.inputRowsPerSecond, p.processedRowsPerSecond, p.batchId) == (None, None, None)
    p = sw.parse(record(numInputRows=unknown, sources=[{"description": "x", "numInputRows": unknown}]))
    assert (p.numInputRows, p.sources[0].numInputRows) == (None, None)


def test_minus_one_is_none_where_a_count_a_size_or_a_time_is_meant():
    """Spark says -1 where it does not know; offsets of -1 stay, they are values."""
    operator = dict.fromkeys(record()["stateOperators"][0], -1) | {"operatorName": "dedupe", "customMetrics": {"a": -1}}
    source = record()["sources"][0] | {"startOffset": -1, "endOffset": 5, "numInputRows": -1}
    p = sw.parse(
        record(
            stateOperators=[operator],
            sources=[source],
            numInputRows=-1,
            batchDuration=-1,
            durationMs={"addBatch": -1, "triggerExecution": 9},
            sink={"description": "ForeachBatchSink", "numOutputRows": -1},
        )
    )
    assert {name for name in p.stateOperators[0] if p.stateOperators[0][name] not in (None, {})} == {"operatorName"}
    assert p.sources[0].startOffset == -1
    assert p.sources[0].numInputRows is p.numInputRows is p.sink.numOutputRows is None
    assert p.durationMs == {"triggerExecution": 9}
    assert p.batchDuration == 9


def test_numbers_as_text_are_numbers():
    """Kafka's metrics and Connect's values come as text."""
    p = sw.parse(
        record(
            numInputRows="40",
            inputRowsPerSecond="12.5",
            batchId="7",
            durationMs={"addBatch": "500"},
            timestamp="2026-03-02T08:00:00.000Z",
        )
    )
    assert (p.numInputRows, p.inputRowsPerSecond, p.batchId, p.durationMs["addBatch"]) == (40, 12.5, 7, 500)
    assert p.sources[0].metrics == {"avgOffsetsBehindLatest": 3.5, "maxOffsetsBehindLatest": 5}
    assert p.timestamp == "2026-03-02T08:00:00.000Z"
    assert isinstance(p.id, str)


OFFSETS = ({"t": {"0": 5}}, {"t": {"0": 9}})
RAN = {"addBatch": 40, "triggerExecution": 50}


@pytest.mark.parametrize(
    ("rows", "durations", "offsets", "kind"),
    [
        (3, RAN, OFFSETS, "data"),
        (0, RAN, OFFSETS, "data"),  # a foreachBatch function that never reads its frame
        (0, RAN, OFFSETS[:1] * 2, "no-data"),
        (0, RAN, (None, {"t": {"0": 5}}), "data"),
        (0, RAN, (None, None), "no-data"),
        (0, {"latestOffset": 3, "triggerExecution": 3}, OFFSETS[:1] * 2, "idle"),
        (0, {"latestOffset": 3, "triggerExecution": 3}, OFFSETS, "idle"),
        (0, {}, (None, None), "idle"),
        (3, {}, OFFSETS, "data"),
        (0, RAN, ('{"t":{"0":5}}', {"t": {"0": 5}}), "no-data"),
    ],
)
def test_the_kind_of_a_record(rows, durations, offsets, kind):
    """Rows make a data batch, or a batch that ran and moved an offset; without it is no-data; the rest is idle."""
    source = {"description": "x", "startOffset": offsets[0], "endOffset": offsets[1], "numInputRows": rows}
    assert sw.parse(record(numInputRows=rows, durationMs=durations, sources=[source])).kind == kind


def test_a_history_has_a_row_a_batch_in_sparks_words():
    """Idle records are no rows; columns have Spark's names with dots; sums are over the operators."""
    idle = record(2, rows=0, durationMs={"latestOffset": 2, "triggerExecution": 2})
    idle["sources"][0]["startOffset"] = idle["sources"][0]["endOffset"]
    h = history(record(0), record(1), idle)
    assert (h.id, h.name, len(h.runs)) == (ID, "clicks", 1)
    assert set(COLUMNS) <= set(h.batches)
    assert list(h.batches["batchId"]) == [0, 1]
    assert list(h.batches["kind"]) == ["data", "data"]
    assert list(h.batches["runId"]) == [RUN, RUN]
    assert list(h.batches["durationMs.addBatch"]) == [500, 500]
    assert list(h.batches["state.numRowsTotal"]) == [24, 24]
    assert list(h.batches["backlog"]) == [7, 7]
    assert list(h.batches["count"]) == [1, 1]
    assert h.last.batchId == 1
    assert all(t.utcoffset() == timedelta(0) for t in h.batches["timestamp"])
    assert h.batches["eventTime.watermark"][0] is None  # of the epoch: not set yet
    assert h.batches["eventTime.watermark"][1].isoformat() == "2026-03-02T07:49:00+00:00"


def test_unknown_is_nan_or_nat():
    """A column whose number is unknown in a batch has NaN there, times have NaT; nothing is 0."""
    bare = {"id": ID, "runId": RUN, "batchId": 4, "timestamp": "2026-03-02T09:00:00.000Z", "durationMs": RAN}
    h = history(record(0), bare)
    frame = h.to_pandas()
    numbers = [name for name in COLUMNS if h.batches[name].dtype == np.float64 and name[:8] != "duration"]
    assert len(numbers) > 8
    for name in numbers:
        if name != "batchDuration":
            assert math.isnan(h.batches[name][1]), name
            assert math.isnan(frame[name][1]), name
    assert frame["eventTime.watermark"].isna().all()
    assert list(frame["eventTime.max"].isna()) == [False, True]


def test_a_backlog_is_unknown_when_that_of_one_source_is():
    """A sum with an unknown part would be too small."""
    files = {"description": "FileStreamSource[file:/in]", "startOffset": None, "endOffset": {"logOffset": 1}}
    h = history(record(sources=[*record()["sources"], {**files, "numInputRows": 3}]))
    assert math.isnan(h.batches["backlog"][0])


def test_to_pandas():
    """One row a batch, the same columns, times aware in UTC, ids whole numbers."""
    pd = pytest.importorskip("pandas")
    h = history(record(0), record(1), record(2))
    frame = h.to_pandas()
    assert list(frame.columns) == list(h.batches)
    assert len(frame) == 3
    for name in ("timestamp", "eventTime.watermark", "eventTime.max"):
        assert isinstance(frame[name].dtype, pd.DatetimeTZDtype)
        assert str(frame[name].dt.tz) == "UTC"
    assert frame["batchId"].dtype == np.int64
    assert frame["timestamp"][1] == pd.Timestamp("2026-03-02T08:00:02Z")
    assert pd.isna(frame["eventTime.watermark"][0])
    assert frame["durationMs.addBatch"].sum() == 1500
    empty = sw.History(ID).to_pandas()
    assert len(empty) == 0
    assert set(empty.columns) >= {"batchId", "timestamp", "numInputRows"}
    assert isinstance(empty["timestamp"].dtype, pd.DatetimeTZDtype)


def test_a_snapshot_never_changes():
    """What was taken stays as it was; its arrays cannot be written, and it takes no records."""
    h = sw.History(ID)
    h.append(sw.parse(record(0)))
    before = h.snapshot()
    columns = before.batches
    h.append(sw.parse(record(1)))
    assert (len(before.to_pandas()), len(h.to_pandas())) == (1, 2)
    assert before.last.batchId == 0
    assert list(columns["batchId"]) == [0]
    for name in columns:
        with pytest.raises(ValueError, match="read-only"):
            columns[name][0] = columns[name][0]
    with pytest.raises(TypeError):
        before.append(sw.parse(record(2)))


def test_old_batches_are_bins_with_their_count():
    """Rows stay bounded, every batch is counted, and the bins come first."""
    h = sw.History(ID, keep=50)
    for i in range(3000):
        start = f"2026-03-02T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}.000Z"
        h.append(sw.parse(record(i, timestamp=start)))
    frame = h.to_pandas()
    assert frame["count"].sum() == 3000
    assert len(frame) <= 50 + 2000
    assert frame["batchId"].iloc[-1] == 2999
    assert frame["batchId"].iloc[0] == 0
    assert (frame["count"].iloc[-50:] == 1).all()
    assert frame["timestamp"].is_monotonic_increasing
    assert frame["numInputRows"].iloc[0] == 40


def test_to_pandas_with_times_beyond_its_nanoseconds():
    """A row of the year 9999, as people mark "never", takes the watermark with it and breaks no frame."""
    pytest.importorskip("pandas")
    event_time = {"max": "9999-12-31T23:59:59.999Z", "min": "0001-01-01T00:00:00.000Z"}
    frame = history(record(0, eventTime=event_time), record(1)).to_pandas()
    assert frame["eventTime.max"][0].isoformat() == "9999-12-31T23:59:59.999000+00:00"
    assert frame["eventTime.max"][1].isoformat() == "2026-03-02T08:00:00+00:00"
    assert frame["eventTime.watermark"].isna().tolist() == [True, False]
    assert str(frame["eventTime.min"].dt.tz) == "UTC"


def test_watching_what_is_no_session_is_refused():
    """One sentence, before anything is attached."""
    with pytest.raises(TypeError, match="Pass a SparkSession, not int"):
        sw.watch(3)
