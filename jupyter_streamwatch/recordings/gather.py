"""Builds the Recording from what was found."""

from __future__ import annotations

import re
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
    skipped: list[Skipped] = []
    late: list[Mapping[str, Any]] = []
    result = Recording.from_events(_events(found, skipped, late))
    result.skipped += skipped
    if not result.queries and not result.skipped:
        result.skipped.append(Skipped(NOTHING))
    for query in result.queries.values():
        if not isinstance(query, History):
            continue
        if trigger is not None:
            query.state_trigger(trigger)
        if query.facts.sparkVersion is None and "Spark" in result.environment:
            query.set_facts(replace(query.facts, sparkVersion=result.environment["Spark"]))
    _set_intervals(result, late)
    return result


def _set_intervals(result: Recording, late: list[Mapping[str, Any]]) -> None:
    """Tell a query its trigger interval, where Spark has logged it for one of its batches that took longer.

    That line names no query: of several it is the one that has reported a batch of just that length.
    """
    for event in late:
        lengths = {
            one.id
            for one in result.progress
            if one.batchDuration is not None and 0 <= event["spentMs"] - one.batchDuration <= _AFTERWARDS
        }
        ids = set(result.queries) if len(result.queries) == 1 else lengths
        query = result.queries[ids.pop()] if len(ids) == 1 else None
        if isinstance(query, History) and (query.facts.trigger is None or query.facts.trigger.kind == "processingTime"):
            trigger = Trigger("processingTime", event["intervalMs"], "asked")
            query.set_facts(replace(query.facts, trigger=trigger))


def _events(found: Iterable[Found], skipped: list[Skipped], late: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Everything as lines of a recording; what is none goes to ``skipped``, a batch that was too long to ``late``."""
    ids: dict[str, str] = {}  # of runs, for records that name their run only
    for each in _once(found):
        if each.kind == "progress":
            read = _read(each, ids)
            if isinstance(read, Skipped):
                skipped.append(read)
            else:
                yield {"event": "progress", "progress": read}
        elif each.kind == "event" and each.value["event"] == "late":
            late.append(each.value)
        elif each.kind == "event":
            if each.value["runId"] is not None:
                ids[each.value["runId"]] = each.value["id"]
            yield each.value
        elif each.kind == "recorded":
            yield each.value
        elif each.kind == "environment":
            yield {"streamwatch": 1, "environment": each.value}
        else:
            reason, text = each.value
            skipped.append(Skipped(reason, text, each.line or None))


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
