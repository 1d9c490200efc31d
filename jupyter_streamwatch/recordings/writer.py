"""Appends the events of a watch to a file while they come, as the lines that ``sw.load`` reads."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.values import iso
from jupyter_streamwatch.recordings.recording import line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Recorder:
    """One open file of JSON lines. A disk that is full stops the recording, not the watching."""

    def __init__(self, path: str | Path, environment: Mapping[str, str], note: Callable[[str], None]) -> None:
        """Append to ``path``; ``note`` keeps a sentence about what went wrong.

        Raises:
            OSError: when the file cannot be opened for appending.
        """
        self._path = Path(path).expanduser().absolute()
        self._note = note
        self._lock = threading.Lock()
        self._file: Any = self._path.open("a", encoding="utf-8", buffering=1)
        if self._file.tell() == 0:
            self.write({"streamwatch": 1, "taken": time.time() * 1000, "environment": environment})

    def writes_to(self, path: str | Path) -> bool:
        """Whether this is the file."""
        return self._path == Path(path).expanduser().absolute()

    def write(self, event: Mapping[str, Any]) -> None:
        """Append one event, secrets redacted. Never raises."""
        try:
            text = line({**event, **{name: iso(event[name]) for name in ("at", "taken") if name in event}})
            with self._lock:
                if self._file is not None:
                    self._file.write(text + "\n")
        except Exception as error:
            self._note(f"The recording to {self._path} stopped: {error}")
            self.close()

    def close(self) -> None:
        """Close the file; what comes later is not written."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                self._note(f"The recording to {self._path} could not be closed: {error}")
