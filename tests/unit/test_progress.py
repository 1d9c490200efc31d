"""What ``parse`` makes of records from everywhere."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_streamwatch import testing
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import Progress, epoch_ms, parse
from jupyter_streamwatch.model.trigger import Trigger, TriggerGuess

CASES = Path(__file__).parent.parent / "cases"


def records(name: str) -> list[dict]:
    return json.loads((CASES / name).read_text())


ALL = [record for path in sorted(CASES.glob("0*.json")) for record in records(path.name) if isinstance(record, dict)]
FULL = json.loads(testing.run(2, stateful=True, backlog=7)[1].json)


@pytest.mark.parametrize(
    ("name", "kinds", "rows"),
    [
        ("003-numeric-timestamp.json", ["data"], 3),
        ("010-kafka-assign-foreach-371s.json", ["data"], 191),
        ("018-flatmapgroups-nodata-batch.json", ["data", "no-data", "idle"], 23),
        ("023-autoloader-foreachbatch-idle.json", ["idle"], 0),
        ("026-kinesis-efo-to-delta.json", ["data"], 20),
        ("029-rocksdb-20m-state-rows.json", ["idle"], 0),
        ("045-connect-string-nan-infinity.json", ["data", "data"], 1468),
        ("053-s3-file-foreachbatch-first-batch.json", ["data"], 10000),
        ("058-kafka-to-file-catchup.json", ["data"], 6440),
    ],
)
def test_records_of_the_field_are_read(name, kinds, rows):
    """Every kind of plain JSON record gives its rows and tells data, no-data and idle apart."""
    found = [parse(record) for record in records(name)]
    assert [p.kind for p in found] == kinds
    assert sum(p.numInputRows or 0 for p in found) == rows


def test_a_record_reads_like_the_one_of_pyspark():
    """Attributes and items have PySpark's names, in the nested parts as well; the record is a read-only mapping."""
    p = parse(records("018-flatmapgroups-nodata-batch.json")[0])
    assert p.batchId == p["batchId"] == p.get("batchId") == 0
    assert p.sources[0].description == p["sources"][0]["description"] == "FileStreamSource[file:/D:/data/in]"
    assert p["stateOperators"][0]["customMetrics"]["stateOnCurrentVersionSizeBytes"] == 1160
    assert "batchId" in p
    assert "kind" not in p
    assert p.get("nothing") is None
    assert list(p)[:3] == ["id", "runId", "name"]
    with pytest.raises(KeyError):
        p["nothing"]
    with pytest.raises(AttributeError):
        p.batchId = 1


@pytest.mark.parametrize("record", ALL)
def test_a_record_survives_its_own_json(record):
    """What ``json`` and ``to_dict`` give is read again as the same record."""
    p = parse(record)
    assert parse(p.json) == p == parse(p.to_dict())
    assert parse(p.json.encode()) == p
    assert parse(p) is p


def test_unknown_is_none_and_never_zero():
    """Missing, NaN, infinite, -1 and impossible numbers are None; a number in text is a number."""
    nan = parse(records("045-connect-string-nan-infinity.json")[0])
    assert nan.inputRowsPerSecond is None
    assert nan.processedRowsPerSecond is None
    assert nan.durationMs == {}
    assert nan.batchDuration is None
    sink = parse(records("023-autoloader-foreachbatch-idle.json")[0])
    assert sink.sink.numOutputRows is None
    assert sink.sources[0].metrics["numFilesOutstanding"] == 0
    assert parse('{"batchId": -1, "numInputRows": NaN, "sources": [{"numInputRows": -1}]}').numInputRows is None
    assert parse({"batchId": "7", "inputRowsPerSecond": "12.5"})["inputRowsPerSecond"] == 12.5
    assert parse({"batchId": True, "numInputRows": 2.5}).batchId is None


def test_memory_of_zero_with_rows_is_unknown():
    """A state of rows in 0 bytes is a defect of the metric, an empty state of 0 bytes is not."""
    operators = [{"numRowsTotal": 5, "memoryUsedBytes": 0}, {"numRowsTotal": 0, "memoryUsedBytes": 0}]
    p = parse({"stateOperators": operators})
    assert [operator.memoryUsedBytes for operator in p.stateOperators] == [None, 0]


def test_totals_are_sums_over_the_sources_when_they_are_missing():
    """Event logs and Connect leave the totals out; they are known when all sources' are."""
    sources = [{"numInputRows": 2, "inputRowsPerSecond": 1.5}, {"numInputRows": 3, "inputRowsPerSecond": "Infinity"}]
    p = parse({"sources": sources})
    assert p.numInputRows == 5
    assert p.inputRowsPerSecond is None
    assert parse({"sources": [{"numInputRows": 2}, {}]}).numInputRows is None
    assert parse({"sources": []}).numInputRows is None


def test_records_of_spark_2_0_are_read():
    """A numeric timestamp becomes ISO text, numRecords are rows, currentWatermark is the watermark."""
    p = parse(records("003-numeric-timestamp.json")[0])
    assert p.timestamp == "2016-11-21T05:16:32.724Z"
    assert p.sources[0].numInputRows == 3
    assert p.eventTime == {"watermark": "1970-01-01T00:00:00.000Z"}
    assert p.batchDuration == 276


