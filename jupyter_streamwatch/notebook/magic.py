"""``%streamwatch`` and ``%%streamwatch``: arguments and dispatch only.

What a command does lives in :mod:`jupyter_streamwatch.watcher`; a person's mistake is answered in one sentence.
"""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from traitlets import TraitError

from jupyter_streamwatch.settings import StreamWatch
from jupyter_streamwatch.spark.events.open import active_session
from jupyter_streamwatch.text.numbers import query_name
from jupyter_streamwatch.watcher import NO_SESSION, Watch, watch

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = ("checkpoint", "compare", "diagnose", "load", "record", "report", "stop")
HELP = ("help", "--help", "-h")


@magics_class
class StreamWatchMagics(Magics):
    """The magics of jupyter-streamwatch."""

    @magic_arguments()
    @argument(
        "words",
        nargs="*",
        metavar="QUERY | COMMAND",
        help="the name or id of a query, or a command with its arguments; nothing: all queries",
    )
    @argument(
        "--guard",
        action="store_true",
        help="with %%%%streamwatch: do not start a query whose change its checkpoint does not bear",
    )
    @line_cell_magic("streamwatch")
    def streamwatch(self, line: str, cell: str | None = None) -> Any:
        r"""Watch Spark Structured Streaming queries in this notebook.

        ::

          %streamwatch                        the live dashboard of all queries
          %streamwatch orders                 ... of the query with this name (or id, or the start of an id)
          %streamwatch diagnose [QUERY]       what is wrong, why, and what to paste, as text
          %streamwatch report FILE [QUERY]    write FILE; .html, .md or .json says which kind
          %streamwatch record FILE            from now on append every event to FILE (JSON lines)
          %streamwatch load FILE              show what a recording, an event log, a log or pasted progress holds
          %streamwatch checkpoint PATH|QUERY  what a checkpoint holds, and what the next start on it does
          %streamwatch compare PATH NAME      is the change safe? NAME: a DataFrame or writer of the notebook, or a
                                              watched query
          %streamwatch stop                   stop watching (never a query) and leave the last state as a picture
          %streamwatch help                   this text

          %%streamwatch                       run the cell and watch the queries that it starts: live until they
          ...                                 end, then the last state stays as a picture
          %%streamwatch --guard               the same, and a query is compared with its checkpoint before it starts:
          ...                                 one that Spark would refuse or get silently wrong is not started

        Settings: ``%config StreamWatch``.
        """
        __tracebackhide__ = True  # a cell's own error is shown without our frames
        if cell is None and line.strip() in HELP:
            print(self.streamwatch.__doc__)  # noqa: T201
            return None
        words, guard = self._words(line)
        if cell is not None:
            return self._cell(words, cell, guard=guard)  # what the cell raises is the user's own
        if guard:
            raise UsageError("--guard is for a cell that starts queries: %%streamwatch --guard")
        try:
            if words and words[0] in COMMANDS:
                command: Callable[[list[str]], Any] = getattr(self, f"_{words[0]}")
                return command(words[1:])
            return self._dashboard(words)
        except KeyError as error:
            raise UsageError(str(error.args[0])) from None
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            raise UsageError(str(error)) from None

    def _words(self, line: str) -> tuple[list[str], bool]:
        try:
            parsed = parse_argstring(self.streamwatch, line)
        except ValueError as error:  # shlex: no closing quotation
            raise UsageError(f"%streamwatch: {error}. Quote a name with spaces: %streamwatch 'my query'") from None
        words = [shlex.split(word)[0] if word[:1] in "'\"" else word for word in parsed.words]
        return words, parsed.guard

    def _dashboard(self, words: list[str]) -> Any:
        name = _at_most_one(words, "%streamwatch [QUERY]")
        try:
            return watch().dashboard(name)
        except KeyError as error:
            raise UsageError(f"{error.args[0]}{_meant(words[0])}") from None

    def _diagnose(self, words: list[str]) -> None:
        name = _at_most_one(words, "%streamwatch diagnose [QUERY]")
        active = _current()
        queries = active.queries
        chosen = list(queries.values()) if name is None else [queries[name]]
        texts = [f"{query_name(history.name, history.id)}\n{active.diagnose(history.id)}" for history in chosen]
        print("\n\n".join(texts) or "No streaming query yet.")  # noqa: T201

    def _report(self, words: list[str]) -> Any:
        if not words:
            raise UsageError("%streamwatch report FILE [QUERY]: name the file to write, for example report.html")
        name = _at_most_one(words[1:], "%streamwatch report FILE [QUERY]")
        return _current().report(words[0], name)

    def _record(self, words: list[str]) -> None:
        if len(words) != 1:
            raise UsageError("%streamwatch record FILE: name one file, for example run.jsonl")
        watch(record=words[0])

    def _load(self, words: list[str]) -> Any:
        if len(words) != 1:
            raise UsageError("%streamwatch load FILE: name one file")
        from jupyter_streamwatch.recordings.load import load
        from jupyter_streamwatch.report.static import static

        return static(load(words[0]))

    def _checkpoint(self, words: list[str]) -> Any:
        if len(words) != 1:
            raise UsageError("%streamwatch checkpoint PATH: name one checkpoint, or one watched query")
        return _checkpoint_of(words[0])

    def _compare(self, words: list[str]) -> Any:
        if len(words) != 2:
            raise UsageError("%streamwatch compare PATH NAME: name a checkpoint, and a DataFrame, writer or query")
        path, name = words
        found = _checkpoint_of(path)
        if name in self.shell.user_ns:
            try:
                return found.compare(self.shell.user_ns[name])
            except TypeError as error:  # a variable that is no query
                raise UsageError(f"{name}: {error}") from None
        active = Watch.current()
        if active is None:
            raise UsageError(f"There is no variable {name} in this notebook, and no query is watched.")
        return found.compare(active.queries[name])

    def _stop(self, words: list[str]) -> Any:
        if words:
            raise UsageError("%streamwatch stop takes no argument: it stops watching, never a query")
        active = Watch.current()
        if active is None:
            raise UsageError("Nothing is watched. %streamwatch starts it.")
        return active.stop()

    def _cell(self, words: list[str], cell: str, *, guard: bool) -> None:
        """Run ``cell``; show what it starts until that has ended, then leave the static picture."""
        __tracebackhide__ = True
        if words:
            raise UsageError("%%streamwatch takes no argument but --guard: it shows the queries that the cell starts")
        if _awaits(self.shell, cell):
            raise UsageError("%%streamwatch cannot run a cell with await in it: put %streamwatch in a cell before it")
        from jupyter_streamwatch.notebook.cell import run_and_show

        if not run_and_show(self.shell, cell, guard=guard):
            raise UsageError(NO_SESSION)


