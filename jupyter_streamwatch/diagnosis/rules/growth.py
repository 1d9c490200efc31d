"""The rule about state that grows without end: which operator it is, and what removes that operator's rows."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jupyter_streamwatch.diagnosis.lateness import column_name
from jupyter_streamwatch.diagnosis.measure import begins_anew, gathered, version
from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.model.row import PARTS_SHOWN
from jupyter_streamwatch.model.statistics import known, surely
from jupyter_streamwatch.text.numbers import number

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.query_shape import OperatorShape

_TRANSFORM = GUIDE + "structured-streaming-transform-with-state.html"
_USER_STATE = API + "#arbitrary-stateful-operations"
_DEDUPLICATION = API + "#streaming-deduplication"
_CALLED = {
    "stateStoreSave": "the aggregation",
    "sessionWindowStateStoreSaveExec": "the session windows",
    "dedupe": "dropDuplicates",
    "dedupeWithinWatermark": "dropDuplicatesWithinWatermark",
    "symmetricHashJoin": "the join",
}
_OWN_REMOVAL = (
    "numValueStateWithTTLVars",
    "numListStateWithTTLVars",
    "numMapStateWithTTLVars",
    "numRegisteredTimers",
    "numExpiredTimers",
    "numValuesRemovedDueToTTLExpiry",
)
"""Metrics of transformWithState that show that the program removes its state when a time has come."""


class _Growth(NamedTuple):
    """An operator whose rows become more: its name, its rows before and now, whether removals are reported."""

    name: str
    before: float
    now: float
    counted: bool


class _Reason(NamedTuple):
    """Why nothing is removed, and what to do."""

    severity: str
    cause: str
    fix: str
    code: str | None
    link: str


@rule("state-growth", "State grows from batch to batch and nothing is removed.", family="state")
def state_growth(window: Window, load: Load) -> Hint | None:
    """Raise when an operator's rows keep growing, none is removed, and the reason is known; else by the plan alone."""
    del load
    growth = _growth(window)
    reason = _reason(window, growth) if growth is not None else None
    if growth is None or reason is None:
        return _by_plan(window)
    first, last = window.ends()
    of = f" of {_called(growth.name)}" if growth.name else ""
    rows = f"{number(growth.before)} to {number(growth.now)} rows"
    return Hint(
        code="state-growth",
        severity=reason.severity,
        title=f"State{of} grew from {rows}, and {'none was removed' if growth.counted else 'never became less'}",
        evidence=gathered(
            Evidence("numRowsTotal before", growth.before, "rows", first),
            Evidence("numRowsTotal now", growth.now, "rows", last),
            Evidence("numRowsRemoved", 0, "rows", window.evidence()) if growth.counted else None,
        ),
        cause=reason.cause,
        fix=reason.fix,
        code_fix=reason.code,
        link=reason.link,
    )


def _called(name: str) -> str:
    """Return an operator as a person calls it: Spark's names are those of its classes."""
    if name.startswith("transformWithState"):
        return "transformWithState"
    return _CALLED.get(name, name)


def _growth(window: Window) -> _Growth | None:
    """Return the operator that grows most without removal all over the window; None when none does."""
    last = window.last
    operators = last.stateOperators[:PARTS_SHOWN] if last is not None else ()
    found = []
    for place, operator in enumerate(operators):
        # With one operator its numbers are the sums, which every saved history has.
        prefix = "state." if len(operators) == 1 else f"state[{place}]."
        rows = _grows(window, prefix)
        if rows is not None:
            only = window.facts.stateful if len(operators) == 1 else None
            name = operator.operatorName or (only[0] if only and len(only) == 1 else "")
            found.append(_Growth(name, *rows))
    return max(found, key=lambda growth: growth.now - growth.before, default=None)


