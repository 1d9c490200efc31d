"""Private keys in the form of PEM files, also with escaped line ends or in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jupyter_streamwatch.text.redaction.mark import REDACTED, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_BORDER = re.compile(r"-----(?P<border>BEGIN|END)[ +_](?:[A-Z0-9]{1,20}[ +_]){0,4}PRIVATE[ +_]KEY(?:[ +_]BLOCK)?-----")
# A key whose end was cut off: what may stand in its lines, and the headers of old ones.
_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s\\]|(?:Proc-Type|DEK-Info): ?[\w,\-]+)*")
_FEWEST = 16  # characters of a key; a message that only names the border is no key


def find(text: str) -> Iterator[Span]:
    """Find what stands after each BEGIN of a private key, up to its END or as far as it may be a key."""
    borders = list(_BORDER.finditer(text)) if "PRIVATE" in text else []
    for index, border in enumerate(borders):
        if border["border"] == "END":
            continue
        following = borders[index + 1] if index + 1 < len(borders) else None
        limit = following.start() if following else len(text)
        if following is not None and following["border"] == "END":
            body, end = text[border.end() : limit], following.end()
        else:
            match = _BODY.match(text, border.end(), limit)
            body = match[0].rstrip() if match else ""
            end = border.end() + len(body)
        if len(body.strip()) >= _FEWEST and body.strip() != REDACTED:
            yield border.end(), end, f" {REDACTED}"
