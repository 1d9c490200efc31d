"""Who owns a frame: the user, Spark, a connector, the state store, storage; Java's own classes own nothing."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.diagnosis.errors import owners
from jupyter_streamwatch.model.errors import Frame, causes_of


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("java.util.HashMap.get", None),
        ("scala.collection.immutable.List.foreach", None),
        ("org.apache.spark.util.Utils$.tryWithSafeFinallyAndFailureCallbacks", None),
        ("org.apache.spark.sql.Dataset.count", "spark"),
        ("org.apache.spark.sql.kafka010.KafkaMicroBatchStream.latestOffset", "connector-kafka"),
        ("org.apache.spark.sql.execution.streaming.state.RocksDB.load", "state-store"),
        ("org.apache.spark.sql.delta.DeltaLog.update", "connector-delta"),
        ("org.apache.iceberg.spark.X.y", "connector-iceberg"),
        ("com.amazonaws.services.kinesis.X.y", "connector-kinesis"),
        ("com.amazonaws.services.s3.X.y", "storage"),
        ("java.sql.SQLException", "connector-jdbc"),
        ("com.example.Price.of", "user-jvm"),
        ("$line21.$read$$iw.f", "user-jvm"),
        ("apply", None),
    ],
)
def test_the_owner_of_a_java_name(name, owner):
    """The longest package that fits decides."""
    assert owners.of_name(name) == owner


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/eva/job.py", True),
        ("<stdin>", True),
        ("/tmp/ipykernel_1/2.py", True),
        ("Cell In[3]", True),
        ("/opt/pyspark.zip/pyspark/worker.py", False),
        ("/usr/lib/python3.11/json/decoder.py", False),
        ("/venv/lib/python3.11/site-packages/requests/api.py", False),
        ("C:\\Python311\\Lib\\socket.py", False),
        ("<frozen importlib._bootstrap>", False),
    ],
)
def test_the_users_python_files(file, own):
    """Installed packages, Spark's files and Python's own are not the user's."""
    assert owners.is_own(Frame("f", file, 1, None, "python")) is own


def test_the_users_frame_is_the_one_nearest_to_the_failure():
    """Above the library that raised the error, in the last cause that has one."""
    causes = causes_of(
        'Traceback (most recent call last):\n  File "/home/eva/main.py", line 2, in <module>\n    go()\n'
        '  File "/home/eva/job.py", line 9, in go\n    requests.get(u)\n'
        '  File "/v/site-packages/requests/api.py", line 5, in get\n    raise E\nValueError: no url'
    )
    assert str(owners.own_frame(causes)) == "go (/home/eva/job.py:9)"


def test_driver_and_worker_are_told_apart():
    """A worker's error comes in a PythonException, the driver's through the proxy; without either it is not known."""
    trace = 'Traceback (most recent call last):\n  File "/home/eva/job.py", line 9, in go\n    x()\nValueError: y'
    for before, owner in (
        ("org.apache.spark.api.python.PythonException: ", owners.WORKER),
        ("py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: ", owners.DRIVER),
        ("", owners.PYTHON),
    ):
        causes = causes_of(before + trace)
        assert owners.owner_at(causes, len(causes) - 1) == owner
