"""What the text of a physical plan says of the state that its operators will keep: keys and values by name.

The physical plan names what the state's schema files name: the optimizer takes expressions out of grouping keys, drops
aggregates and columns that nothing reads, and gives each aggregate its buffers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.model.query_shape import GROUPING_EXPRESSION, NOT_BIGINT, Column, StateShape
from jupyter_streamwatch.spark.plans.text import CUT, Item, Node, brackets, item, items, split, tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jupyter_streamwatch.model.query_shape import OperatorShape

_OPERATOR = re.compile(r"\bopId = (?P<id>\d+)\b")
_AGGREGATE = re.compile(r"^(?:Object)?HashAggregate$|^SortAggregate$")
_OUTPUT = re.compile(r", output=\[")
_FUNCTIONS = re.compile(r"functions=\[")
_STATE_FIELD = re.compile(
    r"StructField\((?P<name>[^,]+),(?P<type>\w+|DecimalType\(\d+,\d+\)),(?P<nullable>true|false)\)"
)
_SIMPLE = {
    "LongType": "bigint",
    "IntegerType": "int",
    "ShortType": "smallint",
    "ByteType": "tinyint",
    "StringType": "string",
    "DoubleType": "double",
    "FloatType": "float",
    "BooleanType": "boolean",
    "TimestampType": "timestamp",
    "TimestampNTZType": "timestamp_ntz",
    "DateType": "date",
    "BinaryType": "binary",
}
_STORES = {
    "StateStoreSave": "stateStoreSave",
    "SessionWindowStateStoreSave": "sessionWindowStateStoreSaveExec",
    "StreamingDeduplicate": "dedupe",
    "StreamingDeduplicateWithinWatermark": "dedupeWithinWatermark",
    "StreamingSymmetricHashJoin": "symmetricHashJoin",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithState": "transformWithStateExec",
    "TransformWithStateInPandas": "transformWithStateInPandasExec",
    "TransformWithStateInPySpark": "transformWithStateInPySparkExec",
    "StreamingGlobalLimit": "globalLimit",
}
_KEYED = frozenset(_STORES.values()) - {"globalLimit", "flatMapGroupsWithState", "transformWithStateExec"}
_PASSES = {"Exchange", "Sort", "Filter", "EventTimeWatermark", "InputAdapter", "WholeStageCodegen", "Coalesce"}
_LEAVES = {"StreamingRelation", "LocalTableScan", "FileScan", "Scan", "BatchScan", "MicroBatchScan"}
# Buffers that are never null in Spark's own definition (measured on 3.5.9 and 4.3.0); all others may be.
_NEVER_NULL = {"count": {"count"}, "n": {"n"}, "avg": {"avg"}, "m2": {"m2"}, "m3": {"m3"}, "m4": {"m4"}}
_PLAIN = {"min", "max", "first", "last", "bit_and", "bit_or", "bit_xor"}


def read(
    text: str, types: Mapping[str, tuple[str, bool | None]], operators: Sequence[OperatorShape]
) -> tuple[StateShape, ...]:
    """Read the text of a physical plan.

    Args:
        text: the plan.
        types: what is known of columns: name, or id with ``#`` before it, -> (type, whether it may be null).
        operators: stateful operators of the analyzed plan, for a plan that Spark could not make.

    Returns:
        The operators by number.

    Raises:
        ValueError: when it is too long to be read.
    """
    root = tree(text)
    found: dict[int, StateShape] = {}
    for node in _nodes(root) if root is not None else ():
        number = _OPERATOR.search(node.text)
        if node.name in _STORES and number:
            found.setdefault(int(number["id"]), _operator(node, int(number["id"]), types))
    return tuple(found[id] for id in sorted(found)) or planned(operators, types)


def planned(
    operators: Sequence[OperatorShape],
    types: Mapping[str, tuple[str, bool | None]],
    output: Sequence[Column] = (),
) -> tuple[StateShape, ...]:
    """Return what the analyzed plan alone tells of the state: keys, and the buffers of a single aggregation.

    Operators are numbered from the sink on. Of two aggregations the optimizer may drop aggregates that the second one
    does not read.
    """
    made = []
    single = sum(one.name == "stateStoreSave" for one in operators) == 1
    for id, one in enumerate(reversed(operators)):
        keys = [key.name or GROUPING_EXPRESSION for key in one.keys]
        known = [types.get(name) or (None, None) for name in keys]
        key = tuple(Column(name, *told) for name, told in zip(keys, known, strict=True))
        if one.name == "sessionWindowStateStoreSaveExec":
            plain = (column for column in key if column.name != "session_window")
            key = (*plain, Column("sessionStartTime", "timestamp"))
        value = _by_function(one, output) if single and one.name == "stateStoreSave" and output else None
        made.append(StateShape(id, one.name, key if one.name in _KEYED - {"symmetricHashJoin"} else None, value))
    return tuple(made)


def _by_function(operator: OperatorShape, output: Sequence[Column]) -> tuple[Column, ...] | None:
    """Return the buffers of aggregates whose buffers are known (measured on 3.5.9 and 4.3.0); None with another one."""
    given = {column.origin: column.type for column in output}
    made: list[Column] = []
    for one in operator.aggregates:
        type = given.get(str(one))
        decimal = type is None or type.startswith("decimal")
        if one.function == "count":
            made.append(Column("count", "bigint", nullable=False))
        elif one.function in ("sum", "avg") and not decimal:
            made.append(Column("sum", type, nullable=True))
            made += [Column("count", "bigint", nullable=True)] if one.function == "avg" else []
        elif one.function in ("min", "max"):
            made.append(Column(one.function, type, nullable=True))
        else:
            return None
    return tuple(made)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _operator(node: Node, id: int, types: Mapping[str, tuple[str, bool | None]]) -> StateShape:
    name = _STORES[node.name]
    groups = brackets(node.text.partition("state info [")[0])
    made = StateShape(id, name, _columns(groups[0] if groups else "", types) if name in _KEYED else None)
    if name == "stateStoreSave":
        return replace(made, value=_buffers(node, groups[0] if groups else "", types))
    if name == "sessionWindowStateStoreSaveExec" and made.key is not None:
        return replace(made, key=(*made.key, Column("sessionStartTime", "timestamp")))
    if name == "symmetricHashJoin" and len(node.children) == 2:
        left, right = (_output(child, types) for child in node.children)
        return replace(made, value=left, right=right)
    if name == "applyInPandasWithState" and len(groups) > 2:
        words = [word for word in split(node.text) if word.endswith("Timeout")]
        return replace(made, value=_user_state(groups[2]), timeout="NoTimeout" not in words if words else None)
    return made


def _columns(text: str, types: Mapping[str, tuple[str, bool | None]]) -> tuple[Column, ...] | None:
    if CUT.search(text):
        return None
    made = [_column(item(part), types) for part in split(text)]
    return None if any(one is None for one in made) else tuple(one for one in made if one is not None)


def _column(one: Item, types: Mapping[str, tuple[str, bool | None]]) -> Column | None:
    if one.name is None:
        return None
    known = types.get(f"#{one.id}") or types.get(one.name)
    type, nullable = known or ("bigint" if one.long else NOT_BIGINT, None)
    return Column(one.name, type, nullable)


def _buffers(node: Node, keys: str, types: Mapping[str, tuple[str, bool | None]]) -> tuple[Column, ...] | None:
    """Return the buffers of the aggregates below a ``StateStoreSave``: the output of the merge without the keys."""
    merge = node.children[0] if node.children else None
    while merge is not None and not _AGGREGATE.match(merge.name):
        merge = merge.children[0] if len(merge.children) == 1 else None
    if merge is None:
        return None
    found = _OUTPUT.search(merge.text)
    functions = _FUNCTIONS.search(merge.text)
    if not found or not functions or CUT.search(merge.text):
        return None
    output = items(brackets(merge.text[found.end() - 1 :])[0])
    used = brackets(merge.text[functions.end() - 1 :])[0]
    known = {one.id for one in items(keys)}
    buffers = [one for one in output if one.id not in known]
    if any(one.name is None for one in buffers):
        return None
    return tuple(_typed(buffers, split(used), types))


def _typed(buffers: list[Item], functions: list[str], types: Mapping[str, tuple[str, bool | None]]) -> Iterator[Column]:
    """Give buffers their types as far as they are known: of ``min(ts#3)`` that of the column, of counts bigint."""
    waiting = [function.removeprefix("merge_") for function in functions]
    for one in buffers:
        name = one.name or ""
        while waiting and name in _PLAIN and not waiting[0].startswith(f"{name}("):
            waiting.pop(0)
        type = "bigint" if one.long else NOT_BIGINT
        if name in _PLAIN and waiting:
            argument = item(split(waiting.pop(0).partition("(")[2].removesuffix(")"))[0])
            known = types.get(f"#{argument.id}") or types.get(argument.name or "")
            type = known[0] if known else type
        elif name in ("n", "m2", "m3", "m4", "product"):
            type = "double"
        elif name == "buf":
            type = "binary"
        yield Column(name, type, nullable=name not in _NEVER_NULL)


def _output(node: Node, types: Mapping[str, tuple[str, bool | None]]) -> tuple[Column, ...] | None:
    """Return the columns that a node of a physical plan gives; None when it is not known how to tell."""
    if CUT.search(node.text):
        return None
    if node.name in _PASSES and len(node.children) == 1:
        return _output(node.children[0], types)
    if node.name == "Project" or (node.name in _LEAVES and not node.children):
        groups = brackets(node.text)
        listed = groups[-1:] if node.name == "StreamingRelation" else groups[:1]  # FileSource[path], [columns]
        return _columns(listed[0], types) if listed else None
    if _AGGREGATE.match(node.name) and (found := _OUTPUT.search(node.text)):
        return _columns(brackets(node.text[found.end() - 1 :])[0], types)
    return None


def _user_state(text: str) -> tuple[Column, ...] | None:
    """Read ``StructField(c,LongType,true), ...``; None when a type is not a simple one."""
    made = []
    for part in split(text):
        found = _STATE_FIELD.fullmatch(part)
        if found is None:
            return None
        decimal = found["type"].replace("DecimalType", "decimal")
        made.append(Column(found["name"], _SIMPLE.get(found["type"], decimal), found["nullable"] == "true"))
    return tuple(made)
