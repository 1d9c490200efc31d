"""Opening what people have: compressed, zipped and rolled event logs, recordings, odd encodings, missing files."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
import zipfile

import pytest

import jupyter_streamwatch as sw

PREFIX = "org.apache.spark.sql.streaming.StreamingQueryListener$"
ID = "11111111-2222-4333-8444-555555555555"
RUN = "66666666-7777-4888-9999-000000000000"


def record(batch, rows=10):
    """A progress record as Spark writes it."""
    return {
        "id": ID,
        "runId": RUN,
        "name": "orders",
        "timestamp": f"2026-03-01T10:00:{batch:02d}.000Z",
        "batchId": batch,
        "batchDuration": 400,
        "durationMs": {"addBatch": 300, "triggerExecution": 400},
        "eventTime": {},
        "stateOperators": [],
        "sources": [
            {"description": "RateStreamV2", "startOffset": batch, "endOffset": batch + 1, "numInputRows": rows}
        ],
        "sink": {"description": "MemorySink", "numOutputRows": rows},
        "observedMetrics": {},
    }


def event_lines(batches=range(3), *, exception=None, noise=3):
    """The lines of an event log around some batches."""
    lines = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"},
        {"Event": "SparkListenerApplicationStart", "App Name": "shop", "Timestamp": 1},
        {
            "Event": "SparkListenerEnvironmentUpdate",
            "JVM Information": {"Java Version": "17.0.1"},
            "Spark Properties": {"spark.master": "local[2]", "spark.secret.password": "hunter2"},
        },
        {
            "Event": PREFIX + "QueryStartedEvent",
            "id": ID,
            "runId": RUN,
            "name": "orders",
            "timestamp": "2026-03-01T10:00:00.000Z",
        },
    ]
    for batch in batches:
        lines += [{"Event": "SparkListenerTaskEnd", "Task": "x" * 500}] * noise
        lines.append({"Event": PREFIX + "QueryProgressEvent", "progress": record(batch)})
    lines.append(
        {
            "Event": PREFIX + "QueryTerminatedEvent",
            "id": ID,
            "runId": RUN,
            "exception": exception,
            "errorClassOnException": None,
        }
    )
    return "\n".join(json.dumps(line) for line in lines) + "\n"


def batches_of(recording):
    return [p.batchId for p in recording.progress]


def test_event_log(tmp_path):
    """An event log gives the records, the run's start and end, and versions; nothing of its other properties."""
    path = tmp_path / "local-1"
    path.write_text(event_lines(exception="boom\n\tat x"))
    recording = sw.load(path)
    (query,) = recording.queries.values()
    (run,) = query.runs
    assert batches_of(recording) == [0, 1, 2]
    assert (run.state, run.exception) == ("failed", "boom\n\tat x")
    assert run.started == 1772359200000.0
    assert query.facts.sparkVersion == "4.3.0"
    assert recording.environment["application"] == "shop"
    assert "hunter2" not in str(recording.environment)
    assert recording.skipped == []


def test_event_log_that_is_still_written(tmp_path):
    """The last line of a log in progress is read as far as it goes, and said to be cut."""
    path = tmp_path / "local-1.inprogress"
    text = event_lines(range(2))
    path.write_text(text[: text.rindex('"observedMetrics"')])
    recording = sw.load(path)
    assert batches_of(recording) == [0, 1]
    assert len(recording.skipped) == 1


def test_idle_event_is_no_record(tmp_path):
    """Spark's idle event makes the query idle, and is no progress record."""
    line = {"Event": PREFIX + "QueryIdleEvent", "id": ID, "runId": RUN, "timestamp": "2026-03-01T10:00:30.000Z"}
    recording = sw.load(
        json.dumps({"Event": PREFIX + "QueryProgressEvent", "progress": record(0)}) + "\n" + json.dumps(line)
    )
    assert len(recording.progress) == 1
    assert recording.queries[ID].idleSince is not None


