"""The command line: what it prints, where mistakes go, and that it needs no Spark."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from jupyter_core.application import NoStart

from jupyter_streamwatch import testing
from jupyter_streamwatch.cli import StreamWatchApp
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.query_shape import Shape, SourceShape
from jupyter_streamwatch.settings import StreamWatch


@pytest.fixture
def call(capsys):
    """A function that runs a command and returns its exit code, its output and its errors."""

    def run(*arguments) -> SimpleNamespace:
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
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    yield run
    StreamWatch.clear_instance()


@pytest.fixture
def recorded(tmp_path):
    """A recording of one query."""
    path = tmp_path / "run.jsonl"
    testing.recording(testing.history(name="orders")).save(path)
    return path


def refused(done: SimpleNamespace) -> str:
    """The one sentence that a refused command says; it prints nothing else."""
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1
    assert "Traceback" not in done.err
    return done.err


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_report_writes_the_kind_that_the_name_says(call, recorded, tmp_path, suffix):
    """``report FILE -o OUT`` reads what ``sw.load`` reads and says where the report is."""
    done = call("report", recorded, "-o", tmp_path / f"out.{suffix}")
    assert (done.code, done.err) == (0, "")
    assert str(tmp_path / f"out.{suffix}") in done.out
    assert "orders" in (tmp_path / f"out.{suffix}").read_text()


def test_several_files_are_one_recording(call, tmp_path):
    """The parts of a log make one history."""
    records = [json.dumps(one.to_dict()) for one in testing.run(6)]
    for at, part in enumerate((records[:3], records[3:])):
        (tmp_path / f"part-{at}.log").write_text("\n".join(part))
    call("report", tmp_path / "part-0.log", tmp_path / "part-1.log", "-o", tmp_path / "out.json")
    (query,) = json.loads((tmp_path / "out.json").read_text())["queries"].values()
    assert query["batches"]["batchId"] == [0, 1, 2, 3, 4, 5]


def test_a_dash_is_standard_input(call, recorded, monkeypatch):
    """``diagnose -`` reads what is piped into it."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(recorded.read_bytes())))
    assert call("diagnose", "-").out.startswith("orders\n")


