"""Every notation and every quoting in which people paste progress gives the same records as plain JSON."""

from __future__ import annotations

import html
import json
import pprint
import re
import uuid
from pathlib import Path

import pytest

import jupyter_streamwatch as sw

CASES = Path(__file__).parent.parent / "cases"
FILES = (
    "010-kafka-assign-foreach-371s.json",
    "018-flatmapgroups-nodata-batch.json",
    "023-autoloader-foreachbatch-idle.json",
    "026-kinesis-efo-to-delta.json",
    "053-s3-file-foreachbatch-first-batch.json",
    "058-kafka-to-file-catchup.json",
)
RECORDS = [record for name in FILES for record in json.loads((CASES / name).read_text())]
UNTYPED = [record for record in RECORDS if "Kinesis" not in str(record)]  # its numbers in strings need quotes


def jackson(record):
    return json.dumps(record, indent=2, separators=(",", " : "))


PRETTY = [jackson(record) for record in RECORDS]
LOGGED = ["24/01/01 10:00:00 INFO MicroBatchExecution: Streaming query made progress: " + text for text in PRETTY]


def lines(change):
    """Every line of the pretty records, changed."""
    return "\n".join("\n".join(change(line, at) for at, line in enumerate(text.splitlines())) for text in PRETTY)


def notation(value, opening, arrow, closing, left, right):  # noqa: PLR0917
    """Java's and Scala's text of maps and lists: nothing is quoted."""
    again = [value[key] if isinstance(value, dict) else key for key in value] if isinstance(value, (dict, list)) else []
    parts = [notation(part, opening, arrow, closing, left, right) for part in again]
    if isinstance(value, dict):
        return opening + ", ".join(f"{key}{arrow}{part}" for key, part in zip(value, parts, strict=True)) + closing
    if isinstance(value, list):
        return left + ", ".join(parts) + right
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def row(value):
    """PySpark's text of rows in rows."""
    if isinstance(value, dict) and value and all(key.isidentifier() for key in value):
        return "Row(" + ", ".join(f"{key}={row(part)}" for key, part in value.items()) + ")"
    return "[" + ", ".join(map(row, value)) + "]" if isinstance(value, list) else repr(value)


def python2(record):
    return re.sub(r"'([^']*)'", r"u'\1'", repr(record))


def with_uuids(record):
    return repr({key: uuid.UUID(value) if key in ("id", "runId") else value for key, value in record.items()})


def yaml(value, indent=0):
    """A block of YAML as ``yaml.dump`` writes it."""
    pad, out = " " * indent, []
    for key, part in value.items():
        if isinstance(part, dict) and part:
            out += [f"{pad}{key}:", *yaml(part, indent + 2)]
        elif isinstance(part, list) and part and isinstance(part[0], dict):
            out.append(f"{pad}{key}:")
            for each in part:
                first, *rest = yaml(each, indent + 2)
                out += [f"{pad}- {first.strip()}", *rest]
        else:
            out.append(f"{pad}{key}: {part if isinstance(part, str) else json.dumps(part)}")
    return out


def shipped(key="message"):
    """One log record a line of the log."""
    return [
        json.dumps({"@timestamp": "2024-01-01T00:00:00.000Z", "level": "INFO", key: line})
        for text in LOGGED
        for line in text.splitlines()
    ]


def notebook(*outputs):
    cells = [
        {"cell_type": "markdown", "source": ["# Progress: {}"]},
        {
            "cell_type": "code",
            "source": ["{'id': q.id, 'runId': 1, 'batchId': 2, 'numInputRows': 3}"],
            "outputs": outputs,
        },
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}, indent=1)


def wrapped(text, width):
    return "\n".join(line[at : at + width] for line in text.splitlines() for at in range(0, len(line), width))


def many(change, records=PRETTY):
    return "\n".join(map(change, records))


