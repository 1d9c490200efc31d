"""Who owns a frame or an exception: the user's code, Spark, a connector, the state store, storage, the system.

As error trackers tell the frames of an application from those of its libraries. Java's own classes and general
libraries own nothing: whoever called them does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_streamwatch.model.errors import Cause, Frame

WORKER: Final = "user-python-worker"
DRIVER: Final = "user-python-driver"
PYTHON: Final = "user-python"
JVM: Final = "user-jvm"
SPARK: Final = "spark"
STATE: Final = "state-store"
STORAGE: Final = "storage"
SYSTEM: Final = "system"
PROGRAM: Final = "program"
UNKNOWN: Final = "unknown"

_CONNECTORS: Final = {
    "autoloader": "Auto Loader", "bigquery": "the BigQuery connector", "cassandra": "the Cassandra connector",
    "cosmos": "the Cosmos DB connector", "delta": "Delta", "elasticsearch": "the Elasticsearch connector",
    "eventhubs": "the Event Hubs connector", "hbase": "HBase", "hudi": "Hudi", "iceberg": "Iceberg",
    "jdbc": "the database (JDBC)", "kafka": "Kafka", "kinesis": "the Kinesis connector",
    "mongodb": "the MongoDB connector", "paimon": "Paimon", "pubsub": "the Pub/Sub connector",
    "pulsar": "the Pulsar connector", "redis": "the Redis connector", "schema-registry": "the schema registry",
    "snowflake": "the Snowflake connector",
}  # fmt: skip

_WORDS: Final = {
    WORKER: "your Python function, in a Python worker",
    DRIVER: "your Python code, in the driver",
    PYTHON: "your Python code",
    JVM: "JVM code that is not Spark's: yours, or a library of yours",
    SPARK: "Spark",
    STATE: "the state store",
    STORAGE: "the file system",
    SYSTEM: "the machine, its processes or its libraries",
    PROGRAM: "the program itself: how it was written, started or stopped",
    UNKNOWN: "not known",
}

# The longest package that fits decides. "" owns nothing.
_PACKAGES: Final = {
    **dict.fromkeys(
        (
            "java", "javax", "jdk", "sun", "com.sun", "scala", "kotlin", "py4j", "io.netty", "com.google.common",
            "com.google.protobuf", "com.google.gson", "org.slf4j", "org.apache.logging", "org.apache.log4j",
            "org.apache.commons", "com.fasterxml", "org.json4s", "org.codehaus", "org.apache.avro",
            "org.apache.parquet",
            "org.apache.orc", "org.apache.arrow", "org.xerial", "com.github.luben", "net.jpountz",
            "com.esotericsoftware",
            "com.twitter.chill", "io.grpc", "okhttp3", "okio", "org.apache.http", "org.eclipse.jetty",
            "org.sparkproject",
            "com.ctc.wstx", "org.antlr", "dev.ludovic", "org.glassfish", "breeze", "io.delta.storage",
        ),
        "",
    ),
    "pyspark": SPARK, "org.apache.spark.util.Utils$": "", "org.apache.spark.util.Utils": "",
    "org.apache.spark.util.SparkErrorUtils": "", "org.apache.spark.util.SparkErrorUtils$": "", "java.sql": "jdbc",
    "org.apache.spark": SPARK, "com.databricks": SPARK,
    "org.apache.spark.sql.execution.streaming.state": STATE, "org.rocksdb": STATE,
    "org.apache.spark.sql.execution.streaming.operators.stateful": STATE,
    "org.apache.spark.sql.kafka010": "kafka", "org.apache.spark.kafka010": "kafka", "org.apache.kafka": "kafka",
    "kafkashaded.org.apache.kafka": "kafka", "kafka": "kafka",
    "org.apache.spark.sql.delta": "delta", "io.delta": "delta", "com.databricks.sql.transaction.tahoe": "delta",
    "com.databricks.sql.fileNotification": "autoloader", "com.databricks.sql.cloudfiles": "autoloader",
    "org.apache.iceberg": "iceberg", "org.apache.hudi": "hudi", "org.apache.paimon": "paimon",
    "org.apache.spark.sql.connector.kinesis": "kinesis", "org.apache.spark.sql.kinesis": "kinesis",
    "org.apache.spark.streaming.kinesis": "kinesis", "com.amazonaws.services.kinesis": "kinesis",
    "software.amazon.awssdk.services.kinesis": "kinesis", "software.amazon.kinesis": "kinesis",
    "com.databricks.kinesis": "kinesis", "com.qubole.spark": "kinesis",
    "com.microsoft.azure.eventhubs": "eventhubs", "org.apache.spark.eventhubs": "eventhubs",
    "org.apache.spark.sql.eventhubs": "eventhubs", "com.azure.messaging.eventhubs": "eventhubs",
    "org.apache.pulsar": "pulsar", "org.apache.spark.sql.pulsar": "pulsar",
    "com.google.cloud.spark.bigquery": "bigquery", "com.google.cloud.bigquery": "bigquery",
    "com.google.cloud.pubsub": "pubsub",
    "org.apache.spark.sql.execution.datasources.jdbc": "jdbc", "org.postgresql": "jdbc", "com.mysql": "jdbc",
    "com.microsoft.sqlserver": "jdbc", "oracle.jdbc": "jdbc", "oracle.net": "jdbc", "org.mariadb": "jdbc",
    "org.sqlite": "jdbc", "com.clickhouse": "jdbc", "com.zaxxer.hikari": "jdbc",
    "net.snowflake": "snowflake", "com.datastax": "cassandra", "com.mongodb": "mongodb",
    "org.elasticsearch": "elasticsearch",
    "org.opensearch": "elasticsearch", "com.redislabs": "redis", "redis.clients": "redis", "com.azure.cosmos": "cosmos",
    "org.apache.hadoop.hbase": "hbase", "io.confluent": "schema-registry", "za.co.absa.abris": "schema-registry",
    "org.apache.hadoop": STORAGE, "org.apache.hadoop.util.Shell": SYSTEM, "com.amazonaws": STORAGE,
    "software.amazon.awssdk": STORAGE, "com.amazon.ws.emr": STORAGE, "com.google.cloud.hadoop": STORAGE,
    "com.google.cloud.storage": STORAGE, "com.azure.storage": STORAGE, "com.microsoft.azure.storage": STORAGE,
    "shaded.databricks": STORAGE, "alluxio": STORAGE, "io.minio": STORAGE,
}  # fmt: skip

# How conditions begin that are not Spark's core's.
_CONDITIONS: Final = {
    "DELTA_": "connector-delta",
    "DIFFERENT_DELTA_": "connector-delta",
    "KAFKA_DATA_LOSS": "connector-kafka",
    "STATE_STORE_": STATE,
    "CANNOT_LOAD_STATE_STORE": STATE,
    "CANNOT_WRITE_STATE_STORE": STATE,
    "CLOUD_FILE": "connector-autoloader",
    "CF_": "connector-autoloader",
}

# Python files that are no code of the user's: installed packages, Spark's and Python's own.
_LIBRARY = re.compile(
    r"site-packages|dist-packages|\.(?:pyx|pxi|pxd)$|[/\\]pyspark[/\\]|pyspark\.zip|py4j|^<frozen |cloudpickle"
    r"|[/\\]lib(?:64)?[/\\]python\d[\d.]*[/\\]|[/\\](?:Python|python)3?\d*[/\\][Ll]ib[/\\]|[/\\]IPython[/\\]"
)
_IN_WORKER = re.compile(r"pyspark(?:\.zip)?[/\\](?:pyspark[/\\])?(?:worker|daemon)\.py")
_IN_DRIVER = re.compile(
    r"py4j[^\s]*(?:clientserver|java_gateway|protocol)\.py|pyspark(?:\.zip)?[/\\](?:pyspark[/\\])?"
    r"(?:sql[/\\]streaming[/\\](?:query|readwriter)|sql[/\\]utils|sql[/\\]connect[/\\]streaming[/\\]worker[/\\])"
)


def words(owner: str) -> str:
    """An owner as a person names it."""
    return _WORDS.get(owner) or _CONNECTORS.get(owner.removeprefix("connector-")) or owner


def of_name(name: str) -> str | None:
    """The owner of a Java class or function; None for one that owns nothing, ``user-jvm`` for an unknown package."""
    parts = name.split(".")
    if len(parts) < 2:
        return None
    for length in range(min(len(parts), 8), 0, -1):
        owner = _PACKAGES.get(".".join(parts[:length]))
        if owner is not None:
            return f"connector-{owner}" if owner in _CONNECTORS else owner or None
    return JVM


def is_own(frame: Frame) -> bool:
    """Whether a frame is the user's code."""
    if frame.language == "python":
        return bool(frame.file) and not _LIBRARY.search(frame.file or "")
    return of_name(frame.function) == JVM


