"""The card of a watched query's checkpoint: what is read and when, what it says, and that it is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from jupyter_streamwatch import testing
from jupyter_streamwatch.checkpoints import known
from jupyter_streamwatch.checkpoints.storage.files import Local
from jupyter_streamwatch.model import checkpoint_card
from jupyter_streamwatch.model import watched as watched_here
from jupyter_streamwatch.model.checkpoint_card import Card, Pinned
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.recordings.recording import Recording
from jupyter_streamwatch.summary import checkpoint as cardsheet
from jupyter_streamwatch.summary import line as overview
from jupyter_streamwatch.watching import checkpoint_reads as cards
from jupyter_streamwatch.watching.checkpoint_reads import Cards

PARTITIONS = "spark.sql.shuffle.partitions"


class Session:
    """A session with one setting; others are of another version of Spark."""

    conf = SimpleNamespace(get={PARTITIONS: "8"}.__getitem__)


def planned(folder, batch: int, at: int = 1_772_370_000_000, partitions: int = 200) -> None:
    """Write ``offsets/N`` as Spark does."""
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    conf = {PARTITIONS: str(partitions), "spark.sql.streaming.multipleWatermarkPolicy": "min"}
    head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": at, "conf": conf})
    (folder / "offsets" / str(batch)).write_text(f"v1\n{head}\n{batch}")


def committed(folder, batch: int) -> None:
    """Write ``commits/N`` as Spark does."""
    (folder / "commits").mkdir(parents=True, exist_ok=True)
    (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


@pytest.fixture
def folder(tmp_path):
    """A checkpoint with batches 0 to 2 done and 3 planned, and some state."""
    path = tmp_path / "checkpoint"
    for batch in range(3):
        planned(path, batch)
        committed(path, batch)
    planned(path, 3, at=1_772_370_009_000)
    (path / "metadata").write_text('{"id":"3d1f5a60-0000-4000-8000-000000000001"}')
    (path / "state" / "0" / "0").mkdir(parents=True)
    (path / "state" / "0" / "0" / "1.delta").write_bytes(b"x" * 10_000)
    return path


@pytest.fixture
def watched(folder):
    """A history on that checkpoint, and the cards that read it at once."""
    history = testing.history(name="orders", batches=3)
    history.set_facts(Facts(mode="classic", checkpoint=str(folder), temporaryCheckpoint=False, sinkKind="foreachBatch"))
    lines: list[dict] = []
    made = Cards(Session(), soon=lambda job: job(), history=lambda _id: history, learned=lines.append)
    made.start(history.runs[-1].runId)
    return SimpleNamespace(history=history, cards=made, lines=lines, run=history.runs[-1].runId, folder=folder)


def test_after_the_first_batch_the_logs_are_read(watched):
    """The newest entries, what a restart does, the session's setting that the checkpoint overrides, and the size."""
    watched.cards.batch(watched.history.id, watched.run, 2)
    found = watched.history.checkpoint
    assert (found.lastOffset, found.lastCommit, found.nextBatch, found.replay) == (3, 2, 3, True)
    assert found.pinned == (Pinned(PARTITIONS, "200", "8"),)
    assert found.bytes > 10_000
    assert (found.firstBatch, found.firstPlannedMs) == (2, 1_772_370_000_000)
    assert 1 <= len(found.restart) <= 2
    assert found.sinkSafe == "depends"
    assert found.code_fix
    (line,) = watched.lines
    assert (line["event"], line["checkpoint"]) == ("checkpoint", found)


def test_further_batches_are_no_reason_to_read(watched):
    """One reading after the first batch, one at the end; between, only while somebody looks."""
    for batch in range(2, 9):
        watched.cards.batch(watched.history.id, watched.run, batch)
    assert len(watched.lines) == 1
    committed(watched.folder, 3)
    watched.cards.end(watched.history.id, watched.run)
    assert len(watched.lines) == 2
    assert watched.history.checkpoint.replay is False
    watched.cards.wait(0)


def test_who_looks_gets_news_every_half_minute_and_only_news(watched, monkeypatch):
    """Shown twice a second, the checkpoint is read once in 30 s, and not again while no batch came."""
    now = SimpleNamespace(at=1000.0)
    monkeypatch.setattr(cards.time, "monotonic", lambda: now.at)
    look = lambda: watched.cards.look(watched.history)  # noqa: E731
    look()
    look()
    now.at += 31
    look()
    assert len(watched.lines) == 1
    watched.history.append(testing.progress(batchId=1_000))
    look()
    assert len(watched.lines) == 2
    watched.history.append(testing.progress(batchId=1_001))
    look()
    assert len(watched.lines) == 2


