"""An open checkpoint: one walk over its files, and everything else read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jupyter_streamwatch.checkpoints import known
from jupyter_streamwatch.checkpoints.logs import log, offsets, state
from jupyter_streamwatch.checkpoints.logs.source_log import SourceLog
from jupyter_streamwatch.checkpoints.parts import (
    CommitEntry,
    KnownSink,
    OffsetEntry,
    SourceOffset,
    StateOperator,
)
from jupyter_streamwatch.checkpoints.storage.files import PARTS, Tree, is_number, reason, walk
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints.storage.files import Storage

T = TypeVar("T")
_MOST_MISSING = 100  # batches of a log that are named


class Entries(Mapping[int, T], Generic[T]):
    """A log of batches: ids from the listing, entries parsed when they are first asked for."""

    def __init__(self, ids: list[int], read: Callable[[int], T]) -> None:
        """Read nothing yet."""
        self._ids = dict.fromkeys(ids)
        self._read = read
        self._known: dict[int, T] = {}

    @property
    def last(self) -> int | None:
        """The newest batch's id."""
        return next(reversed(self._ids), None)

    @property
    def seen(self) -> list[T]:
        """The entries that were asked for so far."""
        return [self._known[id] for id in sorted(self._known)]

    def __getitem__(self, id: int) -> T:
        """The entry of a batch."""
        if id not in self._ids:
            raise KeyError(id)
        if id not in self._known:
            self._known[id] = self._read(id)
        return self._known[id]

    def __iter__(self) -> Iterator[int]:
        """Ids, ascending."""
        return iter(self._ids)

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._ids)


def _missing(ids: Iterable[int]) -> tuple[int, ...]:
    """Return the newest hundred numbers that a run of ascending ids lacks."""
    found: list[int] = []
    after: int | None = None
    for id in reversed(list(ids)):
        if after is not None and after - id > 1:
            found += range(after - 1, max(id, after - 1 - _MOST_MISSING), -1)
        after = id
        if len(found) >= _MOST_MISSING:
            break
    return tuple(sorted(found[:_MOST_MISSING]))


