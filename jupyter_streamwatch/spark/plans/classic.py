"""The shape of a classic query: from its analyzed plan, from what Spark would do, and from its writer's own fields.

The analyzed plan of a run and of the DataFrame it was started from are the same text, apart from ids.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model.query_shape import Column, Shape, SourceShape
from jupyter_streamwatch.model.spark_types import type_text
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.spark import fallback, jvm
from jupyter_streamwatch.spark.plans import analyzed as shape_analyzed
from jupyter_streamwatch.spark.plans import nodes as plan
from jupyter_streamwatch.spark.plans import sinks as shape_sinks
from jupyter_streamwatch.spark.plans import state as shape_state
from jupyter_streamwatch.spark.plans import text as shape_text
from jupyter_streamwatch.text import spark_names as names
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jupyter_streamwatch.model.query_shape import OperatorShape


_NAME = re.compile(r'^name="(?P<name>\w+)"$')


def read(x: Any, what: str, settings: Iterable[str]) -> Shape:
    """Return the shape of a DataFrame, a writer or a query; may raise what py4j raises, and may wait."""
    if what == "StreamingQuery":
        return _of_query(x, settings)
    frame = x._df if what == "DataStreamWriter" else x  # noqa: SLF001 - a writer does not tell its DataFrame
    spark = frame.sparkSession
    gateway = jvm.gateway(spark)
    analyzed = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    told = _of_plan(gateway, analyzed) | shape_sinks.session(spark, settings)
    if what == "DataStreamWriter":
        told |= _of_writer(gateway, x._jwrite, spark)  # noqa: SLF001
    operators = told.get("operators")
    state = None if operators is None else _state(gateway, frame, operators)
    return Shape(mode="classic", **told | {"state": state})


def of_run(
    gateway: Any,
    run: Any,
    version: str | None,
    mode: str | None,
    sink: str | None,
    *,
    settings: Iterable[str] = shape_sinks.PINNED,
) -> Shape:
    """Return the shape of a run, from Spark's own ``StreamExecution`` and what is known of it already."""
    kind = names.kind(sink)
    options = _options(gateway, run)
    return Shape(
        mode="classic",
        sparkVersion=version,
        outputMode=mode,
        sink=kind,
        trigger=_trigger(run.trigger),
        options=None if options is None else shape_sinks.of_writer(options),
        sinkPath=shape_sinks.path(kind, options or {}) or shape_sinks.described(kind, sink),
        sinkFormat=_quiet(lambda: shape_sinks.file_format(jvm.field(run.sink(), "fileFormat").toString())),
        conf=shape_sinks.settings(run.sparkSession().conf(), settings),
        **_of_plan(gateway, run.analyzedPlan()),
    )


def _of_query(x: Any, settings: Iterable[str]) -> Shape:
    run = jvm.execution(x)
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001
    analyzed = run.analyzedPlan()
    described = str(run.sink().toString())
    version, mode = str(run.sparkSession().version()), str(run.outputMode().toString()).lower()
    made = of_run(gateway, run, version, mode, described, settings=settings)
    text = str(x._jsq.explainInternal(True))  # noqa: SLF001 - explain() itself prints
    physical = shape_text.section(text, "Physical Plan")
    # A run plans each batch anew, with ids of its own: the names of the plan it began with tell the types.
    types = {**_types(analyzed, by_name=True), **_types(analyzed)}
    state = shape_state.read(physical, types, made.operators or ()) if physical else None
    return replace(made, state=state)


def _of_plan(gateway: Any, analyzed: Any) -> dict[str, Any]:
    try:
        found = shape_analyzed.read(str(analyzed.treeString()))  # toString() of a source alone is its name
    except ValueError:
        found = None  # too long: what needs no text is told all the same
    fields = json.loads(str(analyzed.schema().json()))["fields"]
    schema = [Column(str(one["name"]), type_text(one["type"]), bool(one["nullable"])) for one in fields]
    told = {"sources": _sources(gateway, analyzed), "output": shape_analyzed.columns(schema, found)}
    return told if found is None else told | found.told()