def test_diagnose_takes_trigger_and_query(call, recorded):
    """The stated trigger is what batches are judged by; JSON is for programs."""
    text = call("diagnose", recorded, "--query=orders", "--trigger=1min", "--json").out
    (found,) = json.loads(text).values()
    assert found["reason"] == "Batches take 500 ms of the 1 min trigger interval."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report"], "report FILE"),
        (["checkpoint"], "checkpoint PATH"),
        (["compare", "only-one"], "compare PATH RECORDING"),
        (["report", "nowhere.log"], "no file 'nowhere.log'"),
        (["checkpoint", "nowhere"], "nowhere"),
        (["no-such-command"], "report, diagnose, checkpoint, compare, demo"),
    ],
)
def test_a_mistake_is_one_sentence(call, arguments, words):
    """What is missing or wrong is named with the remedy; no traceback."""
    assert words in refused(call(*arguments))


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint of one rate source, with a batch that is done."""
    for part, line in (
        ("offsets", '{"batchWatermarkMs":0,"batchTimestampMs":1772370000000,"conf":{}}\n5'),
        ("commits", "{}"),
    ):
        (tmp_path / "cp" / part).mkdir(parents=True)
        (tmp_path / "cp" / part / "0").write_text(f"v1\n{line}")
    (tmp_path / "cp" / "metadata").write_text('{"id":"11111111-2222-4333-8444-555555555555"}')
    return tmp_path / "cp"


def test_checkpoint_prints_what_a_restart_does(call, checkpoint):
    """Text for people, JSON for programs; nothing in the folder changes."""
    before = {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")}
    text = call("checkpoint", checkpoint)
    assert text.code == 0
    assert "runs batch 1" in text.out
    assert json.loads(call("checkpoint", checkpoint, "--json").out)["restart"]["batchId"] == 1
    assert {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")} == before


def test_checkpoint_takes_what_it_cannot_know(call, checkpoint):
    """Trigger and options are stated as options, which its own sentences name; a wrong one is refused."""
    assert "--options=" in call("checkpoint", checkpoint).out
    stated = call("checkpoint", checkpoint, "--trigger=2 seconds", "--options={}")
    assert "no row is read again." in stated.out
    assert "restart(" not in stated.out
    plan = json.loads(call("checkpoint", checkpoint, "--trigger=continuous", "--json").out)["restart"]
    assert plan["replay"] is None
    assert "JSON" in refused(call("checkpoint", checkpoint, "--options=none"))


@pytest.mark.parametrize(("sources", "code"), [(1, 0), (2, 1)])
def test_compare_ends_with_1_when_a_change_is_not_safe(call, checkpoint, tmp_path, sources, code):
    """A second source is what Spark refuses; the same one is not."""
    history = testing.history(name="newer")
    rate = SourceShape("rate", "rate, 5 rows/s")
    history.set_facts(Facts(shape=Shape(mode="classic", sources=(rate,) * sources, operators=(), state=())))
    testing.recording(history).save(tmp_path / "newer.jsonl")
    done = call("compare", checkpoint, tmp_path / "newer.jsonl", "--json")
    found = json.loads(done.out)
    assert done.code == code
    assert [change["verdict"] for change in found["changes"]] == ["not-allowed"] * code
    assert ("sources: " in call("compare", checkpoint, tmp_path / "newer.jsonl").out) == bool(code)


def test_compare_needs_to_know_what_the_query_is(call, checkpoint, recorded):
    """A recording without it, as one of progress alone, is refused with the remedy."""
    assert "not known what it is" in refused(call("compare", checkpoint, recorded))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--trigger=soon"], "not 'soon'"),
        (["--query=nonsense"], "orders"),
        (["-o", "report.pdf"], ".html, .md or .json"),
        (["--format=excel"], "event-log"),
    ],
)
def test_a_wrong_value_is_one_sentence(call, recorded, options, words):
    """A value that does not fit names those that do."""
    assert words in refused(call("report", recorded, *options))


def test_a_text_without_progress_is_refused(call, tmp_path):
    """No report about nothing: the reason is said."""
    (tmp_path / "empty.log").write_text("all quiet\n")
    assert "No progress" in refused(call("report", tmp_path / "empty.log"))


@pytest.mark.parametrize("value", ["theme=pink", "batches_kept=7", "probe_seconds=soon"])
def test_a_bad_setting_is_one_clear_sentence(call, recorded, value):
    """Settings are checked before anything is read; the sentence names the setting."""
    done = call("report", recorded, f"--StreamWatch.{value}")
    assert done.code == 1
    assert value.partition("=")[0] in done.err
    assert "Traceback" not in done.err


def test_the_theme_of_a_report_is_a_setting(call, recorded, tmp_path):
    """``--StreamWatch.theme=dark`` writes a report that is dark for every reader; also in front of the command."""
    call("report", recorded, "-o", tmp_path / "auto.html")
    call("--StreamWatch.theme=dark", "report", recorded, "-o", tmp_path / "dark.html")
    auto, dark = ((tmp_path / f"{name}.html").read_text() for name in ("auto", "dark"))
    assert 'data-theme="dark"' in dark
    assert 'name="color-scheme" content="dark"' in dark
    assert 'data-theme="auto"' in auto
    assert 'name="color-scheme" content="light dark"' in auto


@pytest.mark.parametrize("command", [(), ("report",), ("diagnose",), ("checkpoint",), ("compare",), ("demo",)])
def test_help_shows_how_a_command_is_called(call, command):
    """``--help`` of every command is there, and names what it takes."""
    done = call(*command, "--help")
    assert done.code == 0
    assert "jupyter streamwatch" in done.out or command == ("demo",)
    assert not command or command[0] != "report" or "--output" in done.out


def test_without_a_command_the_help_is_shown(call):
    """A bare ``jupyter streamwatch`` says what there is, and that nothing was done."""
    done = call()
    assert done.code == 2
    assert "checkpoint" in done.out


@pytest.mark.oldest
def test_it_starts_without_what_draws():
    """A command loads neither Spark nor pandas nor the dashboard, and a closed pipe is no error."""
    program = (
        "import sys; from jupyter_streamwatch.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(' '.join(name for name in sys.modules if '.' not in name))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pyspark", "bokeh", "pandas", "IPython", "anywidget", "numpy"} & set(
        done.stdout.splitlines()[-1].split()
    )
