"""Rules about event time: a watermark that is unset, ahead or stuck, late rows, results that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.lateness import code_for, column_name, delay, held_back, needed_delays, window_length
from jupyter_streamwatch.diagnosis.measure import begins_anew, count, gathered
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.model.progress import epoch_ms
from jupyter_streamwatch.model.statistics import known
from jupyter_streamwatch.text.numbers import duration, exact, number, when
from jupyter_streamwatch.text.spark_names import source as source_name

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.progress import Progress

_AGGREGATIONS = ("stateStoreSave", "sessionWindowStateStoreSaveExec")
_COUNTED = 60 * 86_400_000.0  # ms; nobody counts more days ahead than this
WATERMARK = API + "#handling-late-data-and-watermarking"


@rule("watermark-unset", "A watermark is declared, but no row has an event time.")
def watermark_unset(window: Window, load: Load) -> Hint | None:
    """Raise when batch after batch has rows and none of them moves the watermark from its beginning."""
    del load
    # Spark before 2.1.1 sends a watermark of 0 also where none is declared, and no batch id.
    records = [one for one in window.with_data if one.numInputRows and one.batchId is not None]
    recent = records[-int(window.t.min_batches) :]
    if len(recent) < window.t.min_batches or not all(map(_unset, recent)):
        return None
    rows = sum(one.numInputRows or 0 for one in records)
    column = column_name(window)
    named = f"column {column}" if column else "the event-time column"
    return Hint(
        code="watermark-unset",
        severity="warning",
        title=f"The watermark is still unset after {exact(rows)} rows",
        evidence=(
            Evidence("numInputRows", rows, "rows", _ids(records)),
            Evidence("eventTime.watermark", recent[-1].eventTime["watermark"], "", _ids(recent)),
        ),
        cause=f"No row has a value in {named}: it is null, most often because the text could not be parsed as a"
        " timestamp, or its name is wrong in the schema.",
        fix="Look at the column in a batch read of the same source; parse it with the right format and time zone.",
        code_fix=f'df.select(F.count("*"), F.count("{column}"))  # in a batch read: how many are not null'
        if column
        else None,
        link=WATERMARK,
    )


@rule("watermark-ahead", "The watermark is in the future, so rows of now are late.")
def watermark_ahead(window: Window, load: Load) -> Hint | None:
    """Raise when the watermark, or the newest row, is ahead of the clock while most rows are not."""
    del load
    record = window.with_data[-1] if window.with_data else None
    if record is None or record.start_ms is None:
        return None
    start, ahead = record.start_ms, window.t.ahead
    mark, newest = epoch_ms(record.eventTime.get("watermark")), epoch_ms(record.eventTime.get("max"))
    name, usual = _most(record, start + ahead)
    if usual is None or usual > start + ahead:
        return None  # all rows are from the future: a clock or a time zone, or a test; nothing is lost by it
    if mark is not None and mark > start + ahead and usual < mark:
        title = f"The watermark is {_far(mark, start)}, and the rows are not"
    elif newest is not None and newest > start + ahead and newest - usual > ahead:
        title = f"One row is {_far(newest, start)} and takes the watermark with it"
    else:
        return None
    column = column_name(window) or "event_time"
    ids = _ids([record])
    return Hint(
        code="watermark-ahead",
        severity="warning",
        title=title,
        evidence=gathered(
            Evidence("eventTime.watermark", mark, "time", ids) if mark else None,
            Evidence("eventTime.max", newest, "time", ids) if newest is not None else None,
            Evidence(f"eventTime.{name}", usual, "time", ids),
            Evidence("timestamp", start, "time", ids),
        ),
        cause="One row with an event time in the future is enough: the watermark follows the newest row seen and"
        " never goes"
        " back, so rows of now are dropped as late.",
        fix="Filter such rows before withWatermark. The watermark is kept in the checkpoint: wait until the time has"
        f" come, or take a new one; then {begins_anew(window)}.",
        code_fix=f'.filter(F.col("{column}") < F.current_timestamp() + F.expr("INTERVAL 5 MINUTES"))',
        link=WATERMARK,
    )


def _far(at: float, start: float) -> str:
    """Write how far a time is ahead: as a length while a person would count it, else as its date."""
    return f"{duration(at - start)} ahead of the clock" if at - start < _COUNTED else f"dated {when(at)[:10]}"


def _most(record: Progress, latest: float) -> tuple[str, float | None]:
    """Return where most rows are in event time: their mean, or the oldest where a far row pulls the mean with it."""
    low, mean, high = (epoch_ms(record.eventTime.get(name)) for name in ("min", "avg", "max"))
    if not mean:
        return "min", low
    far = mean > latest and low is not None and high is not None and mean - low < high - mean
    return ("min", low) if far else ("avg", mean)


@rule("watermark-stuck", "The watermark does not move although newer rows come.")
def watermark_stuck(window: Window, load: Load) -> Hint | None:
    """Raise when the watermark stands still for several batches and the rows seen should have moved it."""
    del load
    records = [one for one in window.with_data if "max" in one.eventTime and "watermark" in one.eventTime]
    recent = records[-int(window.t.watermark_batches) :]
    if len(recent) < window.t.watermark_batches or len({one.eventTime["watermark"] for one in recent}) > 1:
        return None
    newest = [epoch_ms(one.eventTime["max"]) or 0.0 for one in recent]
    if not newest[-1] > newest[0]:
        return None
    mark = epoch_ms(recent[-1].eventTime["watermark"]) or 0.0
    idle = _idle_sources(recent)
    wait = delay(window)
    # The newest row before the last batch, less the delay, is where the watermark of one input would be.
    behind = max(newest[:-1]) - wait - mark if wait is not None else None
    if len(recent[-1].sources) < 2 or (behind is None and not idle):
        return None
    # An input that is quiet for a moment holds the watermark for a moment: by a whole delay it is stuck.
    if behind is not None and (behind <= 0 or behind < (wait or 0.0)):
        return None
    since = [one for one in records if one.eventTime["watermark"] == recent[-1].eventTime["watermark"]]
    if behind is None and newest[-1] - (epoch_ms(since[0].eventTime["max"]) or 0.0) < window.t.quiet_input:
        return None
    ids = _ids(recent)
    which = " and ".join(idle) if idle else "one input"
    return Hint(
        code="watermark-stuck",
        severity="warning",
        title=f"The watermark stands still while rows get {duration(newest[-1] - newest[0])} newer",
        evidence=(
            Evidence("eventTime.watermark", mark or "unset", "time" if mark else "", ids),
            Evidence("eventTime.max", newest[-1], "time", ids),
            *(Evidence(f"numInputRows of {name}", 0, "rows", ids) for name in idle),
        ),
        cause=f"The query has several inputs and its watermark is that of the slowest: {which} "
        + ("has had no rows." if idle else "is behind.")
        + " Until then no state is removed and no finished window comes out.",
        fix="Let the quiet input send something now and then (a heartbeat row), or let the fastest input move the"
        " watermark;"
        " that drops rows of the slower one, and the policy is pinned in the checkpoint.",
        code_fix='spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "max")'
        "  # before start(), with a new checkpointLocation",
        link=API + "#policy-for-handling-multiple-watermarks",
    )


@rule("late-rows-dropped", "Rows came too late and were dropped.")
def late_rows_dropped(window: Window, load: Load) -> Hint | None:
    """Raise when rows were dropped in the last batches; one batch proves it."""
    del load
    most = int(window.t.late_batches)
    dropped, rows = window.column("state.numRowsDroppedByWatermark")[-most:], window.column("numInputRows")[-most:]
    ids = window.column("batchId")[-most:]
    where = [place for place, late in enumerate(dropped) if late > 0]
    total, came = sum(dropped[place] for place in where), sum(known(rows))
    batches = tuple(int(ids[place]) for place in where if ids[place] == ids[place])[-20:]
    if not where:
        total, came, batches = _late_in_part(window)
    if not total:
        return None
    share = total / came if came else None
    wait = delay(window)
    needed = needed_delays(window)
    late = held_back(window, most)
    fix = "A longer delay keeps more rows; results of append mode come later by as much, and state is kept longer."
    if needed:
        most_of, nearly_all = map(duration, needed)
        kept = f"A delay of {nearly_all} would have kept the oldest row of 99 % of the batches."
        if most_of != nearly_all:
            kept = f"A delay of {most_of} would have kept the oldest row of 95 % of the batches,"
            kept += f" {nearly_all} that of 99 %."
        fix = f"{kept} {fix}"
    cause = "These rows belong to results that the watermark has closed already: they came later than its delay allows."
    if wait == 0:
        cause = (
            "The delay is 0: whatever is not newer than the newest row of the batches before is late, even by a"
            " moment or"
            " with the same time."
        )
    told = f"{number(total)} of {number(came)} rows" if came and share and share <= 1 else count(total, "row")
    return Hint(
        code="late-rows-dropped",
        severity="info" if share is not None and share < window.t.late_share else "warning",
        title=f"At least {told} came too late and {'was' if total == 1 else 'were'} dropped",
        evidence=gathered(
            Evidence("numRowsDroppedByWatermark", total, "rows", batches),
            Evidence("numInputRows", came, "rows", batches) if came else None,
            Evidence("oldest row behind the watermark", late[0], "ms", late[1]) if late else None,
            Evidence("watermark delay", wait, "ms") if wait is not None else None,
        ),
        cause=cause + " Rows that were combined before they met the state count as one.",
        fix=fix,
        # Ties need some delay: batches end in the middle of a moment.
        code_fix=code_for(window, needed[1] if needed else 1_000.0 if wait == 0 else None),
        link=WATERMARK,
    )


def _late_in_part(window: Window) -> tuple[float, float, tuple[int, ...]]:
    """Return dropped rows, rows and batch of a last record that has no times, as when state operators alone are pasted.

    With times it is a trigger that ran no batch, and its state operators are those of the batch before.
    """
    last = window.records[-1] if window.records else None
    if last is None or last.durationMs:
        return 0, 0, ()
    total = sum(operator.numRowsDroppedByWatermark or 0 for operator in last.stateOperators)
    return total, last.numInputRows or 0, () if last.batchId is None else (last.batchId,)


@rule("results-pending", "Append mode shows nothing until the watermark has passed the end of a window.")
def results_pending(window: Window, load: Load) -> Hint | None:
    """Say why the sink got nothing yet, when batches had rows and the state holds results."""
    del load
    if window.facts.outputMode not in (None, "append"):
        return None
    records = window.with_data
    last = window.ran[-1] if window.ran else None
    if last is None or len(records) < window.t.min_batches or "watermark" not in last.eventTime:
        return None
    proof = _nothing_out(window)
    if proof is None:
        return None
    # Only an aggregation's rows are results: those of a join wait for partners, those of a deduplication for copies.
    waiting = sum(one.numRowsTotal or 0 for one in last.stateOperators if one.operatorName in _AGGREGATIONS)
    if not waiting or not any(one.numRowsUpdated for record in records for one in record.stateOperators):
        return None
    since_start = window.ran[0].batchId == 0
    mark = epoch_ms(last.eventTime["watermark"]) or 0.0
    oldest = min((at for one in records if (at := epoch_ms(one.eventTime.get("min")))), default=None)
    newest = max((at for one in records if (at := epoch_ms(one.eventTime.get("max"))) is not None), default=None)
    ends = _next_end(window, oldest, mark) if oldest is not None else None
    return Hint(
        code="results-pending",
        severity="info",
        title=f"{number(waiting)} {'result waits' if waiting == 1 else 'results wait'} in the state;"
        + (" none has come out yet" if since_start else f" none came out of the last {len(window.ran)} batches"),
        evidence=gathered(
            Evidence(proof, 0, "rows", _ids(records)),
            Evidence("numRowsTotal", waiting, "rows", _ids([last])),
            Evidence("eventTime.watermark", mark, "time", _ids([last])) if mark else None,
            Evidence("eventTime.min", oldest, "time", _ids(records)) if oldest is not None else None,
            Evidence("eventTime.max", newest, "time", _ids(records)) if newest is not None else None,
            Evidence("next window ends", ends, "time") if ends is not None else None,
        ),
        cause="Append mode writes a result once, when it can no longer change: when the watermark has passed its end.",
        fix=_awaited(window, oldest if since_start else None, newest, ends, mark)
        + (" Update mode shows results at once, and again when they change." if _updates(window) else ""),
        link=API + "#output-modes",
    )


def _nothing_out(window: Window) -> str | None:
    """Return the name of the number that says that no result came out; None where one did, or nothing tells.

    Where the sink does not count its rows: in append mode a result comes out as it is removed from the state.
    """
    if all(one.sink.numOutputRows == 0 for one in window.ran):
        return "numOutputRows"
    if window.facts.outputMode != "append" or any(one.sink.numOutputRows is not None for one in window.ran):
        return None
    removed = [
        operator.numRowsRemoved
        for one in window.ran
        for operator in one.stateOperators
        if operator.operatorName in _AGGREGATIONS
    ]
    return "numRowsRemoved" if removed and all(rows == 0 for rows in removed) else None


def _updates(window: Window) -> bool:
    """Whether the query could run in update mode: not every sink takes it, and a session window has none."""
    last = window.last
    sessions = any((one.operatorName or "").startswith("session") for one in (last.stateOperators if last else ()))
    return not sessions and window.sink_kind in ("kafka", "foreachBatch", "foreach", "console", "memory", "noop")


def _next_end(window: Window, oldest: float, mark: float) -> float | None:
    """Return the end of the tumbling window that comes out next; Spark counts windows from the epoch.

    That is the one that the watermark is in, or a later one with the oldest row: unless rows from before the records
    that are known are in one between.
    """
    length = window_length(window)
    if not length:
        return None
    ends = (max(oldest, mark) // length + 1) * length
    ids = window.column("batchId")
    all_known = bool(ids) and ids[0] == 0 and window.records[0].batchId == 0
    return ends if all_known or ends - length <= mark else None


def _awaited(window: Window, oldest: float | None, newest: float | None, ends: float | None, mark: float) -> str:
    """Say which window comes out next and what event time it waits for, as far as both are known."""
    now = f"Now the watermark is at {when(mark)}." if mark else "Now the watermark is unset."
    wait = delay(window)
    last = window.last
    if last is not None and len(last.sources) > 1:
        idle = _idle_sources(list(window.with_data))
        which = f" {' and '.join(idle)} had no rows lately." if idle else ""
        until = f"the end of its window, {when(ends)}" if ends is not None else "the end of its window"
        return (
            f"The next result comes out when the watermark has passed {until}. With several inputs it is that of the"
            f" slowest one, unless multipleWatermarkPolicy is max.{which} {now}"
        )
    if ends is not None and wait is not None and newest is not None and newest >= ends + wait:
        return f"The next is the window that ends at {when(ends)}: it comes out in the next batch. {now}"
    if ends is not None:
        needs = "the watermark has passed that"
        if wait is not None:
            needs = f"a row with an event time of {when(ends + wait)} or later has come"
            needs += f" (the delay is {duration(wait)})" if wait else ""
        return f"The next is the window that ends at {when(ends)}: it comes out in the batch after {needs}. {now}"
    which = f"The first is the window with {when(oldest)}: it" if oldest is not None else "A result"
    later = f", {duration(wait)} behind the newest row," if wait is not None else ""
    ended = "its end" if oldest is not None else "the end of its window"
    return f"{which} comes out when the watermark{later} has passed {ended}. {now}"


def _unset(record: Progress) -> bool:
    """Whether the watermark is at its beginning and no row can move it: Spark counts null as the epoch."""
    return epoch_ms(record.eventTime.get("watermark")) == 0 and not epoch_ms(record.eventTime.get("max"))


def _idle_sources(records: list[Progress]) -> list[str]:
    """Return the names of sources without a row in all records, when another one had rows in each."""
    sources = [one.sources for one in records]
    if len({len(one) for one in sources}) > 1 or len(sources[0]) < 2:
        return []
    idle = [place for place in range(len(sources[0])) if all(one[place].numInputRows == 0 for one in sources)]
    return [source_name(sources[-1][place].description) for place in idle] if len(idle) < len(sources[0]) else []


def _ids(records: list[Progress] | tuple[Progress, ...]) -> tuple[int, ...]:
    return tuple(one.batchId for one in records if one.batchId is not None)[-20:]
