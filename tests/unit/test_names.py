"""Readable names of sources and sinks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_streamwatch.text import spark_names as names

HASH = re.compile(r"[A-Za-z$]@[0-9a-f]{1,8}$")

SINKS = [
    ("ForeachBatchSink", "foreachBatch", "foreachBatch"),
    ("MemorySink", "memory", "memory"),
    ("MemorySinkV2", "memory", "memory"),
    ("org.apache.spark.sql.execution.streaming.ConsoleSink@2d8c7f1a", "console", "console"),
    ("org.apache.spark.sql.execution.streaming.ConsoleSinkProvider@5f3", "console", "console"),
    ("org.apache.spark.sql.execution.streaming.ConsoleTable$@4074d526", "console", "console"),
    ("NoopTable", "noop", "noop"),
    ("org.apache.spark.sql.execution.datasources.noop.NoopTable$@33ab", "noop", "noop"),
    ("FileSink[/data/out]", "files /data/out", "files"),
    ("FileSink[file:/data/out]", "files /data/out", "files"),
    ("FileSink[s3a://bucket/out]", "files s3a://bucket/out", "files"),
    ("KafkaSink", "Kafka", "kafka"),
    ("org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable@1f2e3d4c", "Kafka", "kafka"),
    ("DeltaSink[/lake/orders]", "Delta /lake/orders", "delta"),
    ("DeltaSink[dbfs:/user/hive/warehouse/a.db/t]", "Delta dbfs:/user/hive/warehouse/a.db/t", "delta"),
    ("HoodieStreamingSink[s3://bucket/t]", "Hudi s3://bucket/t", "hudi"),
    ("org.apache.spark.sql.eventhubs.EventHubsSink@77", "Event Hubs", "eventhubs"),
    ("com.google.cloud.spark.bigquery.BigQueryStreamingSink@1a2b", "BigQuery", "bigquery"),
    (
        "ForeachWriterTable(org.apache.spark.PythonForeachWriter@5f735c9e,Right(org.x.T$$$Lambda$43/0x00f88e8@7b15ad))",
        "foreach",
        "foreach",
    ),
    ("org.apache.spark.sql.execution.streaming.ForeachSink@1b", "foreach", "foreach"),
    ("prod.db.kafka_orders", "prod.db.kafka_orders", None),
    ("spark_catalog.default.rate", "spark_catalog.default.rate", None),
    ("com.acme.streaming.QueueSinkProvider$QueueTable@ff", "Queue", None),
    ("Acme[com.acme.Foo@1f2e, 3]", "Acme Foo, 3", None),
    ("com.x.Y$$anon$1@3", "Y", None),
    ("a sink: of my own", "a sink: of my own", None),
]
SOURCES = [
    ("KafkaV2[Subscribe[orders]]", "Kafka orders", "kafka"),
    ("KafkaV2[Subscribe[a, b]]", "Kafka a, b", "kafka"),
    ("KafkaSource[Subscribe[a,b,c,d,e]]", "Kafka a, b, c and 2 more", "kafka"),
    ("KafkaV2[SubscribePattern[[a-z]+[.]orders]]", "Kafka pattern [a-z]+[.]orders", "kafka"),
    ("KafkaV2[Assign[orders-0, orders-1, other-0]]", "Kafka orders, other", "kafka"),
    ("Kafka[Subscribe[orders]]", "Kafka orders", "kafka"),
    ("FileStreamSource[file:/data/in]", "files /data/in", "files"),
    ("FileStreamSource[file:///data/[x]]", "files /data/[x]", "files"),
    ("FileSource[/data/in]", "files /data/in", "files"),
    ("RateStreamV2[rowsPerSecond=5, rampUpTimeSeconds=0, numPartitions=default", "rate 5/s", "rate"),
    ("RateSource[rowsPerSecond=1, rampUpTimeSeconds=0, numPartitions=8]", "rate 1/s", "rate"),
    (
        "org.apache.spark.sql.execution.streaming.continuous.RateStreamContinuousStream@58f6388b",
        "rate",
        "rate",
    ),
    (
        "RatePerMicroBatchStream[rowsPerBatch=500, numPartitions=10, startTimestamp=0, advanceMsPerBatch=1000]",
        "rate 500 a batch",
        "rate-micro-batch",
    ),
    ("TextSocketV2[host: localhost, port: 9999]", "socket localhost:9999", "socket"),
    ("TextSocketSource[host: localhost, port: 9999]", "socket localhost:9999", "socket"),
    ("MemoryStream[value#1, city#2]", "memory", "memory"),
    ("DeltaSource[file:/lake/orders]", "Delta /lake/orders", "delta"),
    (
        "CloudFilesSource[abfss://c@a1.dfs.core.windows.net/in]",
        "Auto Loader abfss://c@a1.dfs.core.windows.net/in",
        None,
    ),
    ("KinesisV2[clicks]", "Kinesis clicks", "kinesis"),
    ("org.apache.spark.sql.eventhubs.EventHubsSource@3a2b1c", "Event Hubs", "eventhubs"),
    ("org.apache.iceberg.spark.source.SparkMicroBatchStream@24bdb5c", "Iceberg", "iceberg"),
    ("KafkaV2[]", "Kafka", "kafka"),
]


@pytest.mark.parametrize(("description", "name", "kind"), SINKS)
def test_names_a_sink_as_a_person_would(description, name, kind):
    """Every sink of Spark 2.1 to 4.3, Delta and the cloud services has a name without a Java object."""
    assert names.sink(description) == name
    assert names.kind(description) == kind


@pytest.mark.parametrize(("description", "name", "kind"), SOURCES)
def test_names_a_source_as_a_person_would(description, name, kind):
    """Every source of Spark 2.1 to 4.3, Delta and the cloud services has a name that says what is read."""
    assert names.source(description) == name
    if kind:
        assert names.kind(description) == kind


@pytest.mark.parametrize("nothing", [None, "", "  \n"])
def test_nothing_is_not_a_name(nothing):
    """A description that is missing or empty is n/a, and has no kind."""
    assert names.sink(nothing) == names.source(nothing) == "n/a"
    assert names.kind(nothing) is None


@pytest.mark.parametrize(
    ("format", "options", "name"),
    [
        ("rate", {"rowsPerSecond": "7"}, "rate 7/s"),
        ("rate", {}, "rate 1/s"),
        ("rate-micro-batch", {"rowsPerBatch": "10"}, "rate 10 a batch"),
        ("kafka", {"Subscribe": "orders", "kafka.bootstrap.servers": "h:1"}, "Kafka orders"),
        ("kafka", {"subscribePattern": "o.*"}, "Kafka pattern o.*"),
        ("kafka", {}, "Kafka"),
        ("socket", {"host": "h", "port": "1"}, "socket h:1"),
        ("delta", {"path": "/lake/t"}, "Delta /lake/t"),
        ("cloudFiles", {"PATH": "s3://b/in", "cloudFiles.format": "json"}, "Auto Loader s3://b/in"),
        ("com.acme.QueueSourceProvider", {"password": "x"}, "Queue"),
    ],
)
def test_names_a_source_before_it_describes_itself(format, options, name):
    """Before the first batch a source is named by its format and the options that say what is read."""
    assert names.source_of_format(format, options) == name


@pytest.mark.parametrize(
    ("path", "temporary"),
    [
        ("file:/tmp/temporary-29b129cc-0dbe-4cbc-a8b4-eca835893662", True),
        ("file:/tmp/temporary-29b129cc-0dbe-4cbc-a8b4-eca835893662/", True),
        ("/data/checkpoints/temporary", False),
        ("/tmp/temporary-orders", False),
    ],
)
def test_knows_a_checkpoint_that_spark_made(path, temporary):
    """Only the folder that Spark makes for a query without a checkpoint is temporary."""
    assert names.is_temporary(path) is temporary


@given(st.text(max_size=200))
def test_any_text_gets_a_name(text):
    """Whatever a description holds, it gets a name, and never raises."""
    assert names.sink(text)
    assert names.source(text)
    names.kind(text)


@given(
    st.from_regex(r"([a-z]{1,8}\.){0,4}[A-Z][A-Za-z]{0,12}(\$[A-Z][a-z]{0,8}){0,2}\$?@[0-9a-f]{1,8}", fullmatch=True),
    st.sampled_from(["{}", "Wrapped[{}]", "Wrapped[a, {}, b]", "Pair({},{})"]),
)
def test_no_name_is_a_java_object_with_a_hash(java_object, shape):
    """A Java object's default text never reaches a person, alone or inside another description."""
    name = names.sink(shape.replace("{}", java_object))
    assert java_object not in name
    assert java_object.rsplit("@", 1)[1] not in name.split("@")[1:]
    assert not HASH.search(name)
