"""Every stateful operator: what its checkpoint says is what its progress said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import jupyter_streamwatch as sw
from tests.spark.checkpoint_queries import Maker

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {
    "dedupe": ["id"],
    "dedupe-within": ["id"],
    "session": ["city", "sessionStartTime"],
    "join-rocksdb": ["field0"],
    "pandas-state": ["city"],
    "join-v3": [],
    "with-state": [],
    "aggregate-v2": ["window", "city"],
}


@pytest.mark.oldest
def test_operators_as_in_their_progress(spark: Any, tmp_path: Path) -> None:
    """Name, partitions, keys and the newest version of each operator; on 3.5, which names none, its schema tells."""
    maker = Maker(spark, tmp_path)
    made = maker.made()
    for case, keys in KEYS.items():
        if case not in made:  # of a newer Spark
            continue
        query = made[case]()
        progress = query.recentProgress[-1]
        (seen,) = progress["stateOperators"]
        found = sw.checkpoint(maker.path(case))
        (operator,) = found.operators
        assert found.problems == (), case
        if maker.newest:
            assert operator.name == seen["operatorName"], case
        else:
            named = {
                "applyInPandasWithState": "flatMapGroupsWithState",
                "defaultName": "sessionWindowStateStoreSaveExec",
            }
            assert operator.guess == named.get(seen["operatorName"], seen["operatorName"]), case
        assert operator.partitions == seen["numShufflePartitions"], case
        assert [one.name for one in operator.stores[0].key or ()] == keys, case
        versions = {files.latestVersion for store in operator.stores for files in store.files}
        assert versions == {found.nextBatch}, case
        assert found.restart().blocked is None, case
        # As Spark says it, in milliseconds.
        assert (found.restart().watermarkMs is None) == ("watermark" not in (progress.get("eventTime") or {})), case
