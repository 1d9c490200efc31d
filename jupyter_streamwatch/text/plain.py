"""Records as JSON-ready data, every text of them redacted and bounded: what leaves for a page or a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from typing import Any, Final

from jupyter_streamwatch.text.outside import cut, printable
from jupyter_streamwatch.text.redaction import redact

TEXT: Final = 1_000  # characters of a text; a sentence with a few names in it is shorter
LONG: Final = 20_000  # of those that are read as a whole: a stack trace beyond this says nothing more
_LONG_NAMES: Final = frozenset({"details", "code_fix", "code", "exception", "message", "causes"})


def plain(value: Any, name: str = "") -> Any:
    """Make data JSON-ready: tuples become lists, dataclasses dicts; every text is redacted, printable and bounded."""
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return shown(value, LONG if name in _LONG_NAMES else TEXT)
    if isinstance(value, Mapping):
        return {plain(key): plain(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, name) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(item, key) for key, item in vars(value).items()}
    return value


@lru_cache(maxsize=4096)  # most texts of a line are the same in the next one
def shown(text: str, length: int = TEXT) -> str:
    """A text for a page or a file: redacted before it is cut, since half of a secret would not be known as such."""
    return cut(printable(redact(text)), length)
