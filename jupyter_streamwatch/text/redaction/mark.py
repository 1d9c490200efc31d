"""What stands where a secret stood."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REDACTED = "*********(redacted)"
"""Spark's own replacement text."""

Span = tuple[int, int, str]
"""Where a secret begins and ends in a text, and what is written in its place."""

# What others write in the place of a secret: Spark, Hadoop (******), Kafka ([hidden]), Maven, psql and friends.
_MASK = re.compile(r"[*•]{3,}(?:\(redacted\))?|x{4,}|[\[<(]?(?:hidden|redacted|masked|secret)[\])>]?", re.IGNORECASE)


def is_mask(value: str) -> bool:
    """Whether the value was taken out before, by us or by somebody else."""
    return _MASK.fullmatch(value) is not None


def replaced(text: str, spans: Iterable[Span]) -> str:
    """Write the replacements into the text; the spans come in order and do not overlap."""
    return "".join(_pieces(text, spans))


def _pieces(text: str, spans: Iterable[Span]) -> Iterator[str]:
    at = 0
    for start, end, replacement in spans:
        yield text[at:start]
        yield replacement
        at = end
    yield text[at:]
