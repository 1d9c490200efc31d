"""Cures: the cheapest first, each with its price for this sink, and what fits this Spark."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.diagnosis.errors import judge_error
from jupyter_streamwatch.diagnosis.errors.coordinates import connector_of, scala
from jupyter_streamwatch.model.facts import Facts

GAP = (
    "java.lang.IllegalStateException: The offset log for batch 41 doesn't exist, which is required to restart the query"
    " from the latest batch 42 from the offset log."
)


def cures(text, **facts):
    return judge_error(text, None, Facts(**facts)).told.cures


@pytest.mark.parametrize(
    ("sink", "price"),
    [
        ("delta", "rows that are new in it are left out"),
        ("kafka", "come to the sink twice"),
        ("foreachBatch", "gets the same batch id with perhaps other rows"),
        ("console", "keeps nothing"),
        (None, "a sink that remembers batch ids (files, Delta) may leave rows out, others may get them twice"),
    ],
)
def test_an_offset_file_is_moved_aside_at_a_price(sink, price):
    """Never deleted, with what it costs at the sink; a new checkpoint is the last resort."""
    told = cures(GAP, sinkKind=sink)
    move = next(cure for cure in told if "offsets/42" in cure)
    assert "Move" in move
    assert "do not delete it" in move
    assert price in move
    assert "last resort" in told[-1]
    assert sum("new checkpoint" in cure for cure in told) == 1


@pytest.mark.parametrize(
    ("sink", "price"),
    [
        ("files", "no row comes twice"),
        ("kafka", "come to the sink twice"),
        ("foreachBatch", "unless it checks the batch id"),
        ("memory", "keeps nothing"),
        ("jdbc", "others may"),
    ],
)
def test_a_restart_has_its_price(sink, price):
    """The batch that failed runs again over the same rows."""
    assert price in cures("java.lang.InterruptedException", sinkKind=sink)[0]


def test_a_missing_state_version_is_written_anew_by_the_batch_before():
    """Version 41 is what batch 40 wrote: repeated, it is there again, and no state is lost."""
    told = cures("java.io.FileNotFoundException: No such file: s3a://b/ck/a/state/0/4/41.zip", sinkKind="kafka")
    move = next(cure for cure in told if "commits/40" in cure)
    assert "offsets/41" in move
    assert "come to the sink twice" in move
    assert "last resort" in told[-1]
    unknown = cures("[CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE] a file")
    assert not any("commits/" in cure for cure in unknown)


def test_a_temporary_checkpoint_begins_anew():
    """A start without a checkpoint of its own does not go on."""
    assert "begins anew" in cures("java.lang.InterruptedException", temporaryCheckpoint=True)[0]


@pytest.mark.parametrize(("stateful", "said"), [((), None), (("agg",), "the state is lost"), (None, "if it has any")])
def test_a_new_checkpoint_says_what_is_lost(stateful, said):
    """State only where there is or may be some."""
    last = cures(GAP, stateful=stateful)[-1]
    assert said in last if said else "state" not in last


def test_a_bad_value_fails_again_at_every_start():
    """A start alone does not help."""
    text = "org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'x' cannot be cast"
    assert "fails again" in cures(text)[0]


@pytest.mark.parametrize(
    ("text", "version", "coordinates"),
    [
        ("org/apache/spark/kafka010/KafkaConfigUpdater", "4.0.1", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.1"),
        ("Failed to find data source: kafka.", "3.5.3", "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.3"),
        ("Failed to find the data source: `avro`.", "3.5.3-amzn-0", "org.apache.spark:spark-avro_2.12:3.5.3"),
        ("io.delta.sql.DeltaSparkSessionExtension", "3.4.1", "io.delta:delta-core_2.12:2.4.0"),
    ],
)
def test_coordinates_fit_this_spark(text, version, coordinates):
    """Release and Scala version are those of the session."""
    connector = connector_of(text, version)
    assert connector.coordinates == coordinates
    assert connector.exact


def test_what_is_not_known_of_coordinates_is_left_open():
    """No version is made up, and an unknown class belongs to no connector."""
    open_one = connector_of("org.apache.spark.sql.kafka010.X", None)
    assert "<version of this Spark>" in open_one.coordinates
    assert not open_one.exact
    assert connector_of("com.example.Foo", "4.0.0") is None
    assert scala("4.2.0") == "2.13"


def test_a_missing_jar_is_pasted_with_its_coordinates():
    """The code has them where they are whole, and is withheld where something is to be filled in."""
    text = "java.lang.ClassNotFoundException: org.apache.spark.kafka010.KafkaConfigUpdater"
    assert "spark-sql-kafka-0-10_2.13:4.1.0" in judge_error(text, None, Facts(sparkVersion="4.1.0")).told.code
    assert judge_error(text, None, Facts()).told.code is None
