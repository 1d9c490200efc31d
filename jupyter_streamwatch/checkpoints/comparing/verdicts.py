"""The verdicts that depend on the Spark in use, each with where it comes from.

"Guide" is "Recovery Semantics after Changes in a Streaming Query" of Spark's Structured Streaming Programming Guide;
"measured" is what 3.5.9 and 4.3.0 did in ``tests/spark/test_compare*.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.comparing.changes import Change, Verdict, What
from jupyter_streamwatch.model.query_shape import NOT_BIGINT, Column, Shape
from jupyter_streamwatch.model.spark_version import NEWEST, version_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.parts import Field

METADATA_SINCE = (4, 0)
"""From here on a checkpoint names its stateful operators, and Spark refuses a start with others
(``STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA``; measured). Before, it reads the state by its number."""
ALWAYS_NULLABLE = "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled"
"""A pinned setting, true for checkpoints that 4.1 and newer began: their state's columns may all be null, so that the
check of nullability, which refuses ``count`` -> ``sum`` on 3.5.9, lets it pass on 4.3.0 (measured)."""
_GENERATED = re.compile(r"#\d+")
MAY_BE_NULL = "A column in the state that is never null became one that may be: Spark refuses it."
GUIDE_FORBIDS = "Spark's guide does not allow it, and Spark does not notice."


@dataclass
class Case:
    """One comparison under way.

    Attributes:
        checkpoint: The checkpoint.
        now: The query that is to run on it.
        before: The last watched run on it; None when none is known.
        changes: What was found.
        unseen: What could not be compared.
    """

    checkpoint: Contents
    now: Shape
    before: Shape | None
    changes: list[Change] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def add(self, what: What, verdict: Verdict, was: str | None, now: str | None, reason: str) -> None:
        """Note a change."""
        self.changes.append(Change(what, verdict, was, now, reason))

    def found(self, *whats: What) -> bool:
        """Whether a change of these kinds was found."""
        return any(one.what in whats for one in self.changes)

    @property
    def version(self) -> tuple[int, int]:
        """Spark's version in use; the newest when it is unknown."""
        return version_of(self.now.sparkVersion) or NEWEST

    @property
    def texts(self) -> bool:
        """Whether texts of plans can be compared: Spark writes them another way in another mode or version."""
        before = self.before
        if before is None or before.mode != self.now.mode:
            return False
        return before.sparkVersion is None or (version_of(before.sparkVersion) or NEWEST) == self.version


def generated(name: str) -> bool:
    """Whether Spark made up the name of a grouping expression, with an id that changes from run to run (before 3.3)."""
    return bool(_GENERATED.search(name))


def same(stored: Sequence[Field], now: Sequence[Column]) -> bool:
    """Whether columns in the state and those of a query have the same names and no different types."""
    if len(stored) != len(now):
        return False
    pairs = list(zip(stored, now, strict=True))
    return all(
        (named_alike(one.name, new.name) or generated(one.name)) and not differ(one.type, new.type)
        for one, new in pairs
    )


def named_alike(one: str, other: str) -> bool:
    """Whether two names are one for Spark, which does not tell capitals from small letters by default."""
    return one.lower() == other.lower()


def differ(stored: str, now: str | None) -> bool:
    """Whether two types are known to differ."""
    if now == NOT_BIGINT:
        return stored == "bigint"
    return now is not None and stored not in (now, "n/a")


def columns(stored: Sequence[Field], now: Sequence[Column], conf: Mapping[str, str]) -> tuple[Verdict, str]:
    """Judge columns of the state that became others, as ``StateSchemaCompatibilityChecker`` does, which knows no names.

    Args:
        stored: columns in the checkpoint.
        now: columns of the query.
        conf: settings that the checkpoint keeps.

    Returns:
        Verdict and reason.
    """
    if len(stored) != len(now):
        count = f"{len(stored)} before, {len(now)} now"
        return "not-allowed", f"The number of columns in the state differs ({count}): Spark refuses the state's schema."
    pairs = list(zip(stored, now, strict=True))
    if any(differ(one.type, new.type) for one, new in pairs):
        return "not-allowed", "The types of columns in the state differ: Spark refuses the state's schema."
    if any(new.type in (None, NOT_BIGINT) for one, new in pairs if not named_alike(one.name, new.name)):
        return "unknown", "Spark compares the types only, and what it says of the query's plan does not tell them all."
    likely = [Column(new.name, new.type, nullable=new.nullable is not False) for new in now]  # most columns may be null
    if refuses_null(stored, likely, conf):
        return "not-allowed", MAY_BE_NULL
    return (
        "silently-wrong",
        "Spark compares types, not names, of the state's columns: it runs, and reads the old state as the new.",
    )


def refuses_null(stored: Sequence[Field], now: Sequence[Column], conf: Mapping[str, str]) -> bool:
    """Whether a column that is never null in the state may be now, and the checkpoint's state minds it."""
    pinned = str(conf.get(ALWAYS_NULLABLE, "")).lower() == "true"
    pairs = zip(stored, now, strict=False)
    return not pinned and any(one.nullable is False and new.nullable for one, new in pairs)


def listed(items: Sequence[object]) -> str:
    """Write names with commas; ``none`` for nothing."""
    return ", ".join(str(item) for item in items) or "none"