def _grows(window: Window, prefix: str) -> tuple[float, float, bool] | None:
    """Return (rows before, rows now, whether removals are reported) of what grows without removal, else None."""
    t = window.t
    totals = known(window.long(prefix + "numRowsTotal"))
    if len(totals) < max(t.min_trend, 10):
        return None
    first, middle, last = totals[0], totals[len(totals) // 2], totals[-1]
    if last < t.state_least or last < t.state_growth * max(first, 1.0):
        return None
    removed = known(window.column(prefix + "numRowsRemoved"))
    if any(removed) or any(after < before for before, after in pairwise(totals)):
        return None
    # Keys that come back fill the state ever more slowly; that ends by itself.
    if last - middle < t.state_steady * (middle - first) or not surely(totals[-60:], t.sure):
        return None
    return first, last, bool(removed)


def _reason(window: Window, growth: _Growth) -> _Reason | None:  # noqa: PLR0911 - one a kind of operator
    name = growth.name.lower()
    if name.startswith("transformwithstate"):
        return _program(window)
    if name.endswith("groupswithstate") or name == "applyinpandaswithstate":
        return _function(window, growth.name)
    if name == "dedupewithinwatermark":
        return _within(window)
    if window.facts.outputMode == "complete" and (not name or "statestoresave" in name):
        return _complete(window)
    marked = _marked(window)
    if marked and not (growth.counted and _should_have_removed(window)):
        return None
    if name == "symmetrichashjoin":
        return _join(window, marked=marked)
    if name == "dedupe":
        return _dedupe(window, marked=marked)
    if name.startswith("sessionwindow"):
        return _session(window, marked=marked)
    if name == "statestoresave":
        return _aggregation(window, marked=marked)
    return None if marked or name else _unnamed(window)


def _program(window: Window) -> _Reason | None:
    """State of transformWithState is in the hands of the program, whatever the watermark."""
    metrics = [one.customMetrics for record in window.ran for one in record.stateOperators]
    if any(each.get(name) for each in metrics for name in _OWN_REMOVAL):
        return None  # what has a time to live, or a timer, goes when its time has come
    bare = any(name in each for each in metrics for name in _OWN_REMOVAL)
    return _Reason(
        "warning" if bare else "info",
        cause="What transformWithState keeps stays until the program removes it"
        + (": no state variable has a TTL, and no timer is registered." if bare else "."),
        fix="Call clear() on the state of a key that is done: in handleInputRows, or in handleExpiredTimer of a timer"
        " that was registered for it. In processing-time mode a TTL on the state variable does it without a timer; on a"
        " variable that the checkpoint has already it changes what is stored, which may need a new checkpoint.",
        code='handle.getValueState("name", schema, ttlDurationMs=3_600_000)'
        '  # in init(), with timeMode="processingTime"',
        link=_TRANSFORM,
    )


def _function(window: Window, name: str) -> _Reason:
    """State of a function goes when the function says so; a time-out only calls it."""
    known_shape = _shaped(window, name)
    said = (known_shape.condition or "") if known_shape is not None else ""
    if "Timeout" in said and "NoTimeout" not in said:
        return _Reason(
            "info",
            cause="A time-out only calls the function with state.hasTimedOut: the state of the key stays until the"
            " function removes it. Either no key has timed out yet, or the function does not call state.remove().",
            fix="Call state.remove() where state.hasTimedOut is true, and set a shorter time-out if keys should go"
            " sooner.",
            code="if state.hasTimedOut:\n    state.remove()",
            link=_USER_STATE,
        )
    return _Reason(
        "warning",
        cause="The state of a key stays until the function removes it"
        + (", and the function has no time-out." if "NoTimeout" in said else "."),
        fix="Call state.remove() when a key is done. For keys that fall silent give the function a time-out, set it"
        " anew with each call, and remove the state where state.hasTimedOut is true. A function that had no time-out"
        " stores one more column with it." + _anew(window),
        code="if state.hasTimedOut:\n    state.remove()\nelse:\n"
        "    state.setTimeoutDuration(3_600_000)  # ms; needs GroupStateTimeout.ProcessingTimeTimeout",
        link=_USER_STATE,
    )


def _within(window: Window) -> _Reason | None:
    """A key goes when the watermark has passed its first row by the delay: only a watermark that stands keeps it."""
    marks = window.long("eventTime.watermark")
    seen = known(marks)
    if seen and seen[-1] != seen[2 * len(seen) // 3]:
        return None  # it moves: keys go when it has come far enough
    stands = "The watermark stands still, so no key expires." if seen else "No key has expired yet."
    return _Reason(
        "info",
        cause="dropDuplicatesWithinWatermark keeps a key until the watermark has passed its first row by the delay."
        f" {stands}",
        fix="Shorten the delay of withWatermark if copies come sooner, and look whether an input is idle: it holds the"
        " watermark back.",
        code=None,
        link=_DEDUPLICATION,
    )


def _complete(window: Window) -> _Reason:
    # Delta takes no update mode, and a sorted result is written in complete mode only.
    delta = window.sink_kind == "delta"
    fix = "Use append mode (finished results), with a watermark and a window in the grouping keys."
    if not delta:
        fix = (
            "Use update mode (changed results), or append mode (finished results) with a watermark and a window in the"
            " grouping keys. Only in a query that does not sort its result."
        )
    return _Reason(
        "warning",
        cause="Complete mode writes the whole result each time, so every group is kept for ever.",
        fix=fix + _anew(window),
        code=f'.outputMode("{"append" if delta else "update"}")',
        link=API + "#output-modes",
    )


def _aggregation(window: Window, *, marked: bool) -> _Reason | None:
    column, remark = _column(window)
    code = (
        f'.withWatermark("{column}", "10 minutes").groupBy(F.window("{column}", "5 minutes"), *keys)'
        f"  # keys: the columns it groups by now{remark}"
    )
    link = API + "#conditions-for-watermarking-to-clean-aggregation-state"
    if marked:
        if _timed(window, "stateStoreSave"):
            return None  # its windows are longer than what was seen
        return _Reason(
            "info",
            cause="The watermark moves and removes nothing: the grouping keys have no event-time column or window, or"
            " withWatermark comes after the aggregation"
            + ("." if _shaped(window, "stateStoreSave") else ", or the windows are longer than what was seen."),
            fix="Put withWatermark before groupBy and a window of the same column into the keys." + _anew(window),
            code=code,
            link=link,
        )
    return _Reason(
        "warning",
        cause=f"{_unmarked(window)}, so Spark cannot know when a group is finished and keeps all of them.",
        fix="Declare a watermark before the aggregation and group by a window of that column as well." + _anew(window),
        code=code,
        link=link,
    )


def _session(window: Window, *, marked: bool) -> _Reason | None:
    column, remark = _column(window)
    if marked:
        return None  # a session ends with its gap, which nothing tells, and keys that get rows end none
    return _Reason(
        "warning",
        cause=f"{_unmarked(window)}, so Spark cannot know when a session is over and keeps all of them.",
        fix="Declare a watermark before groupBy: a session goes when the watermark has passed its last row by the gap."
        + _anew(window),
        code=f'.withWatermark("{column}", "10 minutes")  # before groupBy{remark}',
        link=API + "#types-of-time-windows",
    )


def _join(window: Window, *, marked: bool) -> _Reason | None:
    shape = _shaped(window, "symmetricHashJoin")
    condition = shape.condition or "" if shape is not None else ""
    if marked and any(sign in condition for sign in ("<", ">")):
        return None  # it has a bound, perhaps of more time than was seen
    column, remark = _column(window)
    return _Reason(
        "info" if marked else "warning",
        cause="The join has no bound in time that the watermarks have passed, so every row must wait for a partner"
        " that may still come."
        if marked
        else "The join has neither watermarks nor a bound in time that they could pass, so every row of both sides is"
        " kept for ever.",
        fix="Declare a watermark on both sides and add a condition on both times." + _anew(window),
        code=f'F.expr("left.key = right.key AND'
        f' right.{column} BETWEEN left.{column} AND left.{column} + INTERVAL 1 HOUR")'
        f"  # left and right: aliases of the two sides{remark}",
        link=API + "#stream-stream-joins",
    )


def _dedupe(window: Window, *, marked: bool) -> _Reason | None:
    if marked and _timed(window, "dedupe"):
        return None
    # A key with the watermarked column expires as soon as the watermark has passed it: nothing else explains this.
    return _Reason(
        "warning",
        cause="The watermarked column is not among the columns of dropDuplicates, so no key ever expires."
        if marked
        else "dropDuplicates without a watermark must remember every key for ever.",
        fix=_forget(window) + _anew(window),
        code=_forgetful(window, marked=marked),
        link=_DEDUPLICATION,
    )


def _unnamed(window: Window) -> _Reason:
    return _Reason(
        "warning",
        cause=f"{_unmarked(window)}: without one Spark removes no row of an aggregation, a join or dropDuplicates. This"
        " version does not say which of them keeps the rows.",
        fix="Declare a watermark before the operator, and give it a window, a bound in time or the event time among its"
        " columns." + _anew(window),
        code=None,
        link=API + "#handling-late-data-and-watermarking",
    )


def _by_plan(window: Window) -> Hint | None:
    """Look at a deduplication in the plan: without the event time among its columns no key ever goes."""
    facts = window.facts
    if facts.watermarks is None or "dedupe" not in (facts.stateful or ()):
        return None
    keys = _keys(window)
    if facts.watermarks and (not keys or _timed(window, "dedupe") is not False):
        return None
    marked = bool(facts.watermarks)
    names = ", ".join(keys)
    return Hint(
        code="state-growth",
        severity="info",
        title="dropDuplicates remembers every key for ever",
        evidence=gathered(
            Evidence("columns of dropDuplicates", names) if names else None,
            Evidence("watermarks", ", ".join(column for column, _ in facts.watermarks) or "none"),
        ),
        cause="The watermarked column is not among the columns of dropDuplicates, so no key ever expires."
        if marked
        else "Without a watermark no key ever expires.",
        fix="Nothing to do while there are only so many keys. Else: " + _forget(window) + _anew(window),
        code_fix=_forgetful(window, marked=marked),
        link=_DEDUPLICATION,
    )


def _forget(window: Window) -> str:
    spark = version(window)
    if spark is not None and spark < (3, 5):
        return "Declare a watermark and put its column among those of dropDuplicates: copies have the same time then."
    since = "" if spark is not None else " (dropDuplicatesWithinWatermark is there from Spark 3.5 on)"
    return f"Remember a key only as long as copies can come{since}."


def _forgetful(window: Window, *, marked: bool) -> str:
    column, remark = _column(window)
    spark = version(window)
    names = _keys(window)
    old = spark is not None and spark < (3, 5)
    listed = json.dumps([*names, *([column] if old else [])], ensure_ascii=False) if names else "keys"
    if old and not names:
        listed = f'[*keys, "{column}"]'
    remarks = [] if names else ["keys: the columns of dropDuplicates"]
    remarks += [] if marked and not old else [remark.removeprefix("; ")]
    text = "; ".join(part for part in remarks if part)
    mark = "" if marked else f'.withWatermark("{column}", "1 hour")'
    call = "dropDuplicates" if old else "dropDuplicatesWithinWatermark"
    return f"{mark}.{call}({listed})" + (f"  # {text}" if text else "")


def _column(window: Window) -> tuple[str, str]:
    """Return the watermarked column, or a name to be replaced and the remark that says so."""
    name = column_name(window)
    return (name, "") if name else ("event_time", "; event_time: the column with the time of the row")


def _marked(window: Window) -> bool:
    last = window.last
    return bool(window.facts.watermarks) or (last is not None and "watermark" in last.eventTime)


def _unmarked(window: Window) -> str:
    return "The query has no watermark" if window.facts.watermarks == () else "The records show no watermark"


def _anew(window: Window) -> str:
    return f" A new checkpoint is needed: {begins_anew(window)}."


def _shaped(window: Window, name: str) -> OperatorShape | None:
    """Return what the plan says of the operator of this name, when it has just one."""
    shape = window.facts.shape
    same = [one for one in (shape.operators or () if shape is not None else ()) if one.name == name]
    return same[0] if len(same) == 1 else None


def _keys(window: Window) -> list[str]:
    """Return the columns of the query's only dropDuplicates; none where they are not known by their names."""
    shape, operator = window.facts.shape, _shaped(window, "dedupe")
    if shape is None or operator is None or shape.truncated:
        return []
    names = [key.name for key in operator.keys]
    return names if all(names) else []


def _timed(window: Window, name: str) -> bool | None:
    """Whether the keys of an operator may hold the watermarked column or a window of it; None when not known."""
    shape, operator = window.facts.shape, _shaped(window, name)
    if shape is None or operator is None or shape.truncated:
        return None
    marks = {column for column, _ in (window.facts.watermarks or ())} | {column for column, _ in shape.watermarks or ()}
    texts = [text for key in operator.keys for text in (key.name, key.origin or "")]
    return any("window" in text or any(mark in text for mark in marks) for text in texts)


def _should_have_removed(window: Window) -> bool:
    """Whether the watermark has passed all rows of the first third of a long window, by as much again.

    A window may end long after its rows, so a removal is only overdue when the watermark is far beyond them.
    """
    marks, tops = window.long("eventTime.watermark"), window.long("eventTime.max")
    lows = window.long("eventTime.min")
    third = len(marks) // 3
    if len(marks) < window.t.trend_least or not known(marks[-1:]) or not known(tops[:third]) or not known(lows[:third]):
        return False
    newest, oldest = max(known(tops[:third])), min(known(lows[:third]))
    return marks[-1] > newest + (newest - oldest)
