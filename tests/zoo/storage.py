"""Disks that are full, paths that may not be written, files that are gone or in the way."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from pyspark.sql import functions as F

from tests.zoo.cage import Cage, Ended, NotHere, Steps, fails
from tests.zoo.functions import nothing


@fails("disk-full", "system")
def checkpoint_on_a_full_disk(cage: Cage) -> Steps:
    """The checkpoint's disk has no space; a larger one lets the query go on."""
    disk = cage.disk("checkpoint", "400k")
    cage.text_files("a")
    cage.run(cage.texts())
    cage.text_files("b")
    fill(disk / "filler")
    yield cage.failed(cage.start(cage.texts()))
    (disk / "filler").unlink()
    yield cage.start(cage.texts())


@fails("disk-full", "system")
def sink_on_a_full_disk(cage: Cage) -> Steps:
    """The output's disk has no space; freed, the query goes on."""
    disk = cage.disk("out", "400k")
    cage.text_files("a")
    cage.run(cage.texts(), "json")
    cage.text_files(*("b" * 2000 for _ in range(3)))
    fill(disk / "filler")
    yield cage.failed(cage.start(cage.texts(), "json"))
    (disk / "filler").unlink()
    yield cage.start(cage.texts(), "json")


def fill(path: Any) -> None:
    """Write a file until its disk is full."""
    try:
        with path.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
    except OSError:
        pass


@fails("authorisation", "storage")
def checkpoint_that_is_read_only(cage: Cage) -> Steps:
    """The checkpoint's file system was mounted again for reading only."""
    disk = cage.disk("checkpoint", "4m")
    cage.text_files("a")
    cage.run(cage.texts())
    cage.text_files("b")
    cage.mount(["mount", "-o", "remount,ro", str(disk)])
    yield cage.failed(cage.start(cage.texts()))
    cage.mount(["mount", "-o", "remount,rw", str(disk)])
    yield cage.start(cage.texts())


PLAIN_RIGHTS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")  # root then has the rights of an owner
OTHER_PROGRAM = """
import json
import jupyter_streamwatch as sw
with sw.watch(spark) as watch:
    frame = spark.readStream.schema("value LONG, text STRING").json(root + "/in")
    writer = frame.writeStream.format("noop").option("checkpointLocation", root + "/checkpoint")
    query = writer.start()
    try:
        query.processAllAvailable()
        query.stop()
    except Exception:
        pass
    watch.diagnose(str(query.id))  # waits for the end of the run
    (history,) = watch.histories()
    print(json.dumps([history.runs[-1].exception, history.runs[-1].errorClass]), flush=True)
spark.stop()
"""


