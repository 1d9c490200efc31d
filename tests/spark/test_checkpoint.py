"""Checkpoints of running Spark: what is predicted before a restart is what the restart then does."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.checkpoints.facade import Checkpoint
from jupyter_streamwatch.checkpoints.parts import KnownSink
from jupyter_streamwatch.checkpoints.storage.files import Local
from jupyter_streamwatch.checkpoints.storage.hadoop import Hadoop
from jupyter_streamwatch.spark import hadoop
from tests.helpers import wait_until
from tests.spark.checkpoint_queries import CHANGELOG, LATER, ROCKS, ROWS, Maker
from tests.spark.queries import add_file

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.oldest


@pytest.fixture
def maker(spark: Any, tmp_path: Path) -> Maker:
    return Maker(spark, tmp_path)


def names(folder: Path) -> list[str]:
    """Files of a checkpoint without the checksums."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")
    )


def remove(path: Path) -> None:
    """Delete a file with its checksum."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def read(query: Any) -> list[tuple[int, int]]:
    """The batches of a run, and how many rows each read."""
    return [(one["batchId"], one["numInputRows"]) for one in query.recentProgress if one["numInputRows"]]


def test_two_batches_and_two_restarts(maker: Maker) -> None:
    """The exact files of two batches; a restart without a new file reads no row, and with one exactly that one."""
    query = maker.files()
    folder = maker.path("files")
    assert names(folder) == [
        "commits/0",
        "commits/1",
        "metadata",
        "offsets/0",
        "offsets/1",
        "sources/0/0",
        "sources/0/1",
    ]
    found = sw.checkpoint(folder)
    assert found.id == str(query.id)
    taken = [file.path.rpartition("/")[2] for entry in found.sources[0].values() for file in entry]
    assert taken == ["1.json", "2.json"]
    plan = found.restart()
    assert (plan.batchId, plan.replay) == (2, False)
    known = found.restart(trigger="availableNow", options={})
    assert "Without new data no batch runs, and no row is read again." in known.sentences
    again = maker.files()
    assert str(again.id) == found.id
    assert read(again) == []
    assert sw.checkpoint(folder).lastOffset == 1
    add_file(maker.base / "in", "3.json", ROWS[:1])
    assert sw.checkpoint(folder).restart().batchId == 2
    assert read(maker.files()) == [(2, 1)]
    assert [file.path.rpartition("/")[2] for file in sw.checkpoint(folder).sources[0][2]] == ["3.json"]
    assert maker.spark.read.parquet(str(maker.base / "files-out")).count() == 5


def test_session_reads_the_same(maker: Maker) -> None:
    """Through the session's file systems the checkpoint is the same as from this machine."""
    maker.run("aggregate", maker.aggregate(), "update")
    folder = maker.path("aggregate")
    here = sw.checkpoint(folder)
    there = Checkpoint(Hadoop(hadoop.open_folder(maker.spark, str(folder))))
    assert there.path == f"file:{folder}"
    assert there.problems == ()
    assert there.bytes == here.bytes
    assert [one.to_dict() for one in there.operators] == [one.to_dict() for one in here.operators]
    assert there.restart().batchId == here.restart().batchId
    assert there.times[0][2] == pytest.approx(here.times[0][2], abs=1_000)
    assert sw.checkpoint(f"file:{folder}", maker.spark).id == here.id
    with pytest.raises(FileNotFoundError):
        sw.checkpoint(str(folder / "nowhere"), maker.spark)
    with pytest.raises(ValueError, match="session cannot read strange: URLs") as raised:
        sw.checkpoint("strange://x/y", maker.spark)
    assert "\n" not in str(raised.value)


def test_state_while_it_grows(maker: Maker) -> None:
    """Operator, keys, buffers and the version that the next batch reads, of each kind of store."""
    for name, conf in {"hdfs": {}, "rocksdb": ROCKS, "changelog": CHANGELOG}.items():
        maker.run(name, maker.source().groupBy("city").count(), "update", conf)
    for name, (provider, changelog) in {
        "hdfs": ("HDFS", None),
        "rocksdb": ("RocksDB", False),
        "changelog": ("RocksDB", True),
    }.items():
        found = sw.checkpoint(maker.path(name))
        (operator,) = found.operators
        (store,) = operator.stores
        assert (operator.name or operator.guess, operator.partitions) == ("stateStoreSave", 2)
        assert (store.provider, store.changelog) == (provider, changelog)
        assert [(one.name, one.type) for one in (*store.key, *store.value)] == [("city", "string"), ("count", "bigint")]
        assert [files.latestVersion for files in store.files] == [2, 2]
        assert found.restart().missingState == ()
    add_file(maker.base / "in", "3.json", LATER)
    maker.run("hdfs", maker.source().groupBy("city").count(), "update")
    assert sw.checkpoint(maker.path("hdfs")).operators[0].stores[0].files[0].latestVersion == 3


