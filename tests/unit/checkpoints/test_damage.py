"""Cut, overwritten and made-up files: a checkpoint opens all the same, and says what is wrong."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jupyter_streamwatch as sw
from jupyter_streamwatch.checkpoints.logs import log, schema
from jupyter_streamwatch.checkpoints.parts import CommitEntry, OffsetEntry
from tests.unit.checkpoints import real

SMALL = ["4.3-aggregate", "3.5-join", "4.3-with-state", "4.3-aggregate-v2", "4.3-long", "4.3-offsets-v2"]
CONTENT = {name: real.content(name) for name in SMALL}
READ = {  # the files that are parsed, not only listed
    name: [file for file in files if not file.endswith((".delta", ".zip", ".sst", ".changelog", ".snapshot"))]
    for name, files in CONTENT.items()
}


def look_at_everything(files: dict[str, bytes]) -> None:
    """Write the files, open them, and ask for all there is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "checkpoint"
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        found = sw.checkpoint(folder)
        json.dumps(found.to_dict(), allow_nan=False)
        assert isinstance(str(found), str)
        assert isinstance(found._repr_mimebundle_()["text/html"], str)
        assert all(isinstance(problem, str) and "\n" not in problem for problem in found.problems)
        plan = found.restart()
        assert plan.sentences
        assert str(plan)
        for source in found.sources.values():
            list(source.items())
        found.watermarks, found.times, found.state()


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_damaged_bytes(data: st.DataObject) -> None:
    """A few bytes of a real file are changed, cut off or put in: nothing raises."""
    name = data.draw(st.sampled_from(SMALL))
    file = data.draw(st.sampled_from(READ[name]))
    content = bytearray(CONTENT[name][file])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        how = data.draw(st.sampled_from(["change", "cut", "insert", "nothing"]))
        if how == "change" and content:
            content[at] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del content[at:]
        elif how == "insert":
            content[at:at] = data.draw(st.binary(max_size=8))
    look_at_everything({**CONTENT[name], file: bytes(content)})


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(SMALL), st.data())
def test_lost_and_empty_files(name: str, data: st.DataObject) -> None:
    """Any files may be missing or empty."""
    gone = set(data.draw(st.lists(st.sampled_from(sorted(CONTENT[name])), max_size=6)))
    empty = set(data.draw(st.lists(st.sampled_from(sorted(CONTENT[name])), max_size=3)))
    files = {file: b"" if file in empty else content for file, content in CONTENT[name].items() if file not in gone}
    files.setdefault("offsets/x", b"")
    look_at_everything(files)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=10,
)
KEYS = st.sampled_from(
    [
        "logOffset",
        "reservoirVersion",
        "index",
        "offset",
        "timestamp",
        "seqNum",
        "sourceVersion",
        "shards",
        "shard",
        "0",
        "t",
    ]
)
OFFSET = JSON | st.dictionaries(KEYS, JSON, max_size=4) | st.lists(st.dictionaries(KEYS, JSON, max_size=2), max_size=3)


@settings(max_examples=25, deadline=None)
@given(JSON, st.lists(OFFSET, max_size=3), st.lists(OFFSET, max_size=3), JSON)
def test_made_up_entries(metadata: object, first: list, second: list, commit: object) -> None:
    """Offsets and metadata of any shape."""
    files = {
        "metadata": b'{"id":"x"}',
        "offsets/0": "\n".join(["v1", json.dumps(metadata), *map(json.dumps, first)]).encode("utf-8", "surrogatepass"),
        "offsets/1": "\n".join(["v1", "{}", *map(json.dumps, second)]).encode("utf-8", "surrogatepass"),
        "commits/0": f"v1\n{json.dumps(commit)}".encode("utf-8", "surrogatepass"),
    }
    look_at_everything(files)


@pytest.mark.oldest
@settings(max_examples=150, deadline=None)
@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_an_entry_or_a_problem(text: str) -> None:
    """The parsers of single files take any text."""
    offset, commit = log.offset_entry(3, text), log.commit_entry(3, text)
    assert isinstance(offset, OffsetEntry)
    assert isinstance(commit, CommitEntry)
    assert offset.problem or offset.sources
    assert log.metadata_id(text) is None or text.strip().startswith("{")


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_schema_or_an_error(content: bytes) -> None:
    """The schema reader raises its own error alone."""
    for lead in (b"", b"\0\2v1", b"\0\2v2", b"\0\2v3\0\0\0\1\0\1a\0\0"):
        with contextlib.suppress(schema.SchemaError):
            assert schema.read_schema(lead + content) is not None


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 60 + "1" + "}" * 60, "9" * 5_000])
def test_deep_and_long_json(deep: str) -> None:
    """Nesting and numbers without end are no JSON of Spark's."""
    entry = log.offset_entry(1, f"v1\n{{}}\n{deep}")
    assert entry.sources[0].kind == "unknown"
    assert len(entry.sources[0].text) < 200
    assert log.offset_entry(1, f"v1\n{deep}\n-").problem


def test_all_lines_of_a_log_that_are_damaged_are_counted(tmp_path: Path) -> None:
    """A source's log with broken lines gives the whole ones, and says how many it could not read."""
    folder = real.unpack("4.3-files", tmp_path / "x")
    (folder / "commits/1").unlink()
    (folder / "sources/0/1").write_text('v1\n{"path":"file:///data/in/2.json","batchId":1}\n{"pat\n[]\n')
    found = sw.checkpoint(folder)
    assert found.restart().sources[0].files == ("file:///data/in/2.json",)
    assert "sources/0/1 has 2 lines that cannot be read." in found.problems
