"""What a checkpoint holds, as plain data: offsets, commits, the state's schema and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from jupyter_streamwatch.text.numbers import clean, lines
from jupyter_streamwatch.text.outside import cut, printable
from jupyter_streamwatch.text.plain import LONG, TEXT
from jupyter_streamwatch.text.redaction import redact, redact_all

Provider = Literal["HDFS", "RocksDB"]


class Part:
    """One piece of a checkpoint; ``to_dict()`` is ready for JSON, without secrets."""

    def to_dict(self) -> dict[str, Any]:
        """Return the piece as plain dicts and lists; what looks like a secret is redacted."""
        found: dict[str, Any] = redact_all(as_plain(self))
        return found


@dataclass(frozen=True)
class Field(Part):
    """A column of a key or a value in the state.

    Attributes:
        name: Its name as the state's schema file has it, ``n/a`` when it has none.
        type: Its type as Spark writes it: ``string``, ``bigint``, ``struct<start:timestamp,end:timestamp>``.
        nullable: Whether it may be null.
        watermarkDelayMs: Delay of its watermark, where it is the event time or a window on it.
        window: ``time`` or ``session`` for a window's column.
    """

    name: str
    type: str
    nullable: bool | None = None
    watermarkDelayMs: int | None = None
    window: Literal["time", "session"] | None = None


@dataclass(frozen=True)
class SourceOffset(Part):
    """How far one source was read by the end of a batch.

    Attributes:
        index: Number of the source in the query, as in ``sources/N``.
        kind: ``file``, ``kafka``, ``rate``, ``rate-micro-batch``, ``delta``, ``socket``, ``kinesis``,
            ``autoloader``; ``number`` where a bare number may be a rate, socket or memory source's; ``none`` for a
            source without an offset yet; ``unknown`` for others.
        value: The offset as decoded JSON (its text where it is none); None when the source had none (``-``).
        text: The offset for people, in a few words.
        name: The source's name where the query names its sources (newer logs only).
    """

    index: int
    kind: str
    value: Any
    text: str
    name: str | None = None


@dataclass(frozen=True)
class OffsetEntry(Part):
    """``offsets/N``: what batch N is to read, written before it runs.

    Attributes:
        batchId: N.
        version: First line of the file: ``v1``, ``v2``.
        watermarkMs: Watermark of the batch, epoch ms; None when unknown or unset (0).
        timestampMs: When the batch was planned, epoch ms; a replay keeps it.
        conf: Settings that the checkpoint keeps: they win over the session's.
        sources: The offsets in the order of the sources.
        bare: Whether the line of the metadata is empty: continuous mode writes none.
        problem: What of the file could not be read, as a sentence.
    """

    batchId: int
    version: str | None = None
    watermarkMs: int | None = None
    timestampMs: int | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[SourceOffset, ...] = ()
    bare: bool = False
    problem: str | None = None

    def before(self, one: SourceOffset) -> Any:
        """Return the offset that this entry has of a source of a later one; None when it has none.

        A source with a name is found by it, any other by its place.
        """
        if one.name and not one.name.isdigit():
            return next((known.value for known in self.sources if known.name == one.name), None)
        return self.sources[one.index].value if one.index < len(self.sources) else None


@dataclass(frozen=True)
class CommitEntry(Part):
    """``commits/N``: batch N is done, written after the sink took it.

    Attributes:
        batchId: N.
        version: First line of the file.
        nextWatermarkMs: Watermark of the next batch, epoch ms; None when unknown or unset (0).
        stateIds: Operator -> per partition -> per store: id of the state's files (version 2 of the state's
            checkpoints, RocksDB only); empty otherwise.
        metadata: Whether it holds metadata: Spark before 2.3 writes none.
        problem: What of the file could not be read, as a sentence.
    """

    batchId: int
    version: str | None = None
    nextWatermarkMs: int | None = None
    stateIds: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    metadata: bool = False
    problem: str | None = None


@dataclass(frozen=True)
class PartitionFiles(Part):
    """The state's files of one partition of one store. Batch N reads version N and writes version N + 1.

    Attributes:
        partition: Number of the partition.
        latestVersion: Newest version there is a file of; None when there is none.
        latestSnapshot: Newest version there is a whole copy of; later ones are changes to it.
        missing: Versions that the next batch needs and that have no file.
        bytes: Size of all files of the partition.
    """

    partition: int
    latestVersion: int | None = None
    latestSnapshot: int | None = None
    missing: tuple[int, ...] = ()
    bytes: int = 0


@dataclass(frozen=True)
class StateStore(Part):
    """One store of a stateful operator: ``default``, or ``left-keyToNumValues`` and the like for a join.

    Attributes:
        name: Name of the store, or of a column family (a variable of ``transformWithState``, a part of a join).
        key: Columns of the key; None when no file says it.
        value: Columns of the value; None when no file says it.
        schemaVersion: Version of the schema file (1, 2, 3).
        partitions: Folders of partitions seen.
        files: Per partition, which versions there are.
        provider: Which kind of store wrote the files; None when there are none.
        changelog: Whether RocksDB writes changelogs; None for other providers and when unknown.
        familyOf: For a column family, the name of the store whose files hold it: it has none of its own.
    """

    name: str
    key: tuple[Field, ...] | None = None
    value: tuple[Field, ...] | None = None
    schemaVersion: int | None = None
    partitions: int | None = None
    files: tuple[PartitionFiles, ...] = ()
    provider: Provider | None = None
    changelog: bool | None = None
    familyOf: str | None = None

    @property
    def bytes(self) -> int:
        """Size of the files of all partitions."""
        return sum(one.bytes for one in self.files)


@dataclass(frozen=True)
class StateOperator(Part):
    """``state/N``: the state of one stateful operator.

    Attributes:
        id: N; operators are numbered from the sink on.
        name: As in progress records (``stateStoreSave``, ``dedupe``, ``dedupeWithinWatermark``,
            ``symmetricHashJoin``, ``applyInPandasWithState``, ...); None where no file says it (Spark 3.5 and older).
        guess: The name as far as the shape of its schema tells it, when ``name`` is None.
        partitions: State partitions; fixed by the first run.
        stores: The stores, a join has four.
        properties: What the operator itself wrote of it (``transformWithState``: time mode, output mode, variables).
        problem: What of its files could not be read, as a sentence.
    """

    id: int
    name: str | None = None
    guess: str | None = None
    partitions: int | None = None
    stores: tuple[StateStore, ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None

    @property
    def bytes(self) -> int:
        """Size of the files of all stores."""
        return sum(one.bytes for one in self.stores)


@dataclass(frozen=True)
class SourceFile(Part):
    """A file that a file source took.

    Attributes:
        path: As the source's log has it.
        timestampMs: When it was last changed, epoch ms.
        batchId: The entry of the source's log that it came with. Entries have their own numbers: a batch without
            new files has none, so they may fall behind the batch ids.
    """

    path: str
    timestampMs: int | None = None
    batchId: int | None = None


@dataclass(frozen=True)
class SinkFile(Part):
    """A file that the file sink wrote: an entry of its ``_spark_metadata``.

    Attributes:
        path: As the log has it.
        bytes: Its size.
        batchId: The batch that added it; None inside a compacted entry, which does not say.
        action: ``add`` or ``delete``.
    """

    path: str
    bytes: int | None = None
    batchId: int | None = None
    action: str = "add"


@dataclass(frozen=True)
class KnownSink(Part):
    """The sink of the last watched run on a checkpoint: the checkpoint itself does not hold it.

    Attributes:
        kind: As in ``Facts.sinkKind``: ``files``, ``delta``, ``kafka``, ``foreach``, ``foreachBatch``, ...
        path: Where it writes, when that is known.
        name: Name of the query.
    """

    kind: str
    path: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class SourceRange(Part):
    """What the next batch takes of one source; also as items (``part["from"]``).

    Attributes:
        index: Number of the source.
        kind: As of :class:`SourceOffset`.
        from_: Offset it starts after, as decoded JSON; None for the source's beginning.
        to: Offset it ends with; None when the batch is not planned yet.
        text: The range for people.
        files: Paths of the files of the range, for a file source whose log names them.
        gone: Those of ``files`` that are not there any more; None when not looked at.
        replayable: Whether the source can give the range again; None when only the source itself knows.
    """

    index: int
    kind: str
    from_: Any
    to: Any
    text: str
    files: tuple[str, ...] | None = None
    gone: tuple[str, ...] | None = None
    replayable: bool | None = None

    def __getitem__(self, name: str) -> Any:
        """The value under its name in ``to_dict()``."""
        if name not in {"from", *(one.name for one in fields(self))} - {"from_"}:
            raise KeyError(name)
        return getattr(self, "from_" if name == "from" else name)


@dataclass(frozen=True)
class MissingState(Part):
    """A version of the state that the next batch needs and that has no file.

    Attributes:
        operator: Number of the operator.
        store: Name of the store.
        partition: Number of the partition.
        versions: The versions that are missing.
    """

    operator: int
    store: str
    partition: int
    versions: tuple[int, ...]


@dataclass(frozen=True)
class RestartPlan(Part):
    """What the next start of a query on this checkpoint does.

    Attributes:
        batchId: The batch that it runs first.
        replay: Whether the batch's offsets are already in the log: it was planned before, and is run again over
            exactly these. None where rows that no log names may come again: in continuous and real-time mode, and with
            asynchronous progress tracking.
        sources: What it takes of each source.
        sentences: What a person reads, most important first.
        blocked: Why Spark will refuse to start; None when nothing seen says so.
        cures: What helps then, the cheapest first, each with its price.
        watermarkMs: Watermark that it goes on with, epoch ms; None when there is none.
        plannedMs: When the batch was first planned, epoch ms; None when it is new.
        sink: Kind of the sink, as far as it is known (``file``, ``delta``, ``foreachBatch``, ``kafka``, ...).
        sinkSafe: Whether the result stays exactly-once when a batch is run again: ``yes``, ``no``, or ``depends`` on
            what the function does; None when the sink is not known.
        code_fix: Code to paste that makes a repeated batch harmless.
        unwritten: Why a file sink does not write batches that are committed; None when nothing seen says so.
        missingState: State that is lost.
    """

    batchId: int
    replay: bool | None
    sources: tuple[SourceRange, ...] = ()
    sentences: tuple[str, ...] = ()
    blocked: str | None = None
    cures: tuple[str, ...] = ()
    watermarkMs: int | None = None
    plannedMs: int | None = None
    sink: str | None = None
    sinkSafe: Literal["yes", "no", "depends"] | None = None
    code_fix: str | None = None
    unwritten: str | None = None
    missingState: tuple[MissingState, ...] = ()

    def __str__(self) -> str:
        """The sentences, one a line, and the code."""
        code = [f"    {line}" for line in cut(printable(self.code_fix or ""), LONG).split("\n") if self.code_fix]
        return redact("\n".join([*(cut(clean(sentence), TEXT) for sentence in self.sentences), *code]))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython's signature
        lines(printer, str(self))


def as_plain(x: Any) -> Any:
    """Return parts of a checkpoint as dicts, lists, texts and numbers; keys are text, ``from_`` is ``from``."""
    if isinstance(x, Part):
        return {one.name.rstrip("_"): as_plain(getattr(x, one.name)) for one in fields(x)}  # type: ignore[arg-type]
    if isinstance(x, Mapping):
        return {str(key): as_plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [as_plain(one) for one in x]
    return x
