"""What the text of an analyzed plan says: filters, stateful operators, watermarks, and where each column comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_streamwatch.model.query_shape import Aggregate, Column, OperatorShape
from jupyter_streamwatch.spark.plans.expressions import (
    closing,
    conjuncts,
    converts,
    delay_ms,
    steady,
    window,
    without_ids,
)
from jupyter_streamwatch.spark.plans.nodes import LEAVES, OPERATORS
from jupyter_streamwatch.spark.plans.text import CUT, Item, Node, brackets, item, items, short, split, tree, written
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_FUNCTIONS_TEXT = """
any_value approx_count_distinct approx_percentile avg bit_and bit_or bit_xor bitmap_construct_agg bool_and bool_or
collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every first first_value
histogram_numeric hll_sketch_agg kurtosis last last_value listagg max max_by mean median min min_by mode percentile
percentile_approx product regr_count skewness some std stddev stddev_pop stddev_samp string_agg sum try_avg try_sum
var_pop var_samp variance
"""
FUNCTIONS = frozenset(_FUNCTIONS_TEXT.split())
"""Aggregate functions as Spark prints them."""


_AGGREGATE = re.compile(rf"\b(?P<function>{'|'.join(sorted(FUNCTIONS, key=len, reverse=True))})\(")
_WATERMARK = re.compile(r"^(?:[0-9a-f-]{36}, )?(?P<column>.+#\d+)L?(?:-T\d+ms)?: \w+, (?P<delay>[\w .-]+?)$")
_FUNCTION = re.compile(r"^(?P<function>.+?)\(.*?\)#\d+", re.DOTALL)
_WRITES = ("WriteToMicroBatchDataSource", "WriteToMicroBatchDataSourceV1", "WriteToContinuousDataSource")
_USER_STATE = {name: kept for name, kept in OPERATORS.items() if name.startswith(("FlatMapGroups", "TransformWith"))}
AFTER = {
    "stateStoreSave": "the aggregation",
    "sessionWindowStateStoreSaveExec": "the aggregation",
    "dedupe": "dropDuplicates",
    "dedupeWithinWatermark": "dropDuplicatesWithinWatermark",
    "symmetricHashJoin": "the join",
    "globalLimit": "the limit",
}


@dataclass
class Analyzed:
    """What was found.

    Attributes:
        leaves: Name and text of each streaming source's node; one that is read twice counts twice.
        filters: Conditions, sorted.
        output: Output columns with their origins; None when the plan's text was cut.
        operators: Stateful operators, from the sources on.
        watermarks: (column, delay in ms).
        truncated: Whether lists of columns were cut.
    """

    leaves: list[tuple[str, str]] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    output: tuple[Column, ...] = ()
    operators: list[OperatorShape] = field(default_factory=list)
    watermarks: list[tuple[str, float]] = field(default_factory=list)
    truncated: bool = False

    def told(self) -> dict[str, Any]:
        """Return filters, operators and watermarks by the names of a shape's attributes, without secrets."""
        return {
            "filters": tuple(redact(text) for text in self.filters),
            "truncated": self.truncated,
            "operators": tuple(self.operators),
            "watermarks": tuple(self.watermarks),
        }


def columns(schema: Sequence[Column], found: Analyzed | None) -> tuple[Column, ...]:
    """Return the columns of a schema with where they come from, as far as the plan lists the same ones."""
    listed = found.output if found is not None and len(found.output) == len(schema) else (None,) * len(schema)
    origins = (one.origin if one is not None else None for one in listed)
    return tuple(
        Column(steady(one.name), one.type, one.nullable, origin and redact(origin))
        for one, origin in zip(schema, origins, strict=True)
    )


def read(text: str) -> Analyzed | None:
    """Read the text of an analyzed plan; None when it holds none.

    Raises:
        ValueError: when it is too long to be read.
    """
    root = tree(text)
    return None if root is None else _Reader(root).read()


def streaming(node: Node) -> bool:
    """Whether a node works on a stream."""
    return node.streaming or node.name in LEAVES or any(streaming(child) for child in node.children)


