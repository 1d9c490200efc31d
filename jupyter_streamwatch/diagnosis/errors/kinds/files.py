"""Files that are gone, broken or in the way, and services that do not answer: what no kind before knows better."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import GUIDE, Told, kind

_INPUT = GUIDE + "apis-on-dataframes-and-datasets.html#input-sources"


@kind(
    "path-exists",
    Sign(conditions=("PATH_ALREADY_EXISTS",)),
    Sign(names=("FileAlreadyExistsException",)),
    owner=owners.STORAGE,
)
def path_exists(case: Case) -> Told:
    """Tell that something is there already."""
    return Told(
        title="A file or folder that was to be written is there already",
        why="An attempt before wrote it, or two writers have the same target.",
        cures=(
            cures.restart(case.facts),
            (
                "If it fails again and a function writes it: give each batch a folder of its own, written with"
                ' mode("overwrite"),'
                " so that a batch that runs again replaces what it wrote."
            ),
        ),
    )


@kind(
    "file-for-folder",
    Sign(names=("ParentNotDirectoryException", "NotDirectoryException", "PathIsNotDirectoryException")),
    owner=owners.STORAGE,
)
def file_for_folder(case: Case) -> Told:
    """Tell that a file stands where a folder is needed."""
    return Told(
        title="A file stands where a folder is needed",
        why="The path that the message names is a file; the query's output, its checkpoint or a folder above them needs"
        " to be there.",
        cures=(cures.after("Give another path, or move that file away.", case.facts),),
    )


@kind(
    "file-unreadable",
    Sign(
        conditions=(
            "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER",
            "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            "CANNOT_READ_FILE_FOOTER",
        )
    ),
    Sign(
        says=r"is not a Parquet file|not a valid ORC|Could not read footer|Parquet column cannot be converted"
        r"|Not an Avro data file"
        r"|Can not read value at \d+ in block|Unexpected end of ZLIB|not in GZIP format"
    ),
    owner=owners.STORAGE,
)
def file_unreadable(case: Case) -> Told:
    """Tell that an input file is broken."""
    return Told(
        title="An input file cannot be read",
        why="It is cut off, empty, still being written, of another format, or has other column types than the query's"
        " schema.",
        cures=(
            cures.fails_again(
                "Replace the file that the message names by a whole one of the right types; write files elsewhere and"
                " move them in when they are whole.",
                case.facts,
            ),
            "Or go on without such files: their rows are skipped without a word.",
        ),
        code='spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")  # rows of broken files are skipped',
        link=_INPUT,
    )


@kind(
    "file-missing",
    Sign(conditions=("PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST")),
    Sign(
        names=("FileNotFoundException", "NoSuchFileException", "NoSuchKeyException", "SparkFileNotFoundException"),
        owners=(owners.STORAGE, owners.SPARK, owners.UNKNOWN),
    ),
    owner=owners.STORAGE,
)
def file_missing(case: Case) -> Told:
    """Tell that an input file is gone, unless the text shows that it is another one."""
    listed = "the underlying files have been updated" in case.cause.message
    reads = (
        case.cause.condition is not None
        or listed
        or any(
            "FileScanRDD" in frame.function or "FilePartitionReader" in frame.function
            for cause in case.chain.causes
            for frame in cause.frames
        )
    )
    if not reads:
        return Told(
            title="A file was gone when it was wanted",
            why="The last cause names it; whether it is the input's, the output's or the checkpoint's its path tells.",
            cures=(
                cures.restart(case.facts),
                "If it fails again, bring the file back from a copy, and see that nothing else cleans up there.",
            ),
        )
    return Told(
        title="A file was gone when it was to be read",
        why="Something deleted or moved it after the query had listed it.",
        cures=(
            cures.fails_again(
                "Bring the file back; let nothing but the query touch the input directory, and move files in whole.",
                case.facts,
            ),
            "Or go on without it: its rows are skipped, those of files that are lost later, too.",
        ),
        code='spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")  # rows of missing files are skipped',
        link=_INPUT,
    )


@kind(
    "not-reached",
    Sign(
        names=(
            "UnknownHostException",
            "ConnectException",
            "NoRouteToHostException",
            "SocketTimeoutException",
            "ConnectTimeoutException",
            "ConnectionRefusedError",
            "ConnectTimeout",
            "HttpHostConnectException",
            "CommunicationsException",
            "NoNodeAvailableException",
            "AllNodesFailedException",
            "MongoTimeoutException",
            "ConnectionClosedException",
            "SQLTransientConnectionException",
            "SocketException",
            "ConnectionResetError",
            "TimeoutError",
            "gaierror",
        )
    ),
    Sign(
        says=r"Connection refused|Connection timed out|Connection reset|Name or service not known"
        r"|Temporary failure in name resolution"
    ),
)
def not_reached(case: Case) -> Told:
    """Tell that something at the other end did not answer."""
    own = case.owner.startswith("user-")
    known = case.owner not in (owners.UNKNOWN, owners.SPARK, owners.STATE)
    what = "a service that your code calls" if own else owners.words(case.owner) if known else "a service or machine"
    return Told(
        title=f"{what[0].upper()}{what[1:]} was not reached",
        why="The address did not answer, is not known here, or the connection broke off.",
        cures=(
            cures.restart(case.facts),
            "If it fails again, check address, port and network from the machine where it failed: driver and executors"
            " may see different networks."
            + (" A function that calls a service tries again itself before it gives up." if own else ""),
        ),
    )
