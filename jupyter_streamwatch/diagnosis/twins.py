"""Queries that were started twice: the same cell run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.model.runs import goes_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.model.history import HistoryView


def twins(history: HistoryView, others: Iterable[HistoryView]) -> tuple[HistoryView, ...]:
    """Return the active queries that look like this one: run from the same cell, as far as can be known."""
    mine = _signature(history)
    if mine is None:
        return ()
    return tuple(one for one in others if one.id != history.id and _signature(one) == mine)


def _signature(history: HistoryView) -> tuple[object, ...] | None:
    """Return what two runs of one cell share; None when the query is not active or too little is known."""
    facts = history.facts
    if history.name or not facts.temporaryCheckpoint or not facts.sources or not facts.sink:
        return None
    if not goes_on(history.runs) or facts.stateful is None or facts.outputMode is None:
        return None
    plan = (facts.stateful, facts.watermarks, facts.trigger, facts.pythonUdf)
    return facts.sources, facts.sink, facts.outputMode, plan