def start_again(maker: Maker, name: str, frame: Any = None, mode: str = "append") -> tuple[list[int], str]:
    """Start once more; the batch ids that the sink got, and the error if it failed."""
    given: list[int] = []
    try:
        maker.run(name, maker.source() if frame is None else frame, mode, each=lambda _, batch: given.append(batch))
    except Exception as error:
        return given, str(error)
    return given, ""


def test_restarts_are_as_predicted(maker: Maker) -> None:
    """A dozen checkpoints that lost something: what the plan says of the next batch, or why it fails, is so."""
    maker.run("base", maker.source(), each=lambda rows, _: rows.count())
    cases = {
        "uncommitted": ["commits/1"],
        "no-commits": ["commits/0", "commits/1"],
        "planned-not": ["commits/1", "offsets/1"],
        "commits-ahead": ["offsets/1"],
        "no-offsets": ["offsets/0", "offsets/1"],
        "no-start": ["offsets/0", "commits/1"],
        "no-start-committed": ["offsets/0"],
        "no-source-entry": ["sources/0/1"],
    }
    for name, gone in cases.items():
        folder = maker.path(name)
        shutil.copytree(maker.path("base"), folder)
        for file in gone:
            remove(folder / file)
        plan = sw.checkpoint(folder).restart()
        given, error = start_again(maker, name)
        if plan.blocked:
            assert error, (name, plan.blocked)
        else:
            assert (given, error) == ([plan.batchId], ""), name
        assert bool(plan.blocked) == (name not in ("uncommitted", "no-commits", "planned-not")), name
    for file in ("offsets/1", "commits/1", "metadata"):
        folder = maker.path(f"empty-{file.replace('/', '-')}")
        shutil.copytree(maker.path("base"), folder)
        remove(folder / file)
        (folder / file).write_text("")
        assert file in sw.checkpoint(folder).restart().blocked
        assert start_again(maker, folder.name)[1], file


def test_lost_source_file_is_lost_silently(maker: Maker) -> None:
    """A file that is gone before its batch runs again: Spark says nothing and reads no row; the plan says it before."""
    maker.run("lost", maker.source(), each=lambda rows, _: rows.count())
    remove(maker.path("lost") / "commits" / "1")
    (maker.base / "in" / "2.json").unlink()
    plan = sw.checkpoint(maker.path("lost")).restart()
    assert plan.sources[0].gone
    assert "are lost" in str(plan)
    counts: list[tuple[int, int]] = []
    maker.run("lost", maker.source(), each=lambda rows, batch: counts.append((batch, rows.count())))
    assert counts == [(1, 0)]


def test_lost_state_stops_the_batch(maker: Maker) -> None:
    """A state file that the next batch needs: the plan names it, and Spark fails on it."""
    count = maker.source().groupBy("city").count()
    maker.run("lost", count, "update")
    add_file(maker.base / "in", "3.json", ROWS)
    remove(maker.path("lost") / "state" / "0" / "1" / "2.delta")
    plan = sw.checkpoint(maker.path("lost")).restart()
    assert [(one.operator, one.partition, one.versions) for one in plan.missingState] == [(0, 1, (2,))]
    error = ""
    try:
        maker.run("lost", count, "update")
    except Exception as raised:
        error = str(raised)
    assert error


def test_old_output_swallows_a_new_start(maker: Maker) -> None:
    """A fresh checkpoint with an output folder that has batches: all are committed, nothing is written."""
    maker.files()
    query = maker.run("fresh", maker.source(), sink="parquet", path=maker.base / "files-out")
    assert read(query) == []  # the sink does not even ask for the rows
    assert sw.checkpoint(maker.path("fresh")).lastCommit == 1
    assert maker.spark.read.parquet(str(maker.base / "files-out")).count() == 4
    for log in ("offsets", "commits"):
        shutil.rmtree(maker.path("fresh") / log)
    empty = Checkpoint(Local(maker.path("fresh")), sink=KnownSink("files", path=str(maker.base / "files-out")))
    assert "are committed without being written, silently" in str(empty.restart())


def test_sink_of_a_watched_query(maker: Maker, watch: Any) -> None:
    """A checkpoint does not hold the sink: it is that of the run which this kernel watched."""
    writer = maker.source().writeStream.option("checkpointLocation", str(maker.path("watched")))
    query = writer.format("parquet").start(str(maker.base / "watched-out"))
    try:
        wait_until(lambda: query.lastProgress)
        found = sw.checkpoint(maker.path("watched"))
        assert wait_until(lambda: found.sink, what="the probe's answer").kind == "files"
        assert found.restart().sinkSafe == "yes"
        assert str(watch.queries[found.id].id) == found.id
    finally:
        query.stop()
    json.dumps(found.to_dict())
