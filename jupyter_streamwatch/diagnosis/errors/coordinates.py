"""Maven coordinates of connectors for a Spark version: what to add when a class is not found."""

from __future__ import annotations

import re
from typing import NamedTuple

# Delta's own table of releases (docs.delta.io/latest/releases.html): one for each line of Spark.
_DELTA = {
    "3.2": "io.delta:delta-core_2.12:2.0.2",
    "3.3": "io.delta:delta-core_2.12:2.3.0",
    "3.4": "io.delta:delta-core_2.12:2.4.0",
    "3.5": "io.delta:delta-spark_2.12:3.3.2",
    "4.0": "io.delta:delta-spark_2.13:4.0.0",
}


class Connector(NamedTuple):
    """A library: its name, and its coordinates; what is not known of them stands in angle brackets."""

    name: str
    coordinates: str

    @property
    def exact(self) -> bool:
        """Whether nothing is left to fill in."""
        return "<" not in self.coordinates and ":" in self.coordinates


# Name, parts of a class name (in lower case) that show it, format, coordinates.
_CONNECTORS = (
    ("Kafka", ("kafka010", "org.apache.kafka"), "kafka", "org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}"),
    ("Avro", ("org.apache.spark.sql.avro",), "avro", "org.apache.spark:spark-avro_{scala}:{spark}"),
    ("Protobuf", ("org.apache.spark.sql.protobuf",), "protobuf", "org.apache.spark:spark-protobuf_{scala}:{spark}"),
    ("Delta", ("io.delta", "sql.delta"), "delta", "io.delta:delta-spark_{scala}:<Delta's version for this Spark>"),
    (
        "Iceberg",
        ("org.apache.iceberg",),
        "iceberg",
        "org.apache.iceberg:iceberg-spark-runtime-{line}_{scala}:<Iceberg's version>",
    ),
    ("Hudi", ("org.apache.hudi",), "hudi", "org.apache.hudi:hudi-spark{line}-bundle_{scala}:<Hudi's version>"),
    (
        "S3 (s3a)",
        ("hadoop.fs.s3a", "com.amazonaws", "software.amazon.awssdk"),
        "s3a",
        "org.apache.hadoop:hadoop-aws:<the Hadoop version of this Spark>",
    ),
    ("Kinesis", ("kinesis",), "aws-kinesis", "the jar of github.com/awslabs/spark-sql-kinesis-connector"),
    ("Event Hubs", ("eventhubs",), "eventhubs", "com.microsoft.azure:azure-eventhubs-spark_{scala}:<its version>"),
    ("Pulsar", ("pulsar",), "pulsar", "io.streamnative.connectors:pulsar-spark-connector_{scala}:<its version>"),
    (
        "BigQuery",
        ("bigquery",),
        "bigquery",
        "com.google.cloud.spark:spark-bigquery-with-dependencies_{scala}:<its version>",
    ),
)


def connector_of(text: str, version: str | None) -> Connector | None:
    """The connector that a missing class or format belongs to; None for any other class.

    Args:
        text: the message: a class, with dots or slashes, or ``Failed to find data source: kafka``.
        version: Spark's version, None when it is not known.
    """
    lower = text.replace("/", ".").lower()
    release = re.match(r"(\d+\.\d+)\.\d+", version or "")
    line = release[1] if release else "<line of this Spark, as 3.5>"
    for name, classes, format, coordinates in _CONNECTORS:
        if any(part in lower for part in classes) or _is_format(format, lower):
            if name == "Delta" and line in _DELTA:
                return Connector(name, _DELTA[line])
            spark = release[0] if release else "<version of this Spark>"
            return Connector(name, coordinates.format(scala=scala(version), spark=spark, line=line))
    return None


def scala(version: str | None) -> str:
    """The Scala version that a Spark release is built with by default."""
    major = re.match(r"\d+", version or "")
    if major is None:
        return "<2.13 for Spark 4, mostly 2.12 for Spark 3>"
    return "2.13" if int(major[0]) >= 4 else "2.12"


def _is_format(name: str, lower: str) -> bool:
    return bool(re.search(rf"(?:data ?source:?|filesystem for scheme) [\"'`]?{name}\b", lower))
