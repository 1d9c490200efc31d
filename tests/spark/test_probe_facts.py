"""What is learned of a run: trigger, mode, sink, checkpoint, and what its plan says."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.spark import probe
from tests.helpers import wait_until
from tests.spark.queries import add_file, files, rate, start

pytestmark = pytest.mark.oldest


@pytest.mark.parametrize(
    ("given", "trigger"),
    [
        ({}, Trigger("default", None, "asked")),
        ({"processingTime": "2 seconds"}, Trigger("processingTime", 2_000.0, "asked")),
        ({"once": True}, Trigger("once", None, "asked")),
        ({"availableNow": True}, Trigger("availableNow", None, "asked")),
        ({"continuous": "3 seconds"}, Trigger("continuous", 3_000.0, "asked")),
    ],
)
def test_the_trigger_is_asked(spark, given, trigger):
    """Each kind of trigger is known as soon as the query is, also when the query has ended since."""
    query = start(rate(spark), **({"trigger": given} if given else {}), sink="console")
    assert probe.facts(spark, query).trigger == trigger
    query.stop()
    assert probe.facts(spark, query).trigger == trigger


def test_a_file_query_with_everything(spark, tmp_path):
    """Files in and out: readable names, the checkpoint, the limit of a batch; all before the first batch."""
    frame = files(spark, tmp_path / "in", maxFilesPerTrigger=3, secretToken="hunter2").where("n > 1")
    writer = frame.writeStream.format("parquet").option("path", str(tmp_path / "out"))
    query = writer.option("checkpointLocation", str(tmp_path / "cp")).start()
    facts = probe.facts(spark, query)
    assert (facts.mode, facts.outputMode, facts.sinkKind) == ("classic", "append", "files")
    assert facts.sink == f"files {tmp_path}/out"
    assert facts.sources == (f"files {tmp_path}/in",)
    assert facts.checkpoint == f"{tmp_path}/cp"
    assert facts.temporaryCheckpoint is False
    assert facts.rateLimit == (("maxFilesPerTrigger", "3"),)
    assert facts.lenient == (("ignoreMissingFiles", "false"),)
    assert (facts.watermarks, facts.stateful, facts.pythonUdf, facts.foreachBatch) == ((), (), False, False)
    assert facts.sparkVersion == spark.version
    assert facts.why == {}
    assert "hunter2" not in repr(facts)


def test_a_query_without_limit_and_checkpoint(spark):
    """No limit is known to be none, and the folder that Spark makes is temporary."""
    facts = probe.facts(spark, start(rate(spark, 7), "memory", name="facts_memory"))
    assert facts.rateLimit == ()
    assert facts.temporaryCheckpoint is True
    assert facts.sources == ("rate 7/s",)
    assert (facts.sink, facts.sinkKind) == ("memory", "memory")


def test_a_windowed_count_in_foreach_batch(spark, tmp_path):
    """Watermark, stateful operator and sink; the partitions are those of the run, not of the session since."""
    from pyspark.sql import functions as F

    frame = rate(spark).withWatermark("timestamp", "90 seconds").groupBy(F.window("timestamp", "5 seconds")).count()
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        query = start(frame, mode="update", each=lambda frame, batch: frame.collect(), checkpoint=tmp_path / "cp")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    facts = probe.facts(spark, query)
    assert facts.watermarks == (("timestamp", 90_000.0),)
    assert facts.stateful == ("stateStoreSave",)
    assert (facts.outputMode, facts.sink, facts.foreachBatch) == ("update", "foreachBatch", True)
    wait_until(lambda: query.lastProgress, 60, "a batch")
    facts = probe.facts(spark, query)
    assert (facts.shufflePartitions, facts.sessionPartitions) == (3, 2)
    assert facts.stateful == tuple(operator["operatorName"] for operator in query.lastProgress["stateOperators"])


def _stateful_frames(spark: Any) -> dict[str, tuple[Any, str]]:
    from pyspark.sql import functions as F

    marked = rate(spark).withWatermark("timestamp", "1 minute")
    other = rate(spark).withWatermark("timestamp", "2 minutes")
    near = F.expr("a.value = b.value AND a.timestamp >= b.timestamp - INTERVAL 1 MINUTE")
    return {
        "dedupe": (rate(spark).dropDuplicates(["value"]), "append"),
        "dedupeWithinWatermark": (marked.dropDuplicatesWithinWatermark(["value"]), "append"),
        "symmetricHashJoin": (marked.alias("a").join(other.alias("b"), near), "append"),
        "globalLimit": (rate(spark).limit(3), "append"),
        "stateStoreSave": (rate(spark).groupBy("value").count(), "update"),
        "sessionWindowStateStoreSaveExec": (marked.groupBy(F.session_window("timestamp", "5 s")).count(), "append"),
    }


@pytest.mark.parametrize(
    "operator",
    [
        "dedupe",
        "dedupeWithinWatermark",
        "symmetricHashJoin",
        "globalLimit",
        "stateStoreSave",
        "sessionWindowStateStoreSaveExec",
    ],
)
def test_stateful_operators_are_named_as_in_progress(spark, operator):
    """Each stateful operator has the name that its progress will have, before the first batch."""
    frame, mode = _stateful_frames(spark)[operator]
    facts = probe.facts(spark, start(frame, mode=mode))
    assert facts.stateful == (operator,)
    if operator == "symmetricHashJoin":
        assert facts.watermarks == (("timestamp", 60_000.0), ("timestamp", 120_000.0))


def test_a_join_with_a_table_keeps_no_state(spark):
    """An aggregate on the static side of a join, and the join itself, are not stateful."""
    from pyspark.sql import functions as F

    frame = rate(spark).join(spark.range(10).groupBy("id").count(), F.expr("value = id"))
    assert probe.facts(spark, start(frame)).stateful == ()


def test_python_in_the_plan_is_seen(spark):
    """A Python function and a Python map are Python; a built-in function is not."""
    from pyspark.sql import functions as F

    add = F.udf(lambda value: value + 1, "long")
    assert probe.facts(spark, start(rate(spark).select(add("value")))).pythonUdf is True
    assert probe.facts(spark, start(rate(spark).select(F.abs("value")))).pythonUdf is False
    mapped = rate(spark).mapInPandas(lambda frames: frames, "timestamp timestamp, value long")
    assert probe.facts(spark, start(mapped)).pythonUdf is True


def test_a_foreach_writer_is_named(spark):
    """A Python foreach writer is no Java object with a hash."""
    facts = probe.facts(spark, rate(spark).writeStream.foreach(lambda row: None).start())
    assert (facts.sink, facts.sinkKind, facts.foreachBatch) == ("foreach", "foreach", False)


def test_the_checkpoint_pins_the_partitions(spark, tmp_path):
    """A restarted stateful query keeps the partitions of its first run, whatever its session asks for."""
    add_file(tmp_path / "in", "a.json", [{"n": 1}])
    frame = files(spark, tmp_path / "in").groupBy("n").count()
    for partitions in ("2", "4"):
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        query = start(frame, mode="update", checkpoint=tmp_path / "cp", trigger={"availableNow": True})
        query.awaitTermination(60)
        add_file(tmp_path / "in", f"{partitions}.json", [{"n": 2}])
    facts = probe.facts(spark, query)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert (facts.shufflePartitions, facts.sessionPartitions) == (2, 4)


def test_active_queries_of_all_sessions_are_listed(spark):
    """Queries of newSession() run in the same JVM: they are listed too, after the session's own, and can be asked."""
    own = start(rate(spark), name="own")
    other = start(rate(spark.newSession()), name="elsewhere")
    try:
        listed = probe.active(spark)
        assert [(id, runId, name) for id, runId, name, _ in listed] == [
            (str(query.id), str(query.runId), query.name) for query in (own, other)
        ]
        foreign = listed[1][3]
        assert probe.facts(spark, foreign).trigger == Trigger("default", None, "asked")
        assert probe.status(foreign).message
    finally:
        other.stop()


def test_the_status_is_spark_s_own(spark):
    """The status has Spark's words and the time of the look."""
    query = start(rate(spark))
    wait_until(lambda: query.lastProgress, 60, "a batch")
    status = probe.status(query)
    assert status.message
    assert isinstance(status.isTriggerActive, bool)
    assert status.seen > 1.6e12
    query.stop()
    assert probe.status(query).message == "Stopped"


def test_the_environment_names_versions(spark):
    """Versions, master and application are there for who reads a report."""
    environment = probe.environment(spark)
    assert environment["Spark"] == spark.version
    assert environment["Master"] == "local[2]"
    assert environment["Java"].split(".")[0].isdigit()
    assert environment["Session"] == "classic"
