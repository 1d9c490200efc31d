"""Values in the rows: text that is no number, nulls, overflows, two source rows for one target row."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import Told, kind

_ANSI = "https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html"


@kind(
    "merge-rows",
    Sign(conditions=("DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE", "MERGE_CARDINALITY_VIOLATION")),
    Sign(says=r"multiple source rows? (?:matched|from the source)|matched a single row from the target table"),
    Sign(says=r"more than one row .{0,80}(?:matches|matched) .{0,80}target|MERGE statement matched a single row"),
)
def merge_rows(case: Case) -> Told:
    """Tell that a batch has two rows for one."""
    return Told(
        title="A MERGE got several source rows for one row of the table",
        why="The batch has more than one row with the same merge key, and which of them should win is not said.",
        cures=(
            cures.fails_again(
                "Keep one row a key before the merge: the newest one by row_number over the key, or dropDuplicates.",
                case.facts,
            ),
        ),
        code="from pyspark.sql import Window, functions as F\n\n"
        'newest = Window.partitionBy("key").orderBy(F.col("time").desc())\n'
        'one_a_key = batch_df.withColumn("n", F.row_number().over(newest)).where("n = 1").drop("n")',
        link="https://docs.delta.io/latest/delta-update.html#upsert-from-streaming-queries-using-foreachbatch",
    )


@kind(
    "not-null",
    Sign(
        conditions=(
            "NOT_NULL_ASSERT_VIOLATION",
            "NOT_NULL_CONSTRAINT_VIOLATION",
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
            "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
            "NULL_MAP_KEY",
            "AVRO_CANNOT_WRITE_NULL_FIELD",
            "ROW_VALUE_IS_NULL",
            "FIELD_NOT_NULLABLE",
            "FIELD_NOT_NULLABLE_WITH_NAME",
        )
    ),
    Sign(names=("InvariantViolationException", "DeltaInvariantViolationException")),
    Sign(
        says=r"NULL value appeared in non-nullable field|null value in column"
        r"|[Tt]his field is not nullable, but got None"
    ),
)
def not_null(case: Case) -> Told:
    """Tell that a row breaks a rule of the table."""
    return Told(
        title="A row breaks a rule of the table: a null, or a constraint",
        why="The batch has a row with a value that the table or the schema does not allow.",
        cures=(
            cures.fails_again(
                "Put such rows aside before the write (filter, or coalesce to a value), or loosen the rule.", case.facts
            ),
        ),
    )


@kind(
    "bad-value",
    Sign(
        conditions=(
            "CAST_INVALID_INPUT",
            "CAST_OVERFLOW",
            "CAST_OVERFLOW_IN_TABLE_INSERT",
            "ARITHMETIC_OVERFLOW",
            "BINARY_ARITHMETIC_OVERFLOW",
            "DIVIDE_BY_ZERO",
            "REMAINDER_BY_ZERO",
            "DATETIME_OVERFLOW",
            "DATETIME_FIELD_OUT_OF_BOUNDS",
            "INTERVAL_ARITHMETIC_OVERFLOW",
            "INTERVAL_DIVIDED_BY_ZERO",
            "NUMERIC_VALUE_OUT_OF_RANGE",
            "NUMERIC_OUT_OF_SUPPORTED_RANGE",
            "INVALID_ARRAY_INDEX",
            "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
            "CANNOT_PARSE_TIMESTAMP",
            "CANNOT_PARSE_DECIMAL",
            "CANNOT_PARSE_JSON_FIELD",
            "INVALID_FRACTION_OF_SECOND",
            "MAP_KEY_DOES_NOT_EXIST",
            "CONVERSION_INVALID_INPUT",
            "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
            "MALFORMED_RECORD_IN_PARSING",
            "MALFORMED_CSV_RECORD",
            "MALFORMED_PROTOBUF_MESSAGE",
            "INVALID_URL",
            "INVALID_DATETIME_PATTERN",
            "INCONSISTENT_BEHAVIOR_CROSS_VERSION",
            "DUPLICATED_MAP_KEY",
        )
    ),
    Sign(names=("SparkNumberFormatException", "SparkArithmeticException", "SparkDateTimeException")),
    Sign(
        names=("NumberFormatException", "ArithmeticException", "DateTimeException", "DateTimeParseException"),
        owners=(owners.SPARK, owners.UNKNOWN),
    ),
    Sign(names=("BadRecordException", "MalformedRecordException")),
    Sign(says=r"Malformed records are detected|Malformed data\. Length is negative|Unknown magic byte"),
    owner=owners.SPARK,
)
def bad_value(case: Case) -> Told:
    """Tell which value stops the batch."""
    condition = case.cause.condition or ""
    record = (
        condition.startswith("MALFORMED")
        or case.cause.simple in ("BadRecordException", "MalformedRecordException")
        or case.found is not None
    )
    cast = condition.startswith(("CAST", "CANNOT_PARSE")) or case.cause.simple in (
        "NumberFormatException",
        "SparkNumberFormatException",
        "DateTimeParseException",
    )
    if record:
        what = "Read in PERMISSIVE mode and keep what cannot be read in a column of its own"
        code = '.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", "_corrupt_record")'
    elif cast:
        what = "Use try_cast (or try_to_timestamp, try_to_number), which gives null, and put bad rows aside"
        code = 'df.withColumn("number", F.expr("try_cast(text AS INT)"))  # null where the text is no number'
    else:
        what = (
            "Use the try_ function (try_divide, try_add, try_element_at, get), which gives null, or put such rows aside"
        )
        code = None
    return Told(
        title="A value in the rows stops the query" if not record else "A record that cannot be read stops the query",
        why="Such a value is an error, not a null: for casts and arithmetic that is ANSI mode, the default since"
        " Spark 4.0; for records it is the mode FAILFAST.",
        cures=(
            cures.fails_again(what + ".", case.facts),
            "spark.sql.ansi.enabled = false turns such values to nulls or wrong numbers everywhere without a word: bad"
            " rows are hidden then."
            if not record
            else "With DROPMALFORMED such records are lost without a word.",
        ),
        code=code,
        link=_ANSI,
    )


@kind(
    "duplicate-key",
    Sign(
        names=(
            "SQLIntegrityConstraintViolationException",
            "PSQLException",
            "BatchUpdateException",
            "SQLServerException",
            "MongoBulkWriteException",
            "SQLException",
        ),
        says=r"duplicate (?:key|entry)|unique constraint|Violation of (?:PRIMARY|UNIQUE)|E11000",
    ),
)
def duplicate_key(case: Case) -> Told:
    """Tell that rows came a second time."""
    return Told(
        title="The database has a row with this key already",
        why="Either the batch was written before and runs again (a restart repeats the last batch), or the rows have"
        " the same key twice. An append to a table with a unique key cannot be repeated.",
        cures=(
            cures.fails_again(
                "Let foreachBatch upsert instead of append (write to a staging table, then MERGE or INSERT ... ON"
                " CONFLICT), or skip a batch_id that the table has.",
                case.facts,
            ),
        ),
        link="https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html"
        "#using-foreach-and-foreachbatch",
    )
