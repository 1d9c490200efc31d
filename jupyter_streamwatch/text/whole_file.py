"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def write(path: str | os.PathLike[str], texts: Iterable[str]) -> int:
    """Write texts one after another as UTF-8; a file of that name is replaced when all is written, or stays as it is.

    Half of a surrogate pair, which no file can hold, becomes a question mark. A link is followed; what is no file (a
    pipe, a device) is written to directly.

    Returns:
        How many bytes were written.

    Raises:
        OSError: When the file cannot be written; nothing of it is left then.
    """
    target = Path(os.path.realpath(Path(path).expanduser()))
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as file:
            return _written(file, texts)
    # In the same folder, as only there it can be renamed; the name of the file itself may be as long as names can be.
    unfinished = target.with_name(f".streamwatch-{os.getpid()}-{time.monotonic_ns()}.part")
    try:
        with unfinished.open("xb") as file:
            size = _written(file, texts)
        unfinished.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
    return size


def _written(file: IO[bytes], texts: Iterable[str]) -> int:
    return sum(file.write(text.encode("utf-8", "replace")) for text in texts)