def test_while_it_runs_the_state_is_left_alone(watched, monkeypatch):
    """The state may hold a hundred thousand files: its folder is not listed before the run has ended."""
    seen = []
    opened = cards.open_logs
    monkeypatch.setattr(cards, "open_logs", lambda *given, **more: seen.append(opened(*given, **more)) or seen[-1])
    watched.cards.batch(watched.history.id, watched.run, 2)
    watched.cards.end(watched.history.id, watched.run)
    running, ended = seen
    assert running.operators == ()
    assert [operator.id for operator in ended.operators] == [0]


def test_a_large_state_is_left_alone_at_the_end_too(watched, monkeypatch):
    """Where adding up sizes takes too long, the state is not looked into, and the size says why it is unknown."""
    monkeypatch.setattr(cards, "size", lambda _storage: None)
    watched.cards.end(watched.history.id, watched.run)
    assert watched.history.checkpoint.lastOffset == 3
    size = next(row for row in cardsheet.sheet(watched.history).rows if row[0] == "Size")
    assert size[1] == "n/a"
    assert "more files" in size[2].lower()


def test_adding_up_sizes_ends_in_time(watched):
    """Where there are more files than can be counted in passing, the size is unknown."""
    storage = Local(watched.folder)
    assert cards.size(storage, 60) > 10_000
    assert cards.size(storage, 0) is None


def test_a_size_once_known_stays_until_the_next_sum(watched):
    """Sizes are added up seldom; what was known before is shown."""
    watched.cards.batch(watched.history.id, watched.run, 2)
    before = watched.history.checkpoint.bytes
    watched.cards._read(watched.history.id, watched.run)
    assert watched.history.checkpoint.bytes == before


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (Facts(checkpoint="/tmp/temporary-1", temporaryCheckpoint=True), "Temporary"),
        (Facts(mode="connect", why={"checkpoint": "Connect does not tell it."}), "Connect does not tell it."),
        (Facts(), "does not tell"),
        (Facts(checkpoint="/nowhere/at/all"), "cannot be read"),
    ],
)
def test_a_checkpoint_that_is_not_read_says_why(watched, facts, words):
    """Temporary, not named, or out of reach: one sentence instead of numbers."""
    watched.history.set_facts(facts)
    watched.cards.batch(watched.history.id, watched.run, 0)
    assert words in watched.history.checkpoint.why
    sheet = cardsheet.sheet(watched.history)
    assert words in sheet.summary
    assert [label for label, *_ in sheet.rows] == ["Where"]


def test_what_was_read_stays_when_it_is_out_of_reach(watched):
    """After the storage has gone, the last card stays, with the time that it was read."""
    watched.cards.batch(watched.history.id, watched.run, 2)
    before = watched.history.checkpoint
    watched.folder.rename(watched.folder.with_name("moved"))
    watched.cards.end(watched.history.id, watched.run)
    assert watched.history.checkpoint == before


def test_a_storage_that_hangs_is_given_up(watched, monkeypatch):
    """Nobody waits longer than the bound for a storage that does not answer."""
    monkeypatch.setattr(cards, "WAIT", 0.05)
    import threading

    over = threading.Event()
    monkeypatch.setattr(cards, "open_logs", lambda *_given, **_more: over.wait(30))
    watched.cards.batch(watched.history.id, watched.run, 2)
    over.set()
    assert "did not answer" in watched.history.checkpoint.why


def test_the_sheet_says_it_in_words(watched):
    """Where, size, last offsets and commit, what comes of a repeated batch, the pinned setting and the code."""
    watched.cards.batch(watched.history.id, watched.run, 2)
    sheet = cardsheet.sheet(watched.history)
    rows = {label: value for label, value, _ in sheet.rows}
    assert rows["Where"].endswith("checkpoint")
    assert rows["Size"].endswith("KiB")
    assert rows["Last offsets"] == "batch 3, planned 2026-03-01 13:00:09 UTC", "with its date: it was long ago"
    watched.history.set_checkpoint(replace(watched.history.checkpoint, at=1_772_370_010_000))
    rows = {label: value for label, value, _ in cardsheet.sheet(watched.history).rows}
    assert rows["Last offsets"] == "batch 3, planned 13:00 UTC"
    assert rows["Last commit"] == "batch 2"
    assert "function" in rows["When run again"]
    assert "batch 3" in sheet.summary
    assert "runs it again" in sheet.summary
    assert sheet.pinned == ((PARTITIONS, "200", "8", None),)
    assert "txnVersion" in sheet.code