def own_frame(causes: Sequence[Cause]) -> Frame | None:
    """The frame of the user's code that is nearest to the failure."""
    return next((frame for cause in reversed(causes) for frame in cause.frames if is_own(frame)), None)


def owner_at(causes: Sequence[Cause], place: int) -> str:
    """The owner of one cause of a chain: by its class, by its frames, else by those of the cause around it."""
    cause = causes[place]
    by_text = _by_text(cause)
    if by_text is not None:
        return by_text
    if cause.python:
        return _python(causes, place)
    by_class = of_name(cause.name) if cause.name.count(".") > 1 else None
    if by_class not in (None, SPARK, JVM):
        return str(by_class)
    around = causes[place].frames or next((one.frames for one in reversed(causes[:place]) if one.frames), ())
    by_frame = next(_owners(around), None)
    if by_frame in (None, SPARK):
        return str(by_class if by_class == JVM else by_frame or by_class or UNKNOWN)
    return str(by_frame)


def _by_text(cause: Cause) -> str | None:
    """The owner that the condition names; Delta raises errors of Spark's classes, too."""
    condition = cause.condition or ""
    for start, owner in _CONDITIONS.items():
        if condition.startswith(start):
            return owner
    return "connector-delta" if cause.simple == "AnalysisException" and " Delta table" in cause.message else None


def _owners(frames: Sequence[Frame]) -> Iterator[str]:
    return (owner for frame in frames if frame.language == "java" and (owner := of_name(frame.function)))


def _python(causes: Sequence[Cause], place: int) -> str:
    frames = causes[place].frames
    files = [frame.file or "" for frame in frames]
    # A Java exception brings a worker's error to the driver; its message has the worker's traceback.
    carriers = {cause.simple for cause in causes[:place]}
    if any(map(_IN_WORKER.search, files)) or "PythonException" in carriers:
        return WORKER
    callback = "Py4JException" in carriers or any(
        cause.condition == "FOREACH_BATCH_USER_FUNCTION_ERROR" for cause in causes[:place]
    )
    if callback or any(map(_IN_DRIVER.search, files)):
        return DRIVER
    return PYTHON
