"""The checkpoint's own files, and queries that do not fit them."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import CHANGES, Told, kind

_FILE = r"(?P<file>[^\s'\"()]{0,400}/(?:offsets|commits|sources/\d+|_spark_metadata)/[\w.\-]{0,100})"
_MISSING = ("FileNotFoundException", "NoSuchFileException", "PathNotFoundException", "NoSuchKeyException")


@kind(
    "offset-log-gap",
    Sign(says=r"offset log for batch (?P<missing>\d+) doesn'?t exist(?:[^\n]{0,100}?latest batch (?P<newest>\d+))?"),
    Sign(says=r"Previous batch (?P<missing>\d+) not found in offset log"),
    Sign(says=r"batch (?P<missing>\d+) doesn'?t exist\W*$", at="MicroBatchExecution"),
    owner=owners.STORAGE,
)
def offset_log_gap(case: Case) -> Told:
    """Tell which entry of the offset log is missing."""
    missing, newest = case.part("missing"), case.part("newest")
    # Where the text names the missing one alone, a start looks for the one before the newest.
    batch = int(newest) if newest else int(missing) + 1 if missing else None
    return Told(
        title=f"The checkpoint has no offsets/{missing}",
        why="A start needs the newest two files in offsets to follow each other, and one between them is not there:"
        " removed, not copied, or never written by a run with asynchronous progress tracking.",
        cures=(
            "If it ran with asyncProgressTrackingEnabled, start it with that option again: such a log may have gaps.",
            f"Else restore offsets/{missing} from a copy: nothing is lost then.",
            cures.move_offset(case.facts, batch),
            (
                "Then the newest two in offsets must follow each other, and the newest in commits must be the newer of"
                " them or the one before: move what is newer aside, too, and its batches run again."
            ),
            cures.new_checkpoint(case.facts),
        ),
    )


@kind(
    "newer-spark",
    Sign(conditions=("INVALID_LOG_VERSION", "CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_READER_VERSION")),
    Sign(says=r"UnsupportedLogVersion|log file was produced by a newer version"),
    owner=owners.SPARK,
)
def newer_spark(case: Case) -> Told:
    """Tell that a newer Spark wrote it."""
    return Told(
        title="The checkpoint was written by a newer Spark",
        why="A file in it has a version that this Spark cannot read.",
        cures=(
            cures.after("Use the Spark version that wrote it, or a later one.", case.facts),
            cures.new_checkpoint(case.facts),
        ),
    )


@kind(
    "connector-metadata",
    Sign(
        owners=("connector-kinesis",),
        says=r"committed metadata(?: from previous batch id (?P<batch>\d+))?"
        r"|fetching metadata",
    ),
    Sign(says=r"/shard-commit/(?P<batch>\d+)"),
    otherwise="connector-kinesis",
)
def connector_metadata(case: Case) -> Told:
    """Tell that the connector's own file of a batch is missing."""
    batch = case.part("batch")
    which = f"of batch {batch}" if batch else "of the batch before"
    return Told(
        title=f"The Kinesis connector does not find its own metadata {which}",
        why="It keeps the positions in the shards of each batch in files of its own beside the checkpoint's, and"
        f" those {which} are not there: that batch was cut off, or the files were removed. The rows need not be gone"
        " at the source.",
        cures=(
            cures.restart(case.facts),
            (
                "If it fails again, restore those files from a copy, or see that its option for the place of its"
                " metadata is the one of the runs before."
            ),
            cures.new_checkpoint(case.facts),
        ),
        link="https://github.com/awslabs/spark-sql-kinesis-connector",
    )


@kind(
    "checkpoint-file",
    Sign(names=_MISSING, says=_FILE),
    Sign(says=_FILE + r"\S* (?:does not|doesn'?t) exist"),
    Sign(names=("ChecksumException",), says=_FILE),
    Sign(
        conditions=(
            "MALFORMED_LOG_FILE",
            "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            "BATCH_METADATA_NOT_FOUND",
            "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
        )
    ),
    Sign(
        says=r"Log file was malformed|Incomplete log file|Failed to read log file|Found no log file"
        r"|doesn'?t exist when compacting batch"
    ),
    owner=owners.STORAGE,
)
def checkpoint_file(case: Case) -> Told:
    """Tell which file of the checkpoint, or of the file sink's log, is missing or damaged."""
    file = case.part("file") or ""
    if "_spark_metadata" in file + case.cause.message:
        return Told(
            title="A file of the file sink's own log (_spark_metadata) is missing or damaged",
            why="The sink keeps in it which files are in the result; it is no part of the input, and skipping missing"
            " input files does nothing for it.",
            cures=(
                cures.restore("the folder _spark_metadata"),
                (
                    "Only as the last resort write to a new output directory with a new checkpoint, and keep the old"
                    " ones: state is lost, and the source is read from where its options say."
                ),
            ),
        )
    newest = "/offsets/" in file
    return Told(
        title="A file of the checkpoint is missing or damaged",
        why=f"{file or 'A file of its logs'} belongs to the checkpoint, not to the input: it was deleted, not copied,"
        " or cut off while it was written. Skipping missing input files does nothing for it.",
        cures=(
            cures.restore(),
            *([f"If it is the newest in offsets: {cures.move_offset(case.facts, None)}"] if newest else []),
            cures.new_checkpoint(case.facts),
        ),
    )


@kind(
    "checkpoint-changed",
    Sign(conditions=("STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA", "STREAMING_QUERY_EVOLUTION_ERROR")),
    Sign(
        says=r"There are \[\d+\] sources in the checkpoint|Detected incompatible|INCOMPATIBLE_CHECKPOINT"
        r"|assertion failed[^\n]{0,200}checkpoint"
    ),
    owner=owners.PROGRAM,
)
def checkpoint_changed(case: Case) -> Told:
    """Tell that the query is another one."""
    return Told(
        title="The query does not fit its checkpoint",
        why="The number or kind of its sources or stateful operators is another one than when the checkpoint was"
        " written.",
        cures=(
            cures.after("Take the change back.", case.facts),
            cures.new_checkpoint(case.facts),
        ),
        link=CHANGES,
    )