def test_a_card_that_leaves_the_state_out_says_nothing_of_it(watched, monkeypatch):
    """While the query runs the state is not looked into: that is no sign of a lost one."""
    monkeypatch.setattr("jupyter_streamwatch.checkpoints.known._stateful", lambda _shape: True)
    watched.cards.batch(watched.history.id, watched.run, 2)
    assert not any("missing" in sentence for sentence in watched.history.checkpoint.restart)


def test_a_card_that_batches_have_left_behind_says_what_holds_now(watched):
    """A batch that was under way when the checkpoint was read is done once its progress is there."""
    watched.cards.batch(watched.history.id, watched.run, 2)
    watched.history.append(testing.progress(batchId=3, name="orders", start="2026-01-01T00:10:00.000Z"))
    sheet = cardsheet.sheet(watched.history)
    assert sheet.summary == "a restart goes on after batch 3"
    assert sheet.restart == (), "what a restart would have done then is no answer now"
    rows = {label: value for label, value, _ in sheet.rows}
    assert rows["Last commit"] == "batch 3"
    assert "Last offsets" not in rows


def test_a_batch_that_the_run_had_to_do_again_is_named(watched):
    """Its offsets were planned before the run began."""
    history = watched.history
    history.set_checkpoint(Card(firstBatch=7, firstPlannedMs=history.runs[-1].started - 60_000, nextBatch=8))
    rows = {label: value for label, value, _ in cardsheet.sheet(history).rows}
    assert rows["Run again"].startswith("batch 7, planned")
    history.set_checkpoint(Card(firstBatch=7, firstPlannedMs=history.runs[-1].started + 60, nextBatch=8))
    assert "Run again" not in {label for label, *_ in cardsheet.sheet(history).rows}


def test_class_names_are_short_and_secrets_are_out(watched):
    """A setting's class is named without its packages, whole in the tip; credentials of a path are not shown."""
    kept = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    watched.history.set_checkpoint(
        Card(path="s3a://me:secret-key@bucket/c", pinned=(Pinned("provider", kept, "other"),), restart=("token=abc",))
    )
    line = overview.line(watched.history, watched.history.snapshot() and _diagnosis()).to_dict()
    assert line["checkpoint"]["pinned"][0][1] == "RocksDBStateStoreProvider"
    assert kept in line["checkpoint"]["pinned"][0][3]
    text = json.dumps(line)
    assert "secret-key" not in text
    assert "token=abc" not in text


def test_without_a_look_there_is_no_sheet():
    """A history whose checkpoint was never looked at has nothing to show."""
    assert cardsheet.sheet(testing.history()) is None


def test_it_is_kept_in_a_recording(watched, tmp_path):
    """Saved and read again, the card is the same."""
    watched.cards.batch(watched.history.id, watched.run, 2)
    Recording([watched.history]).save(tmp_path / "run.jsonl")
    (again,) = load(tmp_path / "run.jsonl").queries.values()
    assert again.checkpoint == watched.history.checkpoint


@pytest.mark.parametrize("data", [{}, {"at": 1, "new": 2}, {"pinned": [{"name": "a"}], "restart": None}, "text", None])
def test_a_card_from_elsewhere_is_read_as_far_as_it_goes(data):
    """A recording of another version, or a damaged one, raises nothing."""
    assert checkpoint_card.restored(data) is None or isinstance(checkpoint_card.restored(data), Card)


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_every_report_has_it(watched, tmp_path, suffix):
    """The report names the checkpoint and what a restart does; text from outside formats nothing."""
    watched.cards.batch(watched.history.id, watched.run, 2)
    found = watched.history.checkpoint
    watched.history.set_checkpoint(replace(found, restart=("<img src=x> runs batch 3 again.",)))
    static = Recording([watched.history]).report(tmp_path / f"out.{suffix}")
    text = (tmp_path / f"out.{suffix}").read_text()
    assert "runs batch 3 again" in text
    assert suffix == "json" or "<img src=x>" not in text
    assert "runs batch 3 again" in static.html
    assert "a restart runs it again" in static.text


def _diagnosis():
    from jupyter_streamwatch.diagnosis.result import Diagnosis

    return Diagnosis("keeping-up", "Batches take 1 s.")


def test_the_sink_of_a_watched_query_is_known(watched):
    """A checkpoint holds no sink: the last watched run of its id in this kernel says which one it is."""
    watch = SimpleNamespace(histories=lambda: [watched.history])
    watched_here.add(watch)
    found = known.sink(watched.history.id)
    assert (found.kind, found.name) == ("foreachBatch", "orders")
    assert known.sink("another") is None
    assert known.sink(None) is None
    watched_here.remove(watch)
    assert known.sink(watched.history.id) is None
