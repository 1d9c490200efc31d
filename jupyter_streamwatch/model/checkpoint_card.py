"""What a view shows of the checkpoint of a watched query, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.fitting import fitting
from jupyter_streamwatch.text.outside import brief


@dataclass(frozen=True, repr=False)
class Pinned:
    """A setting whose value the checkpoint keeps, and which the session has another value for: the checkpoint wins."""

    name: str
    checkpoint: str
    session: str

    __repr__ = brief


@dataclass(frozen=True, repr=False)
class Card:
    """A checkpoint at one moment; None is unknown.

    Attributes:
        at: Epoch ms when it was read.
        runId: The run that it was read for.
        path: Where it is.
        temporary: Whether Spark made it itself and deletes it.
        why: Why nothing more is known, as a sentence; None when it was read.
        bytes: Size of all its files.
        lastOffset: The newest batch that was planned.
        plannedMs: When that was, epoch ms.
        lastCommit: The newest batch that is done.
        nextBatch: The batch that a restart runs first.
        replay: Whether a restart runs a batch again that was planned before.
        restart: What a restart does, in one or two sentences.
        unwritten: Why a file sink does not write batches that are committed, as a sentence.
        sinkSafe: Whether the result stays exactly-once when a batch is run again: ``yes``, ``no``, ``depends``.
        code_fix: Code to paste that makes a repeated batch harmless.
        pinned: Settings in which the session differs, and the checkpoint wins.
        firstBatch: The first batch that the run had to do.
        firstPlannedMs: When that batch was planned, epoch ms: before the run's start, if the run repeated it.
        problems: What of the checkpoint could not be read, as sentences.
    """

    at: float = 0.0
    runId: str | None = None
    path: str | None = None
    temporary: bool | None = None
    why: str | None = None
    bytes: int | None = None
    lastOffset: int | None = None
    plannedMs: float | None = None
    lastCommit: int | None = None
    nextBatch: int | None = None
    replay: bool | None = None
    restart: tuple[str, ...] = ()
    unwritten: str | None = None
    sinkSafe: str | None = None
    code_fix: str | None = None
    pinned: tuple[Pinned, ...] = ()
    firstBatch: int | None = None
    firstPlannedMs: float | None = None
    problems: tuple[str, ...] = ()

    __repr__ = brief


def again(card: Card, before: Card | None) -> Card:
    """``card`` with what an earlier reading knew and this one did not look at, or could not read any more."""
    if before is None or before.path != card.path:
        return card
    if card.why is not None and before.why is None:
        return before
    if card.bytes is None:
        card = replace(card, bytes=before.bytes)
    if card.firstBatch is None and card.runId == before.runId:
        card = replace(card, firstBatch=before.firstBatch, firstPlannedMs=before.firstPlannedMs)
    return card


def restored(data: Any) -> Card | None:
    """The card that ``dataclasses.asdict`` made ``data`` of; unknown keys are ignored, None when it is none."""
    if data is None or isinstance(data, Card):
        return data
    given = fitting(Card, data)
    pinned = tuple(
        Pinned(*(v.text(one.get(part)) or "" for part in ("name", "checkpoint", "session")))
        for one in v.mappings(given.pop("pinned", None))
    )
    return Card(**given, pinned=pinned)
