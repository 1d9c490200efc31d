"""Files that are damaged, packed oddly, endless or no files at all: what they hold is read, what is wrong is said."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import zipfile
from pathlib import Path

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.recordings.formats import streams
from tests.unit.test_formats_files import batches_of, event_lines, record

LOG = "".join(
    f"26/03/01 10:00:00 INFO M: Streaming query made progress: {json.dumps(record(batch), indent=1)}\n"
    for batch in range(40)
)


def reasons(path):
    """The reasons for what was skipped, with the batches that were read."""
    recording = sw.load(path)
    return batches_of(recording), [skipped.reason for skipped in recording.skipped]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_plain_log_that_is_cut_in_its_compression(tmp_path, pack):
    """All that can be unpacked is read, as of an event log, and the cut is said."""
    path = tmp_path / "driver.log"
    packed = pack(LOG.encode())
    path.write_bytes(packed[: int(len(packed) * 0.999) - 1])
    read, why = reasons(path)
    assert read == list(range(len(read)))
    assert len(read) > (30 if pack is gzip.compress else -1)  # the others pack in blocks far larger than this log
    assert "compressed data" in why[-1]


@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08\x00", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"])
def test_garbage_behind_a_known_beginning(tmp_path, magic):
    """What only looks compressed is one sentence."""
    if magic[:1] == b"\x28":
        pytest.importorskip("zstandard")
    path = tmp_path / "x"
    path.write_bytes(magic + bytes(range(7, 250)) * 9)
    read, why = reasons(path)
    assert (read, len(why)) == ([], 1)
    assert str(path) in why[0]


def zipped(**members):
    """A zip with these members, as bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_a_zip_that_is_cut_encrypted_or_in_another_one(tmp_path):
    """A zip in a zip is read, a damaged or encrypted one is said beside what the others hold."""
    log = event_lines(range(3)).encode()
    whole = zipped(a=log)
    (tmp_path / "nested.zip").write_bytes(zipped(inner=whole, b=gzip.compress(log)))
    assert reasons(tmp_path / "nested.zip") == ([0, 1, 2, 0, 1, 2], [])
    (tmp_path / "cut.zip").write_bytes(whole[:-30])
    read, (why,) = reasons(tmp_path / "cut.zip")
    assert (read, "damaged zip" in why) == ([], True)
    locked = bytearray(zipped(a=log, b=log))
    for sign, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.find(sign) + flags] |= 1
    (tmp_path / "locked.zip").write_bytes(locked)
    read, (why,) = reasons(tmp_path / "locked.zip")
    assert read == [0, 1, 2]
    assert "locked.zip!a is encrypted" in why


def test_compressed_over_and_over(tmp_path):
    """Compression within compression has an end: some archives hold themselves."""
    packed = event_lines(range(3)).encode()
    for times in range(1, 8):
        packed = gzip.compress(packed)
        (tmp_path / f"{times}.gz").write_bytes(packed)
    assert batches_of(sw.load(tmp_path / "2.gz")) == [0, 1, 2]
    read, (why,) = reasons(tmp_path / "7.gz")
    assert (read, "times over" in why) == ([], True)


def test_zeros_that_have_no_end(tmp_path, monkeypatch):
    """What was read before them is kept, and a bounded number of them is read."""
    monkeypatch.setattr(streams, "MOST_NOISE", 1 << 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(LOG.encode() + bytes(8 << 20)))
    read, (why,) = reasons(tmp_path / "bomb.gz")
    assert (read, "is no text" in why) == (list(range(40)), True)
    (tmp_path / "hole.log").write_bytes(LOG.encode() + bytes(1 << 19) + LOG.encode())
    assert reasons(tmp_path / "hole.log") == ([*range(40)] * 2, [])
    if Path("/dev/zero").exists():
        read, (why,) = reasons("/dev/zero")
        assert (read, "/dev/zero is no text" in why) == ([], True)