TEXTS = {
    "jackson": "\n".join(PRETTY),
    "json list": json.dumps(RECORDS),
    "json lines": many(json.dumps, RECORDS),
    "several on a line": " ".join(map(json.dumps, RECORDS)),
    "minified over lines": many(lambda text: re.sub(r"\n\s*", "", text)),
    "no indentation": many(lambda text: re.sub(r"\n\s*", "\n", text)),
    "tabs": "\n".join(PRETTY).replace("  ", "\t"),
    "hard spaces": "\n".join(PRETTY).replace("  ", "\u00a0\u00a0"),
    "blank lines": "\n\n".join(PRETTY).replace("\n", "\n\n"),
    "windows line ends": "\n".join(PRETTY).replace("\n", "\r\n"),
    "old mac line ends": "\n".join(PRETTY).replace("\n", "\r"),
    "byte order mark": "\ufeff" + "\n".join(PRETTY),
    "python repr": many(repr, RECORDS),
    "python list": repr(RECORDS),
    "python tuple": repr(tuple(RECORDS)),
    "python 2": many(python2, RECORDS),
    "python with uuids": many(with_uuids, RECORDS),
    "pprint": many(pprint.pformat, RECORDS),
    "pprint list": pprint.pformat(RECORDS),
    "pprint narrow": pprint.pformat(RECORDS, width=40),
    "pprint unsorted": pprint.pformat(RECORDS, sort_dicts=False),
    "rows": many(row, RECORDS),
    "our own repr": many(lambda record: repr(sw.parse(record)), RECORDS),
    "log": "\n".join(LOGGED),
    "log with other lines": many(lambda text: text + "\n24/01/01 10:00:01 INFO X: y {a=b} [c]", LOGGED),
    "hash": lines(lambda line, _: "# " + line),
    "slashes": lines(lambda line, _: "// " + line),
    "star": lines(lambda line, _: " * " + line),
    "sql comment": lines(lambda line, _: "-- " + line),
    "quoted": lines(lambda line, _: "> " + line),
    "quoted twice": lines(lambda line, _: "> > " + line),
    "strip margin": lines(lambda line, _: "   |" + line),
    "diff added": lines(lambda line, _: "+" + line),
    "diff removed": lines(lambda line, _: "-" + line),
    "log prefix on each line": lines(
        lambda line, at: f"2024-01-01 10:00:{at % 60:02d},{at:03d} INFO [main] a.B: {line}"
    ),
    "container log": lines(lambda line, at: f"2024-01-01T10:00:{at % 60:02d}.{at}Z stdout F {line}"),
    "journal": lines(lambda line, at: f"Nov 29 23:04:{at % 60:02d} host spark[123]: {line}"),
    "compose": lines(lambda line, _: "spark-1  | " + line),
    "line numbers": lines(lambda line, at: f"{at + 1:5d}  {line}"),
    "line numbers with a bar": lines(lambda line, at: f"{at + 1:4d} | {line}"),
    "grep": lines(lambda line, at: f"driver.log{'-:'[at % 7 == 0]}{at + 1}{'-:'[at % 7 == 0]}{line}"),
    "html": "<pre>" + html.escape("\n".join(PRETTY)) + "</pre>",
    "html with breaks": html.escape("\n".join(PRETTY)).replace("\n", "<br/>\n").replace(" ", "&nbsp;"),
    "colours": many(lambda text: re.sub(r'("[\w.]+") :', "\x1b[34m\\1\x1b[0m :", text)),
    "colours without escape": many(lambda text: re.sub(r'("[\w.]+") :', "[34m\\1[0m :", text)),
    "curly quotes": "\n".join(PRETTY).replace(' "', " “").replace('"', "”"),
    "json string": json.dumps("\n".join(PRETTY)),
    "json strings": many(json.dumps),
    "json string in a string": json.dumps(json.dumps("\n".join(PRETTY))),
    "string reprs": many(repr),
    "list of string reprs": repr(PRETTY),
    "list of json reprs": repr([json.dumps(record) for record in RECORDS]),
    "repr of a repr": many(lambda record: repr(repr(record)), RECORDS),
    "bytes": many(lambda text: repr(text.encode())),
    "escaped without quotes": many(lambda text: "progress=" + json.dumps(text)[1:-1]),
    "string within a line": many(lambda text: "x foo " + json.dumps(text) + " bar"),
    "string in a string within a line": many(lambda text: "log: " + json.dumps(json.dumps(text))),
    "csv over lines": many(lambda text: '2024-01-01,"' + text.replace('"', '""') + '",x'),
    "csv": many(lambda record: '2024-01-01,"' + json.dumps(record).replace('"', '""') + '",x', RECORDS),
    "json log, a line each": "\n".join(shipped()),
    "json log, nested": many(lambda line: json.dumps({"_source": json.loads(line)}), shipped()),
    "json log in an array": json.dumps([json.loads(line) for line in shipped("msg")], indent=1),
    "json log after a prefix": many(lambda line: "2024-01-01T10:00:00.1Z stdout F " + line, shipped()),
    "json log in docker's": many(lambda line: json.dumps({"log": line + "\n", "stream": "stdout"}), shipped()),
    "search hits": json.dumps(
        {"hits": {"hits": [{"_source": {"message": [json.loads(line)["message"]]}} for line in shipped()]}}
    ),
    "log events": json.dumps(
        {"events": [{"timestamp": 1, "message": line} for text in PRETTY for line in text.splitlines()]}
    ),
    "text payloads": json.dumps(
        [{"insertId": "x", "textPayload": line} for text in PRETTY for line in text.splitlines()]
    ),
    "raw results": many(lambda text: json.dumps({"preview": False, "result": {"_raw": text}}), LOGGED),
    "structured log of spark 4": many(
        lambda text: json.dumps(
            {"ts": "x", "msg": "Streaming query made progress: " + text, "context": {"streaming_query_progress": text}}
        )
    ),
    "wrapper": many(lambda record: json.dumps({"progress": record}), RECORDS),
    "listener event": many(
        lambda record: json.dumps({"Event": "x.StreamingQueryListener$QueryProgressEvent", "progress": record}), RECORDS
    ),
    "command result": json.dumps(
        {
            "metrics": [
                {
                    "progressJson": text,
                    "sources": [{"description": "x", "latestOffset": "1"}],
                    "sink": {"description": "y"},
                }
                for text in PRETTY
            ]
        }
    ),
    "notebook, printed": notebook({"output_type": "stream", "text": "\n".join(PRETTY).splitlines(keepends=True)}),
    "notebook, shown in two ways": notebook(
        {
            "output_type": "execute_result",
            "data": {
                "text/plain": pprint.pformat(RECORDS).splitlines(keepends=True),
                "text/html": ["<pre>" + html.escape("\n".join(PRETTY)) + "</pre>"],
            },
        }
    ),
    "trailing commas": many(lambda text: re.sub(r"([\]}\w\"])\n(\s*[}\]])", r"\1,\n\2", text)),
    "no commas": many(lambda text: text.replace(",\n", "\n")),
    "comments": many(lambda text: text.replace(",\n", ', // <- it\'s "here" {x\n')),
    "python comments": many(lambda text: text.replace(",\n", ",  # note: 3 rows\n")),
    "arrows": many(lambda text: text.replace(",\n", ",   <-- this one's slow\n")),
    "unquoted names": many(lambda text: re.sub(r'"(\w+)" :', r"\1:", text)),
    "single quotes": "\n".join(PRETTY).replace('"', "'"),
    "last brace missing": many(lambda text: text[:-1]),
    "last two braces missing": many(lambda text: text[:-4]),
    "fences": many(lambda text: "```json\n" + text + "\n```"),
    "scala shell": many(
        lambda text: (
            "scala> q.lastProgress\nres1: org.apache.spark.sql.streaming.StreamingQueryProgress =\n" + text + "\n"
        )
    ),
    "scala array": "res3: Array[org.apache.spark.sql.streaming.StreamingQueryProgress] =\nArray("
    + ", ".join(PRETTY)
    + ")",
    "python shell": many(lambda record: ">>> q.lastProgress\n" + repr(record), RECORDS),
    "ipython": many(lambda record: "Out[3]: " + pprint.pformat(record), RECORDS),
    "wrapped json": many(lambda record: wrapped(json.dumps(record), 80), RECORDS),
    "wrapped repr": many(lambda record: wrapped(repr(record), 80), RECORDS),
    "wrapped log line": many(
        lambda record: wrapped("24/01/01 10:00:00 INFO M: progress: " + json.dumps(record), 120), RECORDS
    ),
    "after code": "while (q.isActive) {\n println(q.lastProgress)\n}\nval x = foo { bar\n" + "\n".join(PRETTY),
    "assignments": many(lambda text: "progress = " + text + ";"),
    "after a table": many(lambda text: "-----\nBatch: 1\n-----\n+---+\n|  a|\n+---+\n|  1|\n+---+\n\n" + text),
}
UNTYPED_TEXTS = {
    "java map": many(lambda record: notation(record, "{", "=", "}", "[", "]"), UNTYPED),
    "scala map": many(lambda record: notation(record, "Map(", " -> ", ")", "List(", ")"), UNTYPED),
    "yaml": many(lambda record: "\n".join(yaml(record)) + "\n", UNTYPED),
    "yaml documents": many(lambda record: "---\n" + "\n".join(yaml(record)), UNTYPED),
}


def read(text):
    return [progress.to_dict() for progress in sw.load(text).progress]


def written(records):
    return [sw.parse(record).to_dict() for record in records]


@pytest.mark.parametrize("name", TEXTS)
def test_notation(name):
    """The records are those of the plain JSON, in the same order, and none more."""
    assert read(TEXTS[name]) == written(RECORDS)


@pytest.mark.parametrize("name", UNTYPED_TEXTS)
def test_notation_without_quotes(name):
    """The same for notations that do not tell text from numbers."""
    assert read(UNTYPED_TEXTS[name]) == written(UNTYPED)