def test_what_pyspark_hands_out_is_read():
    """Dicts with UUIDs, objects with ``json`` or ``jsonValue``, and rows with ``asDict`` are records."""

    class WithJson:
        json = '{"id": "a", "batchId": 3}'

    class WithValue:
        def jsonValue(self):
            return {"id": "a", "batchId": 4}

    class Row(tuple):
        __slots__ = ()

        def asDict(self, recursive=False):
            return {"id": "a", "batchId": 5 if recursive else 0}

    id = uuid.uuid4()
    assert parse({"id": id, "runId": id, "batchId": 1}).id == str(id)
    assert [parse(x).batchId for x in (WithJson(), WithValue(), Row())] == [3, 4, 5]
    observed = {
        "event": Row(),
        "connect": records("045-connect-string-nan-infinity.json")[1]["observedMetrics"]["event1"],
    }
    assert parse({"batchId": 1, "observedMetrics": observed}).observedMetrics == {
        "event": {"id": "a", "batchId": 5},
        "connect": {"c1": 1, "c2": 3.0},
    }
    odd = {"e": {"schema": {"fields": [{"name": ["c1"]}, {"name": "c2"}]}, "values": [1, 2]}}
    assert parse({"batchId": 1, "observedMetrics": odd}).observedMetrics == {"e": {"c2": 2}}


@pytest.mark.parametrize("x", ["", "{", "[]", "3", b"\xff", None, 5, object(), {}, {"timestamp": 1}, [], "[" * 100_000])
def test_what_is_no_record_is_refused_in_one_sentence(x):
    """Anything else is a ValueError that says so."""
    with pytest.raises(ValueError, match=r"^Not a progress record: [^\n]+$"):
        parse(x)


def kafka(end, latest, **metrics):
    source = {"endOffset": end, "latestOffset": latest, "metrics": metrics}
    return parse({"sources": [source]}).backlog


def test_backlog_is_rows_between_the_end_and_the_latest_offset():
    """Offsets by topic and partition give rows; their texts as well."""
    assert kafka({"t": {"0": 5, "1": 7}}, {"t": {"0": 9, "1": 7}}) == 4
    assert kafka('{"t": {"0": 5}}', '{"t": {"0": 6}}', maxOffsetsBehindLatest="0") == 1
    assert kafka({"t": {"0": 5}}, {"t": {"0": 5}}, maxOffsetsBehindLatest="0") == 0


@pytest.mark.parametrize(
    ("end", "latest"),
    [
        (3, 9),
        ("3", "9"),
        (None, {"t": {"0": 9}}),
        ({"t": {"0": 5}}, None),
        ({"t": {"0": 5}}, {"t": {"0": 9, "1": 1}}),
        ({"t": {"0": 5}}, {"u": {"0": 9}}),
        ({"t": {"0": 5}}, {"t": {"0": 4}}),
        ({"t": {"0": "x"}}, {"t": {"0": 4}}),
        ({"logOffset": 1}, {"logOffset": 2}),
        ({}, {}),
    ],
)
def test_backlog_of_other_offsets_is_unknown(end, latest):
    """Seconds, files, new partitions and offsets that went back do not tell rows."""
    assert kafka(end, latest) is None


def test_backlog_is_unknown_when_the_metric_contradicts_or_a_source_does_not_tell():
    """A source at its end whose metric knows of more is not trusted; one unknown source makes the total unknown."""
    assert kafka({"t": {"0": 5}}, {"t": {"0": 5}}, maxOffsetsBehindLatest="9") is None
    known = {"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 6}}}
    assert parse({"sources": [known, known]}).backlog == 2
    assert parse({"sources": [known, {"endOffset": 4}]}).backlog is None


def test_a_batch_that_moved_an_offset_is_data_even_without_rows():
    """ForeachBatch functions that never read their frame report 0 rows."""
    ran = {"durationMs": {"addBatch": 5}, "numInputRows": 0}
    assert parse({**ran, "sources": [{"startOffset": 1, "endOffset": 2}]}).kind == "data"
    assert parse({**ran, "sources": [{"startOffset": "2", "endOffset": 2}]}).kind == "no-data"
    assert parse({**ran, "sources": []}).kind == "no-data"
    assert parse({"numInputRows": 0, "durationMs": {"triggerExecution": 1}}).kind == "idle"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:01.5Z", 1500.0),
        ("1970-01-01T00:00:01.123456789Z", 1123.456),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:02", 2000.0),
        ("soon", None),
        ("", None),
        (None, None),
        ("+10000-01-01T00:00:00Z", None),
    ],
)
def test_epoch_ms(text, ms):
    """ISO text with any number of digits, with or without a zone; else unknown."""
    assert epoch_ms(text) == (None if ms is None else pytest.approx(ms))


