"""Records as source files, notes and notebooks hold them: in pieces, explained, escaped, beside other text."""

from __future__ import annotations

import json

import pytest

import jupyter_streamwatch as sw

ID, RUN = "5b0c7d1e-3f52-4a86-9d17-c2e84f60a9b3", "e91a6f24-70bd-4c35-8a6e-1d3f5b7c9024"


def record(batch=41, rows=130, **more):
    """A batch of a foreach query on Kafka, as Spark 2.4 reports it."""
    return {
        "id": ID,
        "runId": RUN,
        "name": "orders",
        "timestamp": "2019-05-14T08:30:00.000Z",
        "batchId": batch,
        "numInputRows": rows,
        "inputRowsPerSecond": 13.0,
        "processedRowsPerSecond": 100.0,
        "durationMs": {"addBatch": 1240, "getBatch": 3, "getOffset": 7, "triggerExecution": 1300, "walCommit": 21},
        "stateOperators": [],
        "sources": [
            {
                "description": "KafkaSource[Subscribe[orders]]",
                "startOffset": {"orders": {"0": 9000}},
                "endOffset": {"orders": {"0": 9000 + rows}},
                "numInputRows": rows,
            }
        ],
        "sink": {"description": "org.apache.spark.sql.execution.streaming.ForeachSink@1a2b3c4d"},
        **more,
    }


def pretty(value):
    return json.dumps(value, indent=2, separators=(",", " : "))


def rows(text):
    return [one.numInputRows for one in sw.load(text).progress]


def piece(count, added):
    """A few members of a record, without its braces."""
    return (
        f'  "numInputRows" : {count},\n  "processedRowsPerSecond" : 50.5,\n'
        f'  "durationMs" : {{\n    "addBatch" : {added},\n    "triggerExecution" : {added + 90}\n  }}\n'
    )


def test_a_string_that_source_code_joins_is_one_text():
    """The pieces of a string in Java, Scala or JavaScript are read together, with the source and the sink."""
    lines = pretty(record()).split("\n")
    for first, between in (
        ('"', '\\n" +\n            "'),
        ('"', '" +\n    "'),
        ("'", "'\n + '"),
        ('"', '\\n" \\\n  "'),
    ):
        quote = first
        inside = [line.replace('"', '\\"') if quote == '"' else line for line in lines]
        (read,) = sw.load(f"String json = {quote}{between.join(inside)}{quote};\n").progress
        assert (read.numInputRows, read.sources[0].moved) == (130, True)
        assert "ForeachSink" in read.sink.description


def test_pieces_that_follow_each_other_are_not_mixed():
    """Measurements of one query after another, each without its braces, are so many records."""
    notes = (
        f"Without tuning:\n```json\n{piece(200, 9000)}````\nWith 1 partition\n```JSON\n{piece(210, 400)}```\nbetter\n"
    )
    read = sw.load(notes).progress
    assert [(one.numInputRows, one.durationMs["addBatch"]) for one in read] == [(200, 9000), (210, 400)]


def test_members_that_are_quoted_after_a_cut_record_do_not_change_it():
    """What a text says of other runs below a record that was cut is not taken for that record's."""
    cut = pretty(record()).split('  "stateOperators"')[0]
    text = f'{cut}\n  ...\nWith a limit of 500:\n    "numInputRows" : 498,\n    "processedRowsPerSecond" : 160.0\n'
    first, other = sw.load(text).progress
    assert (first.batchId, first.numInputRows, first.processedRowsPerSecond) == (41, 130, 100.0)
    assert (other.batchId, other.numInputRows) == (None, 498)


def test_a_record_that_was_cut_ends_with_its_code_block():
    """What other blocks of the same page hold does not fill in what is missing in a record."""
    for whole in (pretty(record()), pretty(record()).removeprefix("{\n")):
        cut = whole.split('  "durationMs"')[0]
        page = f"it prints\n```\n{cut}```\nand for the other query\n```\n{piece(77, 640)}```\n"
        read = sw.load(page).progress
        assert [(one.batchId, one.numInputRows) for one in read] == [(41, 130), (None, 77)]
        assert [one.durationMs.get("addBatch") for one in read] == [None, 640]


