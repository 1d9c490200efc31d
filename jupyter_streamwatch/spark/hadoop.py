"""The session's Hadoop file systems: list a folder, read a file. Classic sessions only; nothing is ever written.

One folder is one text: ``FileStatus.toString`` of all its entries, which holds path, kind, size and time, where a call
an entry and value would take four round trips each.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from jupyter_streamwatch.spark import fallback, jvm
from jupyter_streamwatch.spark.bounded import ask
from jupyter_streamwatch.text.redaction import redact

_PIECE = 8_000  # characters: py4j stalls on more than 8,192 bytes
_STATUS = re.compile(
    r"\{path=(?P<path>.*?); isDirectory=(?P<folder>true|false)(?:; length=(?P<bytes>\d+))?"
    r".*?modification_time=(?P<changed>\d+)",
    re.DOTALL,
)
_SECONDS = 60.0  # for one folder or file: object stores are slow, and a person waits


class _Failed(NamedTuple):
    """Spark answered with an exception."""

    kind: str
    text: str


class Files:
    """A folder behind a session; paths in it are relative, with ``/``."""

    def __init__(self, spark: Any, path: Any, system: Any) -> None:
        """Keep Hadoop's ``Path`` and ``FileSystem``; use :func:`open_folder`."""
        self._spark = spark
        self._path = path
        self._system = system
        self.url = str(path.toString())
        self.local = str(path.toUri().getPath()) if path.toUri().getScheme() == "file" else None
        """The path on this machine, where the file system is that of the machine."""

    def list(self, folder: str) -> list[tuple[str, bool, int | None, float | None]]:
        """List a folder as (name, is a folder, bytes, epoch ms of the last change).

        Raises:
            FileNotFoundError: When there is no such folder.
            NotADirectoryError: When it is a file.
            OSError: When the session gives no answer; the message is one line.
        """

        def look() -> list[tuple[str, bool, int | None, float | None]]:
            at = self._at(folder)
            found = [_entry(one) for one in _STATUS.finditer(_text(self._jvm, self._system.listStatusIterator(at)))]
            if len(found) == 1 and not found[0][1] and self._system.getFileStatus(at).isFile():
                raise NotADirectoryError(folder)
            return found

        found: list[tuple[str, bool, int | None, float | None]] = _asked(self._spark, look)
        return found

    def read(self, path: str, most: int) -> bytes:
        """Return the bytes of a file of at most ``most`` bytes; raises as :meth:`list`."""

        def look() -> bytes:
            at = self._at(path)
            length = self._system.getFileStatus(at).getLen()
            if length > most:
                raise OSError(f"larger than {most >> 20} MiB")
            stream = self._system.open(at)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

        found: bytes = _asked(self._spark, look)
        return found

    def at(self, steps: int) -> Files | None:
        """Go so many folders up; None beyond the root, or without an answer."""

        def look() -> Files | None:
            path = self._path
            for _ in range(steps):
                path = path.getParent()
                if path is None:
                    return None
            return Files(self._spark, path, self._system)

        return ask(self._spark, look, None, seconds=_SECONDS, line="files")

    @property
    def _jvm(self) -> Any:
        return jvm.gateway(self._spark).jvm  # type: ignore[union-attr]

    def _at(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, path) if path else self._path


def open_folder(spark: Any, path: str) -> Files | str | None:
    """Find the file system of a path as a session does.

    Returns:
        The folder; the reason, as one line, when the session has no such file system; None when there is no JVM to ask
        (Spark Connect, a stopped session).
    """

    def look() -> Files | None:
        gateway = jvm.gateway(spark)
        if gateway is None:
            return None
        at = gateway.jvm.org.apache.hadoop.fs.Path(path)
        system = at.getFileSystem(_configuration(spark))
        return Files(spark, system.makeQualified(at), system)

    if jvm.is_connect(spark):
        return None
    try:
        found: Files | None = _asked(spark, look)
    except OSError as error:
        return str(error)
    return found


def _configuration(spark: Any) -> Any:
    """The session's Hadoop configuration; that of the context where the private name is missing."""
    try:
        return spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - it has the session's settings
    except Exception:
        fallback.taken()
        return spark._jsc.hadoopConfiguration()  # noqa: SLF001 - there is no public way


def _asked(spark: Any, question: Any) -> Any:
    """Return the answer of ``question()``; raises ``OSError`` with the reason when there is none."""

    def guarded() -> Any:
        try:
            return (question(),)
        except OSError as error:
            return error
        except Exception as error:
            return _failed(error)

    answer = ask(spark, guarded, None, seconds=_SECONDS, line="files")
    if answer is None:
        raise OSError(f"the session gave no answer within {_SECONDS:g} s")
    if isinstance(answer, OSError):
        raise answer
    if isinstance(answer, _Failed):
        kind = FileNotFoundError if answer.kind.endswith("FileNotFoundException") else OSError
        raise kind(answer.text)
    return answer[0]


def _failed(error: Exception) -> _Failed:
    """What Java says: the class of its exception, and the first line of its message."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return _Failed(type(error).__name__, redact(str(error).partition("\n")[0])[:300])
    kind, text = str(java.getClass().getName()), str(java.getMessage() or "")
    return _Failed(kind, redact(text.partition("\n")[0])[:300] or kind.rpartition(".")[2])


def _text(java: Any, statuses: Any) -> str:
    """Write all objects of a ``RemoteIterator`` as one text in the JVM, and fetch it in pieces."""
    written = java.java.lang.StringBuilder()
    # Not listStatus: py4j finds no method that would take its array.
    written.append(java.org.apache.hadoop.util.functional.RemoteIterators.toList(statuses))
    length = written.length()
    return "".join(written.substring(at, min(length, at + _PIECE)) for at in range(0, length, _PIECE))


def _entry(found: re.Match[str]) -> tuple[str, bool, int | None, float | None]:
    name = found["path"].rstrip("/").rpartition("/")[2]
    size = int(found["bytes"]) if found["bytes"] else None
    return name, found["folder"] == "true", size, float(found["changed"])
