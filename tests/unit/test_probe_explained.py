"""Facts from the text of an extended explain."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.spark.plans import explained
from jupyter_streamwatch.spark.plans.expressions import delay_ms

STATE = (
    "state info [ checkpoint = file:/data/cp/state, runId = fd816e76-fe91-4637-8f25-566a014d61e0, opId = 0, ver = 1, "
    "numPartitions = 4]"
)
AGGREGATE = f"""== Parsed Logical Plan ==
WriteToMicroBatchDataSource noop-table
+- ~Aggregate [window#9-T10000ms], [window#9-T10000ms, count(1) AS count#7L]
   +- ~EventTimeWatermark df8495b5-ad42-4cd4-bb85-cdba55170f48, timestamp#3: timestamp, 1 hours 30 minutes
      +- ~StreamingDataSourceV2ScanRelation[timestamp#3, value#4L] RateStream(rowsPerSecond=5)

== Physical Plan ==
WriteToDataSourceV2 MicroBatchWrite[epoch: 1, writer: NoopStreamingWrite]
+- *(6) HashAggregate(keys=[window#9-T10000ms, y#6L], functions=[count(1)], output=[window#9-T10000ms, count#7L])
   +- StateStoreSave [window#9-T10000ms, y#6L], {STATE} stateStoreCkptIds = None, Complete, 0, 0, 2
      +- *(5) HashAggregate(keys=[window#9-T10000ms, y#6L], functions=[merge_count(1)], output=[count#35L])
         +- StateStoreRestore [window#9-T10000ms, y#6L], {STATE} stateStoreCkptIds = None, 2
            +- ArrowEvalPython [slow(value#4L)#2L], [pythonUDF0#138L], 101
               +- EventTimeWatermark df8495b5-ad42-4cd4-bb85-cdba55170f48, timestamp#3: timestamp, 1 hours 30 minutes
"""
FILES = """== Parsed Logical Plan ==
~WriteToMicroBatchDataSourceV1 FileSink[/o], 452ff98d-3ecd-4f7f-af59-faffd79b31da, [checkpointLocation=/cp2], Append, 0
+- Relation [t#49,k#50] json

== Physical Plan ==
FileScan json [t#49,k#50] Batched: false, DataFilters: [], Format: JSON, Location: InMemoryFileIndex(1 paths)
"""


def test_a_stateful_plan_tells_nearly_all():
    """Watermark, operator, mode, partitions, checkpoint and Python stand in the plan of a stateful query."""
    assert explained.of_plan(AGGREGATE) == {
        "outputMode": "complete",
        "checkpoint": "/data/cp",
        "temporaryCheckpoint": False,
        "watermarks": (("timestamp", 5_400_000.0),),
        "stateful": ("stateStoreSave",),
        "shufflePartitions": 4,
        "pythonUdf": True,
    }


def test_a_file_sink_tells_mode_and_checkpoint():
    """A stateless plan into files has the writer's options and mode."""
    known = explained.of_plan(FILES)
    assert (known["outputMode"], known["checkpoint"], known["temporaryCheckpoint"]) == ("append", "/cp2", False)
    assert (known["watermarks"], known["stateful"], known["pythonUdf"]) == ((), (), False)
    assert known["shufflePartitions"] is None


@pytest.mark.parametrize("text", ["No physical plan. Waiting for data.", ""])
def test_no_plan_is_unknown(text):
    """Before the first batch nothing is known, and nothing is said to be absent."""
    assert set(explained.of_plan(text).values()) == {None}


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("10 seconds", 10_000.0),
        ("1 hours 30 minutes", 5_400_000.0),
        ("1.5 seconds", 1_500.0),
        ("2 days", 172_800_000.0),
        ("1 months", None),
        ("soon", None),
    ],
)
def test_delays_are_read_or_unknown(text, ms):
    """A delay is read in Spark's words; one that cannot be read makes the watermarks unknown."""
    assert delay_ms(text) == ms
