"""When two histories say the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jupyter_streamwatch.model.history import HistoryView


def same(one: HistoryView, other: HistoryView) -> None:
    """Fail unless both histories say the same."""
    for name in ("id", "name", "runs", "gaps", "seen", "last", "record", "idleSince", "recent", "trigger"):
        assert getattr(one, name) == getattr(other, name), name
    version = one.facts.sparkVersion or other.facts.sparkVersion  # which the session's environment may tell, too
    assert replace(one.facts, sparkVersion=version) == other.facts
    assert one.batches.rows == other.batches.rows
    assert (one.batches.count == other.batches.count).all()
    assert one.batches["runId"].tolist() == other.batches["runId"].tolist()
    for name in one.batches.names:
        for which in ("numbers", "minimum", "maximum"):
            np.testing.assert_array_equal(getattr(one.batches, which)(name), getattr(other.batches, which)(name), name)
