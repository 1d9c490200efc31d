"""A stream-stream join: keys, kept columns, type and condition."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.comparing.verdicts import (
    ALWAYS_NULLABLE,
    GUIDE_FORBIDS,
    Case,
    columns,
    listed,
    same,
)
from jupyter_streamwatch.model.query_shape import Column
from jupyter_streamwatch.spark.plans.expressions import comparable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_streamwatch.checkpoints.comparing.changes import Verdict
    from jupyter_streamwatch.checkpoints.parts import Field, StateOperator, StateStore
    from jupyter_streamwatch.model.query_shape import OperatorShape, StateShape

_EQUAL = re.compile(r"^\((?P<left>.+?) (?:=|<=>) (?P<right>.+)\)$", re.DOTALL)
_COLUMN = re.compile(r"\binput\d+\.(\w+)")
_INPUT = re.compile(r"\binput(\d+)\.")
_KEPT = {"LeftOuter": ("left",), "RightOuter": ("right",), "FullOuter": ("left", "right")}
# Sides whose rows come out also without a match; the key columns of the others are never null in the state.


def compare(
    case: Case, old: StateOperator, new: StateShape, before: OperatorShape | None, now: OperatorShape | None
) -> None:
    """Compare a join of the query with the one in the state and the one of the last watched run."""
    stores = {one.name: one for one in old.stores}
    keys = stores.get("left-keyToNumValues")
    type_now = now.joinType if now else None
    changed = bool(before and before.joinType and type_now and before.joinType != type_now)
    if keys is not None and keys.key is not None and new.key is not None:
        # The state numbers the keys; they have no names there.
        named = [Column(one.name, col.type, col.nullable) for one, col in zip(keys.key, new.key, strict=False)]
        named += [Column(col.name, col.type, col.nullable) for col in new.key[len(keys.key) :]]
        if not same(keys.key, named):
            verdict, reason = columns(keys.key, named, case.checkpoint.conf)
            types = listed([one.type for one in keys.key])
            case.add("join", verdict, f"keys of type {types}", listed([one.name for one in new.key]), reason)
            return
    if _swapped(case, stores, new):
        return
    refused = False
    for side, kept in (("left", new.value), ("right", new.right)):
        stored = _kept_columns(stores.get(f"{side}-keyWithIndexToValue"))
        if stored is not None and kept is not None and not same(stored, kept):
            verdict, reason = columns(stored, kept, case.checkpoint.conf)
            was, shown = listed([one.name for one in stored]), listed([one.name for one in kept])
            case.add("join", verdict, f"keeps {was} of the {side} side", f"keeps {shown}", reason)
            refused = refused or verdict == "not-allowed"
    if changed and before and not refused:
        verdict, reason = _type(case, old, type_now or "")
        case.add("join", verdict, before.joinType, type_now, reason)
    if before is None or now is None or not case.texts:
        case.unseen.append("The type and the condition of the stream-stream join: they are not in the state.")
    elif not refused and comparable(before.condition or "") != comparable(now.condition or ""):
        _condition(case, old, before, now)


def _swapped(case: Case, stores: Mapping[str, StateStore], new: StateShape) -> bool:
    """Say once that the sides of a join changed places, which its sources and both of its states would say."""
    kept = {side: _kept_columns(stores.get(f"{side}-keyWithIndexToValue")) for side in ("left", "right")}
    left, right = kept["left"], kept["right"]
    if left is None or right is None or new.value is None or new.right is None or same(left, new.value):
        return False
    if not (same(left, new.right) and same(right, new.value)):
        return False
    moved = [one for one in case.changes if one.what == "sources" and one.verdict != "allowed"]
    verdict, reason = columns(left, new.value, case.checkpoint.conf)
    refused = next((one for one in moved if one.verdict == "not-allowed"), None)
    if refused is not None and verdict != "not-allowed":
        verdict, reason = refused.verdict, refused.reason
    case.changes = [one for one in case.changes if one not in moved]
    was, now = (listed([one.name for one in side]) for side in (left, new.value))
    reason = f"The sides of the join changed places: offsets and state belong to sides by their order. {reason}"
    case.add("join", verdict, f"left side {was}", f"left side {now}", reason)
    return True


def _kept_columns(store: StateStore | None) -> list[Field] | None:
    return [one for one in store.value if one.name != "matched"] if store and store.value else None


def _type(case: Case, old: StateOperator, kind: str) -> tuple[Verdict, str]:
    """Judge a changed type: Spark sees it only where a side's columns, never null before, may be now."""
    for side in _KEPT.get(kind, ()):
        stored = _value(old, side)
        if not _all_nullable(case) and any(one.nullable is False for one in stored):
            return "not-allowed", "Columns in the join's state that are never null may be now: Spark refuses them."
    return "silently-wrong", f"The rows in the state were kept for the old type of join. {GUIDE_FORBIDS}"


def _value(old: StateOperator, side: str) -> Sequence[Field]:
    return next((one.value or () for one in old.stores if one.name == f"{side}-keyWithIndexToValue"), ())


def _condition(case: Case, old: StateOperator, before: OperatorShape, now: OperatorShape) -> None:
    was, shown = _keys(before.condition), _keys(now.condition)
    if was == shown:
        reason = "Rows in the state were kept for the old condition; the guide calls such changes ill-defined."
        case.add("join", "changed-meaning", before.condition, now.condition, reason)
        return
    gone = set(_COLUMN.findall(" ".join(was - shown)))
    never_null = {one.name for side in ("left", "right") for one in _value(old, side) if one.nullable is False}
    verdict: Verdict = "silently-wrong"
    reason = f"The state is kept by the old join keys, which have the same types. {GUIDE_FORBIDS}"
    if not _all_nullable(case) and gone & never_null:
        verdict, reason = "not-allowed", "The old keys, never null in the join's state, may be now: Spark refuses them."
    case.add("join", verdict, listed(sorted(was)), listed(sorted(shown)), reason)


def _all_nullable(case: Case) -> bool:
    return str(case.checkpoint.conf.get(ALWAYS_NULLABLE, "")).lower() == "true"


def _keys(condition: str | None) -> set[str]:
    """Return the equalities between the two sides."""
    found = set()
    for part in comparable(condition or ""):
        match = _EQUAL.match(part)
        if match and _inputs(match["left"]).isdisjoint(_inputs(match["right"])):
            found.add(part)
    return found


def _inputs(text: str) -> set[str]:
    return set(_INPUT.findall(text))
