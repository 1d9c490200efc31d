"""One progress event of a streaming query as plain data, whatever Spark or person it came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeAlias

from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.model.behind import Behind, behind
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.model.values import epoch_ms
from jupyter_streamwatch.text.outside import brief

__all__ = ["Progress", "SinkProgress", "SourceProgress", "StateOperatorProgress", "Trigger", "epoch_ms", "parse"]

Kind: TypeAlias = Literal["data", "no-data", "idle"]


class Record(Mapping[str, Any]):
    """Attributes and items under the same names, as PySpark's own progress classes offer them."""

    __slots__ = ()
    names: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self, name: str) -> Any:
        """The attribute of that name."""
        if name in self.names:
            return getattr(self, name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """Names of the attributes, in Spark's order."""
        return iter(self.names)

    def __len__(self) -> int:
        """Number of attributes."""
        return len(self.names)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dicts and lists, ready for JSON."""
        return {name: _plain(getattr(self, name)) for name in self.names}

    @property
    def json(self) -> str:
        """The record as JSON on one line."""
        return json.dumps(self.to_dict())

    @property
    def prettyJson(self) -> str:
        """The record as indented JSON."""
        return json.dumps(self.to_dict(), indent=2)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StateOperatorProgress(Record):
    """State of one stateful operator after a batch; counts are rows, unknown is None.

    ``allUpdatesTimeMs``, ``allRemovalsTimeMs`` and ``commitTimeMs`` are sums over tasks, in milliseconds: they may
    exceed the batch's wall time. ``memoryUsedBytes`` of 0 while there are rows is a known defect of Spark's RocksDB
    metrics and therefore unknown.
    """

    operatorName: str | None = None
    numRowsTotal: int | None = None
    numRowsUpdated: int | None = None
    numRowsRemoved: int | None = None
    allUpdatesTimeMs: int | None = None
    allRemovalsTimeMs: int | None = None
    commitTimeMs: int | None = None
    memoryUsedBytes: int | None = None
    numRowsDroppedByWatermark: int | None = None
    numShufflePartitions: int | None = None
    numStateStoreInstances: int | None = None
    customMetrics: dict[str, float] = field(default_factory=dict)

    __repr__ = brief


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SourceProgress(Record):
    """One source in a batch; rates in rows a second, offsets as decoded JSON, unknown is None."""

    description: str | None = None
    startOffset: Any = None
    endOffset: Any = None
    latestOffset: Any = None
    numInputRows: int | None = None
    inputRowsPerSecond: float | None = None
    processedRowsPerSecond: float | None = None
    metrics: dict[str, float | str] = field(default_factory=dict)

    __repr__ = brief

    @property
    def moved(self) -> bool:
        """Whether the batch took the source further."""
        return self.endOffset is not None and self.endOffset != self.startOffset

    @property
    def backlog(self) -> int | None:
        """Rows that the source held beyond this batch; None when that is not known.

        Known only where offsets count rows by topic and partition (Kafka): rate offsets are seconds, those of
        files are log positions, and the metrics of other sources count files, bytes or time (see ``behind``). Offsets
        of transaction markers and of rows that compaction removed count, too: it is the most that may wait.
        """
        latest, end = self.latestOffset, self.endOffset
        if not (isinstance(latest, dict) and isinstance(end, dict) and latest and latest.keys() == end.keys()):
            return None
        total: int = 0
        for topic, partitions in latest.items():
            done = end[topic]
            if not (isinstance(partitions, dict) and isinstance(done, dict) and partitions.keys() == done.keys()):
                return None
            for partition, offset in partitions.items():
                here = done[partition]
                if type(offset) is int and type(here) is int and 0 <= here <= offset:  # as nearly all are
                    total += offset - here
                    continue
                there, here = v.count(offset), v.count(here)
                if there is None or here is None or there < here:
                    return None
                total += there - here
        furthest = self.metrics.get("maxOffsetsBehindLatest")
        # Some connectors report the end as the latest offset while their own metric knows of more.
        return None if total == 0 and isinstance(furthest, (int, float)) and furthest > 0 else total

    @property
    def behind(self) -> tuple[Behind, ...]:
        """How far behind the source was after this batch, in each unit that it tells; empty when it tells nothing."""
        return behind(self.backlog, self.metrics, self.endOffset)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SinkProgress(Record):
    """The sink after a batch; ``numOutputRows`` is None where Spark says -1."""

    description: str | None = None
    numOutputRows: int | None = None
    metrics: dict[str, float | str] = field(default_factory=dict)

    __repr__ = brief


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Progress(Record):
    """One progress event: attributes and items named as in PySpark's ``StreamingQueryProgress``.

    Ids are text, ``timestamp`` is the ISO text as sent (the start of the batch), ``batchDuration`` and the parts of
    ``durationMs`` are milliseconds, rates are rows a second. What is missing, not finite or impossible is None.
    ``rtmMetrics`` is there in some versions' records of real-time mode alone, so it is no item of the others.
    """

    id: str | None = None
    runId: str | None = None
    name: str | None = None
    timestamp: str | None = None
    batchId: int | None = None
    batchDuration: int | None = None
    durationMs: dict[str, int] = field(default_factory=dict)
    eventTime: dict[str, str] = field(default_factory=dict)
    stateOperators: tuple[StateOperatorProgress, ...] = ()
    sources: tuple[SourceProgress, ...] = ()
    sink: SinkProgress = field(default_factory=SinkProgress)
    observedMetrics: dict[str, Any] = field(default_factory=dict)
    numInputRows: int | None = None
    inputRowsPerSecond: float | None = None
    processedRowsPerSecond: float | None = None
    rtmMetrics: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dicts and lists, ready for JSON."""
        plain = Record.to_dict(self)
        return plain | {"rtmMetrics": self.rtmMetrics} if self.rtmMetrics else plain

    __repr__ = brief

    @property
    def kind(self) -> Kind:
        """``data``: rows were read or offsets moved; ``no-data``: a batch ran without; ``idle``: no batch ran.

        Offsets count as well, since a ``foreachBatch`` function that never reads its frame reports 0 rows.
        """
        if self.numInputRows:
            return "data"
        if "addBatch" not in self.durationMs:
            return "idle"
        return "data" if any(source.moved for source in self.sources) else "no-data"

    @property
    def backlog(self) -> int | None:
        """Rows that the sources held beyond this batch; None when that of any source is not known."""
        total: int | None = _total([source.backlog for source in self.sources])
        return total

    @property
    def noted(self) -> bool:
        """Whether this stands for Spark's note that a query is idle, which is no progress of its own."""
        return not (self.durationMs or self.sources) and self.batchId is None

    @property
    def start_ms(self) -> float | None:
        """Start of the batch in milliseconds since the epoch."""
        return epoch_ms(self.timestamp)


for _record in (StateOperatorProgress, SourceProgress, SinkProgress, Progress):
    _record.names = tuple(f.name for f in fields(_record) if f.name != "rtmMetrics")

# A record has at least one of these; fewer would take any JSON object for progress.
_TELLING = ("durationMs", "sources", "stateOperators", "batchId", "numInputRows")


def parse(x: Any) -> Progress:
    """Turn a progress record of any origin into a ``Progress``.

    Args:
        x: JSON as text or bytes, a dict (ids may be UUIDs), a PySpark ``StreamingQueryProgress`` or a ``Row``.

    Raises:
        ValueError: In one sentence, when ``x`` is not a progress record.
    """
    if isinstance(x, Progress):
        return x
    record = _mapping(x)
    if not any(key in record for key in _TELLING):
        raise ValueError(f"Not a progress record: it has none of {', '.join(_TELLING)}.")
    sources = tuple(_source(source) for source in v.mappings(record.get("sources")))
    durations = {
        key: ms for key, value in v.items(v.decoded(record.get("durationMs"))) if (ms := v.whole(value)) is not None
    }
    rows = v.count(record.get("numInputRows"))
    ingested = v.rate(record.get("inputRowsPerSecond"))
    processed = v.rate(record.get("processedRowsPerSecond"))
    duration = v.whole(record.get("batchDuration"))
    return Progress(
        id=v.text(record.get("id"), v.NAME),
        runId=v.text(record.get("runId"), v.NAME),
        name=v.text(record.get("name"), v.NAME),
        timestamp=v.timestamp(record.get("timestamp")),
        batchId=v.count(record.get("batchId")),
        batchDuration=durations.get("triggerExecution") if duration is None else duration,
        durationMs=durations,
        eventTime=_event_time(record),
        stateOperators=tuple(_state_operator(operator) for operator in v.mappings(record.get("stateOperators"))),
        sources=sources,
        sink=_sink(record.get("sink")),
        observedMetrics=_observed(record.get("observedMetrics")),
        # Spark's own class defines the totals as sums over the sources; event logs leave them out.
        numInputRows=_total([source.numInputRows for source in sources]) if rows is None else rows,
        inputRowsPerSecond=_total([s.inputRowsPerSecond for s in sources]) if ingested is None else ingested,
        processedRowsPerSecond=_total([s.processedRowsPerSecond for s in sources]) if processed is None else processed,
        rtmMetrics=dict(v.items(v.plain(v.decoded(record.get("rtmMetrics"))))),
    )


def _mapping(x: Any) -> Mapping[Any, Any]:
    if isinstance(x, (str, bytes, bytearray)):
        try:
            x = json.loads(x, parse_constant=_unknown_constant)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"Not a progress record: not JSON ({error!s:.100}).") from None
    elif not isinstance(x, Mapping):
        x = _of_object(x)
    if not isinstance(x, Mapping):
        raise ValueError(f"Not a progress record: a JSON object is needed, not {type(x).__name__}.")  # noqa: TRY004 - one error for all that is no record
    return x


