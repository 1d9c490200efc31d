"""What a batch reads of each source: the range of offsets, and for a file source the files.

A batch that is run again reads exactly what its entry of the offset log says, from the entry before it. One that is
not planned yet goes on after the last entry. Of files, ``logOffset`` is the number of an entry of the source's own
log, which names them; Spark reads the entries of the last planned batch at every start, done or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from jupyter_streamwatch.checkpoints.logs import offsets
from jupyter_streamwatch.checkpoints.parts import SourceOffset, SourceRange
from jupyter_streamwatch.checkpoints.restart.available import gone, kafka
from jupyter_streamwatch.text.numbers import clean, exact
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.logs.source_log import SourceLog
    from jupyter_streamwatch.checkpoints.parts import OffsetEntry

_NAMED = 5  # files, partitions that a sentence names
_ASK = {
    "number": "If it is a socket or memory source, its rows cannot be read again and are lost.",
    "kafka": "Whether the topics still hold these offsets only a broker can say (failOnDataLoss decides what happens"
    " when not).",
    "kinesis": "Whether the stream still holds these records only the service can say.",
    "delta": "Whether the table still has these versions its log can say (VACUUM and log retention delete old ones).",
    "iceberg": "Whether the table still has this snapshot its metadata can say.",
    "autoloader": "Whether these files are still there only the store can say.",
    "unknown": "Whether the source can give this range again only the source can say.",
}

_AGE = (
    "A new file whose time is more than maxFileAge (7 days by default) before that of the newest file taken is never"
    " read, unless latestFirst is on."
)


class Read(NamedTuple):
    """A range and what there is to say about it."""

    range: SourceRange
    sentences: list[str]
    blocked: str | None = None


def replayed(checkpoint: Contents, entry: OffsetEntry, before: OffsetEntry | None) -> list[Read]:
    """The ranges of a batch that is run again; ``before`` is the entry that says where it begins."""
    if entry.batchId > 0 and (before is None or not before.sources):
        return [_to(one) for one in entry.sources]
    return [
        _again(checkpoint, one, None if before is None else before.before(one), len(entry.sources))
        for one in entry.sources
    ]


def _to(one: SourceOffset) -> Read:
    """A range of which only the end is known."""
    return Read(SourceRange(one.index, one.kind, None, one.value, f"from an unknown start to {one.text}"), [])


def _again(checkpoint: Contents, one: SourceOffset, start: Any, count: int) -> Read:
    name = _name(one, count)
    if one.kind == "file":
        return _files_again(checkpoint, one, start, name)
    source = checkpoint.log_of(one)
    # Kafka writes down where it began: a first batch starts there.
    shown = source.initial if start is None and source is not None and one.kind == "kafka" else start
    text = offsets.span(one.kind, shown, one.value)
    moved = one.kind != "none" and start != one.value
    sentences = [f"{name} {'reads exactly' if moved else 'reads nothing:'} {text}."]
    replayable = True if one.kind in ("rate", "rate-micro-batch") or not moved else None
    asked = kafka(checkpoint, shown, one.value) if moved and one.kind == "kafka" else None
    if asked is not None:
        replayable = asked[0]
        sentences.append(asked[1])
    elif moved and one.kind in _ASK:
        sentences.append(_ASK[one.kind])
    return Read(SourceRange(one.index, one.kind, start, one.value, text, replayable=replayable), sentences)


def _files_again(checkpoint: Contents, one: SourceOffset, start: Any, name: str) -> Read:
    """The range of a file source: its log names the files."""
    text = offsets.span("file", start, one.value)
    first, last = _entry(start) + 1, _entry(one.value)
    source = checkpoint.log_of(one)
    if last < first:
        empty = SourceRange(one.index, "file", start, one.value, text, files=(), gone=(), replayable=True)
        return Read(empty, [f"{name} has no new file in this batch."])
    blocked = _unnamed(source, one.name or str(one.index), first, last)
    paths = [file.path for file in source.taken(first, last)[0]] if source is not None else []
    if not paths:
        return Read(SourceRange(one.index, "file", start, one.value, text), [], blocked)
    lost = gone(checkpoint.storage, paths)
    text = f"{count_of(len(paths), 'file')}: {few(_base(_shown(path)) for path in paths)}"
    sentences = [f"{name} reads exactly {text}."]
    if lost:
        what = "is gone: its rows are" if len(lost) == 1 else "are gone: their rows are"
        sentences.append(
            f"{exact(len(lost))} of these files {what} lost, Spark reads the batch without and says nothing"
            f" ({few(_base(_shown(path)) for path in lost)})."
        )
    elif lost is None:
        sentences.append("Whether these files are still there was not looked at: they are not on this machine.")
    known = SourceRange(
        one.index,
        "file",
        start,
        one.value,
        text,
        files=tuple(_shown(path) for path in paths),
        gone=None if lost is None else tuple(_shown(path) for path in lost),
        replayable=None if lost is None else not lost,
    )
    return Read(known, sentences, blocked)


def _unnamed(source: SourceLog | None, folder: str, first: int, last: int) -> str | None:
    """Say which entries of a file source's log are missing that Spark reads when it starts."""
    if source is None or source.log.last is None:
        return f"sources/{folder} is missing, which names the files of the last planned batch."
    missing = source.taken(first, last)[1]
    if not missing:
        return None
    entries = "entry" if len(missing) == 1 else "entries"
    return f"sources/{folder} lacks {entries} {few(missing)}, with files of the last planned batch."


