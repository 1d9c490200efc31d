"""``jupyter streamwatch ...``: arguments and dispatch only. Needs neither pyspark nor Java.

A person's mistake is one sentence on standard error and exit code 2; a setting that does not hold is one, too, with
exit code 1. ``compare`` also ends with 1 when it finds a change that Spark refuses or gets silently wrong.
"""

from __future__ import annotations

import io
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from jupyter_core.application import JupyterApp, base_aliases, base_flags
from traitlets import Bool, TraitError, Unicode
from traitlets.config import catch_config_error

from jupyter_streamwatch.settings import StreamWatch
from jupyter_streamwatch.text.numbers import clean, middle, query_name
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.model.history import HistoryView
    from jupyter_streamwatch.recordings.recording import Recording

USAGE = 2  # exit code of a wrong call, as for most commands
INTERRUPTED = 130  # as a shell has it
DANGER = frozenset({"not-allowed", "silently-wrong"})
NAME_LENGTH = 200  # characters of a name above its diagnosis
SENTENCE = 1_000  # characters of what is wrong
STDIN = "-"
QUICKSTART = Path(__file__).resolve().parent.parent / "examples" / "quickstart.ipynb"


class _Command(JupyterApp):
    """What all commands share: the settings, and a person's mistake in one sentence."""

    version = version("jupyter-streamwatch")
    usage = ""
    classes = [StreamWatch]  # noqa: RUF012 - as traitlets has it
    aliases = {"config": base_aliases["config"]}  # noqa: RUF012
    flags = {"debug": base_flags["debug"]}  # noqa: RUF012

    def _log_level_default(self) -> int:
        return 30  # warnings

    def _config_file_name_default(self) -> str:
        return "jupyter_streamwatch_config"

    def _raise_config_file_errors_default(self) -> bool:
        return True

    def load_config_file(self, suppress_errors: bool = True) -> None:  # type: ignore[override] # as JupyterApp has it
        """Read the settings; a file of them that cannot be read ends the command with one sentence."""
        try:
            super().load_config_file(suppress_errors)
        except Exception as error:
            self.log.debug("Where that happened:", exc_info=True)
            self.refuse(f"The settings cannot be read: {_sentence(error)}.")

    @catch_config_error
    def initialize(self, argv: Sequence[str] | None = None) -> None:
        """Read the command line and the settings; a bad value ends the command with one sentence."""
        super().initialize(argv)
        if self.subapp is None:
            try:
                StreamWatch.instance(parent=self)
            except ValueError as error:  # a text that is no number
                raise TraitError(f"{error}") from None

    def start(self) -> None:
        """Do what the command is for."""
        super().start()
        for stream in (sys.stdout, sys.stderr):  # a name that the terminal has no letters for hides no other query
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            self.run([str(argument) for argument in self.extra_args])
            sys.stdout.flush()
        except BrokenPipeError:  # who read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyError as error:
            self.refuse(str(error.args[0]))
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None
        except Exception as error:  # a file that is damaged in a way that nobody thought of
            self.log.debug("Where that happened:", exc_info=True)
            self.refuse(_sentence(error))

    def run(self, arguments: list[str]) -> None:
        """Do the command's work."""
        raise NotImplementedError

    def refuse(self, sentence: str) -> NoReturn:
        """End with what is wrong."""
        print(f"{self.name.replace('-', ' ')}: {redact(sentence)}", file=sys.stderr)  # noqa: T201
        raise SystemExit(USAGE)

    def expect(self, arguments: list[str], *, least: int, most: int | None) -> None:
        """Refuse a wrong number of arguments."""
        if len(arguments) < least or (most is not None and len(arguments) > most):
            self.refuse(f"{self.usage}. More: {self.name.replace('-', ' ')} --help")


class _Reads(_Command):
    """A command that reads what was recorded or logged."""

    query = Unicode(help="Only this query: its name, its id, or the start of its id.").tag(config=True)
    trigger = Unicode(
        help="What starts the batches, where the files do not say: 2s, '10 seconds', availableNow, once, continuous."
    ).tag(config=True)
    format = Unicode(help="What the files are, where that is not found out: recording, event-log or text.").tag(
        config=True
    )

    def read(self, files: list[str]) -> Recording:
        """Read the files as one recording; refused when there is no query in them."""
        from jupyter_streamwatch.recordings.load import load_all

        sources: list[str | os.PathLike[str] | IO[bytes]] = [
            sys.stdin.buffer if name == STDIN else name for name in files
        ]
        recording = load_all(sources, self.format or None, self.trigger or None)
        if not recording.queries:
            self.refuse(recording.skipped[0].reason)
        return recording

    def chosen(self, recording: Recording) -> list[HistoryView]:
        """The histories that are asked for."""
        return [recording.queries[self.query]] if self.query else list(recording.queries.values())


def _aliases(of: type[_Command], *names: str) -> dict[Any, Any]:
    """The common aliases, and one for each of these traits."""
    own = {name: (f"{of.__name__}.{name}", of.class_traits()[name].help) for name in names}
    return {**of.aliases, **own}


