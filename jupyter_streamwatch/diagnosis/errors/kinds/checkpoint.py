"""The checkpoint's own files, and queries that do not fit them."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Chain, Sign
from jupyter_streamwatch.diagnosis.errors.registry import CHANGES, Told, kind

_FILE = r"(?P<file>[^\s'\"()]{0,400}/(?:offsets|commits|sources/\d+|_spark_metadata)/[\w.\-]{0,100})"
_MISSING = ("FileNotFoundException", "NoSuchFileException", "PathNotFoundException", "NoSuchKeyException")
_UNPARSED = ("JsonEOFException", "JsonParseException", "MismatchedInputException", "MappingException")
_LOG = ("HDFSMetadataLog", "OffsetSeq", "CommitMetadata", "StreamMetadata")  # in the names of what reads these files


def _calls(chain: Chain, *parts: str) -> bool:
    """Whether a call in a chain has one of these in its name."""
    return any(part in frame.function for cause in chain.causes for frame in cause.frames for part in parts)


@kind(
    "offset-log-gap",
    Sign(says=r"offset log for batch (?P<missing>\d+) doesn'?t exist(?:[^\n]{0,100}?latest batch (?P<newest>\d+))?"),
    Sign(says=r"Previous batch (?P<missing>\d+) not found in offset log"),
    Sign(
        says=r"batch (?P<missing>\d+) doesn'?t exist\W*$",
        at="MicroBatchExecution",
        where=lambda chain: not _calls(chain, "FileStreamSource"),
    ),
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
    Sign(says=r"^batch \d+ doesn'?t exist", at="FileStreamSource"),
    Sign(names=_UNPARSED, where=lambda chain: _calls(chain, *_LOG)),
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
    metadata = _calls(case.chain, "StreamMetadata")
    listed = "FileStreamSource" in "".join(frame.function for frame in case.cause.frames)
    newest = "/offsets/" in file or _calls(case.chain, "OffsetSeq")
    if metadata:
        which = "Its file metadata"
    elif listed:
        which = f"The file of {case.cause.message.split(' doesn')[0]} in sources, a list of input files,"
    else:
        which = file or ("A file of its offsets" if newest else "A file of its logs")
    others = {
        "The file metadata holds the query's id alone: written anew as"
        ' {"id":"..."}, with the id that progress or log of an earlier run shows, it is whole.': metadata,
        f"If it is the newest in offsets: {cures.move_offset(case.facts, None)}": newest and not metadata,
        f"If commits lacks the newest batch of offsets: {cures.move_offset(case.facts, None)}": listed,
    }
    return Told(
        title="A file of the checkpoint is missing or damaged",
        why=f"{which} belongs to the checkpoint, not to the input: it was deleted, not copied,"
        " or cut off while it was written. Skipping missing input files does nothing for it.",
        cures=(
            cures.restore(),
            *(cure for cure, fits in others.items() if fits),
            cures.new_checkpoint(case.facts),
        ),
    )


@kind(
    "checkpoint-not-empty",
    Sign(
        conditions=("STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",),
        says=r"location (?P<folder>\S{1,400}) should be empty",
    ),
    owner=owners.STORAGE,
)
def checkpoint_not_empty(case: Case) -> Told:
    """Tell that a first start met files of an earlier run."""
    folder = (case.part("folder") or "").rsplit("/", 1)[-1]
    return Told(
        title=f"The checkpoint has no batch in offsets, but its folder {folder} is not empty",
        why="This start found no offsets and would begin with batch 0; it was refused so that it does not mix with what"
        " an earlier run left. That run was stopped before it had written its first offsets, or the offsets were"
        " removed or not copied.",
        cures=(
            (
                "If commits or state has files, the query has run before: restore offsets from a copy, nothing is lost"
                " then."
            ),
            (
                f"If commits and state are empty and {folder} has only unfinished files (their names begin with a dot),"
                f" no batch was run: move the folder {folder} aside and start the query again. Nothing is lost then."
            ),
            cures.new_checkpoint(case.facts),
        ),
    )


@kind(
    "continuous-checkpoint",
    Sign(names=("NullPointerException",), says=r"watermarkTracker(?:\(\))?\" is null", at="populateStartOffsets"),
    owner=owners.PROGRAM,
)
def continuous_checkpoint(case: Case) -> Told:
    """Tell that a continuous query wrote the checkpoint."""
    return Told(
        title="The checkpoint was written by a continuous query",
        why="Its newest offsets lack what each batch of a processing-time trigger notes there, as those of a run with"
        " trigger(continuous=...) do: Spark cannot go on from them in batches.",
        cures=(
            cures.after("Start it with a continuous trigger, as before.", case.facts),
            cures.new_checkpoint(case.facts),
        ),
        link=CHANGES,
    )


@kind(
    "sink-without-recovery",
    Sign(says=r"This query does not support recovering from checkpoint location"),
    owner=owners.PROGRAM,
)
def sink_without_recovery(case: Case) -> Told:
    """Tell that a memory sink forgets its rows."""
    del case
    return Told(
        title="The memory sink does not go on from a checkpoint in this output mode",
        why="Its rows are gone with the run that wrote them, so that going on would give a part of the table only."
        " No batch was run by this start.",
        cures=(
            (
                "Start it without a checkpointLocation: it reads its source from where its options say. Or use the"
                " output mode complete, if the query has an aggregation, or a sink that keeps its rows."
            ),
        ),
        link=CHANGES,
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
