"""Storage that is full, refuses, or asks for fewer requests."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import Told, kind


@kind(
    "disk-full",
    Sign(
        says=r"No space left on device|[Dd]isk quota exceeded|not enough space on the disk|DiskSpace quota"
        r"|Could not find any valid local directory|No space available in any of the local directories"
    ),
    Sign(names=("DSQuotaExceededException", "DiskErrorException", "NSQuotaExceededException")),
    owner=owners.SYSTEM,
)
def disk_full(case: Case) -> Told:
    """Tell whose disk is full."""
    executor = case.chain.executor
    where = "the driver's machine" if executor == "driver" else f"the machine of executor {executor}"
    where = "the machine that wrote" if executor is None else where
    hdfs = ("uota" in case.cause.message and "HDFS" in case.cause.message.upper()) or "DSQuota" in case.cause.simple
    return Told(
        title="A disk is full (no space left)" if not hdfs else "The storage quota is used up",
        why=f"The write failed on {where}: its local disk (spark.local.dir, the RocksDB folder) or the file system"
        " that is written to has no free space.",
        cures=(cures.after("Make free space, or let spark.local.dir point to a larger disk.", case.facts),),
        link="https://spark.apache.org/docs/latest/configuration.html#application-properties",
    )


@kind(
    "authorisation",
    Sign(
        names=(
            "AccessControlException",
            "AccessDeniedException",
            "TopicAuthorizationException",
            "GroupAuthorizationException",
            "ClusterAuthorizationException",
            "AuthorizationException",
            "AuthenticationException",
            "UnauthorizedException",
            "ForbiddenException",
            "TransactionalIdAuthorizationException",
        )
    ),
    Sign(
        names=(
            "FileNotFoundException",
            "IOException",
            "AmazonS3Exception",
            "S3Exception",
            "AbfsRestOperationException",
            "RemoteException",
            "GoogleJsonResponseException",
            "StorageException",
            "HttpResponseException",
            "NoAuthWithAWSException",
            "SdkClientException",
        ),
        says=r"Permission denied|[Aa]ccess ?[Dd]enied|403 Forbidden|Status Code: 403|status code 403|Forbidden"
        r"|Operation not permitted|Read-only file system"
        r"|ExpiredToken|InvalidAccessKeyId|SignatureDoesNotMatch|Unable to load (?:AWS )?credentials"
        r"|No AWS Credentials|not authorized to perform",
    ),
    Sign(conditions=("INSUFFICIENT_PERMISSION", "INSUFFICIENT_PERMISSIONS", "INSUFFICIENT_PERMISSIONS_EXT_LOC")),
    Sign(
        says=r"Permission denied: user=|ExpiredToken|TOPIC_AUTHORIZATION_FAILED"
        r"|security token included in the request"
    ),
    otherwise=owners.STORAGE,
)
def authorisation(case: Case) -> Told:
    """Tell that access was refused."""
    kafka = case.owner == "connector-kafka"
    what = (
        "the topic, the consumer group (it begins with spark-kafka-source, or with groupIdPrefix) or the cluster"
        if kafka
        else "a path or service"
    )
    return Told(
        title="Access was refused",
        why=f"The user or the credentials that Spark runs with have no right (any more) to {what}; the last cause"
        " names it. Nothing is damaged.",
        cures=(cures.after("Give the right (for a checkpoint: to write), or renew the credentials.", case.facts),),
    )


@kind(
    "throttled",
    Sign(
        names=(
            "ProvisionedThroughputExceededException",
            "ServerBusyException",
            "ThrottlingException",
            "LimitExceededException",
            "AWSServiceThrottledException",
            "RequestLimitExceededException",
        ),
    ),
    Sign(
        says=r"Slow ?Down\b|[Pp]lease reduce your request rate|Status Code: 503|\b503 Slow"
        r"|[Rr]ate ?[Ll]imit ?[Ee]xceeded|quotaExceeded"
        r"|ServerBusy|Too Many Requests|ThrottlingException|Operations per second is over|exceeded rate limits",
    ),
    otherwise=owners.STORAGE,
)
def throttled(case: Case) -> Told:
    """Tell that a service wants fewer requests."""
    return Told(
        title="The storage or service asks for fewer requests",
        why="It refused a request because there were too many. Nothing is damaged.",
        cures=(
            cures.restart(case.facts),
            (
                "If it happens again, ask less: a longer trigger interval, fewer and larger files, fewer shuffle"
                " partitions (state files; fixed by the checkpoint), or the checkpoint in another bucket or prefix."
            ),
        ),
    )


@kind(
    "storage-unavailable",
    Sign(names=("SafeModeException", "StandbyException", "NoShardAvailableActionException", "RetriableException")),
    Sign(
        says=r"could only be (?:written|replicated) to \d+ (?:of the|nodes)|[Nn]ame node is in safe mode"
        r"|All datanodes .{0,200}are bad"
        r"|Unable to close file because the last block|Could not obtain block|Filesystem closed"
    ),
    owner=owners.STORAGE,
)
def storage_unavailable(case: Case) -> Told:
    """Tell that HDFS could not serve."""
    closed = "Filesystem closed" in case.cause.message
    return Told(
        title="The file system could not be used" + (": something closed it" if closed else ""),
        why="Code in the same process closed the shared file system object (FileSystem.close)."
        if closed
        else "HDFS had no data node or name node that could serve the request: full, down, or in safe mode.",
        cures=(cures.after("Take that call away." if closed else "Look at HDFS (hdfs dfsadmin -report).", case.facts),),
    )


@kind(
    "rename-failed",
    Sign(
        conditions=(
            "FAILED_RENAME_PATH",
            "RENAME_SRC_PATH_NOT_FOUND",
            "FAILED_RENAME_TEMP_FILE",
        )
    ),
    Sign(
        says=r"rename .{1,800}(?:failed|fail\b)|[Ff]ailed to rename|Rename from .{1,600} failed|Error renaming"
        r"|Could not rename"
    ),
    owner=owners.STORAGE,
)
def rename_failed(case: Case) -> Told:
    """Tell that a file got no final name."""
    return Told(
        title="A file could not be given its final name",
        why="Spark writes to a temporary file and renames it, and the file system refused: something removed or"
        " locked the file, its right is missing, or a storage without a real rename is used as if it had one.",
        cures=(
            cures.restart(case.facts),
            (
                "If it happens again, see that nothing else cleans or scans the folder (on Windows a virus scanner),"
                " that no second query uses the checkpoint, and that an object store is reached by its own connector"
                " (s3a, abfss, gs)."
            ),
        ),
    )
