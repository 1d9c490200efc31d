"""Delta tables as source and as sink."""

from __future__ import annotations

import shutil
import threading
from typing import Any

from pyspark.sql import functions as F

from tests.helpers import wait_until
from tests.zoo.cage import DELTA, Cage, Steps, fails
from tests.zoo.functions import nothing


def table(cage: Cage, rows: int = 3) -> str:
    """A table with rows (id, text)."""
    path = str(cage.root / "table")
    frame = cage.spark.range(rows).withColumn("text", F.lit("a"))
    frame.coalesce(1).write.format("delta").mode("append").save(path)
    return path


def read(cage: Cage, path: str, code: str = "") -> Any:
    """A streaming read of a table; with code to paste, its reader has that, too."""
    reader = cage.spark.readStream.format("delta")
    return (cage.evaluate(f"reader{code}", reader=reader) if code else reader).load(path)


def into(cage: Cage, frame: Any, path: str, code: str = "") -> Any:
    """Start a query that appends to a table."""

    def last(writer: Any) -> Any:
        writer = cage.evaluate(f"writer{code}", writer=writer) if code else writer
        return writer.option("path", path)

    return cage.start(frame, "delta", last=last)


@fails("table-schema", "connector-delta", needs=DELTA)
def column_that_the_table_has_not(cage: Cage) -> Steps:
    """The rows have one column more; the pasted option adds it to the table."""
    path = table(cage)
    cage.text_files("a")
    frame = cage.texts().withColumn("id", F.col("value"))
    answer = yield cage.failed_or_refused(lambda: into(cage, frame, path))
    assert answer.code
    yield into(cage, frame, path, answer.code)


@fails("table-schema", "connector-delta", needs=DELTA)
def type_that_the_table_has_not(cage: Cage) -> Steps:
    """A number is text now; cast to the table's type, the query goes on."""
    path = table(cage)
    cage.text_files("a")
    yield cage.failed_or_refused(lambda: into(cage, cage.texts().select(F.expr("array(value) AS id"), "text"), path))
    yield into(cage, cage.texts().select(F.col("value").alias("id"), "text"), path)


