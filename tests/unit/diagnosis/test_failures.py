"""Failed queries classified by what Spark really writes, and queries that run twice."""

from __future__ import annotations

import json

import pytest

from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.text.redaction import redact_all
from tests.unit.diagnosis.made import BEGIN, codes, hint, records


def failed(exception, error_class=None):
    history = history_of(records(5))
    history.end("run-1", at=BEGIN + 1e5, exception=exception, errorClass=error_class)
    return diagnose(history)


HEAD = "org.apache.spark.sql.streaming.StreamingQueryException: "


FOREACH = """[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink.
Caused by: py4j.Py4JException: An exception was raised by the Python Proxy."""
UDF = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "x.py", line 3, in f
ZeroDivisionError: division by zero"""
MODULE = """org.apache.spark.api.python.PythonException: Traceback (most recent call last):
ModuleNotFoundError: No module named 'pandas'"""
SCHEMA = "[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema does not match existing state value schema."
OLD_SCHEMA = """org.apache.spark.sql.execution.streaming.state.StateSchemaNotCompatible: \
Provided schema doesn't match to the schema for existing state!"""
LOST = """java.lang.IllegalStateException: Partition orders-0's offset was changed from 500 to 20, \
some data may have been missed. If you don't want your streaming query to fail on such cases, \
set the source option "failOnDataLoss" to "false"."""
GONE = (
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition."
)
CONNECTOR = """java.lang.NullPointerException: Cannot invoke "scala.collection.IterableOps.map(scala.Function1)" \
because the return value of "scala.Option.get()" is null"""
TWICE = "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 7."


@pytest.mark.parametrize(
    ("kind", "text", "error_class"),
    [
        ("user-function", FOREACH, "FOREACH_BATCH_USER_FUNCTION_ERROR"),
        ("user-function", UDF, None),
        ("python-environment", MODULE, None),
        ("state-schema", SCHEMA, "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"),
        ("state-schema", OLD_SCHEMA, None),
        ("data-loss", LOST, None),
        ("topic-missing", GONE, None),
        ("connector-defect", CONNECTOR, None),
        ("concurrent-run", TWICE, "CONCURRENT_STREAM_LOG_UPDATE"),
        ("worker-crash", "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", None),
        ("out-of-memory", "java.lang.OutOfMemoryError: Java heap space", None),
        ("file-missing", "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file", None),
        ("checkpoint-changed", "There are [1] sources in the checkpoint offsets and now there are [2] sources", None),
        ("authorisation", "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized", None),
    ],
)
def test_usual_errors_are_classified(kind, text, error_class):
    """Each with what to do; the hint is the first."""
    diagnosis = failed(HEAD + text, error_class)
    found = hint(diagnosis, "query-failed")
    assert diagnosis.verdict == "failed"
    assert codes(diagnosis)[0] == "query-failed"
    assert {one.name: one.value for one in found.evidence}["kind"] == kind
    assert found.severity == "critical"


def test_the_evidence_is_the_last_cause_and_the_users_line():
    """Never "Job aborted": what the last cause says, the line of the user's code, and whose that is."""
    said = {one.name: one.value for one in hint(failed(HEAD + UDF), "query-failed").evidence}
    assert said["error"] == "ZeroDivisionError: division by zero"
    assert said["at"] == "f (x.py:3)"
    assert said["owner"] == "your Python function, in a Python worker"


def test_the_failure_is_data_that_json_takes():
    """A failed query's hint has it whole, redacted where it leaves; other hints have none."""
    diagnosis = failed(HEAD + UDF.replace("division by zero", "password=hunter2 is wrong"))
    found = hint(diagnosis, "query-failed")
    assert (found.failure.kind, found.failure.owner) == ("user-function", "user-python-worker")
    plain = found.to_dict()["failure"]
    assert json.loads(json.dumps(plain)) == plain
    assert plain["causes"][-1]["name"] == "ZeroDivisionError"
    assert plain["frame"]["file"] == "x.py"
    assert "hunter2" not in json.dumps(redact_all(found.to_dict()))
    assert "hunter2" not in diagnosis.reason


def test_other_hints_have_no_failure():
    """The field is there, and empty."""
    one, two = active("1"), active("2")
    assert hint(diagnose(two, others=(one, two)), "duplicate-query").to_dict()["failure"] is None


def test_the_price_is_that_of_the_sink():
    """The sink is known from the records alone."""
    found = hint(failed(HEAD + "java.lang.InterruptedException"), "query-failed")
    assert "the file sink knows the batches that it has" in found.fix


def test_an_unknown_error_is_shown_as_it_is():
    """No guess."""
    found = hint(failed("java.lang.IllegalStateException: the moon is full", None), "query-failed")
    assert "the moon is full" in found.title


def test_a_stopped_query_has_not_failed():
    """It ended without an exception."""
    history = history_of(records(5))
    history.end("run-1", at=BEGIN + 1e5)
    assert codes(diagnose(history)) == []


TWIN = Facts(
    sources=("rate 10/s",),
    sink="foreachBatch",
    outputMode="append",
    stateful=(),
    temporaryCheckpoint=True,
    watermarks=(),
    pythonUdf=False,
)


def active(number: str, facts: Facts = TWIN, name: str | None = None) -> History:
    history = History(number, name)
    history.start(f"run-{number}", at=BEGIN + int(number))
    history.set_facts(facts)
    return history


def test_duplicate_query_when_a_cell_was_run_again():
    """Two active ids, the same in all that is known, without checkpoints of their own."""
    one, two = active("1"), active("2")
    found = hint(diagnose(two, others=(one, two)), "duplicate-query")
    assert found.severity == "warning"
    assert 'str(q.id) == "1"' in found.code_fix


@pytest.mark.parametrize(
    "other",
    [
        active("2", Facts(**{**vars(TWIN), "sink": "console"})),
        active("2", Facts(**{**vars(TWIN), "sources": ("rate 20/s",)})),
        active("2", Facts(**{**vars(TWIN), "temporaryCheckpoint": False})),
        active("2", Facts()),
        active("2", name="second"),
    ],
)
def test_duplicate_query_is_silent(other):
    """Another sink or source, a checkpoint, a name, or nothing known."""
    one = active("1")
    assert "duplicate-query" not in codes(diagnose(one, others=(one, other)))


def test_a_twin_that_ended_is_no_duplicate():
    """Only active queries read and write twice."""
    one, two = active("1"), active("2")
    two.end("run-2", at=BEGIN + 10)
    assert "duplicate-query" not in codes(diagnose(one, others=(one, two)))
