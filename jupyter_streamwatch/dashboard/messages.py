"""What a dashboard sends to its pages and when: numbered, throttled, and only while somebody looks.

A page that attaches gets a snapshot; after it come deltas, each numbered one more than the last. A page drops what
it has and asks for a snapshot when a number is missing, so a reload, a second view or a lost message can neither
lose nor double a row. What was not sent is folded into the next message: nothing is queued.
"""

from __future__ import annotations

import threading
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch import charts
from jupyter_streamwatch.summary.line import lines
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Protocol

    from jupyter_streamwatch.model.history import HistoryView
    from jupyter_streamwatch.report.static import Static
    from jupyter_streamwatch.summary.note import SessionLike

    class Source(Protocol):
        """What is shown: a watch."""

        @property
        def session(self) -> SessionLike:
            """How the session is."""

        def histories(self) -> Sequence[HistoryView]:
            """The live histories."""

    class Watched(Source, Protocol):
        """What a dashboard needs of a watch, or of a part of one."""

        @property
        def queries(self) -> Mapping[Any, HistoryView]:
            """The histories by id; ``[key]`` takes a name or a query object, too."""

        @property
        def left(self) -> Static | None:
            """What was known when watching was stopped; None while it goes on."""

        def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
            """Call ``callback()`` after something changed; returns a function that ends it."""

        def shown(self, visible: bool) -> None:
            """One view more or less is visible."""


EXTRA_ROWS = 200  # rows that a page may hold beyond a fresh cut; then all rows are cut and sent anew
TAIL = 8  # rows that are looked at again: the numbers of a batch's tasks arrive after the batch
Message = dict[str, Any]


