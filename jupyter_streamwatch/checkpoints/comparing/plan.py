"""What only a watched run tells: filters, output, watermark, output mode and sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.comparing.changes import Change
from jupyter_streamwatch.checkpoints.comparing.verdicts import GUIDE_FORBIDS, Case, listed
from jupyter_streamwatch.spark.plans import expressions as shape_expressions
from jupyter_streamwatch.text.numbers import duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_streamwatch.checkpoints.comparing.changes import Verdict
    from jupyter_streamwatch.model.query_shape import Column, Shape

_AFTER = ", after "
_MEMORY = "The memory sink recovers no checkpoint in append or update mode: Spark refuses it where offsets are."
_GROUPED = ("stateStoreSave", "sessionWindowStateStoreSaveExec")


def compare(case: Case) -> None:
    """Compare everything that the plan says and the checkpoint does not hold."""
    _watermark(case)
    _trigger(case)
    _progress(case)
    _mode(case)
    _sink(case)
    if case.before is None or not case.texts:
        return
    _filters(case, case.before)
    _projection(case, case.before)


def _filters(case: Case, before: Shape) -> None:
    if before.filters is None or case.now.filters is None:
        case.unseen.append("Filters: the plan of the watched run, or of the query, does not name them.")
        return
    old, new = ({one: _condition(one) for one in shape.filters or ()} for shape in (before, case.now))
    gone = [one for one, parts in old.items() if not parts <= _united(new)]
    come = [one for one, parts in new.items() if not parts <= _united(old)]
    if not gone and not come:
        return
    feeds_state = bool(case.now.operators) and any(_AFTER not in one for one in (*gone, *come))
    verdict: Verdict = "changed-meaning" if feeds_state else "allowed"
    reason = (
        "The state holds what the old filter let through: old and new results mix."
        if feeds_state
        else "A filter may change on the same checkpoint; results from before stay as they are."
    )
    was, now = (" AND ".join(one) or None for one in (gone, come))
    case.add("filter", verdict, was, now, reason)


def _condition(filter: str) -> frozenset[str]:
    """Return the comparisons of a filter, each with the operators that it follows."""
    condition, after, operators = filter.partition(_AFTER)
    return frozenset(f"{part}{after}{operators}" for part in shape_expressions.comparable(condition))


def _united(conditions: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*conditions.values())


def _projection(case: Case, before: Shape) -> None:
    if case.found("grouping-keys", "aggregates", "join", "state-schema", "sources", "dedup"):
        return  # the output follows from it
    old, new = before.output, case.now.output
    if old is None or new is None:
        case.unseen.append("The output columns: the plan of the watched run, or of the query, does not name them.")
        return
    if [one.name.lower() for one in old] != [one.name.lower() for one in new] or any(
        one.type and other.type and one.type != other.type for one, other in zip(old, new, strict=True)
    ):
        reason = "The output has other columns: allowed as far as the sink takes them, beside those from before."
        case.add("projection", "changed-meaning", _columns(old), _columns(new), reason)
        return
    if before.truncated or case.now.truncated:
        case.unseen.append("How output columns are computed: Spark cuts the plan of a query with so many columns.")
        return
    pairs = [(one, other) for one, other in zip(old, new, strict=True) if one.origin != other.origin]
    if pairs:
        was = listed([f"{one.name} = {one.origin}" for one, _ in pairs])
        now = listed([f"{one.name} = {one.origin}" for _, one in pairs])
        case.add("projection", "allowed", was, now, "A projection may change when the output has the same columns.")


def _columns(columns: Sequence[Column]) -> str:
    return listed([f"{one.name} {one.type}" if one.type else one.name for one in columns])


def _watermark(case: Case) -> None:
    new = case.now.watermarks
    if new is None:
        case.unseen.append("The watermark: Spark's plan of the query does not name it.")
        return
    old = case.before.watermarks if case.before else None
    if old is not None and case.before is not None:
        same = list(old) == list(new) if case.texts else [delay for _, delay in old] == [delay for _, delay in new]
        if not same:
            _watermark_changed(case, _delays(old), _delays(new))
        return
    kept = sorted(
        {
            float(field.watermarkDelayMs)
            for operator in case.checkpoint.operators
            for store in operator.stores
            for field in (*(store.key or ()), *(store.value or ()))
            if field.watermarkDelayMs is not None
        }
    )
    delays = {delay for _, delay in new}
    last = case.checkpoint.lastOffset
    had = last is not None and case.checkpoint.offsets[last].watermarkMs is not None
    if (kept and not set(kept) <= delays) or (had and not new):
        was = listed([duration(delay) for delay in kept]) if kept else "a watermark"
        _watermark_changed(case, was, _delays(new))
    elif new or had:
        case.unseen.append("The column of the watermark: the checkpoint holds its time, and its delay in some states.")


def _watermark_changed(case: Case, was: str | None, now: str | None) -> None:
    grouped = any(one.name == "stateStoreSave" for one in case.now.operators or ())
    if now is None and grouped and case.now.outputMode == "append":
        reason = "Spark refuses an aggregation in append mode without a watermark."
        case.add("watermark", "not-allowed", was, now, reason)
        return
    reason = "Spark goes on from the watermark in the checkpoint: rows are dropped, and state is kept, by both rules."
    case.add("watermark", "changed-meaning", was, now, reason)


def _delays(watermarks: Sequence[tuple[str, float]]) -> str | None:
    return listed([f"{column}, {duration(delay)}" for column, delay in watermarks]) if watermarks else None


def _mode(case: Case) -> None:
    now = case.now.outputMode
    was = case.before.outputMode if case.before else None
    if now is None or was is None or was == now:
        return
    grouped = [one.name for one in case.now.operators or () if one.name in _GROUPED]
    if now == "complete" and case.now.operators is not None and not grouped:
        case.add("output-mode", "not-allowed", was, now, "Spark refuses complete mode without an aggregation.")
    elif now == "append" and grouped and not case.now.watermarks:
        reason = "Spark refuses an aggregation in append mode without a watermark."
        case.add("output-mode", "not-allowed", was, now, reason)
    elif case.now.sink == "files" and now != "append":
        case.add("output-mode", "not-allowed", was, now, "The file sink takes append mode only.")
    else:
        reason = "The state stays; what was given out under the old mode is not taken back, so old and new results mix."
        case.add("output-mode", "changed-meaning", was, now, reason)


def _trigger(case: Case) -> None:
    """Compare the mode of the trigger with the one that wrote the logs (measured on 3.5.9 and 4.3.0)."""
    now = case.now.trigger
    if now is None:
        if case.checkpoint.continuous:
            case.unseen.append("The trigger: continuous mode wrote the checkpoint, and no other trigger runs on it.")
        return
    was = case.before.trigger if case.before else None
    if case.checkpoint.continuous and now != "continuous":
        reason = "Continuous mode wrote the checkpoint: with another trigger Spark fails with a NullPointerException."
        case.add("trigger", "not-allowed", "continuous", now, reason)
    elif now == "continuous" and not case.checkpoint.continuous:
        last = case.checkpoint.lastOffset
        kinds = {one.kind for one in case.checkpoint.offsets[last].sources} if last is not None else set()
        if "rate" in kinds:
            reason = "The rate source cannot read in continuous mode the offsets that it wrote in micro-batches."
            case.add("trigger", "not-allowed", was or "micro-batches", now, reason)
            return
        reason = (
            "Continuous mode goes on from these offsets. It is at-least-once, and no other trigger runs on its"
            " checkpoint any more."
        )
        case.add("trigger", "changed-meaning", was or "micro-batches", now, reason)


def _progress(case: Case) -> None:
    """Say that logs with gaps need asynchronous progress tracking to go on."""
    options, last = case.now.options, case.checkpoint.lastOffset
    if options is None or last is None or last == 0 or case.now.trigger == "continuous":
        return
    asynchronous = dict(options).get("asyncprogresstrackingenabled", "").lower() == "true"
    if asynchronous or last - 1 in case.checkpoint.offsets:
        return
    reason = (
        f"offsets/{last - 1} is missing, as asynchronous progress tracking leaves it: without that option Spark refuses"
        " to start. Start it once with asyncProgressTrackingCheckpointIntervalMs=0 until two batches have run."
    )
    case.add("conf", "not-allowed", "asyncProgressTrackingEnabled=true", "asyncProgressTrackingEnabled=false", reason)


def _sink(case: Case) -> None:
    now, before = case.now, case.before
    if before is None or now.sink is None or before.sink is None:
        return
    if refused := unrecoverable(now, before.sink):
        case.changes.append(refused)
        return
    if now.sink != before.sink and (before.sink == "python" or "." in now.sink):
        case.unseen.append(f"The sink: the watched run calls it {before.sink}, the query {now.sink}; both may be one.")
    elif now.sink != before.sink:
        _other_sink(case, before.sink, now.sink)
    elif now.sinkPath and before.sinkPath and now.sinkPath != before.sinkPath:
        if now.sink == "kafka":
            reason = "A Kafka sink may change its topic; the new one gets only what comes from now on."
            case.add("sink", "allowed", before.sinkPath, now.sinkPath, reason)
            return
        reason = f"The new place lacks the results of the earlier batches. {GUIDE_FORBIDS}"
        case.add("sink", "silently-wrong", before.sinkPath, now.sinkPath, reason)
    elif now.sinkFormat and before.sinkFormat and now.sinkFormat != before.sinkFormat:
        reason = f"One folder with files of two formats can be read as neither. {GUIDE_FORBIDS}"
        case.add("sink", "silently-wrong", before.sinkFormat, now.sinkFormat, reason)
    elif bool(now.sinkPath) != bool(before.sinkPath):
        case.unseen.append("Where the sink writes: not known of both, the watched run and the query.")


def unrecoverable(now: Shape, was: str | None = None) -> Change | None:
    """Return that Spark refuses a sink on any checkpoint with offsets, also one that did not change."""
    if now.sink != "memory" or now.outputMode in (None, "complete"):
        return None
    return Change("sink", "not-allowed", was, "memory", _MEMORY)


def _other_sink(case: Case, was: str, now: str) -> None:
    if now == "files":
        reason = f"The files lack the results of the earlier batches. {GUIDE_FORBIDS}"
        case.add("sink", "silently-wrong", was, now, reason)
    elif (was, now) in (("kafka", "foreach"), ("foreach", "kafka")):
        case.add("sink", "allowed", was, now, "Spark's guide allows a change between Kafka and foreach.")
    else:
        reason = "The new sink gets only what comes from now on; earlier results stay in the old one."
        case.add("sink", "changed-meaning", was, now, reason)
