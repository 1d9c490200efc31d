r"""A text as a reader behind one more layer of escapes sees it, with the way back to the original.

A setting inside a URL's parameter is ``password%3Dx``, one in Gson's JSON ``password\u003dx``, one in HTML
``password=&quot;x&quot;``. What is looked for is looked for in the decoded text and replaced in the original.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_streamwatch.text.redaction.mark import Span

# The look-behind keeps a long run of backslashes from being read again from each of its places.
_WRITTEN = re.compile(
    r"(?<!\\)\\+u00(?P<unicode>[2-7][0-9a-f])"
    r"|&(?:amp;)*(?P<entity>quot|apos|amp|lt|gt|\#\d{2,3}|\#x[0-9a-f]{2});",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"%(?:25)*(?P<percent>[2-7][0-9a-f])", re.IGNORECASE)


@dataclass(frozen=True)
class View:
    """A decoded text; each pair of ``shifts`` is a place in it and how much further right the original goes on."""

    text: str
    shifts: list[tuple[int, int]] = field(default_factory=list)

    def originals(self, spans: Iterable[Span]) -> Iterator[Span]:
        """Say where ordered spans of the view stand in the original."""
        upcoming = iter(self.shifts)
        following = next(upcoming, None)
        shift = 0
        for start, end, replacement in spans:
            places = []
            for place in (start, end):
                while following is not None and following[0] <= place:
                    shift = following[1]
                    following = next(upcoming, None)
                places.append(place + shift)
            yield places[0], places[1], replacement


def written(text: str) -> View:
    """Decode the escapes of JSON writers and of HTML, but for the brackets of tags: those of values would be tags."""
    return _decoded(text, _WRITTEN, but="<>") if "\\u00" in text or "&" in text else View(text)


def tagged(text: str) -> View:
    """Decode them all: a text of XML inside another."""
    return _decoded(text, _WRITTEN) if "\\u00" in text or "&" in text else View(text)


def percent(text: str) -> View:
    """Decode the escapes of URLs, also where they were escaped more than once."""
    return _decoded(text, _PERCENT) if "%" in text else View(text)


def _decoded(text: str, escape: re.Pattern[str], but: str = "") -> View:
    pieces: list[str] = []
    shifts: list[tuple[int, int]] = []
    at = length = 0
    for match in escape.finditer(text):
        character = _character(match)
        if len(character) != 1 or character in but:
            continue
        pieces += (text[at : match.start()], character)
        length += match.start() - at + 1
        at = match.end()
        shifts.append((length, at - length))
    return View("".join([*pieces, text[at:]]), shifts) if shifts else View(text)


def _character(match: re.Match[str]) -> str:
    if match.lastgroup == "entity":
        return html.unescape(f"&{match['entity']};")
    return chr(int(match[match.lastgroup or 0], 16))