class Delivery:
    """The picture as the pages have it, and the step from there to now. Thread-safe; sends nothing itself."""

    def __init__(self, source: Source, query: str | None = None, now: Callable[[], float] = time.time) -> None:
        """Show ``source``; ``query`` is the id of the query whose charts are shown, None for the worst."""
        self._source = source
        self._now = now
        self._lock = threading.RLock()
        self._chosen = query
        self._selected: str | None = query
        self._n = 0
        self._broken = False
        self._session: Message = {}
        self._lines: dict[str, Message] = {}
        self._key: str | None = None
        self._version = 0
        self._seen = 0
        self._rows = 0
        self._tail: dict[tuple[Any, Any], tuple[Any, ...]] = {}
        self._marks: Message = {}
        self._embedded: tuple[str, Message] | None = None

    @property
    def n(self) -> int:
        """Number of the last message."""
        return self._n

    @property
    def selected(self) -> str | None:
        """Id of the query whose charts are shown."""
        return self._selected

    def select(self, id: str) -> bool:
        """Show the charts of another query; False when there is none with this id."""
        with self._lock:
            if all(history.id != id for history in self._source.histories()):
                return False
            self._chosen = id
            return True

    def snapshot(self) -> Message:
        """Return the whole picture as of now, as the pages will have it after this number."""
        with self._lock:
            histories = {history.id: history.snapshot() for history in self._source.histories()}
            self._n += 1
            self._broken = True
            self._session = self._session_now()
            self._lines = self._lines_now(histories.values())
            self._select()
            history = histories.get(self._selected or "")
            embedded, data = self._charts_of(history) if history is not None else (None, None)
            self._broken = False
            return {
                "n": self._n,
                "taken": self._taken(),
                "session": self._session,
                "lines": list(self._lines.values()),
                "selected": self._selected,
                "charts": embedded,
                "data": data,
            }

    def step(self) -> Message | None:
        """Return what changed since the last message, None when nothing did; a snapshot where a delta cannot tell."""
        with self._lock:
            if self._broken:
                return {"type": "snapshot", **self.snapshot()}
            self._broken = True  # until this step is done: half a step must not be the base of the next
            message = self._step()
            self._broken = False
            return message

    def _step(self) -> Message | None:
        histories = {history.id: history.snapshot() for history in self._source.histories()}
        message: Message = {}
        self._step_lines(histories.values(), message)
        before = self._selected
        self._select()
        history = histories.get(self._selected or "")
        changed = history is not None and history.version != self._version
        if before != self._selected or (history is not None and changed and self._key != _key(history)):
            return {"type": "snapshot", **self.snapshot()}
        if history is not None and changed and self._key is not None:
            self._step_rows(history, message)
        session = self._session_now()
        if session != self._session:
            self._session = message["session"] = session
        if not message:
            return None
        self._n += 1
        return {"type": "delta", "n": self._n, "taken": self._taken(), **message}

    def _step_lines(self, histories: Iterable[HistoryView], message: Message) -> None:
        lines = self._lines_now(histories)
        changed = [line for id, line in lines.items() if self._lines.get(id) != line]
        if changed:
            message["lines"] = changed
        if list(lines) != list(self._lines):
            message["order"] = list(lines)
        self._lines = lines

    def _step_rows(self, history: HistoryView, message: Message) -> None:
        self._version = history.version
        new = history.seen - self._seen
        after = charts.rows_after(history, history.seen - max(new, TAIL)) if new <= EXTRA_ROWS else None
        if after is None or self._rows + new > charts.MAX_ROWS + EXTRA_ROWS:
            message["data"] = self._all_rows(history)
            return
        rows = after["batches"]
        tail = _by_batch(rows)
        fresh = [at for at, (batch, values) in enumerate(tail.items()) if self._tail.get(batch) != values]
        if fresh:
            message["rows"] = {name: [column[at] for at in fresh] for name, column in rows.items()}
        if after["marks"] != self._marks:
            self._marks = message["marks"] = after["marks"]
        self._rows += new
        self._seen = history.seen
        self._tail = tail

    def _charts_of(self, history: HistoryView) -> tuple[Message | None, Message | None]:
        key = _key(history)
        self._key = key
        if key is None:
            return None, None
        if self._embedded is None or self._embedded[0] != key:
            self._embedded = (key, charts.embed(charts.build(history)))
        return self._embedded[1], self._all_rows(history)

    def _all_rows(self, history: HistoryView) -> Message:
        data = charts.data(history)
        self._version = history.version
        self._seen = history.seen
        self._rows = len(data["batches"].get("batchId", ()))
        self._marks = data["marks"]
        self._tail = _by_batch({name: column[-TAIL - 1 :] for name, column in data["batches"].items()})
        return data

    def _select(self) -> None:
        """Keep what was chosen; else the query that was shown, as long as it runs; else the first line."""
        if self._chosen in self._lines:
            self._selected = self._chosen
            return
        shown = self._lines.get(self._selected or "")
        first = next(iter(self._lines.values()), None)
        if shown is None or (shown["ended"] and first is not None and not first["ended"]):
            self._selected = first["id"] if first else None

    def _lines_now(self, histories: Iterable[HistoryView]) -> dict[str, Message]:
        made = lines(histories, self._source.session, self._now() * 1000)
        return {line.id: line.to_dict() for line in made}

    def _session_now(self) -> Message:
        session = self._source.session
        return {"state": session.state, "text": redact(session.text)}

    def _taken(self) -> str:
        return datetime.fromtimestamp(self._now(), timezone.utc).isoformat(timespec="milliseconds")


def _key(history: HistoryView) -> str | None:
    """Return the identity of a query's charts, None while it has no batch."""
    return charts.key(history) if history.batches.rows else None


def _by_batch(rows: dict[str, list[Any]]) -> dict[tuple[Any, Any], tuple[Any, ...]]:
    """Return each row's values by run and batch."""
    values = zip(*rows.values(), strict=True) if rows else ()
    return dict(zip(zip(rows.get("runId", ()), rows.get("batchId", ()), strict=True), values, strict=True))
