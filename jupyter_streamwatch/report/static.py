"""What a saved notebook keeps: the states, hints and figures as plain HTML, and the charts as one picture.

Two outputs, because a front end that shows the HTML of an output hides its picture. The HTML needs no style, script
or SVG: sites that strip them from notebooks still show all of it. Both together stay under ``MOST_BYTES``.
"""

from __future__ import annotations

import base64
import io
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.diagnosis import words
from jupyter_streamwatch.diagnosis.html import hint_item
from jupyter_streamwatch.report.content import take
from jupyter_streamwatch.text.html import Html, el, join, name
from jupyter_streamwatch.text.numbers import middle, when

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_streamwatch.model.history import HistoryView
    from jupyter_streamwatch.report.content import Content, Query, Recorded
    from jupyter_streamwatch.summary.note import SessionLike

MOST_BYTES = 150_000  # of a saved notebook
MOST_HTML = 70_000
MOST_PNG = 55_000  # times 4/3 in the notebook's JSON
MOST_LINES = 40  # queries with a line of their own; the rest is counted by state
EXPLAINED = 5  # queries with facts and hints in full
HINTS = 4  # hints of a query in full; the rest is named
ERROR_LENGTH = 4_000  # characters of an error's full text
WIDTH = 900  # pixels of the picture

_HEADINGS = ("State", "Query", "Input", "Processed", "Batch", "Batch time", "Watermark", "Backlog")


class Static:
    """A still of what was watched; shows itself in a notebook as two outputs, HTML and a picture."""

    def __init__(self, content: Content, message: str = "", remark: str = "") -> None:
        """Keep the content, a sentence for above and one for below; texts and picture are made when asked for."""
        self._content = content
        self._message = message
        self._remark = remark

    @cached_property
    def html(self) -> str:
        """Tables and text, without style, script or picture."""
        lines = MOST_LINES
        made = self._made(lines, EXPLAINED)
        while len(made.encode()) > MOST_HTML and lines > 1:
            lines //= 2
            made = self._made(lines, min(lines, EXPLAINED) if lines > 5 else 1)
        return made

    def _made(self, lines: int, explained: int) -> str:
        return _html(self._content, (self._message, self._remark), lines, explained)

    @cached_property
    def text(self) -> str:
        """The states as text, for a terminal."""
        return _text(self._content, self._message)

    @cached_property
    def png(self) -> bytes | None:
        """The charts of the first query that has some; None when none has."""
        drawn = _drawn(self._content)
        return None if drawn is None else _picture(drawn.history)

    def bundles(self) -> list[dict[str, str]]:
        """Return the MIME bundles of the outputs, in order."""
        made = [{"text/html": self.html, "text/plain": self.text}]
        if self.png:
            alone = "[charts]"
            made.append({"image/png": base64.b64encode(self.png).decode("ascii"), "text/plain": alone})
        return made

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002 - IPython's signature
        return self.bundles()[0]

    def _repr_html_(self) -> str:
        return self.html

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for bundle in self.bundles():
            display(bundle, raw=True)

    def __repr__(self) -> str:
        """Say what it holds, without making it."""
        return f"<Static of {_count(len(self._content.queries))}, {when(self._content.taken)}>"


def static(
    what: Recorded | HistoryView | Mapping[str, HistoryView] | Iterable[HistoryView],
    session: SessionLike | None = None,
    *,
    query: Any = None,
    now: float | None = None,
    message: str = "",
    remark: str = "",
) -> Static:
    """Take a still of histories.

    Args:
        what: A recording, one history, or several.
        session: State of the Spark session, when there is one.
        query: Only this query; as for a recording's ``queries``.
        now: Epoch ms, when queries may still run.
        message: A sentence to stand above.
        remark: What to say below, beside the time.
    """
    return Static(take(what, query, session=session, now=now), message, remark)


def _html(content: Content, said: tuple[str, str], most: int, explained: int) -> str:
    message, remark = said
    shown = content.queries[:most]
    parts: list[str | None] = [el("p", message) if message else None]
    if shown:
        head = el(
            "tr", *(el("th", _left(heading)) for heading in _HEADINGS[:2]), *(el("th", one) for one in _HEADINGS[2:])
        )
        rows = [row for query in shown for row in _rows(query.line)]
        parts.append(el("table", el("thead", head), el("tbody", *rows)))
    else:
        parts.append(el("p", content.nothing))
    if len(content.queries) > len(shown):
        parts.append(el("p", _rest(content.queries[len(shown) :])))
    parts.extend(_explained(query) for query in shown[:explained])
    parts.append(el("p", el("small", _footer(content, remark))))
    return el("div", *parts)


