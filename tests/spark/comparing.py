"""Queries that are run, changed and run again on one checkpoint: what was said before, and what Spark then did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jupyter_streamwatch as sw
from jupyter_streamwatch.recordings.recording import Recording
from tests.helpers import wait_until
from tests.spark.queries import add_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_streamwatch.checkpoints.comparing.changes import Changes

SCHEMA = "city STRING, country STRING, amount INT, ts TIMESTAMP"
FIRST = [
    {"city": "Delhi", "country": "India", "amount": 1, "ts": "2026-01-01T12:01:00Z"},
    {"city": "Delhi", "country": "India", "amount": 2, "ts": "2026-01-01T12:02:00Z"},
    {"city": "Paris", "country": "France", "amount": 3, "ts": "2026-01-01T12:07:00Z"},
]
SECOND = [
    {"city": "Delhi", "country": "India", "amount": 5, "ts": "2026-01-01T12:20:00Z"},
    {"city": "Oslo", "country": "Delhi", "amount": 6, "ts": "2026-01-01T12:21:00Z"},
]
NOTHING = Recording([])
"""A recording that knows no run: what is said then is said from the checkpoint alone."""


@dataclass
class Stage:
    """One checkpoint, one folder of input files, and the rows that came out of each run."""

    spark: Any
    path: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    files: int = 0

    @property
    def checkpoint(self) -> str:
        return str(self.path / "checkpoint")

    def add(self, rows: list[dict[str, Any]], folder: str = "in") -> None:
        self.files += 1
        add_file(self.path / folder, f"{self.files}.json", rows)

    def source(self, folder: str = "in", **options: Any) -> Any:
        (self.path / folder).mkdir(exist_ok=True)
        reader = self.spark.readStream.schema(SCHEMA)
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader.json(str(self.path / folder))

    def writer(self, frame: Any, mode: str = "update", sink: str | None = None, **options: Any) -> Any:
        writer = frame.writeStream.outputMode(mode).option("checkpointLocation", self.checkpoint)
        writer = writer.trigger(availableNow=True)
        for name, value in options.items():
            writer = writer.option(name, value)
        return writer.foreachBatch(self.take) if sink is None else writer.format(sink)

    def take(self, frame: Any, _batch: int) -> None:
        self.rows += [row.asDict(recursive=True) for row in frame.collect()]

    def run(self, writer: Any) -> str | None:
        """Run a query to its end; return the error that ended it."""
        self.rows.clear()
        try:
            writer.start().awaitTermination(120)
        except Exception as error:
            return str(error)
        return None

    def compare(self, x: Any, against: Any = None) -> Changes:
        return sw.checkpoint(self.checkpoint).compare(x, against)

    def known(self, watch: Any) -> None:
        """Wait until the watch knows what the query of the checkpoint is."""
        id = sw.checkpoint(self.checkpoint).id
        wait_until(lambda: id in watch.queries and watch.queries[id].facts.shape, 60, "the shape of the run")


Made = tuple[Any, str] | tuple[Any, str, str] | tuple[Any, str, str, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A query, what it becomes, and the verdicts on the newest and the oldest Spark."""

    name: str
    first: Callable[[Stage], Made]
    second: Callable[[Stage], Made]
    what: str
    newest: str
    oldest: str | None = None
    alone: bool = True
    """Whether the checkpoint alone tells."""

    def verdict(self, version: str) -> str:
        return self.oldest or self.newest if version.startswith("3.") else self.newest


def start(stage: Stage, watch: Any, made: Made) -> None:
    """Run the first query on a new checkpoint, watched."""
    stage.add(FIRST)
    stage.add(FIRST[2:], "other")
    error = stage.run(stage.writer(*made[:3], **(made[3] if len(made) > 3 else {})))
    assert error is None, error
    stage.known(watch)


def continued(stage: Stage, made: Made) -> Any:
    """The writer of the changed query."""
    return stage.writer(*made[:3], **(made[3] if len(made) > 3 else {}))


def told(changes: Changes) -> list[tuple[str, str]]:
    return [(one.what, one.verdict) for one in changes]