def _of_object(x: Any) -> Any:
    """What PySpark's classes hold: a ``Row`` has ``asDict``, a progress object ``jsonValue`` or ``json``."""
    for name in ("asDict", "jsonValue", "json"):
        try:
            found = getattr(x, name)
            if callable(found):
                found = found(True) if name == "asDict" else found()  # True: rows inside rows as well
            if isinstance(found, str):
                found = json.loads(found, parse_constant=_unknown_constant)
        except Exception:  # whatever a foreign object raises, it is not a record that can be read
            continue
        if isinstance(found, Mapping):
            return found
    return x


def _unknown_constant(_name: str) -> None:
    """NaN and Infinity, which Spark's JSON may hold, are unknown."""


def _source(x: Mapping[Any, Any]) -> SourceProgress:
    rows = v.count(x.get("numInputRows"))
    return SourceProgress(
        description=v.text(x.get("description")),
        startOffset=v.offset(x.get("startOffset")),
        endOffset=v.offset(x.get("endOffset")),
        latestOffset=v.offset(x.get("latestOffset")),
        numInputRows=v.count(x.get("numRecords")) if rows is None else rows,  # numRecords: Spark 2.0
        inputRowsPerSecond=v.rate(x.get("inputRowsPerSecond")),
        processedRowsPerSecond=v.rate(x.get("processedRowsPerSecond")),
        metrics=v.metrics(x.get("metrics")),
    )


