"""Whatever shows or writes what a query says passes a door: no secret gets out, whichever way it is asked."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from IPython.lib.pretty import pretty

import jupyter_streamwatch as sw
from jupyter_streamwatch import testing
from jupyter_streamwatch.charts.columns import data
from jupyter_streamwatch.model.queries import Queries
from jupyter_streamwatch.report.static import static
from jupyter_streamwatch.summary.line import line
from jupyter_streamwatch.watching.collector import Collector

SECRET = "hunter2"
TEXT = (
    "org.apache.spark.sql.streaming.StreamingQueryException: Query failed\n"
    "Caused by: java.sql.SQLException: cannot log in to jdbc:postgresql://db:5432/shop?user=me&password=hunter2\n"
    "Caused by: org.apache.kafka.common.KafkaException: sasl.jaas.config=org.apache.kafka.common.security.plain."
    'PlainLoginModule required username="me" password="hunter2";\n'
)


@pytest.fixture
def history():
    """A query whose name, source and error all hold the secret."""
    made = testing.history(batches=5, name="orders password=hunter2")
    made.end(testing.RUN, 1_767_300_000_000.0, TEXT, None)
    return made


def asked(history, tmp_path):
    """Every way in which what is known of it is shown or written, by name."""
    diagnosis = sw.diagnose(history)
    recording = testing.recording(history)
    yield "history", repr(history)
    yield "run", repr(history.runs)
    yield "queries", repr(recording.queries)
    with pytest.raises(KeyError) as error:
        Queries({history.id: history})["another password=hunter2"]
    yield "unknown query", str(error.value)
    yield "diagnosis", "".join((str(diagnosis), pretty(diagnosis), diagnosis._repr_html_()))
    yield "diagnosis as data", json.dumps(diagnosis.to_dict())
    for hint in diagnosis.hints:
        yield hint.code, "".join((str(hint), pretty(hint), json.dumps(hint.to_dict())))
    yield "line", json.dumps(line(history.snapshot(), diagnosis).to_dict())
    yield "charts", json.dumps(data(history))
    still = static(recording)
    yield "still", "".join((repr(still), still.html, still.text))
    for suffix in ("html", "md", "json"):
        recording.report(tmp_path / f"report.{suffix}")
        yield suffix, (tmp_path / f"report.{suffix}").read_text()
    recording.save(tmp_path / "run.jsonl")
    yield "recording", (tmp_path / "run.jsonl").read_text()
    collector = Collector()
    collector.note(f"could not be read: {TEXT}")
    yield "problems", repr(collector.problems)


def test_no_secret_gets_out(history, tmp_path):
    """Not by a repr, a print, data for JSON, a report, a recording, a picture's words or an error."""
    leaks = [name for name, shown in asked(history, tmp_path) if SECRET in shown]
    assert leaks == []


@pytest.mark.parametrize("arguments", [["diagnose"], ["diagnose", "--json"], ["diagnose", "--query=password=hunter2"]])
def test_no_secret_is_printed_on_the_command_line(arguments, tmp_path):
    """Neither of a driver log that was never recorded, nor of what was typed."""
    log = tmp_path / "driver.log"
    ids = f"[id = {testing.ID}, runId = {testing.RUN}]"
    log.write_text(f"26/01/01 10:00:00 ERROR MicroBatchExecution: Query orders {ids} terminated with error\n{TEXT}")
    command = [sys.executable, "-m", "jupyter_streamwatch.cli", arguments[0], str(log), *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert SECRET not in done.stdout + done.stderr
    assert done.stdout or done.stderr
