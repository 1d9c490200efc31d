"""Records as JSON-ready data, every text of them redacted: what leaves for a page or a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from typing import Any

from jupyter_streamwatch.text.redaction import redact


def plain(value: Any) -> Any:
    """Make data JSON-ready: tuples become lists, dataclasses dicts, and every text is redacted."""
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return _redacted(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(item) for name, item in vars(value).items()}
    return value


@lru_cache(maxsize=4096)  # most texts of a line are the same in the next one
def _redacted(text: str) -> str:
    return redact(text)
