"""What a restart says by the mode of the query, and what it says to do when it fails (measured on Spark 4.3.0)."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.checkpoints import facade
from jupyter_streamwatch.checkpoints.parts import KnownSink
from jupyter_streamwatch.checkpoints.storage.files import Local
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.query_shape import Shape
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.recordings.recording import Recording
from tests.unit.checkpoints import real
from tests.unit.checkpoints.test_restart import COMMIT, ID, damaged, offsets, written

if TYPE_CHECKING:
    from pathlib import Path

ASYNCHRONOUS = {"asyncProgressTrackingEnabled": "true"}
NOTHING = "Without new data no batch runs, and no row is read again."


def kafka(folder: Path, planned: list[int], done: list[int], **files: str) -> Path:
    """A checkpoint of a Kafka topic with these entries in its logs."""
    entries = {f"offsets/{n}": offsets(f'{{"orders":{{"0":{n * 100}}}}}') for n in planned}
    return written(folder, {**entries, **{f"commits/{n}": COMMIT for n in done}, **files})


@pytest.mark.parametrize("trigger", ["realTime", {"realTime": "5 minutes"}])
def test_real_time_mode_hides_rows_that_come_again(trigger, tmp_path: Path) -> None:
    """Equal logs: offsets are logged after the batch, so nobody knows what a batch cut short had read."""
    plan = sw.checkpoint(kafka(tmp_path, [0, 1], [0, 1])).restart(trigger=trigger)
    assert (plan.batchId, plan.replay) == (2, None)
    assert "come again" in str(plan)
    assert "no row is read again" not in str(plan)


def test_asynchronous_progress_tracking_has_gaps_by_design(tmp_path: Path) -> None:
    """With the option the start goes on, and batches without an entry come again; without it, it fails."""
    found = sw.checkpoint(kafka(tmp_path, [0, 3, 7], [0, 3, 7]))
    plan = found.restart(options=ASYNCHRONOUS)
    assert (plan.batchId, plan.replay, plan.blocked) == (8, None, None)
    assert "all batches after batch 7 come again" in str(plan)
    plan = found.restart(trigger="2 seconds", options={})
    assert plan.blocked.startswith("offsets/6 is missing")
    assert "asyncProgressTrackingCheckpointIntervalMs=0" in plan.cures[1]
    assert "move offsets/3, offsets/7, commits/3 and commits/7" in plan.cures[2]


def test_gaps_without_a_word_about_the_options_say_both(tmp_path: Path) -> None:
    """Gaps of this form are no failure by themselves."""
    found = sw.checkpoint(kafka(tmp_path, [0, 3, 7], [0, 3, 7]))
    plan = found.restart()
    assert (plan.replay, plan.blocked) == (None, None)
    assert "With asyncProgressTrackingEnabled=true the next start goes on after batch 7" in str(plan)
    assert "Without that option it fails" in str(plan)
    assert "without offsets and commits of 1, 2 and 4 to 6" in str(found)
    assert found.to_dict()["gaps"] == {"offsets": [1, 2, 4, 5, 6], "commits": [1, 2, 4, 5, 6]}


def test_an_asynchronous_batch_again_begins_at_the_entry_before_it(tmp_path: Path) -> None:
    """An uncommitted batch is run from the newest entry before it, however far back that is."""
    plan = sw.checkpoint(kafka(tmp_path, [0, 3, 7], [0, 3])).restart(options={"asyncProgressTrackingEnabled": True})
    assert (plan.batchId, plan.replay, plan.blocked) == (7, True, None)
    assert plan.sources[0]["from"] == {"orders": {"0": 300}}


def test_plain_micro_batches_read_no_row_again(tmp_path: Path) -> None:
    """Only where trigger and options are known the plain sentence stands alone; else it says what is not known."""
    found = sw.checkpoint(kafka(tmp_path, [0, 1], [0, 1]))
    plan = found.restart(trigger="2 seconds", options={})
    assert (plan.replay, plan.blocked) == (False, None)
    assert NOTHING in plan.sentences
    unknown = str(found.restart())
    assert NOTHING not in unknown
    assert "restart(trigger=..., options={...})" in unknown
    assert "the trigger and the writer's options are not known here" in unknown
    found.commands = True
    assert "--trigger=... and --options='{...}'" in str(found.restart())
    assert "restart(" not in str(found)


@pytest.mark.parametrize("sink", ["files", "foreachBatch", "delta"])
def test_a_sink_that_other_modes_refuse_needs_no_word_about_them(sink: str, tmp_path: Path) -> None:
    """The file sink, Delta and foreachBatch take plain micro-batches alone."""
    found = facade.Checkpoint(Local(kafka(tmp_path, [0, 1], [0, 1])), sink=KnownSink(sink))
    assert NOTHING in found.restart().sentences


@pytest.mark.parametrize("case", ["4.3-aggregate", "4.3-join"])
def test_state_rules_asynchronous_progress_out(case: str, tmp_path: Path) -> None:
    """Spark refuses asynchronous progress tracking for a query that keeps state."""
    assert "asyncProgressTracking" not in str(sw.checkpoint(real.unpack(case, tmp_path / "c")).restart())


def test_a_continuous_checkpoint_runs_continuously_only(tmp_path: Path) -> None:
    """Spark fails with another trigger; in continuous mode it goes on after the last commit, at-least-once."""
    found = sw.checkpoint(real.unpack("4.3-continuous", tmp_path / "c"))
    assert found.continuous
    plan = found.restart(trigger="continuous")
    assert (plan.batchId, plan.replay, plan.blocked) == (3, None, None)
    assert "epoch 3" in plan.sentences[0]
    assert "at-least-once" in str(plan)
    plan = found.restart(trigger="2 seconds", options={})
    assert "NullPointerException" in plan.blocked
    assert "continuous trigger" in plan.cures[0]
    plan = found.restart()
    assert (plan.replay, plan.blocked) == (None, None)
    assert "with any other Spark fails" in str(plan)


def test_continuous_mode_on_micro_batches(tmp_path: Path) -> None:
    """It goes on from the newest commit whatever comes after it; the rate source cannot read its old offsets."""
    plan = sw.checkpoint(kafka(tmp_path / "k", [0, 1, 2], [0, 1])).restart(trigger={"continuous": "1 second"})
    assert (plan.batchId, plan.replay, plan.blocked) == (2, None, None)
    assert plan.sources[0]["from"] == {"orders": {"0": 100}}
    plan = sw.checkpoint(real.unpack("4.3-rate", tmp_path / "r")).restart(trigger="continuous")
    assert plan.blocked.startswith("the rate source")


def watched(kind: str | None, options: tuple[tuple[str, str], ...] | None, **facts: str) -> History:
    history = History(ID, "orders")
    trigger = None if kind is None else Trigger(kind, None, "asked")
    history.set_facts(Facts(trigger=trigger, shape=Shape(options=options), **facts))
    return history


def test_what_is_stated_beats_what_a_recording_knows(tmp_path: Path) -> None:
    """A recording, saved and read again, knows trigger and options; what is stated stands before them."""
    found = sw.checkpoint(kafka(tmp_path / "c", [0, 1], [0, 1]))
    history = watched("processingTime", (("asyncprogresstrackingenabled", "true"),))
    Recording([history]).save(tmp_path / "run.jsonl")
    assert found.restart(against=tmp_path / "run.jsonl").replay is None
    assert found.restart(against=history, options={}).replay is False
    assert found.restart(against=history, options={}, trigger="realTime").replay is None
    plain = watched("processingTime", ())
    assert NOTHING in found.restart(against=plain).sentences
    assert found.restart(against=plain, options=ASYNCHRONOUS).replay is None
    other = History("another", "x")
    assert found.restart(against=other).sentences == found.restart().sentences


def test_what_cannot_be_stated() -> None:
    """A wrong trigger, options or recording is an error in a sentence."""
    found = facade.Checkpoint.__new__(facade.Checkpoint)
    found.__dict__.update(id=ID, _sink=None)
    with pytest.raises(ValueError, match="trigger"):
        found.restart(trigger="now and then")
    with pytest.raises(TypeError, match="dict"):
        found.restart(options="none")
    with pytest.raises(TypeError, match="Recording"):
        found.restart(against=3)


def test_a_gap_names_the_repair_and_its_price(tmp_path: Path) -> None:
    """Spark's own repair: move the newest entries aside until two are consecutive; nothing contradicts the failure."""
    found = sw.checkpoint(kafka(tmp_path, [5, 6, 8], [5, 6]))
    plan = found.restart(options={}, trigger="2 seconds")
    assert plan.blocked.startswith("offsets/7 is missing")
    assert plan.sentences[0].startswith("The next start would run batch 8 again")
    assert "copy offsets/7 back" in plan.cures[0]
    assert "move offsets/8 (with its hidden .crc file) out of the checkpoint" in plan.cures[1]
    assert "batch 7 is planned anew after offsets/6" in plan.cures[1]
    assert "new checkpointLocation" in plan.cures[-1]
    assert "follows as usual" not in str(plan)
    assert "as done" not in str(plan)
    delta = facade.Checkpoint(found.storage, sink=KnownSink("delta")).restart()
    assert "rows that the new batches hold beyond the old ones are lost" in delta.cures[1]
    assert "come twice" in facade.Checkpoint(found.storage, sink=KnownSink("kafka")).restart().cures[2]


