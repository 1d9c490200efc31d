"""In which mode the next start runs: it decides what the logs mean, and whether rows come again behind their back.

Micro-batches log their offsets before they run, so the logs tell what comes again. Real-time mode logs them after the
batch, continuous mode after an epoch, and asynchronous progress tracking only once in a while: there, rows that no log
names may have reached the sink already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from jupyter_streamwatch.model.spark_version import NEWEST, version_of

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.known import Known

Name = Literal["micro-batch", "asynchronous", "continuous", "real-time"]

ASYNCHRONOUS = "asyncProgressTrackingEnabled"
INTERVAL = "asyncProgressTrackingCheckpointIntervalMs"
_ALONE = frozenset({"file", "files", "delta", "foreachbatch"})
"""Sinks that take plain micro-batches alone: Spark refuses the other modes for them (measured on 4.3.0)."""
_NOT_REAL_TIME = frozenset({"noop", "memory", "file", "rate", "rate-micro-batch", "socket"})
"""Sinks and sources that real-time mode refuses (measured on 4.3.0)."""
_REAL_TIME_SINCE = (4, 1)
_ASYNCHRONOUS_SINCE = (3, 4)


class Mode(NamedTuple):
    """The mode.

    Attributes:
        name: Which; None where it is not known.
        may: Those that it may be, where it is not known; else just the one.
        unstated: What would tell it: ``trigger``, ``options``.
    """

    name: Name | None
    may: frozenset[Name]
    unstated: tuple[str, ...] = ()

    @property
    def batches(self) -> bool:
        """Whether the logs tell what comes again: certainly micro-batches with their own log."""
        return self.name == "micro-batch"

    def could_be(self, name: Name) -> bool:
        """Whether it is that mode, or may be."""
        return name in self.may


def of(checkpoint: Contents, known: Known) -> Mode:
    """Tell the mode of the next start, from what is known of the query and of its checkpoint."""
    kind = None if known.trigger is None else known.trigger.kind
    if kind == "continuous":
        return _one("continuous")
    if kind == "realTime":
        return _one("real-time")
    asynchronous = None if known.options is None else known.options.get(ASYNCHRONOUS.lower(), "").lower() == "true"
    if asynchronous:
        return _one("asynchronous")
    sink = known.sink.kind.lower() if known.sink is not None else None
    keeps_state = known.stateful or bool(checkpoint.operators)
    version = version_of(known.sparkVersion) or NEWEST
    may: set[Name] = {"micro-batch"}
    if kind is None and checkpoint.continuous:
        may.add("continuous")
    if kind is None and version >= _REAL_TIME_SINCE and not {sink, *_sources(checkpoint)} & (_ALONE | _NOT_REAL_TIME):
        may.add("real-time")
    repeats = kind not in ("once", "availableNow") and version >= _ASYNCHRONOUS_SINCE
    if asynchronous is None and repeats and not keeps_state and sink not in _ALONE:
        may.add("asynchronous")
    if may == {"micro-batch"}:
        return _one("micro-batch")
    unstated = [
        *(["trigger"] if may & {"continuous", "real-time"} else []),
        *(["options"] if asynchronous is None else []),
    ]
    return Mode(None, frozenset(may), tuple(unstated))


def _sources(checkpoint: Contents) -> set[str]:
    last = checkpoint.lastOffset
    return set() if last is None else {one.kind for one in checkpoint.offsets[last].sources}


def _one(name: Name) -> Mode:
    return Mode(name, frozenset({name}))


def looks_asynchronous(checkpoint: Contents) -> bool:
    """Whether the newest entries of the logs lie as asynchronous progress tracking leaves them.

    The last planned batch is committed, and of the batch before it there is neither offsets nor commit. A file of the
    offsets that was lost has left its commit behind.
    """
    last = checkpoint.lastOffset
    if last is None or last == 0 or last != checkpoint.lastCommit or checkpoint.operators:
        return False
    return last - 1 not in checkpoint.offsets and last - 1 not in checkpoint.commits
