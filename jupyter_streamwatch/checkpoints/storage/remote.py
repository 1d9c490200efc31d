"""A checkpoint at a URL of fsspec: ``s3://``, ``gs://``, ``abfs://``, ``memory://`` and so on."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.checkpoints.storage.files import MOST_BYTES, Found, within
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator


class Entry:
    """A file or folder as fsspec lists it."""

    __slots__ = ("info", "name")

    def __init__(self, info: dict[str, Any]) -> None:
        """Take the last part of the name."""
        self.info = info
        self.name = str(info.get("name", "")).rstrip("/").rpartition("/")[2]


class Remote:
    """A folder that fsspec reads."""

    def __init__(self, url: str) -> None:
        """Find the file system of a URL.

        Raises:
            ImportError: When fsspec, or the package for this kind of URL, is not installed.
            ValueError: When fsspec does not know this kind of URL.
        """
        scheme = url.partition(":")[0]
        try:
            import fsspec  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise ImportError(
                f"Reading {scheme}: URLs needs fsspec (pip install fsspec), or the session: checkpoint(path, spark)."
            ) from None
        try:
            self._system, self._root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise ImportError(f"Reading {scheme}: URLs: {_line(error)}; or pass a classic session.") from None
        except ValueError as error:
            raise ValueError(
                f"fsspec does not know {scheme}: URLs; pass a classic session, which may: checkpoint(path, spark)."
            ) from error
        except Exception as error:  # each kind of store has errors of its own
            raise ValueError(
                f"{scheme}: URLs cannot be read here ({_line(error)}); pass a classic session: checkpoint(path, spark)."
            ) from error
        self._url = url.rstrip("/")

    @property
    def url(self) -> str:
        """The URL as it was given."""
        return self._url

    def list(self, folder: str) -> Iterator[Entry]:
        """List one folder."""
        path = self._path(folder)
        try:
            infos = self._system.ls(path, detail=True)
        except OSError:
            raise
        except Exception as error:  # each store has errors of its own
            raise OSError(_line(error)) from error
        if (
            len(infos) == 1
            and infos[0].get("type") == "file"
            and str(infos[0].get("name", "")).strip("/") == path.strip("/")
        ):
            raise NotADirectoryError(path)
        for info in infos:
            entry = Entry(info)
            if entry.name and str(info.get("name", "")).strip("/") != path.strip("/"):  # some list the folder itself
                yield entry

    def is_folder(self, entry: Entry) -> bool:
        """Say whether the entry is a folder."""
        return bool(entry.info.get("type") == "directory")

    def size(self, entry: Entry) -> int:
        """The size that came with the listing."""
        return self.found(entry).bytes or 0

    def found(self, entry: Entry) -> Found:
        """Say size and time of change, which stores name differently."""
        size = entry.info.get("size")
        at = next(
            (entry.info[name] for name in ("LastModified", "mtime", "updated", "created") if name in entry.info), None
        )
        changed = at.timestamp() * 1000.0 if isinstance(at, datetime) else None
        return Found(entry.name, self.is_folder(entry), size if isinstance(size, int) else None, changed)

    def read(self, path: str) -> bytes:
        """Return a file's bytes."""
        try:
            with self._system.open(self._path(path), "rb") as stream:
                return within(bytes(stream.read(MOST_BYTES + 1)))
        except OSError:
            raise
        except Exception as error:
            raise OSError(_line(error)) from error

    def at(self, steps: int) -> Remote | None:
        """Go up, not beyond the root of the store."""
        scheme, separator, rest = self._url.partition("://")
        parts = rest.strip("/").split("/")
        if not separator or steps >= len(parts):
            return None
        lead = "/" if rest.startswith("/") else ""
        return Remote(f"{scheme}://{lead}{'/'.join(parts[:-steps])}")

    def _path(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}".rstrip("/") if path else self._root


def _line(error: Exception) -> str:
    """The first line of an error, without its full stop."""
    return redact(str(error).partition("\n")[0])[:300].rstrip(".") or type(error).__name__
