"""A failure that is judged: the chain of its causes, the facts of the query, and the cause that a kind looks at."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from jupyter_streamwatch.diagnosis.errors import owners
from jupyter_streamwatch.model.errors import last_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.model.errors import Cause, Frame
    from jupyter_streamwatch.model.facts import Facts


@dataclass(frozen=True)
class Chain:
    """The causes of a failure with the facts of its query."""

    causes: tuple[Cause, ...]
    facts: Facts

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The owner of each cause."""
        return tuple(owners.owner_at(self.causes, place) for place in range(len(self.causes)))

    @cached_property
    def last(self) -> Cause:
        """The last cause that says what happened."""
        last = last_of(self.causes)
        assert last is not None
        return last

    @cached_property
    def last_owner(self) -> str:
        """The owner of the last cause that says what happened."""
        return next(self.owners[place] for place in range(len(self.causes)) if self.causes[place] is self.last)

    @cached_property
    def own_frame(self) -> Frame | None:
        """The user's code that is nearest to the failure."""
        return owners.own_frame(self.causes)

    @cached_property
    def executor(self) -> str | None:
        """The executor whose task failed; None when no task did."""
        return next((cause.task for cause in reversed(self.causes) if cause.task is not None), None)


@dataclass(frozen=True)
class Case:
    """One cause of a chain that a sign fits."""

    chain: Chain
    place: int
    found: re.Match[str] | None = None

    @property
    def cause(self) -> Cause:
        """The cause."""
        return self.chain.causes[self.place]

    @property
    def owner(self) -> str:
        """Who owns it."""
        return self.chain.owners[self.place]

    @property
    def facts(self) -> Facts:
        """The facts of the query."""
        return self.chain.facts

    def part(self, name: str) -> str | None:
        """A named part of what the sign found in the message; None when it is not there."""
        return self.found.groupdict().get(name) if self.found is not None else None


@dataclass(frozen=True)
class Sign:
    """What a cause must show; all that is given must hold.

    Attributes:
        names: Its simple class, one of these.
        conditions: Its error condition, one of these or below one of these.
        says: What its message has.
        at: What the function of one of its innermost frames has.
        owners: Its owner, one of these.
        above: The simple class of a cause around it, one of these.
        where: What must hold of the whole chain.
    """

    names: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    says: str | None = None
    at: str | None = None
    owners: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    where: Callable[[Chain], bool] | None = None
    _says: re.Pattern[str] | None = field(init=False, default=None, compare=False)
    _at: re.Pattern[str] | None = field(init=False, default=None, compare=False)

    def __post_init__(self) -> None:
        """Compile the patterns once."""
        object.__setattr__(self, "_says", re.compile(self.says, re.IGNORECASE) if self.says else None)
        object.__setattr__(self, "_at", re.compile(self.at) if self.at else None)

    def read(self, chain: Chain, place: int) -> Case | None:
        """Return the case when the cause shows the sign."""
        cause = chain.causes[place]
        fits = (
            (not self.names or cause.simple in self.names)
            and (not self.conditions or _below(cause.condition, self.conditions))
            and (not self.owners or chain.owners[place] in self.owners)
            and (not self.above or any(one.simple in self.above for one in chain.causes[:place]))
            and (self.where is None or self.where(chain))
            and (self._at is None or any(self._at.search(one.function) for one in cause.frames[:_INNERMOST]))
        )
        if not fits or self._says is None:
            return Case(chain, place) if fits else None
        found = self._says.search(cause.message)
        return Case(chain, place, found) if found is not None else None


_INNERMOST = 15  # frames in which a sign is looked for


def _below(condition: str | None, wanted: tuple[str, ...]) -> bool:
    return condition is not None and any(condition == one or condition.startswith(one + ".") for one in wanted)