@fails("merge-rows", "connector-delta", needs=DELTA)
def two_rows_for_one_in_a_merge(cage: Cage) -> Steps:
    """A batch has two rows of one key; the pasted lines keep the newest one."""
    path = str(cage.root / "table")
    cage.spark.createDataFrame([(1, 0)], "key LONG, time LONG").write.format("delta").save(path)
    cage.add_file("0.json", [{"key": 1, "time": 1}, {"key": 1, "time": 2}])
    frame = cage.files(schema="key LONG, time LONG")

    def merge(frame: Any) -> None:
        frame.createOrReplaceTempView("batch")
        frame.sparkSession.sql(
            f"MERGE INTO delta.`{path}` AS t USING batch AS b ON t.key = b.key"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    answer = yield cage.failed(cage.start(frame, each=lambda frame, batch: merge(frame)))
    assert answer.code
    code = answer.code
    yield cage.start(frame, each=lambda frame, batch: merge(cage.execute(code, batch_df=frame)["one_a_key"]))


@fails("source-updated", "connector-delta", needs=DELTA)
def rows_of_the_source_updated(cage: Cage) -> Steps:
    """An UPDATE comes in between; the pasted option skips it."""
    path = table(cage)
    cage.run(read(cage, path))
    cage.spark.sql(f"UPDATE delta.`{path}` SET text = 'b' WHERE id = 1")
    table(cage)
    answer = yield cage.failed(cage.start(read(cage, path)))
    assert answer.code
    yield cage.start(read(cage, path, answer.code))


@fails("source-updated", "connector-delta", needs=DELTA)
def rows_of_the_source_deleted(cage: Cage) -> Steps:
    """A DELETE comes in between; the pasted option skips it."""
    path = table(cage)
    cage.run(read(cage, path))
    cage.spark.sql(f"DELETE FROM delta.`{path}`")
    table(cage)
    answer = yield cage.failed(cage.start(read(cage, path)))
    assert answer.code
    yield cage.start(read(cage, path, answer.code))


@fails("source-recreated", "connector-delta", needs=DELTA)
def source_table_made_again(cage: Cage) -> Steps:
    """Another table stands at the path; with a new checkpoint the query begins anew, the old one back it goes on."""
    path = table(cage)
    cage.run(read(cage, path))
    (cage.root / "table").rename(cage.root / "old")
    table(cage)
    yield cage.failed(cage.start(read(cage, path)))
    (cage.root / "table").rename(cage.root / "new")
    (cage.root / "old").rename(cage.root / "table")
    table(cage)
    yield cage.start(read(cage, path))


@fails("schema-evolved", "connector-delta", needs=DELTA)
def column_added_to_the_source(cage: Cage) -> Steps:
    """The source gets a column while the query runs; a start alone takes it."""
    path = table(cage)
    query = cage.start(read(cage, path))
    query.processAllAvailable()
    more = cage.spark.range(3).withColumn("text", F.lit("a")).withColumn("more", F.lit(1))
    more.write.format("delta").mode("append").option("mergeSchema", "true").save(path)
    yield cage.failed(query)
    yield cage.start(read(cage, path))


@fails("source-history-gone", "connector-delta", needs=DELTA)
def log_of_the_source_cleaned_up(cage: Cage) -> Steps:
    """Versions that were not read yet are gone from the log; with a new checkpoint the query begins anew."""
    path = table(cage)
    cage.run(read(cage, path))
    for _ in range(12):
        table(cage, 1)
    for version in range(9):
        (cage.root / "table" / "_delta_log" / f"{version:020}.json").unlink()
    yield cage.failed(cage.start(read(cage, path)))
    yield cage.start(read(cage, path), checkpoint="new")


@fails("not-null", "connector-delta", needs=DELTA)
def null_that_the_table_refuses(cage: Cage) -> Steps:
    """A column NOT NULL gets a null; such rows are put aside."""
    path = str(cage.root / "table")
    cage.spark.sql(f"CREATE TABLE delta.`{path}` (value LONG, text STRING NOT NULL) USING delta")
    cage.add_file("0.json", [{"value": 1}, {"text": "a", "value": 2}])
    yield cage.failed(into(cage, cage.texts(), path))
    yield into(cage, cage.texts().where("text IS NOT NULL"), path)


@fails("not-null", "connector-delta", needs=DELTA)
def row_that_breaks_a_constraint(cage: Cage) -> Steps:
    """A CHECK constraint is broken; such rows are put aside."""
    path = str(cage.root / "table")
    cage.spark.sql(f"CREATE TABLE delta.`{path}` (value LONG, text STRING) USING delta")
    cage.spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT positive CHECK (value > 0)")
    cage.text_files("a", "b")
    yield cage.failed(into(cage, cage.texts(), path))
    yield into(cage, cage.texts().where("value > 0"), path)


@fails("table-conflict", "connector-delta", needs=DELTA)
def table_written_by_another_job(cage: Cage) -> Steps:
    """Another job deletes what a batch updates; a start alone is the cure."""
    path = table(cage)
    cage.text_files("a")
    began, changed = cage.root / "began", cage.root / "changed"

    @F.udf("string")
    def waiting(text):
        began.touch()
        wait_until(changed.exists)
        return f"{text}!"

    def delete() -> None:
        wait_until(began.exists)
        cage.spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 1")
        changed.touch()

    def each(frame: Any, batch: int) -> None:
        frame.sparkSession.udf.register("waiting", waiting)
        frame.sparkSession.sql(f"UPDATE delta.`{path}` SET text = waiting(text)")
        nothing(frame, batch)

    other = threading.Thread(target=delete)
    other.start()
    yield cage.failed(cage.start(cage.texts(), each=each))
    other.join()
    yield cage.start(cage.texts(), each=each)


OTHER_RUN = """
frame = spark.readStream.schema("value LONG, text STRING").option("maxFilesPerTrigger", 1).json(root + "/in")
writer = frame.writeStream.format("delta").option("checkpointLocation", root + "/copy").option("path", root + "/out")
query = writer.start()
query.processAllAvailable()
query.stop()
"""


@fails("concurrent-run", "program", needs=DELTA)
def two_runs_on_one_table(cage: Cage) -> Steps:
    """A run on a copy of the checkpoint, so of the same id, writes a batch to the table at the same time."""
    path = str(cage.root / "out")
    cage.text_files("a")
    cage.run(cage.texts(), "delta", last=lambda writer: writer.option("path", path))
    shutil.copytree(cage.root / "checkpoint", cage.root / "copy")
    cage.text_files("b")
    marker = cage.root / "done"

    @F.udf("string")
    def waiting(text):
        wait_until(marker.exists)
        return text

    query = into(cage, cage.texts().withColumn("text", waiting("text")), path)
    other = cage.elsewhere(OTHER_RUN)
    other.wait(120)
    assert not other.returncode
    marker.touch()
    yield cage.failed(query)
    cage.text_files("c")
    yield into(cage, cage.texts(), path)
