"""Where a query fails: a bench that waits for the end of a query, and for the rows after its cure.

A failure is a generator. It yields what failed (a query, or the exception of a call that would have started one), gets
the answer that a person gets, applies the cure, and yields the query that goes on. One that no test can cure ends after
its first ``yield`` and says why where it is registered.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.conftest import ROOT
from tests.faults.bench import Bench, functions
from tests.helpers import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_streamwatch.diagnosis.errors import Failure

PLAIN, KAFKA, DELTA = "plain", "kafka", "delta"  # what a failure needs to have been fetched

FAILURES: dict[str, Specimen] = {}


class NotHere(Exception):  # noqa: N818 - nothing is wrong
    """The machine or the Spark version refuses what the failure needs."""


@dataclass(frozen=True)
class Ended:
    """A run that another program watched: its error, and the condition of it."""

    exception: str
    condition: str | None


@dataclass(frozen=True)
class Answer:
    """What a person is told of a failure: by the query's first hint, or of the exception of a call."""

    failure: Failure
    cures: tuple[str, ...]
    code: str | None
    text: str  # the error, as it was judged
    condition: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # that the cures depend on


Steps: TypeAlias = Generator[Any, Answer, None]


@dataclass(frozen=True)
class Specimen:
    """A failure with its expected answer.

    Attributes:
        name: Its name, also that of its recording.
        run: Lets it happen, and cures it.
        kind: The kind it is; None for an end that is no failure.
        owner: Who owns it.
        incurable: Why its cure is not applied; empty where it is.
        conf: Settings that its session starts with.
        needs: What must have been fetched.
        endless: Whether its source never has all rows read, so that the failure itself saw it go on.
    """

    name: str
    run: Callable[[Cage], Steps]
    kind: str | None
    owner: str
    incurable: str
    conf: dict[str, str]
    needs: str
    endless: bool


def fails(
    kind: str | None,
    owner: str = "",
    *,
    incurable: str = "",
    conf: dict[str, str] | None = None,
    needs: str = PLAIN,
    endless: bool = False,
) -> Callable[[Callable[[Cage], Steps]], Callable[[Cage], Steps]]:
    """Register a function as a failure of a kind."""

    def add(run: Callable[[Cage], Steps]) -> Callable[[Cage], Steps]:
        name = run.__name__.replace("_", "-")
        assert name not in FAILURES
        FAILURES[name] = Specimen(name, run, kind, owner, incurable, conf or {}, needs, endless)
        return run

    return add


@dataclass
class Cage(Bench):
    """A session, its watch and a directory of its own, for one failure."""

    broker: Any = None
    settings: dict[str, str] = field(default_factory=dict)  # that another program's session starts with, too
    others: list[subprocess.Popen[str]] = field(default_factory=list)
    leaving: list[Callable[[], object]] = field(default_factory=list)

    @property
    def version(self) -> str:
        return str(self.spark.version)

    def since(self, version: int, why: str) -> None:
        """Leave a failure out that Spark before a major version does not have."""
        if int(self.version.split(".")[0]) < version:
            raise NotHere(why)

    def failed(self, query: Any) -> Any:
        """Wait until a query ended by itself."""
        wait_until(lambda: not query.isActive, what="the query goes on")
        return query

    def refused(self, call: Callable[[], Any]) -> Exception:
        """Return the exception of a call that would have started a query."""
        try:
            self.started.append(call())
        except Exception as error:
            return error
        message = "the call was not refused"
        raise AssertionError(message)

    def failed_or_refused(self, start: Callable[[], Any]) -> Any:
        """Return the query that failed, or the exception of its start: which one it is depends on the version."""
        try:
            query = start()
        except Exception as error:
            return error
        self.started.append(query)
        return self.failed(query)

    def stop_others(self) -> None:
        """End the processes that were started elsewhere."""
        for process in self.others:
            end(process)

    def run(self, frame: Any, sink: str = "noop", **more: Any) -> Any:
        """Let a query work off what there is, and stop it."""
        query = self.start(frame, sink, **{"trigger": None, **more})
        query.processAllAvailable()
        query.stop()
        return query

    def text_files(self, *texts: str) -> None:
        """Add a file of one row for each text; the row's number is in it, too."""
        there = len(list(self.path("in").iterdir()))
        began = time.time() - 1000
        for number, text in enumerate(texts, there):
            self.add_file(f"{number:03}.json", [{"value": number, "text": text}])
            os.utime(self.root / "in" / f"{number:03}.json", (began + number, began + number))  # a second apart

    def texts(self, directory: str = "in") -> Any:
        """A streaming read of such files, one a batch."""
        return self.files(directory, "value LONG, text STRING", maxFilesPerTrigger=1)

    def once(self, name: str = "done") -> Callable[[], bool]:
        """Return a function that is true at its first call of all processes."""
        marker = str(self.root / name)

        def first() -> bool:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return False
            return True

        return first

    def evaluate(self, code: str, **names: Any) -> Any:
        """Return the value of a pasted expression."""
        return eval(code, {"spark": self.spark, "F": functions(), **names})

    def execute(self, code: str, **names: Any) -> dict[str, Any]:
        """Run pasted statements and return their names."""
        scope = {"spark": self.spark, "F": functions(), **names}
        exec(code, scope)
        return scope

    def newest(self, directory: str) -> int:
        """The number of the newest entry of a log of the checkpoint."""
        return max(int(path.name) for path in (self.root / "checkpoint" / directory).iterdir() if path.name.isdigit())

    def aside(self, name: str) -> None:
        """Move a file of the checkpoint and its checksum aside."""
        path = self.root / "checkpoint" / name
        for file in (path, path.with_name(f".{path.name}.crc")):
            if file.exists():
                file.rename(self.path("aside") / f"{time.monotonic_ns()}-{file.name}")

    def disk(self, name: str, size: str) -> Path:
        """A small file system in memory, as a directory of the case."""
        where = self.path(name)
        asked = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(where)]
        self.mount(asked)
        self.leaving.append(lambda: subprocess.run(["umount", "-l", str(where)], check=False))
        return where

    def mount(self, command: list[str]) -> None:
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = f"this machine mounts no file system: {getattr(error, 'stderr', error)}"
            raise NotHere(reason) from error

    def elsewhere(self, script: str, *, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Run a script in a process and a session of its own, until it ends or the case does."""
        head = (
            "from pyspark.sql import SparkSession\n"
            'builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")\n'
            f"spark = builder.config(map={self.settings!r}).getOrCreate()\n"
            'spark.sparkContext.setLogLevel("OFF")\n'
            f"root = {str(self.root)!r}\n"
        )
        process = subprocess.Popen(
            [*before, sys.executable, "-c", head + script],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        self.others.append(process)
        return process

    def close(self) -> None:
        super().close()
        self.stop_others()
        for leave in reversed(self.leaving):
            leave()


def end(process: subprocess.Popen[str]) -> None:
    """End a process with all that it started: its JVM, too."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
    if process.stdout is not None:
        process.stdout.close()
