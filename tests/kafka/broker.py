"""A Kafka broker of one process: fetched, formatted, started, and asked for topics."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, Any

from tests.conftest import ROOT
from tests.helpers import wait_until
from tests.kafka.versions import BROKER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

JARS = ROOT / "build" / "kafka" / BROKER
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={logs}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""


class Broker:
    """A broker that runs until it is stopped; topics and rows come and go by :mod:`kafka`."""

    def __init__(self, directory: Path) -> None:
        """Fetch the jars, unless they are there, and start the broker in ``directory``."""
        from kafka import KafkaAdminClient, KafkaProducer

        fetch()
        port, controller = free_port(), free_port()
        self.address = f"127.0.0.1:{port}"
        settings = directory / "server.properties"
        settings.write_text(SETTINGS.format(port=port, controller=controller, logs=directory / "logs"))
        java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{JARS}/*"]
        identity = "c3RyZWFtd2F0Y2gtdGVzdA"  # any 16 bytes in base 64
        subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings)],
            check=True,
            capture_output=True,
        )
        with (directory / "broker.log").open("w") as log:
            self.process = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
        wait_until(lambda: self._answers(port), what=f"no broker on {self.address}")
        self._admin = KafkaAdminClient(bootstrap_servers=self.address)
        self._producer = KafkaProducer(bootstrap_servers=self.address)

    def _answers(self, port: int) -> bool:
        assert self.process.poll() is None, "the broker ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def topic(self, name: str, partitions: int = 2) -> str:
        """Make a topic and wait until the broker knows its partitions."""
        from kafka.admin import NewTopic

        self._admin.create_topics([NewTopic(name, partitions, 1)])
        wait_until(lambda: len(self._producer.partitions_for(name) or ()) == partitions, what=f"no topic {name}")
        return name

    def delete(self, name: str) -> None:
        self._admin.delete_topics([name])
        wait_until(lambda: name not in self._admin.list_topics(), what=f"{name} is still there")

    def send(self, topic: str, rows: Iterable[Any]) -> None:
        """Send rows as JSON, the same number to each partition, and wait until the broker has them."""
        partitions = sorted(self._producer.partitions_for(topic))
        for number, row in enumerate(rows):
            value = json.dumps(row).encode()
            self._producer.send(topic, value, partition=partitions[number % len(partitions)])
        self._producer.flush()

    def forget(self, topic: str, before: int) -> None:
        """Delete all rows of a topic's partitions before an offset, as retention does."""
        from kafka import TopicPartition

        self._admin.delete_records({TopicPartition(topic, p): before for p in self._producer.partitions_for(topic)})

    def stop(self) -> None:
        self._producer.close(timeout=5)
        self._admin.close()
        self.process.terminate()
        self.process.wait(30)


def fetch() -> None:
    """Fetch the broker's jars with the Ivy that comes with Spark."""
    import pyspark

    if JARS.exists():
        return
    ivy = next((ROOT / pyspark.__path__[0] / "jars").glob("ivy-*.jar"))
    draft = JARS.with_name(f"{JARS.name}.{os.getpid()}")
    module = ["-dependency", "org.apache.kafka", "kafka_2.13", BROKER, "-confs", "default", "-types", "jar", "bundle"]
    try:
        subprocess.run(
            ["java", "-jar", str(ivy), *module, "-retrieve", f"{draft}/[artifact]-[revision].[ext]"],
            check=True,
            capture_output=True,
        )
        draft.rename(JARS)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
