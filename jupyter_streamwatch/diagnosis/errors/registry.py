"""The kinds of failure: each a function that says what happened and what to do, with the signs that show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from jupyter_streamwatch.diagnosis.errors.case import Case, Chain, Sign

GUIDE = "https://spark.apache.org/docs/latest/streaming/"
RECOVERY = GUIDE + "apis-on-dataframes-and-datasets.html#recovering-from-failures-with-checkpointing"
CHANGES = GUIDE + "apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query"
KAFKA = GUIDE + "structured-streaming-kafka-integration.html"


@dataclass(frozen=True)
class Told:
    """What is said of a failure.

    Attributes:
        title: What happened, in one line.
        why: Why it happens.
        cures: What to do, the cheapest first, each with its price.
        code: Code to paste; None without any.
        link: The page of the documentation.
    """

    title: str
    why: str
    cures: tuple[str, ...]
    code: str | None = None
    link: str = RECOVERY


Teller: TypeAlias = Callable[[Case], Told]


@dataclass(frozen=True)
class Kind:
    """A usual way to fail.

    Attributes:
        name: Its stable name.
        signs: What shows it, any of these.
        tell: What is said of it.
        owner: Who owns it whatever the frames say; None when the frames decide.
        otherwise: Who owns it when the frames do not say; None when that stays unknown.
    """

    name: str
    signs: tuple[Sign, ...]
    tell: Teller
    owner: str | None = None
    otherwise: str | None = None


KINDS: list[Kind] = []


def kind(name: str, *signs: Sign, owner: str | None = None, otherwise: str | None = None) -> Callable[[Teller], Teller]:
    """Make a function the teller of a kind. Of kinds that fit one cause the one that was registered first wins."""

    def register(tell: Teller) -> Teller:
        KINDS.append(Kind(name, signs, tell, owner, otherwise))
        return tell

    return register


def judge(chain: Chain) -> tuple[Kind, Case] | None:
    """The kind of a failure: that of the last cause that shows any."""
    for place in range(len(chain.causes) - 1, -1, -1):
        for one in KINDS:
            for sign in one.signs:
                case = sign.read(chain, place)
                if case is not None:
                    return one, case
    return None
