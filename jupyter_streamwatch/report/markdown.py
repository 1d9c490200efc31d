"""The report as Markdown: for a pull request, a ticket or a chat. Text from outside cannot format anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.diagnosis import words
from jupyter_streamwatch.report.table import table
from jupyter_streamwatch.summary.facts import started
from jupyter_streamwatch.text.numbers import clean, when

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.report.content import Content, Query

ROWS = 100  # batches of a query; a Markdown table is read by people, the JSON report has all
_SPECIAL = re.compile(r"[\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[#>+=-]|(?<=^\d)[.)](?=\s|$)")
_LINK = re.compile(r"(?i)(https?|ftp|mailto)(:)|(?<!\w)(www)(\.)")
_MENTION = re.compile(r"(?<!\w)@(?=\w)")
_OVERVIEW = ("State", "Query", "Input", "Processed", "Batch", "Batch time", "Watermark", "Backlog")


def write(content: Content) -> str:
    """Write the content as Markdown (with the tables of GitHub)."""
    parts = [
        "# Streaming report",
        f"Taken {when(content.taken)}." + (f" {escape(content.session)}" if content.session else ""),
    ]
    if content.queries:
        parts.append(_table(_OVERVIEW, [_overview(query.line) for query in content.queries], text_columns=2))
    else:
        parts.append(escape(content.nothing))
    for query in content.queries:
        parts.extend(_query(query))
    if content.environment:
        parts.append("## Environment")
        parts.append(
            _table(("What", "Value"), [[escape(key), escape(value)] for key, value in content.environment.items()], 2)
        )
    if content.problems:
        parts.append("## Not understood")
        parts.append("\n".join(f"- {escape(problem)}" for problem in content.problems))
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Escape a text from outside: one line, nothing in it is markup, a link, a table's bar or an HTML tag."""
    one = clean(text).replace("&", "&amp;").replace("<", "&lt;")
    one = _SPECIAL.sub(lambda found: f"\\{found[0]}", one)
    one = _LINK.sub(lambda found: f"{found[1] or found[3]}&#{ord(found[2] or found[4])};", one)
    return _MENTION.sub("@<!-- -->", one)  # GitHub would call a person of that name


def _overview(line: dict[str, Any]) -> list[str]:
    batch, backlog = line["batch"], line["backlog"]
    return [
        f"{words.glyph(line['state']['level'])} **{escape(line['state']['label'])}**",
        escape(line["fullName"]),
        escape(line["rates"]["input"]),
        escape(line["rates"]["processed"]),
        escape(batch["id"]),
        escape(batch["duration"] + (batch["against"] or "")),
        escape(line["watermark"]["text"]),
        escape(backlog["text"] + (f", {backlog['trend']}" if backlog["trend"] else "")),
    ]


def _query(query: Query) -> list[str]:
    line = query.line
    parts = [
        f"## {escape(line['fullName'])}",
        f"**{escape(line['state']['label'])}.** {escape(line['state']['reason'])}",
    ]
    parts.extend(escape(below["text"]) for below in (line["note"], line["running"]) if below)
    if line["details"]:
        parts.append(_fenced(line["details"]))
    if line["hints"]:
        parts.append("### Hints")
        parts.extend(_hint(hint) for hint in line["hints"])
    elif line["state"]["level"] == "ok":
        parts.append(words.WELL)
    capacity = words.capacity(query.diagnosis["capacity"])
    facts = [
        (label, value if tip is None else tip if tip.startswith(value) else value)
        for label, value, tip in line["facts"]
    ]
    parts.append("### Facts")
    parts.append(_table(("What", "Value"), [[escape(label), escape(value)] for label, value in (*facts, *capacity)], 2))
    parts.extend(_checkpoint(line["checkpoint"]))
    parts.extend(_runs(query))
    parts.extend(_batches(query))
    return parts


def _hint(hint: dict[str, Any]) -> str:
    rule = f"{escape(hint['code'])}, {escape(hint['severity'])}"
    parts = [f"{words.glyph(hint['severity'])} **{escape(hint['title'])}** ({rule})"]
    parts.extend(f"- {escape(words.evidence(one))}" for one in hint["evidence"])
    parts = ["\n".join([parts[0], "", *parts[1:]])] if len(parts) > 1 else parts
    effect = words.effect(hint)
    sentences = [hint["cause"], hint["fix"], f"Effect: {effect}" if effect else None]
    parts.extend(escape(sentence) for sentence in sentences if sentence)
    if hint["code_fix"]:
        parts.append(_fenced(hint["code_fix"], "python"))
    if hint["link"]:
        parts.append(f"<{re.sub(r'[^!-;=?-~]', '', hint['link'])}>")
    return "\n\n".join(part for part in parts if part)


def _checkpoint(sheet: dict[str, Any] | None) -> list[str]:
    if sheet is None:
        return []
    rows = [[escape(label), escape(tip if label == "Where" and tip else value)] for label, value, tip in sheet["rows"]]
    parts = ["### Checkpoint", escape(f"{sheet['summary'][:1].upper()}{sheet['summary'][1:]}")]
    parts.extend(escape(sentence) for sentence in sheet["restart"])
    if sheet["code"]:
        parts.append(_fenced(sheet["code"], "python"))
    parts.append(_table(("What", "Value"), rows, 2))
    if sheet["pinned"]:
        pinned = [[escape(part) for part in (name, kept, session)] for name, kept, session, _ in sheet["pinned"]]
        parts.append(_table(("Setting", "Checkpoint (holds)", "Session"), pinned, 3))
    return parts


def _runs(query: Query) -> list[str]:
    rows = [
        [
            str(number),
            run.state,
            started(query.history, number - 1),
            when(run.ended),
            escape(run.runId),
            words.span(run.firstBatch, run.lastBatch),
        ]
        for number, run in enumerate(query.history.runs, 1)
    ]
    return ["### Runs", _table(("Run", "State", "Started", "Ended", "Run id", "Batches"), rows, 6)] if rows else []


def _batches(query: Query) -> list[str]:
    made = table(query.history, ROWS)
    if not made.rows:
        return []
    rows = [[escape(column.cells[row]) for column in made.columns] for row in range(made.rows)]
    parts = ["### Batches", _table([escape(column.heading) for column in made.columns], rows, 0)]
    if made.left_out:
        parts.append(f"{made.left_out} earlier batches are not listed.")
    return parts


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]], text_columns: int) -> str:
    """Write a table; the columns after the first ``text_columns`` are numbers, on the right."""
    heads = list(headings)
    rule = ["---" if at < text_columns else "---:" for at in range(len(heads))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))


def _fenced(text: str, language: str = "") -> str:
    """Put a text into a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