def continued(checkpoint: Contents, entry: OffsetEntry | None, before: OffsetEntry | None) -> list[Read]:
    """Where each source goes on after an entry, for a batch that is not planned yet; ``before`` is where that began."""
    if entry is None:
        return []
    return [
        _on(checkpoint, one, None if before is None else before.before(one), len(entry.sources))
        for one in entry.sources
    ]


def _on(checkpoint: Contents, one: SourceOffset, start: Any, count: int) -> Read:
    """Where one source goes on; ``start`` is where its last planned batch began."""
    name = _name(one, count)
    text = offsets.span(one.kind, one.value, None)
    if one.kind != "file":
        goes = text if text.startswith("goes on") else f"has {text}" if text.startswith("no ") else f"starts {text}"
        asked = kafka(checkpoint, one.value, None) if one.kind == "kafka" else None
        sentences = [f"{name} {goes}.", *(asked[1:] if asked is not None else ())]
        return Read(SourceRange(one.index, one.kind, one.value, None, text, replayable=asked and asked[0]), sentences)
    source = checkpoint.log_of(one)
    at = _entry(one.value)
    first = _entry(start) + 1
    blocked = _unnamed(source, one.name or str(one.index), first, at) if first <= at else None
    goes = f"{name} goes on with files that its log does not know yet: none that it took is read again."
    sentences = [] if blocked else [goes, _AGE]
    noted: tuple[str, ...] | None = None
    if source is not None and (source.log.last or -1) > at:
        # The source writes its own log first: it may know files that no batch was planned with.
        noted = tuple(_shown(file.path) for file in source.taken(at + 1, source.log.last or 0)[0])
        sentences.append(
            f"Its log already has {count_of(len(noted), 'file')} that no batch was planned with:"
            f" {few(_base(path) for path in noted)}; the next batch takes {'it' if len(noted) == 1 else 'them'}."
        )
    return Read(SourceRange(one.index, "file", one.value, None, text, files=noted), sentences, blocked)


def _name(one: SourceOffset, count: int) -> str:
    label = offsets.LABELS.get(one.kind, one.kind)
    named = f"{one.name}, " if one.name and not one.name.isdigit() else ""
    return f"The source ({named}{label})" if count == 1 else f"Source {one.index} ({named}{label})"


def _entry(offset: Any) -> int:
    """The entry of a file source's log that an offset names; -1 before the first."""
    found = offset.get("logOffset") if isinstance(offset, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else -1


def _shown(path: str) -> str:
    """A path as a person would write it."""
    return redact(clean(unquote(path)))


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def few(items: Iterable[Any]) -> str:
    """Name the first few of something, and count the rest."""
    shown = [str(one) for one in items]
    more = len(shown) - _NAMED
    return ", ".join(shown) if more <= 0 else f"{', '.join(shown[:_NAMED])} and {more} more"


def count_of(number: int, one: str) -> str:
    """Write a number of things."""
    return f"{exact(number)} {one}{'' if number == 1 else 's'}"
