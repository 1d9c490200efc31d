"""Checkpoints that real Spark 3.5 and 4.3 made, read without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.checkpoints.restart.available import sink_log
from jupyter_streamwatch.checkpoints.storage.files import Local
from tests.unit.checkpoints import real

if TYPE_CHECKING:
    from pathlib import Path

BOTH = ("3.5", "4.3")
WINDOW = "struct<start:timestamp,end:timestamp>"


def opened(name: str, tmp_path: Path) -> sw.checkpoints.Checkpoint:
    return sw.checkpoint(real.unpack(name, tmp_path / name))


def columns(fields: tuple) -> list[tuple[str, str]]:
    return [(one.name, one.type) for one in fields]


@pytest.mark.oldest
@pytest.mark.parametrize("name", real.CHECKPOINTS)
def test_every_checkpoint_is_read_in_full(name: str, tmp_path: Path) -> None:
    """Nothing of a healthy checkpoint is a problem, nothing needed is missing, and all of it is JSON and text."""
    found = opened(name, tmp_path)
    assert found.problems == ()
    assert len(found.id) == 36
    assert found.lastOffset == found.lastCommit
    plan = found.restart()
    unknowable = name in {"4.3-asynchronous", "4.3-continuous"}
    assert (plan.batchId, plan.replay, plan.blocked) == (found.lastOffset + 1, None if unknowable else False, None)
    assert plan.missingState == ()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["id"] == found.id
    assert len(str(found).splitlines()) < 30
    assert found.bytes["total"] == sum(path.stat().st_size for path in (tmp_path / name).rglob("*") if path.is_file())


@pytest.mark.parametrize("name", real.CHECKPOINTS)
def test_reading_changes_nothing(name: str, tmp_path: Path) -> None:
    """Content and times of all files and folders are the same after everything was read."""
    folder = real.unpack(name, tmp_path / name)
    before = real.fingerprint(folder)
    found = sw.checkpoint(folder)
    str(found), found.to_dict(), found.state(), found.restart(), found.watermarks, found.times
    assert real.fingerprint(folder) == before


@pytest.mark.parametrize("spark", BOTH)
def test_two_batches_of_a_file_query(spark: str, tmp_path: Path) -> None:
    """Metadata, two offsets, two commits, and the file that each batch took."""
    found = opened(f"{spark}-files", tmp_path)
    assert list(found.offsets) == list(found.commits) == [0, 1]
    assert [found.offsets[id].sources[0].value for id in found.offsets] == [{"logOffset": 0}, {"logOffset": 1}]
    assert found.offsets[1].sources[0].kind == "file"
    assert [file.path for entry in found.sources[0].values() for file in entry] == [
        "file:///data/in/1.json",
        "file:///data/in/2.json",
    ]
    assert found.conf["spark.sql.shuffle.partitions"] == "2"
    assert found.operators == ()
    assert found.watermarks == [(0, None), (1, None)]
    planned = [at for _, at, _ in found.times]
    assert planned[0] < planned[1]


@pytest.mark.parametrize("spark", BOTH)
@pytest.mark.parametrize(
    ("case", "provider", "changelog"),
    [("aggregate", "HDFS", None), ("aggregate-rocksdb", "RocksDB", False), ("aggregate-changelog", "RocksDB", True)],
)
def test_aggregate(spark: str, case: str, provider: str, changelog: bool | None, tmp_path: Path) -> None:
    """Names and types of keys and buffers, the watermark's delay, and the version that the next batch reads."""
    found = opened(f"{spark}-{case}", tmp_path)
    (operator,) = found.operators
    assert (operator.name or operator.guess) == "stateStoreSave"
    assert (operator.name is None) == (spark == "3.5")
    assert operator.partitions == 2
    (store,) = operator.stores
    assert (store.name, store.provider, store.changelog, store.schemaVersion) == ("default", provider, changelog, 2)
    assert columns(store.key) == [("window", WINDOW), ("city", "string")]
    assert columns(store.value) == [("count", "bigint"), ("sum", "double")]
    assert (store.key[0].watermarkDelayMs, store.key[0].window) == (600_000, "time")
    assert [files.latestVersion for files in store.files] == [3, 3]
    assert all(files.bytes > 0 for files in store.files)
    # 12:07 less ten minutes, then 12:21 less ten minutes.
    assert found.watermarks == [(0, None), (1, 1_767_268_620_000), (2, 1_767_269_460_000)]
    assert found.restart().watermarkMs == 1_767_269_460_000