def test_commits_beyond_the_kept_offsets_go_as_well(tmp_path: Path) -> None:
    """A commit that is ahead of the offsets stops the start after the batch reached the sink: it is moved, too."""
    plan = sw.checkpoint(kafka(tmp_path, [4, 5, 7], [4, 5, 6, 7])).restart(options={})
    assert "move offsets/7, commits/6 and commits/7 (each" in plan.cures[1]


def test_a_state_whose_version_before_is_there(tmp_path: Path) -> None:
    """The last commit, and offsets planned since, are moved aside: the batch runs again and writes its state anew."""
    folder = damaged(tmp_path, "4.3-aggregate", "state/0/0/3.delta")
    plan = sw.checkpoint(folder).restart()
    assert "lacks version 3" in plan.blocked
    assert "copy state/0/0 back" in plan.cures[0]
    assert "move commits/2 (with its hidden .crc file) out of the checkpoint" in plan.cures[1]
    assert "batch 2 runs again" in plan.cures[1]
    files = facade.Checkpoint(Local(folder), sink=KnownSink("files")).restart()
    assert "move _spark_metadata/2 of the output aside as well" in files.cures[1]
    (folder / "state/0/0/2.delta").unlink()
    assert not any("commits/2" in cure for cure in sw.checkpoint(folder).restart().cures)


