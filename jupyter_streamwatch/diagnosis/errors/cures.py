"""What can be done about a stopped query, cheapest first, and what each costs with this sink.

A restart repeats the batch that failed. Moving the last commit aside repeats one that was done; moving an offset file
aside plans a batch anew; a new checkpoint forgets everything. Files are moved aside, never deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_streamwatch.model.facts import Facts

# From Spark's guide and the sources of FileStreamSink, Delta's and Iceberg's sink: these remember the batch ids.
_REMEMBERS = frozenset({"files", "file", "delta", "iceberg"})
_KEEPS_NOTHING = frozenset({"console", "memory", "noop"})
_NAMES = {"files": "file sink", "file": "file sink", "delta": "Delta sink", "iceberg": "Iceberg sink"}

_OTHERS_REPLANNED = {
    "kafka": "rows that were written before come to the sink twice.",
    "foreach": "rows that were written before come to the sink twice, unless the writer checks the epoch id.",
    "foreachBatch": "its function gets the same batch id with perhaps other rows: if it checks the id, rows may be left"
    " out, else they may be written twice.",
}
_ANY_REPLANNED = "a sink that remembers batch ids (files, Delta) may leave rows out, others may get them twice."


def restart(facts: Facts) -> str:
    """Start it again."""
    return f"Start the query again: {_again(facts)}"


def after(what: str, facts: Facts) -> str:
    """Mend something, then start again."""
    return f"{what} Then start the query again: {_again(facts)}"


def fails_again(what: str, facts: Facts) -> str:
    """Mend something: a start alone meets the same rows again."""
    return (
        f"{what} A start alone does not help: the batch has the same rows and fails again. After that, {_again(facts)}"
    )


def may_fail_again(what: str, facts: Facts) -> str:
    """Mend what fails on these rows, unless its reason went away by itself."""
    return f"{what} At the next start {_again(facts)}"


def move_commit(facts: Facts, batch: int) -> str:
    """Run the last batch again from the state before it; a batch that was planned after it is planned anew."""
    return (
        f"If commits/{batch} is the newest in commits: move it and, where it is there, offsets/{batch + 1} aside"
        f" (each with"
        f" its .crc), do not delete them. Batch {batch} then runs again over the same rows from state version {batch},"
        f" which must be whole, and writes version {batch + 1} anew; batch {batch + 1} is planned anew. No state is"
        f" lost;"
        f" {_twice(facts)}"
    )


def move_offset(facts: Facts, batch: int | None) -> str:
    """Plan the last batch anew."""
    name = "the newest file in offsets" if batch is None else f"offsets/{batch}"
    ran = "that batch" if batch is None else f"batch {batch}"
    return (
        f"Move {name} (and its .crc) aside, do not delete it: {ran} is planned anew, perhaps over another range;"
        f" {replanned(facts)}"
    )


def restore(what: str = "the checkpoint") -> str:
    """Put back what is missing."""
    return f"Restore {what} whole from a copy, versions of files included, if there is one: nothing is lost then."


def new_checkpoint(facts: Facts) -> str:
    """Begin anew; the last resort."""
    state = (
        "" if facts.stateful == () else "the state is lost" if facts.stateful else "its state, if it has any, is lost"
    )
    parts = [state, "the source is read from where its options say, not from where the query was"]
    if facts.sinkKind not in _KEEPS_NOTHING:
        parts.append("rows may come to the sink twice, or be left out")
    return f"Only as the last resort give it a new checkpoint (keep the old one): {', '.join(filter(None, parts))}."


def _again(facts: Facts) -> str:
    if facts.temporaryCheckpoint:
        return "it has no checkpoint of its own, so it begins anew; give it a checkpointLocation to go on from a place."
    return f"the batch that failed runs again over the same rows; {_twice(facts)}"


def _twice(facts: Facts) -> str:
    kind = facts.sinkKind
    if kind in _REMEMBERS:
        return f"the {_NAMES[kind]} knows the batches that it has, so no row comes twice."
    if kind == "foreachBatch":
        return "what its function had written before it failed is written twice, unless it checks the batch id."
    if kind in ("kafka", "foreach"):
        return "rows that it had written before it failed come to the sink twice."
    if kind in _KEEPS_NOTHING:
        return f"the {kind} sink keeps nothing that could come twice."
    return "a sink that remembers batch ids (files, Delta) gets no row twice, others may."


def replanned(facts: Facts) -> str:
    """What a batch that is planned anew does to the sink."""
    kind = facts.sinkKind
    if kind in _REMEMBERS:
        return (
            f"if the {_NAMES[kind]} has that batch already, it skips it, and rows that are new in it are left out:"
            " look there first."
        )
    if kind in _KEEPS_NOTHING:
        return f"the {kind} sink keeps nothing that could be wrong then."
    return _OTHERS_REPLANNED.get(kind or "", _ANY_REPLANNED)
