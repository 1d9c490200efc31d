"""Appends the events of a watch to a file while they come, as the lines that ``sw.load`` reads."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from jupyter_streamwatch.model.values import iso
from jupyter_streamwatch.recordings.recording import line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_streamwatch.recordings.recording import Recording

_FIRST: Final = b'{"streamwatch"'


class Recorder:
    """One open file of JSON lines. A disk that is full stops the recording, not the watching."""

    def __init__(self, path: str | Path, note: Callable[[str], None]) -> None:
        """Open ``path`` for appending; ``note`` keeps a sentence about what went wrong.

        Events are kept until :meth:`begin` has written what came before them.

        Raises:
            OSError: When the file cannot be opened for appending.
            ValueError: When there is a file of that name that is no recording.
        """
        self._path = Path(path).expanduser().absolute()
        self._note = note
        self._lock = threading.Lock()
        self._waiting: list[Mapping[str, Any]] | None = []
        self._again = _mended(self._path)
        self._file: IO[bytes] | None = self._path.open("ab", buffering=0)

    def writes_to(self, path: str | Path) -> bool:
        """Whether this is the file."""
        return self._path == Path(path).expanduser().absolute()

    def begin(self, known: Recording) -> None:
        """Write what is known already, then the events that came meanwhile; from now on each is written at once."""
        for event in known.events():
            # A file that is gone on with may hold some of these records.
            again = self._again and event.get("event") == "progress"
            with self._lock:
                problem = self._append({**event, "again": True} if again else event)
            self._tell(problem)
        with self._lock:
            waiting, self._waiting = self._waiting or [], None
            problems = [self._append(event) for event in waiting]
        for problem in problems:
            self._tell(problem)

    def write(self, event: Mapping[str, Any]) -> None:
        """Append one event, secrets redacted. Never raises."""
        with self._lock:
            if self._waiting is not None:
                self._waiting.append(event)
                return
            problem = self._append(event)
        self._tell(problem)

    def close(self) -> None:
        """Close the file; what comes later is not written."""
        with self._lock:
            problem = self._closed()
        self._tell(problem)

    def _append(self, event: Mapping[str, Any]) -> str:
        """Write one line; what went wrong, in a sentence."""
        if self._file is None:
            return ""
        try:
            text = line({**event, "at": iso(event["at"])} if "at" in event else event)
            left = memoryview(f"{text}\n".encode("utf-8", "replace"))
            while left:
                left = left[self._file.write(left) :]
        except Exception as error:
            self._closed()
            return f"The recording to {self._path} stopped: {error}"
        return ""

    def _closed(self) -> str:
        file, self._file = self._file, None
        try:
            if file is not None:
                file.close()
        except OSError as error:
            return f"The recording to {self._path} could not be closed: {error}"
        return ""

    def _tell(self, problem: str) -> None:
        if problem:  # outside the lock: who is told may hold one of its own
            self._note(problem)


def _mended(path: Path) -> bool:
    """End a last line that a crash has cut, so that the next one stands alone; whether there is a recording already."""
    if not path.is_file() or not path.stat().st_size:
        return False
    with path.open("rb+") as file:
        first = file.read(len(_FIRST))
        if first != _FIRST:
            if not _FIRST.startswith(first):
                raise ValueError(f"{path} is no recording, so nothing is appended to it. Name another file.")
            file.truncate(0)  # a crash has cut the very first line: it said nothing yet
            return False
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")
    return True