def test_no_batch_without_data_after_a_restart(tmp_path: Path) -> None:
    """A watermark that moved with the last batch runs no batch at the start: measured in 4.3.0."""
    folder = real.unpack("4.3-aggregate", tmp_path / "c")
    done = folder / "commits/2"
    done.write_text('v1\n{"nextBatchWatermarkMs":1893456000000}')
    text = str(sw.checkpoint(folder).restart())
    assert "come with the first new data, not at the start" in text
    assert "may come first" not in text


def test_files_older_than_max_file_age(tmp_path: Path) -> None:
    """A file source says that it never reads what is too old."""
    assert "maxFileAge (7 days by default)" in str(sw.checkpoint(real.unpack("4.3-files", tmp_path / "c")).restart())
    assert "maxFileAge" not in str(sw.checkpoint(kafka(tmp_path / "k", [0], [0])).restart())


def test_named_sources_are_found_by_name(tmp_path: Path) -> None:
    """The log of a source with a name lies in a folder of that name: an unchanged restart goes on."""
    folder = real.unpack("4.3-named", tmp_path / "c")
    found = sw.checkpoint(folder)
    assert found.restart().blocked is None
    assert [source.folder for source in found.sources.values()] == ["a", "b"]
    (folder / "sources/b/0").unlink()
    assert "sources/b" in sw.checkpoint(folder).restart().blocked


