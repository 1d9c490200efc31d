"""Recordings: the histories of some queries, as plain data that outlives the session."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime, timezone
from typing import Any

from jupyter_streamwatch.model import checkpoint_card, events
from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.events import epoch_ms
from jupyter_streamwatch.model.history import History, HistoryView
from jupyter_streamwatch.model.progress import Progress, parse
from jupyter_streamwatch.model.queries import Queries
from jupyter_streamwatch.recordings import history_json as saving
from jupyter_streamwatch.recordings import joining
from jupyter_streamwatch.text import whole_file
from jupyter_streamwatch.text.numbers import clean, middle
from jupyter_streamwatch.text.outside import brief, kept
from jupyter_streamwatch.text.redaction import redact, redact_all

NO_ID = "00000000-0000-0000-0000-000000000000"
"""The id that records without one share."""


@dataclass(frozen=True, repr=False)
class Skipped:
    """Something that was not understood: why, in one sentence, the text (its beginning), and its line from 1 on."""

    reason: str
    text: str = ""
    line: int | None = None

    def __post_init__(self) -> None:
        """Keep what can be written."""
        object.__setattr__(self, "reason", kept(self.reason, v.TEXT))
        object.__setattr__(self, "text", kept(self.text, v.TEXT))

    __repr__ = brief


class Recording:
    """What was seen of some queries, without Spark.

    Attributes:
        queries: Their histories.
        progress: All records read, in order.
        skipped: What was not understood.
        notes: What was understood and is no progress, in sentences: an idle line, an entry of an offset log.
        environment: Versions and settings of the session; text by name.
        taken: Epoch ms when it was taken; None when unknown.
    """

    def __init__(
        self,
        histories: Iterable[HistoryView],
        progress: Iterable[Progress] = (),
        skipped: Iterable[Skipped] = (),
        environment: Mapping[str, str] | None = None,
        taken: float | str | None = None,
    ) -> None:
        """Hold histories together; ``taken`` is epoch ms or ISO text."""
        self.queries = Queries({history.id: history for history in histories})
        self.progress = list(progress)
        self.skipped = list(skipped)
        self.notes: list[str] = []
        self.environment = dict(environment or {})
        self.taken = epoch_ms(taken)

    @classmethod
    def of(cls, histories: Iterable[HistoryView], environment: Mapping[str, str]) -> Recording:
        """What is known of live histories now: the latest records of each in the order in which they came."""
        snapshots = [history.snapshot() for history in histories]
        records: list[tuple[float, Progress]] = []
        for snapshot in snapshots:
            latest = 0.0  # a clock that was set back changes no order within a query
            for p in snapshot.recent:
                latest = max(latest, p.start_ms or 0.0)
                if not p.noted:
                    records.append((latest, p))
        records.sort(key=lambda timed: timed[0])
        return cls(snapshots, [p for _, p in records], environment=environment, taken=time.time() * 1000)

    @classmethod
    def from_events(cls, events: Iterable[Mapping[str, Any]], *, skipped: Iterable[Skipped] = ()) -> Recording:
        """Build the histories from lines of a recording; kinds and keys that are not known are ignored."""
        reader = _Reader()
        missed = [*skipped]
        for number, event in enumerate(events, 1):
            try:
                reader.take(event)
            except Exception as error:  # noqa: PERF203 - a file from anywhere: each line stands for itself
                missed.append(Skipped(f"This line could not be read: {error}", str(event)[:200], number))
        missed = [*reader.skipped, *missed]
        recording = cls(reader.histories.values(), reader.progress, missed, reader.environment, reader.taken)
        recording.notes += reader.notes
        return recording

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON lines, secrets redacted; a file of that name is replaced when all is written."""
        whole_file.write(path, (line(event) + "\n" for event in self.events()))

    def diagnose(self, query: Any = None) -> Any:
        """The Diagnosis of a query; without one, of each query by id."""
        from jupyter_streamwatch.diagnosis import diagnose

        if query is not None:
            return diagnose(self.queries[query], others=self.queries.values())
        return {id: diagnose(history, others=self.queries.values()) for id, history in self.queries.items()}

    def report(self, path: str | os.PathLike[str], query: Any = None) -> Any:
        """Write a report (.html, .md or .json by suffix) and return an object that shows itself in a notebook."""
        from jupyter_streamwatch import report

        return report.write(os.fspath(path), self, query)

    @property
    def nothing(self) -> str:
        """Why there is no query in it, in a sentence; empty when there is one."""
        if self.queries:
            return ""
        reasons = list(dict.fromkeys(skipped.reason for skipped in self.skipped if skipped.reason))
        more = f" And {len(reasons) - 1} more parts were not understood." if len(reasons) > 1 else ""
        return f"{reasons[0]}{more}" if reasons else "Nothing was recorded."

    def __repr__(self) -> str:
        """Sizes only; a recording without any query says why."""
        if not self.queries:
            return f"<Recording without a query: {middle(clean(self.nothing), 500)}>"
        return f"<Recording: {len(self.queries)} queries, {len(self.progress)} records, {len(self.skipped)} skipped>"

    def events(self) -> Iterator[dict[str, Any]]:
        """Everything as the lines of a recording: who reads them has the same."""
        taken = v.iso(self.taken) if self.taken is not None else datetime.now(timezone.utc).isoformat()
        yield {"streamwatch": 1, "taken": taken, "environment": self.environment}
        for id, history in self.queries.items():
            yield {"event": "history", **saving.dump(history)}
            yield {"event": "facts", "id": id, "facts": history.facts}
            if history.checkpoint is not None:
                yield {"event": "checkpoint", "id": id, "checkpoint": history.checkpoint}
        yield from self._records()
        for skipped in self.skipped:
            yield {"event": "skipped", **asdict(skipped)}
        for note in self.notes:
            yield {"event": "note", "text": note}

    def _records(self) -> Iterator[dict[str, Any]]:
        """The records in their order, and between them those that the histories alone have, in theirs."""
        shown = {id(p) for p in self.progress}
        recent = {id: deque(history.recent) for id, history in self.queries.items()}
        for p in self.progress:
            query = p.id or NO_ID
            own = recent.get(query)
            while own and id(own[0]) not in shown:
                yield {**_known(query, own.popleft()), "shown": False}
            if own and own[0] is p:
                own.popleft()
            yield _known(query, p) if own is not None else {"event": "progress", "id": query, "progress": p}
        for query, rest in recent.items():
            yield from ({**_known(query, p), "shown": False} for p in rest if id(p) not in shown)


