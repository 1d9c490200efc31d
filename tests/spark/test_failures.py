"""A dozen real failures: kind and owner are right, and after the cure the query goes on (``make failures``: all)."""

from __future__ import annotations

import pytest

from tests.zoo.cage import FAILURES, Cage
from tests.zoo.runner import run

QUICK = (
    "function-raises-in-foreach-batch",
    "module-missing-in-driver",
    "batch-action-on-a-stream",
    "text-that-is-no-number",
    "division-by-zero",
    "record-that-is-no-json",
    "offset-log-with-a-gap",
    "offsets-damaged",
    "source-removed",
    "continuous-checkpoint",
    "key-of-another-type",
    "input-file-deleted",
    "stopped-by-its-owner",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_real_failure(spark, watch, tmp_path, name):
    """It is named, with its owner, and its cure lets the query go on."""
    outcome = run(FAILURES[name], Cage(spark, watch, tmp_path))
    assert outcome.right, outcome
