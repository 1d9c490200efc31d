"""The offset log and the commit log: ``offsets/N`` and ``commits/N``, as Spark 2.1 to 4.3 write them.

The first line is a version (``v1``); then comes the batch's metadata as JSON, and in ``offsets/N`` one line a source
(``OffsetSeqLog``, ``CommitLog`` in Spark's sources). Version 2 of the offset log names the sources
(``0:{"logOffset":3}``), version 2 of the commit log holds the ids of the state's files. What cannot be read is a
sentence in the entry's ``problem``; nothing here raises.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from jupyter_streamwatch.checkpoints.logs.offsets import decode
from jupyter_streamwatch.checkpoints.parts import CommitEntry, OffsetEntry, SourceOffset
from jupyter_streamwatch.text.numbers import clean
from jupyter_streamwatch.text.redaction import redact_all

_VERSION = re.compile(r"v\d{1,9}$")
_NAMED = re.compile(r'(?P<name>[^\s{}\[\]:"]{1,200}):(?P<offset>.*)$', re.DOTALL)
_DEEPEST = 40  # a person's or a source's JSON has a handful of levels
KNOWN_VERSION = 2  # of both logs, in Spark 4.3


class NotJsonError(ValueError):
    """Text is not JSON, or too deep to be anybody's."""


def metadata_id(text: str) -> str | None:
    """The query's id from the file ``metadata``; None when it holds none."""
    try:
        found = loads(text)
    except NotJsonError:
        return None
    id = found.get("id") if isinstance(found, dict) else None
    return clean(id)[:200] if isinstance(id, str) and id.strip() else None


def offset_entry(batchId: int, text: str) -> OffsetEntry:
    """Read ``offsets/N``."""
    name = f"offsets/{batchId}"
    version, lines, problem = _head(name, text)
    if version is None:
        return OffsetEntry(batchId, problem=problem)
    metadata: dict[str, Any] = {}
    if not lines:
        problem = f"{name} ends after its first line: it was not written to its end."
    elif lines[0].strip():  # Spark 2.0 leaves the line empty
        metadata, problem = _metadata(name, lines[0])
    sources = tuple(_source(index, line) for index, line in enumerate(lines[1:]))
    if problem is None and not sources:
        problem = f"{name} holds no offsets: it was not written to its end."
    conf = metadata.get("conf")
    return OffsetEntry(
        batchId,
        version=version,
        watermarkMs=_ms(metadata.get("batchWatermarkMs")),
        timestampMs=_ms(metadata.get("batchTimestampMs")),
        conf={str(key): _setting(str(key), str(value)) for key, value in conf.items()}
        if isinstance(conf, dict)
        else {},
        sources=sources,
        bare=bool(lines) and not lines[0].strip(),
        problem=problem or _newer(name, version),
    )


def commit_entry(batchId: int, text: str) -> CommitEntry:
    """Read ``commits/N``; a commit without metadata (Spark 2.1 and 2.2 write ``{}``) is one."""
    name = f"commits/{batchId}"
    version, lines, problem = _head(name, text)
    if version is None:
        return CommitEntry(batchId, problem=problem)
    metadata: dict[str, Any] = {}
    if lines and lines[0].strip():
        metadata, problem = _metadata(name, lines[0])
    return CommitEntry(
        batchId,
        version=version,
        nextWatermarkMs=_ms(metadata.get("nextBatchWatermarkMs")),
        stateIds=_state_ids(metadata.get("stateUniqueIds")),
        metadata=bool(metadata),
        problem=problem or _newer(name, version),
    )


@lru_cache(maxsize=1024)
def _setting(key: str, value: str) -> str:
    """A setting without secrets; all entries of a log have the same ones."""
    return str(redact_all(value, key))


def loads(text: str) -> Any:
    """Decode JSON of a checkpoint: not a number is None, and so is what no JSON text can hold again.

    Raises:
        NotJsonError: When it is none.
    """
    try:
        found = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None
    if _depth(found) > _DEEPEST:
        raise NotJsonError("nested too deep")
    return found


def _depth(x: Any, level: int = 0) -> int:
    if level > _DEEPEST or not isinstance(x, (dict, list)):
        return level
    return max((_depth(one, level + 1) for one in (x.values() if isinstance(x, dict) else x)), default=level)


def _head(name: str, text: str) -> tuple[str | None, list[str], str | None]:
    """Take the version's line off."""
    if not text.strip("\0 \r\n\t"):
        return None, [], f"{name} is empty: it was not written to its end."
    lines = text.splitlines() if "\r" in text else text.split("\n")
    while lines and not lines[-1]:
        lines.pop()
    version = lines[0].strip()
    if not _VERSION.match(version):
        return None, [], f"{name} does not begin with a version (v1): it is damaged, or no file of a checkpoint."
    return version, lines[1:], None


def _newer(name: str, version: str) -> str | None:
    if int(version[1:]) <= KNOWN_VERSION:
        return None
    return f"{name} has version {version}, newer than v{KNOWN_VERSION}, the last one known here: it may be misread."


def _metadata(name: str, line: str) -> tuple[dict[str, Any], str | None]:
    try:
        found = loads(line)
    except NotJsonError:
        found = None
    return (found, None) if isinstance(found, dict) else ({}, f"{name} has no readable metadata line: it is damaged.")


def _source(index: int, line: str) -> SourceOffset:
    line = line.strip()
    name = None
    # The offset log of version 2 names its sources; JSON itself never begins so.
    if named := _NAMED.match(line):
        name, line = named["name"], named["offset"]
    try:
        value = None if line == "-" else loads(line)
    except NotJsonError:
        value = line[:2_000]
    return decode(index, redact_all(value), name=name)


def _ms(x: Any) -> int | None:
    """Epoch ms; the epoch itself stands for unset."""
    return x if isinstance(x, int) and not isinstance(x, bool) and 0 < x < 1 << 53 else None


def _state_ids(x: Any) -> dict[int, tuple[tuple[str, ...], ...]]:
    if not isinstance(x, dict):
        return {}
    return {
        int(operator): tuple(tuple(str(id) for id in stores) for stores in partitions if isinstance(stores, list))
        for operator, partitions in x.items()
        if operator.isascii() and operator.isdigit() and len(operator) < 9 and isinstance(partitions, list)
    }
