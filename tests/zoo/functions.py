"""Functions of the user that fail: in the driver, in the workers, on the way between them."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

from pyspark.sql import functions as F

from tests.zoo.cage import Answer, Cage, Steps, fails


def nothing(frame: Any, batch: int) -> None:
    """A foreachBatch function that works."""
    frame.write.format("noop").mode("overwrite").save()


@fails("user-function", "user-python-driver")
def function_raises_in_foreach_batch(cage: Cage) -> Steps:
    """Which line it is; mended, the query goes on with the batch that failed."""
    cage.text_files("a", "b")

    def each(frame: Any, batch: int) -> None:
        if batch == 1:
            prices = {"a": 1}
            prices[frame.first().text]

    answer = yield cage.failed(cage.start(cage.texts(), each=each))
    assert "KeyError" in answer.failure.message or "KeyError" in str(answer.failure.causes)
    assert "functions.py" in str(answer.failure.frame)
    yield cage.start(cage.texts(), each=nothing)


@fails("user-function", "user-python-worker")
def function_raises_in_worker(cage: Cage) -> Steps:
    """A UDF meets a row that it does not know; mended, the query goes on."""
    cage.text_files("7", "seven")

    @F.udf("long")
    def number(text):
        return int(text)

    answer = yield cage.failed(cage.start(cage.texts().select(number("text"))))
    assert "functions.py" in str(answer.failure.frame)

    @F.udf("long")
    def mended(text):
        return int(text) if text.isdigit() else None

    yield cage.start(cage.texts().select(mended("text")))


@fails("user-function", "user-python-worker")
def foreach_writer_raises(cage: Cage) -> Steps:
    """A foreach function runs in the workers."""
    cage.text_files("a")

    def write(row):
        raise ValueError(f"no place for {row.text}")

    def last(writer: Any) -> Any:
        return writer.foreach(write)

    yield cage.failed(cage.start(cage.texts(), last=last))
    yield cage.start(cage.texts(), last=lambda writer: writer.foreach(print_nothing))


def print_nothing(row):
    """A foreach function that works."""


@fails("user-function", "user-python-worker")
def state_function_raises(cage: Cage) -> Steps:
    """A function with a state in pandas fails."""
    cage.text_files("a")

    def count(mended):
        def counted(key, frames, state):
            import pandas as pd

            if not mended:
                raise ZeroDivisionError("no rows a second")
            yield pd.DataFrame({"text": [key[0]], "number": [sum(map(len, frames))]})

        grouped = cage.texts().groupBy("text")
        return grouped.applyInPandasWithState(counted, "text STRING, number LONG", "number LONG", "append", "NoTimeout")

    yield cage.failed(cage.start(count(mended=False)))
    yield cage.start(count(mended=True))


@fails("python-environment", "user-python-worker")
def module_missing_in_worker(cage: Cage) -> Steps:
    """A UDF imports what the workers do not have; sent to them, the query goes on."""
    cage.text_files("a")

    @F.udf("long")
    def length(text):
        import zoo_lengths

        return zoo_lengths.of(text)

    yield cage.failed(cage.start(cage.texts().select(length("text"))))
    module = cage.root / "zoo_lengths.py"
    module.write_text("of = len\n")
    cage.spark.sparkContext.addPyFile(str(module))
    cage.leaving.append(lambda: sys.modules.pop("zoo_lengths", None))
    yield cage.start(cage.texts().select(length("text")))


@fails("module-missing", "user-python-driver")
def module_missing_in_driver(cage: Cage) -> Steps:
    """A foreachBatch function imports what the driver does not have; installed, the query goes on."""
    cage.text_files("a")

    def each(frame: Any, batch: int) -> None:
        import zoo_lookup  # type: ignore[import-not-found]

        zoo_lookup.check(frame)

    yield cage.failed(cage.start(cage.texts(), each=each))
    (cage.path("modules") / "zoo_lookup.py").write_text("def check(frame):\n    return frame.count()\n")
    sys.path.insert(0, str(cage.root / "modules"))
    cage.leaving.append(lambda: sys.path.remove(str(cage.root / "modules")))
    cage.leaving.append(lambda: sys.modules.pop("zoo_lookup", None))
    yield cage.start(cage.texts(), each=each)


@fails("not-serializable", "user-python-driver")
def lock_in_a_function(cage: Cage) -> Steps:
    """A UDF made in foreachBatch holds a lock; made inside the function, it goes on."""
    cage.text_files("a")
    lock = threading.Lock()

    def held(text):
        with lock:
            return len(text)

    def own(text):
        own_lock = threading.Lock()
        with own_lock:
            return len(text)

    def each(function: Any) -> Any:
        return lambda frame, batch: frame.select(F.udf(function, "int")("text")).collect()

    yield cage.failed(cage.start(cage.texts(), each=each(held)))
    yield cage.start(cage.texts(), each=each(own))


@fails("not-serializable", "user-python-driver")
def session_in_a_function(cage: Cage) -> Steps:
    """A UDF uses the session; the driver's function uses it instead."""
    cage.text_files("a")
    spark = cage.spark

    def each(frame: Any, batch: int) -> None:
        frame.select(F.udf(lambda text: spark.range(3).count(), "long")("text")).collect()

    def mended(frame: Any, batch: int) -> None:
        frame.withColumn("number", F.lit(frame.sparkSession.range(3).count())).collect()

    yield cage.failed(cage.start(cage.texts(), each=each))
    yield cage.start(cage.texts(), each=mended)


