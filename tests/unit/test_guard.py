"""The guard around starts, with a writer and a comparison made here: what stops, what is said, what is restored."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from jupyter_streamwatch.model.query_shape import Shape, SourceShape
from jupyter_streamwatch.notebook import guard
from jupyter_streamwatch.notebook.guard import NotStartedError, guarding
from jupyter_streamwatch.spark import writer


class Writer:
    """Starts as PySpark's writer does, and notes it."""

    def __init__(self) -> None:
        self.known: dict[str, object] = {}
        self.started: list[object] = []

    def options(self, **options):
        self.known.update(options)
        return self

    def __getattr__(self, name):
        def set_it(value):
            self.known[name] = value
            return self

        return set_it

    def start(self, path=None, format=None, outputMode=None, partitionBy=None, queryName=None, **options):
        self.started.append(path)
        return "the query"

    def toTable(self, tableName, format=None, outputMode=None, partitionBy=None, queryName=None, **options):
        self.started.append(tableName)
        return "the query"


def change(verdict: str, what: str = "grouping-keys") -> SimpleNamespace:
    return SimpleNamespace(what=what, verdict=verdict, was="city", now="country", reason="The state has other keys.")


@pytest.fixture
def compared(monkeypatch):
    """Lets a test say what a comparison finds; returns what was compared."""
    seen = []
    state = SimpleNamespace(found=[], where="/data/checkpoint", seen=seen)

    def changes(writer, where, path, table):
        seen.append((dict(writer.known), where, path, table))
        if isinstance(state.found, Exception):
            raise state.found
        return state.found() if callable(state.found) else state.found

    monkeypatch.setattr(guard, "_starts", lambda: iter([(Writer, "start"), (Writer, "toTable")]))
    monkeypatch.setattr(guard, "checkpoint_of", lambda _writer: state.where)
    monkeypatch.setattr(guard, "_changes", changes)
    return state


@pytest.mark.parametrize("verdict", ["silently-wrong", "not-allowed"])
def test_a_change_that_does_not_fit_is_not_started(compared, verdict):
    """The call raises one message that names the checkpoint, the change and the remedy; the query is not started."""
    compared.found = [change("allowed", "filter"), change(verdict)]
    writer = Writer()
    with guarding(), pytest.raises(NotStartedError) as refused:
        writer.start()
    text = str(refused.value)
    assert "/data/checkpoint" in text
    assert "grouping-keys: city → country" in text
    assert "The state has other keys." in text
    assert "new checkpointLocation" in text
    assert "filter" not in text
    assert writer.started == []


def test_a_changed_meaning_is_said_and_starts(compared):
    """What Spark allows with another meaning is one line; what is allowed is none."""
    compared.found = [change("allowed"), change("changed-meaning", "filter"), change("unknown", "sink")]
    said: list[str] = []
    with guarding(said.append):
        assert Writer().start() == "the query"
    assert [line.partition(":")[0] for line in said] == ["filter", "sink"]


@pytest.mark.parametrize(("where", "found"), [(None, []), ("/new", FileNotFoundError("There is no /new."))])
def test_a_first_start_is_let_through_in_silence(compared, where, found):
    """Without a checkpoint, or with one that the start is going to make, there is nothing to compare."""
    compared.where, compared.found = where, found
    said: list[str] = []
    with guarding(said.append):
        assert Writer().start() == "the query"
    assert said == []


def test_a_comparison_that_fails_says_so_and_starts(compared):
    """What cannot be judged is not stopped; secrets of a path are not shown."""
    compared.where = "s3a://key:secret@bucket/checkpoint"
    compared.found = ValueError("This folder is\nno checkpoint.")
    said: list[str] = []
    with guarding(said.append):
        assert Writer().start() == "the query"
    (line,) = said
    assert line.endswith("This folder is no checkpoint.")
    assert "secret" not in line


def test_a_comparison_that_takes_too_long_says_so_and_starts(compared, monkeypatch):
    """A storage that does not answer holds a start up for a bounded time."""
    monkeypatch.setattr(guard, "SECONDS", 0.05)
    over = threading.Event()
    compared.found = over.wait
    said: list[str] = []
    with guarding(said.append):
        assert Writer().start() == "the query"
    over.set()
    assert "longer than 0.05 s" in said[0]


