"""Types as Spark's state schemas are read: one way of writing them on both sides of a comparison."""

from __future__ import annotations

from typing import Any


def type_text(x: Any) -> str:
    """Write a type of Spark's JSON as ``simpleString`` does."""
    from jupyter_streamwatch.checkpoints.schema import type_text  # a package that itself asks the probe

    return type_text(x)
