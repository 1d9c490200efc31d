"""Sources: their number, kinds, places and rate limits."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.checkpoints.comparing.changes import ORDER
from jupyter_streamwatch.checkpoints.comparing.verdicts import GUIDE_FORBIDS, Case, listed
from jupyter_streamwatch.text import spark_names as names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_streamwatch.checkpoints.comparing.changes import Verdict
    from jupyter_streamwatch.checkpoints.parts import SourceOffset
    from jupyter_streamwatch.model.query_shape import SourceShape

_PATTERN = re.compile(r"[*?\[{]")
_COUNTED = frozenset({"number", "rate", "socket", "memory"})
# Kinds of sources that read an offset of another kind without an error: a file source takes a bare number for an old
# form of its own offset (``FileStreamSourceOffset.apply``), and a number is a number to rate, socket and memory.
_TAKES: dict[str, frozenset[str]] = {"file": _COUNTED, "rate": _COUNTED, "socket": _COUNTED, "memory": _COUNTED}
_KNOWN = frozenset({"file", "kafka", "rate", "rate-micro-batch", "delta", "socket", "kinesis", "memory"})


def compare(case: Case) -> None:
    """Compare the sources with the offsets in the checkpoint, and with those of the last watched run."""
    last = case.checkpoint.lastOffset
    stored = () if last is None else case.checkpoint.offsets[last].sources
    now = case.now.sources
    if now is None:
        case.unseen.append("The sources: Spark's plan of the query does not name them.")
        return
    before = case.before.sources if case.before else None
    if any(_named(one) for one in stored) or any(one.name for one in now):
        _by_name(case, stored, before or (), now)
        return
    if not stored:
        case.unseen.append("The sources: the last entry of the offsets cannot be read.")
    elif len(stored) != len(now):
        was = listed([one.what for one in before]) if before else listed([_called(one) for one in stored])
        reason = f"The checkpoint has offsets of {len(stored)}: Spark refuses another number of sources."
        case.add("sources", "not-allowed", was, listed([one.what for one in now]), reason)
        return
    earlier = before if before is not None and len(before) == len(now) else None
    for at, one in enumerate(now):
        _source(case, at, stored[at] if at < len(stored) else None, earlier[at] if earlier else None, one)
    _reordered(case)
    if earlier is None and any(one.kind not in ("file", "kafka") for one in now):
        case.unseen.append("Which sources these were: offsets name no source but files and Kafka topics.")


def _named(one: SourceOffset) -> str | None:
    """Return the name that a query gave a source; of one without, newer logs have the number of its place."""
    return one.name if one.name and not one.name.isdigit() else None


def _by_name(
    case: Case, stored: Sequence[SourceOffset], before: Sequence[SourceShape], now: Sequence[SourceShape]
) -> None:
    """Compare sources that have names: they may come, go and change places (since 4.2, measured on 4.3.0)."""
    named = {name: one for one in stored if (name := _named(one))}
    if stored and not named:
        reason = "The checkpoint was begun without names of sources, and Spark takes none on it afterwards."
        case.add("sources", "not-allowed", "sources without names", listed([one.name for one in now]), reason)
        return
    unnamed = [one.what for one in now if not one.name]
    if unnamed and case.now.mode == "connect" and not any(one.name for one in now):
        case.unseen.append("The sources: their names are not known of this query, and the checkpoint has them by name.")
        return
    if unnamed:
        reason = "The checkpoint has its sources by name: Spark refuses one without a name."
        case.add("sources", "not-allowed", listed(list(named)), listed(unnamed), reason)
        return
    earlier = {one.name: one for one in before if one.name}
    for one in now:
        if one.name in named:
            offset = named[one.name]
            _source(case, offset.index, offset, earlier.get(one.name), one)
        else:
            reason = "A source with a new name begins as in a new query; the others go on."
            case.add("sources", "allowed", None, f"{one.name}: {one.what}", reason)
    names_now = {one.name for one in now}
    for name, offset in named.items():
        if name not in names_now:
            was = earlier[name].what if name in earlier else _called(offset)
            reason = "Spark goes on without the source; what it had not delivered yet is not read."
            case.add("sources", "allowed", f"{name}: {was}", None, reason)


def _reordered(case: Case) -> None:
    """Say once, and not of each source, that the same sources stand in another order."""
    moved = [one for one in case.changes if one.what == "sources" and one.verdict != "allowed"]
    was, now = [one.was or "" for one in moved], [one.now or "" for one in moved]
    if len(moved) < 2 or sorted(was) != sorted(now):
        return
    worst = min(moved, key=lambda one: ORDER.index(one.verdict))
    case.changes = [one for one in case.changes if one not in moved]
    reason = f"Offsets belong to sources by their order. {worst.reason}"
    case.add("sources", worst.verdict, listed(was), listed(now), reason)


def _source(case: Case, at: int, stored: SourceOffset | None, before: SourceShape | None, now: SourceShape) -> None:
    kind = stored.kind if stored is not None else None
    if stored is not None and kind in _KNOWN | {"number"} and now.kind in _KNOWN and not _alike(str(kind), now.kind):
        verdict: Verdict = "silently-wrong" if kind in _TAKES.get(now.kind or "", ()) else "not-allowed"
        reason = (
            f"Spark takes the offset of the old source for one of the new. {GUIDE_FORBIDS}"
            if verdict == "silently-wrong"
            else "The new source cannot read the offset of the old one."
        )
        case.add("sources", verdict, before.what if before else _called(stored), now.what, reason)
        return
    if before is not None and before.kind and now.kind and before.kind != now.kind:
        reason = "Whether the new source can read the old one's offset is its own affair."
        case.add("sources", "unknown", before.what, now.what, reason)
    elif not _place(case, at, stored, before, now) and before is not None:
        if before.format and now.format and before.format != now.format:
            reason = "Files that come from now on are read in the other format."
            case.add("sources", "changed-meaning", f"{before.format} {before.what}", f"{now.format} {now.what}", reason)
        _limits(case, before, now)
    _start(case, before, now)


def _start(case: Case, before: SourceShape | None, now: SourceShape) -> None:
    """Say that a changed start has no effect: a checkpoint with offsets goes on from them."""
    if now.start is None or (before is not None and before.start == now.start):
        return
    shown = listed([f"{name} {value}" for name, value in now.start])
    if before is not None and before.start is not None:
        was = listed([f"{name} {value}" for name, value in before.start])
        reason = "No effect: this checkpoint goes on from its own offsets; where to start counts for a new one only."
        case.add("sources", "allowed", was, shown, reason)
    elif now.start:
        case.unseen.append(f"{shown}: no effect here, whether it changed or not; it counts for a new checkpoint only.")


def _alike(stored: str, now: str | None) -> bool:
    return stored == now or (stored == "number" and now in _COUNTED)


def _place(case: Case, at: int, stored: SourceOffset | None, before: SourceShape | None, now: SourceShape) -> bool:
    """Compare where a source reads; True when it changed."""
    if now.kind in ("rate", "rate-micro-batch"):
        return False  # their names hold the rate, which is a limit
    was: str | None = None
    if before is not None and before.kind == now.kind:
        was = before.what if _normal(before.what) != _normal(now.what) else None
    elif now.kind == "file":
        was = _elsewhere(case, at, now)
    elif now.kind == "kafka" and stored is not None and isinstance(stored.value, dict):
        was = _topics(stored.value, now)
    if was is None:
        return False
    if now.kind == "file" and _read_again(case, at, now):
        reason = (
            "At its start Spark reads the files of the last batch again, and refuses files outside of the new folder."
        )
        case.add("sources", "not-allowed", was, now.what, reason)
        return True
    if now.kind == "kafka" and stored is not None and isinstance(stored.value, dict) and _dropped(stored.value, now):
        reason = (
            "Spark takes a topic that is not read any more for one whose data is lost, and stops. With"
            " failOnDataLoss=false it goes on without what is left there, and reads new topics from their beginning."
        )
        case.add("sources", "not-allowed", was, now.what, reason)
        return True
    reason = {
        "file": "Files of the new place are new to the checkpoint, those of the old one are not read any more.",
        "kafka": "New topics start at their beginning.",
    }.get(now.kind or "", "The offset in the checkpoint was the old one's.")
    case.add("sources", "silently-wrong", was, now.what, f"{reason} {GUIDE_FORBIDS}")
    return True


def _read_again(case: Case, at: int, now: SourceShape) -> bool:
    """Say whether the last batch took files that are not in the new folder (``Wrong basePath``, measured).

    A start asks each source for the last batch once more (``MicroBatchExecution.populateStartOffsets``), and a file
    source demands that its files are in its folder, unless that is a pattern (``FileStreamSource``).
    """
    log, folder, last = case.checkpoint.sources.get(at), _folder(now), case.checkpoint.lastOffset
    if log is None or folder is None or last is None:
        return False
    ends = [_end(case, id, at) for id in (last - 1, last)]
    if ends[1] is None:
        return False
    entries = range(0 if ends[0] is None else ends[0] + 1, ends[1] + 1)
    taken = [names.local_path(file.path) for entry in entries if entry in log for file in log[entry]]
    return any(not path.startswith(_roots(folder)) for path in taken)


def _end(case: Case, batch: int, at: int) -> int | None:
    entry = case.checkpoint.offsets.get(batch)
    last = case.checkpoint.offsets[case.checkpoint.lastOffset or 0].sources
    value = entry.before(last[at]) if entry is not None and at < len(last) else None
    end = value.get("logOffset") if isinstance(value, dict) else None
    return end if isinstance(end, int) else None


def _folder(now: SourceShape) -> str | None:
    """Return the folder of a file source of this machine; None for patterns and for other places."""
    folder = now.what.removeprefix("files ").strip()
    return folder if folder.startswith("/") and not _PATTERN.search(folder) and "redacted" not in folder else None


def _roots(folder: str) -> tuple[str, ...]:
    return folder.rstrip("/") + "/", os.path.realpath(folder).rstrip("/") + "/"


def _elsewhere(case: Case, at: int, now: SourceShape) -> str | None:
    """Return the folder of the files that were taken, when none of them is in the query's."""
    log, folder = case.checkpoint.sources.get(at), _folder(now)
    if log is None or folder is None:
        return None
    taken = [names.local_path(file.path) for entry in list(log)[-3:] for file in log[entry]]
    if not taken or not all(path.startswith("/") for path in taken):
        return None
    if any(path.startswith(_roots(folder)) for path in taken):
        return None
    return f"files {os.path.dirname(taken[-1])}"  # noqa: PTH120 - a path of Spark's, not of this machine


