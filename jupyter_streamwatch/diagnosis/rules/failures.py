"""Rules about queries that failed or run twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.errors import judge_error
from jupyter_streamwatch.diagnosis.errors.owners import words
from jupyter_streamwatch.diagnosis.registry import API, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.model.error_line import error_line
from jupyter_streamwatch.text.numbers import clean
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window
    from jupyter_streamwatch.model.history import HistoryView


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


def _started(history: HistoryView) -> float:
    return history.runs[-1].started or 0.0