def test_members_explained_before_the_record_are_not_another_one():
    """Single members with a sentence each, and the record they are from, are one record."""
    members = pretty(record()).split("\n", 1)[1]
    text = (
        f'/*\n "runId" : "{RUN}"\n is new after each start\n "batchId" : 41,\n the number of the batch\n\n{members}\n*/'
    )
    (read,) = sw.load(text).progress
    assert (read.id, read.batchId, read.numInputRows) == (ID, 41, 130)


def test_names_without_quotes_behind_comment_signs_are_read():
    """A record that was typed off into a comment has no quotes and lacks a colon."""
    text = (
        "    query.recentProgress // something like\n    //numInputRows : 5120,\n    //durationMs : {\n"
        "    //  addBatch : 800,\n    //  triggerExecution : 850\n    //  walCommit : 12\n    //}\n"
        "    //stateOperators [ {\n    //  numRowsTotal : 9,\n    //  numRowsUpdated : 4\n    // } ]\n    //sink\n"
    )
    (read,) = sw.load(text).progress
    assert (read.numInputRows, read.durationMs) == (5120, {"addBatch": 800, "triggerExecution": 850, "walCommit": 12})
    assert read.stateOperators[0].numRowsTotal == 9


def test_parts_as_text_of_json_are_read():
    """A listener that logs ``prettyJson`` of each part makes strings of sources, operators and the sink."""
    operator = pretty({"operatorName": "dedupe", "numRowsTotal": 70, "numRowsUpdated": 3})
    made = record(stateOperators=[operator], sources=[pretty(one) for one in record()["sources"]])
    made |= {"sink": pretty(record()["sink"]), "durationMs": json.dumps(record()["durationMs"])}
    for text in ("2024-01-02 INFO app - " + json.dumps(made), repr(made)):
        (read,) = sw.load(text).progress
        assert (read.durationMs["addBatch"], read.stateOperators[0].numRowsTotal) == (1240, 70)
        assert (read.sources[0].moved, "ForeachSink" in read.sink.description) == (True, True)


def test_one_line_of_names_and_values_is_a_batch():
    """A line that a script prints for each batch keeps its number, though it names offsets as a source does."""
    text = (
        "batchId=6 numInputRows=90 startOffset={'t': {'0': 5}} endOffset={'t': {'0': 95}}\nbatchId=7 numInputRows=0\n"
    )
    assert [(one.batchId, one.numInputRows) for one in sw.load(text).progress] == [(6, 90), (7, 0)]
    line = "event=progress name=orders batchId=8 numInputRows=12 processedRowsPerSecond=40.5"
    for after in ("\n", '\n{"a": 1}\n', "\n\nSome words {\n  and: more }\n"):
        (read,) = sw.load(line + after).progress
        assert (read.name, read.batchId, read.numInputRows) == ("orders", 8, 12)
    log = f"event=started id={ID} runId={RUN} name=orders\n{line}\n{line}\nevent=terminated id={ID} runId={RUN}\n"
    assert [(one.id, one.batchId) for one in sw.load(log).progress] == [(read.id, 8)] * 2


def test_progress_in_the_metadata_of_a_notebook_is_read():
    """Databricks keeps what it shows of a stream under a cell in the metadata of the cell."""
    states = {"q": [{"name": "q", "progressJson": None}, {"name": "q", "progressJson": pretty(record())}]}
    metadata = {"application/vnd.databricks.v1+cell": {"streamStates": states, "title": ""}}
    cell = {"cell_type": "code", "metadata": metadata, "outputs": [], "source": ["df.writeStream.start()"]}
    assert rows(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 0})) == [130]


def late_log(seconds, interval, queries=1, ids=(ID, "77c0a1b2-0d1e-4f3a-8b5c-6d7e8f901234")):
    """A driver log of queries whose batches take longer than the trigger interval; Spark says so after each."""
    lines = []
    for batch in range(8):
        for query in range(queries):
            took = seconds * 1000 + 37 * batch + 4000 * query
            start = f"2024-03-04T10:{(batch * seconds) // 60:02d}:{(batch * seconds) % 60:02d}.{137 + batch}Z"
            parts = {"addBatch": took - 60, "getBatch": 1, "triggerExecution": took, "walCommit": 20}
            made = record(40 + batch, id=ids[query], runId=ids[query], timestamp=start, durationMs=parts)
            said = f"The trigger interval is {interval + 1000 * query} milliseconds, but spent {took + 3} milliseconds"
            lines += [
                f"24/03/04 10:01:09 INFO MicroBatchExecution: Streaming query made progress: {pretty(made)}",
                f"24/03/04 10:01:09 WARN ProcessingTimeExecutor: Current batch is falling behind. {said}",
            ]
    return "\n".join(lines)


