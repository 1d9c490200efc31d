"""The checkpoint of a query in words: where it is, how far it is, and what a restart would do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_streamwatch.model.runs import goes_on
from jupyter_streamwatch.text.numbers import UNKNOWN, clean, clock, exact, middle, size, when
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.model.checkpoint_card import Card, Pinned
    from jupyter_streamwatch.model.history import HistoryView

PATH_LENGTH = 80  # characters of a path in a row; the whole one is in its tip
VALUE_LENGTH = 60  # of a setting's value

_SAFE = {
    "yes": ("exactly once", "The sink keeps what it has got of a batch: one that is run again changes nothing."),
    "no": ("not exactly once", "The sink gets rows a second time, or keeps nothing over a restart."),
    "depends": ("as its function does", "What a repeated batch does is up to the function that writes it."),
}

_CLASS = re.compile(r"^(?:[a-z]\w*\.){2,}(?=[A-Z]\w*$)")

_TODAY = 12 * 3_600_000  # ms; within half a day a time of day is clear
_UNCOUNTED = (
    "More files than are counted in passing: sw.checkpoint(path) or jupyter streamwatch checkpoint counts them."
)

Row = tuple[str, str, "str | None"]


@dataclass(frozen=True)
class Sheet:
    """What is shown: one line for the fold, sentences, rows as of a fact sheet, pinned settings, code to paste.

    ``pinned`` are (setting, value of the checkpoint, value of the session, tip or None); the checkpoint's holds.
    """

    summary: str
    restart: tuple[str, ...]
    rows: tuple[Row, ...]
    pinned: tuple[tuple[str, str, str, str | None], ...]
    code: str | None


def sheet(history: HistoryView) -> Sheet | None:
    """Return what is known of a query's checkpoint; None when it was not looked at."""
    card = history.checkpoint
    if card is None:
        return None
    rows: list[Row] = [_where(card)]
    if card.why is None:
        rows.append(("Size", size(card.bytes), _UNCOUNTED if card.bytes is None else f"{exact(card.bytes)} bytes"))
        done = _done_since(history, card)
        if done is None:
            rows.append(_planned(card))
        rows.append(("Last commit", _batch(card.lastCommit if done is None else done), None))
        rows.extend(_repeated(history, card))
        if card.sinkSafe in _SAFE and card.unwritten is None:
            text, tip = _SAFE[card.sinkSafe]
            rows.append(("When run again", text, tip))
        rows.append(("Read", when(card.at), None))
    rows.extend(("Not readable", _text(problem), None) for problem in card.problems)
    return Sheet(
        summary=_summary(history, card),
        restart=_restart(history, card),
        rows=tuple(rows),
        pinned=tuple(_setting(one) for one in card.pinned),
        code=redact(card.code_fix) if card.code_fix else None,
    )


def _restart(history: HistoryView, card: Card) -> tuple[str, ...]:
    """Return the sentences: that rows are not written stands first, and stays when batches were done since."""
    first = () if card.unwritten is None else (card.unwritten,)
    plan = card.restart if _done_since(history, card) is None else ()
    return tuple(dict.fromkeys(_text(sentence) for sentence in (*first, *plan)))


def _summary(history: HistoryView, card: Card) -> str:
    if card.why is not None:
        return _text(card.why)
    if card.nextBatch is None:
        return UNKNOWN
    if card.unwritten is not None:
        return "rows are committed and not written: the sink's folder has these batches already"
    done = _done_since(history, card)
    if done is not None:
        return f"a restart goes on after batch {done}"
    if not card.replay:
        again = ", and rows may come again" if card.replay is None else ""
        return f"a restart goes on with batch {card.nextBatch}{again}"
    under_way = "under way" if goes_on(history.runs) else "not done"
    return f"batch {card.nextBatch} is {under_way}: a restart runs it again"


def _done_since(history: HistoryView, card: Card) -> int | None:
    """Return the last batch of an active run that was done after the checkpoint was read; None when none was.

    What was read of the batch that came next holds no more then: a batch has its progress after its commit.
    """
    last = history.last.batchId if history.last is not None else None
    if last is None or card.nextBatch is None or last < card.nextBatch or not goes_on(history.runs):
        return None
    return last


def _where(card: Card) -> Row:
    if card.path is None:
        return "Where", UNKNOWN, None if card.why is None else _text(card.why)
    whole = _text(card.path)
    short = middle(whole, PATH_LENGTH)
    return "Where", short, whole if short != whole else None


def _planned(card: Card) -> Row:
    if card.lastOffset is None:
        return "Last offsets", "none", "No batch has been planned on this checkpoint."
    at = "" if card.plannedMs is None else f", planned {_time(card.plannedMs, card.at)}"
    return "Last offsets", f"batch {card.lastOffset}{at}", None if card.plannedMs is None else when(card.plannedMs)


def _repeated(history: HistoryView, card: Card) -> list[Row]:
    """Say which batch the run had to do again: it was planned before the run began."""
    run = history.runs[-1] if history.runs else None
    if run is None or run.started is None or card.firstPlannedMs is None or card.firstPlannedMs >= run.started:
        return []
    text = f"batch {card.firstBatch}, planned {_time(card.firstPlannedMs, card.at)} by the run before"
    return [("Run again", text, f"Planned {when(card.firstPlannedMs)}; this run began {when(run.started)}.")]


def _setting(one: Pinned) -> tuple[str, str, str, str | None]:
    """A setting; of a class its own name, without the packages."""
    kept, session = (_value(value) for value in (one.checkpoint, one.session))
    shortened = (kept, session) != (one.checkpoint, one.session)
    tip = f"{_text(one.checkpoint)} in the checkpoint, {_text(one.session)} in the session"
    return _text(one.name), kept, session, tip if shortened else None


def _time(ms: float, now: float) -> str:
    """A time of day, with the date where that is not clear."""
    return clock(ms) if abs(now - ms) < _TODAY else when(ms)


def _batch(id: int | None) -> str:
    return "none" if id is None else f"batch {id}"


def _text(text: str) -> str:
    return redact(clean(text))


def _value(text: str) -> str:
    whole = _text(text)
    return middle(_CLASS.sub("", whole), VALUE_LENGTH)