def _sources(gateway: Any, analyzed: Any) -> tuple[SourceShape, ...]:
    """Name the sources; one that the plan reads twice counts twice, as in the checkpoint's offsets."""
    made: list[SourceShape] = []
    for node in jvm.sequence(analyzed.collectLeaves()):
        name = node.getClass().getSimpleName()
        if name not in plan.LEAVES:
            continue
        options = plan.options(gateway, name, node)
        told = str(node.sourceName())
        kind = names.kind(told) if "[" in told else names.kind(told) or told
        limits = shape_sinks.limits(options)
        what = redact(plan.source(node, options))
        format = _quiet(lambda node=node: shape_sinks.file_format(node.dataSource().className()))
        named = _quiet(lambda node=node: _NAME.search(str(node.sourceIdentifyingName().toString())))  # since 4.2
        start = shape_sinks.starts(options)
        kind = shape_sinks.source_kind(kind)
        made.append(SourceShape(kind, what, limits, format, named["name"] if named else None, start))
    return tuple(made)


def _types(analyzed: Any, *, by_name: bool = False) -> dict[str, tuple[str, bool | None]]:
    """Return ``#id``, or the name, -> (type, nullable) of every column of the plan; of a name with several, none."""
    found: dict[str, set[tuple[str, bool | None]]] = {}
    waiting: list[Any] = [json.loads(str(analyzed.toJSON()))]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            if str(part.get("class")).endswith(".AttributeReference"):
                key = str(part["name"]) if by_name else f"#{part['exprId']['id']}"
                told = type_text(part["dataType"]), bool(part["nullable"])
                found.setdefault(key, set()).add(told)
            else:
                waiting += [value for value in part.values() if isinstance(value, (list, dict))]
    return {key: told.pop() for key, told in found.items() if len(told) == 1}


def _state(gateway: Any, frame: Any, operators: Sequence[OperatorShape]) -> Any:
    """Return what the operators will keep, by the physical plan that Spark would run.

    Spark explains a stream as one only where the plan as written is known to read one, which SQL text is not: the
    alias stands on the analyzed plan.
    """
    execution = frame._jdf.alias("streamwatch").queryExecution()  # noqa: SLF001
    text = str(gateway.jvm.PythonSQLUtils.explainString(execution, "extended"))
    physical = shape_text.section(text, "Physical Plan")
    types = _types(execution.analyzed())
    if physical is None or len(physical) > shape_text.MOST_TEXT:
        return shape_state.planned(operators, types)
    return shape_state.read(physical, types, operators)


def _of_writer(gateway: Any, writer: Any, spark: Any) -> dict[str, Any]:
    """Read a writer's private fields; there is no public way before its start."""
    source = _quiet(lambda: jvm.field(writer, "source"))
    if source is None:
        source = _quiet(lambda: str(spark.conf.get("spark.sql.sources.default")))
    kind = shape_sinks.kind(str(source)) if source else None
    mode = _quiet(lambda: str(jvm.field(writer, "outputMode").toString()).lower())
    options = _options(gateway, writer)
    return {
        "sink": kind,
        "trigger": _trigger(lambda: jvm.field(writer, "trigger")),
        "options": None if options is None else shape_sinks.of_writer(options),
        "sinkPath": shape_sinks.path(kind, options or {}),
        "sinkFormat": shape_sinks.file_format(source),
        "outputMode": mode,
    }


def _trigger(question: Callable[[], Any]) -> str | None:
    """Return the kind of a trigger."""
    told: str | None = _quiet(lambda: Trigger.parse(str(question().toString()), "asked").kind)
    return told


def _options(gateway: Any, holder: Any) -> dict[str, str] | None:
    """Return the options of a writer, or of the run that it started; None where they have another name."""
    told: dict[str, str] | None = _quiet(lambda: dict(jvm.to_data(gateway)(jvm.field(holder, "extraOptions"))))
    return told


def _quiet(question: Any) -> Any:
    try:
        return question()
    except Exception:
        fallback.taken()
        return None