def test_the_interval_is_known_from_the_line_about_a_late_batch():
    """Spark logs the trigger interval with each batch that took longer; nothing else in a log tells it then."""
    recording = sw.load(late_log(14, 10_000))
    (query,) = recording.queries.values()
    assert (query.trigger.kind, query.trigger.interval_ms) == ("processingTime", 10_000)
    (diagnosis,) = recording.diagnose().values()
    assert diagnosis.verdict == "falling-behind"
    assert next(iter(sw.load(late_log(14, 10_000), trigger="1 minute").queries.values())).trigger.interval_ms == 60_000


def test_the_line_about_a_late_batch_goes_to_the_query_whose_batch_it_was():
    """It names no query: the length of the batch tells, and where it fits none or two, nothing is assumed."""
    recording = sw.load(late_log(14, 10_000, queries=2))
    assert [query.trigger.interval_ms for query in recording.queries.values()] == [10_000, 11_000]
    other = late_log(14, 10_000, queries=2).replace("but spent 1", "but spent 9")
    assert [query.trigger for query in sw.load(other).queries.values()] == [None, None]


def test_source_code_is_no_progress():
    """Code that builds or reads a record has its names, but no number: there is nothing to show and to judge."""
    code = (
        "def row(p):\n    return {\n        'batchId': p.batchId,\n        'timestamp': p.timestamp,\n"
        "        'numInputRows': p.numInputRows,\n        'inputRowsPerSecond': p.get('inputRowsPerSecond') or 0,\n"
        "        'durationMs': p.durationMs,\n        'sources': [{'description': s.description,"
        " 'startOffset': s.startOffset, 'endOffset': s.endOffset} for s in p.sources],\n    }\n"
        "export interface Stream {\n  runId: string;\n  batchId?: number;\n  numInputRows?: number;\n}\n"
    )
    recording = sw.load(code)
    assert (recording.progress, list(recording.queries)) == ([], [])
    assert recording.skipped
    assert rows(code + pretty(record())) == [130]


def test_offsets_as_text_of_python_are_offsets():
    """PySpark's own dictionaries hold offsets as Python's text of them: rows that wait are known from those as well."""
    source = {"description": "KafkaV2[Subscribe[orders]]", "numInputRows": 130, "startOffset": "None"}
    source |= {"endOffset": "{'orders': {'0': 9130, '1': 4}}", "latestOffset": "{'orders': {'0': 9150, '1': 4}}"}
    (read,) = sw.load(json.dumps(record(sources=[source]))).progress
    assert (read.sources[0].startOffset, read.sources[0].endOffset) == (None, {"orders": {"0": 9130, "1": 4}})
    assert (read.backlog, read.sources[0].moved) == (20, True)
    for odd in ("{'a': open('x')}", "{'a'", "[" * 5000, "{'\\d': 1}", "some words"):
        (read,) = sw.load(json.dumps(record(sources=[{**source, "endOffset": odd}]))).progress
        assert read.sources[0].endOffset == odd


@pytest.mark.parametrize(
    ("source", "records"),
    [
        ('{"description": "CloudFilesSource[/in]", "metrics": {"numFilesOutstanding": "31"}}', 1),
        ('{"description": "topic a", "startOffset": {"a": {"0": 1}}, "endOffset": {"a": {"0": 6}}}', 1),
        ('{"description": "what it is", "metrics": [1, 2]}', 0),
    ],
)
def test_sources_alone_are_a_part_of_a_record(source, records):
    """As manuals print them; what only has a description and metrics may be anything."""
    found = sw.load('The lag is in\n\n{ "sources" : [ ' + source + " ] }\n\nof each batch.\n")
    assert [len(p.sources) for p in found.progress] == [1] * records
