"""Reads an error, judges it, and says what is known: its kind with the cure, else its owner, last cause and place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from jupyter_streamwatch.diagnosis.errors import (
    cures,
    kinds,  # noqa: F401 - the kinds register themselves
    owners,
)
from jupyter_streamwatch.diagnosis.errors.case import Chain
from jupyter_streamwatch.diagnosis.errors.failure import Failure
from jupyter_streamwatch.diagnosis.errors.registry import Told, judge
from jupyter_streamwatch.model.errors import Cause, causes_of, said
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.text.numbers import clean, middle

if TYPE_CHECKING:
    from jupyter_streamwatch.model.errors import Frame

MAX_CAUSES: Final = 12  # that a failure tells of; the outermost and the last ones
MAX_FRAMES: Final = 5  # of each of them
MAX_MESSAGE: Final = 1_000  # characters of each of them
_NO_NEWS: Final = frozenset({"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "FOREACH_USER_FUNCTION_ERROR"})
"""Conditions that say only that something failed; one below them says what."""


@dataclass(frozen=True)
class Judgement:
    """What is known of an error, and what is said of it."""

    failure: Failure
    told: Told


def judge_error(text: str, condition: str | None, facts: Facts) -> Judgement:
    """Judge the error that ended a run.

    Args:
        text: the error in full, as Spark or a log gave it; may be empty.
        condition: Spark's error condition, where it is told apart from the text.
        facts: what is known of the query: version, sink, state.
    """
    known = _Known(facts.sparkVersion, facts.sinkKind, facts.stateful, facts.temporaryCheckpoint)
    return _judge(text, condition, known)


class _Known(NamedTuple):
    """The facts that what is said depends on."""

    sparkVersion: str | None
    sinkKind: str | None
    stateful: tuple[str, ...] | None
    temporaryCheckpoint: bool | None


@lru_cache(maxsize=16)
def _judge(text: str, condition: str | None, known: _Known) -> Judgement:
    """Judge an error; a failed query is looked at again and again, so what was said is kept."""
    causes = causes_of(text) or (Cause("", condition or "", condition),)
    if condition and all(cause.condition is None for cause in causes):
        causes = (replace(causes[0], condition=condition), *causes[1:])
    facts = Facts(**known._asdict())
    chain = Chain(causes, facts)
    judged = judge(chain)
    if judged is None:
        owner = chain.last_owner
        return Judgement(_failure("unknown", owner, chain, None), _unknown(chain, owner))
    kind, case = judged
    vague = case.owner in (owners.UNKNOWN, owners.SPARK) and kind.otherwise is not None
    owner = kind.owner or (kind.otherwise if vague else None) or case.owner
    return Judgement(_failure(kind.name, owner, chain, case.cause), kind.tell(case))


def _failure(kind: str, owner: str, chain: Chain, cause: Cause | None) -> Failure:
    causes = chain.causes
    conditions = [one for one in causes if one.condition is not None]
    telling = [one for one in conditions if one.condition not in _NO_NEWS] or conditions
    named = cause if cause is not None and cause.condition is not None else telling[-1] if telling else None
    # Spark writes it at the end of a message, which may be after the exceptions in that message.
    begin = next((place for place, one in enumerate(causes) if one is named), 0)
    state = next((one.sqlState for one in causes[begin:] if one.sqlState is not None), None)
    kept = causes if len(causes) <= MAX_CAUSES else (*causes[:3], *causes[3 - MAX_CAUSES :])
    return Failure(
        kind=kind,
        owner=owner,
        condition=named.condition if named is not None else None,
        sqlState=state,
        message=middle(chain.last.message, MAX_MESSAGE),
        frame=chain.own_frame or _failed_call(chain),
        causes=tuple(
            replace(one, message=middle(one.message, MAX_MESSAGE), frames=one.frames[:MAX_FRAMES]) for one in kept
        ),
    )


def _failed_call(chain: Chain) -> Frame | None:
    """The innermost call of the last cause that somebody owns."""
    frames = chain.last.frames or next((one.frames for one in reversed(chain.causes) if one.frames), ())
    owned = (frame for frame in frames if frame.language == "python" or owners.of_name(frame.function))
    return next(owned, frames[0] if frames else None)


def _unknown(chain: Chain, owner: str) -> Told:
    """Tell what is certain of an error that is no usual one: its owner, its place, and what a start does."""
    frame = _failed_call(chain)
    where = f", at {frame}" if frame is not None else ""
    whose = f"The failing call belongs to {owners.words(owner)}{where}." if owner != owners.UNKNOWN else (
        f"The failing call is {frame}." if frame is not None else "The text does not show where it failed."
    )  # fmt: skip
    own = f" The nearest code of your own is {chain.own_frame}." if chain.own_frame not in (None, frame) else ""
    return Told(
        title=f"The query failed: {middle(clean(said(chain.last)), 160)}",
        why=whose + own,
        cures=(
            cures.restart(chain.facts),
            (
                "If it fails in the same way again, the reason is still there: in the rows of that batch, in the code,"
                " or in what it calls. The checkpoint is needed for what comes after it: leave it as it is."
            ),
        ),
    )
