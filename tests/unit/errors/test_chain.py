"""The causes of an error as data: Java, Scala, Python, Py4J and Connect, one inside the other, quoted and cut."""

from __future__ import annotations

import json

import pytest

from jupyter_streamwatch.model.errors import causes_of, last_of, said


def names(text):
    return [cause.simple for cause in causes_of(text)]


TASK = """\
org.apache.spark.SparkException: Job aborted due to stage failure: Task 2 in stage 8.0 failed 4 times, most recent \
failure: Lost task 2.3 in stage 8.0 (TID 41) (10.0.0.7 executor 5): org.apache.spark.SparkException: \
[TASK_WRITE_FAILED] Task failed while writing rows to file:/srv/out. SQLSTATE: 58030
\tat org.apache.spark.sql.execution.datasources.FileFormatWriter$.executeTask(FileFormatWriter.scala:1)
Caused by: java.io.IOException: the disk is gone
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 9 more

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.failJob(DAGScheduler.scala:1)
\tSuppressed: java.lang.IllegalStateException: closed twice
\t\tat com.example.Closer.close(Closer.scala:1)
\tCaused by: java.lang.Error: inside the suppressed one
Caused by: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/srv/out. \
SQLSTATE: 58030
\tat org.apache.spark.sql.execution.datasources.FileFormatWriter$.executeTask(FileFormatWriter.scala:1)
Caused by: java.io.IOException: the disk is gone
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 9 more
"""


def test_a_task_failure_inside_a_message():
    """The job's error, the task's and its cause, each once; suppressed ones are no reason."""
    job, task, disk = causes_of(TASK)
    assert (job.simple, task.simple, disk.simple) == ("SparkException", "SparkException", "IOException")
    assert (task.condition, task.sqlState, task.task) == ("TASK_WRITE_FAILED", "58030", "5")
    assert [frame.function.rpartition(".")[2] for frame in job.frames] == ["failJob"]
    assert str(task.frames[0]).endswith("executeTask (FileFormatWriter.scala:1)")
    assert disk.message == "the disk is gone"
    assert disk.frames[0].file is None


BATCH = """\
py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/opt/py4j/clientserver.py", line 617, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ~~~~~~~~~^^^^
  File "/tmp/ipykernel_5/88.py", line 4, in each
    batch.write.jdbc(url, "readings")
py4j.protocol.Py4JJavaError: An error occurred while calling o91.jdbc.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 2.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 2.0 (TID 3, db1, executor driver): java.sql.SQLException: table readings is locked
\tat org.postgresql.Driver.connect(Driver.java:1)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.failJob(DAGScheduler.scala:1)

\tat py4j.Protocol.getReturnValue(Protocol.java:476)
"""


def test_python_inside_java_and_java_inside_python():
    """foreachBatch: Java calls Python, which calls Java."""
    proxy, python, job, database = causes_of(BATCH)
    assert (proxy.simple, python.simple) == ("Py4JException", "Py4JJavaError")
    assert python.python
    assert python.frames[0].file == "/tmp/ipykernel_5/88.py"
    assert (python.frames[0].line, python.frames[0].code) == (4, 'batch.write.jdbc(url, "readings")')
    assert job.message.startswith("Job aborted")
    assert (database.message, database.task) == ("table readings is locked", "driver")


WORKER = """\
pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 1, runId = 2] terminated with \
exception: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0 in \
stage 0.0 (TID 0) (h executor driver): org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/pyspark.zip/pyspark/worker.py", line 10, in main
    process()
  File "/home/eva/job.py", line 7, in price
    return rates[currency]
KeyError: 'CHF'
 SQLSTATE: 38000
=== Streaming Query ===
Identifier: [id = 1, runId = 2]
Logical Plan:
Project [price(x): org.example.NotAnException: in a plan]

JVM stacktrace:
org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 1, runId = 2] terminated
\tat org.apache.spark.sql.execution.streaming.StreamExecution.run(StreamExecution.scala:1)
"""


def test_a_workers_traceback_and_the_jvms_repetition():
    """The worker's error is the last one; the plan is no message, the JVM's trace no other error."""
    assert names(WORKER) == ["StreamingQueryException", "PythonException", "KeyError"]
    assert said(last_of(causes_of(WORKER))) == "KeyError: 'CHF'"


CHAINED = """\
Traceback (most recent call last):
  File "/srv/a.py", line 1, in ask
    connect()
ConnectionRefusedError: [Errno 111] Connection refused

{link}

Traceback (most recent call last):
  File "/srv/b.py", line 2, in each
    ask()
RuntimeError: the rates are not there
"""


@pytest.mark.parametrize(
    "link",
    [
        "The above exception was the direct cause of the following exception:",
        "During handling of the above exception, another exception occurred:",
    ],
)
def test_pythons_chain_ends_with_the_root(link):
    """Python prints the root first; the chain has it last."""
    assert names(CHAINED.format(link=link)) == ["RuntimeError", "ConnectionRefusedError"]


