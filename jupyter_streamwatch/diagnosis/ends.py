"""Rules about the ends of a batch: without task data reading and writing are told apart only by elimination."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.hint import Hint
from jupyter_streamwatch.diagnosis.measure import batch_time, gathered, matters, seen, shorter
from jupyter_streamwatch.diagnosis.processing import dominates
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.text.numbers import duration

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.load import Load
    from jupyter_streamwatch.diagnosis.window import Window

_GENERATED = ("RateStream", "RateSource", "RatePerMicroBatch", "MemoryStream")  # sources that cost nothing to read
_NO_WRITING = ("Console", "Memory", "Noop")
_ONE_STAGE = 1.5  # a median is not the mean; much more, and the median is that of a stage with few and long tasks


@rule("source-read-slow", "Reading the source takes the time.", family="processing")
def source_read_slow(window: Window, load: Load) -> Hint | None:
    """Raise only where nothing else can take the time: no state, no Python, a sink that costs nothing to write."""
    level = _level(window, load)
    if level is None or not _writes_nothing(window) or _reads_nothing(window):
        return None
    return _hint(
        window,
        load,
        code="source-read-slow",
        severity=level,
        what="Reading",
        cause="The query only reads, its sink costs nothing to write, so the time goes into fetching and decoding.",
        fix="Read in more tasks (more Kafka partitions or minPartitions, smaller files), read less (columns, filters),"
        " and prefer Parquet to JSON and CSV.",
        link=API + "#input-sources",
    )


@rule("slow-sink", "Writing to the sink takes the time.", family="processing")
def slow_sink(window: Window, load: Load) -> Hint | None:
    """Raise only where nothing else can take the time: no state, no Python, a source that costs nothing to read.

    Of a Delta table it is known from whatever source: the tasks that take the time are those that read its log.
    """
    level = _level(window, load)
    if level is None or _writes_nothing(window):
        return None
    lost = _delta_log(window)
    if lost is not None:
        return replace(
            _hint(
                window,
                load,
                code="slow-sink",
                severity=level,
                what="Writing",
                cause="Before it adds to a table, Delta reads the table's log: in 50 tasks unless it is told otherwise,"
                " however few files the table has, and they take most of the time here.",
                fix="Read the log in fewer tasks; a table of millions of files needs many. OPTIMIZE and a longer"
                " trigger interval keep the number of files small.",
                link="https://docs.delta.io/latest/delta-streaming.html",
            ),
            code_fix='spark.conf.set("spark.databricks.delta.snapshotPartitions", "4")  # before start()',
            effect=shorter(window, lost, low=0.3, high=0.95),
        )
    if not _reads_nothing(window):
        return None
    return _hint(
        window,
        load,
        code="slow-sink",
        severity=level,
        what="Writing",
        cause="The query only reads and writes, its source costs nothing to read, so the time goes into the sink.",
        fix="Look at the storage behind the sink. Fewer and larger files are faster than many small ones: write from"
        " fewer partitions, with a longer trigger interval.",
        link=API + "#output-sinks",
    )


def _hint(window: Window, load: Load, *, code: str, severity: str, what: str, cause: str, fix: str, link: str) -> Hint:
    """Both ends rest on the same numbers: the time in addBatch, and its share of the batch."""
    added = window.usual("durationMs.addBatch") or 0.0
    return Hint(
        code=code,
        severity=severity,
        title=f"{what} takes {duration(added)} of {duration(load.typical)} a batch",
        evidence=gathered(
            seen(window, "addBatch", "ms", "durationMs.addBatch"),
            seen(window, "numInputRows", "rows"),
            *batch_time(window, load),
        ),
        cause=cause,
        fix=fix,
        effect=None,
        link=link,
        share=min(added / load.typical, 1.0) if load.typical else None,
    )


def _level(window: Window, load: Load) -> str | None:
    """How bad a batch is that spends its time in addBatch with neither state nor code of the user; None else."""
    facts = window.facts
    if window.foreach or facts.pythonUdf is not False or facts.stateful != ():
        return None
    if not window.sink or window.last is None or not window.last.sources:
        return None
    return matters(window, load) if dominates(window) else None


def _delta_log(window: Window) -> float | None:
    """Return how many ms of a batch the tasks take with which Delta reads a table's log; None when they are not many.

    They are one stage of many small tasks beside the few of the query: the stage that takes the longest, if its
    median task times their number is most of what all tasks take.
    """
    if window.sink_kind != "delta":
        return None
    columns = ("tasks.count", "tasks.stages", "tasks.runTimeMs.median", "tasks.runTimeMs", "tasks.busyMs")
    values = [value for value in map(window.usual, columns) if value is not None]
    if len(values) < len(columns):
        return None
    count, stages, median, whole, busy = values
    many = count - stages
    share = many * median / max(whole, 1.0)
    if many < window.t.partitions or not window.t.dominates <= share <= _ONE_STAGE:
        return None
    return min(share, 1.0) * busy


def _reads_nothing(window: Window) -> bool:
    sources = window.last.sources if window.last else ()
    return all((one.description or "").startswith(_GENERATED) for one in sources)


def _writes_nothing(window: Window) -> bool:
    return any(word in window.sink for word in _NO_WRITING)
