"""Versions of Spark, as far as a sentence hangs on them."""

from __future__ import annotations

import re

NEWEST = (99, 0)
"""Stands for a version that is not known, where what the newest one does is to be said."""


def version_of(text: str | None) -> tuple[int, int] | None:
    """Return major and minor version: ``4.3.0`` is (4, 3); None when it is not known."""
    found = re.match(r"(\d+)\.(\d+)", text or "")
    return None if found is None else (int(found[1]), int(found[2]))
