"""How far behind a source is: the units of its metrics, and the offsets before them."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.model.behind import Behind, behind


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ({}, ()),
        (
            {"numFilesOutstanding": 4, "numBytesOutstanding": "12"},
            (Behind(4, "files", "numFilesOutstanding"), Behind(12, "bytes", "numBytesOutstanding")),
        ),
        (
            {"minOffsetsBehindLatest": "1", "avgOffsetsBehindLatest": "2.5"},
            (Behind(2.5, "offsets", "avgOffsetsBehindLatest"),),
        ),
        ({"minMsBehindLatest": "0", "maxMsBehindLatest": "70"}, (Behind(70, "ms", "maxMsBehindLatest"),)),
        ({"estimatedTotalBytesBehindLatest": None, "maxOffsetsBehindLatest": "-1", "numFilesOutstanding": "NaN"}, ()),
    ],
)
def test_metrics_tell_each_unit_once(metrics, told):
    """The furthest partition before the average and the nearest; what is no amount is not told."""
    assert behind(None, metrics, None) == told


def test_offsets_come_before_metrics():
    """Connectors report metrics that contradict the offsets."""
    assert behind(7, {"maxOffsetsBehindLatest": 0}, None) == (Behind(7, "rows", "latestOffset - endOffset"),)


def test_shards_of_kinesis_tell_where_its_metrics_do_not():
    """The shard that is furthest behind counts; a shard that does not say leaves it unknown."""
    shards = [{"msBehindLatest": "20"}, {"msBehindLatest": "900"}]
    assert behind(None, {}, shards) == (Behind(900, "ms", "msBehindLatest"),)
    assert behind(None, {"maxMsBehindLatest": 5}, shards) == (Behind(5, "ms", "maxMsBehindLatest"),)
    assert behind(None, {}, [*shards, {"closed": True}]) == ()
    assert behind(None, {}, []) == ()
