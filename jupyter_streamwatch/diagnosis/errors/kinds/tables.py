"""Tables with a log: Delta, Iceberg and Hudi as source and as sink."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import Told, kind

_DELTA = "https://docs.delta.io/latest/delta-streaming.html"
_ICEBERG = "https://iceberg.apache.org/docs/latest/spark-structured-streaming/"
_CONFLICTS = "https://docs.delta.io/latest/concurrency-control.html"


@kind(
    "table-schema",
    Sign(says=r"A schema mismatch detected when writing"),
    Sign(
        conditions=(
            "DELTA_METADATA_MISMATCH",
            "DELTA_FAILED_TO_MERGE_FIELDS",
            "INCOMPATIBLE_DATA_FOR_TABLE",
            "DELTA_MERGE_INCOMPATIBLE_DATATYPE",
            "DELTA_MERGE_INCOMPATIBLE_DECIMAL_TYPE",
            "INSERT_COLUMN_ARITY_MISMATCH",
            "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE",
            "CANNOT_UP_CAST_DATATYPE",
        )
    ),
    Sign(
        says=r"Failed to merge fields|Cannot write incompatible (?:data|dataset)"
        r"|Cannot write to .{0,200}, (?:too many|not enough) data columns"
    ),
    Sign(names=("SchemaCompatibilityException", "MissingSchemaFieldException")),
)
def table_schema(case: Case) -> Told:
    """Tell that the columns differ."""
    delta = "delta" in case.owner or "DELTA" in (case.cause.condition or "") or "Delta" in case.cause.message
    merge = (
        "If new columns are meant, let the table take them over before that: mergeSchema (it cannot take types that"
        " clash)."
        if delta
        else "If new columns are meant, add them to the table before that (ALTER TABLE ... ADD COLUMNS)."
    )
    return Told(
        title="The rows have other columns or types than the table",
        why="What the query writes does not fit the table's schema.",
        cures=(
            cures.fails_again("Select and cast the columns of the table before the write.", case.facts),
            merge,
        ),
        code='.option("mergeSchema", "true")  # new columns are added to the table' if delta else None,
        link=_DELTA if delta else _ICEBERG if "iceberg" in case.owner else _DELTA,
    )


@kind(
    "schema-evolved",
    Sign(
        conditions=(
            "DELTA_STREAMING_METADATA_EVOLUTION",
            "DELTA_SCHEMA_CHANGED",
            "DELTA_SCHEMA_CHANGED_WITH_VERSION",
            "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS",
            "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS",
            "UNKNOWN_FIELD_EXCEPTION",
        )
    ),
    Sign(names=("UnknownFieldException",)),
    Sign(
        says=r"Detected schema change|schema.{0,80} has changed during streaming"
        r"|Encountered unknown fields during parsing"
    ),
)
def schema_evolved(case: Case) -> Told:
    """Tell that the source has new columns, which is a matter of a restart."""
    return Told(
        title="The source has new columns or metadata",
        why="The query reads with the schema of its start, and the source has another one now. It stops so that the"
        " next start takes the new one.",
        cures=(
            cures.restart(case.facts),
            (
                "A job that expects such changes restarts by itself. If it fails again in the same way, the change is"
                " one that the message names: a dropped or renamed column, or another type, which needs its options."
            ),
        ),
        link=_DELTA,
    )


@kind(
    "schema-incompatible",
    Sign(
        conditions=(
            "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
            "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE",
            "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
            "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_TYPE_WIDENING",
        )
    ),
    Sign(says=r"Streaming read is not supported on tables with .{0,60}(?:column mapping|rename|drop)"),
)
def schema_incompatible(case: Case) -> Told:
    """Tell that columns of the source were dropped, renamed or changed."""
    return Told(
        title="Columns of the source table were dropped, renamed or changed their type",
        why="The stream was begun with the old columns; Delta goes on over such a change only when it is told to.",
        cures=(
            cures.after(
                "Read with schemaTrackingLocation (a path under the checkpoint) and allow the change with the setting"
                " that the message names.",
                case.facts,
            ),
            cures.new_checkpoint(case.facts),
        ),
        link=_DELTA + "#tracking-non-additive-schema-changes",
    )


@kind(
    "source-updated",
    Sign(
        conditions=(
            "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
            "DELTA_SOURCE_IGNORE_DELETE",
            "DELTA_SOURCE_IGNORE_CHANGES",
        )
    ),
    Sign(says=r"Detected a data update|Detected deleted data"),
    Sign(says=r"Cannot process (?P<iceberg>overwrite|delete|replace) snapshot"),
)
def source_updated(case: Case) -> Told:
    """Tell that rows of the source were changed."""
    if case.part("iceberg"):
        return Told(
            title="Rows of the source table were overwritten or deleted",
            why="An Iceberg stream reads appended rows only, and a snapshot that it came to changed rows.",
            cures=(
                cures.fails_again(
                    "Skip such snapshots: what they changed is not applied to what was read before, and rows that an"
                    " overwrite brought are not read.",
                    case.facts,
                ),
            ),
            code='.option("streaming-skip-overwrite-snapshots", "true")\n.option("streaming-skip-delete-snapshots",'
            ' "true")',
            link=_ICEBERG,
        )
    return Told(
        title="Rows of the source table were updated or deleted",
        why="A Delta stream reads appended rows only; an UPDATE, MERGE, DELETE or overwrite came in between.",
        cures=(
            cures.fails_again(
                "Skip such commits with skipChangeCommits: what they changed or brought is then not read.", case.facts
            ),
            (
                "Or read the table's change data feed (readChangeFeed), if it is switched on there: then updates and"
                " deletes come as rows. That is another query, with a new checkpoint."
            ),
        ),
        code='.option("skipChangeCommits", "true")  # commits that change rows are not read at all',
        link=_DELTA + "#ignore-updates-and-deletes",
    )


@kind(
    "table-conflict",
    Sign(
        names=(
            "ConcurrentAppendException",
            "ConcurrentDeleteReadException",
            "ConcurrentDeleteDeleteException",
            "MetadataChangedException",
            "ProtocolChangedException",
            "ConcurrentWriteException",
            "CommitFailedException",
            "HoodieWriteConflictException",
        ),
        owners=("connector-delta", "connector-iceberg", "connector-hudi"),
    ),
    Sign(
        conditions=(
            "DELTA_CONCURRENT_APPEND",
            "DELTA_CONCURRENT_DELETE_READ",
            "DELTA_CONCURRENT_DELETE_DELETE",
            "DELTA_METADATA_CHANGED",
            "DELTA_PROTOCOL_CHANGED",
            "DELTA_CONCURRENT_WRITE",
            "DELTA_MAX_COMMIT_RETRIES_EXCEEDED",
        )
    ),
    Sign(names=("ValidationException",), owners=("connector-iceberg",), says=r"[Cc]onflict|missing data files"),
)
def table_conflict(case: Case) -> Told:
    """Tell that two writers met."""
    changed = case.cause.simple in ("MetadataChangedException", "ProtocolChangedException") or (
        case.cause.condition or ""
    ).startswith(("DELTA_METADATA", "DELTA_PROTOCOL"))
    return Told(
        title="Another writer changed the table at the same time",
        why="The table's settings or schema were changed while the batch was written."
        if changed
        else "Another job wrote to, deleted from or optimised the same part of the table while the batch was"
        " written. The table itself is whole: only one of them could win.",
        cures=(
            cures.restart(case.facts),
            (
                "If it happens often, let the writers touch different partitions and say so in the condition of MERGE,"
                " UPDATE or DELETE, run OPTIMIZE at another time, or try again inside foreachBatch."
            ),
        ),
        link=_CONFLICTS,
    )


@kind(
    "table-protocol",
    Sign(names=("InvalidProtocolVersionException", "DeltaUnsupportedTableFeatureException")),
    Sign(
        conditions=(
            "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
            "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
            "DELTA_INVALID_PROTOCOL_VERSION",
            "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG",
            "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH",
        )
    ),
    Sign(says=r"requires reader version|Delta protocol version .{0,80}too new"),
)
def table_protocol(case: Case) -> Told:
    """Tell that the table is newer than the library."""
    return Told(
        title="The table needs a newer Delta library than this one",
        why="It has features (deletion vectors, column mapping, ...) that this version cannot read or write.",
        cures=(
            cures.after("Use a Delta version that knows them, of the line for this Spark.", case.facts),
            "Or have the feature dropped from the table (ALTER TABLE ... DROP FEATURE) by a program that knows it.",
        ),
        link="https://docs.delta.io/latest/versioning.html",
    )


@kind(
    "source-recreated",
    Sign(conditions=("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", "DELTA_TABLE_ID_MISMATCH")),
    Sign(says=r"reading from an unexpected Delta table"),
)
def source_recreated(case: Case) -> Told:
    """Tell that the table is another one under the old name."""
    return Told(
        title="The source table was dropped and made again",
        why="A table of the same name or path is there, but it is not the one that the checkpoint has read.",
        cures=(
            "If the old table can be brought back (RESTORE, UNDROP), the query goes on with it: nothing is lost then.",
            cures.new_checkpoint(case.facts),
        ),
        link=_DELTA,
    )


@kind(
    "source-history-gone",
    Sign(
        conditions=(
            "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
            "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
            "DELTA_TRUNCATED_TRANSACTION_LOG",
            "DELTA_FILE_NOT_FOUND_DETAILED",
            "DELTA_VERSIONS_NOT_CONTIGUOUS",
        )
    ),
    Sign(
        says=r"(?:earliest available version in the|files? .{0,80}in the) _delta_log"
        r"|transaction log has been truncated"
        r"|Cannot load current offset at snapshot"
    ),
    Sign(
        owners=("connector-iceberg",),
        says=r"Cannot (?:load current offset at snapshot|find snapshot)"
        r"|snapshot .{0,60}expired",
    ),
    Sign(names=("FileNotFoundException",), says=r"/_delta_log/"),
)
def source_history_gone(case: Case) -> Told:
    """Tell that the table forgot what was not read yet."""
    return Told(
        title="The source table no longer has the versions that the query wants to read",
        why="Its log or its old files were cleaned up (retention, VACUUM, expired snapshots) before the query came to"
        " them. What they appended may still be in the table itself.",
        cures=(
            "Bring the files back from a copy, if there is one: nothing is lost then. A longer retention prevents it.",
            cures.new_checkpoint(case.facts),
        ),
        link=_DELTA,
    )
