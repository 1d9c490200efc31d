"""The program itself: it ended, its session was stopped, or someone interrupted the query."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import Told, kind


@kind(
    "session-stopped",
    Sign(
        says=r"SparkContext (?:was|has been|is) (?:shut ?down|stopped)|on a stopped SparkContext|stopped SparkSession"
        r"|RpcEnv (?:already|has been) stopped|Could not find CoarseGrainedScheduler|LiveListenerBus is stopped"
        r"|Answer from Java side is empty|Error while sending or receiving"
        r"|SparkContext\.(?:dagScheduler|taskScheduler|schedulerBackend)\(\)\" is null"
    ),
    Sign(names=("Py4JNetworkError",)),
    Sign(conditions=("INVALID_HANDLE.SESSION_CLOSED", "INVALID_HANDLE.SESSION_NOT_FOUND")),
    Sign(names=("RejectedExecutionException",), says=r"rejected from .{0,200}(?:Shutting down|Terminated)"),
    Sign(says=r"Shutdown hooks cannot be modified|Shutdown in progress"),
    owner="program",
)
def session_stopped(case: Case) -> Told:
    """Tell that the session ended."""
    return Told(
        title="The Spark session ended while the query ran",
        why="The session was stopped or the program around it ended: spark.stop(), a kernel that was restarted, the"
        " end of a script or of a job. This error does not speak against the query.",
        cures=(
            cures.restart(case.facts),
            (
                "A script waits with query.awaitTermination() before it ends. If nobody ended it, the end of the"
                " driver's own log says why its process went away."
            ),
        ),
    )


@kind(
    "interrupted",
    Sign(names=("InterruptedException", "ClosedByInterruptException", "InterruptedIOException", "KeyboardInterrupt")),
    Sign(names=("UncheckedIOException", "AbortedException"), says=r"[Ii]nterrupt"),
    Sign(conditions=("OPERATION_CANCELED", "SPARK_JOB_CANCELLED")),
    Sign(says=r"Job \d+ cancelled|part of cancelled job group|TaskKilled \(|Stage cancelled"),
    owner="program",
)
def interrupted(case: Case) -> Told:
    """Tell that someone stopped it."""
    return Told(
        title="The query was interrupted: someone or something stopped it",
        why="Its thread was interrupted or its job cancelled: by query.stop(), a cancelled cell or job, a click in"
        " Spark's UI, or a program that ended. This error does not speak against the query.",
        cures=(cures.restart(case.facts),),
    )
