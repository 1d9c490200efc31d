"""Damaged files, and a person's mistakes: one sentence on the command line, never a traceback; views still work."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_core.application import NoStart

from jupyter_streamwatch import charts
from jupyter_streamwatch.cli import StreamWatchApp
from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.report import html, write
from jupyter_streamwatch.report.static import static
from jupyter_streamwatch.settings import StreamWatch
from tests.hostile import damage, names

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ended(capsys):
    """A function that runs a command, and returns its exit code and all that it said."""

    def run(*arguments) -> tuple[int, str]:
        StreamWatch.clear_instance()
        app = StreamWatchApp()
        code = 0
        try:
            app.initialize([str(argument) for argument in arguments])
            app.start()
        except NoStart:
            pass
        except SystemExit as end:
            code = end.code
        type(app.subapp or app).clear_instance()
        said = capsys.readouterr()
        return code, said.err + said.out

    yield run
    StreamWatch.clear_instance()


def read(path, tmp_path) -> None:
    """Do with a recording all that a person may do."""
    recording = load(path)
    repr(recording)
    for history in recording.queries.values():
        str(recording.diagnose(history.id))
        charts.data(history)
        history.to_pandas()
    for suffix in (".md", ".json", ".html"):
        write(tmp_path / f"r{suffix}", recording)
    static(recording).text.encode()
    recording.save(tmp_path / "again.jsonl")
    assert list(load(tmp_path / "again.jsonl").queries) == list(recording.queries)


@pytest.mark.parametrize("path", sorted(damage.CORPUS.iterdir()), ids=lambda path: path.name)
def test_every_file_that_once_broke_a_view_is_shown(tmp_path, monkeypatch, path):
    """And those that the others are made of."""
    monkeypatch.setattr(html, "_static", lambda file: tmp_path / file)
    read(path, tmp_path)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_recording_breaks_no_view(tmp_path, monkeypatch, seed):
    """What is not understood is left out; what is left is read, shown, and saved again."""
    monkeypatch.setattr(html, "_static", lambda file: tmp_path / file)
    path = tmp_path / "damaged"
    chance = random.Random(seed)
    data = damage.damaged(chance)
    path.write_bytes(data if data.startswith(b'{"streamwatch"') else b'{"streamwatch":1}\n' + data)
    read(path, tmp_path)


@pytest.mark.parametrize("seed", range(60, 75))
def test_the_command_line_says_one_sentence_of_a_damaged_file(ended, tmp_path, seed):
    """Whatever it is."""
    (tmp_path / "damaged").write_bytes(damage.damaged(random.Random(seed)))
    for arguments in (["diagnose"], ["report", f"--output={tmp_path / 'r.md'}"], ["diagnose", "--json"]):
        code, said = ended(arguments[0], tmp_path / "damaged", *arguments[1:])
        assert code in (0, 2)
        assert "Traceback" not in said


@pytest.mark.parametrize(
    "head",
    [b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh9", b"\xff\xfe", b"LZ4Block"],
)
def test_a_broken_compressed_file_is_one_sentence(ended, tmp_path, head):
    """Also with the reason."""
    (tmp_path / "log").write_bytes(head + b"garbage")
    code, said = ended("diagnose", tmp_path / "log")
    assert code == 2
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(("name", "text"), [("py", "c.StreamWatch.theme = ("), ("json", "{"), ("py", "1 / 0")])
def test_settings_that_cannot_be_read_are_one_sentence(ended, tmp_path, monkeypatch, name, text):
    """Not a traceback, and not a report that looks as if they held."""
    (tmp_path / f"jupyter_streamwatch_config.{name}").write_text(text)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    code, said = ended("diagnose", damage.CORPUS / "recording.jsonl")
    assert code == 2
    assert said.startswith("jupyter streamwatch diagnose: The settings cannot be read: ")
    assert len(said.strip().splitlines()) == 1


def test_an_interrupt_is_no_fault(ended, monkeypatch):
    """The command ends as a shell expects."""
    monkeypatch.setattr(
        "jupyter_streamwatch.recordings.load.load_all", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    assert ended("diagnose", "x") == (130, "")


def test_a_terminal_without_the_letters_shows_the_other_queries(tmp_path):
    """A name with half a character, on a terminal that knows ASCII alone."""
    histories = [
        names.query(0, names.SURROGATE, batches=2),
        *(names.query(at, f"query {at}", batches=2) for at in (1, 2)),
    ]
    names.recording(*histories).save(tmp_path / "run.jsonl")
    program = [sys.executable, "-m", "jupyter_streamwatch.cli", "diagnose", str(tmp_path / "run.jsonl")]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, env={"PYTHONIOENCODING": "ascii"}, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"query 1" in done.stdout
    assert b"query 2" in done.stdout