def test_rolled_log_from_its_last_compaction(tmp_path):
    """A rolled log is read in the order of its numbers, from the last compacted file on."""
    folder = tmp_path / "eventlog_v2_local-1"
    folder.mkdir()
    (folder / "appstatus_local-1.inprogress").write_text("")
    for number in (2, 9, 10, 11):
        (folder / f"events_{number}_local-1").write_text(event_lines([number]))
    (folder / "events_9_local-1.compact").write_text(event_lines([2, 9]))
    (folder / ".events_9_local-1.crc").write_bytes(b"crc\x00")
    assert batches_of(sw.load(folder)) == [2, 9, 10, 11]
    assert batches_of(sw.load(str(tmp_path))) == [2, 9, 10, 11]


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.bz2", bz2.compress), ("a.xz", lzma.compress)])
def test_compressed(tmp_path, name, pack):
    """A compressed log is read as it is, whatever it is called."""
    for file in (name, "plain-name"):
        (tmp_path / file).write_bytes(pack(event_lines().encode()))
        assert batches_of(sw.load(tmp_path / file)) == [0, 1, 2]


def test_zstd_of_several_frames_without_an_end(tmp_path):
    """A zstd log that Spark is still writing gives all that can be decompressed."""
    zstandard = pytest.importorskip("zstandard")
    pack = zstandard.ZstdCompressor().compress
    path = tmp_path / "events_1_local-1.zstd"
    whole = pack(event_lines(range(2)).encode()) + pack(event_lines(range(2, 4)).encode())
    path.write_bytes(whole)
    assert batches_of(sw.load(path)) == [0, 1, 2, 3]
    path.write_bytes(whole[:-20])
    assert batches_of(sw.load(path))[:2] == [0, 1]


def test_damaged_compression_is_said(tmp_path):
    """What a broken file still holds is read, and that it is broken is said."""
    path = tmp_path / "a.gz"
    text = event_lines(range(2), noise=300)
    path.write_bytes(gzip.compress(text.encode(), 0)[:-2000])
    recording = sw.load(path)
    assert batches_of(recording)[:1] == [0]
    assert "compressed data" in recording.skipped[-1].reason


def test_zip_of_the_history_server(tmp_path):
    """The history server's download, a zip of a rolled log, is read in order."""
    path = tmp_path / "eventLogs-local-1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("eventlog_v2_local-1/appstatus_local-1", "")
        archive.writestr("eventlog_v2_local-1/events_10_local-1", event_lines([5]))
        archive.writestr("eventlog_v2_local-1/events_2_local-1", event_lines([1]))
    assert batches_of(sw.load(path)) == [1, 5]


def test_compression_that_only_spark_reads(tmp_path):
    """A log in one of Spark's own block formats is skipped with what to do about it."""
    (tmp_path / "local-1.lz4").write_bytes(b"LZ4Block" + bytes(100))
    recording = sw.load(tmp_path / "local-1.lz4")
    assert recording.progress == []
    assert "lz4" in recording.skipped[0].reason


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(tmp_path, encoding):
    """UTF-8 and UTF-16, with a mark or without, with Windows line ends."""
    text = "Ünïcode first line\r\n" + json.dumps(record(4), indent=2).replace("\n", "\r\n")
    (tmp_path / "log.txt").write_bytes(text.encode(encoding))
    assert batches_of(sw.load(tmp_path / "log.txt")) == [4]


def test_bytes_that_are_no_text(tmp_path):
    """Bytes of anything give an empty recording that says so."""
    (tmp_path / "x.bin").write_bytes(bytes(range(256)) * 50)
    (tmp_path / "empty").write_bytes(b"")
    for name in ("x.bin", "empty"):
        recording = sw.load(tmp_path / name)
        assert (len(recording.queries), recording.progress, len(recording.skipped)) == (0, [], 1)


def test_recording_comes_back(tmp_path):
    """A saved recording is loaded again, by path and as text, with records and queries."""
    first = sw.load(event_lines(exception="boom"))
    first.save(tmp_path / "r.jsonl")
    for again in (sw.load(tmp_path / "r.jsonl"), sw.load((tmp_path / "r.jsonl").read_text())):
        assert batches_of(again) == [0, 1, 2]
        assert again.queries[ID].runs[0].state == "failed"
        assert again.queries[ID].batches.rows == 3


def test_missing_file():
    """A name of no file is FileNotFoundError, with the name in it."""
    for name in ("no-such-file.json", ""):
        with pytest.raises(FileNotFoundError, match=name or "''"):
            sw.load(name)


def test_url_without_fsspec(monkeypatch):
    """A URL says what to install."""
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match="pip install fsspec"):
        sw.load("s3://bucket/log")