def _known(id: str, p: Progress) -> dict[str, Any]:
    """A record whose batch is a row of the history that was saved before it."""
    return {"event": "progress", "id": id, "known": True, "progress": p}


def line(event: Mapping[str, Any]) -> str:
    """One event as one line of a recording: JSON, secrets redacted."""
    return json.dumps(redact_all(_plain(event)), separators=(",", ":"), allow_nan=False, default=_text)


def _text(x: Any) -> str:
    """What is no plain data, as text; secrets redacted."""
    return redact(str(x))


_PARTS: Mapping[str, Callable[[Any], Any]] = {  # of events, under the name of their kind
    events.FACTS: saving.facts,
    events.TRIGGER: saving.trigger,
    events.CHECKPOINT: checkpoint_card.restored,
}


class _Reader:
    """Turns events into histories."""

    def __init__(self) -> None:
        self.histories: dict[str, History] = {}
        self.progress: list[Progress] = []
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self.environment: dict[str, str] = {}
        self.taken: float | None = None
        self._shown: set[tuple[Any, ...]] = set()
        self._looked_at = 0

    def take(self, event: Mapping[str, Any]) -> None:
        if "streamwatch" in event:
            self.taken = epoch_ms(event.get("taken"))
            self.environment.update({key: v.text(str(value)) or "" for key, value in v.items(event.get("environment"))})
        kind = event.get("event")
        if kind == "progress":
            self._progress(event)
        elif kind == "skipped":
            reason, text, line = (event.get(name) for name in ("reason", "text", "line"))
            self.skipped.append(Skipped(v.text(reason) or "", v.text(text) or "", v.count(line)))
        elif kind == "note":
            note = v.text(event.get("text"))
            if note and note not in self.notes:
                self.notes.append(note)
        elif kind == "history":
            self._restore(event)
        elif kind in (events.STARTED, events.IDLE, events.TERMINATED, events.TASKS):
            events.apply(self._history(v.text(event.get("id"), v.NAME)), event)
        elif isinstance(kind, str) and kind in _PARTS:
            part = _PARTS[kind](event.get(kind))
            events.apply(self._history(v.text(event.get("id"), v.NAME)), {**event, kind: part})

    def _restore(self, event: Mapping[str, Any]) -> None:
        before = self.histories.get(v.text(str(event["id"]), v.NAME) or "")
        history = saving.restore(event if before is None else joining.joined(saving.dump(before), event))
        for p in () if before is None else before.recent:
            if p.runId not in joining.run_ids(event):
                history.keep(p)
        self.histories[history.id] = history

    def _history(self, id: str | None) -> History:
        id = id or NO_ID
        if id not in self.histories:
            self.histories[id] = History(id)
        return self.histories[id]

    def _progress(self, event: Mapping[str, Any]) -> None:
        p = parse(event["progress"])
        history = self._history(p.id or v.text(event.get("id"), v.NAME))
        again = bool(event.get("again"))
        if not event.get("known"):
            history.remember(p)
        elif not again or _key(p) not in {_key(known) for known in history.recent}:
            history.keep(p)
        if event.get("shown", True) and not (again and self._is_shown(p)):
            self.progress.append(p)

    def _is_shown(self, p: Progress) -> bool:
        """Whether an earlier line has this record; only where a file was gone on with."""
        self._shown.update(_key(known) for known in self.progress[self._looked_at :])
        self._looked_at = len(self.progress)
        return _key(p) in self._shown


def _key(p: Progress) -> tuple[Any, ...]:
    return p.id, p.runId, p.timestamp, p.batchId, p.kind


def _plain(x: Any) -> Any:
    if isinstance(x, Progress):
        return x.to_dict()
    if is_dataclass(x) and not isinstance(x, type):
        return asdict(x)
    if isinstance(x, Mapping):
        return {str(key): _plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(part) for part in x]
    return x
