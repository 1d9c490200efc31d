"""The shape of a query that reads a source and does nothing else: its plan is the source alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_streamwatch.spark import probe
from tests.helpers import wait_until
from tests.spark import queries

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.oldest
@pytest.mark.parametrize("kind", ["rate", "files"])
def test_a_source_alone_is_read(spark: Any, watch: Any, tmp_path: Path, kind: str) -> None:
    """Before and after the start: the source, no filter and no operator, all of them known."""
    frame = queries.rate(spark) if kind == "rate" else queries.files(spark, tmp_path / "in")
    before = probe.shape(frame)
    query = queries.start(frame, checkpoint=tmp_path / "checkpoint")
    running = wait_until(lambda: watch.queries[str(query.id)].facts.shape, what="the facts of the run")
    assert [source.kind for source in before.sources] == ["file" if kind == "files" else kind]
    assert (before.filters, before.operators) == ((), ())
    assert (before.sources, before.filters) == (running.sources, running.filters)
