"""Appends the events of a watch to a file while they come, as the lines that ``sw.load`` reads."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.redaction import redact_all
from jupyter_streamwatch.values import iso

if TYPE_CHECKING:
    from collections.abc import Callable


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
            line = json.dumps(redact_all(_plain(event)), ensure_ascii=False, allow_nan=False)
            with self._lock:
                if self._file is not None:
                    self._file.write(line + "\n")
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


def _plain(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event as JSON values: times as ISO text, progress and facts as their own words."""
    line: dict[str, Any] = {}
    for name, value in event.items():
        if name in ("at", "taken"):
            line[name] = iso(value)
        elif hasattr(value, "to_dict"):
            line[name] = value.to_dict()
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            line[name] = dataclasses.asdict(value)
        else:
            line[name] = dict(value) if isinstance(value, Mapping) else value
    return line