def test_what_start_is_given_is_compared(compared):
    """Arguments of the call count as if they had been set on the writer; path and table are passed on."""
    writer = Writer()
    with guarding():
        writer.start("/out", "parquet", outputMode="append", queryName="q", checkpointLocation="/c")
        writer.toTable("silver", outputMode="append")
    (known, _, path, table), (_, _, no_path, silver) = compared.seen
    assert known == {"format": "parquet", "outputMode": "append", "queryName": "q", "checkpointLocation": "/c"}
    assert (path, table) == ("/out", None)
    assert (no_path, silver) == (None, "silver")
    assert writer.started == ["/out", "silver"]


def test_a_wrong_argument_is_spark_s_to_refuse(compared):
    """A call that the method does not understand raises what it raises without the guard."""
    with guarding(), pytest.raises(TypeError, match="positional"):
        Writer().start(1, 2, 3, 4, 5, 6, 7)


def test_the_class_has_its_own_methods_back(compared):
    """After the block, also one that raises, the calls are those of the class again."""
    own = (Writer.__dict__["start"], Writer.__dict__["toTable"])

    def fail() -> None:
        with guarding():
            assert Writer.__dict__["start"] is not own[0]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (Writer.__dict__["start"], Writer.__dict__["toTable"]) == own


def test_another_wrapper_made_in_the_block_stays(compared, monkeypatch):
    """Who wraps the call in the block keeps doing so after it, and the guard is out of the way."""
    compared.found = [change("not-allowed")]
    monkeypatch.setattr(Writer, "start", Writer.__dict__["start"])  # the class is as it was after the test
    with guarding():
        guarded = Writer.start
        told: list[object] = []

        def telling(writer, *arguments, **options):
            told.append(guarded(writer, *arguments, **options))

        Writer.start = telling
    Writer().start()
    assert told == ["the query"]


@pytest.mark.parametrize(("batches", "stopped"), [(3, True), (0, False)])
def test_a_new_checkpoint_over_an_old_output_folder(batches, stopped, tmp_path, monkeypatch):
    """The file sink would skip the ids that the folder has: that first start is stopped, one into a new one is not."""
    (tmp_path / "out" / "_spark_metadata").mkdir(parents=True)
    for number in range(batches):
        (tmp_path / "out" / "_spark_metadata" / str(number)).write_text("v1\n")
    shape = Shape(mode="classic", sink="files", sinkPath=str(tmp_path / "out"))
    monkeypatch.setattr(guard.probe, "shape", lambda _writer, _settings: shape)
    found = guard._changes(SimpleNamespace(), str(tmp_path / "new"), None, None)
    assert [change.verdict for change in found] == (["silently-wrong"] if stopped else [])


@pytest.mark.parametrize(
    ("table", "place"),
    [
        (writer.Table("parquet", "file:/lake/silver"), ("files", "/lake/silver")),
        (writer.Table(None, None), ("files", "the new table silver")),
        (None, (None, None)),
    ],
)
def test_a_table_is_the_place_that_its_catalog_names(table, place, monkeypatch):
    """``toTable`` to another table is another place; where the catalog does not tell, nothing is guessed."""
    monkeypatch.setattr(guard, "table_of", lambda _spark, _name: table)
    placed = guard._placed(Shape(sink="files", sinkPath=None), None, None, "silver")
    assert (placed.sink, placed.sinkPath) == place


@pytest.mark.parametrize(("mode", "stopped"), [("append", True), ("update", True), ("complete", False)])
def test_a_memory_sink_on_a_checkpoint_with_offsets(mode, stopped, tmp_path, monkeypatch):
    """Spark refuses it but in complete mode, watched or not."""
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{"batchTimestampMs":1}\n{"orders":{"0":1}}')
    sources = (SourceShape("kafka", "Kafka orders"),)
    shape = Shape(mode="classic", sources=sources, operators=(), state=(), sink="memory", outputMode=mode)
    monkeypatch.setattr(guard.probe, "shape", lambda _writer, _settings: shape)
    found = guard._changes(SimpleNamespace(), str(tmp_path), None, None)
    assert ("not-allowed" in [change.verdict for change in found]) is stopped
