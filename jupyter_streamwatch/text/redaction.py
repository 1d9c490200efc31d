"""Takes secrets out of everything that is written to disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REDACTED = "*********(redacted)"
"""Spark's own replacement text."""

# The names are those of Spark's default for spark.redaction.regex.
_NAME = r"(?:secret|password|token|access[.]?key)"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
# Every repetition has a bound: text from outside must not make the search slow.
_ASSIGNED = re.compile(
    rf"""(?P<name>{_NAME}[\w.\-]{{0,100}}["']?\s{{0,9}}(?:=>|->|[=:])\s{{0,9}})"""
    r"""(?P<value>"(?:\\.|[^"\\]){0,2000}"|'(?:\\.|[^'\\]){0,2000}'|["']?[^\s"',;&)\]}]{1,2000})""",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.\-]{0,30}://)[^\s/@:\"']{0,200}:[^\s/@\"']{1,200}@",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Replace the values of secrets in text: ``password=...``, ``"token": "..."``, ``scheme://user:pass@host``."""
    text = _CREDENTIALS.sub(rf"\g<scheme>{REDACTED}@", text)
    return _ASSIGNED.sub(_without_value, text) if _SECRET_NAME.search(text) else text


def redact_all(x: Any, name: str = "") -> Any:
    """Redact every text inside plain data, and whatever text stands under a secret's name."""
    if isinstance(x, str):
        return REDACTED if x and _SECRET_NAME.search(name) else redact(x)
    if isinstance(x, Mapping):
        return {key: redact_all(value, name if _SECRET_NAME.search(name) else str(key)) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [redact_all(part, name) for part in x]
    return x


def _without_value(found: re.Match[str]) -> str:
    value = found["value"]
    if value.strip("\"'").startswith(REDACTED.rstrip(")")):
        return found[0]  # redacted before: texts pass here more than once
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['name']}{quote}{REDACTED}{quote}"
