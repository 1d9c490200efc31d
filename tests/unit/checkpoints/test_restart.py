"""What the next start does: each case as real Spark 3.5 and 4.3 do it (``tests/spark/test_checkpoint*``)."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.checkpoints import facade, known
from jupyter_streamwatch.checkpoints.parts import KnownSink, MissingState
from jupyter_streamwatch.checkpoints.storage.files import Local
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.query_shape import OperatorShape, Shape
from jupyter_streamwatch.spark import kafka_offsets
from tests.unit.checkpoints import real

if TYPE_CHECKING:
    from pathlib import Path

ID = "7a9f2c1e-0000-4000-8000-000000000001"


def damaged(tmp_path: Path, name: str, *gone: str) -> Path:
    """A real checkpoint without some of its files."""
    folder = real.unpack(name, tmp_path / "checkpoint")
    for pattern in gone:
        found = list(folder.glob(pattern))
        assert found, pattern
        for path in found:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return folder


def written(folder: Path, files: dict[str, str]) -> Path:
    """A checkpoint of these files."""
    for name, text in {"metadata": json.dumps({"id": ID}), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def offsets(*sources: str, watermark: int = 0) -> str:
    metadata = {"batchWatermarkMs": watermark, "batchTimestampMs": 1_767_268_800_000, "conf": {}}
    return "\n".join(["v1", json.dumps(metadata), *sources])


COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


def plan_of(folder: Path, sink: KnownSink | None = None):
    return facade.Checkpoint(Local(folder), sink=sink).restart()


@pytest.mark.oldest
def test_committed_batch_leads_to_the_next(tmp_path: Path) -> None:
    """Both batches are committed: batch 2 is next, from the last offset on, and no file is read again."""
    plan = plan_of(damaged(tmp_path, "4.3-files"))
    assert (plan.batchId, plan.replay, plan.plannedMs) == (2, False, None)
    (source,) = plan.sources
    assert (source["from"], source["to"], source.files) == ({"logOffset": 1}, None, None)
    assert (
        plan.sentences[0]
        == "The next start runs batch 2 for the first time: batch 1, the last one planned, is committed."
    )
    assert "none that it took is read again" in str(plan)


@pytest.mark.oldest
@pytest.mark.parametrize("name", ["3.5-files", "4.3-files"])
def test_uncommitted_batch_runs_again(name: str, tmp_path: Path) -> None:
    """offsets/1 without commits/1: batch 1 again, over exactly its file."""
    plan = plan_of(damaged(tmp_path, name, "commits/1"))
    assert (plan.batchId, plan.replay) == (1, True)
    (source,) = plan.sources
    assert (source["from"], source["to"]) == ({"logOffset": 0}, {"logOffset": 1})
    assert source.files == ("file:///data/in/2.json",)
    assert source.gone == ("file:///data/in/2.json",)  # it was never on this machine
    assert plan.plannedMs is not None
    assert "runs batch 1 again" in plan.sentences[0]
    assert "reads exactly 1 file: 2.json" in str(plan)
    assert "numInputRows come again" in str(plan)
    assert plan.to_dict()["sources"][0]["from"] == {"logOffset": 0}


def test_first_batch_again(tmp_path: Path) -> None:
    """The first batch has no from; without any commit Spark runs the last planned batch again."""
    plan = plan_of(damaged(tmp_path, "4.3-files", "offsets/1", "commits/*"))
    assert (plan.batchId, plan.replay) == (0, True)
    assert (plan.sources[0].from_, plan.sources[0].files) == (None, ("file:///data/in/1.json",))


def test_nothing_planned_yet(tmp_path: Path) -> None:
    """A checkpoint with only its metadata starts with batch 0."""
    plan = plan_of(written(tmp_path, {}))
    assert (plan.batchId, plan.replay, plan.sources, plan.blocked) == (0, False, (), None)
    assert "no batch was planned yet" in str(plan)


def test_files_that_are_gone(tmp_path: Path) -> None:
    """A replayed batch without its file is read without it, silently: the plan says so."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a b.json").write_text("{}")
    line = lambda name, entry: json.dumps({"path": f"file://{tmp_path}/in/{name}", "timestamp": 1, "batchId": entry})  # noqa: E731
    folder = written(
        tmp_path / "c",
        {
            "offsets/0": offsets('{"logOffset":0}'),
            "sources/0/0": f"v1\n{line('a%20b.json', 0)}\n{line('gone.json', 0)}",
        },
    )
    plan = plan_of(folder)
    assert plan.sources[0].gone == (f"file://{tmp_path}/in/gone.json",)
    assert plan.sources[0].replayable is False
    assert "1 of these files is gone: its rows are lost" in str(plan)


