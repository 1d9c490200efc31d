"""Reads what people have of their streaming queries: recordings, event logs, driver logs, pasted progress."""

from __future__ import annotations

import codecs
import io
import os
from typing import IO, TYPE_CHECKING, Any, Final

from jupyter_streamwatch.recordings import gather
from jupyter_streamwatch.recordings.formats import event_log, files, recorded, streams
from jupyter_streamwatch.recordings.formats.salvage import Found, Salvager
from jupyter_streamwatch.recordings.formats.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_streamwatch.recordings.recording import Recording

__all__ = ["FORMATS", "load", "load_all"]

FORMATS: Final = ("recording", "event-log", "text")
WHOLE: Final = 64 << 20  # bytes up to which a text is read at once, as a JSON document must be
_PIECE: Final = 1 << 20


def load(path_or_text: str | os.PathLike[str], format: str | None = None, trigger: Any = None) -> Recording:
    """Read progress from a file, a folder, a URL, or pasted text.

    Understood are recordings, Spark event logs (also rolled, compressed, or the history server's zip), driver logs
    (plain and JSON), notebooks, and progress in any notation: JSON, Python, Java or Scala; what is cut, quoted,
    commented or otherwise damaged is read as far as it is certain.

    Args:
        path_or_text: Text when it holds a line break or a brace, anything else is a path or a URL.
        format: ``"recording"``, ``"event-log"`` or ``"text"``; found out when it is None.
        trigger: What starts the batches, as far as the reader knows: seconds, ``"2 seconds"``, ``"availableNow"``, ...

    Returns:
        The Recording; empty, with its ``skipped``, when there is no progress in the text.

    Raises:
        TypeError: When it is neither text nor a path.
        FileNotFoundError: When there is no such file.
        OSError: When it cannot be opened.
        ImportError: When a URL needs fsspec, or a ``.zstd`` file zstandard, and it is not installed.
        ValueError: When the format or the trigger is not known.
    """
    _check(format)
    stated = gather.stated(trigger)
    if not isinstance(path_or_text, (str, os.PathLike)):
        raise TypeError(
            f"sw.load reads a path, a URL or text, not {type(path_or_text).__qualname__};"
            " progress records go to sw.diagnose."
        )
    if isinstance(path_or_text, str) and files.is_content(path_or_text):
        found = _of_text(path_or_text, format)
    else:
        found = _of_files(files.binary_files(os.fspath(path_or_text)), format)
    return gather.recording(found, stated)


def load_all(
    sources: Iterable[str | os.PathLike[str] | IO[bytes]], format: str | None = None, trigger: Any = None
) -> Recording:
    """Read several paths, URLs or open binary files, in order, as one Recording: the parts of a log make one history.

    Everything else is as for :func:`load`; a string is always a path.
    """
    _check(format)
    stated = gather.stated(trigger)
    return gather.recording((each for source in sources for each in _of_source(source, format)), stated)


def _check(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is one of {', '.join(FORMATS)}, not {format!r}.")


def _of_source(source: str | os.PathLike[str] | IO[bytes], format: str | None) -> Iterator[Found]:
    if isinstance(source, (str, os.PathLike)):
        yield from _of_files(files.binary_files(os.fspath(source)), format)
    else:
        yield from _of_files(files.opened_stream(source), format)


def _of_text(text: str, format: str | None) -> Iterator[Found]:
    if format not in (None, "text") or recorded.is_recording(text[: files.HEAD].encode("utf-8", "replace")):
        yield from _of_stream(Stream("The text", io.BytesIO(text.encode("utf-8", "replace"))), format)
    else:
        yield from Salvager().whole(text)


def _of_files(opened: Iterable[files.Opened], format: str | None) -> Iterator[Found]:
    for _, stream, unread in opened:
        if stream is not None:
            yield from _of_stream(stream, format)
        reason = unread if stream is None else stream.fault
        if reason:
            yield Found("skipped", (reason, ""))


def _of_stream(stream: Stream, format: str | None) -> Iterator[Found]:
    head = files.peek(stream)
    if format == "event-log" or (format is None and event_log.is_event_log(head)):
        yield from event_log.read(streams.lines(stream))
    elif format == "recording" or (format is None and recorded.is_recording(head)):
        yield from recorded.read(streams.lines(stream))
    else:
        yield from _text(stream, files.encoding(head))


def _text(stream: IO[bytes], encoding: str) -> Iterator[Found]:
    """Read a text that may be a JSON document as a whole, any other piece by piece."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    salvager = Salvager()
    text = decoder.decode(stream.read(_PIECE))
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[", '"'):
        more = [text]
        size = len(text)
        while size < WHOLE and (piece := stream.read(_PIECE)):
            more.append(decoder.decode(piece))
            size += len(more[-1])
        text = "".join(more)
        if size < WHOLE:
            yield from salvager.whole(text + decoder.decode(b"", final=True))
            return
    while True:
        piece = stream.read(_PIECE)
        text += decoder.decode(piece, final=not piece)
        end = text.rfind("\n") + 1 or (len(text) if len(text) > streams.MAX_LINE else 0)
        yield from salvager.feed(text[:end])
        text = text[end:]
        if not piece:
            yield from salvager.feed(text)
            break
    yield from salvager.close()
