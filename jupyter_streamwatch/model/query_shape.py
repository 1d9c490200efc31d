"""What a streaming query is, as far as its plan says: the part of it that a restart on the same checkpoint must fit.

Names only, never the ids of expressions: the same code gives the same shape each time it runs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.text.outside import brief

if TYPE_CHECKING:
    from collections.abc import Mapping


GROUPING_EXPRESSION = "_groupingexpression"
"""What Spark calls a grouping key that is no plain column, in plans and in states (since 3.3)."""
NOT_BIGINT = "not bigint"
"""A type of which Spark's text tells just this: only bigint columns are marked there."""


@dataclass(frozen=True)
class Column:
    """A column of a key, of a state or of an output.

    Attributes:
        name: Its name.
        type: Its type as Spark writes it (``bigint``); None when unknown.
        nullable: Whether it may be null; None when unknown.
        origin: What it is made of, in columns of the sources; None when unknown.
    """

    name: str
    type: str | None = None
    nullable: bool | None = None
    origin: str | None = None


@dataclass(frozen=True)
class Aggregate:
    """An aggregate: ``sum(amount)``; the argument is text in columns of the sources."""

    function: str
    argument: str
    alias: str

    def __str__(self) -> str:
        """As in a query."""
        return f"{self.function}({self.argument})"


@dataclass(frozen=True)
class SourceShape:
    """A source.

    Attributes:
        kind: ``file``, ``kafka``, ``rate`` and the like, as in a checkpoint's offsets; None when unknown.
        what: Which one, as a person would name it: ``files /data/in``, ``Kafka orders``; secrets redacted.
        limits: Options that bound a batch, as (name in lower case, value); None when unknown.
        format: Of files: ``json``, ``parquet``, ...; None when unknown.
        name: Its name (``readStream.name("orders")``); None where it has none or that is unknown.
        start: Options that say where a new query begins, as (name in lower case, value); None when unknown.
    """

    kind: str | None
    what: str
    limits: tuple[tuple[str, str], ...] | None = None
    format: str | None = None
    name: str | None = None
    start: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class OperatorShape:
    """A stateful operator of the analyzed plan.

    Attributes:
        name: As in progress records: ``stateStoreSave``, ``dedupe``, ``symmetricHashJoin``, ...
        keys: Grouping keys, or the columns of a deduplication.
        aggregates: Aggregates, in order.
        joinType: ``Inner``, ``LeftOuter``, ...
        condition: Join condition, or the function, time-out and the like of an operator with user state.
        stateSchema: User state, as text.
    """

    name: str
    keys: tuple[Column, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    joinType: str | None = None
    condition: str | None = None
    stateSchema: str | None = None


@dataclass(frozen=True)
class StateShape:
    """What a stateful operator will keep, as the physical plan says.

    Attributes:
        id: Number of the operator, as in the checkpoint's ``state/N``.
        name: As in progress records.
        key: Columns of the key; None when unknown.
        value: Columns of the value; None when unknown.
        right: Columns of the value of a join's right side (``value`` is the left one's); None when unknown.
        timeout: Whether a time-out is kept with user state.
    """

    id: int
    name: str
    key: tuple[Column, ...] | None = None
    value: tuple[Column, ...] | None = None
    right: tuple[Column, ...] | None = None
    timeout: bool | None = None


@dataclass(frozen=True, repr=False)
class Shape:
    """What a query is; None is unknown.

    Attributes:
        mode: ``classic`` or ``connect``: texts of plans are compared within one of them only.
        sparkVersion: Spark's version.
        sources: Streaming sources in order.
        filters: Conditions, each once, sorted; with the stateful operators that come before, if there are any.
        output: Output columns.
        truncated: Whether the plan's text was cut, so that ``origin`` of the output is not complete.
        operators: Stateful operators, from the sources on.
        state: What they will keep, by number; of a query that is compared, not of a watched run.
        watermarks: (column, delay in ms), each once.
        outputMode: ``append``, ``update`` or ``complete``.
        sink: Kind of the sink: ``files``, ``kafka``, ``foreachBatch``, ...
        sinkPath: Where it writes: a path, topic or table; secrets redacted.
        sinkFormat: Of a file sink: ``json``, ``parquet``, ...; None when unknown.
        trigger: Kind of the trigger, as in :class:`~jupyter_streamwatch.model.trigger.Trigger`.
        options: Options of the writer that change what its checkpoint means, as (name in lower case, value).
        conf: The session's values of settings that were asked for.
    """

    mode: str | None = None
    sparkVersion: str | None = None
    sources: tuple[SourceShape, ...] | None = None
    filters: tuple[str, ...] | None = None
    output: tuple[Column, ...] | None = None
    truncated: bool = False
    operators: tuple[OperatorShape, ...] | None = None
    state: tuple[StateShape, ...] | None = None
    watermarks: tuple[tuple[str, float], ...] | None = None
    outputMode: str | None = None
    sink: str | None = None
    sinkPath: str | None = None
    sinkFormat: str | None = None
    trigger: str | None = None
    options: tuple[tuple[str, str], ...] | None = None
    conf: tuple[tuple[str, str], ...] = ()

    __repr__ = brief

    def to_dict(self) -> dict[str, Any]:
        """Return the shape as plain dicts, lists, texts and numbers."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Shape | None:
        """Return the shape that ``to_dict`` or JSON made plain; None for none. Unknown keys are ignored."""
        if isinstance(data, Shape):
            return data
        try:
            return _shape(data) if data else None
        except (TypeError, ValueError, KeyError, AttributeError):
            return None  # a recording from elsewhere: unknown


def _shape(data: Mapping[str, Any]) -> Shape:
    given = _known(Shape, data)
    made: dict[str, Any] = {
        name: given.get(name)
        for name in ("mode", "sparkVersion", "outputMode", "sink", "sinkPath", "sinkFormat", "trigger")
    }
    made["sources"] = _each(given.get("sources"), _source)
    made["filters"] = _each(given.get("filters"), str)
    made["output"] = _each(given.get("output"), _column)
    made["truncated"] = bool(given.get("truncated"))
    made["operators"] = _each(given.get("operators"), _operator)
    made["watermarks"] = _each(given.get("watermarks"), lambda pair: (str(pair[0]), float(pair[1])))
    made["options"] = _each(given.get("options"), _pair)
    made["conf"] = _each(given.get("conf") or (), _pair)
    return Shape(**made)


def _pair(data: Any) -> tuple[str, str]:
    return str(data[0]), str(data[1])


def _source(data: Any) -> SourceShape:
    limits, start = _each(data.get("limits"), _pair), _each(data.get("start"), _pair)
    return SourceShape(data["kind"], str(data["what"]), limits, data.get("format"), data.get("name"), start)


def _operator(data: Any) -> OperatorShape:
    given = _known(OperatorShape, data)
    given["keys"] = _each(given.get("keys") or (), _column)
    given["aggregates"] = _each(given.get("aggregates") or (), lambda one: Aggregate(**_known(Aggregate, one)))
    return OperatorShape(**given)


def _column(data: Any) -> Column:
    return Column(**_known(Column, data))


def _known(kind: Any, data: Any) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {key: value for key, value in v.items(data) if key in names}


def _each(items: Any, make: Any) -> tuple[Any, ...] | None:
    return None if items is None else tuple(make(item) for item in items)
