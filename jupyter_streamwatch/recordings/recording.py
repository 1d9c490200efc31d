"""Recordings: the histories of some queries, as plain data that outlives the session."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jupyter_streamwatch.model import checkpoint_card, events
from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.events import epoch_ms
from jupyter_streamwatch.model.history import History, HistoryView
from jupyter_streamwatch.model.progress import Progress, parse
from jupyter_streamwatch.model.queries import Queries
from jupyter_streamwatch.recordings import history_json as saving
from jupyter_streamwatch.text.redaction import redact, redact_all

NO_ID = "00000000-0000-0000-0000-000000000000"
"""The id that records without one share."""


@dataclass(frozen=True)
class Skipped:
    """Something that was not understood: why, in one sentence, the text (its beginning), and its line from 1 on."""

    reason: str
    text: str = ""
    line: int | None = None

    def __post_init__(self) -> None:
        """Keep what can be written."""
        object.__setattr__(self, "reason", v.encodable(self.reason))
        object.__setattr__(self, "text", v.encodable(self.text))


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
        path = Path(path)
        unfinished = path.with_name(path.name + ".part")
        with unfinished.open("w", encoding="utf-8") as file:
            file.writelines(line(event) + "\n" for event in self._events())
        unfinished.replace(path)

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
            return f"<Recording without a query: {self.nothing}>"
        return f"<Recording: {len(self.queries)} queries, {len(self.progress)} records, {len(self.skipped)} skipped>"

    def _events(self) -> Iterator[dict[str, Any]]:
        taken = v.iso(self.taken) if self.taken is not None else datetime.now(timezone.utc).isoformat()
        yield {"streamwatch": 1, "taken": taken, "environment": self.environment}
        known = {_key(p) for p in self.progress}
        for id, history in self.queries.items():
            yield {"event": "history", **saving.dump(history)}
            yield {"event": "facts", "id": id, "facts": history.facts}
            if history.checkpoint is not None:
                yield {"event": "checkpoint", "id": id, "checkpoint": history.checkpoint}
        for p in self.progress:
            yield {"event": "progress", "id": p.id or NO_ID, "progress": p}
        for id, history in self.queries.items():
            for p in history.recent:
                if _key(p) not in known:
                    yield {"event": "progress", "id": id, "shown": False, "progress": p}
        for skipped in self.skipped:
            yield {"event": "skipped", **asdict(skipped)}
        for note in self.notes:
            yield {"event": "note", "text": note}


def line(event: Mapping[str, Any]) -> str:
    """One event as one line of a recording: JSON, secrets redacted."""
    return json.dumps(redact_all(_plain(event)), separators=(",", ":"), allow_nan=False, default=_text)


def _text(x: Any) -> str:
    """What is no plain data, as text; secrets redacted."""
    return redact(str(x))


class _Reader:
    """Turns events into histories."""

    def __init__(self) -> None:
        self.histories: dict[str, History] = {}
        self.progress: list[Progress] = []
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self.environment: dict[str, str] = {}
        self.taken: float | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        if "streamwatch" in event:
            self.taken = epoch_ms(event.get("taken"))
            self.environment.update({key: str(value) for key, value in v.items(event.get("environment"))})
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
            history = saving.restore(event)
            self.histories[history.id] = history
        elif kind in (events.STARTED, events.IDLE, events.TERMINATED, events.TASKS):
            events.apply(self._history(v.text(event.get("id"))), event)
        elif kind == events.FACTS:
            events.apply(self._history(v.text(event.get("id"))), {**event, "facts": saving.facts(event.get("facts"))})
        elif kind == events.CHECKPOINT:
            card = checkpoint_card.restored(event.get("checkpoint"))
            events.apply(self._history(v.text(event.get("id"))), {**event, "checkpoint": card})

    def _history(self, id: str | None) -> History:
        id = id or NO_ID
        if id not in self.histories:
            self.histories[id] = History(id)
        return self.histories[id]

    def _progress(self, event: Mapping[str, Any]) -> None:
        p = parse(event["progress"])
        self._history(p.id or v.text(event.get("id"))).remember(p)
        if event.get("shown", True):
            self.progress.append(p)


def _key(p: Progress) -> tuple[Any, ...]:
    return p.runId, p.timestamp, p.batchId, p.kind


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
