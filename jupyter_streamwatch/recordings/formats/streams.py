"""Bytes from anywhere as a stream that never raises: it ends where it is damaged or no text, and says why."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import select
import stat
import sys
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PIECE: Final = 1 << 16
MAX_LINE: Final = 8 << 20  # bytes; what goes on longer is cut there
MOST_NOISE: Final = 64 << 20  # bytes that are no text: zeros are stepped over, signs of other data read, up to so many
_NOISE: Final = 0.05  # share of control characters beyond which a piece is no text; text has hardly any
MOST_GROWTH: Final = 250  # bytes out of one compressed byte, once there are more than MUCH; logs shrink to a twentieth
MUCH: Final = 64 << 20
SILENCE: Final = 5.0  # seconds without a byte after which a pipe is left

_CONTROL: Final = bytes({*range(9), *range(14, 32), 127} - {27})


class Stream(io.BufferedReader):
    """A stream whose first bytes can be looked at; ``fault`` says why it ended early, empty when it did not."""

    def __init__(self, name: str, source: Any, packed: Callable[[], int] | None = None) -> None:
        """Read ``source``; ``packed`` tells how many compressed bytes were read for it so far."""
        self.label = name
        self._guard = _Guard(name, source, packed)
        super().__init__(self._guard, PIECE)

    @property
    def fault(self) -> str:
        """One sentence."""
        below = self._guard.source
        return (below.fault if isinstance(below, Stream) else "") or self._guard.fault

    @property
    def taken(self) -> int:
        """Bytes that were read from it."""
        return self._guard.total


class _Guard(io.RawIOBase):
    def __init__(self, name: str, source: Any, packed: Callable[[], int] | None) -> None:
        self.name = name
        self.source = source
        self.fault = ""
        self.total = self._noise = 0
        self._packed = packed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.fault:
            try:
                data = self._read(len(buffer))
            except SilentError:
                self.fault = f"{self.name} is a pipe from which nothing has come for {SILENCE:g} s."
                break
            except broken() as error:
                self.fault = f"{self.name} ends or breaks inside its compressed data: {error}"
                break
            except OSError as error:
                self.fault = f"{self.name} could not be read to its end: {error}"
                break
            self.total += len(data)
            self._judge(data)
            if data and not data.strip(b"\0"):
                continue  # zeros, as a log has where a disk was full or a file was cut while it was written
            buffer[: len(data)] = data
            return len(data)
        return 0

    def _read(self, size: int) -> bytes:
        read = getattr(self.source, "read1", None) or self.source.read
        return bytes(read(size) or b"")

    def _judge(self, data: bytes) -> None:
        control = len(data) - len(data.translate(None, _CONTROL))
        wide = data.count(0) * 5 > len(data) * 2 and data.count(0) * 5 < len(data) * 3  # UTF-16
        if control > _NOISE * len(data) and not wide:
            self._noise += len(data)
            if self._noise > MOST_NOISE:
                self.fault = f"{self.name} is no text: its first {self.total >> 20} MB were read, and the rest was not."
        packed = self._packed() if self._packed and self.total > MUCH else 0
        if packed and self.total > MOST_GROWTH * packed:
            self.fault = (
                f"{self.name} grows to more than {MOST_GROWTH} times its size: its first {self.total >> 20} MB were"
                " read, and the rest was not."
            )


class SilentError(Exception):
    """Nothing comes out of a pipe."""


class _Pipe(io.RawIOBase):
    """A pipe or a device: read without waiting for ever."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if not select.select([self._file], [], [], SILENCE)[0]:
                raise SilentError
            try:
                data = os.read(self._file, len(buffer))
            except BlockingIOError:
                continue
            buffer[: len(data)] = data
            return len(data)

    def close(self) -> None:
        if not self.closed:
            os.close(self._file)
        super().close()


def opened(path: Path) -> Any:
    """Open a file for reading; a pipe or a device so that it cannot be waited for without end.

    Raises:
        OSError: When it cannot be opened.
    """
    mode = path.stat().st_mode
    return path.open("rb") if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else _Pipe(path)


def lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream; a line beyond all measure comes in pieces."""
    while line := stream.readline(MAX_LINE):
        yield line


def broken() -> tuple[type[Exception], ...]:
    """What the decompressors raise when a file ends too early or is damaged."""
    kinds: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile)
    if "zstandard" in sys.modules:
        kinds = (*kinds, sys.modules["zstandard"].ZstdError)
    return kinds
