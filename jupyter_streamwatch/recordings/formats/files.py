"""Opens what a path or URL names: files, compressed or zipped, and folders of Spark's event logs."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zipfile
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

from jupyter_streamwatch.recordings.formats import streams
from jupyter_streamwatch.recordings.formats.shapes import MARKER
from jupyter_streamwatch.recordings.formats.streams import Stream
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://")
_ROLLED = re.compile(r"events_(\d+)_.*?(\.compact)?$")
HEAD: Final = 8192
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
# Spark's other codecs write block formats of their own, which only its Java libraries read.
_JAVA_ONLY: Final = {b"LZ4Block": "lz4", b"\x82SNAPPY\x00": "snappy", b"ZV\x01": "lzf", b"ZV\x00": "lzf"}


DEEPEST: Final = 4  # compressions of what is compressed; an archive may hold itself
MOST_ZIP: Final = 256 << 20  # bytes of a zip that comes from a stream, in which one cannot go back

Opened: TypeAlias = tuple[str, Stream | None, str]
"""(name, what can be read, why not)."""


class UnreadableError(ValueError):
    """The bytes of a file cannot be read here; the message says what to do."""


def is_content(text: str) -> bool:
    """Whether this is text to read, not a name: it holds a line break or a brace, or a record and is no file."""
    if "\n" in text or "{" in text or "\r" in text:
        return True
    return "(" in text and MARKER.search(text) is not None and not exists(text)


def binary_files(path: str) -> Iterator[Opened]:
    """Open each file that ``path`` stands for, in the order of their events, decompressed.

    Raises:
        OSError: When it cannot be opened; FileNotFoundError when there is no such file.
        ImportError: When a URL needs fsspec, or a file zstandard, and it is not installed.
    """
    if _URL.match(path) and not path.startswith("file://"):
        yield from _remote(path)
        return
    local = Path(path.removeprefix("file://")).expanduser()
    if not exists(path):
        raise FileNotFoundError(f"There is no file {redact(path)!r} (text to read would hold a line break or a brace).")
    if local.is_dir():
        for name in event_logs([str(each) for each in _folder(local)]):
            try:
                stream = streams.opened(Path(name))
            except OSError as error:
                yield name, None, f"{name} cannot be opened: {error.strerror}."
                continue
            with stream:
                yield from _opened(name, stream)
    else:
        with streams.opened(local) as stream:
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
            yield from (inner for inner in sorted(each.iterdir()) if inner.is_file())
        elif each.is_file():
            yield each


def _remote(url: str) -> Iterator[Opened]:
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


def opened_stream(raw: Any) -> Iterator[Opened]:
    """What an open binary file holds, decompressed."""
    yield from _opened(str(getattr(raw, "name", "The input")), raw)


def _opened(name: str, raw: Any, depth: int = 0, packed: Callable[[], int] | None = None) -> Iterator[Opened]:
    stream = raw if isinstance(raw, Stream) else Stream(name, raw, packed)
    if depth > DEEPEST:
        yield name, None, f"{name} is compressed more than {DEEPEST} times over."
        return
    head = peek(stream)
    if head.startswith(b"PK\x03\x04"):  # the history server's download
        yield from _zipped(name, stream, raw, depth)
        return
    try:
        unpacked = _unpacked(name, head, stream)
    except UnreadableError as error:
        yield name, None, str(error)
        return
    if unpacked is None:
        yield name, stream, ""
    else:
        yield from _opened(name, Stream(name, unpacked, lambda: stream.taken), depth + 1)


def _zipped(name: str, stream: Stream, raw: Any, depth: int) -> Iterator[Opened]:
    try:
        goes_back = raw is not stream and raw.seekable()
        whole = raw if goes_back else io.BytesIO(stream.read(MOST_ZIP))
        whole.seek(0)
        archive = zipfile.ZipFile(whole)
        members = {member.filename: member for member in archive.infolist() if not member.is_dir()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield name, None, f"{name} is a damaged zip: {error}"
        return
    with archive:
        for member in event_logs(sorted(members)):
            inside = f"{name}!{member}"
            try:
                inner = archive.open(member)
            except RuntimeError as error:  # NotImplementedError is one as well
                encrypted = "password" in str(error)
                why = "is encrypted: unpack it with its password first" if encrypted else f"cannot be unpacked: {error}"
                yield inside, None, f"{inside} {why}."
            except (zipfile.BadZipFile, OSError, KeyError, EOFError) as error:
                yield inside, None, f"{inside} cannot be unpacked: {error}"
            else:
                size = max(members[member].compress_size, 1)
                with inner:
                    yield from _opened(inside, inner, depth + 1, partial(int, size))


def _unpacked(name: str, head: bytes, stream: IO[bytes]) -> Any:
    """What decompresses the stream; None when it is not compressed.

    Raises:
        ImportError: When a library is needed for it that is not installed.
        UnreadableError: When nothing here reads that compression.
    """
    if head.startswith(b"\x1f\x8b"):
        return gzip.open(stream)
    if head.startswith(b"BZh"):
        return bz2.open(stream)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.open(stream)
    if head.startswith(_ZSTD):
        try:
            import zstandard
        except ImportError:
            raise ImportError(f"Reading {name} needs zstandard: pip install zstandard") from None
        # A log that is still written is several frames, the last one without its end.
        return zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
    for magic, codec in _JAVA_ONLY.items():
        if head.startswith(magic):
            raise UnreadableError(
                f"{name} is compressed with {codec}, which only Spark reads; download it as a zip from the history "
                "server, or set spark.eventLog.compression.codec to zstd."
            )
    return None


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
