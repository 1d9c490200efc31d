"""Two runs on one checkpoint."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import Told, kind


@kind(
    "concurrent-run",
    Sign(conditions=("CONCURRENT_STREAM_LOG_UPDATE", "CONCURRENT_QUERY", "DELTA_CONCURRENT_TRANSACTION")),
    Sign(names=("ConcurrentTransactionException",)),
    Sign(
        says=r"Multiple streaming (?:queries|jobs) (?:are concurrently using|detected)"
        r"|Concurrent update to the (?:\w+ )?log|Cannot start query with id \S+ as another query"
        r"|multiple streaming queries are using the same checkpoint|same streaming query is already active"
    ),
    Sign(says=r"/(?:offsets|commits)/\d+\b[^\n]{0,60}\bexists"),
    Sign(names=("ConcurrentModificationException",), says=r"offset|commit|checkpoint|log"),
    owner=owners.PROGRAM,
)
def concurrent_run(case: Case) -> Told:
    """Tell that two runs share a checkpoint."""
    committing = any("markMicroBatchEnd" in frame.function for frame in case.cause.frames)
    return Told(
        title="Another query runs on the same checkpoint",
        why="Two runs wrote to one checkpoint, also from another session, notebook or cluster; one of them is stopped"
        " so that neither loses its place.",
        cures=(
            "See that only one of them runs; if the other one goes on, nothing needs to be done here.",
            cures.after("Else stop the other one first.", case.facts),
            "A second query over the same source needs a checkpoint of its own.",
            *([_commits_ahead(case)] if committing else []),
        ),
        code="for q in spark.streams.active:\n    print(q.id, q.name)  # q.stop() for the one that is not needed",
    )


def _commits_ahead(case: Case) -> str:
    """What looks the same to Spark: a batch that it runs again is committed, since its newest offsets are gone."""
    return (
        "If no other run there is, look whether commits has a newer number than offsets: then the newest offsets were"
        " removed or not copied. Restore them, or move what is newer in commits aside (do not delete it): those batches"
        f" are planned anew, perhaps over another range; {cures.replanned(case.facts)}"
    )