def test_source_log_ahead_of_the_offsets(tmp_path: Path) -> None:
    """A crash between the source's log and the offset log: the next batch takes the files that are noted already."""
    plan = plan_of(damaged(tmp_path, "4.3-files", "offsets/1", "commits/1"))
    assert (plan.batchId, plan.replay) == (1, False)
    assert plan.sources[0].files == ("file:///data/in/2.json",)
    assert "2.json; the next batch takes it" in str(plan)


@pytest.mark.parametrize(
    ("gone", "batch", "said"),
    [
        (["offsets/*"], 0, "there are commits up to 1 but no offsets"),
        (["offsets/1"], 0, "commits/1 is there but offsets/1 is not"),
        (["offsets/0", "commits/1"], 1, "offsets/0 is missing"),
        (["offsets/0"], 2, "offsets/0 is missing"),
        (["sources"], 2, "sources/0 is missing"),
        (["sources/0/1"], 2, "sources/0 lacks entry 1"),
        (["sources/0/1", "commits/1"], 1, "sources/0 lacks entry 1"),
    ],
)
def test_starts_that_fail(gone: list[str], batch: int, said: str, tmp_path: Path) -> None:
    """What makes Spark refuse is said in the second sentence, with the file's name."""
    plan = plan_of(damaged(tmp_path, "4.3-files", *gone))
    assert plan.batchId == batch
    assert said in plan.blocked
    assert plan.sentences[1].startswith("The start will fail: ")


@pytest.mark.parametrize("file", ["offsets/1", "offsets/0", "commits/1", "metadata"])
@pytest.mark.parametrize("content", ["", "v1", "garbage", "\0" * 200])
def test_damaged_files_that_stop_a_start(file: str, content: str, tmp_path: Path) -> None:
    """An empty, cut or overwritten file of the newest batches is named, as Spark cannot read it either."""
    folder = damaged(tmp_path, "4.3-files", *(["commits/1"] if file == "offsets/0" else []))
    (folder / file).write_text(content)
    if (file, content) == ("commits/1", "v1"):
        return  # Spark reads a commit without metadata
    found = sw.checkpoint(folder)
    assert file in found.restart().blocked
    assert any(file in problem for problem in found.problems)


def test_metadata_missing(tmp_path: Path) -> None:
    """Without its metadata a checkpoint opens; what a start does depends on the version of Spark."""
    found = sw.checkpoint(damaged(tmp_path, "4.3-files", "metadata"))
    assert found.id is None
    assert any("metadata" in problem for problem in found.problems)
    plan = found.restart()
    assert plan.blocked is None
    assert "Spark 4.2 and newer refuse to start, older versions go on under a new id" in str(plan)
    assert "write it anew" in str(plan)
    assert facade.Checkpoint(found.storage, spark=SimpleNamespace(version="4.1.1")).restart().blocked is None
    refused = facade.Checkpoint(found.storage, spark=SimpleNamespace(version="4.3.0")).restart()
    assert refused.blocked.startswith("the file metadata is missing")
    assert "copy metadata back" in refused.cures[0]
    assert "new checkpointLocation" in refused.cures[-1]


