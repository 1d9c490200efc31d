"""The code of a hint, pasted into the query that it was made for, mends it (``make faults`` does so for all)."""

from __future__ import annotations

import pytest

from tests.faults.bench import CASES, Bench
from tests.faults.runner import run

QUICK = ("too-many-partitions", "batch-recomputed", "late-rows-of-the-same-time")


@pytest.mark.parametrize("name", QUICK)
def test_pasted_code_mends_the_query(spark, watch, tmp_path, name):
    """The hint is gone, the query keeps up, and a batch takes about as long as the hint said."""
    outcome, mended = run(CASES[name], Bench(spark, watch, tmp_path))
    assert outcome.right, (outcome.verdict, outcome.hints)
    assert mended is not None
    assert mended.right, mended