@pytest.mark.parametrize(
    ("x", "kind", "ms"),
    [
        (2, "processingTime", 2000),
        (0.5, "processingTime", 500),
        (0, "default", None),
        ("2 seconds", "processingTime", 2000),
        ("500 milliseconds", "processingTime", 500),
        ("1 minute", "processingTime", 60_000),
        ("1 minute 30 seconds", "processingTime", 90_000),
        ("interval 1 hour", "processingTime", 3_600_000),
        ("10s", "processingTime", 10_000),
        ("availableNow", "availableNow", None),
        ("once", "once", None),
        ("continuous", "continuous", None),
        ({"processingTime": "2 seconds"}, "processingTime", 2000),
        ({"availableNow": True}, "availableNow", None),
        ({"continuous": "1 second"}, "continuous", 1000),
        ({"realTime": "5 minutes"}, "realTime", 300_000),
        ("ProcessingTimeTrigger(1000)", "processingTime", 1000),
        ("ProcessingTimeTrigger(0)", "default", None),
        ("org.apache.spark.sql.execution.streaming.AvailableNowTrigger$@1f2e3d", "availableNow", None),
        ("OneTimeTrigger", "once", None),
        ("ContinuousTrigger(1000)", "continuous", 1000),
        ("Trigger.ProcessingTime('2 seconds')", "processingTime", 2000),
    ],
)
def test_triggers_are_read_as_people_and_spark_write_them(x, kind, ms):
    """Seconds, lengths, kinds, PySpark's keywords and Spark's own text."""
    assert Trigger.parse(x) == Trigger(kind, ms, "stated")
    assert Trigger.parse(Trigger.parse(x), "asked").origin == "asked"


@pytest.mark.parametrize(
    "x", [-1, float("nan"), True, None, "", "often", "2 moons", {"processingTime": 3}, {}, [], "1e9 days"]
)
def test_what_is_no_trigger_is_refused_in_one_sentence(x):
    """The sentence tells what a trigger looks like."""
    with pytest.raises(ValueError, match=r"^A trigger is [^\n]+$"):
        Trigger.parse(x)


def guess(starts, duration=400.0):
    found = TriggerGuess()
    for start in starts:
        found.add(start, duration)
    return found.interval_ms


def test_the_interval_is_inferred_from_starts_on_its_multiples():
    """Batches that wait start at multiples of the interval, a few ms late; four of them are needed."""
    assert guess([39_500, 42_000, 45_001, 48_001, 51_003]) == 3000
    assert guess([39_500, 42_000, 45_001, 48_001]) is None
    assert guess([59_000, *(60_000 * i + 3 for i in range(2, 8))]) == 60_000


def test_no_interval_is_inferred_from_other_starts():
    """Batches that follow one another, starts off the multiples, odd distances and sparse data say nothing."""
    assert guess([1000 + 405.0 * i for i in range(20)], 403) is None
    assert guess([700 + 3000.0 * i for i in range(20)]) is None
    assert guess([2345.0 * i for i in range(20)]) is None
    assert guess([1000.0 * i for i in (1, 8, 11, 23, 30, 47, 52, 63)]) is None
    generator = random.Random(4)
    for _ in range(200):
        starts, at = [], 0.0
        for _ in range(40):
            at += 450 + generator.random() * 3000
            starts.append(at)
        assert guess(starts) is None


def test_an_interval_stays_when_the_query_saturates():
    """Late batches start at once and off the multiples: they say nothing about the interval."""
    found = TriggerGuess()
    for i in range(10):
        found.add(2000.0 * i + 1, 300)
    for i in range(100):
        found.add(20_001 + 2711.0 * i, 2710)
    assert found.interval_ms == 2000


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from(
            [-1, 2**63, 2**64, 10**400, -(2**63), "NaN", "-Infinity", "1e999", "0x1", "", " 7 ", "9" * 5000]
        ),
        st.floats(),
        st.text(max_size=8),
        st.just("[" * 3000),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@st.composite
def mutated(draw):
    """A real record in which some values, at any depth, were replaced, removed, renamed or doubled."""
    record = json.loads(json.dumps(draw(st.sampled_from([*ALL, FULL]))))
    for _ in range(draw(st.integers(1, 4))):
        at = record
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(at[key], (dict, list)) and at[key] and draw(st.integers(0, 3)):
                at = at[key]
                continue
            change = draw(st.sampled_from(("replace", "replace", "remove", "rename", "wrap")))
            if change == "replace":
                at[key] = draw(VALUES)
            elif change == "wrap":
                at[key] = [at[key], at[key]]
            elif change == "rename" and isinstance(at, dict):
                at[draw(st.text(max_size=6))] = at.pop(key)
            else:
                del at[key]
            break
    return record


@settings(max_examples=10_000, deadline=None, database=None)
@given(mutated())
def test_mutated_records_never_break_anything(record):
    """10,000 mutated records: parse gives a record or a ValueError, and a history takes whatever parse gave."""
    try:
        p = parse(record)
    except ValueError:
        return
    history = History("a")
    assert history.append(p)
    assert p.kind in ("data", "no-data", "idle")
    batches = history.batches
    assert batches.rows == (p.kind != "idle")
    for name in batches:
        assert len(batches[name]) == batches.rows
    assert isinstance(parse(p.json), Progress)
