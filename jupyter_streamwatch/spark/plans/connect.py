"""The shape of a query over Spark Connect: from the server's explained plan, the reader's options and the writer.

The options of readers and writers stand in the messages that the client builds; asking for the plan starts nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.query_shape import Column, Shape, SourceShape
from jupyter_streamwatch.model.spark_types import type_text
from jupyter_streamwatch.spark.plans import analyzed as shape_analyzed
from jupyter_streamwatch.spark.plans import explained, started
from jupyter_streamwatch.spark.plans import sinks as shape_sinks
from jupyter_streamwatch.spark.plans import state as shape_state
from jupyter_streamwatch.spark.plans import text as shape_text
from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_streamwatch.spark.plans.analyzed import Analyzed
    from jupyter_streamwatch.spark.plans.started import Written

_FILE_SOURCE = re.compile(r"\b(?P<described>FileSource\[[^\]]*\])")
_DDL = re.compile(r"^`?(?P<name>[^`\s:]+)`?[\s:]+(?P<type>\w+(?:\([\d, ]+\))?)", re.DOTALL)
_DDL_TYPES = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
}


def read(x: Any, what: str, settings: Iterable[str]) -> Shape:
    """Return the shape of a DataFrame, a writer or a query; may raise what grpc raises, and may wait."""
    if what == "StreamingQuery":
        spark = x._session  # noqa: SLF001 - a query does not tell its session
        progress = x.lastProgress
        text = explained.explained(x)
        made = of_run(text, progress, None, None)
        physical = shape_text.section(text, "Physical Plan")
        state = shape_state.read(physical, {}, made.operators) if physical and made.operators is not None else None
        return Shape(**{**made.__dict__, "state": state, **shape_sinks.session(spark, settings)})
    writer = what == "DataStreamWriter"
    spark = x._session if writer else x.sparkSession  # noqa: SLF001
    logical = x._write_stream._child if writer else x._plan  # noqa: SLF001 - there is no public way to the plan
    message = logical.to_proto(spark.client)
    text = spark.client.explain_string(message, "extended")
    schema = spark.client.schema(message)
    reads = [one.data_source for one in started.reads(message) if one.WhichOneof("read_type") == "data_source"]
    output = [Column(one.name, one.dataType.simpleString(), bool(one.nullable)) for one in schema.fields]
    found = _analyzed(text)
    types = {**_declared(reads), **{one.name: (one.type or "", one.nullable) for one in output}}
    physical = shape_text.section(text, "Physical Plan")
    told = {
        **_of_analyzed(found, tuple(output)),
        "sources": _sources(found, reads),
        "state": None if found is None else _state(physical or "", types, found),
        **shape_sinks.session(spark, settings),
    }
    return Shape(mode="connect", **told | (_of_writer(x._write_proto) if writer else {}))  # noqa: SLF001


def _of_writer(message: Any) -> dict[str, Any]:
    trigger = started.trigger(message)
    return {**started.of_writer(message), "trigger": None if trigger is None else trigger.kind}


def _state(physical: str, types: Any, found: Analyzed) -> Any:
    if len(physical) > shape_text.MOST_TEXT:
        return shape_state.planned(found.operators, types)
    return shape_state.read(physical, types, found.operators)


def of_run(text: str, progress: Any, version: str | None, written: Written | None) -> Shape:
    """Return the shape of a run, from its explained plan, its last progress and its start where that is known."""
    found = _analyzed(text)
    sink = explained.field(explained.field(progress, "sink"), "description")
    told = explained.of_plan(text)
    kind = names.kind(sink)
    described = [explained.field(source, "description") for source in explained.field(progress, "sources") or ()]
    sources = tuple(
        SourceShape(shape_sinks.source_kind(names.kind(one)), redact(names.source(one))) for one in described
    )
    made = Shape(
        mode="connect",
        sparkVersion=version,
        sources=sources or None,
        outputMode=told["outputMode"],
        sink=kind,
        sinkPath=shape_sinks.described(kind, sink),
        **_of_analyzed(found, None),
    )
    return made if written is None else _with(made, written)


def _with(made: Shape, written: Written) -> Shape:
    """Add what the start of a run told."""
    sources = made.sources
    if sources and written.sources is not None and len(sources) == len(written.sources):
        told = zip(sources, written.sources, strict=True)
        sources = tuple(replace(one, format=format, limits=limits) for one, (format, limits) in told)
    return replace(
        made,
        sources=sources,
        outputMode=made.outputMode or written.outputMode,
        sink=made.sink or written.sink,
        sinkPath=made.sinkPath or written.sinkPath,
        sinkFormat=written.sinkFormat,
        trigger=None if written.trigger is None else written.trigger.kind,
        options=written.options,
    )


def _analyzed(text: str) -> Analyzed | None:
    section = shape_text.section(text, "Analyzed Logical Plan")
    try:
        return shape_analyzed.read(section.partition("\n")[2]) if section else None  # the first line is the schema
    except ValueError:
        return None  # too long


def _of_analyzed(found: Analyzed | None, output: tuple[Column, ...] | None) -> dict[str, Any]:
    if found is None:
        return {"output": output}
    return {"output": shape_analyzed.columns(found.output if output is None else output, found), **found.told()}


def _sources(found: Analyzed | None, reads: list[Any]) -> tuple[SourceShape, ...] | None:
    if found is None:
        return None
    options = [dict(one.options) for one in reads] if len(reads) == len(found.leaves) else [None] * len(found.leaves)
    made = [_source(name, text, given) for (name, text), given in zip(found.leaves, options, strict=True)]
    if len(reads) == len(made):
        made = [
            replace(
                one,
                format=shape_sinks.file_format(read.format),
                name=getattr(read, "source_name", "") or None,  # since 4.2
                start=shape_sinks.starts(dict(read.options)),
            )
            for one, read in zip(made, reads, strict=True)
        ]
    return tuple(made)


def _source(name: str, text: str, given: Mapping[str, str] | None) -> SourceShape:
    described = _FILE_SOURCE.search(text)
    if name == "StreamingRelationV2":
        parts = shape_text.split(text)
        groups = shape_text.brackets(text)
        format = parts[1] if len(parts) > 1 else ""
        shown = (
            dict(part.split("=", 1) for part in shape_text.split(groups[0]) if "=" in part) if len(groups) > 1 else {}
        )
        given = given if given is not None else shown
        kind = shape_sinks.source_kind(names.kind(names_of(format)) or format or None)
        what = names.source_of_format(format, given)
    else:
        said = described["described"] if described else text.split(", [", maxsplit=1)[0]
        kind, what = shape_sinks.source_kind(names.kind(said)), names.source(said)
    return SourceShape(kind, redact(what), None if given is None else shape_sinks.limits(given))


def names_of(format: str) -> str:
    """Return the class that Spark describes a format's stream with, where the names know it better."""
    return {"rate": "RateStreamV2", "rate-micro-batch": "RatePerMicroBatchStream", "socket": "TextSocketV2"}.get(
        format, format
    )


def _declared(reads: list[Any]) -> dict[str, tuple[str, bool | None]]:
    """Return name -> type of the columns that readers were told, where a name has one type."""
    found: dict[str, set[str]] = {}
    for one in reads:
        for name, type in _columns(str(one.schema)):
            found.setdefault(name, set()).add(type)
    return {name: (types.pop(), True) for name, types in found.items() if len(types) == 1}


def _columns(schema: str) -> list[tuple[str, str]]:
    try:
        fields = json.loads(schema)["fields"]
        return [(str(one["name"]), type_text(one["type"])) for one in fields]
    except (ValueError, KeyError, TypeError):
        made = [_DDL.match(part) for part in shape_text.split(schema)]
    return [
        (one["name"], _DDL_TYPES.get(one["type"].lower(), one["type"].lower()))
        for one in made
        if one and one["type"].lower() not in ("array", "map", "struct")
    ]