NOTEBOOK = """\
---------------------------------------------------------------------------
StreamingQueryException                   Traceback (most recent call last)
Cell In[7], line 3
      1 q = df.writeStream.start()
----> 3 q.awaitTermination()

File ~/venv/lib/python3.11/site-packages/pyspark/sql/streaming/query.py:221, in StreamingQuery.awaitTermination(self)
    219     return self._jsq.awaitTermination(1)
--> 221     return self._jsq.awaitTermination()

StreamingQueryException: [STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: org.apache.kafka.common.\
errors.TimeoutException: Timeout of 60000ms expired
"""


def test_a_notebooks_traceback():
    """IPython's form: cells, files with a line, arrows before the line that ran."""
    outer, last = causes_of(NOTEBOOK)
    assert [(frame.file, frame.line) for frame in outer.frames][-1] == ("Cell In[7]", 3)
    assert outer.frames[0].line == 221
    assert last.message == "Timeout of 60000ms expired"


LAST = {
    "gone away": "java.util.concurrent.ExecutionException: org.x.y.LostException: gone away x\n\tat a.b.C.d(C:1)",
    "no right": "org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.x.AccessControlException): no right for eva",
    "very bad": "pyspark.errors.exceptions.connect.X: (org.apache.spark.sql.AnalysisException) very bad",
    "it is the moon": "Query q [id = 1, runId = 2] terminated with exception: it is the moon",
    "c d e": """StreamingQueryException: Query x terminated with exception: a
Caused by: [INTERNAL_ERROR] b
Caused by: AssertionError: assertion failed: c d e""",
    "after a log line": """26/03/09 08:00:00 ERROR Executor: Exception in task 0.0 in stage 1.0 (TID 1)
java.lang.X: after a log line""",
    "lost in a warning": """26/03/09 08:00:00 INFO A: Starting task
26/03/09 08:00:01 WARN TaskSetManager: Lost task 4.1 in stage 3.1 (TID 7) (h executor 0): a.b.c.D: lost in a warning""",
    "it is full": """org.apache.spark.util.TaskCompletionListenerException: nothing to close

Previous exception in task: it is full
\torg.example.deep.Disk.write(Disk.scala:4)""",
    "it broke": "a.b.CompletionException: c.d.e.BrokenException: it broke\nCaused by: c.d.e.BrokenException: it broke",
    "the beginning is lost": "Caused by: java.lang.RuntimeException: the beginning is lost",
    "outer one": "Wrapped by: java.lang.RuntimeException: outer one\n",
}


@pytest.mark.parametrize("expected", LAST)
def test_the_last_cause_of(expected):
    """What happened, not what was said around it."""
    assert expected in said(last_of(causes_of(LAST[expected])))


def test_a_log_that_prints_the_root_first():
    """What comes after "Wrapped by" is the outer one."""
    assert names("java.io.IOException: the root\n\tat a.b.C.d(C.java:1)\nWrapped by: a.b.OuterException: x\n") == [
        "OuterException",
        "IOException",
    ]


def test_a_trace_in_one_line_of_a_json_event():
    """Escaped newlines make a chain, too."""
    assert names(json.dumps(TASK)[1:-1]) == ["SparkException", "SparkException", "IOException"]


@pytest.mark.parametrize("cut", range(40, len(BATCH), 97))
def test_a_cut_text_is_read_as_far_as_it_goes(cut):
    """No place to cut makes it fail, and the outermost cause is the same."""
    causes = causes_of(BATCH[:cut])
    assert causes[0].simple in ("Py4JException", "Py4JJavaError")


@pytest.mark.parametrize("text", ["", "\n\n", "----", "null"])
def test_a_text_without_an_error(text):
    """Nothing, or the words as they are."""
    assert [cause.message for cause in causes_of(text)] == ([text] if text == "null" else [])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("java.lang.IllegalStateException: the moon is full", "the moon is full"),
        ("java.io.NotSerializableException: org.example.Client", "NotSerializableException: org.example.Client"),
        ("java.lang.NullPointerException\n\tat a.b.C.d(C.java:1)", "NullPointerException at a.b.C.d (C.java:1)"),
        ('Traceback (most recent call last):\n  File "x", line 1, in f\nKeyError: one', "KeyError: one"),
    ],
)  # fmt: skip
def test_a_cause_in_one_line(text, line):
    """With its class where the words alone say too little."""
    assert said(last_of(causes_of(text))) == line


def test_the_sqlstate_of_the_exception_around_is_no_part_of_the_message():
    """Spark writes it after the traceback; the state is kept."""
    outer, error = causes_of(
        "org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] x: Traceback (most recent call last):\n"
        "  File \"j.py\", line 1, in f\nKeyError: 'CHF'\n SQLSTATE: 38000"
    )
    assert (outer.condition, error.message, error.sqlState) == ("PYTHON_EXCEPTION", "'CHF'", "38000")


def test_what_a_log_says_after_the_error_is_another_matter():
    """The first error is the one that ended the query."""
    assert names("java.lang.IllegalStateException: a b c\n26/03/09 08:00:00 ERROR X: y\njava.io.IOException: z") == [
        "IllegalStateException"
    ]