class ReportApp(_Reads):
    """Write a report."""

    name = "jupyter-streamwatch-report"
    usage = "name the files to read: report FILE... [-o OUT.html]"
    description = """Write a report of what recordings, event logs, driver logs or pasted progress hold.

    FILE is a path, a folder of an event log, a URL (with fsspec), or - for standard input. Several files are read as
    one: the parts of a log, or the logs of several applications. The report is .html (one offline file), .md or .json.
    """
    examples = (
        "jupyter streamwatch report driver.log -o report.html\n"
        "jupyter streamwatch report eventlog_v2_app-1/ --trigger='10 seconds' -o report.md\n"
        "kubectl logs driver | jupyter streamwatch report -"
    )
    output = Unicode("report.html", help="The file to write; .html, .md or .json says which kind.").tag(config=True)

    def run(self, arguments: list[str]) -> None:
        """Read, write, and say where."""
        self.expect(arguments, least=1, most=None)
        from jupyter_streamwatch import report

        recording = self.read(arguments)
        print(report.write(self.output, recording, self.query or None).text.partition("\n")[0])  # noqa: T201


class DiagnoseApp(_Reads):
    """Print the diagnosis."""

    name = "jupyter-streamwatch-diagnose"
    usage = "name the files to read: diagnose FILE..."
    description = """Print what is wrong with each query, why, and what to paste to fix it.

    FILE is a path, a folder of an event log, a URL (with fsspec), or - for standard input.
    """
    examples = "jupyter streamwatch diagnose driver.log --trigger=2s\npbpaste | jupyter streamwatch diagnose -"
    json = Bool(False, help="Print JSON, for programs.").tag(config=True)

    def run(self, arguments: list[str]) -> None:
        """Read and print."""
        self.expect(arguments, least=1, most=None)
        recording = self.read(arguments)
        found = {history.id: recording.diagnose(history.id) for history in self.chosen(recording)}
        if self.json:
            _print_json({id: diagnosis.to_dict() for id, diagnosis in found.items()})
        else:
            names = {id: query_name(recording.queries[id].name, id) for id in found}
            print("\n\n".join(f"{middle(names[id], NAME_LENGTH)}\n{diagnosis}" for id, diagnosis in found.items()))  # noqa: T201


class CheckpointApp(_Command):
    """Print what a checkpoint holds."""

    name = "jupyter-streamwatch-checkpoint"
    usage = "name one checkpoint: checkpoint PATH"
    description = """Print what a checkpoint holds, and what the next start of its query does.

    PATH is the query's checkpointLocation: a local folder, or a URL (with fsspec). Nothing in it is changed.
    """
    examples = (
        "jupyter streamwatch checkpoint /data/checkpoints/orders\n"
        "jupyter streamwatch checkpoint /data/checkpoints/orders --trigger=continuous\n"
        "jupyter streamwatch checkpoint /data/checkpoints/orders --against=run.jsonl"
    )
    json = Bool(False, help="Print JSON, for programs.").tag(config=True)
    trigger = Unicode(help="Trigger of the next start: 2s, availableNow, continuous, realTime.").tag(config=True)
    options = Unicode(help="All options of its writer, as JSON; {} for none.").tag(config=True)
    against = Unicode(help="A recording of a run on this checkpoint, for trigger, options and sink.").tag(config=True)

    def run(self, arguments: list[str]) -> None:
        """Read and print."""
        self.expect(arguments, least=1, most=1)
        from jupyter_streamwatch.checkpoints import checkpoint, text

        found = checkpoint(arguments[0])
        found.commands = True
        plan = found.restart(self.trigger or None, self._options(), self.against or None)
        if self.json:
            _print_json(found.to_dict() | {"restart": plan.to_dict()})
        else:
            print(text.plain(found, plan))  # noqa: T201

    def _options(self) -> dict[str, Any] | None:
        if not self.options:
            return None
        try:
            return dict(json.loads(self.options))
        except (TypeError, ValueError):
            raise ValueError("--options takes the writer's options as JSON, '{}' for none.") from None


