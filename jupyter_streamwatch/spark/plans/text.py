"""Reads the text of a plan as Spark prints it: a tree of nodes, lists in brackets, columns with the ids of expressions.

The text is the one form that classic Spark and Spark Connect both give, of a DataFrame and of a running query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256

MOST_TEXT = 200_000
"""Characters of a plan; a longer one is not read: reading takes about 5 ms per 1,000."""
LONGEST = 1_000
"""Characters of one expression; of a longer one the beginning and a checksum are kept."""
CUT = re.compile(r"\.\.\. \d+ more fields")
"""Spark leaves out the rest of a list that is longer than ``spark.sql.debug.maxToStringFields``."""

_LINE = re.compile(r"^(?P<indent>(?:[: ] {2})*(?:[:+]- )?)(?P<mark>~|!|\*\(\d+\) |\* )?(?P<name>[A-Z]\w*)(?P<rest>.*)$")
_ID = re.compile(r"#(?P<id>\d+)L?(?:-T\d+ms)?")
_COLUMN = re.compile(r"^(?P<name>.+)#(?P<id>\d+)(?P<long>L?)(?:-T\d+ms)?$", re.DOTALL)
_OPENING, _CLOSING = "([{", ")]}"


@dataclass
class Node:
    """One node of a plan; ``streaming`` is Spark's mark ``~`` (4.x), ``text`` what follows the name."""

    name: str
    text: str
    streaming: bool
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Item:
    """One entry of a list of columns: ``upper(city#0) AS c#4`` or ``city#0``; without a name it is an expression."""

    expression: str
    name: str | None
    id: str | None
    long: bool = False


def tree(text: str) -> Node | None:
    """Return the root of the plan in ``text``; None when there is none.

    Raises:
        ValueError: when the plan is too long to be read.
    """
    if len(text) > MOST_TEXT:
        raise ValueError("the plan is too long to be compared")
    stack: list[tuple[int, Node]] = []
    root = None
    for line in text.splitlines():
        found = _LINE.match(line)
        depth = len(found["indent"]) // 3 if found else 0
        if found is None or (root is not None and depth == 0):
            if stack:
                stack[-1][1].text += "\n" + line  # a text with a line break
            continue
        node = Node(found["name"], found["rest"].strip(), found["mark"] == "~")
        while stack and stack[-1][0] >= depth:
            stack.pop()
        if stack:
            stack[-1][1].children.append(node)
        elif root is None:
            root = node
        stack.append((depth, node))
    return root


def section(text: str, title: str) -> str | None:
    """Return one part of an extended explain: ``Analyzed Logical Plan``, ``Physical Plan``."""
    _, found, rest = text.partition(f"== {title} ==\n")
    return re.split(r"\n\n== \w[\w ]* ==\n", rest)[0].strip("\n") if found else None


def split(text: str) -> list[str]:
    """Split at the commas that stand in no bracket."""
    parts: list[str] = []
    depth = begin = 0
    for at, letter in enumerate(text):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    last = text[begin:].strip()
    return [*parts, last] if last or parts else []


def brackets(text: str) -> list[str]:
    """Return the insides of the square brackets that stand in no other bracket, in order."""
    found: list[str] = []
    depth = begin = 0
    for at, letter in enumerate(text):
        if letter in _OPENING:
            depth += 1
            if depth == 1:
                begin = at
        elif letter in _CLOSING:
            depth -= 1
            if depth == 0 and text[begin] == "[":
                found.append(text[begin + 1 : at])
    return found


def items(text: str) -> list[Item]:
    """Return the columns of a list."""
    return [item(part) for part in split(text)]


def item(text: str) -> Item:
    """Return one column, or one expression without a name."""
    expression, alias, named = text.rpartition(" AS ")
    column = _COLUMN.match(named)
    if alias and column and balanced(named):
        return Item(expression, column["name"], column["id"], bool(column["long"]))
    column = _COLUMN.match(text)
    if (
        column
        and balanced(column["name"])
        and not _ID.search(column["name"])
        and " " not in column["name"].split("(")[0]
    ):
        return Item(text, column["name"], column["id"], bool(column["long"]))
    return Item(text, None, None)


def balanced(text: str) -> bool:
    """Whether every bracket is closed."""
    return all(text.count(left) == text.count(right) for left, right in zip(_OPENING, _CLOSING, strict=True))


def written(text: str, names: dict[str, str], origins: dict[str, str]) -> str:
    """Write an expression in the columns of the sources, without ids.

    Args:
        text: the expression.
        names: id -> name of the column.
        origins: id -> what to write for it.
    """
    parts: list[str] = []
    at = 0
    for found in _ID.finditer(text):
        before = text[at : found.start()]
        name = names.get(found["id"])
        if name is not None and before.lower().endswith(name.lower()):  # Spark prints it as the query wrote it
            before = before[: len(before) - len(name)] + origins.get(found["id"], name)
        parts.append(before)
        at = found.end()
    return "".join([*parts, text[at:]])


def short(text: str) -> str:
    """Return ``text``, of a long one the beginning and a checksum of all."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… ({sha256(text.encode()).hexdigest()[:12]})"
