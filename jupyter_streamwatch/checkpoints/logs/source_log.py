"""The logs of a file source (``sources/N``) and of the file sink (``_spark_metadata``), compacted entries included.

Entry ``9.compact`` holds the lines of all entries before it, too (``CompactibleFileStreamLog``); what it replaced is
deleted after a while. A file source counts its entries itself: ``logOffset`` in the offset log is such a number, and a
batch without new files has none. The sources of other kinds keep one line there: Kafka the offsets of the very
beginning, rate the time of the first start.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_streamwatch.checkpoints.logs.log import NotJsonError, loads
from jupyter_streamwatch.checkpoints.parts import Part, SinkFile, SourceFile
from jupyter_streamwatch.checkpoints.storage.files import Local, is_number, reason
from jupyter_streamwatch.text.numbers import clean
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.checkpoints.storage.files import Storage, Tree

_COMPACT = ".compact"
_BATCH = re.compile(r'(?<!\\)"batchId"\s*:\s*(\d{1,18})(?!\d)')
_VERSION = re.compile(r"\0?v\d{1,9}\s*$")


class Taken(NamedTuple):
    """A file as the source's log has it; its path is what Spark opens, secrets and all."""

    path: str
    timestampMs: int | None
    entry: int


class FileLog:
    """A log of files in a folder of a tree: names ``N`` and ``N.compact``, one JSON line a file."""

    def __init__(self, tree: Tree, folder: str) -> None:
        """Read nothing yet."""
        self._tree = tree
        self._folder = folder
        self._lines: dict[str, list[str]] = {}
        self._groups: dict[str, dict[int, list[str]]] = {}
        self.problems: list[str] = []

    @property
    def storage(self) -> Storage:
        """Where it lies."""
        return self._tree.storage

    @cached_property
    def _plain(self) -> set[int]:
        return set(self._tree.numbers(self._folder))

    @cached_property
    def _compact(self) -> list[int]:
        names = (name.removesuffix(_COMPACT) for name in self._tree.files(self._folder) if name.endswith(_COMPACT))
        return sorted(int(name) for name in names if is_number(name))

    @property
    def last(self) -> int | None:
        """Number of the newest entry; None when there is none."""
        return max([*self._plain, *self._compact[-1:]], default=None)

    @property
    def has_first(self) -> bool:
        """Whether entry 0 has a file of its own."""
        return 0 in self._plain

    @property
    def numbers(self) -> list[int]:
        """Numbers of the entries that have a file of their own, ascending."""
        return sorted({*self._plain, *self._compact})

    def entries(self, first: int, last: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """Read entries ``first`` to ``last`` as far as they are there, each as the lines that name its batch.

        A line without a batch's number belongs to the file that it stands in.
        """
        end = self.last
        for number in range(first, min(last, -1 if end is None else end) + 1):
            if number in self._plain:
                yield number, [line for line in self._json(str(number)) if line.get("batchId", number) == number]
                continue
            at = bisect_left(self._compact, number)
            if at < len(self._compact):
                name = f"{self._compact[at]}{_COMPACT}"
                lines = self._grouped(name).get(number)
                if lines is not None:
                    yield number, self._parsed(name, lines)

    def whole(self, number: int) -> list[dict[str, Any]]:
        """All lines of the file of one entry."""
        return self._json(str(number) if number in self._plain else f"{number}{_COMPACT}")

    def changed(self, number: int) -> float | None:
        """When the file of one plain entry was last changed, epoch ms; None when it has none or that is not known."""
        return self._tree.about(self._folder, str(number)).changedMs if number in self._plain else None

    def compacted_last(self) -> int | None:
        """Number of the newest compacted entry."""
        return self._compact[-1] if self._compact else None

    def _grouped(self, name: str) -> dict[int, list[str]]:
        """The lines of a compacted entry by the batch that they name: there may be a million, few are asked for."""
        if name not in self._groups:
            groups: dict[int, list[str]] = {}
            for line in self.lines(name)[1:]:
                if found := _BATCH.search(line):
                    groups.setdefault(int(found[1]), []).append(line)
            self._groups[name] = groups
        return self._groups[name]

    def _json(self, name: str) -> list[dict[str, Any]]:
        return self._parsed(name, self.lines(name)[1:])

    def _parsed(self, name: str, lines: Iterable[str]) -> list[dict[str, Any]]:
        found, bad = [], 0
        for line in lines:
            if not line.strip():
                continue
            try:
                one = loads(line)
            except NotJsonError:
                one = None
            if isinstance(one, dict):
                found.append(one)
            else:
                bad += 1
        if bad:
            self._problem(f"{self._folder}/{name} has {bad} line{'' if bad == 1 else 's'} that cannot be read.")
        return found

    def lines(self, name: str) -> list[str]:
        """The lines of a file, the version first; none when it cannot be read."""
        if name in self._lines:
            return self._lines[name]
        try:
            lines = self._tree.text(f"{self._folder}/{name}").split("\n")
        except OSError as error:
            self._problem(f"{self._folder}/{name} cannot be read: {reason(error)}.")
            lines = []
        else:
            if not _VERSION.match(lines[0]):
                self._problem(f"{self._folder}/{name} does not begin with a version (v1): it is damaged.")
        self._lines[name] = lines
        return lines

    def _problem(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)


class SourceLog(Mapping[int, tuple[SourceFile, ...]]):
    """``sources/N``: entry -> files that came with it, for a file source; no entries for other kinds.

    Attributes:
        index: Number of the source.
        folder: Name of its folder: the number, or the name of a source that has one.
        log: The files as they are.
    """

    def __init__(self, tree: Tree, index: int, folder: str | None = None) -> None:
        """Read nothing yet."""
        self.index = index
        self.folder = str(index) if folder is None else folder
        self.log = FileLog(tree, f"sources/{self.folder}")

    @cached_property
    def initial(self) -> Any:
        """What the source wrote at its first start (Kafka: its first offsets; rate: epoch ms); None for files."""
        first = self.log.lines("0") if self.log.has_first else []
        if len(first) < 2 or not _VERSION.match(first[0]):
            return None
        try:
            found = loads(first[1])
        except NotJsonError:
            return None
        return None if isinstance(found, dict) and "path" in found else found

    def taken(self, first: int, last: int) -> tuple[list[Taken], list[int]]:
        """Files of entries ``first`` to ``last``, and the numbers of those entries that the log does not have."""
        files: list[Taken] = []
        missing: list[int] = []
        expected = first
        for number, lines in self.log.entries(first, last):
            missing += range(expected, min(number, expected + 100))
            expected = number + 1
            files += [_taken(line, number) for line in lines if isinstance(line.get("path"), str)]
        missing += range(expected, min(last + 1, expected + 100))
        return files, missing

    def __getitem__(self, entry: int) -> tuple[SourceFile, ...]:
        """The files of one entry; none when a compacted entry that should have them has not."""
        if entry not in self._numbers:
            raise KeyError(entry)
        return tuple(SourceFile(redact(clean(one.path)), one.timestampMs, entry) for one in self.taken(entry, entry)[0])

    def __iter__(self) -> Iterator[int]:
        """Numbers of the entries; those that a compacted one replaced are in it."""
        return iter(self._numbers)

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._numbers)

    @cached_property
    def _numbers(self) -> dict[int, None]:
        if self.initial is not None:
            return {}
        compacted = self.log.compacted_last()
        replaced = range(0 if compacted is None else compacted + 1)
        return dict.fromkeys([*replaced, *(number for number in self.log.numbers if number >= len(replaced))])

    def to_dict(self) -> dict[str, Any]:
        """The source's number and its newest entries, ready for JSON."""
        numbers = list(self)
        newest: dict[str, Any] = {}
        for number, lines in self.log.entries(numbers[-1] - SHOWN + 1, numbers[-1]) if numbers else ():
            files = [redact(clean(str(line.get("path"))))[:2_000] for line in lines[:SHOWN]]
            newest[str(number)] = {"files": len(lines), "paths": files}
        return {"index": self.index, "folder": self.folder, "entries": len(numbers), "newest": newest}


