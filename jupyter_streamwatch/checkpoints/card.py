"""Makes the card of a checkpoint: of what it holds, and of the facts of its query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.model.checkpoint_card import Card, Pinned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_streamwatch.checkpoints.parts import OffsetEntry, RestartPlan
    from jupyter_streamwatch.model.facts import Facts

SENTENCES = 2  # of the restart plan; the whole plan is a call away


def unread(facts: Facts, at: float, why: str | None = None) -> Card:
    """The card of a checkpoint that is not read: a temporary one, one that Spark does not name, or one out of reach."""
    if facts.temporaryCheckpoint:
        why = "Temporary: Spark deletes it when the query stops, and a restart starts from nothing."
    elif facts.checkpoint is None:
        why = facts.why.get("checkpoint") or "Spark does not tell where the checkpoint is."
    return Card(at=at, path=facts.checkpoint, temporary=facts.temporaryCheckpoint, why=why)


def of(
    facts: Facts,
    at: float,
    *,
    last: OffsetEntry | None,
    lastCommit: int | None,
    plan: RestartPlan,
    bytes: int | None,
    first: OffsetEntry | None = None,
    session: Mapping[str, str] | None = None,
    problems: tuple[str, ...] = (),
) -> Card:
    """Make the card.

    Args:
        facts: Of the query's latest run.
        at: Epoch ms of the reading.
        last: Newest entry of the offset log.
        lastCommit: Newest entry of the commit log.
        plan: What a restart does.
        bytes: Size of the checkpoint.
        first: Entry of the first batch that the run had to do, when it is still there.
        session: The session's values of the settings that the checkpoint keeps.
        problems: What could not be read.
    """
    return Card(
        at=at,
        path=facts.checkpoint,
        temporary=facts.temporaryCheckpoint,
        bytes=bytes,
        lastOffset=last.batchId if last is not None else None,
        plannedMs=last.timestampMs if last is not None else None,
        lastCommit=lastCommit,
        nextBatch=plan.batchId,
        replay=plan.replay,
        restart=plan.sentences[:SENTENCES],
        unwritten=plan.unwritten,
        sinkSafe=plan.sinkSafe,
        code_fix=plan.code_fix,
        pinned=differing(last.conf if last is not None else {}, session or {}),
        firstBatch=first.batchId if first is not None else None,
        firstPlannedMs=first.timestampMs if first is not None else None,
        problems=problems,
    )


def differing(kept: Mapping[str, str], session: Mapping[str, str]) -> tuple[Pinned, ...]:
    """The settings of a checkpoint that the session has other values for, as far as they are known."""
    found = (Pinned(name, str(value), str(session[name])) for name, value in sorted(kept.items()) if name in session)
    return tuple(one for one in found if one.checkpoint.lower() != one.session.lower())
