"""The state store: files that are missing, locked or made for another query."""

from __future__ import annotations

import re

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import CHANGES, Told, kind

_VERSION = re.compile(r"/state/\d+/\d+/(?:[A-Za-z][\w-]{0,100}/)?(\d{1,12})\.(?:delta|snapshot|zip|changelog)")
_FILE = r"(?P<file>[^\s'\"()]{0,400}/state/\d+/\d+/[\w./\-]{1,200})"
# Why a state store could not be loaded, as far as it proves that files are missing or damaged.
_UNREADABLE = (
    "AUTO_SNAPSHOT_REPAIR_FAILED",
    "CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT",
    "CANNOT_READ_CHECKPOINT",
    "CANNOT_READ_DELTA_FILE_KEY_SIZE",
    "CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    "CANNOT_READ_MISSING_SNAPSHOT_FILE",
    "CANNOT_READ_SNAPSHOT_FILE_KEY_SIZE",
    "CANNOT_READ_SNAPSHOT_FILE_VALUE_SIZE",
    "CANNOT_READ_STREAMING_STATE_FILE",
    "INVALID_CHECKPOINT_LINEAGE",
    "SNAPSHOT_PARTITION_ID_NOT_FOUND",
    "UNEXPECTED_FILE_SIZE",
    "UNEXPECTED_VERSION",
)
_TELLS_OPERATORS = 4  # the major version since which Spark compares the operators with the checkpoint's
_OPERATOR_ADDED = (
    "If an operator with state (aggregation, deduplication, join) was added to the query, take it back: Spark"
    " before 4.0 looks for its state without a word about the change."
)
_MISSING = ("FileNotFoundException", "NoSuchFileException", "NoSuchKeyException")


@kind(
    "rocksdb-lock",
    Sign(
        says=r"lock hold by current process|No locks available|While lock file|RocksDB instance could not be acquired"
    ),
    Sign(says=r"could not be acquired by[^\n]{0,300}(?:thread|task)"),
    Sign(conditions=("CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR",)),
    owner=owners.STATE,
)
def rocksdb_lock(case: Case) -> Told:
    """Tell that another task holds the store."""
    return Told(
        title="A RocksDB state store is still held by another task",
        why="An earlier attempt of the task, a stopped run or another query on this checkpoint has not let go of it."
        " The state in the checkpoint is whole.",
        cures=(
            cures.after(
                "See that no other query uses this checkpoint, and wait until tasks of the stopped run have ended (or"
                " start the session anew).",
                case.facts,
            ),
        ),
    )


@kind(
    "state-schema",
    Sign(
        conditions=(
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
            "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
            "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE",
            "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
            "CANNOT_LOAD_STATE_STORE.KEY_ROW_FORMAT_VALIDATION_FAILURE",
            "CANNOT_LOAD_STATE_STORE.VALUE_ROW_FORMAT_VALIDATION_FAILURE",
            "STATE_STORE_COLUMN_FAMILY_SCHEMA_INCOMPATIBLE",
            "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION",
            "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE",
            "STATE_STORE_VALUE_SCHEMA_EVOLUTION_THRESHOLD_EXCEEDED",
            "STATE_STORE_STATE_SCHEMA_FILES_THRESHOLD_EXCEEDED",
        )
    ),
    Sign(names=("StateSchemaNotCompatible", "InvalidUnsafeRowException")),
    Sign(says=r"Provided schema doesn'?t match to the schema for existing state"),
    owner=owners.PROGRAM,
)
def state_schema(case: Case) -> Told:
    """Tell that the query changed."""
    return Told(
        title="The changed query does not fit its state",
        why="Grouping keys, aggregates, join or deduplication columns, or their types, are others than those of the"
        " state in the checkpoint.",
        cures=(cures.after("Take the change back.", case.facts), cures.new_checkpoint(case.facts)),
        link=CHANGES,
    )


@kind(
    "state-format",
    Sign(
        conditions=(
            "STATE_STORE_INVALID_CONFIG_AFTER_RESTART",
            "STATE_STORE_INVALID_PROVIDER",
            "STREAM_STREAM_JOIN_INCOMPATIBLE_STATE_STORE_CONFIGS",
            "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED",
            "STATE_STORE_PROVIDER_DOES_NOT_SUPPORT_FINE_GRAINED_STATE_REPLAY",
            "UNSUPPORTED_FEATURE.STORE_BACKEND_NOT_SUPPORTED_FOR_TWS",
            "UNSUPPORTED_FEATURE.STATE_STORE_MULTIPLE_COLUMN_FAMILIES",
        )
    ),
    owner=owners.PROGRAM,
)
def state_format(case: Case) -> Told:
    """Tell that the settings of the state store do not fit."""
    return Told(
        title="The state store's settings do not fit the query or its checkpoint",
        why="The provider of the state store or one of its settings is another one than the state was written with,"
        " or one that this operator cannot use.",
        cures=(
            cures.after("Set it as the message says, or as it was before.", case.facts),
            cures.new_checkpoint(case.facts),
        ),
        code='spark.conf.set(\n    "spark.sql.streaming.stateStore.providerClass",\n'
        '    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",\n)'
        if "NOT_SUPPORTED_FOR_TWS" in (case.cause.condition or "")
        else None,
    )


@kind(
    "state-missing",
    Sign(names=_MISSING, says=_FILE),
    Sign(says=_FILE + r"[^\n]{0,40} (?:does not|doesn'?t) exist"),
    Sign(conditions=tuple(f"CANNOT_LOAD_STATE_STORE.{why}" for why in _UNREADABLE)),
    Sign(conditions=("STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",)),
    Sign(
        conditions=(
            "STATE_STORE_UNEXPECTED_EMPTY_FILE_IN_ROCKSDB_ZIP",
            "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED",
            "STATE_STORE_BASE_CHECKPOINT_ID_MISMATCH",
        )
    ),
    Sign(says=r"Error reading (?:delta|snapshot) file|Error reading streaming state file"),
    Sign(names=("RocksDBException",), says=r"Corruption|No such file"),
    Sign(names=("FileNotFoundException", "ChecksumException", "EOFException"), owners=(owners.STATE,)),
    owner=owners.STATE,
)
def state_missing(case: Case) -> Told:
    """Tell which file of the state is missing."""
    file = case.part("file")
    batch = _batch_that_wrote(case)
    version = case.facts.sparkVersion
    unnoticed = version is None or int(version.split(".")[0]) < _TELLS_OPERATORS
    return Told(
        title="State files are missing or damaged",
        why=f"The checkpoint names a version of the state whose file{f' ({file})' if file else ''} is not there or"
        " cannot be read: deleted by a clean-up, not fully copied, or written by another state store (.zip and"
        " .changelog are RocksDB's, .delta and .snapshot the default one's). No option of the input skips it.",
        cures=(
            "If the provider of the state store was changed, set it as it was before: nothing is lost then.",
            *([_OPERATOR_ADDED] if unnoticed else []),
            cures.restore("the checkpoint directory"),
            *([cures.move_commit(case.facts, batch)] if batch is not None else []),
            cures.new_checkpoint(case.facts),
        ),
    )


def _batch_that_wrote(case: Case) -> int | None:
    """The batch that wrote the version of the missing file: batch 40 reads version 40 and writes version 41."""
    versions = (_VERSION.search(cause.message) for cause in reversed(case.chain.causes))
    version = next((int(found[1]) for found in versions if found is not None), 0)
    return version - 1 if version > 0 else None