@fails("authorisation", "storage")
def checkpoint_without_the_right_to_write(cage: Cage) -> Steps:
    """A program may read the checkpoint, but not write it; given the right, the query goes on."""
    before = PLAIN_RIGHTS if os.geteuid() == 0 else ()
    try:
        subprocess.run([*before, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = "root cannot give up its rights here"
        raise NotHere(reason) from error
    cage.text_files("a")
    cage.run(cage.texts())
    cage.text_files("b")
    folders = [path for path in [cage.root / "checkpoint", *(cage.root / "checkpoint").rglob("*")] if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    output, _ = cage.elsewhere(OTHER_PROGRAM, before=before).communicate(timeout=90)
    yield Ended(*json.loads(output.splitlines()[-1]))
    for folder in folders:
        folder.chmod(0o755)
    cage.elsewhere(OTHER_PROGRAM, before=before).communicate(timeout=90)
    assert cage.newest("commits") == 1, "the other program did not go on"
    cage.text_files("c")
    yield cage.start(cage.texts())


@fails("file-missing", "storage")
def input_file_deleted(cage: Cage) -> Steps:
    """Something deletes a file between the plan of its batch and its tasks; the pasted setting skips it."""
    cage.text_files("a")
    file = cage.root / "in" / "000.json"

    def each(frame: Any, batch: int) -> None:
        file.unlink(missing_ok=True)
        nothing(frame, batch)

    answer = yield cage.failed(cage.start(cage.texts(), each=each))
    assert answer.code
    cage.conf("spark.sql.files.ignoreMissingFiles", "false")
    cage.execute(answer.code)
    cage.text_files("b", "c")
    yield cage.start(cage.texts(), each=each)


@fails("file-missing", "storage")
def input_directory_missing(cage: Cage) -> Steps:
    """The input path is not there when the query is written."""
    where = cage.root / "later"
    answer = yield cage.refused(lambda: cage.spark.readStream.schema("value LONG").json(str(where)))
    assert answer.failure.condition == "PATH_NOT_FOUND"
    where.mkdir()
    (where / "0.json").write_text('{"value": 1}\n')
    yield cage.start(cage.spark.readStream.schema("value LONG").json(str(where)))


@fails("path-exists", "storage")
def function_writes_a_path_twice(cage: Cage) -> Steps:
    """A foreachBatch function writes each batch to the same folder; one of its own a batch is the cure."""
    cage.text_files("a", "b")
    out = str(cage.root / "result")

    def each(frame: Any, batch: int) -> None:
        frame.write.parquet(out)

    def mended(frame: Any, batch: int) -> None:
        frame.write.mode("overwrite").parquet(f"{out}-{batch}")

    yield cage.failed(cage.start(cage.texts(), each=each))
    yield cage.start(cage.texts(), each=mended)


@fails("file-for-folder", "storage")
def output_path_is_a_file(cage: Cage) -> Steps:
    """The file sink's directory is a file; moved away, the query goes on."""
    cage.text_files("a")
    (cage.root / "out").write_text("in the way")
    yield cage.failed_or_refused(lambda: cage.start(cage.texts(), "parquet"))
    (cage.root / "out").rename(cage.root / "old")
    yield cage.start(cage.texts(), "parquet")


@fails("checkpoint-file", "storage")
def file_of_the_sink_log_deleted(cage: Cage) -> Steps:
    """A file of ``_spark_metadata`` is gone when the sink makes one of many; put back, the query goes on."""
    cage.conf("spark.sql.streaming.fileSink.log.compactInterval", "3")
    cage.text_files("a", "b")
    cage.run(cage.texts(), "json")
    log = cage.root / "out" / "_spark_metadata"
    (log / "1").rename(cage.root / "1")
    cage.text_files("c")
    yield cage.failed(cage.start(cage.texts(), "json"))
    (cage.root / "1").rename(log / "1")
    yield cage.start(cage.texts(), "json")


@fails("not-reached", "user-python-driver")
def service_that_is_down(cage: Cage) -> Steps:
    """A foreachBatch function calls an address where nobody listens."""
    import socket

    cage.text_files("a")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    address = listener.getsockname()

    def each(frame: Any, batch: int) -> None:
        socket.create_connection(address, timeout=5).close()
        nothing(frame, batch)

    yield cage.failed(cage.start(cage.texts(), each=each))
    listener.listen()
    cage.leaving.append(listener.close)
    yield cage.start(cage.texts(), each=each)


@fails("connector-missing", "system", incurable="a session that runs does not take the jar")
def checkpoint_on_s3_without_its_jar(cage: Cage) -> Steps:
    """A path of s3a without hadoop-aws."""
    cage.text_files("a")
    writer = cage.texts().writeStream.format("noop").option("checkpointLocation", "s3a://bucket/checkpoint")
    yield cage.failed_or_refused(writer.start)


@fails("connector-missing", "system", incurable="a session that runs does not take the jar")
def format_that_is_not_there(cage: Cage) -> Steps:
    """A Kafka source without its connector; the coordinates are those of this Spark."""
    reader = cage.spark.readStream.format("kafka").option("subscribe", "t")
    answer = yield cage.refused(reader.option("kafka.bootstrap.servers", "127.0.0.1:1").load)
    assert f":{cage.version}" in (answer.code or "")


@fails("connector-missing", "system", incurable="a session that runs does not take the jar")
def avro_that_is_not_there(cage: Cage) -> Steps:
    """An Avro source without its library."""
    answer = yield cage.refused(lambda: cage.spark.readStream.schema("a INT").format("avro").load(str(cage.path("in"))))
    assert "spark-avro" in (answer.code or "")


@fails("connector-missing", "system", incurable="a session that runs does not take the jar")
def sink_that_is_not_there(cage: Cage) -> Steps:
    """A Delta sink without its library."""
    cage.text_files("a")
    answer = yield cage.refused(lambda: cage.start(cage.texts().select(F.col("text")), "delta"))
    assert any("io.delta:delta-spark" in one for one in answer.cures)
