"""The files of a checkpoint: listed once, read when they are needed, never written.

A :class:`Tree` is one walk over the parts of a checkpoint. Where the files are (this machine, a URL of fsspec,
the session's Hadoop file system) is the matter of a :class:`Storage`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

LOGS = ("offsets", "commits", "sources")
PARTS = (*LOGS, "state")
"""Folders of a checkpoint that are walked; ``metadata`` is a file beside them. The state may hold most of the files."""

MOST_BYTES = 256 << 20  # of one file: a source's compacted log of a million files has about 150 MB
_DEEPEST = 8  # folders inside folders: a checkpoint has five, a link to itself has no end
_UNFINISHED = (".tmp", ".crc")
_KEPT = frozenset({"_metadata", "_stateSchema"})


@dataclass(frozen=True)
class Found:
    """A file or folder as a storage lists it; size and time of change (epoch ms) may be unknown."""

    name: str
    folder: bool
    bytes: int | None = None
    changedMs: float | None = None


class Storage(Protocol):
    """Where a checkpoint lies. Paths are relative to the checkpoint, with ``/``."""

    @property
    def url(self) -> str:
        """The folder, as a person would write it."""

    def list(self, folder: str) -> Iterable[Any]:
        """List one folder as objects with ``name``; raises ``OSError`` when it cannot."""

    def found(self, entry: Any) -> Found:
        """Say what an entry of ``list`` is, with its size."""

    def is_folder(self, entry: Any) -> bool:
        """Say whether an entry of ``list`` is a folder, without asking for its size."""

    def size(self, entry: Any) -> int:
        """Size of a file in bytes; 0 when it is not known, or the file is gone."""

    def read(self, path: str) -> bytes:
        """Return a file's bytes; raises ``OSError``."""

    def at(self, steps: int) -> Storage | None:
        """The folder so many steps up; None beyond the root."""


class Local:
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        """Read in ``path``."""
        self.path = path

    @property
    def url(self) -> str:
        """The path."""
        return str(self.path)

    def list(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """List one folder; sizes are not asked for."""
        return os.scandir(self.path / folder if folder else self.path)

    is_folder = staticmethod(os.DirEntry.is_dir)
    """Says whether an entry is a folder; a link to one is."""

    def found(self, entry: os.DirEntry[str]) -> Found:
        """Ask for size and time of change."""
        try:
            about = entry.stat()
        except OSError:  # gone since the walk
            return Found(entry.name, folder=False)
        return Found(entry.name, entry.is_dir(), about.st_size, about.st_mtime * 1000.0)

    def size(self, entry: os.DirEntry[str]) -> int:
        """Ask for the size."""
        try:
            return entry.stat().st_size
        except OSError:
            return 0

    def read(self, path: str) -> bytes:
        """Return the bytes of a file that is not larger than ``MOST_BYTES``."""
        with (self.path / path).open("rb") as stream:
            return within(stream.read(MOST_BYTES + 1))

    def at(self, steps: int) -> Local | None:
        """Go up."""
        parents = self.path.absolute().parents
        return Local(parents[steps - 1]) if steps <= len(parents) else None


def within(content: bytes) -> bytes:
    """Return what was read, unless it is more than a checkpoint's file can be."""
    if len(content) > MOST_BYTES:
        raise OSError(f"larger than {MOST_BYTES >> 20} MiB")
    return content


@dataclass
class Tree:
    """All files of a checkpoint by folder, from one walk; hidden and temporary ones are left out.

    Attributes:
        storage: Where they are.
        folders: Folder -> name of a file -> entry of the storage.
        inside: Folder -> names of the folders in it.
        problems: What could not be listed, as sentences.
    """

    storage: Storage
    folders: dict[str, dict[str, Any]] = field(default_factory=dict)
    inside: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def leaves_out(self, part: str) -> bool:
        """Whether a part is there and was not walked."""
        return part in self.subfolders("") and part not in self.folders

    def files(self, folder: str) -> Mapping[str, Any]:
        """Names of the files in a folder; none when there is no such folder."""
        return self.folders.get(folder, {})

    def subfolders(self, folder: str) -> list[str]:
        """Names of the folders in a folder."""
        return self.inside.get(folder, [])

    def numbers(self, folder: str) -> list[int]:
        """Numbers that are names of files in a folder, ascending: the entries of a log."""
        # Spelled out: a log may have tens of thousands of entries.
        return sorted([int(name) for name in self.files(folder) if name.isdigit() and is_number(name)])

    def about(self, folder: str, name: str) -> Found:
        """Size and time of a file of the tree."""
        return self.storage.found(self.folders[folder][name])

    def bytes_of(self, *folders: str) -> int:
        """Size of the files in folders, without those in folders inside them."""
        size = self.storage.size
        return sum([size(entry) for folder in folders for entry in self.files(folder).values()])

    def under(self, folder: str) -> list[str]:
        """The folder and all folders in it."""
        return [one for one in self.folders if one == folder or one.startswith(f"{folder}/")]

    def text(self, path: str) -> str:
        """Return a file as text; bytes that are no UTF-8 are replaced. Raises ``OSError``."""
        return self.storage.read(path).decode("utf-8", "replace")


def is_number(name: str) -> bool:
    """Whether a name is the number of a log's entry."""
    return name.isascii() and name.isdigit() and len(name) < 19


def walk(storage: Storage, parts: Sequence[str] = PARTS) -> Tree:
    """List the checkpoint's root and all below these parts of it."""
    tree = Tree(storage)
    _list(tree, "")
    pending = [part for part in parts if part in tree.inside[""]]
    while pending:
        folder = pending.pop()
        inside = _list(tree, folder)
        if folder.count("/") < _DEEPEST:
            pending += [f"{folder}/{name}" for name in inside]
    return tree


def _list(tree: Tree, folder: str) -> list[str]:
    """List one folder into the tree; returns the names of the folders in it."""
    files: dict[str, Any] = {}
    folders: list[str] = []
    is_folder = tree.storage.is_folder
    tree.folders[folder], tree.inside[folder] = files, folders
    try:
        for entry in tree.storage.list(folder):
            name = entry.name
            first = name[0]
            if first == ".":  # half of all files: each has its checksum
                continue
            if is_folder(entry):
                if first != "_" or name in _KEPT:
                    folders.append(name)
            elif first != "_" and not name.endswith(_UNFINISHED):
                files[name] = entry
    except OSError as error:
        tree.problems.append(f"{folder or 'The folder'} cannot be listed: {reason(error)}.")
    return folders


def reason(error: BaseException) -> str:
    """The reason of an error without the path, which stands beside it."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200].rstrip(".") or type(error).__name__
