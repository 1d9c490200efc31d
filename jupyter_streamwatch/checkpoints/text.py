"""A checkpoint as text: for a terminal, and as plain HTML for a notebook."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from jupyter_streamwatch.checkpoints.logs.offsets import LABELS
from jupyter_streamwatch.text.html import el, name
from jupyter_streamwatch.text.numbers import clean, exact, middle, size, when
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_streamwatch.checkpoints.contents import Contents
    from jupyter_streamwatch.checkpoints.parts import Field, RestartPlan, StateOperator, StateStore

Row = tuple[str, str]
_WIDTH = 110  # characters of a line
_SOURCES = 4  # rows; the rest is counted
_OPERATORS = 3
_STORES = 4
_PROBLEMS = 4
_SENTENCES = 9
_LINES = 29
_CURES = 16  # more lines, and as many sentences more, where something must be done
_GAPS = 4  # of a log that are named
_PINNED = {
    "spark.sql.shuffle.partitions": "shuffle partitions",
    "spark.sql.streaming.stateStore.providerClass": "state store",
    "spark.sql.streaming.multipleWatermarkPolicy": "watermark policy",
}


def rows(checkpoint: Contents, plan: RestartPlan) -> list[Row]:
    """What it holds, as (label, text); a label that repeats is empty."""
    found = [
        ("Checkpoint", clean(checkpoint.path)),
        ("Query id", checkpoint.id or "n/a"),
        ("Size", _size(checkpoint)),
        ("Batches", _batches(checkpoint)),
        *(("", gaps) for gaps in _gaps(checkpoint)),
    ]
    planned = checkpoint.lastOffset
    if planned is not None:
        entry = checkpoint.offsets[planned]
        if plan.watermarkMs is not None:
            found.append(("Watermark", when(plan.watermarkMs)))
        sources = [f"source {one.index} ({LABELS.get(one.kind, one.kind)}): {one.text}" for one in entry.sources]
        found += _under("Sources" if len(sources) > 1 else "Source", _some(sources, _SOURCES))
    found += _under("State", _some([line for one in checkpoint.operators for line in _operator(one)], 9))
    pinned = ", ".join(_pinned(key, value) for key, value in checkpoint.conf.items() if key in _PINNED)
    others = len([key for key in checkpoint.conf if key not in _PINNED])
    if pinned or others:
        found.append(
            ("Pinned", ", ".join(part for part in (pinned, f"{others} more settings" if others else "") if part))
        )
    found += _under("Problems", _some(list(checkpoint.problems), _PROBLEMS))
    return [(label, redact(text)) for label, text in found]


def plain(checkpoint: Contents, plan: RestartPlan) -> str:
    """The text for a terminal: what it holds, then what the next start does."""
    lines = [f"{label:<12}{middle(text, _WIDTH - 12)}" for label, text in rows(checkpoint, plan)]
    lines.append("")
    sentences = list(plan.sentences)
    more = _CURES if any(sentence.startswith("Cure ") for sentence in sentences) else 0
    whole = "see --json" if checkpoint.commands else "see restart()"
    if len(sentences) > _SENTENCES + more:  # of many sources; what the sink does stands last
        left_out = len(sentences) - _SENTENCES - more + 1
        sentences[_SENTENCES + more - 4 : -3] = [f"And {left_out} more sentences: {whole}."]
    for sentence in sentences:
        lines += textwrap.wrap(clean(sentence), _WIDTH, subsequent_indent="  ", break_long_words=False)[:4]
    if len(lines) > _LINES + more:
        lines[_LINES + more - 1 :] = [f"And more: {whole}."]
    return "\n".join(line.rstrip() for line in lines)


def html(checkpoint: Contents, plan: RestartPlan) -> str:
    """A table, the sentences and the code, without style or script."""
    body = (el("tr", el("th", el("div", label, align="left")), _cell(text)) for label, text in rows(checkpoint, plan))
    return el(
        "div",
        el("table", el("tbody", *body)),
        el("p", el("b", "The next start")),
        el("ul", *(el("li", name(clean(sentence))) for sentence in plan.sentences)),
        el("pre", el("code", plan.code_fix)) if plan.code_fix else None,
    )


def _cell(text: str) -> str:
    """Notebooks set all cells to the right by style, which an attribute of the cell could not change."""
    return el("td", el("div", name(text), align="left"))


def _size(checkpoint: Contents) -> str:
    sizes = checkpoint.bytes
    parts = [f"{part} {size(sizes[part])}" for part in ("state", "offsets", "commits", "sources") if sizes[part]]
    return f"{size(sizes['total'])}" + (f": {', '.join(parts)}" if parts else "")


def _batches(checkpoint: Contents) -> str:
    planned, committed = checkpoint.lastOffset, checkpoint.lastCommit
    if planned is None:
        return "none planned yet" + (f", commits up to {exact(committed)}" if committed is not None else "")
    first = next(iter(checkpoint.offsets))
    kept = f"{exact(first)} to {exact(planned)}" if first != planned else exact(planned)
    done = "none committed" if committed is None else f"committed up to {exact(committed)}"
    at = checkpoint.offsets[planned].timestampMs
    return f"planned {kept}, {done}" + (f"; batch {exact(planned)} planned {when(at)}" if at else "")


def _gaps(checkpoint: Contents) -> list[str]:
    """Say which batches the logs lack."""
    offsets, commits = checkpoint.gaps["offsets"], checkpoint.gaps["commits"]
    if offsets and offsets == commits:
        return [f"without offsets and commits of {_ids(offsets)}"]
    lacking = (("offsets", offsets), ("commits", commits))
    told = [f"{log} of {_ids(ids)}" for log, ids in lacking if ids]
    return [f"without {' and '.join(told)}"] if told else []


def _ids(numbers: Sequence[int]) -> str:
    """Write ascending numbers, those that follow each other as a range: 1, 2 and 4 to 6."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts: list[str] = []
    for run in runs:
        texts += [f"{exact(run[0])} to {exact(run[-1])}"] if len(run) > 2 else [exact(number) for number in run]
    if len(texts) > _GAPS:
        texts = [f"{len(texts) - _GAPS + 1} more gaps", *texts[1 - _GAPS :]]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _operator(operator: StateOperator) -> list[str]:
    """The operator, and its stores one a line."""
    known = operator.name or (f"{operator.guess}, judged by its schema" if operator.guess else "unknown operator")
    parts = (
        f"{exact(operator.partitions)} partition{'' if operator.partitions == 1 else 's'}"
        if operator.partitions
        else ""
    )
    providers = sorted({store.provider for store in operator.stores if store.provider})
    kept = ", ".join(
        part for part in (known, parts, "/".join(providers), _versions(operator), size(operator.bytes)) if part
    )
    stores = [f"  {_store(store)}" for store in operator.stores if store.key is not None or store.value is not None]
    return [f"{operator.id} {kept}", *_some(stores, _STORES)]


