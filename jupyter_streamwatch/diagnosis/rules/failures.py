"""Rules about queries that failed or run twice."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.model.error_line import error_line
from jupyter_streamwatch.text.numbers import middle

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.history import HistoryView

RECOVERY = API + "#recovering-from-failures-with-checkpointing"
CHANGES = API + "#recovery-semantics-after-changes-in-a-streaming-query"
NEW_CHECKPOINT = " A new checkpoint loses the state, reads the source from its beginning and may write rows twice."


class Kind(NamedTuple):
    """A usual way to fail: how its text shows, what happened, what to do."""

    name: str
    pattern: re.Pattern[str]
    title: str
    cause: str
    fix: str
    code: str | None = None
    link: str = RECOVERY


def _kind(name: str, pattern: str, title: str, cause: str, fix: str, **more: str) -> Kind:
    return Kind(name, re.compile(pattern, re.IGNORECASE), title, cause, fix, **more)


# The most telling first: a crashed worker also names the user's function, a lost file also says "job aborted".
KINDS = (
    _kind(
        "python-environment",
        r"ModuleNotFoundError|ImportError: |PYTHON_VERSION_MISMATCH|Python in worker has different version",
        "The workers' Python lacks a module or is another one",
        "The function runs in Python workers, and their Python is not the notebook's.",
        "Let the workers use the notebook's Python (before the session starts), or install the module where they run.",
        code='import os, sys\nos.environ["PYSPARK_PYTHON"] = sys.executable  # before the session starts',
        link="https://spark.apache.org/docs/latest/api/python/tutorial/python_packaging.html",
    ),
    _kind(
        "out-of-memory",
        r"OutOfMemoryError|\bOOM\b|Container killed by YARN for exceeding|exit code:? 137|Cannot allocate memory"
        r"|MemoryError",
        "The query ran out of memory",
        "A batch, its state or a function needed more memory than the executor or the driver has.",
        "Limit what a batch takes, keep state in RocksDB, do not collect on the driver; else give it more memory.",
        link="https://spark.apache.org/docs/latest/tuning.html#memory-tuning",
    ),
    _kind(
        "worker-crash",
        r"Python worker exited unexpectedly|EOFException.*python|PYTHON_WORKER|ExecutorLostFailure|Lost executor|"
        r"SparkContext (has been|was) shut ?down",
        "A worker process died",
        "A Python worker or an executor ended in the middle of a task: killed for its memory, crashed in native"
        " code, or"
        " its machine went away.",
        "Look into that executor's own log. Starting the query again repeats the batch from its checkpoint.",
    ),
    _kind(
        "concurrent-run",
        r"CONCURRENT_(?:STREAM|QUERY)|Concurrent update to the (?:commit )?log|Multiple streaming jobs detected|"
        r"ConcurrentModificationException: .*(?:offset|commit|checkpoint|log)"
        r"|Cannot start query with id .* as another query",
        "Another query runs on the same checkpoint",
        "Two runs wrote to one checkpoint; Spark stops one of them so that neither loses its place.",
        "Stop the other run first. Every query needs a checkpoint of its own.",
        code="for q in spark.streams.active:\n    print(q.id, q.name)  # q.stop() for the one that is not needed",
    ),
    _kind(
        "state-schema",
        r"STATE_STORE_\w*SCHEMA|StateSchemaNotCompatible|STREAM_STATE_SCHEMA"
        r"|Provided schema doesn'?t match to the schema for"
        r" existing state|STATE_STORE_(?:KEY|VALUE)\w*",
        "The changed query does not fit its state",
        "Grouping keys, aggregates or join and deduplication columns changed, and the state in the checkpoint has"
        " the old ones.",
        "Take the change back, or start with a new checkpoint." + NEW_CHECKPOINT,
        link=CHANGES,
    ),
    _kind(
        "state-missing",
        r"CANNOT_LOAD_STATE_STORE|Error reading (?:delta|snapshot) file|Error reading streaming state file|"
        r"state/\d+/\d+/\S+ does not exist|FAILED_TO_LOAD_STATE",
        "State files are missing or damaged",
        "The checkpoint names a version of the state whose files are not there: deleted by a clean-up, or not"
        " fully copied.",
        "Restore the checkpoint directory whole, or start with a new one." + NEW_CHECKPOINT,
    ),
    _kind(
        "data-loss",
        r"failOnDataLoss|KAFKA_DATA_LOSS|data may have been lost|OffsetOutOfRange|some data may have been missed|"
        r"Partition .* offset was changed from",
        "Rows that the query wanted are gone at the source",
        "The source deleted them (retention, a topic made again) before they were read.",
        "Find out how much is missing; then go on without it. A longer retention, or a query that keeps up,"
        " prevents it.",
        code='.option("failOnDataLoss", "false")  # the missing rows are skipped',
        link=GUIDE + "structured-streaming-kafka-integration.html",
    ),
    _kind(
        "connector-defect",  # SPARK-55271, SPARK-57438
        r'Cannot invoke "scala\.collection\.IterableOps\.map\(scala\.Function1\)" because the return value of'
        r' "scala\.Option\.get\(\)" is null',
        "A defect of Spark 4.1's Kafka connector ended the query after it had repeated a batch",
        "After a batch that a restart repeats, that connector fails while it reports how far the topic is ahead; the"
        " batch itself was done.",
        "Start the query again, or update Spark and its Kafka connector to 4.2.",
        link=GUIDE + "structured-streaming-kafka-integration.html",
    ),
    _kind(
        "topic-missing",
        r"UnknownTopicOrPartitionException|UNKNOWN_TOPIC_OR_PARTITION",
        "The topic is not there",
        "Kafka knows no topic of that name (any more): it was deleted, or the name or the cluster is another one.",
        "Look for the topic on the brokers. If it is made again, its offsets begin anew: rows that were not read are"
        " lost, and the query needs a new checkpoint, which loses its state and may write rows to the sink again.",
        link=GUIDE + "structured-streaming-kafka-integration.html",
    ),
    _kind(
        "checkpoint-changed",
        r"offsets? (?:file|log).*(?:missing|not found)|batch \d+ doesn'?t exist"
        r"|There are \[\d+\] sources in the checkpoint"
        r"|INCOMPATIBLE_CHECKPOINT|Detected incompatible|assertion failed.*checkpoint|MALFORMED_LOG_FILE"
        r"|Log file was malformed",
        "The query does not fit its checkpoint",
        "The number or kind of its sources changed, or files of the checkpoint are missing or damaged.",
        "Take the change back, restore the checkpoint whole, or start with a new one." + NEW_CHECKPOINT,
        link=CHANGES,
    ),
    _kind(
        "file-missing",
        r"FileNotFoundException|PATH_NOT_FOUND|FAILED_READ_FILE|NoSuchFileException|FILE_NOT_EXIST",
        "A file was gone when it was to be read",
        "Something deleted or moved a file after the query had listed it.",
        "Let nothing but the query touch the input directory, move files in whole; ignoreMissingFiles goes on"
        " without them.",
        code='spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")  # their rows are skipped',
        link=API + "#input-sources",
    ),
    _kind(
        "authorisation",
        r"AccessControlException|AccessDenied|403 Forbidden|Permission denied|TopicAuthorizationException"
        r"|AuthenticationException|"
        r"ExpiredToken|Unauthorized|INSUFFICIENT_PERMISSION",
        "Access was refused",
        "The source, the sink or the checkpoint refused the query's credentials, or they ran out.",
        "Renew the credentials or the permission, then start again: the query goes on from its checkpoint.",
    ),
    _kind(
        "user-function",
        r"FOREACH_BATCH_USER_FUNCTION_ERROR|FOREACH_USER_FUNCTION_ERROR|PythonException"
        r"|Traceback \(most recent call last\)|"
        r"FAILED_EXECUTE_UDF|Failed to execute user defined function|CALLBACK"
        r"|An exception was raised by the Python Proxy",
        "A function of the query raised an error",
        "The function (a Python or Scala function, foreach or foreachBatch) failed on a row of the batch.",
        "Mend the function, or let it put bad rows aside. The batch runs again from the checkpoint when the query"
        " starts.",
        link=API + "#using-foreach-and-foreachbatch",
    ),
)


@rule("query-failed", "The query ended with an error.")
def query_failed(window: Window, load: Load) -> Hint | None:
    """Classify the error of the latest run."""
    del load
    run = window.run
    if run is None or run.state != "failed":
        return None
    text = f"{run.errorClass or ''}\n{run.exception or ''}"[:100_000]
    kind = next((one for one in KINDS if one.pattern.search(text)), None)
    batch = run.lastBatch
    evidence = [Evidence("error", error_line(run))]
    if run.errorClass:
        evidence.insert(0, Evidence("errorClass", run.errorClass))
    if batch is not None:
        evidence.append(Evidence("last batch that was done", batch, "", (batch,)))
    if kind is None:
        name = run.errorClass or middle(error_line(run), 100)
        return Hint(
            code="query-failed",
            severity="critical",
            title=f"The query failed: {name}",
            evidence=tuple(evidence),
            cause="Spark ended the query; the error says why.",
            fix="Read the last cause in the error's text. The batch runs again from the checkpoint when the query"
            " starts.",
            link=RECOVERY,
        )
    return Hint(
        code="query-failed",
        severity="critical",
        title=kind.title,
        evidence=(*evidence, Evidence("kind", kind.name)),
        cause=kind.cause,
        fix=kind.fix,
        code_fix=kind.code,
        link=kind.link,
    )


@rule("duplicate-query", "The same query seems to be active twice.")
def duplicate_query(window: Window, load: Load) -> Hint | None:
    """Raise when another active query without a checkpoint of its own has the same sources, sink, state and trigger."""
    del load
    if not window.twins:
        return None
    ids = sorted([window.history.id, *(one.id for one in window.twins)])
    return Hint(
        code="duplicate-query",
        severity="warning",
        title=f"The same query seems to be active {'twice' if len(ids) == 2 else f'{len(ids)} times'}",
        evidence=(
            *(Evidence("id", one) for one in ids[:5]),
            Evidence("sources", ", ".join(window.facts.sources)),
            Evidence("sink", window.facts.sink or ""),
        ),
        cause="A cell that starts a query was run again: without a checkpointLocation Spark starts a second one"
        " beside the"
        " first, and both read and write.",
        fix="Stop the older one, and give the query a name: Spark then refuses to start it twice.",
        code_fix="for q in spark.streams.active:\n"
        f'    if str(q.id) == "{min([window.history, *window.twins], key=_started).id}":\n'
        "        q.stop()",
        link=API + "#managing-streaming-queries",
    )


def _started(history: HistoryView) -> float:
    return history.runs[-1].started or 0.0
