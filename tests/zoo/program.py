"""Programs that end, jobs that are cancelled, time and memory that run out."""

from __future__ import annotations

import threading
from typing import Any

from pyspark.sql import functions as F

from tests.helpers import wait_until
from tests.zoo.cage import Cage, Steps, fails


def waiting(cage: Cage) -> tuple[Any, Any]:
    """A frame whose first task waits until the case is over, and a function that waits until it began."""
    marker = cage.root / "began"
    over = cage.root / "over"
    cage.leaving.append(over.touch)

    @F.udf("string")
    def wait(text):
        marker.touch()
        while not over.exists():
            threading.Event().wait(0.05)
        return text

    return cage.texts().select(wait("text")), lambda: wait_until(marker.exists)


@fails(None)
def stopped_by_its_owner(cage: Cage) -> Steps:
    """``stop()`` in the middle of a batch is no failure."""
    cage.text_files("a")
    frame, began = waiting(cage)
    query = cage.start(frame)
    began()
    query.stop()
    yield query


@fails("interrupted", "program")
def jobs_cancelled(cage: Cage) -> Steps:
    """Someone cancels all jobs of the session; started again, the query goes on."""
    cage.text_files("a")
    frame, began = waiting(cage)
    query = cage.start(frame)
    began()
    cage.spark.sparkContext.cancelAllJobs()
    yield cage.failed(query)
    (cage.root / "over").touch()
    yield cage.start(frame)


@fails("session-stopped", "program", incurable="the session of the case is gone")
def session_stopped(cage: Cage) -> Steps:
    """The session is stopped in the middle of a batch."""
    cage.text_files("a")
    frame, began = waiting(cage)
    query = cage.start(frame)
    began()
    cage.spark.sparkContext.stop()
    wait_until(lambda: not query.isActive)
    yield query.exception()


@fails("timeout", "spark")
def broadcast_that_takes_too_long(cage: Cage) -> Steps:
    """A table for a broadcast is not there in time; the pasted setting joins without one."""
    cage.text_files("a")
    cage.conf("spark.sql.broadcastTimeout", "1")
    cage.conf("spark.sql.adaptive.enabled", "false")

    @F.udf("long")
    def slowly(value):
        threading.Event().wait(3)
        return value

    cage.conf("spark.sql.autoBroadcastJoinThreshold", "100MB")
    static = cage.spark.range(1).select(slowly("id").alias("value"))
    frame = cage.texts().join(static, "value")
    answer = yield cage.failed(cage.start(frame))
    assert answer.code
    cage.execute(answer.code)
    yield cage.start(frame)


@fails("driver-memory", "spark", conf={"spark.driver.maxResultSize": "1m"})
def more_than_the_driver_takes(cage: Cage) -> Steps:
    """A function collects more than the driver takes; written by the executors, it goes on."""
    cage.text_files("a")

    def wide(frame: Any) -> Any:
        return frame.select(F.explode(F.sequence(F.lit(1), F.lit(200_000)))).select(F.expr("uuid()"))

    def each(frame: Any, batch: int) -> None:
        wide(frame).collect()

    def mended(frame: Any, batch: int) -> None:
        wide(frame).write.format("noop").mode("overwrite").save()

    yield cage.failed(cage.start(cage.texts(), each=each))
    yield cage.start(cage.texts(), each=mended)


@fails("out-of-memory", "user-python-worker")
def worker_without_memory(cage: Cage) -> Steps:
    """A Python worker may not take as much as its function asks for."""
    cage.text_files("a")

    def limited(size: int) -> Any:
        @F.udf("long")
        def take(text):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, -1))
            return len(bytearray(size))

        return cage.texts().select(take("text"))

    yield cage.failed(cage.start(limited(4 << 30)))
    yield cage.start(limited(1000))


@fails("not-reached", "spark", endless=True)
def socket_source_that_is_down(cage: Cage) -> Steps:
    """A socket source whose address nobody listens at."""
    import socket

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    host, port = listener.getsockname()
    frame = cage.spark.readStream.format("socket").option("host", host).option("port", port).load()
    yield cage.failed_or_refused(lambda: cage.start(frame))
    listener.listen()
    cage.leaving.append(listener.close)
    query = cage.start(frame, checkpoint="other")
    connection, _ = listener.accept()
    cage.leaving.append(connection.close)
    connection.sendall(b"a row\n")
    wait_until(lambda: (query.lastProgress and query.lastProgress["numInputRows"]) or query.exception())
    yield query
