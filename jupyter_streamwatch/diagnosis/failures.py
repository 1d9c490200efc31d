"""Rules about queries that failed or run twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.errors import judge_error
from jupyter_streamwatch.diagnosis.errors.owners import words
from jupyter_streamwatch.diagnosis.hint import Evidence, Hint
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.format import clean
from jupyter_streamwatch.notes import error_line
from jupyter_streamwatch.redaction import redact
from jupyter_streamwatch.runs import goes_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.diagnosis.load import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.history import History


@rule("query-failed", "The query ended with an error.")
def query_failed(window: Window, load: Load) -> Hint | None:
    """Judge the error of the latest run: what stopped it, whose code that is, and what to do, the cheapest first."""
    del load
    run = window.run
    if run is None or run.state != "failed":
        return None
    facts = replace(window.facts, sinkKind=window.sink_kind)
    judgement = judge_error(run.exception or "", run.errorClass, facts)
    failure, told = judgement.failure, judgement.told
    evidence = [Evidence("error", error_line(run))]
    if failure.condition or run.errorClass:
        evidence.insert(0, Evidence("errorClass", failure.condition or run.errorClass or ""))
    if failure.frame is not None:
        evidence.append(Evidence("at", redact(str(failure.frame))))
    if failure.owner != "unknown":
        evidence.append(Evidence("owner", words(failure.owner)))
    if run.lastBatch is not None:
        evidence.append(Evidence("last batch that was done", run.lastBatch, "", (run.lastBatch,)))
    evidence.append(Evidence("kind", failure.kind))
    return Hint(
        code="query-failed",
        severity="critical",
        title=clean(redact(told.title)),
        evidence=tuple(evidence),
        cause=clean(redact(told.why)),
        fix=" ".join(told.cures),
        code_fix=told.code,
        link=told.link,
        failure=failure,
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


def twins(history: History, others: Iterable[History]) -> tuple[History, ...]:
    """Return the active queries that look like this one: run from the same cell, as far as can be known."""
    mine = _signature(history)
    if mine is None:
        return ()
    return tuple(one for one in others if one.id != history.id and _signature(one) == mine)


def _signature(history: History) -> tuple[object, ...] | None:
    """Return what two runs of one cell share; None when the query is not active or too little is known."""
    facts = history.facts
    if history.name or not facts.temporaryCheckpoint or not facts.sources or not facts.sink:
        return None
    if not goes_on(history.runs) or facts.stateful is None or facts.outputMode is None:
        return None
    plan = (facts.stateful, facts.watermarks, facts.trigger, facts.pythonUdf)
    return facts.sources, facts.sink, facts.outputMode, plan


def _started(history: History) -> float:
    return history.runs[-1].started or 0.0
