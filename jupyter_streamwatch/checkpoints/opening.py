"""Opens a folder as a checkpoint, and says what it is when it is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.checkpoints.facade import Checkpoint
from jupyter_streamwatch.checkpoints.logs.log import metadata_id
from jupyter_streamwatch.checkpoints.storage.files import reason
from jupyter_streamwatch.checkpoints.storage.opening import storage_of
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints.storage.files import Storage

_FOLDERS = frozenset({"offsets", "commits", "sources", "state"})
_OUTPUTS = {"_spark_metadata": "the output of a file sink", "_delta_log": "a Delta table"}
_UP = 5  # state/<operator>/<partition>/<store>/SSTs is the deepest folder of a checkpoint
_NAMED = 6  # checkpoints in a folder that are named
_LOOKED_INTO = 1_000  # folders


def checkpoint(path: str | os.PathLike[str], spark: Any = None) -> Checkpoint:
    """Open the checkpoint of a streaming query, read-only.

    Args:
        path: The query's ``checkpointLocation``: a folder of this machine (``/x``, ``file:///x``) or a URL.
        spark: A classic session: URLs, and paths as Spark understands them, are read through its file systems.
            Without one, and with Spark Connect, URLs are read by fsspec.

    Returns:
        The checkpoint; ``print`` it, or ask it for ``restart()`` and ``compare(...)``.

    Raises:
        TypeError: When the path is none, or ``spark`` no session.
        FileNotFoundError: When there is no such folder.
        ValueError: When the folder is no checkpoint; the message says what it is.
        ImportError: When a URL needs a package that is not installed.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"Pass the query's checkpointLocation as text or a path, not {type(path).__qualname__}.")
    if spark is not None and not hasattr(spark, "conf"):
        raise TypeError(f"Pass a SparkSession as spark, not {type(spark).__qualname__}.")
    storage = storage_of(os.fspath(path), spark)
    _check(storage)
    return Checkpoint(storage, spark=spark, brokers=True)


def _check(storage: Storage) -> None:
    """Raise with one sentence when this is no checkpoint."""
    shown = redact(storage.url)
    try:
        entries = list(storage.list(""))
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no folder {shown!r}: pass the query's checkpointLocation.") from None
    except NotADirectoryError:
        raise ValueError(f"{shown!r} is a file, and a checkpoint is a folder{_above(storage)}.") from None
    except OSError as error:
        raise ValueError(f"{shown!r} cannot be listed: {reason(error)}.") from None
    folders = {entry.name for entry in entries if storage.is_folder(entry)}
    files = {entry.name for entry in entries} - folders
    if _is_checkpoint(storage, "", folders, files):
        return
    raise ValueError(f"{shown!r} {_other(storage, folders, files)}")


def _is_checkpoint(storage: Storage, folder: str, folders: set[str], files: set[str]) -> bool:
    if "offsets" in folders or len(folders & _FOLDERS) >= 2:
        return True
    if "metadata" not in files:
        return False
    try:
        content = storage.read(f"{folder}/metadata" if folder else "metadata")
    except OSError:
        return bool(folders & _FOLDERS)
    return metadata_id(content.decode("utf-8", "replace")) is not None or bool(folders & _FOLDERS)


def _other(storage: Storage, folders: set[str], files: set[str]) -> str:
    """Say what a folder is that is no checkpoint."""
    for mark, what in _OUTPUTS.items():
        if mark in folders:
            return f"is {what} (it has {mark}), not a checkpoint: pass the query's checkpointLocation."
    if above := _above(storage):
        return f"is a part of a checkpoint{above}."
    if not folders and not files:
        return "is empty: a query writes its checkpoint there when it first starts."
    inside = _inside(storage, folders)
    if inside:
        many = f"holds {len(inside)} checkpoints, pass one of them" if len(inside) > 1 else "holds one: pass it"
        more = f" and {len(inside) - _NAMED} more" if len(inside) > _NAMED else ""
        return f"is no checkpoint, but {many}: {', '.join(inside[:_NAMED])}{more}."
    return "is no checkpoint of a streaming query: it has neither offsets/ nor commits/ nor a metadata file with an id."


def _above(storage: Storage) -> str:
    """Name the checkpoint that a folder or file is part of."""
    for steps in range(1, _UP + 1):
        parent = storage.at(steps)
        if parent is None:
            break
        try:
            entries = list(parent.list(""))
        except OSError:
            continue
        folders = {entry.name for entry in entries if parent.is_folder(entry)}
        if _is_checkpoint(parent, "", folders, {entry.name for entry in entries} - folders):
            return f": pass {redact(parent.url)!r}"
    return ""


def _inside(storage: Storage, folders: set[str]) -> list[str]:
    """Paths of the checkpoints among the folders in a folder."""
    found = []
    for name in sorted(folders)[:_LOOKED_INTO]:
        try:
            entries = list(storage.list(name))
        except OSError:
            continue
        below = {entry.name for entry in entries if storage.is_folder(entry)}
        if _is_checkpoint(storage, name, below, {entry.name for entry in entries} - below):
            found.append(redact(f"{storage.url.rstrip('/')}/{name}"))
    return found
