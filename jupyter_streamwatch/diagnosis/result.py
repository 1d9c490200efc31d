"""What a diagnosis says: plain, frozen data that every view turns into words, JSON or marks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_streamwatch.diagnosis import html
from jupyter_streamwatch.diagnosis.words import NOTHING_WRONG, nothing_wrong
from jupyter_streamwatch.text.numbers import clean, duration, exact, lines, percent, rate, significant, size, when
from jupyter_streamwatch.text.outside import brief, cut, printable
from jupyter_streamwatch.text.plain import LONG, TEXT, plain
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.errors import Failure

SEVERITIES = ("critical", "warning", "info")

LEVELS = {
    "failed": "critical",
    "finished": "ok",
    "stopped": "muted",
    "stuck": "critical",
    "starting": "muted",
    "idle": "muted",
    "falling-behind": "critical",
    "catching-up": "info",
    "at-capacity": "warning",
    "keeping-up": "ok",
    "running": "info",
    "unknown": "muted",
}
"""Level of each verdict, for its colour and shape; ``falling-behind`` is a warning while the lag does not grow."""

LABELS = {
    "failed": "Failed",
    "finished": "Finished",
    "stopped": "Stopped",
    "stuck": "Stuck",
    "starting": "Starting",
    "idle": "Idle",
    "falling-behind": "Falling behind",
    "catching-up": "Catching up",
    "at-capacity": "At capacity",
    "keeping-up": "Keeping up",
    "running": "Running",
    "unknown": "Unknown",
}
"""The verdicts as a person reads them."""

TIMES_COMPUTED = "times computed"
"""Name of the evidence that says how often a batch was computed: its rows were counted as often."""

Range = tuple[float, float, float]
"""(low, best, high) of a number that was computed, not measured."""


class Evidence(NamedTuple):
    """One number that a hint rests on; also a tuple of (name, value, unit, batches).

    Attributes:
        name: What was measured, in Spark's words where it has some (``addBatch``, ``numShufflePartitions``).
        value: The number, or a text where the evidence is a text (an error class).
        unit: ``ms``, ``rows``, ``rows/s``, ``bytes``, ``partitions``, ``share`` (of 1), ``time`` (epoch ms) or ``""``.
        batches: Ids of the batches it was seen in, at most 20, oldest first; empty when no batch is meant.
    """

    name: str
    value: float | str
    unit: str = ""
    batches: tuple[int, ...] = ()

    def __str__(self) -> str:
        """The evidence on one line: name, number with its unit, batches."""
        ids = self.batches
        where = "" if not ids else f" (batch {ids[-1]})" if len(ids) == 1 else f" (batches {ids[0]} to {ids[-1]})"
        return f"{self.name}: {self._text()}{where}"

    def _text(self) -> str:
        if isinstance(self.value, str):
            return clean(self.value)
        units = {"ms": duration, "bytes": size, "rows/s": rate, "share": percent, "time": when}
        if self.unit in units:
            return units[self.unit](self.value)
        return f"{exact(self.value)} {self.unit}".strip()


@dataclass(frozen=True)
class Effect:
    """What a fix is predicted to do.

    Attributes:
        name: What changes (``batch time``, ``backlog gone in``).
        low: Lower end of the range.
        best: The prediction.
        high: Upper end of the range.
        unit: As in :class:`Evidence`.
        text: The same as a sentence.
    """

    name: str
    low: float
    best: float
    high: float
    unit: str
    text: str


@dataclass(frozen=True, repr=False)
class Hint:
    """One finding: what it is, what shows it, why it happens, and what to do.

    Attributes:
        code: Stable name of the rule, as in ``sw.rules``.
        severity: ``info``, ``warning`` or ``critical``.
        title: The finding in one line.
        evidence: The numbers behind it.
        cause: Why it happens, in one sentence.
        fix: What to do.
        code_fix: Code to paste, computed for this query; None when there is none.
        effect: What the fix is predicted to change; None when that cannot be computed.
        under: Code of the hint that causes this one; None for a hint of its own.
        link: The page of Spark's documentation that explains it.
        share: Share of the batch time lost to it (0 to 1), for the order of hints; None when it costs no time.
        failure: What stopped the query, as data; None but for ``query-failed``.
    """

    code: str
    severity: str
    title: str
    evidence: tuple[Evidence, ...]
    cause: str
    fix: str
    code_fix: str | None = None
    effect: Effect | None = None
    under: str | None = None
    link: str = ""
    share: float | None = None
    failure: Failure | None = None

    __repr__ = brief

    def __str__(self) -> str:
        """The hint as lines of text: title, evidence, cause, fix, code, effect, link."""
        text = [f"[{self.severity}] {_said(self.title)} ({self.code})"]
        text += [f"    {_said(str(evidence))}" for evidence in self.evidence]
        text += [f"  Why: {_said(self.cause)}", f"  Fix: {_said(self.fix)}"]
        if self.code_fix:
            text += [f"      {line}" for line in cut(printable(self.code_fix), LONG).split("\n")]
        if self.effect is not None:
            text.append(f"  Then: {_said(self.effect.text)}")
        return redact("\n".join([*text, f"  See: {self.link}"]))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython's signature
        lines(printer, str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the hint as JSON-ready data, without secrets."""
        data = asdict(self)
        if self.failure is not None:
            data["failure"]["causes"] = [
                {**cause, "frames": list(cause["frames"])} for cause in data["failure"]["causes"]
            ]
        data["evidence"] = [{**one._asdict(), "batches": list(one.batches)} for one in self.evidence]
        redacted: dict[str, Any] = plain(data)
        return redacted