SHOWN = 100  # entries of a log, and files of an entry, that ``to_dict`` holds


class SinkLog(Part):
    """``_spark_metadata`` of a file sink's output: which batches it has."""

    def __init__(self, tree: Tree, folder: str) -> None:
        """Read nothing yet; ``folder`` is where the log is in the tree."""
        self.log = FileLog(tree, folder)

    @property
    def last(self) -> int | None:
        """The newest batch that the sink has; it skips this one and all before it."""
        return self.log.last

    @property
    def local(self) -> bool:
        """Whether it lies on this machine."""
        return isinstance(self.log.storage, Local)

    def writtenMs(self, batchId: int) -> float | None:
        """When the entry of a batch was written, epoch ms; None where it has no file of its own, or none is known."""
        return self.log.changed(batchId)

    def files(self, batchId: int) -> tuple[SinkFile, ...]:
        """The files that a batch added; of a compacted entry those of all batches before it, too."""
        if batchId not in self.log.numbers:
            return ()
        compact = batchId == self.log.compacted_last()
        return tuple(
            SinkFile(
                redact(clean(str(line.get("path", "n/a")))),
                line["size"] if isinstance(line.get("size"), int) else None,
                None if compact else batchId,
                str(line.get("action", "add")),
            )
            for line in self.log.whole(batchId)
        )

    def to_dict(self) -> dict[str, Any]:
        """The newest batch and the number of its files."""
        return {"last": self.last, "files": 0 if self.last is None else len(self.files(self.last))}


def _taken(line: dict[str, Any], entry: int) -> Taken:
    at = line.get("timestamp")
    return Taken(line["path"], at if isinstance(at, int) and not isinstance(at, bool) else None, entry)
