"""Rows that Spark does not take: values, nulls and records."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from tests.zoo.cage import Cage, Steps, fails


@fails("bad-value", "spark")
def text_that_is_no_number(cage: Cage) -> Steps:
    """A cast under ANSI mode; the pasted try_cast gives null."""
    cage.text_files("7", "seven")
    answer = yield cage.failed(cage.start(cage.texts().select(F.col("text").cast("int"))))
    assert answer.code
    yield cage.start(cage.evaluate(answer.code, df=cage.texts()))


@fails("bad-value", "spark")
def number_that_is_too_large(cage: Cage) -> Steps:
    """A cast to a smaller type; the pasted try_cast gives null."""
    cage.text_files("7000000000")
    answer = yield cage.failed(cage.start(cage.texts().select(F.expr("CAST(CAST(text AS LONG) AS INT)"))))
    assert answer.code
    yield cage.start(cage.evaluate(answer.code, df=cage.texts()))


@fails("bad-value", "spark")
def sum_that_is_too_large(cage: Cage) -> Steps:
    """Arithmetic that leaves its type; try_add gives null."""
    cage.text_files("a")
    yield cage.failed(cage.start(cage.texts().select(F.expr("value + 9223372036854775807L + 1L"))))
    yield cage.start(cage.texts().select(F.expr("try_add(try_add(value, 9223372036854775807L), 1L)")))


@fails("bad-value", "spark")
def division_by_zero(cage: Cage) -> Steps:
    """try_divide gives null."""
    cage.text_files("a")
    yield cage.failed(cage.start(cage.texts().select(F.expr("1 / value"))))
    yield cage.start(cage.texts().select(F.expr("try_divide(1, value)")))


@fails("bad-value", "spark")
def text_that_is_no_time(cage: Cage) -> Steps:
    """to_timestamp under ANSI mode; try_to_timestamp gives null."""
    cage.text_files("yesterday")
    yield cage.failed(cage.start(cage.texts().select(F.expr("to_timestamp(text, 'yyyy-MM-dd')"))))
    yield cage.start(cage.texts().select(F.expr("try_to_timestamp(text, 'yyyy-MM-dd')")))


@fails("bad-value", "spark")
def element_that_is_not_there(cage: Cage) -> Steps:
    """A place beyond the end of an array; get gives null."""
    cage.text_files("a,b")
    yield cage.failed(cage.start(cage.texts().select(F.expr("split(text, ',')[5]"))))
    yield cage.start(cage.texts().select(F.expr("get(split(text, ','), 5)")))


@fails("bad-value", "spark")
def record_that_is_no_json(cage: Cage) -> Steps:
    """A reader in FAILFAST mode; the pasted options keep the record in a column of its own."""
    draft = cage.root / "draft"
    draft.write_text('{"value": 1}\n{"value": \n')
    draft.rename(cage.path("in") / "0.json")

    def strict(reader: Any) -> Any:
        return reader.option("mode", "FAILFAST")

    answer = yield cage.failed(cage.start(cage.files(last=strict)))
    assert answer.code
    schema = "value LONG, _corrupt_record STRING"
    yield cage.start(
        cage.files(schema=schema, last=lambda reader: cage.evaluate(f"reader{answer.code}", reader=reader))
    )


@fails("not-null", "spark")
def null_as_a_key(cage: Cage) -> Steps:
    """A map gets a null as its key; such rows are put aside."""
    cage.add_file("0.json", [{"value": 1}, {"text": "a", "value": 2}])
    yield cage.failed(cage.start(cage.texts().select(F.expr("map(text, value)"))))
    yield cage.start(cage.texts().where("text IS NOT NULL").select(F.expr("map(text, value)")))


@fails("not-null", "user-python-driver")
def null_in_a_column_without_nulls(cage: Cage) -> Steps:
    """A function makes a frame whose schema has no null there; such rows are put aside."""
    cage.since(4, "Spark 3 says only that an argument is None: a function that raises")
    cage.add_file("0.json", [{"value": 1}, {"text": "a", "value": 2}])

    def each(frame: Any, batch: int) -> None:
        frame.sparkSession.createDataFrame(frame.collect(), "value LONG, text STRING NOT NULL").count()

    yield cage.failed(cage.start(cage.texts(), each=each))
    yield cage.start(cage.texts(), each=lambda frame, batch: each(frame.where("text IS NOT NULL"), batch))


@fails("file-unreadable", "storage")
def file_that_is_no_parquet(cage: Cage) -> Steps:
    """A file of another format lies in the input; the pasted setting skips it."""
    cage.spark.range(3).coalesce(1).write.parquet(str(cage.root / "made"))
    source = cage.path("parquet")
    (source / "bad.parquet").write_text("this is no parquet file, but long enough to have a footer")

    def start() -> Any:
        return cage.start(cage.spark.readStream.schema("id LONG").parquet(str(source)))

    answer = yield cage.failed(start())
    assert answer.code
    cage.conf("spark.sql.files.ignoreCorruptFiles", "false")
    cage.execute(answer.code)
    (part,) = (cage.root / "made").glob("part-*.parquet")
    part.rename(source / "good.parquet")
    yield start()
