"""The user's own functions: what is left when no kind before knows better."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Chain, Sign
from jupyter_streamwatch.diagnosis.errors.registry import GUIDE, Told, kind
from jupyter_streamwatch.model.errors import said
from jupyter_streamwatch.text.numbers import middle

_FUNCTIONS = GUIDE + "apis-on-dataframes-and-datasets.html#using-foreach-and-foreachbatch"


_SHORT = 150  # characters of a message that the evidence has in full
_TWO = 2  # causes: the function's error and what Spark says around it
_OWN = (owners.WORKER, owners.DRIVER, owners.PYTHON, owners.JVM)
_NAMES = {
    owners.WORKER: "A Python function of the query",
    owners.DRIVER: "Python code in the driver (foreachBatch runs there)",
    owners.JVM: "JVM code that is not Spark's",
}
# What Spark answers to a wrong call: the caller is at fault.
_ANSWERS = ("AnalysisException", "ParseException", "IllegalArgumentException", "UnsupportedOperationException")


def _own_fault(chain: Chain) -> bool:
    """Whether the last cause was raised by the user's code, or is what Spark answered to a wrong call of it."""
    if chain.last_owner in _OWN:
        return True
    return chain.last_owner in (owners.SPARK, owners.UNKNOWN) and chain.last.simple in _ANSWERS


def _raised_there(chain: Chain) -> bool:
    """Whether nobody else is known to have raised the last cause."""
    return chain.last_owner in (*_OWN, owners.SPARK, owners.UNKNOWN)


@kind(
    "user-function",
    Sign(owners=_OWN, where=_own_fault),
    Sign(conditions=("FOREACH_BATCH_USER_FUNCTION_ERROR", "FOREACH_USER_FUNCTION_ERROR"), where=_own_fault),
    Sign(
        conditions=("FOREACH_BATCH_USER_FUNCTION_ERROR",),
        where=lambda chain: chain.last is chain.causes[-1] and len(chain.causes) <= _TWO and _raised_there(chain),
    ),
    Sign(
        conditions=(
            "FLATMAPGROUPSWITHSTATE_USER_FUNCTION_ERROR",
            "TRANSFORM_WITH_STATE_USER_FUNCTION_ERROR",
            "FAILED_EXECUTE_UDF",
            "PYTHON_EXCEPTION",
        ),
        where=_raised_there,
    ),
    Sign(names=("PythonException",), where=_raised_there),
    Sign(says=r"Failed to execute user defined function", where=_raised_there),
)
def user_function(case: Case) -> Told:
    """Tell which line of the user's code failed."""
    owner, frame, last = case.owner, case.chain.own_frame, case.chain.last
    where = f" at {frame}" if frame is not None else ""
    named = _NAMES.get(owner, "A function of the query")
    what = middle(said(last), _SHORT).rstrip(".;: ")
    return Told(
        title="A function of the query raised an error" + (f": {last.simple}" if last.name else ""),
        why=f"{named} failed{where}: {what}.",
        cures=(
            cures.fails_again("Mend the call that it names.", case.facts)
            if last.simple in _ANSWERS
            else cures.may_fail_again(
                "If a service that it calls failed, start the query again first. Else mend the function, or let it"
                " put bad rows aside.",
                case.facts,
            ),
        ),
        link=_FUNCTIONS,
    )
