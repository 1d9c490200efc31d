"""Recordings: the histories of some queries, as plain data that outlives the session."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jupyter_streamwatch import saving
from jupyter_streamwatch import values as v
from jupyter_streamwatch.format import middle, query_name
from jupyter_streamwatch.history import History
from jupyter_streamwatch.progress import Progress, parse
from jupyter_streamwatch.redaction import redact, redact_all

__all__ = ["Queries", "Recording", "Skipped"]

NO_ID = "00000000-0000-0000-0000-000000000000"
"""The id that records without one share."""
NAME_LENGTH = 60  # characters of a name in a list; its id stands beside it


@dataclass(frozen=True)
class Skipped:
    """Something that was not understood: why, in one sentence, the text (its beginning), and its line from 1 on."""

    reason: str
    text: str = ""
    line: int | None = None


class UnknownQueryError(KeyError):
    """No query, or more than one, answers to a key; the text names the right ones."""

    def __str__(self) -> str:
        """The sentence, without the quotes of a KeyError."""
        return str(self.args[0])


class Queries(Mapping[str, History]):
    """Histories by query: iteration yields ids; a key is an id, a unique prefix of it, a name, or a query object.

    A name that was used again means its newest query.
    """

    def __init__(self, histories: Mapping[str, History]) -> None:
        """Look into ``histories`` (by id), which may grow."""
        self._histories = histories

    def __getitem__(self, key: Any) -> History:
        """The history for a key.

        Raises:
            KeyError: When no query, or more than one, answers to it; the text names the right ones.
        """
        if isinstance(key, History):
            key = key.id
        wanted = key if isinstance(key, str) else str(getattr(key, "id", key))
        histories = dict(self._histories)
        if wanted in histories:
            return histories[wanted]
        named = [history for history in histories.values() if history.name == wanted]
        if named:
            return max(named, key=_began)
        start = wanted.removeprefix("query ")  # so is one without a name called
        alike = [history for id, history in histories.items() if start and id.startswith(start)]
        if len(alike) == 1:
            return alike[0]
        asked = middle(wanted, NAME_LENGTH)
        what = f"More than one query begins with {asked!r}" if alike else f"No query {asked!r}"
        right = ", ".join(_called(history) for history in alike or histories.values())
        raise UnknownQueryError(f"{what}; there {'is no query at all' if not right else 'are: ' + right}.")

    def __iter__(self) -> Iterator[str]:
        """Ids, oldest query first."""
        return iter(list(self._histories))

    def __len__(self) -> int:
        """Number of queries."""
        return len(self._histories)

    def __repr__(self) -> str:
        """Names and ids."""
        return f"<Queries: {', '.join(_called(history) for history in dict(self._histories).values())}>"


class Recording:
    """What was seen of some queries, without Spark.

    Attributes:
        queries: Their histories.
        progress: All records read, in order.
        skipped: What was not understood.
        environment: Versions and settings of the session; text by name.
        taken: Epoch ms when it was taken; None when unknown.
    """

    def __init__(
        self,
        histories: Iterable[History],
        progress: Iterable[Progress] = (),
        skipped: Iterable[Skipped] = (),
        environment: Mapping[str, str] | None = None,
        taken: float | str | None = None,
    ) -> None:
        """Hold histories together; ``taken`` is epoch ms or ISO text."""
        self.queries = Queries({history.id: history for history in histories})
        self.progress = list(progress)
        self.skipped = list(skipped)
        self.environment = dict(environment or {})
        self.taken = _at(taken)

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
        return cls(reader.histories.values(), reader.progress, missed, reader.environment, reader.taken)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a file that ``save`` or a recording watch wrote; a line that is cut short is among the ``skipped``.

        Raises:
            FileNotFoundError: When there is no such file.
        """
        events: list[Mapping[str, Any]] = []
        skipped = []
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            for number, text in enumerate(file, 1):
                try:
                    event = json.loads(text)
                except (ValueError, RecursionError):
                    event = None
                if isinstance(event, dict):
                    events.append(event)
                elif text.strip():
                    skipped.append(Skipped("This line of the recording is not a JSON object.", text[:200], number))
        return cls.from_events(events, skipped=skipped)

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
        self.environment: dict[str, str] = {}
        self.taken: float | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        if "streamwatch" in event:
            self.taken = _at(event.get("taken"))
            self.environment.update({key: str(value) for key, value in v.items(event.get("environment"))})
        kind = event.get("event")
        if kind == "progress":
            self._progress(event)
        elif kind == "skipped":
            reason, text, line = (event.get(name) for name in ("reason", "text", "line"))
            self.skipped.append(Skipped(v.text(reason) or "", v.text(text) or "", v.count(line)))
        elif kind == "history":
            history = saving.restore(event)
            self.histories[history.id] = history
        elif kind in ("started", "idle", "terminated", "facts", "checkpoint", "tasks"):
            self._event(kind, event, self._history(v.text(event.get("id"))))

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

    def _event(self, kind: str, event: Mapping[str, Any], history: History) -> None:
        run = v.text(event.get("runId")) or ""
        at = _at(event.get("timestamp"))
        at = _at(event.get("at")) if at is None else at
        if kind == "started":
            history.start(run, v.text(event.get("name")), at)
        elif kind == "idle":
            history.idle(run, at)
        elif kind == "terminated":
            history.end(run, at, v.text(event.get("exception")), v.text(event.get("errorClass")))
        elif kind == "facts":
            history.set_facts(saving.facts(event.get("facts")))
        elif kind == "checkpoint":
            from jupyter_streamwatch.checkpoints import card  # the package writes reports, which need recordings

            history.set_checkpoint(card.restored(event.get("checkpoint")))
        else:
            history.set_tasks(run, event["batchId"], event["values"])


def _at(x: Any) -> float | None:
    """Epoch ms of a number or ISO text."""
    return v.epoch_ms(v.timestamp(x))


def _called(history: History) -> str:
    return f"{middle(query_name(history.name, history.id), NAME_LENGTH)} ({history.id})"


def _began(history: History) -> float:
    run = history.runs[-1] if history.runs else None
    if run is not None and run.started is not None:
        return run.started
    start = history.record.start_ms if history.record else None
    return float("-inf") if start is None else start


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
