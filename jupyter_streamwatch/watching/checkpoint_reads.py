"""When the checkpoints of watched queries are read, and how little of them.

Once after a run's first batch, at its end, and every half a minute while somebody looks and batches go on. Only the
newest entries of the logs are read. Sizes are added up for a bounded time, and the state's files are looked into when
the run is over and they are few.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.checkpoints import card
from jupyter_streamwatch.checkpoints.facade import Checkpoint
from jupyter_streamwatch.checkpoints.known import sink_of
from jupyter_streamwatch.checkpoints.storage.files import LOGS, PARTS, Local, reason
from jupyter_streamwatch.checkpoints.storage.opening import storage_of
from jupyter_streamwatch.model import checkpoint_card
from jupyter_streamwatch.spark.bounded import ask
from jupyter_streamwatch.spark.plans.sinks import PINNED, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_streamwatch.checkpoints.parts import KnownSink
    from jupyter_streamwatch.checkpoints.storage.files import Storage
    from jupyter_streamwatch.model.checkpoint_card import Card
    from jupyter_streamwatch.model.history import History

AGAIN = 30.0  # seconds between two readings while somebody looks
SIZE_AGAIN = 300.0  # seconds between two sums of sizes
SIZE_SECONDS = 0.03  # of the processor that adding up sizes may take; beyond it the size is unknown
WAIT = 3.0  # seconds that a storage has to answer

_SILENT = "The storage of the checkpoint did not answer in time."


class Cards:
    """Reads the checkpoints of one session's queries, on the thread that asks Spark."""

    def __init__(
        self,
        spark: Any,
        *,
        soon: Callable[[Callable[[], None]], None],
        history: Callable[[str], History | None],
        learned: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Put jobs with ``soon``; ``learned`` gets each card as a line of a recording."""
        self._spark = spark
        self._soon = soon
        self._history = history
        self._learned = learned
        self._first: dict[str, int] = {}  # runId -> first batch that it had to do
        self._asked: dict[str, dict[str, str]] = {}  # runId -> settings that its session had when it started
        self._read_at: dict[str, float] = {}  # id -> when its card was made, monotonic
        self._sized_at: dict[str, float] = {}
        self._seen: dict[str, int] = {}  # id -> batches seen by then
        self._ends = 0  # runs whose end is still to be read
        self._read_ends = threading.Condition()

    def start(self, runId: str) -> None:
        """Ask for the settings of the session that a run starts with: those that a checkpoint may overrule."""
        self._soon(lambda: self._ask_settings(runId))

    def batch(self, id: str, runId: str, batchId: int | None) -> None:
        """Note a batch of a run: after the first one the checkpoint is read."""
        if runId not in self._first and batchId is not None:
            self._first[runId] = batchId
            self._soon(lambda: self._read(id, runId))

    def end(self, id: str, runId: str) -> None:
        """Read the checkpoint of a run that has ended."""
        with self._read_ends:
            self._ends += 1
        self._soon(lambda: self._end(id, runId))

    def look(self, history: History) -> None:
        """Somebody looks at an active query: read its checkpoint again when that is due and there is news."""
        read = self._read_at.get(history.id)
        if read is not None and (time.monotonic() - read < AGAIN or self._seen.get(history.id) == history.seen):
            return
        self._read(history.id, history.runs[-1].runId)

    def wait(self, seconds: float) -> None:
        """Wait until the runs that have ended are read."""
        with self._read_ends:
            self._read_ends.wait_for(lambda: not self._ends, seconds)

    def _end(self, id: str, runId: str) -> None:
        try:
            self._read(id, runId, over=True)
        finally:
            with self._read_ends:
                self._ends -= 1
                self._read_ends.notify_all()
            self._first.pop(runId, None)
            self._asked.pop(runId, None)

    def _read(self, id: str, runId: str, *, over: bool = False) -> None:
        history = self._history(id)
        if history is None or not history.runs or history.runs[-1].runId != runId:
            return
        now = time.monotonic()
        self._read_at[id], self._seen[id] = now, history.seen
        sized = over or now - self._sized_at.get(id, -SIZE_AGAIN) >= SIZE_AGAIN
        if sized:
            self._sized_at[id] = now
        facts, at = history.facts, time.time() * 1000
        if facts.checkpoint is None or facts.temporaryCheckpoint:
            made = card.unread(facts, at)
        else:
            silent = card.unread(facts, at, _SILENT)
            # Asked for this object's sake, not the session's: a folder of this machine outlives the session.
            made = ask(self, lambda: self._made(history, runId, over=over, sized=sized), silent, seconds=WAIT)
        known = checkpoint_card.again(replace(made, runId=runId), history.checkpoint)
        history.set_checkpoint(known)
        self._learned({"event": "checkpoint", "id": id, "runId": runId, "checkpoint": known})

    def _made(self, history: History, runId: str, *, over: bool, sized: bool) -> Card:
        """Read; on the thread that may hang."""
        facts, at = history.facts, time.time() * 1000
        try:
            storage = storage_of(facts.checkpoint or "", self._spark)
            bytes = size(storage) if sized else None
            # The state is looked into when the run is over, and when that is quickly done.
            found = open_logs(storage, self._spark, sink_of(facts, history.name), state=over and bytes is not None)
            first = self._first.get(runId)
            return card.of(
                facts,
                at,
                last=None if found.lastOffset is None else found.offsets[found.lastOffset],
                lastCommit=found.lastCommit,
                plan=found.restart(against=history),
                bytes=bytes,
                first=None if first is None else found.offsets.get(first),
                session=self._asked.get(runId),
                problems=found.problems,
            )
        except Exception as error:
            return card.unread(facts, at, f"It cannot be read: {reason(error)}.")

    def _ask_settings(self, runId: str) -> None:
        nothing: dict[str, str] = {}
        self._asked[runId] = ask(self._spark, lambda: dict(settings(self._spark.conf, PINNED)), nothing, seconds=WAIT)


def open_logs(storage: Storage, spark: Any, sink: KnownSink | None, *, state: bool) -> Checkpoint:
    """Open a checkpoint, with or without its state.

    Raises:
        OSError: when there is no such folder, or it cannot be listed.
    """
    for _ in storage.list(""):  # a folder that is gone says so here; read to its end, the listing is closed
        pass
    return Checkpoint(storage, spark=spark, sink=sink, parts=PARTS if state else LOGS)


def size(storage: Any, seconds: float = SIZE_SECONDS) -> int | None:
    """Add up the files of a checkpoint on this machine, checksums left out.

    Returns:
        Bytes; None when that takes more than so many ``seconds`` of the processor, or when the files are elsewhere.
    """
    if not isinstance(storage, Local):
        return None
    until = time.thread_time() + seconds
    total = 0
    folders = [str(storage.path)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for number, entry in enumerate(entries):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif not entry.name.endswith(".crc"):
                        total += entry.stat(follow_symlinks=False).st_size
                    if number % 100 == 99 and time.thread_time() > until:
                        return None
        except OSError:
            continue  # gone since it was listed
        if time.thread_time() > until:
            return None
    return total