def test_commits_that_lag(tmp_path: Path) -> None:
    """More than one uncommitted batch: Spark runs only the last one again, and the plan says what that means."""
    folder = written(
        tmp_path,
        {**{f"offsets/{n}": offsets(f'{{"offset":{n},"timestamp":{n}}}') for n in range(4)}, "commits/0": COMMIT},
    )
    plan = plan_of(folder)
    assert (plan.batchId, plan.replay, plan.blocked) == (3, True, None)
    assert "The last commit is 0, more than one batch behind" in str(plan)


@pytest.mark.parametrize(
    ("case", "gone", "store", "partition", "versions"),
    [
        ("4.3-aggregate", "state/0/1/2.delta", "default", 1, (2,)),
        ("3.5-aggregate", "state/0/0", "default", 0, (1, 2, 3)),
        ("4.3-aggregate", "state/0/0/3.delta", "default", 0, (3,)),
        ("4.3-join", "state/0/1/left-keyToNumValues/2.delta", "left-keyToNumValues", 1, (2,)),
        ("4.3-aggregate-rocksdb", "state/0/1/3.zip", "default", 1, (3,)),
        ("4.3-aggregate-v2", "state/0/1/3_*.*", "default", 1, (3,)),
        ("4.3-join-v2", "state/0/1/right-keyToNumValues/2_*.changelog", "right-keyToNumValues", 1, (2,)),
    ],
)
def test_missing_state(tmp_path: Path, *, case: str, gone: str, store: str, partition: int, versions: tuple) -> None:
    """State files that the next batch needs and that are gone: operator, store, partition and versions are named."""
    plan = plan_of(damaged(tmp_path, case, gone))
    assert plan.missingState[0] == MissingState(0, store, partition, versions)
    assert f"in partition {partition} " in plan.blocked
    assert ", ".join(str(version) for version in versions) in plan.blocked


@pytest.mark.parametrize("case", ["3.5-long", "4.3-long", "4.3-long-changelog", "4.3-long-v2"])
def test_state_before_the_snapshot_is_not_needed(case: str, tmp_path: Path) -> None:
    """Deltas and changelogs older than the newest whole copy may be gone."""
    folder = real.unpack(case, tmp_path / "checkpoint")
    newest = {int(path.name.split(".")[0].split("_")[0]) for path in folder.glob("state/0/0/*.[sz]*")}
    for path in folder.glob("state/0/*/*.[dc]*"):
        if int(path.name.split(".")[0].split("_")[0]) <= max(newest):
            path.unlink()
    assert plan_of(folder).missingState == ()


def test_replay_needs_the_version_before(tmp_path: Path) -> None:
    """Batch 2 again reads version 2 of the state, whatever the crashed run left of version 3."""
    plan = plan_of(damaged(tmp_path, "4.3-aggregate", "commits/2", "state/0/*/3.delta"))
    assert (plan.batchId, plan.replay, plan.missingState, plan.blocked) == (2, True, (), None)


KAFKA = ('{"orders":{"0":10,"1":5}}', '{"orders":{"0":120,"1":5,"2":7}}')


def test_kafka_range(tmp_path: Path) -> None:
    """Kafka partitions from → to, rows where all starts are known, and the one thing only a broker can say."""
    files = {"offsets/0": offsets(KAFKA[0]), "offsets/1": offsets(KAFKA[1]), "commits/0": COMMIT}
    (source,) = plan_of(written(tmp_path / "a", files)).sources
    assert source.kind == "kafka"
    assert source.text == "orders 0: 10→120, 2: start→7, 1 without new rows"
    assert (source.from_, source.to) == (json.loads(KAFKA[0]), json.loads(KAFKA[1]))
    assert source.replayable is None
    files = {"offsets/0": offsets(KAFKA[0]), "sources/0/0": '\0v1\n{"orders":{"0":4,"1":5}}'}
    plan = plan_of(written(tmp_path / "b", files))
    assert plan.sources[0].from_ is None
    assert "orders 0: 4→10, 1 without new rows (6 rows at most)" in str(plan)
    assert "only a broker can say" in str(plan)


