"""What is remembered of a run's Kafka clients, and when no broker is asked."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.spark import kafka_offsets as kafka


def test_only_the_clients_options_are_taken():
    """Those with Spark's prefix, of a source that names brokers."""
    options = {"kafka.bootstrap.servers": "b:9092", "kafka.security.protocol": "SSL", "subscribe": "orders"}
    assert kafka.client(options) == {"bootstrap.servers": "b:9092", "security.protocol": "SSL"}
    assert kafka.client({"path": "/in"}) == {}


@pytest.mark.parametrize(("clients", "known"), [(["a"], True), (["a", "a"], True), (["a", "b"], False), ([], False)])
def test_one_cluster_is_remembered_and_not_two(clients, known):
    """Which topic is on which of several clusters is not known later."""
    kafka.remember("one", [{"bootstrap.servers": name} for name in clients])
    assert ("one" in kafka._clients) == known
    kafka.remember("one", ())
    assert "one" not in kafka._clients


def test_what_is_remembered_is_bounded():
    """The oldest go."""
    for number in range(kafka._MOST + 5):
        kafka.remember(f"many-{number}", [{"bootstrap.servers": "a"}])
    assert len(kafka._clients) == kafka._MOST
    assert "many-0" not in kafka._clients
    kafka._clients.clear()


def test_nobody_is_asked_about_a_query_that_was_not_watched():
    """Nor without a session."""
    assert kafka.held(object(), "unheard-of", {"orders": ["0"]}) is None
    assert kafka.held(None, None, {}) is None