def _topics(value: dict[str, Any], now: SourceShape) -> str | None:
    topics, asked = {str(topic) for topic in value}, _asked(now)
    return f"Kafka {listed(sorted(topics))}" if asked is not None and topics != asked else None


def _dropped(value: dict[str, Any], now: SourceShape) -> bool:
    """Whether a topic of the checkpoint is certainly not read any more."""
    asked = _asked(now)
    return asked is not None and not asked.issuperset(str(topic) for topic in value)


def _asked(now: SourceShape) -> set[str] | None:
    """Return the topics that a source reads; None for a pattern, and where not all are named."""
    asked = now.what.removeprefix("Kafka ").strip()
    if not asked or asked.startswith("pattern ") or " more" in asked:
        return None
    return {one.strip() for one in asked.split(",")}


def _limits(case: Case, before: SourceShape, now: SourceShape) -> None:
    if before.limits is None or now.limits is None:
        case.unseen.append("Rate limits of the sources: not known of both runs.")
    elif before.limits != now.limits:
        was, shown = (listed([f"{name} {value}" for name, value in one.limits or ()]) for one in (before, now))
        case.add("rate-limit", "allowed", was, shown, "A rate limit may change on the same checkpoint.")


def _normal(what: str) -> str:
    label, _, place = what.partition(" ")
    return f"{label} {os.path.abspath(place)}" if label == "files" and "://" not in place else what  # noqa: PTH100 - a text


def _called(one: SourceOffset) -> str:
    if one.kind == "kafka" and isinstance(one.value, dict):
        return f"Kafka {listed(sorted(map(str, one.value)))}"
    return one.kind if one.kind != "number" else f"offset {json.dumps(one.value)}"
