"""The rules by their codes: what each is for, and which are switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from jupyter_streamwatch.diagnosis.result import Hint  # noqa: TC001 - the alias needs it
from jupyter_streamwatch.diagnosis.thresholds import Thresholds
from jupyter_streamwatch.diagnosis.utilisation import Load
from jupyter_streamwatch.diagnosis.window import Window

Check: TypeAlias = Callable[[Window, Load], "Hint | None"]

GUIDE = "https://spark.apache.org/docs/latest/streaming/"
API = GUIDE + "apis-on-dataframes-and-datasets.html"


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        code: Its stable name.
        family: The family of rules it belongs to.
        about: What it finds, in one sentence.
        check: The function that looks at a window and returns a hint or None.
    """

    code: str
    family: str
    about: str
    check: Check


class Rules(Mapping[str, Rule]):
    """All rules by code; ``switch_off(code)`` silences one, in every view, until ``switch_on`` takes it back.

    ``rules.thresholds = Thresholds(behind=1.2)`` sets what counts as late, slow, large or many, for every diagnosis
    that is not given thresholds of its own.
    """

    def __init__(self) -> None:
        """Start without a rule."""
        self._rules: dict[str, Rule] = {}
        self._off: frozenset[str] = frozenset()
        self._thresholds = Thresholds()

    def __getitem__(self, code: str) -> Rule:
        """Return a rule; KeyError that names the right codes for an unknown one."""
        rule = self._rules.get(code)
        if rule is None:
            raise KeyError(f"No rule {code!r}. The rules are: {', '.join(self._rules)}.")
        return rule

    def __iter__(self) -> Iterator[str]:
        """Iterate over the codes."""
        return iter(self._rules)

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self._rules)

    def __repr__(self) -> str:
        """One line a rule: its code, what it finds, and whether it is switched off."""
        return "\n".join(f"{code:<24} {one.about}{' (off)' * (code in self._off)}" for code, one in self._rules.items())

    @property
    def off(self) -> frozenset[str]:
        """Codes of the rules that are switched off."""
        return self._off

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of every diagnosis that is not given its own."""
        return self._thresholds

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds) -> None:
        if not isinstance(thresholds, Thresholds):
            raise TypeError(f"rules.thresholds takes a Thresholds object, not {type(thresholds).__name__}.")
        self._thresholds = thresholds

    def switch_off(self, *codes: str) -> None:
        """Silence rules; KeyError for an unknown code."""
        self._off |= {self[code].code for code in codes}

    def switch_on(self, *codes: str) -> None:
        """Let rules speak again, all of them without an argument; KeyError for an unknown code."""
        self._off -= {self[code].code for code in codes} if codes else self._off

    def add(self, rule: Rule) -> None:
        """Add a rule; ValueError when its code is taken."""
        if rule.code in self._rules:
            raise ValueError(f"Rule {rule.code!r} is there already.")
        self._rules[rule.code] = rule


rules = Rules()


def rule(code: str, about: str, *, family: str = "") -> Callable[[Check], Check]:
    """Make a function a rule; its family is what its module is named after, unless it says so."""

    def register(check: Check) -> Check:
        rules.add(Rule(code, family or check.__module__.rsplit(".", 1)[-1], about, check))
        return check

    return register
