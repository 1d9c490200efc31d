"""Where a case runs: a session of its own, a watch, a directory, and few words to start a query and wait for it."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.helpers import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONGEST = 40.0  # seconds a case waits for its batches before it is judged by what is there

CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Case:
    """A run with its expected outcome.

    Attributes:
        name: Name of the case and of its recording.
        run: Starts the queries, waits, and returns the query to judge.
        code: The first hint's code; None for a healthy run, which has no warning and no critical hint.
        says: A piece of text that the first hint's cause has, where one code has several causes.
    """

    name: str
    run: Callable[[Bench], Any]
    code: str | None
    says: str = ""


def fault(code: str, says: str = "") -> Callable[[Callable[[Bench], Any]], Callable[[Bench], Any]]:
    """Register a function as a run whose first hint is ``code``."""

    def add(run: Callable[[Bench], Any]) -> Callable[[Bench], Any]:
        name = run.__name__.replace("_", "-")
        CASES[name] = Case(name, run, code, says)
        return run

    return add


def healthy(run: Callable[[Bench], Any]) -> Callable[[Bench], Any]:
    """Register a function as a run in which nothing is wrong."""
    name = "healthy-" + run.__name__.replace("_", "-")
    CASES[name] = Case(name, run, None)
    return run


@dataclass
class Bench:
    """A session, its watch and a directory of its own."""

    spark: Any
    watch: Any
    root: Path
    started: list[Any] = field(default_factory=list)

    def path(self, name: str) -> Path:
        """A directory below the case's own."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def conf(self, name: str, value: str) -> None:
        self.spark.conf.set(name, value)

    def batches(self, rows: int, *, partitions: int = 2, advance: int = 1000) -> Any:
        """Rows (timestamp, value): the same number in each batch, event time from now on by ``advance`` ms a batch."""
        return (
            self.spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", rows)
            .option("numPartitions", partitions)
            .option("startTimestamp", int(time.time() * 1000))
            .option("advanceMillisPerBatch", advance)
            .load()
        )

    def files(self, directory: str = "in", schema: str = "value LONG", **options: Any) -> Any:
        reader = self.spark.readStream.schema(schema).options(**options)
        return reader.json(str(self.path(directory)))

    def add_file(self, name: str, rows: list[dict[str, Any]], directory: str = "in") -> None:
        """A file that appears at once, as a file source wants it."""
        draft = self.root / f".{name}"
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        draft.rename(self.path(directory) / name)

    def start(
        self,
        frame: Any,
        sink: str = "noop",
        *,
        each: Any = None,
        mode: str = "append",
        trigger: float | None = 1.0,
        checkpoint: str | None = "checkpoint",
        **options: Any,
    ) -> Any:
        writer = frame.writeStream.outputMode(mode).options(**options)
        writer = writer.format(sink) if each is None else writer.foreachBatch(each)
        if checkpoint:
            writer = writer.option("checkpointLocation", str(self.root / checkpoint))
        if sink in ("parquet", "json"):
            writer = writer.option("path", str(self.root / "out"))
        if trigger is not None:
            writer = writer.trigger(processingTime=f"{int(trigger * 1000)} milliseconds")
        query = writer.start()
        self.started.append(query)
        return query

    def history(self, query: Any) -> Any:
        return next((one for one in self.watch.histories() if one.id == str(query.id)), None)

    def wait(self, query: Any, batches: int) -> Any:
        """Wait until the query's run has reported that many batches; the time is bounded."""

        def enough() -> bool:
            history = self.history(query)
            run = history.runs[-1] if history is not None and history.runs else None
            if run is None or run.runId != str(query.runId) or run.lastBatch is None:
                return False
            return run.state != "active" or run.lastBatch - (run.firstBatch or 0) + 1 >= batches

        return self.until(query, enough)

    def until(self, query: Any, condition: Callable[[], bool]) -> Any:
        try:
            wait_until(condition, LONGEST)
        except AssertionError:
            pass  # what is there is judged: a missing hint shows in the table
        return query

    def settle(self, query: Any) -> None:
        """Wait until the tasks of the last batch have been read."""

        def read() -> bool:
            known = self.history(query).batches.numbers("tasks.count")
            return not len(known) or not math.isnan(known[-1])

        try:
            wait_until(read, 5.0)
        except AssertionError:
            pass  # a batch without tasks


def slowly(ms: float) -> Any:
    """A Python function that takes ``ms`` for each row."""
    from pyspark.sql import functions as F

    seconds = ms / 1000

    @F.udf("long")
    def work(value):
        time.sleep(seconds)
        return value

    return work