class _Reader:
    """One walk over a plan, sources first; ``names`` and ``origins`` are those of all columns seen so far."""

    def __init__(self, root: Node) -> None:
        while root.name in _WRITES and root.children:
            root = root.children[0]
        self._root = root
        self._names: dict[str, str] = {}
        self._origins: dict[str, str] = {}
        self._found = Analyzed()
        self._inputs = 0
        self._alone = _leaves(root) == 1

    def read(self) -> Analyzed:
        output = self._visit(self._root, None)
        found = self._found
        found.output = tuple(Column(steady(self._names[id]), origin=self._origins.get(id)) for id in output)
        found.filters = sorted(dict.fromkeys(found.filters))
        found.watermarks = list(dict.fromkeys(found.watermarks))
        return found

    def _visit(self, node: Node, parent: Node | None) -> list[str]:
        """Return the ids of the node's output columns."""
        before = len(self._found.operators)
        inputs = [self._visit(child, node) for child in node.children]
        below = [id for ids in inputs for id in ids]
        if CUT.search(node.text):
            self._found.truncated = True
        if not node.children:
            return self._leaf(node)
        handler: Callable[..., list[str]] | None = getattr(self, f"_{node.name}", None)
        if node.name in _USER_STATE:
            return self._user_state(node, below)
        if handler is None:
            return self._other(node, below)
        if node.name == "Filter":
            return self._Filter(node, below, parent, self._found.operators[before:])
        if node.name in ("Join", "Union"):
            return handler(node, inputs)
        return handler(node, below)

    # Where columns come from

    def _write(self, text: str) -> str:
        return short(window(written(without_ids(text), self._names, self._origins)))

    def _define(self, found: Item, origin: str) -> str | None:
        if found.id is None or found.name is None:
            return None
        self._names[found.id] = found.name
        self._origins[found.id] = origin
        return found.id

    def _leaf(self, node: Node) -> list[str]:
        if node.name in LEAVES:
            self._found.leaves.append((node.name, node.text))
        groups = brackets(node.text)
        columns = items(groups[-1] if node.name in LEAVES else groups[0] if groups else "")
        self._inputs += 1
        prefix = "" if self._alone else f"input{self._inputs}."
        ids = [self._define(one, f"{prefix}{one.name}") for one in columns]
        return [id for id in ids if id is not None]

    def _column(self, text: str) -> Column:
        found = item(text)
        name = found.name if found.id in self._names and found.expression == text and found.id else None
        return Column(name or "", origin=self._write(text))

    # Nodes

    def _Project(self, node: Node, _below: Sequence[str]) -> list[str]:
        groups = brackets(node.text)
        ids = [
            one.id if one.id in self._names else self._define(one, self._write(one.expression))
            for one in items(groups[0] if groups else "")
        ]
        return [id for id in ids if id is not None]

    def _Aggregate(self, node: Node, _below: Sequence[str]) -> list[str]:
        groups = [*brackets(node.text), "", ""]
        keys = tuple(self._column(text) for text in split(groups[0]))
        columns = items(groups[1])
        aggregates: list[Aggregate] = []
        for one in columns:
            aggregates += self._aggregates(one)
        if streaming(node):
            session = any(key.name == "session_window" for key in keys)
            name = "sessionWindowStateStoreSaveExec" if session else "stateStoreSave"
            once = tuple({(one.function, one.argument): one for one in reversed(aggregates)}.values())[::-1]
            self._found.operators.append(OperatorShape(name, keys, once))
        return self._Project(Node("Project", f"[{groups[1]}]", node.streaming), _below)

    def _aggregates(self, column: Item) -> list[Aggregate]:
        """Return the aggregates inside one output column."""
        text = column.expression
        found: list[Aggregate] = []
        at = 0
        while match := _AGGREGATE.search(text, at):
            end = closing(text, match.end() - 1)
            argument = self._write(text[match.end() : end])
            tail = re.match(r" FILTER \(WHERE ", text[end + 1 :])
            if tail:
                last = closing(text, end + 1 + len(" FILTER "))
                argument += f" where {self._write(text[end + 1 + tail.end() : last])}"
                end = last
            found.append(Aggregate(match["function"], argument, column.name or ""))
            at = end + 1
        return found

    def _Filter(
        self, node: Node, below: list[str], parent: Node | None, operators: Sequence[OperatorShape]
    ) -> list[str]:
        beside = [*node.children, *([parent] if parent else [])]
        made_by_window = node.text.startswith("isnotnull(") and any(converts(one.text) for one in beside)
        if streaming(node) and not made_by_window:
            after = " and ".join(dict.fromkeys(AFTER.get(one.name, "the state function") for one in operators))
            place = f", after {after}" if after else ""
            self._found.filters += [f"{self._write(part)}{place}" for part in conjuncts(node.text)]
        return below

    def _Join(self, node: Node, inputs: Sequence[list[str]]) -> list[str]:
        kind, _, condition = node.text.partition(", ")
        if len(node.children) == 2 and all(streaming(child) for child in node.children):
            parts = sorted(self._write(part) for part in conjuncts(condition)) if condition else []
            joined = OperatorShape("symmetricHashJoin", joinType=kind.strip(), condition=" AND ".join(parts) or None)
            self._found.operators.append(joined)
        elif streaming(node):
            parts = sorted(self._write(part) for part in conjuncts(condition)) if condition else []
            self._found.filters.append(f"join with a table: {kind.strip()} on {' AND '.join(parts)}")
        semi = kind.strip() in ("LeftSemi", "LeftAnti")
        return inputs[0] if semi else [id for ids in inputs for id in ids]

    def _Union(self, _node: Node, inputs: Sequence[list[str]]) -> list[str]:
        for ids in zip(*inputs, strict=False):
            self._origins[ids[0]] = " | ".join(dict.fromkeys(self._origins.get(id, "") for id in ids))
        return list(inputs[0])

    def _Expand(self, node: Node, _below: Sequence[str]) -> list[str]:
        groups = brackets(node.text)
        rows = [[self._write(one) for one in split(row[1:-1])] for row in split(groups[0])] if groups else []
        made = items(groups[1]) if len(groups) > 1 else []
        ids = []
        for at, one in enumerate(made):
            cells = dict.fromkeys(row[at] for row in rows if at < len(row))
            sliding = len(cells) > 1 and all(cell.startswith("window(") for cell in cells)
            told = next(iter(cells)) if sliding else short(" | ".join(cells))
            ids.append(one.id if one.id in self._names else self._define(one, told))
        return [id for id in ids if id is not None]

    def _Generate(self, node: Node, below: list[str]) -> list[str]:
        groups = brackets(node.text)
        origin = self._write(split(node.text)[0])
        made = [self._define(one, f"{origin}.{one.name}") for one in items(groups[-1] if groups else "")]
        return [*below, *(id for id in made if id is not None)]

    def _Deduplicate(self, node: Node, below: list[str], name: str = "dedupe") -> list[str]:
        if streaming(node):
            groups = brackets(node.text)
            keys = tuple(self._column(text) for text in split(groups[0] if groups else ""))
            self._found.operators.append(OperatorShape(name, keys))
        return below

    def _DeduplicateWithinWatermark(self, node: Node, below: list[str]) -> list[str]:
        return self._Deduplicate(node, below, "dedupeWithinWatermark")

    def _Distinct(self, node: Node, below: list[str]) -> list[str]:
        if streaming(node):
            keys = tuple(Column(self._names[id], origin=self._origins.get(id)) for id in below)
            self._found.operators.append(OperatorShape("stateStoreSave", keys))
        return below

    def _GlobalLimit(self, node: Node, below: list[str]) -> list[str]:
        if streaming(node):
            self._found.operators.append(OperatorShape("globalLimit", stateSchema=f"limit {node.text}"))
        return below

    def _CollectMetrics(self, _node: Node, below: list[str]) -> list[str]:
        return below  # observed metrics are no columns of the output

    def _EventTimeWatermark(self, node: Node, below: list[str]) -> list[str]:
        found = _WATERMARK.match(node.text)
        delay = delay_ms(found["delay"]) if found else None
        if found and delay is not None:
            self._found.watermarks.append((self._write(found["column"]), delay))
        return below

    def _user_state(self, node: Node, below: list[str]) -> list[str]:
        groups = brackets(node.text)
        words = [part for part in split(node.text) if "(" not in part and "[" not in part]
        if node.name == "FlatMapGroupsInPandasWithState" and len(groups) > 2:
            keys = tuple(self._column(text) for text in split(groups[0]))
            self._found.operators.append(
                OperatorShape(_USER_STATE[node.name], keys, condition=", ".join(words), stateSchema=groups[2])
            )
            return self._made(node, groups[1])
        count = int(words[0]) if words and words[0].isdigit() else 0
        keys = tuple(Column(self._names[id], origin=self._origins.get(id)) for id in below[:count])
        self._found.operators.append(OperatorShape(_USER_STATE[node.name], keys, condition=", ".join(words[1:3])))
        return self._made(node, groups[0] if groups else "")

    def _made(self, node: Node, columns: str) -> list[str]:
        called = _FUNCTION.match(node.text)
        what = called["function"] if called else node.name
        made = [self._define(one, f"{what}(…).{one.name}") for one in items(columns)]
        return [id for id in made if id is not None]

    def _other(self, node: Node, below: list[str]) -> list[str]:
        """Take a node that is not known: new columns that it lists are its output, else it passes on its input."""
        for group in reversed(brackets(node.text)):
            columns = items(group)
            if columns and all(one.id is not None and one.id not in self._names for one in columns):
                return self._made(node, group)
        return below


def _leaves(node: Node) -> int:
    return sum(_leaves(child) for child in node.children) or 1
