"""Where a case runs: a session, a watch, a directory, and few words to start a query and wait for it.

A case that a hint's code can mend says where that code belongs: :meth:`Bench.paste` for statements, :meth:`Bench.onto`
for what follows a reader, a frame or a writer, :meth:`Bench.into` for a function. Run again with the code, it is the
same query with the fix pasted.
"""

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

LONGEST = 80.0  # seconds a case waits for its batches before it is judged by what is there
LEAST = 7  # batches of a mended query: enough for a verdict and a usual batch time

CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Case:
    """A run with its expected outcome.

    Attributes:
        name: Name of the case and of its recording.
        run: Starts the queries, waits, and returns the query to judge.
        code: The first hint's code; None for a healthy run, which has no warning and no critical hint.
        says: A piece of text that the first hint's cause has, where one code has several causes.
        instead: Codes that may be named where tasks and options are not known, as on Connect: not the fault, but true.
        mended: Whether the code of its hint mends it.
        also: What else its history must show: something that is ``right`` or not, and can be printed.
    """

    name: str
    run: Callable[[Bench], Any]
    code: str | None
    says: str = ""
    instead: tuple[str, ...] = ()
    mended: bool = False
    also: Callable[[Any], Any] | None = None


def fault(
    code: str,
    says: str = "",
    *,
    instead: tuple[str, ...] = (),
    mended: bool = False,
    also: Callable[[Any], Any] | None = None,
) -> Callable[[Callable[[Bench], Any]], Callable[[Bench], Any]]:
    """Register a function as a run whose first hint is ``code``."""

    def add(run: Callable[[Bench], Any]) -> Callable[[Bench], Any]:
        name = run.__name__.replace("_", "-")
        CASES[name] = Case(name, run, code, says, instead, mended, also)
        return run

    return add


def healthy(run: Callable[[Bench], Any]) -> Callable[[Bench], Any]:
    """Register a function as a run in which nothing is wrong."""
    name = "healthy-" + run.__name__.replace("_", "-")
    CASES[name] = Case(name, run, None)
    return run


@dataclass
class Bench:
    """A session, its watch and a directory of its own; ``code`` is that of a hint, to be pasted."""

    spark: Any
    watch: Any
    root: Path
    code: str | None = None
    mending: list[Any] = field(default_factory=list)  # the queries of the run that it is to mend
    started: list[Any] = field(default_factory=list)
    before: dict[str, str | None] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """A directory below the case's own."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def conf(self, name: str, value: str) -> None:
        self.before.setdefault(name, self.spark.conf.get(name, None))
        self.spark.conf.set(name, value)

    def paste(self, **names: Any) -> None:
        """Run the pasted statements here, if there are any."""
        if self.code:
            self._run(names)

    def onto(self, target: Any, own: Callable[[Any], Any] = lambda target: target, **names: Any) -> Any:
        """Return ``target`` with the pasted calls after it; without any, what the query does itself."""
        if not self.code:
            return own(target)
        scope = {"spark": self.spark, "F": functions(), "target": target, **names}
        return eval(f"target{self.code}", scope)

    def into(self, each: Any) -> Any:
        """Return a foreachBatch function, in the pasted one where there is one."""
        if not self.code:
            return each
        assert "...  # what the function does now" in self.code
        self.code = self.code.replace("...", "own(batch_df, batch_id)")
        return self._run({"own": each})["write_batch"]

    def least(self, batches: int) -> int:
        """Return how many batches to wait for: more where a mended query must show that it keeps up."""
        return max(batches, LEAST) if self.code else batches

    def _run(self, names: dict[str, Any]) -> dict[str, Any]:
        scope = {"spark": self.spark, "F": functions(), **names}
        exec(self.code or "", scope)
        return scope

    def close(self) -> None:
        """Stop what was started, and leave the session as it was."""
        for query in self.started:
            try:
                query.stop()
            except Exception as error:
                print(f"{query.id} did not stop: {type(error).__name__}")
        for name, value in self.before.items():
            self.spark.conf.unset(name) if value is None else self.spark.conf.set(name, value)

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

    def files(
        self,
        directory: str = "in",
        schema: str = "value LONG",
        last: Callable[[Any], Any] = lambda reader: reader,
        **options: Any,
    ) -> Any:
        """Rows of the JSON files in a directory; ``last`` may change the reader."""
        reader = last(self.spark.readStream.schema(schema).options(**options))
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
        last: Callable[[Any], Any] = lambda writer: writer,
        **options: Any,
    ) -> Any:
        """Start a query; ``last`` may change its writer."""
        writer = frame.writeStream.outputMode(mode).options(**options)
        writer = writer.format(sink) if each is None else writer.foreachBatch(each)
        if checkpoint:
            writer = writer.option("checkpointLocation", str(self.root / checkpoint))
        if sink in ("parquet", "json"):
            writer = writer.option("path", str(self.root / "out"))
        if trigger is not None:
            writer = writer.trigger(processingTime=f"{int(trigger * 1000)} milliseconds")
        query = last(writer).start()
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
        """Wait until the tasks of the last batch have been read, where they can be."""
        if self.watch.session.mode == "connect":
            return

        def read() -> bool:
            known = self.history(query).batches.numbers("tasks.count")
            return not len(known) or not math.isnan(known[-1])

        try:
            wait_until(read, 5.0)
        except AssertionError:
            pass  # a batch without tasks


def functions() -> Any:
    from pyspark.sql import functions

    return functions


def slowly(ms: float) -> Any:
    """A Python function that takes ``ms`` for each row."""
    from pyspark.sql import functions as F

    seconds = ms / 1000

    @F.udf("long")
    def work(value):
        time.sleep(seconds)
        return value

    return work