class Contents:
    """What a checkpoint holds. Nothing of it is ever changed; a fresh look takes :func:`checkpoint` again.

    Attributes:
        offsets: Batch id -> :class:`OffsetEntry`: the batches that were planned.
        commits: Batch id -> :class:`CommitEntry`: the batches that are done.
        sources: Logs of the sources by their number, those that keep one; a source with a name has the number of its
            place in the newest entry, one that the query has dropped comes after these.
        spark: The session that the files are read through, if any.
        brokers: Whether :meth:`restart` asks a broker what it still holds: that may take seconds.
        commands: Whether sentences name what a command line takes, not Python.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        spark: Any = None,
        sink: KnownSink | None = None,
        brokers: bool = False,
        parts: Sequence[str] = PARTS,
    ) -> None:
        """List the files of these parts; use :func:`checkpoint`, which says what is wrong with a folder."""
        self.spark = spark
        self.brokers = brokers
        self.commands = False
        self._sink = sink
        self._storage = storage
        self._tree: Tree = walk(storage, parts)
        self.offsets: Entries[OffsetEntry] = Entries(self._tree.numbers("offsets"), self._offset)
        self.commits: Entries[CommitEntry] = Entries(self._tree.numbers("commits"), self._commit)
        self._places = self._placed()
        self.sources: Mapping[int, SourceLog] = {
            index: SourceLog(self._tree, index, folder)
            for folder, index in sorted(self._places.items(), key=lambda pair: pair[1])
        }

    @property
    def path(self) -> str:
        """Where it is; credentials in a URL are redacted."""
        return redact(self._storage.url)

    @property
    def sink(self) -> KnownSink | None:
        """The query's sink, which a checkpoint does not hold: that of the last watched run; None when not known."""
        return self._sink or known.sink(self.id)

    @property
    def storage(self) -> Storage:
        """Where its files are read."""
        return self._storage

    @cached_property
    def id(self) -> str | None:
        """The query's id; None when ``metadata`` is missing or damaged."""
        return self._metadata[0]

    @property
    def metadataProblem(self) -> str | None:
        """What is wrong with the file ``metadata``, as a sentence."""
        return self._metadata[1]

    @property
    def metadataMissing(self) -> bool:
        """Whether there is no file ``metadata``."""
        return "metadata" not in self._tree.files("")

    @property
    def lastOffset(self) -> int | None:
        """The newest batch that was planned."""
        return self.offsets.last

    @property
    def lastCommit(self) -> int | None:
        """The newest batch that is done."""
        return self.commits.last

    @property
    def gaps(self) -> Mapping[str, tuple[int, ...]]:
        """Batches that ``offsets`` and ``commits`` lack between their oldest and their newest one, the newest hundred.

        Asynchronous progress tracking writes an entry only once in a while: its gaps are no damage.
        """
        return {"offsets": _missing(self.offsets), "commits": _missing(self.commits)}

    @property
    def continuous(self) -> bool:
        """Whether continuous mode wrote the last batch that is done: it writes offsets without metadata.

        So did Spark 2.0, which wrote no commits.
        """
        done = self.lastCommit
        if done is None or done not in self.offsets:
            return False
        entry = self.offsets[done]
        return entry.bare and bool(entry.sources) and self.commits[done].metadata

    def log_of(self, one: SourceOffset) -> SourceLog | None:
        """The log of a source that an entry of the offsets names; None when it keeps none."""
        folder = one.name or str(one.index)
        return self.sources[self._places[folder]] if folder in self._places else None

    @property
    def nextBatch(self) -> int:
        """The batch that the next start runs first."""
        planned = self.lastOffset
        return 0 if planned is None else planned + 1 if self.lastCommit == planned else planned

    @property
    def conf(self) -> Mapping[str, str]:
        """The settings that the checkpoint keeps, which win over the session's: those of the last planned batch."""
        return {} if self.lastOffset is None else self.offsets[self.lastOffset].conf

    @property
    def watermarks(self) -> list[tuple[int, int | None]]:
        """Watermark of each planned batch as (batch id, epoch ms); None while it is unset."""
        return [(id, entry.watermarkMs) for id, entry in self.offsets.items()]

    @property
    def times(self) -> list[tuple[int, int | None, float | None]]:
        """Per planned batch: id, when it was planned, and when its commit was written (the file's time); epoch ms."""
        committed = self._tree.files("commits")
        return [
            (
                id,
                entry.timestampMs,
                self._tree.about("commits", str(id)).changedMs if str(id) in committed else None,
            )
            for id, entry in self.offsets.items()
        ]

    @cached_property
    def operators(self) -> tuple[StateOperator, ...]:
        """The stateful operators, as of when the checkpoint was opened."""
        return self._operators(self._tree)

    @property
    def leavesStateOut(self) -> bool:
        """Whether the state's files were not looked at when the checkpoint was opened."""
        return self._tree.leaves_out("state")

    def state(self) -> tuple[StateOperator, ...]:
        """Read the stateful operators now."""
        return self._operators(walk(self._storage))

    @cached_property
    def bytes(self) -> Mapping[str, int]:
        """Size on disk: of ``offsets``, ``commits``, ``sources``, ``state``, and ``total``; checksums left out."""
        sizes = {part: self._tree.bytes_of(*self._tree.under(part)) for part in PARTS}
        return {**sizes, "total": sum(sizes.values()) + self._tree.bytes_of("")}

    @property
    def problems(self) -> tuple[str, ...]:
        """What is damaged or missing, as sentences: of the newest entries, the state, and what was read so far."""
        for id in list(self.offsets)[-2:]:
            self.offsets[id]
        for id in list(self.commits)[-2:]:
            self.commits[id]
        found = [self._metadata[1], *self._tree.problems]
        found += [entry.problem for entry in self.offsets.seen]
        found += [entry.problem for entry in self.commits.seen]
        found += [operator.problem for operator in self.operators]
        found += [problem for source in self.sources.values() for problem in source.log.problems]
        return tuple(dict.fromkeys(redact(problem) for problem in found if problem))

    def __repr__(self) -> str:
        """Where it is, and how far."""
        return f"<{type(self).__name__} {self.path}, planned {self.lastOffset}, committed {self.lastCommit}>"

    @cached_property
    def _metadata(self) -> tuple[str | None, str | None]:
        """The query's id, and what is wrong with the file that holds it."""
        if self.metadataMissing:
            return None, "metadata, the file with the query's id, is missing."
        try:
            id = log.metadata_id(self._tree.text("metadata"))
        except OSError as error:
            return None, f"metadata cannot be read: {reason(error)}."
        return id, None if id else "metadata is damaged: Spark cannot read the query's id from it."

    def _placed(self) -> dict[str, int]:
        """Folders of the sources' logs and their numbers."""
        folders = self._tree.subfolders("sources")
        places = {name: int(name) for name in folders if is_number(name)}
        named = sorted(name for name in folders if not is_number(name))
        if named:
            last = self.lastOffset
            entry = None if last is None else self._read_offset(last)
            now = {one.name: one.index for one in (entry.sources if entry else ()) if one.name}
            places |= {name: now[name] for name in named if name in now}
            after = max([*places.values(), *now.values()], default=-1) + 1
            places |= {name: after + at for at, name in enumerate(name for name in named if name not in now)}
        return places

    def _offset(self, id: int) -> OffsetEntry:
        entry = self._read_offset(id)
        return replace(entry, sources=tuple(self._told_apart(one) for one in entry.sources))

    def _read_offset(self, id: int) -> OffsetEntry:
        try:
            return log.offset_entry(id, self._tree.text(f"offsets/{id}"))
        except OSError as error:
            return OffsetEntry(id, problem=f"offsets/{id} cannot be read: {reason(error)}.")

    def _commit(self, id: int) -> CommitEntry:
        try:
            return log.commit_entry(id, self._tree.text(f"commits/{id}"))
        except OSError as error:
            return CommitEntry(id, problem=f"commits/{id} cannot be read: {reason(error)}.")

    def _told_apart(self, one: SourceOffset) -> SourceOffset:
        """A bare number is a rate source's when it wrote down the time of its first start."""
        source = self.log_of(one)
        if one.kind != "number" or source is None or not isinstance(source.initial, int):
            return one
        return replace(one, kind="rate", text=offsets.position("rate", one.value))

    def operators_at(self, version: int) -> tuple[StateOperator, ...]:
        """The stateful operators, with what is missing of a version of their state: batch N reads version N."""
        return self._operators(self._tree, version)

    def _operators(self, tree: Tree, version: int | None = None) -> tuple[StateOperator, ...]:
        version = self.nextBatch if version is None else version
        before = self.commits.get(version - 1)
        needed = state.Needed(version, before.stateIds if before is not None else {})
        return state.operators(tree, needed, self.conf)
