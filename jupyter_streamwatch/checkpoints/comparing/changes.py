"""What a changed query would meet on an existing checkpoint: changes, each with its verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from jupyter_streamwatch.text.numbers import clean
from jupyter_streamwatch.text.outside import brief, cut
from jupyter_streamwatch.text.plain import TEXT
from jupyter_streamwatch.text.redaction import redact, redact_all

if TYPE_CHECKING:
    from collections.abc import Iterable

What = Literal[
    "sources",
    "grouping-keys",
    "aggregates",
    "watermark",
    "output-mode",
    "sink",
    "filter",
    "projection",
    "rate-limit",
    "join",
    "dedup",
    "state-schema",
    "conf",
    "trigger",
]
Verdict = Literal["not-allowed", "silently-wrong", "changed-meaning", "allowed", "unknown"]

ORDER: tuple[Verdict, ...] = ("not-allowed", "silently-wrong", "unknown", "changed-meaning", "allowed")
"""Which verdict stands first."""
SAID: dict[Verdict, str] = {
    "not-allowed": "not allowed: Spark refuses it",
    "silently-wrong": "silently wrong: Spark runs it, and the result is wrong",
    "changed-meaning": "allowed, with a changed meaning",
    "allowed": "allowed",
    "unknown": "unknown",
}
TAKEN = "a folder with batches of another checkpoint"
"""What a file sink's folder was, where another checkpoint wrote there."""
_LONGEST = 300  # characters of a value in a table


@dataclass(frozen=True, repr=False)
class Change:
    """One difference between the query of a checkpoint and another one.

    Attributes:
        what: Which part of the query: ``grouping-keys``, ``aggregates``, ``sink``, ...
        verdict: What happens with the Spark in use: ``not-allowed`` (Spark refuses), ``silently-wrong`` (Spark runs
            it, but the guide forbids it or the result is wrong), ``changed-meaning`` (allowed; old and new results
            mix), ``allowed``, or ``unknown``.
        was: What the checkpoint, or the last watched run on it, has; None for nothing.
        now: What the query has; None for nothing.
        reason: Why the verdict holds, in a sentence or two.
    """

    what: What
    verdict: Verdict
    was: str | None
    now: str | None
    reason: str

    __repr__ = brief

    def to_dict(self) -> dict[str, Any]:
        """Return the change as plain data, without secrets."""
        found: dict[str, Any] = redact_all(asdict(self))
        return found

    def __str__(self) -> str:
        """One paragraph for a terminal."""
        reason = cut(clean(redact(self.reason)), TEXT)
        return f"{self.what}: {_value(self.was)} → {_value(self.now)}\n  {SAID[self.verdict]}. {reason}"


class Changes(list[Change]):
    """The changes, the worst first; empty when nothing changed.

    Attributes:
        unseen: What could not be compared, as sentences.
    """

    def __init__(self, changes: Iterable[Change] = (), unseen: Iterable[str] = ()) -> None:
        """Hold ``changes``, sorted by verdict."""
        super().__init__(sorted(changes, key=lambda one: ORDER.index(one.verdict)))
        self.unseen = tuple(dict.fromkeys(unseen))

    @property
    def worst(self) -> Verdict | None:
        """The worst verdict; None without changes."""
        return self[0].verdict if self else None

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as plain data, without secrets."""
        return {"changes": [one.to_dict() for one in self], "unseen": [redact(text) for text in self.unseen]}

    def __str__(self) -> str:
        """The changes for a terminal."""
        lines = [str(one) for one in self] or [self._nothing()]
        if self.unseen:
            lines.append("Not compared:\n" + "\n".join(f"  {cut(clean(redact(text)), TEXT)}" for text in self.unseen))
        return "\n".join(lines)

    def _nothing(self) -> str:
        return "Nothing that was compared has changed." if self.unseen else "Nothing has changed."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002 - IPython's signature
        return {"text/plain": str(self), "text/html": self._html()}

    def _html(self) -> str:
        """A plain table: sites that strip styles and scripts from notebooks still show all of it."""
        from jupyter_streamwatch.text.html import el

        head = el("tr", *(el("th", name) for name in ("What", "Verdict", "Was", "Now", "Why")))
        rows = [
            el(
                "tr",
                el("td", one.what),
                el("td", el("strong", SAID[one.verdict])),
                el("td", _value(one.was)),
                el("td", _value(one.now)),
                el("td", cut(clean(redact(one.reason)), TEXT)),
            )
            for one in self
        ]
        table = el("table", el("thead", head), el("tbody", *rows)) if rows else el("p", self._nothing())
        unseen = [el("li", cut(clean(redact(text)), TEXT)) for text in self.unseen]
        return str(el("div", table, *([el("p", "Not compared:"), el("ul", *unseen)] if unseen else [])))


def _value(text: str | None) -> str:
    if text is None:
        return "none"
    shown = clean(redact(text))
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
