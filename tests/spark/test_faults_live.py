"""Eight of the faults, live: the first hint names what is wrong while the query runs (``make faults`` runs all)."""

from __future__ import annotations

import pytest

from tests.faults.bench import CASES, Bench
from tests.faults.runner import run

QUICK = (
    "no-rate-limit",
    "too-many-partitions",
    "batch-recomputed",
    "replayed-batch",
    "growth-without-watermark",
    "late-rows-dropped",
    "watermark-unset",
    "query-failed",
)


@pytest.mark.parametrize("name", QUICK)
def test_the_fault_is_the_first_hint(spark, watch, tmp_path, name):
    """The fault's own code comes first, with the right one of its causes."""
    outcome, _ = run(CASES[name], Bench(spark, watch, tmp_path), fix=False)
    assert outcome.right, (outcome.verdict, outcome.hints)
