"""Builds the Recording from what was found."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.recordings.recording import NO_ID, Recording, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jupyter_streamwatch.model.progress import Progress
    from jupyter_streamwatch.recordings.formats.salvage import Found

CODE: Final = "The names of a progress record without a single number, as source code has them."
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_AFTERWARDS: Final = 1_000.0  # ms between the end of what progress measures and the line about a late batch
_MOST_ALIKE: Final = 1_000  # batches of about one length that are looked at
_OVERRUNS_KEPT: Final = 200
_TELLING: Final = 4  # characters of an id by which a query can be called
NOTHING_BUT: Final = "No progress of a streaming query was found; what else was understood is among the notes."
NOTHING: Final = "No progress of a streaming query was found."


def stated(trigger: Any) -> Trigger | None:
    """The trigger that the reader states; None when nothing is stated.

    Raises:
        ValueError: When it is no trigger.
    """
    return None if trigger is None else Trigger.parse(trigger)


def recording(found: Iterable[Found], trigger: Trigger | None) -> Recording:
    """Gather records and events, in order, into one history a query.

    A record that stands there twice is twice in ``progress``, and one batch in its history.
    """
    gathered = _Gathered()
    result = Recording.from_events(gathered.events(found))
    result.skipped += gathered.skipped
    result.notes += gathered.summary()
    if not result.queries and gathered.late:
        result = _of_nobody(result)
    if not result.queries and not result.skipped:
        result.skipped.append(Skipped(NOTHING_BUT if result.notes else NOTHING))
    for query in result.queries.values():
        if not isinstance(query, History):
            continue
        if trigger is not None:
            query.state_trigger(trigger)
        if query.facts.sparkVersion is None and "Spark" in result.environment:
            query.set_facts(replace(query.facts, sparkVersion=result.environment["Spark"]))
    _set_intervals(result, gathered.late)
    return result


def _of_nobody(result: Recording) -> Recording:
    """The recording with a query that nothing names: lines about its late batches are all there is."""
    named = Recording([History(NO_ID)], (), result.skipped, result.environment, result.taken)
    named.notes += result.notes
    return named


def _set_intervals(result: Recording, late: list[Mapping[str, Any]]) -> None:
    """Tell a query its trigger interval, where Spark has logged it for its batches that took longer, and those.

    That line names no query: of several it is the one that has reported a batch of just that length.
    """
    lengths = sorted((one.batchDuration, one.id) for one in result.progress if one.batchDuration is not None and one.id)
    of: dict[str, list[Mapping[str, Any]]] = {}
    for event in late:
        ids = set(result.queries)
        if len(ids) > 1:
            first = bisect_left(lengths, (event["spentMs"] - _AFTERWARDS, ""))
            last = bisect_right(lengths, (event["spentMs"], "\U0010ffff"))
            ids = {id for _, id in lengths[first : min(last, first + _MOST_ALIKE)]}
        if len(ids) == 1:
            of.setdefault(ids.pop(), []).append(event)
    for id, events in of.items():
        query = result.queries[id]
        if not isinstance(query, History):
            continue
        facts = replace(
            query.facts,
            overruns=tuple((each["at"], each["intervalMs"], each["spentMs"]) for each in events[-_OVERRUNS_KEPT:]),
        )
        if facts.trigger is None or facts.trigger.kind == "processingTime":
            facts = replace(facts, trigger=Trigger("processingTime", events[-1]["intervalMs"], "asked"))
        query.set_facts(facts)


class _Gathered:
    """Turns what was found into lines of a recording, and keeps beside them what is none."""

    def __init__(self) -> None:
        self.skipped: list[Skipped] = []
        self.late: list[Mapping[str, Any]] = []
        self._committed: list[int] = []
        self._waits = 0
        self._ids: dict[str, str] = {}  # of runs, for records that name their run only
        self._runs: dict[str, str] = {}  # the latest run of each query
        self._last: str | None = None  # the query that was named last

    def events(self, found: Iterable[Found]) -> Iterator[dict[str, Any]]:
        """Everything as lines of a recording."""
        waiting = False  # whether the last thing said was that nothing comes
        for each in _once(found):
            kind = each.value["event"] if each.kind == "event" else each.kind
            if kind == "waiting":
                self._waits += 1
                waiting = True
                continue
            if waiting and kind in ("terminated", "recorded"):
                yield from self._waited()
            if kind not in ("note", "committed", "skipped", "environment"):
                waiting = False
            yield from self._event(kind, each)
        if waiting:
            yield from self._waited()

    def _event(self, kind: str, each: Found) -> Iterator[dict[str, Any]]:
        if kind == "progress":
            read = _read(each, self._ids)
            if isinstance(read, Skipped):
                self.skipped.append(read)
                return
            self._named(read.id or NO_ID, read.runId or "")
            yield {"event": "progress", "progress": read}
        elif kind == "late":
            self.late.append(each.value)
        elif kind == "committed":
            self._committed.append(each.value["batch"])
        elif kind == "note":
            yield each.value
        elif each.kind == "event":
            yield self._of_run(each.value)
        elif kind == "recorded":
            yield each.value
        elif kind == "environment":
            yield {"streamwatch": 1, "environment": each.value}
        else:
            reason, text = each.value
            self.skipped.append(Skipped(reason, text, each.line or None))

    def _named(self, id: str, run: str) -> None:
        self._runs[id] = run
        self._last = id

    def _of_run(self, event: dict[str, Any]) -> dict[str, Any]:
        """The event with the ids that it means: they may be shortened, starred out, or not be there at all."""
        id = _meant(event["id"], self._runs)
        run = _meant(event["runId"], self._ids) or (self._runs.get(id) if id in self._runs else None)
        id = self._ids.get(run, id) if run and id is None else id
        if id is None:
            id = next(iter(self._runs)) if len(self._runs) == 1 else NO_ID
            run = run or self._runs.get(id)
        run = run or ""
        self._ids[run] = id
        self._named(id, run)
        return {**event, "id": id, "runId": run}

    def _waited(self) -> Iterator[dict[str, Any]]:
        """The query of an idle line, which names none: the only one there is."""
        if len(self._runs) == 1:
            ((id, run),) = self._runs.items()
            yield {"event": "idle", "id": id, "runId": run, "at": None}

    def summary(self) -> list[str]:
        """Sentences about lines of which a log has many."""
        said = []
        if self._waits:
            times = "Once" if self._waits == 1 else f"{self._waits:,} times"
            said.append(f"{times} the log says that the query was idle and waited for new data.")
        if self._committed:
            first, last = min(self._committed), max(self._committed)
            which = f"batch {first}" if first == last else f"batches {first} to {last}"
            said.append(f"The log says that the offsets of {which} were written to the checkpoint.")
        return said


def _meant(id: str | None, known: Iterable[str]) -> str | None:
    """The whole id of which this is one, or a part: ``5b0c7d1e...`` is the only one known that begins so."""
    if id is None or _UUID.fullmatch(id):
        return id
    start = re.split(r"[.…*<]", id, maxsplit=1)[0]
    alike = [one for one in known if start and one.startswith(start)]
    if len(alike) == 1:
        return alike[0]
    return id if len(start) >= _TELLING and not alike else None


def _read(found: Found, ids: dict[str, str]) -> Progress | Skipped:
    try:
        progress = parse(_with_id(found.value, ids))
    except ValueError as error:
        return Skipped(str(error), str(found.value)[:200], found.line or None)
    return progress if _tells(progress) else Skipped(CODE, str(found.value)[:200], found.line or None)


def _tells(progress: Progress) -> bool:
    """Whether anything is known; source code has the names of a record, and where its values stand expressions."""
    known: list[Any] = [progress.batchId, progress.numInputRows, progress.batchDuration, progress.start_ms]
    known += [progress.inputRowsPerSecond, progress.processedRowsPerSecond, progress.durationMs or None]
    if any(value is not None for value in known):
        return True
    known = [value for one in progress.stateOperators for name, value in one.items() if name != "operatorName"]
    known += [value for one in progress.sources for name, value in one.items() if name != "description"]
    if any(value not in (None, {}) and not isinstance(value, str) for value in known):
        return True
    return any(_UUID.fullmatch(id) for id in (progress.id or "", progress.runId or "") if id != NO_ID)


def _once(found: Iterable[Found]) -> Iterator[Found]:
    """Leave out what the record right behind it says as well and more: members explained one by one before it."""
    held: Found | None = None
    for each in found:
        if each.kind == "skipped":
            yield each
            continue
        if held is not None and not _says(each, held):
            yield held
        elif held is not None and "id" in held.value:
            each.value.setdefault("id", held.value["id"])
        held = each
    if held is not None:
        yield held


def _says(whole: Found, some: Found) -> bool:
    if not whole.kind == some.kind == "progress" or "runId" not in some.value or len(some.value) >= len(whole.value):
        return False
    own = some.value.keys() - {"id", "startOffset", "endOffset"}  # the next one's, and those of its source
    return all(name in whole.value and whole.value[name] == some.value[name] for name in own)


def _with_id(record: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    run = record.get("runId")
    if record.get("id") is not None:
        if isinstance(run, str):
            ids[run] = str(record["id"])
        return record
    return {**record, "id": ids.get(run, NO_ID) if isinstance(run, str) else NO_ID}