@fails("result-type", "user-python-worker")
def pandas_function_returns_text(cage: Cage) -> Steps:
    """A pandas UDF declares a number and returns text."""
    cage.text_files("a")

    def select(function: Any) -> Any:
        return cage.texts().select(F.pandas_udf(function, "long", F.PandasUDFType.SCALAR)("text"))

    yield cage.failed(cage.start(select(lambda text: text + "!")))
    yield cage.start(select(lambda text: text.str.len()))


@fails("worker-crash", "system")
def worker_killed(cage: Cage) -> Steps:
    """A Python worker is killed in the middle of a task; a start alone is the cure."""
    cage.text_files("a")
    first = cage.once()

    @F.udf("int")
    def length(text):
        if first():
            os.kill(os.getpid(), signal.SIGKILL)
        return len(text)

    frame = cage.texts().select(length("text"))
    yield cage.failed(cage.start(frame))
    yield cage.start(frame)


@fails("batch-action", "program")
def batch_action_on_a_stream(cage: Cage) -> Steps:
    """``count`` on the streaming frame itself; the code that is pasted starts a query."""
    cage.text_files("a")
    frame = cage.texts()
    answer = yield cage.refused(frame.count)
    yield paste_query(cage, answer, frame)


@fails("batch-action", "program")
def batch_write_of_a_stream(cage: Cage) -> Steps:
    """``write`` on the streaming frame itself."""
    cage.text_files("a")
    frame = cage.texts()
    answer = yield cage.refused(lambda: frame.write.parquet(str(cage.root / "out")))
    yield paste_query(cage, answer, frame)


@fails("batch-action", "program")
def batch_action_on_the_outer_stream(cage: Cage) -> Steps:
    """A foreachBatch function counts the streaming frame instead of its own."""
    cage.text_files("a")
    frame = cage.texts()
    yield cage.failed(cage.start(frame, each=lambda _, batch: frame.collect()))
    yield cage.start(frame, each=lambda own, batch: own.collect())


def paste_query(cage: Cage, answer: Answer, frame: Any) -> Any:
    """Run the code of the answer, which starts a query."""
    assert answer.code
    cage.execute(answer.code, df=frame)
    (query,) = cage.spark.streams.active
    cage.started.append(query)
    return query
