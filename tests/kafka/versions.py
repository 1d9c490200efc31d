"""Which versions go together: fetched from Maven Central, and run with each other.

``python tests/kafka/versions.py 4.1.1`` prints what pip installs for that Spark.
"""

from __future__ import annotations

import sys

BROKER = "4.1.1"
"""Version of the broker (``org.apache.kafka:kafka_2.13``)."""

CLIENT = "kafka-python==2.2.15"
"""What makes topics and sends rows: it needs no JVM."""

# Spark -> its connectors. Spark 4.3 has no Delta yet that runs with it, and takes the connector of 4.2.
PACKAGES = {
    "4.3.0": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",),
    "4.1.1": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1", "io.delta:delta-spark_2.13:4.1.0"),
}

if __name__ == "__main__":
    print(f"pyspark=={sys.argv[1]}", CLIENT)
