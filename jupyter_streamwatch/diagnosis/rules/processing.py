"""Rules about the work of a batch: what inside addBatch, or beside it, takes the time."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.measure import batch_time, gathered, matters, seen, severity, shorter, slow_part
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.diagnosis.verdict import stuck
from jupyter_streamwatch.model.statistics import held, known, median
from jupyter_streamwatch.text.numbers import duration, percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window

_COUNTED = 1_000  # rows of a task: so many blocks would be millions of rows
TUNING = "https://spark.apache.org/docs/latest/tuning.html"


@rule("batch-stuck", "The running batch takes far longer than usual and no task finishes.")
def batch_stuck(window: Window, load: Load) -> Hint | None:
    """Raise while a running batch hangs; a slow one, whose tasks finish, is not stuck."""
    del load
    hangs, batch = stuck(window), window.history.running
    if hangs is None or batch is None:
        return None
    ran, quiet, usual = hangs
    ids = (batch.batchId,) if batch.batchId is not None else ()
    tasks = bool(batch.tasksRunning)
    task_waits = "A task waits for something outside Spark, or loops"
    driver_waits = "the sink, the source or a function on the driver does not return, or no executor is left"
    if quiet is None:
        cause = f"The batch hangs, or is very slow; Connect does not show its tasks. {task_waits}, or {driver_waits}."
    elif tasks:
        run = "1 task runs" if batch.tasksRunning == 1 else f"{batch.tasksRunning} tasks run"
        cause = f"The batch hangs: {run}. {task_waits}."
    else:
        cause = f"The batch hangs: no task runs, so the driver waits. {driver_waits[0].upper()}{driver_waits[1:]}."
    silence = "" if quiet is None else f" and no task has finished for {duration(quiet)}"
    return Hint(
        code="batch-stuck",
        severity="critical",
        title=f"The running batch takes {duration(ran)}{silence}",
        evidence=gathered(
            Evidence("running for", ran, "ms", ids),
            Evidence("no task finished for", quiet, "ms", ids) if quiet is not None else None,
            Evidence("usual batch time", usual, "ms", window.evidence()) if usual is not None else None,
            Evidence("tasks running", batch.tasksRunning, "", ids) if batch.tasksRunning is not None else None,
        ),
        cause=cause,
        fix="Look at the stack of the thread that hangs (Spark UI, Executors, Thread Dump). Give calls to other systems"
        " a time-out."
        + (
            " The checkpoint is temporary: a query that is stopped and started begins anew."
            if window.facts.temporaryCheckpoint
            else " Stopping and starting the query repeats this batch from its checkpoint."
        ),
        link=API + "#managing-streaming-queries",
    )


@rule("driver-bound", "No task runs for half of the batch or more.")
def driver_bound(window: Window, load: Load) -> Hint | None:
    """Raise when the executors wait for the driver, with a batch that is too slow.

    Where nothing is late it is only worth knowing, and then not of a few batches: in the first ones the driver loads
    its classes and compiles, whatever the query does.
    """
    t = window.t

    def idle(added: float, busy: float, queue: float) -> bool:
        return added - busy - queue >= max(t.idle_driver * added, t.part_least)

    level = matters(window, load)
    if level is None or not _held(window, idle, "durationMs.addBatch", "tasks.busyMs", "tasks.queueMs"):
        return None
    added, busy = window.usual("durationMs.addBatch") or 0.0, window.usual("tasks.busyMs") or 0.0
    lost = added - busy - (window.usual("tasks.queueMs") or 0.0)
    if level == "info" and (load.judged < t.min_trend or lost < t.slow_batch):
        return None
    where = (
        "the foreachBatch function, planning what it runs" if window.foreach_batch else "planning, the sink's commit"
    )
    return Hint(
        code="driver-bound",
        severity=level,
        title=f"No task runs for {duration(lost)} of the {duration(added)} in addBatch: the driver works alone",
        evidence=gathered(
            Evidence("addBatch without a running task", lost, "ms", window.evidence()),
            seen(window, "addBatch", "ms", "durationMs.addBatch"),
            seen(window, "tasks.busyMs", "ms"),
            *batch_time(window, load),
        ),
        cause=f"The time goes into work on the driver ({where}), and the executors wait for it.",
        fix="Move that work into the executors (write the DataFrame instead of collected rows), do calls to other"
        " systems"
        " in parallel, or leave out what waits."
        if window.foreach_batch
        else "Look what the driver does between the jobs: the log of the sink's table, the plan, many small files.",
        effect=shorter(window, lost, low=0.5, high=0.95),
        link=API + "#foreachbatch" if window.foreach_batch else API + "#output-sinks",
        share=_share(window, lost),
    )


@rule("contention", "Other work holds the cores, and the batch waits for them.")
def contention(window: Window, load: Load) -> Hint | None:
    """Raise when stages wait long for their first task, for a while or again and again.

    A small query beside a large one has several quick batches between two that wait: then no batch in a row waits, and
    yet most of the time is lost to it.
    """
    t = window.t

    def waits(added: float, queue: float) -> bool:
        return queue >= max(t.queue * added, t.queue_least)

    columns = ("durationMs.addBatch", "tasks.queueMs")
    if max(known(window.recent("tasks.queueMs")), default=0.0) < t.queue_least:
        return None
    batches = zip(window.recent("batchId"), *map(window.recent, columns), strict=True)
    told = [(number, added, queue) for number, added, queue in batches if number >= 0 <= added and queue >= 0]
    waited = {int(number): queue for number, added, queue in told if waits(added, queue)}
    often = len(waited) > len(told) / 2
    lost = sum(waited.values())
    again = len(waited) >= t.min_batches and lost >= t.dominates * sum(added for _, added, _ in told)
    if not again and not _held(window, waits, *columns):
        return None
    queue = median(waited.values()) or 0.0
    return Hint(
        code="contention",
        severity="warning" if load.pressed or (load.interval and queue >= t.part * load.interval) else "info",
        title=f"The batch waits {duration(queue)} for a free core"
        if often
        else f"{len(waited)} of the last {len(told)} batches wait about {duration(queue)} for a free core",
        evidence=(Evidence("tasks.queueMs", queue, "ms", tuple(waited)), *batch_time(window, load)),
        cause="Tasks of other queries or jobs hold all cores (Spark starts jobs first come, first served unless it is"
        " told otherwise), or executors for it are still being started.",
        fix="Give each query a scheduler pool with spark.scheduler.mode=FAIR (set when the application starts), more"
        " cores, or a trigger interval that leaves time for the others.",
        code_fix='spark.sparkContext.setLocalProperty("spark.scheduler.pool", "this_query")'
        "  # before start(); needs spark.scheduler.mode=FAIR",
        effect=shorter(window, queue, low=0.3) if often else None,
        link="https://spark.apache.org/docs/latest/job-scheduling.html#scheduling-within-an-application",
        share=_share(window, queue) if often else lost / sum(added for _, added, _ in told),
    )


@rule("too-few-tasks", "One task does the work while other cores wait.")
def too_few_tasks(window: Window, load: Load) -> Hint | None:
    """Raise when the stage that takes the time has a single task."""
    t = window.t

    def alone(added: float, longest: float, whole: float, tasks: float, stages: float) -> bool:
        # The median of a stage with two tasks is the longer one, so it cannot tell one task from two: the sum can.
        most = longest >= max(t.dominates * added, t.skew_least) and longest >= t.alone * whole
        return most and tasks < 2 * stages

    level = matters(window, load)
    columns = ("durationMs.addBatch", "tasks.runTimeMs.max", "tasks.runTimeMs", "tasks.count", "tasks.stages")
    if level is None or not _held(window, alone, *columns):
        return None
    longest = window.usual("tasks.runTimeMs.max") or 0.0
    return Hint(
        code="too-few-tasks",
        severity=level,
        title=f"One task does the work: {duration(longest)} of {duration(load.typical)} a batch",
        evidence=gathered(
            seen(window, "tasks.runTimeMs.max", "ms"), seen(window, "tasks.count", ""), *batch_time(window, load)
        ),
        cause="The rows are in one partition (one file, one partition of the source, a coalesce or repartition to 1, an"
        " aggregation without keys), so one core works and the others wait.",
        fix="Spread the rows before the expensive step"
        + ("; minPartitions splits the topic's partitions further." if _reads_kafka(window) else "."),
        code_fix=".repartition(spark.sparkContext.defaultParallelism)  # before the expensive step",
        effect=shorter(window, longest, low=0.2, high=0.75),
        link=TUNING + "#level-of-parallelism",
        share=_share(window, longest),
    )


@rule("task-skew", "One task takes much longer than the others of its stage.")
def task_skew(window: Window, load: Load) -> Hint | None:
    """Raise when the longest task of the dominating stage is far from its median task."""
    t = window.t

    def skewed(added: float, longest: float, usual: float) -> bool:
        return longest >= max(t.skew * usual, t.skew_least, 0.4 * added)

    columns = ("durationMs.addBatch", "tasks.runTimeMs.max", "tasks.runTimeMs.median")
    level = matters(window, load)
    if level is None or not _held(window, skewed, *columns):
        return None
    longest, usual = window.usual("tasks.runTimeMs.max") or 0.0, window.usual("tasks.runTimeMs.median") or 0.0
    cause, fix, code = _why_skewed(window)
    return Hint(
        code="task-skew",
        severity=level,
        title=f"One task takes {duration(longest)}, the median task of its stage {duration(usual)}",
        evidence=gathered(
            seen(window, "tasks.runTimeMs.max", "ms"),
            seen(window, "tasks.runTimeMs.median", "ms"),
            seen(window, "tasks.rows.max", "rows"),
            seen(window, "tasks.rows.median", "rows"),
            *batch_time(window, load),
        ),
        cause=cause,
        fix=fix,
        code_fix=code,
        effect=shorter(window, longest - usual, low=0.3, high=0.9),
        link=TUNING + "#level-of-parallelism",
        share=_share(window, longest - usual),
    )


def _why_skewed(window: Window) -> tuple[str, str, str | None]:
    """Return (cause, fix, code) by the rows that the tasks read, which tell a full task from a slow one."""
    most, usual = window.usual("tasks.rows.max"), window.usual("tasks.rows.median")
    key = (
        "Look for the frequent key (null is a usual one): filter it, handle it apart, or spread it by aggregating in"
        " two steps, first with a random number beside the key."
    )
    slow = (
        "Look at that task in the Spark UI: its executor, garbage collection and spilling, and which rows it has. Rows"
        " that take long (large ones, a call that waits) can be spread by more partitions."
    )
    spread = ".repartition(spark.sparkContext.defaultParallelism)  # without a key, before the expensive step"
    code = spread if window.facts.stateful == () else None
    # Of cached data Spark counts blocks of many rows, and a function may have cached its batch.
    if most is None or usual is None or (window.foreach_batch and most < _COUNTED):
        cause = "One task has most of the work (rows with the same key, or in one partition), or it is slow itself."
        return cause, f"{key} If the tasks have as many rows: {slow[0].lower()}{slow[1:]}", code
    if most >= window.t.uneven * max(usual, 1.0):
        return "Most rows have the same key (or sit in one partition), so one task has most of the work.", key, code
    cause = "The tasks have about as many rows: one of them is slow itself, by its machine or by what its rows need."
    return cause, slow, None


@rule("slow-user-code", "The user's Python, or the foreach or foreachBatch function, takes the time.")
def slow_user_code(window: Window, load: Load) -> Hint | None:
    """Raise when addBatch dominates a batch that is too slow and code of the user runs in it."""
    python = bool(window.facts.pythonUdf)
    if not python and not window.foreach:
        return None
    extreme = _extreme(window) if window.foreach else None
    level = extreme[3] if extreme else matters(window, load)
    if level is None or not (extreme or dominates(window)):
        return None
    added = extreme[0] if extreme else window.usual("durationMs.addBatch") or 0.0
    rows = extreme[1] if extreme else load.rows
    batches = extreme[2] if extreme else window.evidence()
    what = "Python functions" if python and not window.foreach else "the foreachBatch function"
    if "Foreach" in window.sink and not window.foreach_batch:
        what = "the foreach writer"
    each = f", {duration(added / rows)} a row" if rows else ""
    return Hint(
        code="slow-user-code",
        severity=level,
        title=f"{what[0].upper()}{what[1:]} and what it writes take {duration(added)} a batch{each}"
        if window.foreach
        else f"Batches with Python functions take {duration(added)} in addBatch{each}",
        evidence=gathered(
            Evidence("addBatch", added, "ms", batches),
            Evidence("numInputRows", rows, "rows", batches) if rows else None,
            *batch_time(window, load),
        ),
        cause=f"Nearly all of the batch time is spent in {what}"
        + (" or in the system that it writes to; Spark cannot tell the two apart." if window.foreach else "."),
        fix="Time the function once on a batch of this size. Write whole batches instead of single rows, reuse"
        " connections, and let independent calls run at the same time."
        if window.foreach
        else "Use Spark's own functions where there are some, else pandas_udf, which gets many rows a call; do what is"
        " expensive (opening models or connections) once a partition.",
        effect=None,
        link=API + "#using-foreach-and-foreachbatch"
        if window.foreach
        else "https://spark.apache.org/docs/latest/api/python/tutorial/sql/arrow_pandas.html",
        share=min(added / load.typical, 1.0) if load.typical else None,
    )


@rule("slow-planning", "Planning the query takes a large part of each batch.")
def slow_planning(window: Window, load: Load) -> Hint | None:
    """Raise when queryPlanning is a large part of the batch for a while."""
    slow = slow_part(window, ("queryPlanning",))
    if slow is None:
        return None
    return Hint(
        code="slow-planning",
        severity=severity(load, slow),
        title=f"Planning takes {duration(slow.ms)}, {percent(slow.share)} of a batch",
        evidence=(Evidence("queryPlanning", slow.ms, "ms", slow.batches), *batch_time(window, load)),
        cause="Each batch is planned anew: a large plan takes long (many columns, nested expressions, withColumn in a"
        " loop, many unions), and so does looking up the tables and files that it joins.",
        fix="Make the plan smaller: one select instead of many withColumn, fewer unions, no columns that nobody reads."
        " Keep the joined tables' files few.",
        effect=None if slow.alone else shorter(window, slow.ms),
        link="https://spark.apache.org/docs/latest/sql-performance-tuning.html",
        share=slow.share,
    )


def _held(window: Window, test: Callable[..., bool], *columns: str) -> bool:
    """Say whether ``test`` of these columns holds for a while; batches with an unknown number do not count."""
    flags = [
        1.0 if test(*values) else 0.0
        for values in zip(*(window.recent(column) for column in columns), strict=True)
        if not isnan(sum(values))
    ]
    return len(flags) >= window.t.min_batches and held(flags, 1.0, 1.0, int(window.t.hold))


def dominates(window: Window) -> bool:
    """Say whether addBatch takes most of the batch for a while."""

    def most(added: float, total: float) -> bool:
        return added >= max(window.t.dominates * total, window.t.part_least)

    return _held(window, most, "durationMs.addBatch", "durationMs.triggerExecution")


def _extreme(window: Window) -> tuple[float, float, tuple[int, ...], str] | None:
    """Return (addBatch in ms, rows, batch ids, severity) when the last batches are slow without any comparison.

    Where batches can be compared only what is extreme stands for itself.
    """
    t = window.t
    if window.real_time:
        return None
    slow = []
    shortest = t.extreme_batch if len(window.total) >= t.min_batches else t.extreme_part
    for record in window.with_data[-3:]:
        added, rows = record.durationMs.get("addBatch"), record.numInputRows
        if not added or not rows or not record.batchId:
            continue
        least = added >= shortest and added / rows >= t.extreme_row
        slow.append((added, rows, record.batchId) if least else None)
    found = [one for one in slow if one]
    if not found or slow[-1] is None:
        return None
    added_, rows_ = median(float(one[0]) for one in found), median(float(one[1]) for one in found)
    level = "warning" if (added_ or 0.0) >= t.extreme_batch else "info"
    return added_ or 0.0, rows_ or 0.0, tuple(one[2] for one in found), level


def _share(window: Window, lost: float) -> float | None:
    typical = window.typical
    return min(lost / typical, 1.0) if typical else None


_GENERATED = ("RateStream", "RateSource", "RatePerMicroBatch", "MemoryStream")  # sources that cost nothing to read
_NO_WRITING = ("Console", "Memory", "Noop")
_ONE_STAGE = 1.5  # a median is not the mean; much more, and the median is that of a stage with few and long tasks


@rule("source-read-slow", "Reading the source takes the time.")
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


@rule("slow-sink", "Writing to the sink takes the time.")
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


def _reads_kafka(window: Window) -> bool:
    return any("Kafka" in (one.description or "") for one in (window.last.sources if window.last else ()))


def _reads_nothing(window: Window) -> bool:
    sources = window.last.sources if window.last else ()
    return all((one.description or "").startswith(_GENERATED) for one in sources)


def _writes_nothing(window: Window) -> bool:
    return any(word in window.sink for word in _NO_WRITING)
