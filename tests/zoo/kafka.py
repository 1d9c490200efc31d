"""Kafka: brokers that are not reached, topics that are not there, records that are too large, rows that are gone."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from tests.zoo.cage import KAFKA, Cage, Steps, fails

HASTY = {
    "kafka.default.api.timeout.ms": "3000",
    "kafka.request.timeout.ms": "2000",
    "kafka.max.block.ms": "3000",
    "kafka.delivery.timeout.ms": "4000",
    "kafka.linger.ms": "0",
}


def read(cage: Cage, topic: str, address: str = "", **options: str) -> Any:
    """A streaming read of a topic from its beginning."""
    reader = cage.spark.readStream.format("kafka").option("kafka.bootstrap.servers", address or cage.broker.address)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").options(**HASTY, **options).load()


def write(cage: Cage, frame: Any, topic: str, address: str = "", **options: str) -> Any:
    """Start a query that writes the column text to a topic."""

    def last(writer: Any) -> Any:
        writer = writer.option("kafka.bootstrap.servers", address or cage.broker.address)
        return writer.option("topic", topic).options(**HASTY, **options)

    return cage.start(frame.select(F.col("text").alias("value")), "kafka", last=last)


@fails("kafka-unreachable", "connector-kafka", needs=KAFKA)
def broker_down(cage: Cage) -> Steps:
    """Nobody listens at the address; with the right one the query goes on."""
    topic = cage.broker.topic("down")
    cage.broker.send(topic, range(4))
    yield cage.failed(cage.start(read(cage, topic, "127.0.0.1:1")))
    yield cage.start(read(cage, topic))


@fails("kafka-unreachable", "connector-kafka", needs=KAFKA)
def broker_that_no_name_leads_to(cage: Cage) -> Steps:
    """The host is not known."""
    topic = cage.broker.topic("nowhere")
    cage.broker.send(topic, range(4))
    yield cage.failed_or_refused(lambda: cage.start(read(cage, topic, "no-such-host.invalid:9092")))
    yield cage.start(read(cage, topic))


@fails("kafka-unreachable", "connector-kafka", needs=KAFKA)
def sink_whose_broker_is_down(cage: Cage) -> Steps:
    """Rows cannot be written; with the right address the query goes on."""
    topic = cage.broker.topic("sink-down")
    cage.text_files("a")
    yield cage.failed(write(cage, cage.texts(), topic, "127.0.0.1:1"))
    yield write(cage, cage.texts(), topic)


@fails("topic-missing", "connector-kafka", needs=KAFKA)
def topic_that_is_not_there(cage: Cage) -> Steps:
    """The topic that is read is missing; made, the query goes on."""
    yield cage.failed(cage.start(read(cage, "not-yet")))
    cage.broker.send(cage.broker.topic("not-yet"), range(4))
    yield cage.start(read(cage, "not-yet"))


@fails("topic-missing", "connector-kafka", needs=KAFKA)
def sink_topic_that_is_not_there(cage: Cage) -> Steps:
    """The topic that is written is missing; made, the query goes on."""
    cage.text_files("a")
    yield cage.failed(write(cage, cage.texts(), "sink-not-yet"))
    cage.broker.topic("sink-not-yet")
    yield write(cage, cage.texts(), "sink-not-yet")


@fails("record-too-large", "connector-kafka", needs=KAFKA)
def record_too_large(cage: Cage) -> Steps:
    """A row of two megabytes; with the pasted limit, and compressed so that the topic takes it, it is written."""
    topic = cage.broker.topic("large")
    cage.text_files("a" * (2 << 20))
    answer = yield cage.failed(write(cage, cage.texts(), topic))
    assert answer.code
    code = answer.code

    def last(writer: Any) -> Any:
        writer = cage.evaluate(f"writer{code}", writer=writer)
        writer = writer.option("kafka.compression.type", "gzip").option("topic", topic)
        return writer.option("kafka.bootstrap.servers", cage.broker.address)

    yield cage.start(cage.texts().select(F.col("text").alias("value")), "kafka", last=last)


@fails("record-too-large", "connector-kafka", needs=KAFKA)
def record_too_large_for_the_topic(cage: Cage) -> Steps:
    """The producer takes the row, the topic does not; compressed, it is written."""
    topic = cage.broker.topic("large-for-topic")
    cage.text_files("a" * (2 << 20))
    limit = {"kafka.max.request.size": "10485760"}
    yield cage.failed(write(cage, cage.texts(), topic, **limit))
    yield write(cage, cage.texts(), topic, **limit, **{"kafka.compression.type": "gzip"})


@fails("data-loss", "connector-kafka", needs=KAFKA)
def rows_deleted_before_they_were_read(cage: Cage) -> Steps:
    """Retention is faster than the query; the pasted option goes on without those rows."""
    topic = cage.broker.topic("retention")
    cage.broker.send(topic, range(10))
    cage.run(read(cage, topic))
    cage.broker.send(topic, range(40))
    cage.broker.forget(topic, 15)
    answer = yield cage.failed(cage.start(read(cage, topic)))
    assert '"failOnDataLoss", "false"' in (answer.code or "")
    yield cage.start(read(cage, topic, failOnDataLoss="false"))


@fails("data-loss", "connector-kafka", needs=KAFKA)
def topic_made_again(cage: Cage) -> Steps:
    """A topic is deleted and made again with fewer rows; the option goes on with the new ones."""
    topic = cage.broker.topic("again")
    cage.broker.send(topic, range(40))
    cage.run(read(cage, topic))
    cage.broker.delete(topic)
    cage.broker.topic(topic)
    cage.broker.send(topic, range(4))
    yield cage.failed(cage.start(read(cage, topic)))
    query = cage.start(read(cage, topic, failOnDataLoss="false"))
    query.processAllAvailable()
    cage.broker.send(topic, range(10))
    yield query


@fails("topic-missing", "connector-kafka", needs=KAFKA)
def topic_deleted(cage: Cage) -> Steps:
    """A topic is deleted between two runs; made again and with a new checkpoint, the query begins anew."""
    topic = cage.broker.topic("deleted")
    cage.broker.send(topic, range(10))
    cage.run(read(cage, topic))
    cage.broker.delete(topic)
    yield cage.failed(cage.start(read(cage, topic)))
    cage.broker.send(cage.broker.topic(topic), range(4))
    yield cage.start(read(cage, topic), checkpoint="new")


@fails("kafka-login", "connector-kafka", needs=KAFKA)
def login_that_is_not_set(cage: Cage) -> Steps:
    """A protocol with a login, and no login; with the brokers' own protocol the query goes on."""
    topic = cage.broker.topic("login")
    cage.broker.send(topic, range(4))
    sasl = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
    yield cage.failed_or_refused(lambda: cage.start(read(cage, topic, **sasl)))
    yield cage.start(read(cage, topic))


@fails("kafka-unreachable", "connector-kafka", needs=KAFKA)
def encryption_that_the_broker_does_not_speak(cage: Cage) -> Steps:
    """SSL to a port of plain text."""
    topic = cage.broker.topic("ssl")
    cage.broker.send(topic, range(4))
    yield cage.failed_or_refused(lambda: cage.start(read(cage, topic, **{"kafka.security.protocol": "SSL"})))
    yield cage.start(read(cage, topic))
