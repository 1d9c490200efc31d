"""What is known of a query beside its progress: facts of its latest run, the running batch, Spark's own status."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from jupyter_streamwatch.text.outside import brief

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_streamwatch.model.query_shape import Shape
    from jupyter_streamwatch.model.trigger import Trigger

Mode: TypeAlias = Literal["classic", "connect"]


@dataclass(frozen=True, repr=False)
class Facts:
    """What was learned of a query's latest run; None is unknown.

    Attributes:
        mode: How the session reaches Spark.
        sparkVersion: Spark's version.
        trigger: The trigger as Spark says.
        outputMode: ``append``, ``update`` or ``complete``.
        sink: The sink as a person would name it.
        sinkKind: The kind of sink in one word.
        checkpoint: The root of the checkpoint.
        temporaryCheckpoint: Whether Spark made the checkpoint itself and deletes it.
        sources: The sources as a person would name them.
        watermarks: Column and delay (ms) of each declared watermark.
        stateful: Names of the stateful operators.
        shufflePartitions: Shuffle partitions that the run uses.
        sessionPartitions: Shuffle partitions that its session asks for; a checkpoint keeps those of its first run.
        pythonUdf: Whether the plan calls Python.
        foreachBatch: Whether a ``foreachBatch`` function writes the result.
        rateLimit: Options of the sources that limit a batch, as (name, value).
        lenient: Options of the sources, and settings of the session, that let rows go by without an error, as (name,
            value): ``failOnDataLoss`` and ``ignoreMissingFiles``.
        shape: What the query is, for a later comparison with another one on the same checkpoint.
        overruns: Batches of which a log says that they took longer than the interval, in order, as (ms at which it
            says so, on the log's own clock; interval in ms; batch time in ms).
        why: Name of an attribute -> the reason, in one line, why it is unknown.
    """

    mode: Mode | None = None
    sparkVersion: str | None = None
    trigger: Trigger | None = None
    outputMode: str | None = None
    sink: str | None = None
    sinkKind: str | None = None
    checkpoint: str | None = None
    temporaryCheckpoint: bool | None = None
    sources: tuple[str, ...] = ()
    watermarks: tuple[tuple[str, float], ...] | None = None
    stateful: tuple[str, ...] | None = None
    shufflePartitions: int | None = None
    sessionPartitions: int | None = None
    pythonUdf: bool | None = None
    foreachBatch: bool | None = None
    rateLimit: tuple[tuple[str, str], ...] | None = None
    lenient: tuple[tuple[str, str], ...] | None = None
    shape: Shape | None = None
    overruns: tuple[tuple[float | None, float, float], ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)

    __repr__ = brief

    @property
    def answered(self) -> bool:
        """Whether Spark said anything of the run at all; a busy or stopped one may not answer in time."""
        return any(fact is not None for fact in (self.sparkVersion, self.trigger, self.outputMode, self.sink))


@dataclass(frozen=True, repr=False)
class RunningBatch:
    """A batch that runs now, as last looked at; counts are None when unknown.

    Attributes:
        runId: The run it belongs to.
        batchId: Its id.
        started: Epoch ms of its start.
        jobs: Spark jobs so far.
        tasksTotal: Tasks of the stages known so far.
        tasksDone: Tasks that have finished.
        tasksRunning: Tasks that run now.
        tasksFailed: Attempts that failed.
        seen: Epoch ms of the look.
        lastTaskEnd: Epoch ms when the number of finished tasks was last seen to change.
    """

    runId: str
    batchId: int | None = None
    started: float | None = None
    jobs: int | None = None
    tasksTotal: int | None = None
    tasksDone: int | None = None
    tasksRunning: int | None = None
    tasksFailed: int | None = None
    seen: float = 0.0
    lastTaskEnd: float | None = None

    __repr__ = brief


@dataclass(frozen=True, repr=False)
class Status:
    """Spark's ``status`` of a query as last asked; ``seen`` is the epoch ms of the asking."""

    message: str
    isDataAvailable: bool | None = None
    isTriggerActive: bool | None = None
    seen: float = 0.0

    __repr__ = brief
