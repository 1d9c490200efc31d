"""Where a path or a URL leads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from jupyter_streamwatch.checkpoints.storage.files import Local
from jupyter_streamwatch.checkpoints.storage.hadoop import through_session
from jupyter_streamwatch.checkpoints.storage.remote import Remote

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints.storage.files import Storage

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]+):(?=/|//)")


def storage_of(path: str, spark: Any) -> Storage:
    """Say where a path or URL leads; raises what opening a checkpoint there raises."""
    if not path.strip():
        raise ValueError("The path is empty: pass the query's checkpointLocation.")
    found = _SCHEME.match(path)
    scheme = found["scheme"].lower() if found else ""
    if scheme != "file" and spark is not None and not path.startswith("~"):
        storage = through_session(path, spark, scheme=scheme)
        if storage is not None:
            return storage
    if scheme and scheme != "file":
        return Remote(path)
    return Local(local(path))


def local(path: str) -> Path:
    """The folder of this machine that a path or a ``file:`` URL names."""
    if path.lower().startswith("file:"):
        plain = path[len("file:") :].removeprefix("//").removeprefix("localhost")
        found = Path(plain)
        return found if found.exists() else Path(unquote(plain))
    return Path(path).expanduser()
