"""Records as an outline: a ``name: value`` on each line and indentation instead of braces, as YAML has it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from jupyter_streamwatch.recordings.formats import reader
from jupyter_streamwatch.recordings.formats.literals import word

_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?P<dash>- +)?[\"']?(?P<key>[\w.@\-]+)[\"']?:(?:[ \t]+(?P<value>[^\n]*))?(?:\n|\Z)"
)


@dataclass
class _Row:
    indent: int
    dash: bool
    key: str
    value: str


def read(text: str, pos: int, at: int) -> tuple[Any, int, int]:
    """Read the outline around ``at``, which begins at ``pos`` or later.

    Returns:
        The record (None when this is no outline), where it begins and where reading ended.
    """
    start = max(pos, text.rfind("\n", pos, at) + 1)
    if not _LINE.match(text, start):
        return None, at, at
    while start > pos:
        before = max(pos, text.rfind("\n", pos, start - 1) + 1)
        line = _LINE.match(text, before)
        if line is None or line.end() != start:
            break
        start = before
    rows: list[_Row] = []
    names: set[tuple[str, int]] = set()
    end = start
    while (line := _LINE.match(text, end)) and line.end() > end:
        indent = len(line["indent"].expandtabs(2))
        if line["key"] in ("id", "runId") and (line["key"], indent) in names:
            break
        dash = line["dash"] or ""
        if dash:  # the members of a list's element stand where the first one does
            rows.append(_Row(indent, True, "", ""))
        value = (line["value"] or "").strip()
        if line[0].endswith("\n") or not value[-1:].isdigit():  # else the text may end inside of a number
            rows.append(_Row(indent + len(dash), False, line["key"], value))
            names.add((line["key"], indent + len(dash)))
        end = line.end()
    if not rows or rows[0].dash or any(row.value.endswith((",", "{")) for row in rows):
        return None, start, end
    value, used = _mapping(rows, 0)
    return (value if used == len(rows) else None), start, end


def _mapping(rows: list[_Row], first: int) -> tuple[dict[str, Any], int]:
    out: dict[str, Any] = {}
    indent = rows[first].indent
    at = first
    while at < len(rows) and rows[at].indent == indent and not rows[at].dash:
        row = rows[at]
        at += 1
        if row.value:
            out[row.key] = _value(row.value)
        elif at < len(rows) and rows[at].dash and rows[at].indent >= indent:
            out[row.key], at = _list(rows, at)
        elif at < len(rows) and rows[at].indent > indent:
            out[row.key], at = _mapping(rows, at)
        else:
            out[row.key] = None
    return out, at


def _list(rows: list[_Row], first: int) -> tuple[list[Any], int]:
    out: list[Any] = []
    indent = rows[first].indent
    at = first
    while at < len(rows) and rows[at].dash and rows[at].indent == indent:
        element, at = _mapping(rows, at + 1)
        out.append(element)
    return out, at


def _value(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    reading = reader.read(text + "\n", 0, len(text) + 1)
    return reading.value if reading.end >= len(text) and not reading.cut else word(text) or text