def test_zstd_without_zstandard(tmp_path, monkeypatch):
    """A zstd file says what to install."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.zstd").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    with pytest.raises(ImportError, match="pip install zstandard"):
        sw.load(tmp_path / "a.zstd")


def test_format_and_trigger():
    """The trigger that is stated holds for every query; an unknown one, or an unknown format, is one sentence."""
    text = json.dumps(record(1))
    assert sw.load(text, trigger="2 seconds").queries[ID].trigger.interval_ms == 2000
    assert batches_of(sw.load(event_lines(), format="event-log")) == [0, 1, 2]
    assert batches_of(sw.load(event_lines(), format="text")) == [0, 1, 2]
    with pytest.raises(ValueError, match="recording, event-log, text"):
        sw.load(text, format="csv")
    with pytest.raises(ValueError):
        sw.load(text, trigger="sometimes")


def test_records_without_an_id():
    """Records without an id share one query; one that names a run that is known belongs to it."""
    nameless = {key: value for key, value in record(1).items() if key not in ("id", "runId")}
    other = {key: value for key, value in record(2).items() if key != "id"}
    recording = sw.load(json.dumps([record(0), nameless, other, {**nameless, "batchId": 7}]))
    assert [len(query.recent) for query in recording.queries.values()] == [2, 2]


def test_same_record_twice():
    """A record that was pasted twice is twice in the progress and one batch in the history."""
    recording = sw.load(json.dumps(record(3)) + "\n" + json.dumps(record(3), indent=2))
    assert batches_of(recording) == [3, 3]
    assert recording.queries[ID].batches.rows == 1


def test_text_without_progress():
    """Text about something else gives an empty recording that says so."""
    recording = sw.load("hello\nworld {not: progress}")
    assert (len(recording.queries), recording.progress) == (0, [])
    assert recording.skipped[0].reason.startswith("No progress")


@pytest.mark.parametrize("write", [json.dumps, repr, lambda parts: json.dumps(parts, indent=1)])
def test_parts_that_stand_alone(write):
    """State operators without their record are one record of which the rest is unknown, and that is said."""
    parts = [{"operatorName": name, "numRowsTotal": 5, "commitTimeMs": 3} for name in ("dedupe", "stateStoreSave")]
    recording = sw.load(write(parts) + "\n")
    (progress,) = recording.progress
    assert [operator.operatorName for operator in progress.stateOperators] == ["dedupe", "stateStoreSave"]
    assert (progress.batchId, progress.numInputRows, progress.timestamp) == (None, None, None)
    assert "part of a progress record" in recording.skipped[0].reason


def test_durations_that_stand_alone():
    """Durations without their record say nothing of a batch: they are skipped."""
    recording = sw.load("{triggerExecution=122, queryPlanning=3, addBatch=36, walCommit=42}")
    assert recording.progress == []
    assert recording.skipped[0].reason.startswith("Durations")


def test_life_told_by_a_driver_log():
    """A driver log's own sentences give the run's start and its error, with the trace."""
    log = f"""26/03/01 10:00:00 INFO M: Starting orders [id = {ID}, runId = {RUN}]. Use file:/cp
26/03/01 10:00:01 INFO MicroBatchExecution: Streaming query made progress: {json.dumps(record(0), indent=2)}
26/03/01 10:00:02 ERROR MicroBatchExecution: Query orders [id = {ID}, runId = {RUN}] terminated with error
org.apache.spark.SparkException: [STREAM_FAILED] Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.failJob(DAGScheduler.scala:1)
Caused by: java.lang.ArithmeticException: / by zero
\t... 10 more
26/03/01 10:00:03 INFO SparkContext: stopped
"""
    (query,) = sw.load(log).queries.values()
    (run,) = query.runs
    assert (query.name, run.state, run.errorClass) == ("orders", "failed", "STREAM_FAILED")
    assert run.exception.startswith("org.apache.spark.SparkException")
    assert run.exception.endswith("10 more")


def test_long_log_is_read_piece_by_piece(monkeypatch, tmp_path):
    """A log larger than what is read at once gives the same records in the same order."""
    from jupyter_streamwatch.recordings import load as formats

    noise = "26/03/01 10:00:00 INFO BlockManagerInfo: Removed broadcast_1_piece0 {x} on host\n" * 3000
    text = "".join(noise + f"progress: {json.dumps(record(batch), indent=2)}\n" for batch in range(8))
    (tmp_path / "driver.log").write_text(text)
    monkeypatch.setattr(formats, "WHOLE", 100_000)
    monkeypatch.setattr(formats, "_PIECE", 50_000)
    assert batches_of(sw.load(tmp_path / "driver.log")) == list(range(8))