def _rows(line: dict[str, Any]) -> list[Html]:
    state, batch, rates = line["state"], line["batch"], line["rates"]
    backlog = line["backlog"]["text"] + (f", {line['backlog']['trend']}" if line["backlog"]["trend"] else "")
    cells = [
        el("td", _left(el("b", f"{words.glyph(state['level'])} {state['label']}")), title=state["reason"]),
        el("td", _left(name(line["name"])), title=middle(line["fullName"], 200)),
        el("td", rates["input"], title=rates["tip"]),
        el("td", rates["processed"], title=rates["tip"]),
        el("td", batch["id"], title=batch["tip"]),
        el("td", batch["duration"] + (batch["against"] or ""), title=batch["tip"]),
        el("td", line["watermark"]["text"], title=line["watermark"]["tip"]),
        el("td", backlog, title=line["backlog"]["tip"]),
    ]
    notes = [below["text"] for below in (line["note"], line["running"]) if below]
    span = len(_HEADINGS) - 1
    return [el("tr", *cells), *(el("tr", el("td"), el("td", _left(name(note)), colspan=span)) for note in notes)]


def _left(text: str) -> Html:
    """Notebooks set all cells to the right by style, which an attribute of the cell could not change."""
    return el("div", text, align="left")


def _explained(query: Query) -> Html:
    line = query.line
    facts = [
        piece for label, value, _ in line["facts"] if value != "n/a" for piece in (" · ", f"{label}: ", name(value))
    ][1:]
    hints = [hint_item(hint) for hint in line["hints"][:HINTS]]
    more = [hint["title"] for hint in line["hints"][HINTS:]]
    details = line["details"]
    return el(
        "div",
        el("p", el("b", name(line["name"])), f": {line['state']['reason']}"),
        el("p", el("small", *facts)) if facts else None,
        _checkpoint(line["checkpoint"]),
        el("ul", *hints, el("li", f"Also: {'; '.join(more)}") if more else None) if hints else None,
        el("details", el("summary", "Error in full"), el("pre", middle(details, ERROR_LENGTH))) if details else None,
    )


def _checkpoint(sheet: dict[str, Any] | None) -> Html | None:
    if sheet is None:
        return None
    pinned = "".join(f" {name} stays {kept}, not {session}." for name, kept, session, _ in sheet["pinned"])
    return el("p", el("small", "Checkpoint: ", name(" ".join((f"{sheet['summary']}.", *sheet["restart"])) + pinned)))


def _rest(queries: tuple[Query, ...]) -> str:
    states: dict[str, int] = {}
    for query in queries:
        label = query.line["state"]["label"].lower()
        states[label] = states.get(label, 0) + 1
    return f"And {len(queries)} more: " + ", ".join(f"{count} {label}" for label, count in states.items()) + "."


def _footer(content: Content, remark: str) -> Html:
    parts = [f"{_count(len(content.queries))}, as of {when(content.taken)}", content.session]
    drawn = _drawn(content)
    if drawn is not None and len(content.queries) > 1:
        parts.append(f"the charts are those of {drawn.line['name']}")
    parts.append(remark)
    return join(" · ".join(part for part in parts if part))


def _text(content: Content, message: str) -> str:
    rows = [message] if message else []
    for query in content.queries[:MOST_LINES]:
        line = query.line
        batch = f"batch {line['batch']['id']} {line['batch']['duration']}{line['batch']['against'] or ''}"
        rows.append(
            f"{words.glyph(line['state']['level'])} {line['state']['label']}  {line['name']}  "
            f"input {line['rates']['input']}  processed {line['rates']['processed']}  {batch}  "
            f"watermark {line['watermark']['text']}  backlog {line['backlog']['text']}"
        )
        rows.extend(f"    {below['text']}" for below in (line["note"], line["running"]) if below)
        if line["checkpoint"]:
            rows.append(f"    checkpoint: {line['checkpoint']['summary']}")
    if len(content.queries) > MOST_LINES:
        rows.append(_rest(content.queries[MOST_LINES:]))
    return "\n".join(rows if content.queries else [*rows, content.nothing])


def _count(queries: int) -> str:
    return f"{queries} streaming {'query' if queries == 1 else 'queries'}"


def _drawn(content: Content) -> Query | None:
    return next((query for query in content.queries if query.history.batches.rows), None)


def _picture(history: HistoryView) -> bytes | None:
    """Draw the charts; fewer colours, then fewer pixels, until they fit."""
    from jupyter_streamwatch.charts.png import picture

    for width, colours in ((WIDTH, 0), (WIDTH, 64), (600, 64), (600, 16)):
        drawn = picture.png(history, width=width)
        if colours:
            drawn = _quantised(drawn, colours)
        if len(drawn) <= MOST_PNG:
            return drawn
    return None


def _quantised(png: bytes, colours: int) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(colours).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
