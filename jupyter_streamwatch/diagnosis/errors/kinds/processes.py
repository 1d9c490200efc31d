"""Processes that ended, had too little memory or did not answer."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import Told, kind

_TUNING = "https://spark.apache.org/docs/latest/tuning.html#memory-tuning"
_CONFIGURATION = "https://spark.apache.org/docs/latest/configuration.html"


@kind(
    "driver-memory",
    Sign(says=r"spark\.driver\.maxResultSize|Total size of serialized results"),
    Sign(says=r"Not enough memory to build and broadcast"),
)
def driver_memory(case: Case) -> Told:
    """Tell that the driver took more than it can hold."""
    return Told(
        title="More came to the driver than it can hold",
        why="A batch brought its rows to the driver: collect() or toPandas() in foreachBatch, or a table that is"
        " broadcast for a join.",
        cures=(
            cures.fails_again(
                "Let the executors write the rows instead of collecting them, or limit what a batch takes"
                " (maxOffsetsPerTrigger, maxFilesPerTrigger); a limit holds for batches that are not planned yet.",
                case.facts,
            ),
            (
                "Else give the driver more: spark.driver.memory and spark.driver.maxResultSize, or set"
                " spark.sql.autoBroadcastJoinThreshold to -1 where a broadcast is too large."
            ),
        ),
        link=_TUNING,
    )


@kind(
    "out-of-memory",
    Sign(names=("OutOfMemoryError", "SparkOutOfMemoryError", "MemoryError", "OutOfDirectMemoryError")),
    Sign(
        conditions=(
            "CANNOT_LOAD_STATE_STORE.HDFS_STORE_PROVIDER_OUT_OF_MEMORY",
            "CANNOT_LOAD_STATE_STORE.ROCKSDB_STORE_PROVIDER_OUT_OF_MEMORY",
            "UNABLE_TO_ACQUIRE_MEMORY",
            "AGGREGATE_OUT_OF_MEMORY",
            "POINTER_ARRAY_OUT_OF_MEMORY",
            "SPILL_OUT_OF_MEMORY",
        )
    ),
    Sign(
        says=r"Container killed by YARN for exceeding|exit (?:code|status):? ?137|exited with code 137|OOMKilled"
        r"|Cannot allocate memory|java\.lang\.OutOfMemoryError|Java heap space|GC overhead limit exceeded"
    ),
    otherwise=owners.SYSTEM,
)
def out_of_memory(case: Case) -> Told:
    """Tell where memory ended."""
    executor, state = case.chain.executor, case.owner == owners.STATE
    if executor == "driver":
        where, more = "the driver, which runs the tasks in local mode", "spark.driver.memory"
    elif executor is not None:
        where, more = f"executor {executor}", "spark.executor.memory, or spark.executor.memoryOverhead for Python"
    else:
        where, more = (
            "a process of the query",
            "spark.driver.memory or spark.executor.memory, as that process's log says",
        )
    what = "its state did not fit" if state else "a batch, its state or a function needed more than it has"
    less = "keep the state in RocksDB" if state else "limit what a batch takes, keep large state in RocksDB"
    return Told(
        title="The query ran out of memory" + (" for its state" if state else ""),
        why=f"In {where}, {what}. The checkpoint is not damaged by this.",
        cures=(
            cures.after(f"Give it more memory ({more}).", case.facts),
            f"Else {less}"
            + (
                ": spark.sql.streaming.stateStore.providerClass takes effect with a new checkpoint only, and that"
                " loses the state."
                if state
                else " (from its first start on: a checkpoint keeps its state store)."
            ),
        ),
        link=_TUNING,
    )


@kind(
    "worker-crash",
    Sign(
        names=(
            "ExecutorLostFailure",
            "FetchFailedException",
            "MetadataFetchFailedException",
            "FetchFailed",
            "ExecutorDeadException",
        )
    ),
    Sign(
        says=r"Python worker exited unexpectedly|Python worker failed to connect back|ExecutorLostFailure|Lost executor"
        r"|Slave lost|Container from a bad node|executor (?:\w+ )?exited|Executor heartbeat timed out"
        r"|FetchFailed\("
    ),
    Sign(names=("SocketTimeoutException",), says=r"Accept timed out"),
    Sign(names=("EOFException",), above=("SparkException",), at=r"python\.\w*Python\w*Runner|PythonWorkerFactory"),
    Sign(conditions=("STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE",)),
    owner=owners.SYSTEM,
)
def worker_crash(case: Case) -> Told:
    """Tell that a process died."""
    executor = case.chain.executor
    log = f"the log of executor {executor}" if executor not in (None, "driver") else "the executor's own log"
    return Told(
        title="A worker process died",
        why="A Python worker or an executor ended in the middle of a task: killed for its memory, crashed in native"
        " code, or its machine went away.",
        cures=(
            cures.restart(case.facts),
            (
                f"If it happens again, look into {log} (and the machine's, for killed processes); memory is the usual"
                " reason: spark.executor.memoryOverhead."
            ),
        ),
        link=_CONFIGURATION,
    )


@kind(
    "timeout",
    Sign(says=r"Could not execute broadcast in|Futures timed out after|spark\.sql\.broadcastTimeout"),
    Sign(names=("RpcTimeoutException",)),
    Sign(says=r"Cannot receive any reply (?:from .{0,200} )?in|This timeout is controlled by"),
    Sign(conditions=("STREAMING_PYTHON_RUNNER_INITIALIZATION_TIMEOUT_FAILURE",)),
    otherwise=owners.SPARK,
)
def timeout(case: Case) -> Told:
    """Tell what was waited for too long."""
    if case.owner.startswith("connector-"):
        other = owners.words(case.owner)
        return Told(
            title=f"{other[0].upper()}{other[1:]} did not answer in time",
            why="The service was not reached, or has more requests or readers than it serves.",
            cures=(
                cures.restart(case.facts),
                "If it happens again, check its address, its limits, and that no other reader uses the same group.",
            ),
        )
    said = case.cause.message
    if "roadcast" in said or any("Broadcast" in frame.function for frame in case.cause.frames[:30]):
        return Told(
            title="A table that is broadcast for a join was not there in time",
            why="Spark waited spark.sql.broadcastTimeout (300 s) for it: it is large, its source is slow, or no task"
            " slot was free.",
            cures=(
                cures.restart(case.facts),
                (
                    "If it happens again, join without a broadcast (spark.sql.autoBroadcastJoinThreshold to -1), or"
                    " wait longer."
                ),
            ),
            code='spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")',
            link="https://spark.apache.org/docs/latest/sql-performance-tuning.html",
        )
    return Told(
        title="A part of Spark did not answer in time",
        why="Driver and executors talk to each other, and an answer did not come: a long garbage collection, a driver"
        " or network that has too much to do, or a machine that is gone.",
        cures=(
            cures.restart(case.facts),
            (
                "If it happens again, look at garbage collection in driver and executors first; a longer"
                " spark.network.timeout only waits longer."
            ),
        ),
        link=_CONFIGURATION,
    )