def file_sink(folder: Path, batches: int, age: float = 0.0) -> KnownSink:
    """An output folder whose log has these batches, so many seconds old."""
    (folder / "_spark_metadata").mkdir(parents=True)
    for n in range(batches):
        entry = folder / "_spark_metadata" / str(n)
        entry.write_text(f'v1\n{{"path":"file:///out/{n}.parquet","size":1,"action":"add"}}')
        os.utime(entry, (entry.stat().st_mtime - age,) * 2)
    return KnownSink("files", str(folder))


def test_a_new_checkpoint_over_an_old_output_folder(tmp_path: Path) -> None:
    """The sink skips ids that it has: the plan says so, and never exactly-once."""
    sink = file_sink(tmp_path / "out", 4)
    folder = kafka(tmp_path / "c", [0, 1], [0])
    plan = facade.Checkpoint(Local(folder), sink=sink).restart()
    assert "batches 2 to 3 are committed without being written" in plan.unwritten
    assert plan.sinkSafe == "no"
    assert "xactly-once" not in str(plan)


@pytest.mark.parametrize("age", [0.0, 3_600.0 * 24 * 365])
def test_an_output_folder_whose_batches_are_older_than_their_plan(age: float, tmp_path: Path) -> None:
    """Also when the ids have been passed it shows that the first batches were not written; the query's own are not."""
    sink = file_sink(tmp_path / "out", 3, age)
    entries = [f"offsets/{n}" for n in range(5)]
    folder = kafka(tmp_path / "c", [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    for name in entries:
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace("1767268800000", str(int(tmp_path.stat().st_mtime * 1000))))
    plan = facade.Checkpoint(Local(folder), sink=sink).restart()
    assert (plan.unwritten is not None) is (age > 0)
    if age:
        assert "had batches 0 to 2 before this checkpoint planned them" in plan.unwritten


@pytest.mark.parametrize(("mode", "refused"), [("append", True), ("update", True), ("complete", False)])
def test_the_memory_sink_recovers_in_complete_mode_alone(mode: str, refused: bool, tmp_path: Path) -> None:
    """Spark refuses the start in other modes; in complete mode the table starts empty."""
    found = sw.checkpoint(kafka(tmp_path, [0], [0]))
    plan = found.restart(against=watched("processingTime", (), sinkKind="memory", outputMode=mode))
    assert (plan.blocked is not None) is refused
    assert ("Spark refuses" in str(plan)) is refused
    if not refused:
        assert "starts empty" in str(plan)


def test_to_dict_is_json(tmp_path: Path) -> None:
    """The whole plan is data."""
    plan = sw.checkpoint(kafka(tmp_path, [5, 6, 8], [5, 6])).restart()
    assert json.loads(json.dumps(plan.to_dict()))["cures"] == list(plan.cures)
    assert SimpleNamespace(**plan.to_dict()).replay is True


def test_files_that_no_batch_was_planned_with_run_at_once(tmp_path: Path) -> None:
    """A source that is ahead of the offsets has its batch without new data: no sentence says otherwise."""
    text = str(sw.checkpoint(damaged(tmp_path, "4.3-files", "offsets/1", "commits/1")).restart())
    assert "A batch runs for those files at once" in text
    assert "no batch runs" not in text


def test_a_lost_state_fails_the_batch_and_not_the_start(tmp_path: Path) -> None:
    """A start without new data runs no batch, and so does not miss the state yet."""
    plan = sw.checkpoint(damaged(tmp_path, "4.3-aggregate", "state/0/0/3.delta")).restart()
    assert plan.sentences[1].startswith("The first batch, which new data brings, will fail: the state")