def test_state_checkpoints_of_version_two(tmp_path: Path) -> None:
    """Ids in the names of the files and in the commits are understood, for one store and for the four of a join."""
    found = opened("4.3-aggregate-v2", tmp_path)
    assert found.commits[2].version == "v2"
    assert [len(ids) for ids in found.commits[2].stateIds[0]] == [1, 1]
    assert found.operators[0].stores[0].files[0].latestVersion == 3
    join = opened("4.3-join-v2", tmp_path)
    assert [len(ids) for ids in join.commits[1].stateIds[0]] == [4, 4]
    assert all(files.latestVersion == 2 for store in join.operators[0].stores for files in store.files)


@pytest.mark.parametrize("spark", BOTH)
@pytest.mark.parametrize("case", ["join", "join-rocksdb"])
def test_join(spark: str, case: str, tmp_path: Path) -> None:
    """A join has four stores, two a side, with the columns that each side keeps."""
    (operator,) = opened(f"{spark}-{case}", tmp_path).operators
    assert (operator.name or operator.guess) == "symmetricHashJoin"
    stores = {store.name: store for store in operator.stores}
    assert list(stores) == [
        f"{side}-{what}" for side in ("left", "right") for what in ("keyToNumValues", "keyWithIndexToValue")
    ]
    assert columns(stores["left-keyWithIndexToValue"].value) == [
        ("id", "int"),
        ("ts", "timestamp"),
        ("matched", "boolean"),
    ]
    assert columns(stores["right-keyWithIndexToValue"].key) == [("field0", "int"), ("index", "bigint")]
    assert [len(store.files) for store in operator.stores] == [2, 2, 2, 2]


def test_column_families(tmp_path: Path) -> None:
    """Stores of schema version 3: the files belong to one store, the columns to the families in it."""
    (join,) = opened("4.3-join-v3", tmp_path).operators
    assert join.name == "symmetricHashJoin"
    assert [(store.name, store.familyOf) for store in join.stores][:2] == [
        ("default", None),
        ("left-keyToNumValues", "default"),
    ]
    assert [(files.latestVersion, files.latestSnapshot) for files in join.stores[0].files] == [(2, 1), (2, 1)]
    (operator,) = opened("4.3-with-state", tmp_path).operators
    assert operator.name == "transformWithStateInPandasExec"
    stores = {store.name: store for store in operator.stores}
    assert columns(stores["countState"].value) == [("n", "bigint")]
    assert columns(stores["byId"].key) == [("key", "struct<city:string>"), ("userKey", "struct<id:int>")]
    assert operator.properties["timeMode"] == "NoTime"
    assert {one["stateName"] for one in operator.properties["stateVariables"]} == {"countState", "byId", "recent"}


@pytest.mark.parametrize("spark", BOTH)
@pytest.mark.parametrize(
    ("case", "name", "key", "value"),
    [
        ("dedupe", "dedupe", [("id", "int")], [("__dummy__", "void")]),
        ("dedupe-within", "dedupeWithinWatermark", [("id", "int")], [("expiresAtMicros", "bigint")]),
        ("limit", "globalLimit", [("key", "void")], [("value", "bigint")]),
        ("global", "stateStoreSave", [], [("count", "bigint")]),
        ("pandas-state", "applyInPandasWithState", [("city", "string")], [("groupState", "struct<n:bigint>")]),
    ],
)
def test_other_operators(tmp_path: Path, *, spark: str, case: str, name: str, key: list, value: list) -> None:
    """Each stateful operator by its name, where a file says it, else as its schema tells it."""
    (operator,) = opened(f"{spark}-{case}", tmp_path).operators
    if spark == "3.5":
        assert operator.name is None
        assert operator.guess == ("flatMapGroupsWithState" if case == "pandas-state" else name)
    else:
        assert operator.name == name
    assert (columns(operator.stores[0].key), columns(operator.stores[0].value)) == (key, value)
    assert operator.partitions == (1 if case in ("limit", "global") else 2)


