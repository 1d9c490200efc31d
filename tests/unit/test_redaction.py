"""Secrets in what is written to disk."""

from __future__ import annotations

import time

import pytest

from jupyter_streamwatch.text.redaction import REDACTED, redact, redact_all


@pytest.mark.parametrize(
    "text",
    [
        "jdbc:postgresql://me:hunter2@host/db",
        "https://:hunter2@host",
        "jdbc:x://host/db?user=me&password=hunter2&ssl=1",
        "fs.s3a.secret.key=hunter2",
        "fs.s3a.access.key -> hunter2, other",
        "SharedAccessKey=hunter2;Path=x",
        '{"sasl.password": "hunter2"}',
        '{"apiToken":"a \\" hunter2"}',
        "{'token': 'hunter2'}",
        "PASSWORD: hunter2",
        'jaas.config required username="me" password="x hunter2 y";',
        'password="hunter2',
    ],
)
def test_a_secret_is_taken_out(text):
    """Spark's own pattern on names of values, and credentials in URLs."""
    assert "hunter2" not in redact(text)
    assert REDACTED in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "KafkaV2[Subscribe[orders]]",
        "abfss://container@account.example/in",
        "http://host:8080/a@b",
        "s3a://bucket/password/in",
        "Unexpected token at line 3",
        "password=",
        "",
    ],
)
def test_other_text_stays(text):
    """Names, paths and sentences are what they were."""
    assert redact(text) == text


def test_text_around_a_secret_stays():
    """Only the value goes."""
    assert redact("url=a;password=b;c=d") == f"url=a;password={REDACTED};c=d"


def test_everything_under_a_secret_name_is_taken_out():
    """Plain data at any depth; numbers that are counts stay."""
    data = {"secret": {"a": "x"}, "more": ["password=a", ("b", 1)], "numTokens": 5, "token": ""}
    assert redact_all(data) == {
        "secret": {"a": REDACTED},
        "more": [f"password={REDACTED}", ["b", 1]],
        "numTokens": 5,
        "token": "",
    }


@pytest.mark.parametrize(
    ("data", "redacted"),
    [
        ({"password": 1234}, {"password": REDACTED}),
        ({"password": [1, "b"]}, {"password": [REDACTED, REDACTED]}),
        ([{"name": "sasl.password", "value": "b"}], [{"name": "sasl.password", "value": REDACTED}]),
        ([("spark.db.password", "b"), ("a", "b")], [["spark.db.password", REDACTED], ["a", "b"]]),
        ({"s3a://a:b@c": 1}, {f"s3a://{REDACTED}@c": 1}),
        ({"conf": '{"password": "b"}'}, {"conf": f'{{"password": "{REDACTED}"}}'}),
    ],
)
def test_plain_data_is_redacted_by_its_structure(data, redacted):
    """Numbers and lists under a secret's name, records of a name and a value, pairs, keys, texts of JSON."""
    assert redact_all(data) == redacted
    assert redact_all(redacted) == redacted


@pytest.mark.parametrize(
    "data",
    [
        {"tokens": {"0": 123, "1": None}},
        {"tokens": [0, 1, 2]},
        {"secret_rows": 12, "max_token": 5, "hasPassword": True, "password": None},
        {"columns": ["token", "secret"], "type": ["token", "string"]},
        {"token": "string", "password": "*********(redacted)"},
        {"sasl.token.mechanism": "SCRAM-SHA-512"},
    ],
)
def test_what_is_no_secret_stays_in_plain_data(data):
    """Offsets and partitions of topics, counts, names of columns, types, and what was redacted before."""
    assert redact_all(data) == data


@pytest.mark.parametrize(
    "text", ["a" * 200_000 + "password" * 2_000, "a." * 50_000 + "token", 'password="' * 20_000, "a://b" * 20_000]
)
def test_no_text_makes_it_slow(text):
    """Text comes from outside: the time grows with its length, not faster."""
    start = time.perf_counter()
    redact(text)
    assert time.perf_counter() - start < 2