@pytest.mark.parametrize(
    ("held", "replayable", "said"),
    [
        ({"orders": {"0": (0, 500), "1": (5, 5), "2": (0, 9)}}, True, "still has all"),
        ({"orders": {"0": (20, 500), "1": (5, 5), "2": (0, 9)}}, False, "orders 0 begins at 20, not at 10"),
        (
            {"orders": {"0": (0, 7), "1": (5, 5), "2": (0, 9)}},
            False,
            "orders 0 ends at 7, before 120: it was made again",
        ),
        ({"orders": {"0": (0, 500), "1": (5, 5)}}, False, "orders has no partition 2"),
        ({"orders": {}}, False, "there is no topic orders"),
        (None, None, "only a broker can say"),
    ],
)
def test_what_the_broker_still_has(held, replayable, said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that was asked says whether the range is there, and if not, which of it."""
    monkeypatch.setattr(kafka_offsets, "held", lambda *_asked: held)
    files = {"offsets/0": offsets(KAFKA[0]), "offsets/1": offsets(KAFKA[1]), "commits/0": COMMIT}
    plan = facade.Checkpoint(Local(written(tmp_path, files)), brokers=True).restart()
    assert plan.sources[0].replayable is replayable
    assert said in str(plan)


def test_a_broker_is_not_asked_in_passing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dashboard's card waits for no broker."""
    monkeypatch.setattr(kafka_offsets, "held", lambda *_asked: pytest.fail("asked"))
    files = {"offsets/0": offsets(KAFKA[0]), "commits/0": COMMIT}
    assert facade.Checkpoint(Local(written(tmp_path, files))).restart().sources[0].replayable is None


@pytest.mark.parametrize(
    ("first", "second", "kind", "text"),
    [
        ("-", '{"orders":{"0":3}}', "kafka", "orders 0: start→3"),
        ("-", "-", "none", "no data yet"),
        ('{"logOffset":3}', '{"logOffset":3}', "file", "nothing new: stays at entry 3 of its log"),
        ("4", "9", "number", "rows 4→9"),
        ('{"offset":5,"timestamp":1000}', '{"offset":15,"timestamp":2000}', "rate-micro-batch", "rows 5→15 (10 rows)"),
        (
            '{"sourceVersion":1,"reservoirId":"x","reservoirVersion":3,"index":-1,"isStartingVersion":true}',
            '{"sourceVersion":1,"reservoirId":"x","reservoirVersion":5,"index":2,"isStartingVersion":false}',
            "delta",
            "table version 3 (first snapshot)→5, file 2",
        ),
        ('{"seqNum":4,"sourceVersion":1}', '{"seqNum":9,"sourceVersion":1}', "autoloader", "file event 4→file event 9"),
        (
            '[{"shard":{"stream":"s","shardId":"0"}}]',
            '[{"shard":{"stream":"s"}},{"shard":{"stream":"s"}}]',
            "kinesis",
            "s: 1 shard→s: 2 shards",
        ),
        ('{"a":1}', '{"a":2}', "unknown", '{"a": 1}→{"a": 2}'),
        ("nonsense", '"x"', "unknown", "nonsense→x"),
    ],
)
def test_ranges_of_sources(first: str, second: str, kind: str, text: str, tmp_path: Path) -> None:
    """Each kind of source by the shape of its offsets, from → to as a person reads it."""
    files = {"offsets/6": offsets(first), "offsets/7": offsets(second), "commits/6": COMMIT, "sources/0/3": "v1"}
    (source,) = plan_of(written(tmp_path, files)).sources
    assert (source.kind, source.text) == (kind, text)
    assert source["kind"] == kind
    with pytest.raises(KeyError):
        source["from_"]


@pytest.mark.parametrize(
    ("kind", "safe", "said"),
    [
        ("files", "yes", "_spark_metadata"),
        ("delta", "yes", "skips a batch that it has"),
        ("foreachBatch", "depends", "a plain append writes the rows a second time"),
        ("kafka", "no", "at-least-once"),
        ("foreach", "no", "at-least-once"),
        ("memory", "no", "not fault-tolerant"),
        ("console", "no", "not fault-tolerant"),
        ("noop", "yes", "nothing can come twice"),
        ("pulsar", None, "not known here"),
        (None, None, "does not say which sink"),
    ],
)
def test_sinks(kind: str | None, safe: str | None, said: str, tmp_path: Path) -> None:
    """What the sink does with a repeated batch; an unknown one is told what it must be."""
    plan = plan_of(damaged(tmp_path, "4.3-files", "commits/1"), KnownSink(kind) if kind else None)
    assert (plan.sink, plan.sinkSafe) == (kind, safe)
    assert said in str(plan)


def test_code_for_foreach_batch(tmp_path: Path) -> None:
    """The code to paste is Python, and carries the checkpoint's id."""
    folder = damaged(tmp_path, "4.3-files", "commits/1")
    plan = plan_of(folder, KnownSink("foreachBatch"))
    compile(plan.code_fix, "code", "exec")
    assert sw.checkpoint(folder).id in plan.code_fix
    assert "txnVersion" in plan.code_fix
    assert "txnVersion" in str(plan)


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (["commits/1"], "already has batch 1, and the sink skips it"),
        (["commits/*", "offsets/1"], "already has batch 0, and the sink skips it"),
        (["commits/*", "offsets/*"], "are committed without being written, silently"),
    ],
)
def test_file_sink_log(gone: list[str], said: str, tmp_path: Path) -> None:
    """Where the sink's path is known, its own log says whether it has the batch; an old output swallows a new start."""
    real.unpack("4.3-files-sink", tmp_path / "out" / "_spark_metadata")
    plan = plan_of(damaged(tmp_path, "4.3-files", *gone), KnownSink("files", path=str(tmp_path / "out")))
    assert said in str(plan)


