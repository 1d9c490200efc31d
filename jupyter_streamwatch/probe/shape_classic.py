"""The shape of a classic query: from its analyzed plan, from what Spark would do, and from its writer's own fields.

The analyzed plan of a run and of the DataFrame it was started from are the same text, apart from ids.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.probe import (
    jvm,
    names,
    plan,
    shape_analyzed,
    shape_expressions,
    shape_sinks,
    shape_state,
    shape_text,
    shape_types,
)
from jupyter_streamwatch.redaction import redact
from jupyter_streamwatch.shape import Column, Shape, SourceShape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_streamwatch.probe.shape_analyzed import Analyzed
    from jupyter_streamwatch.shape import OperatorShape

_LEAVES = ("StreamingRelation", "StreamingRelationV2", "StreamingExecutionRelation")
_RATES = frozenset({"rowspersecond", "rowsperbatch", "rampuptime"})


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


def of_run(gateway: Any, run: Any, version: str | None, mode: str | None, sink: str | None) -> Shape:
    """Return the shape of a run, from Spark's own ``StreamExecution`` and what is known of it already."""
    kind = names.kind(sink)
    conf = run.sparkSession().conf()
    from jupyter_streamwatch.probe.shape_of import PINNED

    found = {name: _quiet(lambda name=name: str(conf.get(name))) for name in PINNED}
    return Shape(
        mode="classic",
        sparkVersion=version,
        outputMode=mode,
        sink=kind,
        sinkPath=shape_sinks.path(kind, _options(gateway, run)) or shape_sinks.described(kind, sink),
        sinkFormat=_quiet(lambda: shape_sinks.file_format(_field(run.sink(), "fileFormat").toString())),
        conf=tuple((name, value) for name, value in found.items() if value is not None),
        **_of_plan(gateway, run.analyzedPlan()),
    )


def _of_query(x: Any, settings: Iterable[str]) -> Shape:
    handle = x._jsq  # noqa: SLF001 - the only way from PySpark to the run's own object
    run = handle.streamingQuery() if handle.getClass().getSimpleName() == "StreamingQueryWrapper" else handle
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001
    analyzed = run.analyzedPlan()
    described = str(run.sink().toString())
    made = of_run(gateway, run, str(run.sparkSession().version()), str(run.outputMode().toString()).lower(), described)
    conf = run.sparkSession().conf()
    found = {name: _quiet(lambda name=name: str(conf.get(name))) for name in settings}
    text = str(handle.explainInternal(True))
    physical = shape_text.section(text, "Physical Plan")
    # A run plans each batch anew, with ids of its own: the names of the plan it began with tell the types.
    types = {**_types(analyzed, by_name=True), **_types(analyzed)}
    state = shape_state.read(physical, types, made.operators or ()) if physical else None
    told = {**made.__dict__, "state": state}
    told["conf"] = tuple((name, value) for name, value in found.items() if value is not None)
    return Shape(**told)


def _of_plan(gateway: Any, analyzed: Any) -> dict[str, Any]:
    try:
        found = shape_analyzed.read(str(analyzed.treeString()))  # toString() of a source alone is its name
    except ValueError:
        found = None  # too long: what needs no text is told all the same
    output = _output(analyzed, found)
    told = {"sources": _sources(gateway, analyzed), "output": output}
    if found is None:
        return told
    return {
        **told,
        "filters": tuple(redact(text) for text in found.filters),
        "truncated": found.truncated,
        "operators": tuple(found.operators),
        "watermarks": tuple(found.watermarks),
    }


def _output(analyzed: Any, found: Analyzed | None) -> tuple[Column, ...]:
    columns = json.loads(str(analyzed.schema().json()))["fields"]
    origins = (
        [one.origin for one in found.output] if found and len(found.output) == len(columns) else [None] * len(columns)
    )
    return tuple(
        Column(
            shape_expressions.steady(str(one["name"])),
            shape_types.type_text(one["type"]),
            bool(one["nullable"]),
            origin and redact(origin),
        )
        for one, origin in zip(columns, origins, strict=True)
    )


def _sources(gateway: Any, analyzed: Any) -> tuple[SourceShape, ...]:
    """Name the sources; one that the plan reads twice counts twice, as in the checkpoint's offsets."""
    made: list[SourceShape] = []
    for node in jvm.sequence(analyzed.collectLeaves()):
        name = node.getClass().getSimpleName()
        if name not in _LEAVES:
            continue
        options = plan.options(gateway, name, node)
        told = str(node.sourceName())
        kind = names.kind(told) if "[" in told else names.kind(told) or told
        limits = {key.lower(): redact(value) for key, value in options.items() if _is_limit(key)}
        what = redact(plan.source(node, options))
        format = _quiet(lambda node=node: shape_sinks.file_format(node.dataSource().className()))
        made.append(SourceShape(shape_sinks.source_kind(kind), what, tuple(sorted(limits.items())), format))
    return tuple(made)


def _is_limit(option: str) -> bool:
    return option.lower() in plan.LIMITS or option.lower() in _RATES


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
                told = shape_types.type_text(part["dataType"]), bool(part["nullable"])
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
    source = _quiet(lambda: _field(writer, "source"))
    if source is None:
        source = _quiet(lambda: str(spark.conf.get("spark.sql.sources.default")))
    kind = shape_sinks.kind(str(source)) if source else None
    mode = _quiet(lambda: str(_field(writer, "outputMode").toString()).lower())
    options = _quiet(lambda: dict(jvm.to_data(gateway)(_field(writer, "extraOptions")))) or {}
    return {
        "sink": kind,
        "sinkPath": shape_sinks.path(kind, options),
        "sinkFormat": shape_sinks.file_format(source),
        "outputMode": mode,
    }


def _options(gateway: Any, run: Any) -> dict[str, str]:
    """Return the options of a run's writer: a private field; nothing where there is none of that name."""
    return _quiet(lambda: dict(jvm.to_data(gateway)(_field(run, "extraOptions")))) or {}


def _field(thing: Any, name: str) -> Any:
    found = thing.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(thing)


def _quiet(question: Any) -> Any:
    try:
        return question()
    except Exception:
        return None
