"""Which folders open as a checkpoint, and the sentence for each that does not."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import jupyter_streamwatch as sw
from tests.conftest import ROOT
from tests.unit.checkpoints import real

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return real.unpack("4.3-join", tmp_path / "all" / "orders")


@pytest.mark.oldest
def test_ways_to_write_a_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text, Path, file URLs with one and three slashes, relative paths and the home folder."""
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("HOME", str(folder.parent))
    for path in (
        folder,
        str(folder),
        f"file:{folder}",
        f"file://{folder}",
        f"file://localhost{folder}",
        "orders",
        "~/orders",
    ):
        assert sw.checkpoint(path).lastOffset == 1


def test_escaped_file_url(tmp_path: Path) -> None:
    """A space in a file URL is written %20, as Spark does."""
    real.unpack("4.3-files", tmp_path / "a b")
    assert sw.checkpoint(f"file://{tmp_path}/a%20b").lastOffset == 1


@pytest.mark.oldest
@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("offsets", "is a part of a checkpoint: pass "),
        ("state/0/1/left-keyToNumValues", "is a part of a checkpoint: pass "),
        ("metadata", "is a file, and a checkpoint is a folder: pass "),
        ("offsets/0", "is a file, and a checkpoint is a folder: pass "),
    ],
)
def test_inside_of_a_checkpoint(inside: str, said: str, folder: Path) -> None:
    """A folder or file of a checkpoint names the checkpoint."""
    with pytest.raises(ValueError, match="checkpoint") as raised:
        sw.checkpoint(folder / inside)
    assert said in str(raised.value)
    assert str(raised.value).rstrip(".").endswith(f"{str(folder)!r}")


def test_folder_of_checkpoints(folder: Path) -> None:
    """A folder above names what it holds."""
    with pytest.raises(ValueError, match="holds one: pass it: ") as raised:
        sw.checkpoint(folder.parent)
    assert str(folder) in str(raised.value)
    for name in "abcdefgh":
        real.unpack("4.3-files", folder.parent / name)
    with pytest.raises(ValueError, match=r"holds 9 checkpoints, pass one of them: .* and 3 more"):
        sw.checkpoint(folder.parent)


def test_other_folders(tmp_path: Path) -> None:
    """Missing, empty, a sink's output, a Delta table and anything else: one sentence each."""
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        sw.checkpoint(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="is empty: a query writes its checkpoint there when it first starts"):
        sw.checkpoint(tmp_path / "empty")
    real.unpack("4.3-files-sink", tmp_path / "out" / "_spark_metadata")
    with pytest.raises(ValueError, match="is the output of a file sink"):
        sw.checkpoint(tmp_path / "out")
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    with pytest.raises(ValueError, match="is a Delta table"):
        sw.checkpoint(tmp_path / "table")
    (tmp_path / "iceberg" / "metadata").mkdir(parents=True)
    (tmp_path / "iceberg" / "data").mkdir(parents=True)
    with pytest.raises(ValueError, match="is no checkpoint of a streaming query"):
        sw.checkpoint(tmp_path / "iceberg")
    with pytest.raises(ValueError, match="The path is empty"):
        sw.checkpoint("")


def test_checksums_and_unfinished_files_are_left_out(folder: Path) -> None:
    """Hidden files, checksums and files that are being written are no entries."""
    for name in (".0.crc", "offsets/.2.tmp", "offsets/.1.crc", "offsets/2.tmp", "offsets/notes.txt", "offsets/²"):
        (folder / name).write_text("x")
    found = sw.checkpoint(folder)
    assert list(found.offsets) == [0, 1]
    assert found.problems == ()


def test_a_folder_that_links_to_itself(folder: Path) -> None:
    """A loop of links ends."""
    (folder / "state" / "0" / "loop").symlink_to(folder / "state")
    assert sw.checkpoint(folder).operators[0].id == 0


def test_memory_url(folder: Path) -> None:
    """A URL of fsspec reads the same, and knows its wrong folders, too."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for path in folder.rglob("*"):
        if path.is_file():
            system.pipe(f"/cp/orders/{path.relative_to(folder)}", path.read_bytes())
    system.pipe("/cp/empty/x", b"")
    try:
        there, here = sw.checkpoint("memory://cp/orders"), sw.checkpoint(folder)
        assert there.problems == ()
        assert there.restart().to_dict() == here.restart().to_dict()
        assert there.bytes == here.bytes
        assert [one.to_dict() for one in there.operators] == [one.to_dict() for one in here.operators]
        with pytest.raises(ValueError, match="pass 'memory://cp/orders'"):
            sw.checkpoint("memory://cp/orders/offsets")
        with pytest.raises(ValueError, match="holds one: pass it: memory://cp/orders"):
            sw.checkpoint("memory://cp")
        with pytest.raises(FileNotFoundError):
            sw.checkpoint("memory://cp/nowhere")
    finally:
        system.rm("/cp", recursive=True)


def test_urls_that_cannot_be_read() -> None:
    """An unknown kind of URL says that a session may read it, in one line."""
    pytest.importorskip("fsspec")
    with pytest.raises(ValueError, match="pass a classic session") as raised:
        sw.checkpoint("strange://bucket/x")
    assert "\n" not in str(raised.value)


def test_needs_no_spark(folder: Path) -> None:
    """Reading imports neither pyspark, bokeh, pandas nor IPython."""
    code = (
        f"import sys, jupyter_streamwatch as sw; found = sw.checkpoint({str(folder)!r}); str(found); found.to_dict();"
        " print([name for name in ('pyspark', 'bokeh', 'pandas', 'IPython') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_hostile_names_are_text(folder: Path) -> None:
    """What a file says is escaped in HTML, which has neither style nor script."""
    (folder / "metadata").write_text('{"id": "<script>alert(1)</script>"}')
    html = sw.checkpoint(folder)._repr_mimebundle_()["text/html"]
    assert "<script" not in html
    assert "<style" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("path", [None, 5, b"/checkpoint"])
def test_no_path(path) -> None:
    """Anything but a text or a path is refused with what to give."""
    with pytest.raises(TypeError, match="checkpointLocation as text or a path, not"):
        sw.checkpoint(path)


def test_what_is_no_session_is_refused(tmp_path):
    """A name instead of the session would look at this machine's files without a word."""
    with pytest.raises(TypeError, match="Pass a SparkSession as spark, not str"):
        sw.checkpoint(tmp_path, "spark")
