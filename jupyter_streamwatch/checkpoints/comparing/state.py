"""Stateful operators: what the checkpoint's state holds, by name, against what a query will keep."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.comparing import join as joins
from jupyter_streamwatch.checkpoints.comparing.verdicts import (
    GUIDE_FORBIDS,
    MAY_BE_NULL,
    METADATA_SINCE,
    Case,
    columns,
    listed,
    refuses_null,
    same,
)
from jupyter_streamwatch.model.query_shape import GROUPING_EXPRESSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.checkpoints.comparing.changes import Verdict, What
    from jupyter_streamwatch.checkpoints.parts import Field, StateOperator, StateStore
    from jupyter_streamwatch.model.query_shape import Column, OperatorShape, Shape, StateShape

CALLED = {
    "stateStoreSave": "aggregation",
    "sessionWindowStateStoreSaveExec": "aggregation by session windows",
    "dedupe": "dropDuplicates",
    "dedupeWithinWatermark": "dropDuplicatesWithinWatermark",
    "symmetricHashJoin": "stream-stream join",
    "globalLimit": "limit",
    "userState": "user state",
    "transformWithState": "transformWithState",
}
_FAMILIES = {
    "flatMapGroupsWithState": "userState",
    "applyInPandasWithState": "userState",
    "transformWithStateExec": "transformWithState",
    "transformWithStateInPandasExec": "transformWithState",
    "transformWithStateInPySparkExec": "transformWithState",
}
_WHAT: dict[str, What] = {
    "stateStoreSave": "aggregates",
    "sessionWindowStateStoreSaveExec": "aggregates",
    "dedupe": "dedup",
    "dedupeWithinWatermark": "dedup",
    "symmetricHashJoin": "join",
}


def family(name: str | None) -> str:
    """Return one name for operators that differ only in who wrote the function."""
    return _FAMILIES.get(name or "", name or "")


def _kind(operator: StateOperator) -> str:
    """Return the family of an operator in the state; an aggregation whose aggregates nothing reads keeps no values."""
    told = family(operator.name or operator.guess)
    keyed = any(one.key is not None and one.value == () for one in operator.stores)
    return told or ("stateStoreSave" if keyed else "")


def compare(case: Case) -> None:
    """Compare the stateful operators."""
    if case.checkpoint.lastCommit is None:
        case.unseen.append(
            "The state: no batch is committed yet, so what the checkpoint's state holds may be incomplete."
        )
        return
    stored = [one for one in case.checkpoint.operators if one.stores or one.name]
    if not all(_kind(one) for one in stored):
        case.unseen.append("The state: its files do not say which operators wrote it.")
        return
    if case.now.state is None:
        case.unseen.append("The state: Spark does not show the physical plan of the query.")
        return
    pairs = _paired(case, stored, _kept(case, stored, case.now.state))
    for old, new in pairs:
        before, now = _analyzed(case.before, old, stored), _planned(case.now, new)
        _operator(case, old, new, before, now)


def _kept(case: Case, stored: Sequence[StateOperator], planned: Sequence[StateShape]) -> Sequence[StateShape]:
    """Leave out the limit of an aggregation: Spark explains it for append mode, in complete mode it keeps no state."""
    names = [one.name for one in case.now.operators or ()]
    limited = any(one == "globalLimit" and "stateStoreSave" in names[:at] for at, one in enumerate(names))
    has = any(_kind(one) == "globalLimit" for one in stored)
    if not limited or case.now.outputMode == "append" or (has and case.now.outputMode is None):
        return planned
    return [one for one in planned if one.name != "globalLimit"]


def _paired(
    case: Case, stored: Sequence[StateOperator], planned: Sequence[StateShape]
) -> list[tuple[StateOperator, StateShape]]:
    """Pair operators of one kind in their order, and note those that came or went."""
    old = Counter(_kind(one) for one in stored)
    new = Counter(family(one.name) for one in planned)
    gone, come = old - new, new - old
    if gone or come:
        _operators_changed(case, gone, come)
    pairs: list[tuple[StateOperator, StateShape]] = []
    for kind in old:
        ours = [one for one in stored if _kind(one) == kind]
        theirs = [one for one in planned if family(one.name) == kind]
        if len(ours) == len(theirs):
            pairs += zip(ours, theirs, strict=True)
    return pairs


def _operators_changed(case: Case, gone: Counter[str], come: Counter[str]) -> None:
    verdict: Verdict = "not-allowed"
    if case.version >= METADATA_SINCE and any(one.name for one in case.checkpoint.operators):
        reason = "Spark compares the stateful operators with those that the checkpoint names, and refuses the start."
    elif come:
        reason = "Spark looks for state that the checkpoint does not hold, or holds for another operator, and fails."
    else:
        verdict = "silently-wrong"
        reason = f"Spark leaves the state of the operator that is gone behind and goes on. {GUIDE_FORBIDS}"
    was = listed([CALLED.get(kind, kind) for kind in gone.elements()]) if gone else None
    now = listed([CALLED.get(kind, kind) for kind in come.elements()]) if come else None
    case.add(_WHAT.get(next(iter(gone or come)), "state-schema"), verdict, was, now, reason)


def _operator(
    case: Case, old: StateOperator, new: StateShape, before: OperatorShape | None, now: OperatorShape | None
) -> None:
    kind = family(new.name)
    store = _store(old, "default")
    if kind == "symmetricHashJoin":
        joins.compare(case, old, new, before, now)
    elif kind in ("stateStoreSave", "sessionWindowStateStoreSaveExec"):
        _keys(case, "grouping-keys", store, new, before, now)
        _aggregates(case, store, new, before, now)
    elif kind in ("dedupe", "dedupeWithinWatermark"):
        _keys(case, "dedup", store, new, before, now)
    elif kind == "userState":
        _keys(case, "grouping-keys", store, new, before, now)
        _user_state(case, store, new, before, now)
    elif kind == "transformWithState":
        _transform(case, old, before, now)
    elif kind == "globalLimit" and before and now and before.stateSchema != now.stateSchema:
        reason = "Spark goes on counting from the rows that were let through before."
        case.add("state-schema", "changed-meaning", before.stateSchema, now.stateSchema, reason)


def _keys(  # noqa: PLR0917 - the two sides of a comparison, each twice
    case: Case,
    what: What,
    store: StateStore | None,
    new: StateShape,
    before: OperatorShape | None,
    now: OperatorShape | None,
) -> None:
    """Compare keys with the state by name, and with the last watched run by what the names stand for."""
    if store is None or store.key is None or new.key is None:
        case.unseen.append(f"The {_keys_of(what)}: the state's schema or Spark's plan does not name them.")
    elif not same(store.key, new.key):
        verdict, reason = columns(store.key, _with_types(new.key, now, case.now.output), case.checkpoint.conf)
        was, shown = (
            _names([one.name for one in side], operator) for side, operator in ((store.key, before), (new.key, now))
        )
        if was == shown:
            was, shown = [_typed(one) for one in store.key], [_typed(one) for one in new.key]
        case.add(what, verdict, listed(was), listed(shown), f"{reason} A new checkpoint starts without the old state.")
        return
    if before is None or now is None or not case.texts:
        if what == "grouping-keys" and now and any("(" in (key.origin or "") for key in now.keys):
            case.unseen.append(
                "What grouping keys are computed from (a window's length, an expression): it is not in the state."
            )
        return
    was, shown = [key.origin or key.name for key in before.keys], [key.origin or key.name for key in now.keys]
    if was != shown and None not in (*was, *shown):
        verdict = "silently-wrong"
        reason = f"The state keeps the old keys under the same names and types. {GUIDE_FORBIDS}"
        if store and store.key and new.key and refuses_null(store.key, new.key, case.checkpoint.conf):
            verdict, reason = "not-allowed", MAY_BE_NULL
        case.add(what, verdict, listed(was), listed(shown), reason)


def _names(names: Sequence[str], operator: OperatorShape | None) -> list[str]:
    """Name the keys; a grouping expression, which has no name in state and plan, by its text where that is known."""
    keys = operator.keys if operator and len(operator.keys) == len(names) else ()
    texts = [key.origin for key in keys] or [None] * len(names)
    return [(text if name == GROUPING_EXPRESSION else None) or name for name, text in zip(names, texts, strict=True)]


def _with_types(
    key: Sequence[Column], now: OperatorShape | None, output: Sequence[Column] | None
) -> tuple[Column, ...]:
    """Give a grouping expression the type of the output column that is made of it."""
    types = {one.origin: one for one in output or () if one.origin and one.type}
    made = []
    for at, one in enumerate(key):
        origin = now.keys[at].origin if now and len(now.keys) == len(key) else None
        told = types.get(origin) if origin and one.name == GROUPING_EXPRESSION else None
        made.append(replace(one, type=told.type, nullable=told.nullable) if told else one)
    return tuple(made)


def _keys_of(what: What) -> str:
    return "columns of the deduplication" if what == "dedup" else "grouping keys"


def _typed(one: object) -> str:
    return f"{getattr(one, 'name', '')} {getattr(one, 'type', None) or ''}".strip()


def _aggregates(
    case: Case, store: StateStore | None, new: StateShape, before: OperatorShape | None, now: OperatorShape | None
) -> None:
    stored = _buffers(store, case)
    verdict: Verdict
    was = listed(before.aggregates) if before else listed([one.name for one in stored or ()])
    shown = listed(now.aggregates) if now else listed([one.name for one in new.value or ()])
    if stored is not None and new.value is not None:
        if not same(stored, new.value):
            verdict, reason = columns(stored, new.value, case.checkpoint.conf)
            case.add("aggregates", verdict, was, shown, reason)
            return
    elif before is None:
        case.unseen.append("The aggregates: the state's schema or Spark's plan does not name their buffers.")
    if before is None or now is None or not case.texts:
        if now and any(one.argument not in ("1", "") for one in now.aggregates):
            case.unseen.append("The arguments of aggregates: the state names functions only.")
        return
    old = [(one.function, one.argument) for one in before.aggregates]
    if old != [(one.function, one.argument) for one in now.aggregates]:
        verdict = "unknown"
        reason = "Spark compares the types of what the aggregates keep, and they are not known of both."
        if stored is not None and new.value is not None:
            verdict = "silently-wrong"
            reason = f"The state of the old aggregates has the same types, and is read as the new's. {GUIDE_FORBIDS}"
        case.add("aggregates", verdict, was, shown, reason)


def _buffers(store: StateStore | None, case: Case) -> Sequence[Field] | None:
    """Return the buffers in a value: all of it but for format 1, which repeats the key, and for session windows."""
    if store is None or store.value is None or store.key is None:
        return None
    if [one.name for one in store.key][-1:] == ["sessionStartTime"]:
        return None
    if case.checkpoint.conf.get("spark.sql.streaming.aggregation.stateFormatVersion") == "1":
        return store.value[len(store.key) :]
    return store.value


def _user_state(
    case: Case, store: StateStore | None, new: StateShape, before: OperatorShape | None, now: OperatorShape | None
) -> None:
    if store is None or store.value is None:
        case.unseen.append("The schema of the user state: the state's schema does not say it.")
        return
    kept = {one.name: one for one in store.value}
    state = kept.get("groupState")
    if state is not None and new.value is not None:
        written = f"struct<{','.join(f'{one.name}:{one.type}' for one in new.value)}>"
        if state.type != written:
            plain = [part.partition(":")[2] for part in state.type.removeprefix("struct<").removesuffix(">").split(",")]
            renamed = plain == [one.type for one in new.value]
            verdict: Verdict = "silently-wrong" if renamed else "not-allowed"
            reason = GUIDE_FORBIDS if renamed else "Spark refuses a state of another schema."
            case.add("state-schema", verdict, state.type, written, reason)
    if new.timeout is not None and ("timeoutTimestamp" in kept) != new.timeout:
        was, shown = ("a time-out", "no time-out")[:: 1 if "timeoutTimestamp" in kept else -1]
        case.add("state-schema", "not-allowed", was, shown, "The time-out is a column of the state: Spark refuses it.")
    elif before and now and before.condition != now.condition:
        case.add("state-schema", "silently-wrong", before.condition, now.condition, GUIDE_FORBIDS)
    elif before is None and new.timeout:
        case.unseen.append("The kind of time-out of the user state: the state says only that there is one.")


def _transform(case: Case, old: StateOperator, before: OperatorShape | None, now: OperatorShape | None) -> None:
    case.unseen.append(
        "The variables of transformWithState: the function declares them when it runs; Spark checks them."
    )
    was = before.condition if before else None
    if was is None and old.properties:
        told = {str(key).lower(): str(value) for key, value in old.properties.items()}
        was = ", ".join(told[key] for key in ("outputmode", "timemode") if key in told) or None
    if was and now and now.condition and was != now.condition:
        reason = "The checkpoint keeps output mode and time mode of the operator, and Spark refuses others."
        case.add("state-schema", "not-allowed", was, now.condition, reason)


def _store(operator: StateOperator, name: str) -> StateStore | None:
    found = [one for one in operator.stores if one.name == name]
    return found[0] if found else operator.stores[0] if len(operator.stores) == 1 else None


def _planned(now: Shape, new: StateShape) -> OperatorShape | None:
    """Return the operator of the analyzed plan that keeps this state; state is numbered from the sink on."""
    return _counted(
        now.operators,
        family(new.name),
        [one for one in now.state or () if family(one.name) == family(new.name)].index(new),
    )


def _analyzed(before: Shape | None, old: StateOperator, stored: Sequence[StateOperator]) -> OperatorShape | None:
    if before is None:
        return None
    kind = _kind(old)
    return _counted(before.operators, kind, [one for one in stored if _kind(one) == kind].index(old))


def _counted(operators: Sequence[OperatorShape] | None, kind: str, at: int) -> OperatorShape | None:
    alike = [one for one in operators or () if family(one.name) == kind]
    return alike[::-1][at] if at < len(alike) else None