def _versions(operator: StateOperator) -> str:
    latest = {files.latestVersion for store in operator.stores for files in store.files} - {None}
    whole = {files.latestSnapshot for store in operator.stores for files in store.files} - {None}
    if not latest:
        return "no files"
    text = f"version {_range(latest)}"
    return text + (f", snapshot {_range(whole)}" if whole else "")


def _range(numbers: Iterable[int | None]) -> str:
    known = [one for one in numbers if one is not None]
    return exact(known[0]) if len(known) == 1 else f"{exact(min(known))} to {exact(max(known))}"


def _store(store: StateStore) -> str:
    lead = "" if store.name == "default" else f"{store.name}: "
    return f"{lead}{_columns(store.key)} {'→'} {_columns(store.value)}"


def _columns(columns: tuple[Field, ...] | None) -> str:
    if columns is None:
        return "n/a"
    return "(" + ", ".join(f"{one.name} {middle(one.type, 40)}" for one in columns) + ")"


def _pinned(key: str, value: str) -> str:
    shown = value.rpartition(".")[2].removesuffix("StateStoreProvider") if key.endswith("providerClass") else value
    return f"{_PINNED[key]} {shown}"


def _under(label: str, texts: list[str]) -> list[Row]:
    return [("" if place else label, text) for place, text in enumerate(texts)]


def _some(texts: list[str], most: int) -> list[str]:
    return texts if len(texts) <= most else [*texts[: most - 1], f"and {len(texts) - most + 1} more"]