def _current() -> Watch:
    return Watch.current() or watch()


def _checkpoint_of(word: str) -> Any:
    """The checkpoint at a path, or the one of a watched query."""
    from jupyter_streamwatch.checkpoints import checkpoint

    active = Watch.current()
    path = word
    if active is not None and not Path(word).expanduser().exists():
        try:
            history = active.queries[word]
        except KeyError:
            pass  # a path then: what is wrong with it is said where it is read
        else:
            if history.facts.checkpoint is None:
                raise UsageError(f"Spark does not tell where the checkpoint of {word} is.")
            path = history.facts.checkpoint
    return checkpoint(path, active_session())


def _awaits(shell: Any, cell: str) -> bool:
    """Whether a cell awaits at its top level: the event loop runs already, so a cell in a cell cannot wait for it."""
    try:
        return bool(shell.should_run_async(cell, transformed_cell=shell.transform_cell(cell)))
    except Exception:
        return False  # no Python: running it shows why


def _at_most_one(words: list[str], usage: str) -> str | None:
    if len(words) > 1:
        raise UsageError(f"{usage}: one query at most, not {len(words)}.{_meant(words[0])} Quote a name with spaces.")
    return words[0] if words else None


def _meant(word: str) -> str:
    """Ask for the command that a word nearly is; empty when it is like none."""
    near = difflib.get_close_matches(word.lower(), COMMANDS, n=1)
    return f" Did you mean %streamwatch {near[0]}?" if near else ""


def load(shell: Any) -> None:
    """Register the magics and the settings with an IPython shell; called again it changes nothing."""
    try:
        settings = StreamWatch.instance(parent=shell)
    except TraitError as error:
        raise UsageError(f"{error} Change it where it is configured, and load the extension again.") from None
    shell.register_magics(StreamWatchMagics)
    if settings not in shell.configurables:
        shell.configurables.append(settings)


def unload(shell: Any) -> None:
    """Stop watching and remove the magics and the settings from an IPython shell."""
    active = Watch.current()
    if active is not None:
        active.stop()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("streamwatch", None)
    shell.configurables[:] = [c for c in shell.configurables if not isinstance(c, StreamWatch)]
    StreamWatch.clear_instance()
