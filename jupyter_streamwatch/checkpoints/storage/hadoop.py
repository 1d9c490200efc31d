"""A checkpoint that is read through a Spark session's Hadoop file system: ``hdfs://``, ``s3a://``, ``abfss://``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.storage.files import MOST_BYTES, Found, Local
from jupyter_streamwatch.spark import hadoop

if TYPE_CHECKING:
    from typing import Any

    from jupyter_streamwatch.checkpoints.storage.files import Storage


class Hadoop:
    """A folder that the session reads."""

    def __init__(self, files: hadoop.Files) -> None:
        """Take what the probe gives."""
        self._files = files

    @property
    def url(self) -> str:
        """The qualified path."""
        return self._files.url

    def list(self, folder: str) -> list[Found]:
        """List one folder."""
        return [Found(*entry) for entry in self._files.list(folder)]

    def is_folder(self, entry: Found) -> bool:
        """Say whether the entry is a folder."""
        return entry.folder

    def size(self, entry: Found) -> int:
        """The size that came with the listing."""
        return entry.bytes or 0

    def found(self, entry: Found) -> Found:
        """Size and time came with the listing."""
        return entry

    def read(self, path: str) -> bytes:
        """Return a file's bytes."""
        return self._files.read(path, MOST_BYTES)

    def at(self, steps: int) -> Hadoop | None:
        """Go up."""
        files = self._files.at(steps)
        return None if files is None else Hadoop(files)


def through_session(path: str, spark: Any, *, scheme: str) -> Storage | None:
    """Say where a path leads for a session; None when the session has no file system to ask (Connect).

    Raises:
        ValueError: When the session cannot open a URL of this scheme.
    """
    files = hadoop.open_folder(spark, path)
    if files is None:
        return None
    if isinstance(files, str):
        if not scheme:
            return None
        raise ValueError(f"The session cannot read {scheme}: URLs: {files}.")
    return Local(Path(files.local)) if files.local is not None else Hadoop(files)
