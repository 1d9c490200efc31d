"""Kafka: brokers that are not reached, logins, topics, records that are too large, rows that are gone."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import KAFKA, RECOVERY, Told, kind

_KAFKA = "connector-kafka"


@kind(
    "connector-defect",  # SPARK-55271, SPARK-57438
    Sign(
        says=r'Cannot invoke "scala\.collection\.IterableOps\.map\(scala\.Function1\)" because the return value of'
        r' "scala\.Option\.get\(\)" is null'
    ),
    owner=_KAFKA,
)
def connector_defect(case: Case) -> Told:
    """Tell of a known defect."""
    return Told(
        title="A defect of Spark 4.1's Kafka connector ended the query after it had repeated a batch",
        why="After a batch that a restart repeats, that connector fails while it reports how far the topic is ahead;"
        " the batch itself was done.",
        cures=(cures.restart(case.facts), "Or update Spark and its Kafka connector to 4.2."),
        link=KAFKA,
    )


@kind(
    "data-loss",
    Sign(conditions=("KAFKA_DATA_LOSS",)),
    Sign(names=("OffsetOutOfRangeException",)),
    Sign(
        says=r"failOnDataLoss|data may have been lost|some data may have been missed"
        r"|Partition \S+ offset was changed from"
    ),
)
def data_loss(case: Case) -> Told:
    """Tell that rows are gone at the source."""
    kafka = case.owner == _KAFKA or "KAFKA" in (case.cause.condition or "") or "artition" in case.cause.message
    other = case.owner.startswith("connector-") and case.owner != _KAFKA
    ours = kafka and not other
    return Told(
        title="Rows that the query wanted are gone at the source",
        why="The source deleted them (retention, a topic or table made again) before they were read.",
        cures=(
            (
                "Find out how much is missing, and whether a copy has it. A longer retention, or a query that keeps"
                " up, prevents it."
            ),
            cures.after(
                "Then go on without them: "
                + (
                    "failOnDataLoss = false skips them for good."
                    if ours
                    else f"the option of {owners.words(case.owner)} that skips what is gone does so for good."
                ),
                case.facts,
            ),
        ),
        code='.option("failOnDataLoss", "false")  # the missing rows are skipped' if ours else None,
        link=KAFKA if ours else RECOVERY,
    )


@kind(
    "topic-missing",
    Sign(names=("UnknownTopicOrPartitionException", "UnknownTopicIdException", "InvalidTopicException")),
    Sign(says=r"UNKNOWN_TOPIC_OR_PARTITION|This server does not host this topic-partition"),
    owner=_KAFKA,
)
def topic_missing(case: Case) -> Told:
    """Tell that the topic is not there."""
    return Told(
        title="The topic is not there",
        why="Kafka knows no topic (or partition) of that name: it was deleted, it may not be seen, or the name or the"
        " cluster is another one.",
        cures=(
            cures.after(
                "Look for the topic on the brokers: kafka-topics.sh --describe, with the query's own login. If a"
                " sink's topic is missing, make it.",
                case.facts,
            ),
            "If a topic that is read is made again, its offsets begin anew: rows that were not read are lost. "
            + cures.new_checkpoint(case.facts),
        ),
        link=KAFKA,
    )


@kind(
    "kafka-login",
    Sign(names=("LoginException",), owners=(_KAFKA, owners.UNKNOWN, owners.SPARK)),
    Sign(
        names=(
            "SaslAuthenticationException",
            "SslAuthenticationException",
            "UnsupportedSaslMechanismException",
            "IllegalSaslStateException",
            "DelegationTokenExpiredException",
            "SSLHandshakeException",
        ),
        owners=(_KAFKA, owners.UNKNOWN, owners.SPARK),
    ),
    Sign(
        says=r"LoginModule|JAAS config|sasl\.(?:jaas\.config|mechanism|client\.callback)"
        r"|Failed to load SSL keystore|Failed to configure Saslclient|SaslLoginCallback|AuthenticateCallbackHandler"
    ),
    owner=_KAFKA,
)
def kafka_login(case: Case) -> Told:
    """Tell what is wrong with the login."""
    said = case.cause.message + " " + case.chain.last.message
    missing = (
        "LoginModule class" in said
        or "No LoginModule" in said
        or "CallbackHandler" in said
        or "could not be found" in said
    )
    if missing:
        return Told(
            title="A class for the login to Kafka is not found",
            why="The class in sasl.jaas.config or the callback handler is not on the classpath under that name: a"
            " library is missing, or the Kafka client is a relocated one (Databricks:"
            " kafkashaded.org.apache.kafka...).",
            cures=(
                cures.after(
                    "Write the class as the Kafka client on this cluster has it, or add its library (for MSK:"
                    " aws-msk-iam-auth) to the driver and the executors.",
                    case.facts,
                ),
            ),
            link=KAFKA,
        )
    return Told(
        title="The login to Kafka failed",
        why="The brokers or the client refused the credentials, the mechanism or the certificate.",
        cures=(
            cures.after(
                "Check kafka.security.protocol, kafka.sasl.mechanism, kafka.sasl.jaas.config and the keystore, as the"
                " last cause says; renew what has run out. Each executor needs the files, too.",
                case.facts,
            ),
        ),
        link=KAFKA,
    )


@kind(
    "record-too-large",
    Sign(names=("RecordTooLargeException", "RecordBatchTooLargeException")),
    Sign(says=r"larger than (?:the maximum request size|\d+, which is the value of the max\.request\.size)"),
    owner=_KAFKA,
)
def record_too_large(case: Case) -> Told:
    """Tell that a row does not fit."""
    return Told(
        title="A record is too large for Kafka",
        why="One row is larger than the producer (max.request.size) or the broker and topic (max.message.bytes) take.",
        cures=(
            cures.fails_again(
                "Make the rows smaller or compress them (kafka.compression.type), or raise kafka.max.request.size at"
                " the sink and max.message.bytes at the topic, both.",
                case.facts,
            ),
        ),
        code='.option("kafka.max.request.size", "10485760")  # bytes; the topic must take them, too',
        link=KAFKA,
    )


@kind(
    "kafka-transaction",
    Sign(
        names=(
            "ProducerFencedException",
            "InvalidProducerEpochException",
            "InvalidTxnTimeoutException",
            "InvalidTxnStateException",
            "InvalidPidMappingException",
            "OutOfOrderSequenceException",
            "UnknownProducerIdException",
            "TransactionAbortedException",
        )
    ),
    Sign(says=r"InitProducerId"),
    owner=_KAFKA,
)
def kafka_transaction(case: Case) -> Told:
    """Tell that a producer lost its place."""
    return Told(
        title="The brokers refused the producer's transaction or sequence",
        why="Another producer with the same transactional id took over, the transaction lasted longer than the"
        " brokers allow, or they forgot the producer after a long pause.",
        cures=(
            cures.restart(case.facts),
            (
                "If it happens again, give each query a transactional id of its own, keep transaction.timeout.ms at or"
                " below the brokers' transaction.max.timeout.ms, or switch kafka.enable.idempotence off: a retry may"
                " then write a record twice."
            ),
        ),
        link=KAFKA,
    )


@kind(
    "kafka-version",
    Sign(names=("UnsupportedVersionException",), owners=(_KAFKA, owners.UNKNOWN)),
    Sign(names=("NoSuchMethodError", "NoSuchFieldError", "AbstractMethodError"), says=r"org[./]apache[./]kafka"),
    owner=_KAFKA,
)
def kafka_version(case: Case) -> Told:
    """Tell that client and connector or broker do not fit."""
    return Told(
        title="The Kafka client does not fit the connector or the brokers",
        why="A kafka-clients jar of another version is on the classpath before the one that the connector needs, or"
        " the brokers are older than what is asked of them.",
        cures=(
            cures.after(
                "Take single kafka-clients jars away and let spark-sql-kafka of this Spark's version bring its own.",
                case.facts,
            ),
        ),
        link=KAFKA,
    )


@kind(
    "kafka-unreachable",
    Sign(names=("TimeoutException",), owners=(_KAFKA,)),
    Sign(
        names=(
            "DisconnectException",
            "BrokerNotAvailableException",
            "NetworkException",
            "CoordinatorNotAvailableException",
        )
    ),
    Sign(
        says=r"Timed out waiting for a node assignment|broker may not be available|No resolvable bootstrap urls"
        r"|Couldn't resolve server|Failed to update metadata after|expired before the position for partition"
        r"|Expiring \d+ record|expired before the last committed offset|Failed to get offsets|describeTopics"
    ),
    Sign(names=("ConfigException",), owners=(_KAFKA,), says=r"bootstrap"),
    Sign(says=r"Topic (?P<topic>\S{1,250}) (?:with partition .{1,40} )?not present in metadata after"),
    owner=_KAFKA,
)
def kafka_unreachable(case: Case) -> Told:
    """Tell that the brokers do not answer."""
    topic = case.part("topic")
    if topic is not None:  # newer clients add a cause where the topic is missing, older ones do not
        return Told(
            title=f"The Kafka brokers told nothing of the topic {topic} in time",
            why="The producer waited for the topic's partitions, and no answer came: the brokers were not reached (a"
            " wrong address, the network, the security protocol, or they are down), or, with an older Kafka client, the"
            " topic is not there.",
            cures=(
                cures.after(
                    "Check kafka.bootstrap.servers, the brokers and kafka.security.protocol at the sink, then look for"
                    " the topic (kafka-topics.sh --describe) and make it if it is missing.",
                    case.facts,
                ),
            ),
            link=KAFKA,
        )
    return Told(
        title="The Kafka brokers are not reached",
        why="Driver or executors got no answer: the address is wrong, the network does not let them through, the"
        " security protocol is another one, or the brokers name themselves by an address (advertised.listeners) that"
        " is not known here, as in Docker and Kubernetes. Or the brokers are down.",
        cures=(
            cures.after(
                "Check kafka.bootstrap.servers and the brokers; if the first connection works and the next does not,"
                " set advertised.listeners to an address that driver and executors reach; check"
                " kafka.security.protocol.",
                case.facts,
            ),
        ),
        link=KAFKA,
    )