@pytest.mark.parametrize("spark", BOTH)
def test_session_window(spark: str, tmp_path: Path) -> None:
    """A session window's key begins with the grouping key and ends with the session's start."""
    (operator,) = opened(f"{spark}-session", tmp_path).operators
    assert (operator.name or operator.guess) == "sessionWindowStateStoreSaveExec"
    assert columns(operator.stores[0].key) == [("city", "string"), ("sessionStartTime", "timestamp")]
    assert operator.stores[0].value[0].window == "session"


@pytest.mark.parametrize("spark", BOTH)
def test_purged_and_compacted_logs(spark: str, tmp_path: Path) -> None:
    """Twenty-five batches, four of them kept: gone entries are no problem, compacted ones give their files."""
    found = opened(f"{spark}-long", tmp_path)
    assert list(found.offsets) == [21, 22, 23, 24]
    log = found.sources[0]
    assert (log.log.last, len(log)) == (24, 25)
    assert [[file.path.rpartition("/")[2] for file in log[entry]] for entry in (0, 9, 19, 24)] == [
        [file] for file in ("1.json", "10.json", "20.json", "25.json")
    ] or len({file.path for entry in log.values() for file in entry}) == 25
    assert [files.latestSnapshot for files in found.operators[0].stores[0].files] == [24, 24]
    assert found.restart().blocked is None


def test_entries_that_only_a_compacted_one_holds(tmp_path: Path) -> None:
    """What the source deleted after compaction is read from the compacted entry."""
    folder = real.unpack("4.3-long", tmp_path / "x")
    names = {entry: files[0].path for entry, files in sw.checkpoint(folder).sources[0].items()}
    for entry in range(19):
        (folder / f"sources/0/{entry}").unlink(missing_ok=True)
    (folder / "sources/0/9.compact").unlink()
    again = sw.checkpoint(folder).sources[0]
    assert {entry: files[0].path for entry, files in again.items()} == names
    assert len(names) == 25


@pytest.mark.parametrize("spark", BOTH)
def test_sink_log(spark: str, tmp_path: Path) -> None:
    """The file sink's log tells the batches that it has, and their files."""
    (tmp_path / "out").mkdir()
    real.unpack(f"{spark}-files-sink", tmp_path / "out" / "_spark_metadata")
    log = sink_log(Local(tmp_path / "out"))
    assert log.last == 1
    assert all(file.path.endswith(".parquet") and file.bytes > 0 for file in log.files(1))
    real.unpack(f"{spark}-long-files-sink", tmp_path / "long" / "_spark_metadata")
    long = sink_log(Local(tmp_path / "long"))
    assert long.last == 24
    assert len(long.files(19)) >= 20


@pytest.mark.parametrize("spark", BOTH)
def test_kinds_of_sources(spark: str, tmp_path: Path) -> None:
    """A rate source is told from its log; a source that never had data has no offset."""
    rate = opened(f"{spark}-rate", tmp_path)
    assert rate.offsets[rate.lastOffset].sources[0].kind == "rate"
    each = opened(f"{spark}-rate-micro-batch", tmp_path)
    assert each.offsets[0].sources[0].kind == "rate-micro-batch"
    assert each.offsets[0].sources[0].value["offset"] == 5
    union = opened(f"{spark}-union", tmp_path)
    assert [one.kind for one in union.offsets[1].sources] == ["file", "none"]


def test_offset_log_of_version_two(tmp_path: Path) -> None:
    """Named offsets of the newer log are the same offsets."""
    found = opened("4.3-offsets-v2", tmp_path)
    assert found.offsets[1].version == "v2"
    assert (found.offsets[1].sources[0].kind, found.offsets[1].sources[0].name) == ("file", "0")
    assert found.offsets[1].problem is None


def test_to_dict_holds_the_restart(tmp_path: Path) -> None:
    """The data has the plan, the state and the sources in it, under the names that the field has."""
    found = opened("4.3-aggregate", tmp_path).to_dict()
    assert found["restart"]["batchId"] == 3
    assert found["restart"]["sources"][0]["from"] == {"logOffset": 1}
    assert found["operators"][0]["stores"][0]["key"][1]["name"] == "city"
    assert found["sources"][0]["newest"]["1"]["paths"] == ["file:///data/in/2.json"]
