"""The magics in an IPython shell, without Spark: help, settings and mistakes."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from jupyter_streamwatch.settings import StreamWatch


@pytest.fixture
def shell():
    """A fresh shell with the extension loaded."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jupyter_streamwatch")
    yield shell
    shell.run_line_magic("unload_ext", "jupyter_streamwatch")
    InteractiveShell.clear_instance()


def said(shell, line: str, cell: str | None = None) -> str:
    """The one sentence with which a magic refuses."""
    run = shell.run_line_magic if cell is None else shell.run_cell_magic
    with pytest.raises(UsageError) as refused:
        run("streamwatch", line, *([] if cell is None else [cell]))
    text = str(refused.value)
    assert "\n" not in text.strip()
    return text


def test_help_names_every_command(shell):
    """``%streamwatch?`` shows what can be typed."""
    text = shell.find_line_magic("streamwatch").__doc__
    for command in ("report FILE", "stop", "diagnose", "%%streamwatch", "--guard", "checkpoint PATH", "compare PATH"):
        assert command in text


@pytest.mark.parametrize("line", ["help", "--help", "-h"])
def test_help_is_printed(shell, capsys, line):
    """``%streamwatch help`` is no query but the text that says what can be typed."""
    shell.run_line_magic("streamwatch", line)
    assert "%streamwatch report FILE [QUERY]" in capsys.readouterr().out


def test_without_a_session_it_says_what_to_do(shell):
    """No active session is one sentence, not a traceback."""
    assert "SparkSession" in said(shell, "")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("report", "FILE"),
        ("stop now", "no argument"),
        ("one two", "Quote"),
        ("reprot x.html", "Did you mean %streamwatch report?"),
        ("diagnos orders", "Did you mean %streamwatch diagnose?"),
        ("load", "FILE"),
        ("'open", "Quote"),
        ("checkpoint", "PATH"),
        ("compare /c", "PATH NAME"),
        ("--guard", "%%streamwatch --guard"),
        ("checkpoint /nowhere/at/all", "/nowhere/at/all"),
    ],
)
def test_a_wrong_line_says_what_is_right(shell, line, word):
    """A mistake on the line is one sentence with the remedy."""
    assert word in said(shell, line)


def test_a_variable_that_is_not_there_is_named(shell, tmp_path):
    """``%streamwatch compare PATH NAME`` without such a variable and without a watch."""
    (tmp_path / "offsets").mkdir()
    assert "nobody" in said(shell, f"compare {tmp_path} nobody")


def test_a_variable_that_is_no_query_is_refused(shell, tmp_path):
    """``%streamwatch compare PATH NAME`` with a number is one sentence that says what NAME may be."""
    (tmp_path / "offsets").mkdir()
    shell.user_ns["seven"] = 7
    assert "streaming DataFrame" in said(shell, f"compare {tmp_path} seven")


def test_stop_without_a_watch_says_so(shell):
    """``%streamwatch stop`` before anything is watched."""
    assert "Nothing is watched" in said(shell, "stop")


def test_cell_magic_takes_no_argument(shell):
    """``%%streamwatch NAME`` is refused before the cell runs."""
    assert "no argument" in said(shell, "name", "ran = True")
    assert "ran" not in shell.user_ns


def test_settings_are_changed_with_config(shell):
    """``%config StreamWatch`` knows the settings, and a good value holds."""
    shell.run_line_magic("config", "StreamWatch.batches_kept = 500")
    assert StreamWatch.instance().batches_kept == 500


def test_a_bad_setting_is_one_clear_sentence(shell, caplog, capsys):
    """A value out of range names the range, and the setting keeps its value."""
    shell.run_line_magic("config", "StreamWatch.updates_per_second = 99")
    told = caplog.text + "".join(capsys.readouterr())
    assert "StreamWatch.updates_per_second must be between 0.1 and 4, not 99." in told
    assert "Traceback" not in told
    assert StreamWatch.instance().updates_per_second == 4.0


def test_settings_come_from_the_configuration(shell):
    """``c.StreamWatch.theme = "dark"`` in ``ipython_config.py`` holds when the extension is loaded."""
    shell.run_line_magic("unload_ext", "jupyter_streamwatch")
    shell.config.StreamWatch.theme = "dark"
    shell.run_line_magic("load_ext", "jupyter_streamwatch")
    assert StreamWatch.instance().theme == "dark"


def test_a_bad_value_in_the_configuration_is_one_sentence(shell):
    """A setting that is wrong from the start is named when the extension is loaded."""
    shell.run_line_magic("unload_ext", "jupyter_streamwatch")
    shell.config.StreamWatch.batches_kept = 5
    with pytest.raises(UsageError, match=r"StreamWatch\.batches_kept must be between 100 and 1,000,000, not 5"):
        shell.run_line_magic("load_ext", "jupyter_streamwatch")
    shell.config.StreamWatch.batches_kept = 500
    shell.run_line_magic("load_ext", "jupyter_streamwatch")
    assert StreamWatch.instance().batches_kept == 500


def test_unload_removes_the_magic_and_the_settings(shell):
    """After ``%unload_ext`` nothing of ours is left in the shell."""
    shell.run_line_magic("unload_ext", "jupyter_streamwatch")
    assert shell.find_line_magic("streamwatch") is None
    assert shell.find_cell_magic("streamwatch") is None
    assert not [c for c in shell.configurables if isinstance(c, StreamWatch)]


def test_a_second_load_changes_nothing(shell):
    """``%load_ext`` twice leaves one set of settings."""
    shell.run_line_magic("reload_ext", "jupyter_streamwatch")
    shell.run_line_magic("load_ext", "jupyter_streamwatch")
    assert len([c for c in shell.configurables if isinstance(c, StreamWatch)]) == 1