def test_text_that_grows_out_of_nothing(tmp_path, monkeypatch):
    """A file that unpacks to far more than any log is read up to a bound."""
    monkeypatch.setattr(streams, "MUCH", 1 << 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(LOG.encode() + b"a" * (8 << 20)))
    read, (why,) = reasons(tmp_path / "bomb.gz")
    assert (read, "times its size" in why) == (list(range(40)), True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_that_nobody_writes_to(tmp_path, monkeypatch):
    """It is not waited for; one that is written to is read, and left when nothing more comes."""
    monkeypatch.setattr(streams, "SILENCE", 0.01)
    os.mkfifo(tmp_path / "pipe")
    assert reasons(tmp_path / "pipe")[1] == [f"{tmp_path / 'pipe'} is a pipe from which nothing has come for 0.01 s."]
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        os.write(writer, (json.dumps(record(3)) + "\n").encode())
        read, why = reasons(tmp_path / "pipe")
    finally:
        os.close(writer)
    assert (read, len(why)) == ([3], 1)


def test_links_that_lead_to_themselves(tmp_path):
    """A link in a circle is no file; in a folder it is passed over, and the other files are read."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        sw.load(tmp_path / "a")
    (tmp_path / "eventlog_v2_x").symlink_to(tmp_path)
    (tmp_path / "log").write_text(event_lines(range(2)))
    assert set(reasons(tmp_path)[0]) == {0, 1}


ODD = [7, -1, "x", True, [], [1], {}, {"a": 1}, [["a", "b", "c"]], 1e400, "\ud800"]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_recorded_facts_of_odd_types(tmp_path, value):
    """What another version or a person wrote into a recording is unknown where it is not of its kind."""
    names = (
        "mode", "sparkVersion", "trigger", "outputMode", "sink", "sinkKind", "checkpoint", "temporaryCheckpoint",
        "sources", "watermarks", "stateful", "shufflePartitions", "sessionPartitions", "pythonUdf", "foreachBatch",
        "rateLimit", "shape", "why",
    )  # fmt: skip
    made = record(1)
    for facts in (dict.fromkeys(names, value), {"trigger": {"kind": value, "interval_ms": value, "origin": value}}):
        lines = [{"streamwatch": 1}, {"event": "progress", "progress": made}]
        lines.append({"event": "facts", "id": made["id"], "facts": facts})
        recording = sw.load("\n".join(map(json.dumps, lines)) + "\n")
        assert recording.diagnose()
        recording.report(tmp_path / "r.html")
        recording.save(tmp_path / "r.jsonl")


def test_half_a_character_in_one_name(tmp_path):
    """A name with half of a surrogate pair is shown with a sign in its place, and the other queries with it."""
    ids = [f"{number:08d}-2222-4333-8444-555555555555" for number in range(20)]
    odd = {0: "bad \ud800 name"}
    made = [{**record(1), "id": id, "runId": id, "name": odd.get(at, f"q{at}")} for at, id in enumerate(ids)]
    made[0]["sources"][0]["description"] = made[0]["observedMetrics"]["m\udfff"] = "half \udc00"
    path = tmp_path / "log.json"
    path.write_text("\n".join(map(json.dumps, made)))
    for recording in (sw.load(path), sw.load("\n".join(json.dumps(one, ensure_ascii=False) for one in made) + "\n")):
        assert len(recording.queries) == 20
        assert recording.queries[ids[0]].name == "bad \ufffd name"
        for suffix in ("html", "md", "json"):
            recording.report(tmp_path / f"r.{suffix}")
            assert "q19" in (tmp_path / f"r.{suffix}").read_text(encoding="utf-8")
        recording.save(tmp_path / "again.jsonl")
        assert len(sw.load(tmp_path / "again.jsonl").queries) == 20
    assert sw.parse(json.dumps({**record(1), "name": "\U0001f600"})).name == "\U0001f600"
