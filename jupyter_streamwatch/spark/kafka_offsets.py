"""What a Kafka broker still holds of the topics that a query reads, asked by the client that Spark has loaded.

A checkpoint names no broker. The client options of a watched run are remembered here by the query's id: they may hold
secrets, and never leave this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.spark import jvm
from jupyter_streamwatch.spark.bounded import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Held = dict[str, dict[str, tuple[int, int]]]

_PREFIX = "kafka."
_MOST = 200
"""Queries whose options are remembered."""
_PATIENCE = 3
"""Seconds for each of the three questions to a broker; one that is there answers in milliseconds."""
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"

_clients: dict[str, dict[str, str]] = {}


def client(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a source that are those of its Kafka client; empty for another source."""
    found = {key.removeprefix(_PREFIX): value for key, value in options.items() if key.startswith(_PREFIX)}
    return found if "bootstrap.servers" in found else {}


def remember(id: str, clients: Iterable[Mapping[str, str]]) -> None:
    """Keep the options of a run's Kafka clients; several clusters cannot be told apart later, so none is kept."""
    different = {tuple(sorted(one.items())) for one in clients if one}
    _clients.pop(id, None)
    if len(different) == 1:
        _clients[id] = dict(different.pop())
        while len(_clients) > _MOST:
            del _clients[next(iter(_clients))]


def held(spark: Any, id: str | None, topics: Mapping[str, Iterable[str]]) -> Held | None:
    """Ask the broker of a watched query which offsets it has.

    Args:
        spark: a classic session, whose JVM has the Kafka client.
        id: the query's id.
        topics: partitions by topic.

    Returns:
        (first offset, offset after the last) by topic and partition; what is not there any more is missing. None when
        the query was not watched here, reads several clusters, or the broker does not answer. Never raises, and takes
        at most ten seconds.
    """
    options = _clients.get(id or "")
    if options is None or spark is None or jvm.is_connect(spark):
        return None
    return ask(spark, lambda: _held(spark, options, topics), None, seconds=10.0, line="kafka")


def _held(spark: Any, options: Mapping[str, str], topics: Mapping[str, Iterable[str]]) -> Held:
    gateway = jvm.gateway(spark)
    if gateway is None:
        raise RuntimeError("the session has no JVM any more")
    kafka, java = gateway.jvm.org.apache.kafka, gateway.jvm.java
    own = {"key.deserializer": _BYTES, "value.deserializer": _BYTES, "allow.auto.create.topics": "false"}
    properties = java.util.HashMap()
    for name, value in {**options, **own}.items():
        properties.put(name, value)
    patience = java.time.Duration.ofSeconds(_PATIENCE)
    consumer = kafka.clients.consumer.KafkaConsumer(properties)
    try:
        found: Held = {}
        there = consumer.listTopics(patience)
        asked = java.util.ArrayList()
        for topic, partitions in topics.items():
            infos = there.get(topic)
            known = {str(info.partition()) for info in infos} if infos is not None else set()
            found[topic] = {}
            for partition in known.intersection(partitions):
                asked.add(kafka.common.TopicPartition(topic, int(partition)))
        first, end = consumer.beginningOffsets(asked, patience), consumer.endOffsets(asked, patience)
        for one in asked:
            found[one.topic()][str(one.partition())] = (int(first[one]), int(end[one]))
        return found
    finally:
        consumer.close(java.time.Duration.ZERO)
