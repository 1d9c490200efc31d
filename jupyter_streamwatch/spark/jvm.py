"""From objects in Spark's JVM to Python data, in few and quick steps.

Private names of Spark and py4j are used here and in the modules beside it alone.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

_PIECE = 8_000
"""Characters fetched at a time: py4j stalls for 40 ms on a text of more than 8,192 bytes."""

_EXECUTION = "org.apache.spark.sql.execution.ui.SQLExecutionUIData"
_JOB = "org.apache.spark.status.api.v1.JobData"
_STAGE = "org.apache.spark.status.api.v1.StageData"
# What is long and not used: plans, call stacks, accumulators, and half a hundred counters of a stage.
_LEFT_OUT = {
    _EXECUTION: (
        "details errorMessage physicalPlanDescription modifiedConfigs metrics metricValues completionTimeIndex jobTags "
        "stages jobs sparkPlan queryId"
    ),
    _JOB: (
        "name jobTags killedTasksSummary completionTime numKilledTasks numCompletedIndices numActiveStages "
        "numCompletedStages numSkippedStages numFailedStages"
    ),
    _STAGE: (
        "name description details failureReason accumulatorUpdates tasks executorSummary rddIds killedTasksSummary "
        "taskMetricsDistributions executorMetricsDistributions peakExecutorMetrics speculationSummary "
        "numActiveTasks numKilledTasks numCompletedIndices schedulingPool resourceProfileId isShufflePushEnabled "
        "executorDeserializeTime executorDeserializeCpuTime executorCpuTime resultSize resultSerializationTime "
        "memoryBytesSpilled peakExecutionMemory inputBytes outputBytes outputRecords shuffleMergersCount "
        "shuffleRemoteBlocksFetched shuffleLocalBlocksFetched shuffleFetchWaitTime shuffleRemoteBytesRead "
        "shuffleRemoteBytesReadToDisk shuffleLocalBytesRead shuffleReadRecords shuffleCorruptMergedBlockChunks "
        "shuffleMergedFetchFallbackCount shuffleMergedRemoteBlocksFetched shuffleMergedLocalBlocksFetched "
        "shuffleMergedRemoteChunksFetched shuffleMergedLocalChunksFetched shuffleMergedRemoteBytesRead "
        "shuffleMergedLocalBytesRead shuffleRemoteReqsDuration shuffleMergedRemoteReqsDuration shuffleWriteBytes "
        "shuffleWriteTime shuffleWriteRecords"
    ),
}


def is_connect(spark: Any) -> bool:
    """Say whether a session, or a query or DataFrame of one, is of Spark Connect."""
    return any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(spark).__mro__)


def gateway(spark: Any) -> Any | None:
    """Return py4j's gateway to the JVM of a classic session; None for Connect, and when the session is stopped."""
    context = None if is_connect(spark) else getattr(spark, "_sc", None)
    return None if getattr(context, "_jsc", None) is None else getattr(context, "_gateway", None)


class Json:
    """Turns Java and Scala objects into dicts, lists, numbers and texts (times as epoch ms).

    One text is made in the JVM and fetched in pieces: 2 ms for a text of 13 kB, where field by field takes a
    hundred round trips. Of one thread at a time: the text is written to one buffer that is kept.
    """

    def __init__(self, gateway: Any) -> None:
        """Make a writer in the JVM behind ``gateway``; it learns each class once, so it is worth keeping."""
        self._mapper = _mapper(gateway)
        self._writer = gateway.jvm.java.io.StringWriter()
        self._buffer = self._writer.getBuffer()

    def __call__(self, thing: Any) -> Any:
        """Return ``thing`` as data; raises what py4j and Jackson raise."""
        self._buffer.setLength(0)
        self._mapper.writeValue(self._writer, thing)
        length = self._buffer.length()
        pieces = (self._buffer.substring(at, min(length, at + _PIECE)) for at in range(0, length, _PIECE))
        return json.loads("".join(pieces))


@lru_cache(maxsize=2)
def to_data(gateway: Any) -> Json:
    """Return the writer of a JVM."""
    return Json(gateway)


def field(thing: Any, name: str) -> Any:
    """Return the value of a private field; raises what py4j raises where there is none of that name."""
    found = thing.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(thing)


def execution(query: Any) -> Any:
    """Return Spark's ``StreamExecution`` of a run; the public object wraps it."""
    run = query._jsq  # noqa: SLF001 - the only way from PySpark to the run's own object
    return run.streamingQuery() if run.getClass().getSimpleName() == "StreamingQueryWrapper" else run


def sequence(items: Any) -> list[Any]:
    """Return a Scala ``Seq`` of few objects as a list of references."""
    return [items.apply(index) for index in range(items.size())]


def java_class(gateway: Any, name: str) -> Any:
    """Return the ``java.lang.Class`` of ``name``."""
    return gateway.jvm.java.lang.Class.forName(name)


def _mapper(gateway: Any) -> Any:
    """Make Jackson's JSON writer that knows Scala's classes."""
    jackson = gateway.jvm.com.fasterxml.jackson
    mapper = jackson.databind.ObjectMapper()
    mapper.registerModule(getattr(getattr(jackson.module.scala, "DefaultScalaModule$"), "MODULE$"))
    ignored = getattr(jackson.annotation, "JsonIgnoreProperties$Value")
    for name, properties in _LEFT_OUT.items():
        words = properties.split()
        array = gateway.new_array(gateway.jvm.java.lang.String, len(words))
        for index, word in enumerate(words):
            array[index] = word
        mapper.configOverride(java_class(gateway, name)).setIgnorals(ignored.forIgnoredProperties(array))
    return mapper