def test_no_secret_is_shown(tmp_path: Path) -> None:
    """Secrets in offsets, settings and paths are in no text, HTML or data."""
    line = json.dumps({"path": "s3://user:hunter2@bucket/in/password=hunter2/a.json", "timestamp": 1, "batchId": 0})
    metadata = {"batchTimestampMs": 1, "conf": {"fs.secret.key": "hunter2", "x": "token=hunter2"}}
    folder = written(
        tmp_path,
        {
            "offsets/0": f'v1\n{json.dumps(metadata)}\n{{"logOffset":0}}\n{{"accessKey":"hunter2","url":"a://b:hunter2@c"}}',
            "sources/0/0": f"v1\n{line}",
        },
    )
    found = sw.checkpoint(folder)
    shown = [str(found), repr(found), repr(found.offsets[0]), json.dumps(found.to_dict()), str(found.restart())]
    shown += [repr(found.restart()), repr(list(found.sources[0].values())), *found._repr_mimebundle_().values()]
    assert not [text for text in shown if "hunter2" in text]


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ((), "move offsets/1 and commits/1 (each with its hidden .crc file) out of the checkpoint"),
        (("commits/1",), "move offsets/1 (with its hidden .crc file) out of the checkpoint"),
    ],
)
def test_what_helps_against_a_damaged_offset(gone: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """The entry comes back, or it is moved aside with its commit and the batch is planned anew; never deleted."""
    folder = damaged(tmp_path, "4.3-files", *gone)
    (folder / "offsets" / "1").write_text("")
    plan = plan_of(folder)
    assert "copy offsets/1 back" in plan.cures[0]
    assert said in plan.cures[1]
    assert "batch 1 is planned anew after offsets/0" in plan.cures[1]
    assert "delet" not in str(plan)


def test_a_state_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint does not say that it had state; a watched run does, and then the start will fail."""
    folder = damaged(tmp_path, "4.3-files")
    assert plan_of(folder).blocked is None
    watched = History(str(facade.Checkpoint(Local(folder)).id))
    watched.set_facts(Facts(shape=Shape(operators=(OperatorShape("dedupe"),))))
    monkeypatch.setattr(known.watched, "history", lambda asked: watched if asked == watched.id else None)
    assert "state/ is missing" in (plan_of(folder).blocked or "")
