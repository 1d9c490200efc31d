"""Opens what a path or URL names: files, compressed or zipped, and folders of Spark's event logs."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

from jupyter_streamwatch.recordings.formats.shapes import MARKER

if TYPE_CHECKING:
    from collections.abc import Iterator

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://")
_ROLLED = re.compile(r"events_(\d+)_.*?(\.compact)?$")
HEAD: Final = 8192
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
# Spark's other codecs write block formats of their own, which only its Java libraries read.
_JAVA_ONLY: Final = {b"LZ4Block": "lz4", b"\x82SNAPPY\x00": "snappy", b"ZV\x01": "lzf", b"ZV\x00": "lzf"}


class UnreadableError(ValueError):
    """The bytes of a file cannot be read here; the message says what to do."""


def is_content(text: str) -> bool:
    """Whether this is text to read, not a name: it holds a line break or a brace, or a record and is no file."""
    if "\n" in text or "{" in text or "\r" in text:
        return True
    return "(" in text and MARKER.search(text) is not None and not exists(text)


def binary_files(path: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Open each file that ``path`` stands for, in the order of their events, decompressed.

    Raises:
        FileNotFoundError: When there is no such file.
        ImportError: When a URL needs fsspec, or a file zstandard, and it is not installed.
        UnreadableError: When a file's compression cannot be read.
    """
    if _URL.match(path) and not path.startswith("file://"):
        yield from _remote(path)
        return
    local = Path(path.removeprefix("file://")).expanduser()
    if not exists(path):
        raise FileNotFoundError(f"There is no file {path!r} (text to read would hold a line break or a brace).")
    if local.is_dir():
        for name in event_logs([str(each) for each in _folder(local)]):
            with Path(name).open("rb") as stream:
                yield from _opened(name, stream)
    else:
        with local.open("rb") as stream:
            yield from _opened(str(local), stream)


def exists(path: str) -> bool:
    """Whether there is such a file here; a text too long for a name is none."""
    try:
        return bool(path) and Path(path.removeprefix("file://")).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _folder(folder: Path) -> Iterator[Path]:
    """The files of one application's log, or of all logs in Spark's log folder."""
    for each in sorted(folder.iterdir()):
        if each.is_dir() and each.name.startswith("eventlog_v2_"):
            yield from sorted(each.iterdir())
        elif each.is_file():
            yield each


def _remote(url: str) -> Iterator[tuple[str, IO[bytes]]]:
    try:
        import fsspec  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise ImportError(f"Reading {url.partition('://')[0]}:// needs fsspec: pip install fsspec") from None
    system, path = fsspec.core.url_to_fs(url)
    if system.isdir(path):
        names = event_logs(sorted(each for each in system.ls(path, detail=False) if not system.isdir(each)))
    else:
        names = [path]
    for name in names:
        with system.open(name, "rb") as stream:
            yield from _opened(name, stream)


def event_logs(names: list[str]) -> list[str]:
    """Of a folder's files those that are logs; rolled ones by number, from the last compaction on."""
    plain = []
    rolled: dict[str, list[tuple[int, bool, str]]] = {}
    for name in names:
        folder, _, base = name.replace("\\", "/").rpartition("/")
        if found := _ROLLED.match(base):
            rolled.setdefault(folder, []).append((int(found[1]), bool(found[2]), name))
        elif not base.startswith((".", "_", "appstatus")) and not base.endswith(".crc"):
            plain.append(name)
    for parts in rolled.values():
        compacted = max((number for number, compact, _ in parts if compact), default=-1)
        plain += [
            name for number, compact, name in sorted(parts) if number > compacted or (compact and number == compacted)
        ]
    return plain


def _opened(name: str, raw: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    stream = buffered(raw)
    head = peek(stream)
    if head.startswith(b"PK\x03\x04"):  # the history server's download
        with zipfile.ZipFile(stream) as archive:
            members = {member.filename for member in archive.infolist() if not member.is_dir()}
            for member in event_logs(sorted(members)):
                with archive.open(member) as inner:
                    yield from _opened(f"{name}!{member}", inner)
        return
    unpacked = _unpacked(name, head, stream)
    if unpacked is stream:
        yield name, stream
    else:
        yield from _opened(name, unpacked)


def _unpacked(name: str, head: bytes, stream: IO[bytes]) -> IO[bytes]:
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(stream))
    if head.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.open(stream))
    if head.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", lzma.open(stream))
    if head.startswith(_ZSTD):
        try:
            import zstandard
        except ImportError:
            raise ImportError(f"Reading {name} needs zstandard: pip install zstandard") from None
        # A log that is still written is several frames, the last one without its end.
        reader = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        return buffered(reader)
    for magic, codec in _JAVA_ONLY.items():
        if head.startswith(magic):
            raise UnreadableError(
                f"{name} is compressed with {codec}, which only Spark reads; download it as a zip from the history "
                "server, or set spark.eventLog.compression.codec to zstd."
            )
    return stream


def buffered(raw: Any) -> IO[bytes]:
    """A stream whose first bytes can be looked at."""
    return raw if hasattr(raw, "peek") else io.BufferedReader(raw, 1 << 20)


def peek(stream: IO[bytes]) -> bytes:
    """The first bytes, without taking them; nothing when they cannot be decompressed."""
    return cast("Any", stream).peek(HEAD)[:HEAD]  # type: ignore[no-any-return]


def encoding(head: bytes) -> str:
    """UTF-8, or UTF-16 as PowerShell and Windows editors write it, with or without its mark."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    sample = head[:200]
    if len(sample) >= 8 and sample.count(0) * 3 >= len(sample):
        return "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"
    return "utf-8-sig"


def broken() -> tuple[type[Exception], ...]:
    """What the decompressors raise when a file ends too early or is damaged."""
    kinds: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile)
    if "zstandard" in sys.modules:
        kinds = (*kinds, sys.modules["zstandard"].ZstdError)
    return kinds