@dataclass(frozen=True)
class Capacity:
    """How much a query can do, from a fit of batch time = fixed cost + rows x cost a row.

    Each number is (low, best, high), or None when it cannot be told.

    Attributes:
        max_rows_per_second: Highest rate the query sustains at its trigger interval; without an interval, the rate
            that ever larger batches approach.
        min_trigger_seconds: Shortest trigger interval it could keep at its present rate.
        fixed_ms: Time of a batch that does not depend on its rows.
        ms_per_1000_rows: Time that 1,000 more rows take.
        reason: Why something is unknown, or how far the numbers reach beyond what was seen; "" when neither.
        batches: How many batches the fit rests on.
        rows_per_second: Rows that arrive a second now; None when unknown.
    """

    max_rows_per_second: Range | None = None
    min_trigger_seconds: Range | None = None
    fixed_ms: Range | None = None
    ms_per_1000_rows: Range | None = None
    reason: str = ""
    batches: int = 0
    rows_per_second: float | None = None

    @property
    def sentence(self) -> str:
        """What is known, for people: the highest rate, the present one, the shortest interval; empty when unknown."""
        parts = []
        if self.max_rows_per_second is not None:
            low, best, high = (significant(one) for one in self.max_rows_per_second)
            now = f"; now {significant(self.rows_per_second)}" if self.rows_per_second is not None else ""
            parts.append(f"Keeps up to about {best} rows/s ({low} to {high}){now}.")
        if self.min_trigger_seconds is not None and self.min_trigger_seconds[1] >= 0.001:  # below, it is noise
            low, best, high = (duration(one * 1000) for one in self.min_trigger_seconds)
            parts.append(f"Shortest trigger interval: about {best} ({low} to {high}).")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the capacity as JSON-ready data; ranges are [low, best, high]."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Backlog:
    """What waits in the sources, where they say so.

    Attributes:
        rows: How many waited after the last batch; None when a source does not say.
        trend: ``grows``, ``shrinks`` or ``steady`` over the last batches; None when too few tell.
        rows_per_second: How fast the rows change; below 0 when they shrink.
        gone_in_ms: Time until it is gone at this speed; None unless it shrinks.
        unit: ``rows``, ``files``, ``offsets``, ``bytes`` or ``ms``; None when no source says.
        amount: How much waits, in that unit; where ``rows`` is None it is of one source, the one that falls behind
            where one does.
        per_second: How fast the amount changes.
        text: The same as a clause (``up to 12.4k rows wait``); empty when no source says.
    """

    rows: float | None = None
    trend: str | None = None
    rows_per_second: float | None = None
    gone_in_ms: float | None = None
    unit: str | None = None
    amount: float | None = None
    per_second: float | None = None
    text: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a prediction that a hint made for the run before.

    Attributes:
        code: Code of that hint; this run no longer has it.
        name: What was predicted, as in :class:`Effect`.
        predicted: (low, best, high).
        before: The number in the run before.
        now: The number in this run.
        unit: As in :class:`Evidence`.
        text: The same as one sentence.
    """

    code: str
    name: str
    predicted: Range
    before: float
    now: float
    unit: str
    text: str

    @property
    def true(self) -> bool:
        """Whether it came out as predicted, or better."""
        return self.now <= self.predicted[2]


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """The judgement of one query.

    Attributes:
        verdict: One of the keys of ``LEVELS``.
        reason: One sentence: why this verdict, with its numbers.
        hints: Most important first, a symptom right after the hint that causes it.
        capacity: What the query could do.
        backlog: What waits, and where that goes.
        outcome: What became of a prediction for the run before; None when none was made, or nothing tells yet.
        worsens: Whether the lag is known to grow; a query that only misses its trigger interval lags by about a batch.
    """

    verdict: str
    reason: str
    hints: tuple[Hint, ...] = ()
    capacity: Capacity = field(default_factory=Capacity)
    backlog: Backlog = field(default_factory=Backlog)
    outcome: Outcome | None = None
    worsens: bool = False

    __repr__ = brief

    @property
    def label(self) -> str:
        """The verdict as a person reads it, such as ``Falling behind``."""
        return LABELS[self.verdict]

    @property
    def level(self) -> str:
        """``ok``, ``info``, ``warning``, ``critical`` or ``muted``."""
        lags = self.verdict == "falling-behind" and not self.worsens
        return "warning" if lags else LEVELS[self.verdict]

    def __str__(self) -> str:
        """The diagnosis as text for a terminal: the verdict, then each hint, a symptom indented under its cause."""
        found = [f"{self.label}: {_said(self.reason)}", *([_said(self.outcome.text)] if self.outcome else [])]
        if self.capacity.sentence:
            found.append(self.capacity.sentence)
        for hint in self.hints:
            indent = "    " if hint.under else ""
            found += ["", *(indent + line for line in str(hint).split("\n"))]
        if not self.hints and nothing_wrong(self.verdict, self.backlog.amount):
            found.append(NOTHING_WRONG)
        return redact("\n".join(found))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython's signature
        lines(printer, str(self))

    def _repr_html_(self) -> str:
        return html.page(self.to_dict(), self.capacity.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON-ready data, without secrets."""
        return {
            "verdict": self.verdict,
            "label": self.label,
            "level": self.level,
            "reason": redact(self.reason),
            "hints": [hint.to_dict() for hint in self.hints],
            "capacity": self.capacity.to_dict(),
            "backlog": dict(vars(self.backlog)),
            "worsens": self.worsens,
            "outcome": None if self.outcome is None else {**plain(vars(self.outcome)), "true": self.outcome.true},
        }


def _said(text: str) -> str:
    """A sentence on a terminal: what is in it from outside moves no cursor and fills no screen."""
    return cut(printable(text), TEXT)