def _state_operator(x: Mapping[Any, Any]) -> StateOperatorProgress:
    total, memory = v.count(x.get("numRowsTotal")), v.count(x.get("memoryUsedBytes"))
    dropped = v.count(x.get("numRowsDroppedByWatermark"))
    return StateOperatorProgress(
        operatorName=v.text(x.get("operatorName"), v.NAME),
        numRowsTotal=total,
        numRowsUpdated=v.count(x.get("numRowsUpdated")),
        numRowsRemoved=v.count(x.get("numRowsRemoved")),
        allUpdatesTimeMs=v.whole(x.get("allUpdatesTimeMs")),
        allRemovalsTimeMs=v.whole(x.get("allRemovalsTimeMs")),
        commitTimeMs=v.whole(x.get("commitTimeMs")),
        memoryUsedBytes=None if memory == 0 and total else memory,
        numRowsDroppedByWatermark=v.count(x.get("numLateInputs")) if dropped is None else dropped,  # Spark 3.0's name
        numShufflePartitions=v.count(x.get("numShufflePartitions")),
        numStateStoreInstances=v.count(x.get("numStateStoreInstances")),
        customMetrics={
            key: number
            for key, value in v.items(x.get("customMetrics"))
            if (number := v.number(value)) is not None and number >= 0
        },
    )


def _sink(x: Any) -> SinkProgress:
    x = v.decoded(x)
    if isinstance(x, str):
        return SinkProgress(description=v.text(x))
    if not isinstance(x, Mapping):
        return SinkProgress()
    return SinkProgress(
        description=v.text(x.get("description")),
        numOutputRows=v.count(x.get("numOutputRows")),
        metrics=v.metrics(x.get("metrics")),
    )


def _event_time(record: Mapping[Any, Any]) -> dict[str, str]:
    times = {
        key: time
        for key, value in v.items(v.decoded(record.get("eventTime")))
        if (time := v.timestamp(value)) is not None
    }
    if "watermark" not in times:
        old = v.timestamp(record.get("currentWatermark"))  # Spark 2.0 and 2.1
        if old is not None:
            times["watermark"] = old
    return times


def _observed(x: Any) -> dict[str, Any]:
    found = {}
    for key, value in v.items(x):
        row = _of_object(value) if not isinstance(value, (Mapping, list, str, int, float, type(None))) else value
        if isinstance(row, Mapping) and isinstance(row.get("schema"), Mapping):  # a Row of Spark Connect as JSON
            columns = [v.text(column.get("name")) for column in v.mappings(row["schema"].get("fields"))]
            values = row.get("values")
            row = dict(zip(columns, values, strict=False)) if isinstance(values, (list, tuple)) else None
        found[key] = v.plain(row)
    return found


def _total(parts: list[Any]) -> Any:
    """The sum when there are parts and all of them are known, else None."""
    return sum(parts) if parts and None not in parts else None


def _plain(x: Any) -> Any:
    if isinstance(x, Record):
        return x.to_dict()
    if isinstance(x, tuple):
        return [_plain(part) for part in x]
    return x
