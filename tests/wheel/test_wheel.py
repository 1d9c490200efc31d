"""The wheel, built from what is committed and installed where nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")


def run(*command, cwd: Path, env=None) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel built from a clean copy of the last commit, front end included."""
    source = tmp_path_factory.mktemp("source")
    archive = source / "source.tar"
    run("git", "archive", "--output", archive, "HEAD", cwd=ROOT)
    run("tar", "-xf", archive, cwd=source)
    archive.unlink()
    run(UV, "build", "--quiet", "--wheel", "--out-dir", source / "dist", cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory) -> Path:
    """The Python of an environment that holds the wheel and what it depends on: no pyspark, no pandas."""
    place = tmp_path_factory.mktemp("bare")
    run(UV, "venv", "--quiet", "--python", sys.executable, place / "env", cwd=place)
    python = place / "env" / "bin" / "python"
    run(UV, "pip", "install", "--quiet", "--python", python, wheel, cwd=place)
    return python


def test_the_wheel_holds_the_built_front_end_and_no_sources_of_it(wheel):
    """A user needs only pip: the bundles are inside, Node.js is not needed."""
    names = zipfile.ZipFile(wheel).namelist()
    for built in ("widget.js", "report.js", "widget.css"):
        assert f"jupyter_streamwatch/static/{built}" in names
    assert not [name for name in names if name.endswith(".ts") or name.startswith(("tests/", "examples/"))]
    assert "jupyter_streamwatch/py.typed" in names


def test_without_pyspark_a_recording_becomes_a_report(bare, tmp_path):
    """Reading needs no Spark: a record of progress becomes an offline report with its charts."""
    program = """
import jupyter_streamwatch as sw
from jupyter_streamwatch import testing
recording = testing.recording()
recording.report("out.html")
text = open("out.html").read()
assert "streamwatch-data" in text and "Bokeh" in text, text[:500]
import importlib.util
assert importlib.util.find_spec("pyspark") is None and importlib.util.find_spec("pandas") is None
"""
    run(bare, "-c", program, cwd=tmp_path)


def test_the_command_works_without_pyspark(bare, tmp_path):
    """``jupyter streamwatch`` is found by ``jupyter`` and reads without Spark; a mistake is one sentence."""
    program = "from jupyter_streamwatch import testing; testing.recording().save('run.jsonl')"
    run(bare, "-c", program, cwd=tmp_path)
    path = {**os.environ, "PATH": f"{bare.parent}{os.pathsep}{os.environ['PATH']}"}
    said = run(bare.with_name("jupyter"), "streamwatch", "report", "run.jsonl", cwd=tmp_path, env=path)
    assert "report.html" in said
    assert "streamwatch-data" in (tmp_path / "report.html").read_text()
    call = [bare.with_name("jupyter-streamwatch"), "checkpoint", "nowhere"]
    wrong = subprocess.run(call, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert len(wrong.stderr.strip().splitlines()) == 1


def test_without_pyspark_watch_says_what_to_install(bare, tmp_path):
    """``sw.watch()`` without pyspark is one sentence that names the remedy."""
    program = """
import jupyter_streamwatch as sw
try:
    sw.watch()
except Exception as error:
    print(type(error).__name__, error)
"""
    said = run(bare, "-c", program, cwd=tmp_path)
    assert "pip install" in said
    assert "pyspark" in said
    assert len(said.strip().splitlines()) == 1