class CompareApp(_Reads):
    """Compare a checkpoint with a query."""

    name = "jupyter-streamwatch-compare"
    usage = "name a checkpoint and a recording: compare PATH RECORDING"
    description = """Compare a checkpoint with a query as a recording of it holds it: is the change safe?

    PATH is a checkpoint, RECORDING a file that `sw.watch(record=...)` or `%streamwatch record` wrote while a newer
    version of the query ran, for example on test data. What a checkpoint does not hold (sink, output mode, filters,
    rate limits) is compared with --against, a recording of the query as it was. Ends with exit code 1 when a change
    is not allowed, or when Spark would run it silently wrong.
    """
    examples = (
        "jupyter streamwatch compare /data/checkpoints/orders newer.jsonl\n"
        "jupyter streamwatch compare /data/checkpoints/orders newer.jsonl --query=orders --against=run.jsonl"
    )
    against = Unicode(help="A recording of a run on this checkpoint, for what the checkpoint does not hold.").tag(
        config=True
    )
    json = Bool(False, help="Print JSON, for programs.").tag(config=True)

    def run(self, arguments: list[str]) -> None:
        """Read both, compare, print."""
        self.expect(arguments, least=2, most=2)
        from jupyter_streamwatch.checkpoints import checkpoint

        found = checkpoint(arguments[0])
        found.commands = True
        changes = found.compare(self._history(self.read(arguments[1:])), self.against or None)
        if self.json:
            _print_json(changes.to_dict())
        else:
            print(changes)  # noqa: T201
        if any(change.verdict in DANGER for change in changes):
            raise SystemExit(1)

    def _history(self, recording: Recording) -> HistoryView:
        known = self.chosen(recording)
        if len(known) != 1:
            what = "holds no query" if not known else "holds more than one query: choose with --query=NAME"
            raise ValueError(f"The recording {what}.")
        return known[0]


class DemoApp(_Command):
    """Open the quickstart."""

    name = "jupyter-streamwatch-demo"
    usage = "demo takes no argument"
    description = """Open the quickstart notebook in JupyterLab: real flights of 2013, late planes as late rows.

    It is part of the source tree and not of the installed package.
    """

    def run(self, arguments: list[str]) -> None:
        """Replace this process with JupyterLab."""
        self.expect(arguments, least=0, most=0)
        if not QUICKSTART.exists():
            self.refuse("the quickstart is part of the source tree: clone the repository and run `make demo`.")
        os.chdir(QUICKSTART.parent)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", QUICKSTART.name])  # noqa: S606


for _app in (DiagnoseApp, CheckpointApp, CompareApp):
    _app.flags = {**_app.flags, "json": ({_app.__name__: {"json": True}}, "Print JSON, for programs.")}
for _reads in (ReportApp, DiagnoseApp, CompareApp):
    _reads.aliases = _aliases(_reads, "query", "trigger", "format")
CheckpointApp.aliases = _aliases(CheckpointApp, "trigger", "options", "against")
CompareApp.aliases = {**CompareApp.aliases, "against": ("CompareApp.against", CompareApp.against.help)}
_OUTPUT: dict[Any, Any] = {("o", "output"): ("ReportApp.output", ReportApp.output.help)}
ReportApp.aliases = {**ReportApp.aliases, **_OUTPUT}


class StreamWatchApp(_Command):
    """``jupyter streamwatch``."""

    name = "jupyter-streamwatch"
    description = """Streaming queries of Spark, from what was recorded or logged, and from their checkpoints.

    Needs neither Spark nor Java. The live dashboard is in the notebook: %load_ext jupyter_streamwatch

    Settings, such as --StreamWatch.theme=dark for a dark report, are listed by --help-all; they also come from
    jupyter_streamwatch_config.py in Jupyter's configuration folders.
    """
    examples = (
        "jupyter streamwatch report driver.log -o report.html\n"
        "jupyter streamwatch diagnose driver.log\n"
        "jupyter streamwatch checkpoint /data/checkpoints/orders"
    )
    subcommands = {  # noqa: RUF012 - as traitlets has it
        "report": (ReportApp, "Write a report (.html, .md, .json) of recordings and logs."),
        "diagnose": (DiagnoseApp, "Print what is wrong with each query, why, and what to paste."),
        "checkpoint": (CheckpointApp, "Print what a checkpoint holds, and what a restart does."),
        "compare": (CompareApp, "Compare a checkpoint with a newer version of its query: is the change safe?"),
        "demo": (DemoApp, "Open the quickstart notebook in JupyterLab."),
    }

    @catch_config_error
    def initialize(self, argv: Sequence[str] | None = None) -> None:
        """Take settings that stand before the command as well."""
        given = list(sys.argv[1:] if argv is None else argv)
        at = next((place for place, word in enumerate(given) if not word.startswith("-")), 0)
        super().initialize([*given[at : at + 1], *given[:at], *given[at + 1 :]])

    def run(self, arguments: list[str]) -> None:
        """Say which commands there are: none was named."""
        commands = ", ".join(self.subcommands)
        if arguments:
            self.refuse(f"there is no command {arguments[0]!r}. The commands are {commands}.")
        self.print_help()
        raise SystemExit(USAGE)


def _print_json(data: Any) -> None:
    json.dump(data, sys.stdout, ensure_ascii=False, allow_nan=False, indent=2)
    print()  # noqa: T201


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.strerror}: {error.filename}"
    text = middle(clean(str(error)), SENTENCE)
    expected = isinstance(error, (ImportError, OSError, RuntimeError, ValueError)) and text
    return text if expected else f"{type(error).__name__}: {text}" if text else type(error).__name__


main = StreamWatchApp.launch_instance

if __name__ == "__main__":
    main()
