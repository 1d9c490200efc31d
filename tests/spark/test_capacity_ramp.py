"""The capacity that is fitted, against a rate that rises until the query stops keeping up."""

from __future__ import annotations

import pytest

from tests.faults.bench import CASES, Bench
from tests.faults.ramp import NEAR
from tests.faults.runner import run


def test_the_capacity_is_where_the_query_breaks(spark, watch, tmp_path):
    """Within a quarter of the rate at which batches begin to take longer than their interval, for good."""
    outcome, _ = run(CASES["rate-ramp"], Bench(spark, watch, tmp_path))
    fit = outcome.also
    assert fit.after == pytest.approx(fit.real, rel=NEAR), str(fit)
