"""Recordings that streamwatch wrote: JSON lines, the first of which says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jupyter_streamwatch.recordings.formats.salvage import Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def is_recording(head: bytes) -> bool:
    """Whether a file that begins like this is a recording."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b'{"streamwatch"', b'{ "streamwatch"'))


def read(lines: Iterable[bytes]) -> Iterator[Found]:
    """Give each line as it was recorded; a last line that was not written to its end is named and left out."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            yield Found("recorded", value, number)
        else:
            yield Found(
                "skipped",
                ("A line of the recording is not a JSON object.", line[:200].decode("utf-8", "replace")),
                number,
            )
