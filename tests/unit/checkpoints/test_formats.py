"""The files of older and newer versions, byte by byte."""

from __future__ import annotations

import json
import struct

import pytest

from jupyter_streamwatch.checkpoints.logs import log, schema
from jupyter_streamwatch.checkpoints.logs.offsets import decode
from jupyter_streamwatch.checkpoints.logs.state import missing
from jupyter_streamwatch.model.spark_types import type_text


def text(x: str) -> bytes:
    """As ``DataOutputStream.writeUTF``."""
    raw = x.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass").encode("utf-8")
    return struct.pack(">H", len(raw)) + raw


def struct_of(*fields: tuple[str, object]) -> str:
    return json.dumps(
        {"type": "struct", "fields": [{"name": name, "type": type, "nullable": True} for name, type in fields]}
    )


@pytest.mark.oldest
def test_schema_of_version_one() -> None:
    """Spark 3.1: two texts."""
    (found,) = schema.read_schema(text("v1") + text(struct_of(("k", "long"))) + text(struct_of(("v", "integer"))))
    assert (found.version, found.key[0].type, found.value[0].type) == (1, "bigint", "int")


def test_schema_in_pieces() -> None:
    """Version 2: a long schema is several pieces."""
    key = struct_of(*((f"column{number}", "string") for number in range(3)))
    pieces = [key[at : at + 20] for at in range(0, len(key), 20)]
    body = struct.pack(">i", len(pieces)) + b"".join(text(piece) for piece in pieces)
    (found,) = schema.read_schema(text("v2") + body + struct.pack(">i", 1) + text(struct_of()))
    assert [one.name for one in found.key] == ["column0", "column1", "column2"]
    assert found.value == ()


def test_names_in_modified_utf8() -> None:
    """Java writes NUL as two bytes, and characters beyond 16 bits as a pair of three."""
    inner = '{"type":"struct","fields":[{"name":"\U0001f600é","type":"string"}]}'
    raw = inner.replace("\U0001f600", "\ud83d\ude00").encode("utf-8", "surrogatepass")
    (found,) = schema.read_schema(text("v1") + struct.pack(">H", len(raw)) + raw + text(struct_of()))
    assert found.key[0].name == "\U0001f600é"


@pytest.mark.parametrize(
    ("type", "written"),
    [
        ("long", "bigint"),
        ("decimal(10,2)", "decimal(10,2)"),
        ({"type": "array", "elementType": "integer", "containsNull": True}, "array<int>"),
        ({"type": "map", "keyType": "string", "valueType": "short"}, "map<string,smallint>"),
        (
            {"type": "struct", "fields": [{"name": "a", "type": {"type": "array", "elementType": "byte"}}]},
            "struct<a:array<tinyint>>",
        ),
        ({"type": "udt", "sqlType": "double"}, "double"),
        (None, "n/a"),
        ({"type": 5}, "n/a"),
    ],
)
def test_types(type: object, written: str) -> None:
    """Types as Spark's ``simpleString`` writes them."""
    assert type_text(type) == written


def test_offsets_of_old_versions() -> None:
    """Spark 2.0 has no metadata, 2.1 no settings; a line of ``-`` is a source without an offset."""
    assert log.offset_entry(0, 'v1\n\n{"logOffset":3}').sources[0].value == {"logOffset": 3}
    entry = log.offset_entry(5, 'v1\n{"batchWatermarkMs":5000,"batchTimestampMs":7000}\n-\n12\n')
    assert (entry.watermarkMs, entry.timestampMs, dict(entry.conf), entry.problem) == (5000, 7000, {}, None)
    assert [one.kind for one in entry.sources] == ["none", "number"]


def test_windows_line_ends() -> None:
    """A file that an editor saved with CRLF reads the same."""
    assert log.offset_entry(0, 'v1\r\n{"batchWatermarkMs":1}\r\n{"logOffset":3}\r\n').sources[0].value == {
        "logOffset": 3
    }


def test_versions_to_come() -> None:
    """A newer version is read as far as it goes, and named."""
    entry = log.offset_entry(0, 'v9\n{}\n{"logOffset":3}')
    assert entry.sources[0].kind == "file"
    assert "version v9" in entry.problem


def test_commits() -> None:
    """Commits of all versions; those of Spark 2.1 hold nothing."""
    assert log.commit_entry(0, "v1\n{}").problem is None
    assert log.commit_entry(0, "v1").problem is None
    assert log.commit_entry(0, 'v1\n{"nextBatchWatermarkMs":5}').nextWatermarkMs == 5
    newer = log.commit_entry(0, 'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a"],["b","c"]]}}')
    assert (newer.nextWatermarkMs, newer.stateIds) == (None, {0: (("a",), ("b", "c"))})


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (None, "none", "no offset yet"),
        ({"logOffset": 7}, "file", "entry 7 of its log"),
        ({"orders": {"0": 120, "10": 5, "2": 98}}, "kafka", "orders: 0: 120, 2: 98, 10: 5"),
        ({"t": {str(n): n for n in range(9)}}, "kafka", "t: 0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 3 more partitions"),
        ({"reservoirVersion": 12_345, "index": -1}, "delta", "table version 12,345"),
        ({"offset": 5, "timestamp": 1_767_268_800_000}, "rate-micro-batch", "row 5, 2026-01-01 12:00:00 UTC"),
        (-1, "number", "its start"),
        (3, "number", "row 3"),
        ({"snapshot_id": 3, "position": 0, "scan_all_files": False}, "iceberg", "snapshot 3, position 0"),
        ({"shardId-000": {"iteratorType": "LATEST"}, "metadata": {}}, "kinesis", "1 shard"),
        ({"logOffset": "x"}, "file", '{"logOffset": "x"}'),
        ({}, "unknown", "{}"),
        ("text", "unknown", "text"),
        (True, "unknown", "true"),
    ],
)
def test_offsets_as_text(value: object, kind: str, said: str) -> None:
    """Where a source stands, by the shape of its offset."""
    found = decode(0, value)
    assert (found.kind, found.text) == (kind, said)


@pytest.mark.parametrize(
    ("version", "whole", "changes", "ids", "lost"),
    [
        (0, {}, {}, (), ()),
        (2, {}, {1: {""}, 2: {""}}, (), ()),
        (2, {}, {2: {""}}, (), (1,)),
        (5, {3: {""}}, {4: {""}, 5: {""}}, (), ()),
        (5, {3: {""}}, {5: {""}}, (), (4,)),
        (5, {5: {""}}, {}, (), ()),
        (5, {6: {""}}, {}, (), (1, 2, 3, 4, 5)),
        (2, {2: {"a"}}, {}, ("a",), ()),
        (2, {1: {"x"}, 2: {"a"}}, {}, ("b",), (2,)),
        (2, {1: {"x"}}, {2: {"a", "b"}}, ("b", "c"), ()),
    ],
)
def test_missing_versions(version: int, whole: dict, changes: dict, ids: tuple, lost: tuple) -> None:
    """The newest whole copy and the changes after it are needed, with the id that the commit names."""
    assert missing(version, whole, changes, frozenset(ids)) == lost


def test_missing_versions_are_bounded() -> None:
    """A hundred are named at most."""
    assert len(missing(100_000, {}, {})) == 100
