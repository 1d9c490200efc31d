"""The readable part of the HTML report: everything that it says without any script."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.diagnosis import words
from jupyter_streamwatch.model.error_line import error_line
from jupyter_streamwatch.report.table import MOST, table
from jupyter_streamwatch.summary.facts import started
from jupyter_streamwatch.text.html import Html, el, join, name
from jupyter_streamwatch.text.numbers import UNKNOWN, clean, exact, when

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_streamwatch.model.history import HistoryView, Run
    from jupyter_streamwatch.report.content import Content, Query

MOST_ROWS = 10_000  # rows of all tables of batches together: a report of 100 queries must still open quickly
LEAST_ROWS = 20  # rows of a query's table, however many queries there are
PICTURES = 10  # queries with a drawn picture of their charts
RUNS = 50  # of a query, the last ones
NARROW_PICTURES = 5  # of them, those with one for narrow windows, too
WIDE, NARROW = 1_000, 560  # pixels

_OVERVIEW = ("State", "Query", "Input", "", "Processed", "Batch", "Batch time", "", "Watermark", "Backlog")
_TICK = 0.6  # where the interval stands in the bar of the batch time, as in the dashboard
_WIDTH, _HEIGHT = 60, 16  # of the small rate chart
_LINKS = ("https://", "http://")


def body(content: Content, remark: str, dark: str) -> Html:
    """Make the page's content; ``remark`` is a line below the head, or empty; ``dark`` a media query."""
    queries = content.queries
    most = max(min(MOST, MOST_ROWS // max(len(queries), 1)), LEAST_ROWS)
    return el(
        "main",
        _head(content, remark),
        el("div", id="streamwatch"),
        _overview(content) if queries else el("p", content.nothing, class_="swr-nothing"),
        *(_query(query, at, most, dark) for at, query in enumerate(queries)),
        _environment(content),
        class_="swr-page",
    )


def shape(level: str) -> Html:
    """The shape of a level; the word beside it says what it means."""
    return el("span", words.glyph(level), class_="swr-shape", data_level=level, aria_hidden="true")


def _head(content: Content, remark: str) -> Html:
    names = [query.line["name"] for query in content.queries]
    title = "Streaming report" if len(names) != 1 else join("Streaming report: ", name(names[0]))
    parts = [f"Taken {when(content.taken)}"]
    parts.extend(part for part in (content.session, _brief(content.environment)) if part)
    return el(
        "header",
        el("h1", title),
        el("p", name(" · ".join(parts)), class_="swr-sub"),
        el("p", remark, class_="swr-sub") if remark else None,
    )


def _brief(environment: dict[str, str]) -> str:
    wanted = {key: value for key, value in environment.items() if key.lower() in {"spark", "python", "java", "master"}}
    return " · ".join(f"{key} {value}" for key, value in wanted.items())


def _overview(content: Content) -> Html:
    head = el("tr", *(el("th", heading, scope="col") for heading in _OVERVIEW))
    rows = [row for at, query in enumerate(content.queries) for row in _line(query.line, at)]
    return el(
        "section",
        el("table", el("thead", head), *rows, class_="swr-overview"),
        class_="swr-still",
        aria_label="Overview",
    )


def _line(line: dict[str, Any], at: int) -> list[Html]:
    state, batch, rates, backlog = line["state"], line["batch"], line["rates"], line["backlog"]
    of = el("span", batch["against"], class_="swr-weak") if batch["against"] else None
    trend = el("span", f", {backlog['trend']}", class_="swr-weak") if backlog["trend"] else None
    numbers = el(
        "tr",
        el("th", shape(state["level"]), " ", state["label"], scope="row", title=state["reason"], class_="swr-state"),
        el("td", el("a", name(line["name"]), href=f"#query-{at}"), title=line["fullName"], class_="swr-name"),
        _number("input", rates["input"], title=rates["tip"]),
        el("td", _sparkline(rates["spark"]), class_="swr-graph"),
        _number("processed", rates["processed"], title=rates["tip"]),
        _number("batch", batch["id"], title=batch["tip"]),
        _number("took", join(batch["duration"], of), title=batch["tip"]),
        el("td", _bar(batch["ratio"], batch["basis"]), title=batch["tip"], class_="swr-graph"),
        _number("watermark", line["watermark"]["text"], title=line["watermark"]["tip"]),
        _number("backlog", join(backlog["text"], trend), title=backlog["tip"]),
    )
    notes = [
        el("tr", el("td"), el("td", name(below["text"]), colspan=9), class_="swr-note", data_level=below.get("level"))
        for below in (line["note"], line["running"])
        if below
    ]
    return [el("tbody", numbers, *notes, class_="swr-ended" if line["ended"] else None)]


def _number(label: str, text: str, **attributes: str) -> Html:
    return el("td", el("span", f"{label} ", class_="swr-label"), text, class_="swr-number", **attributes)


def _sparkline(rates: list[float | None]) -> Html | None:
    known = [rate for rate in rates if rate is not None]
    top = max(known, default=0.0)
    if not top:
        return None
    width = _WIDTH / 30
    bars = [
        el(
            "rect",
            x=round((at + 30 - len(rates)) * width, 1),
            y=round(_HEIGHT - max(_HEIGHT * rate / top, 0.5), 1),
            width=round(width * 0.75, 1),
            height=round(max(_HEIGHT * rate / top, 0.5), 1),
        )
        for at, rate in enumerate(rates)
        if rate is not None
    ]
    return el("svg", *bars, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", class_="swr-spark", aria_hidden="true")


def _bar(ratio: float | None, basis: str | None) -> Html | None:
    if ratio is None:
        return None
    share = min(ratio * _TICK, 1.0)
    return el(
        "span",
        el("i", class_="swr-fill", style=f"width:{min(share, _TICK):.1%}"),
        el("i", class_="swr-over", style=f"left:{_TICK:.1%};width:{max(share - _TICK, 0):.1%}"),
        el("i", class_="swr-tick", style=f"left:{_TICK:.1%}"),
        class_="swr-bar",
        data_basis=basis,
        aria_hidden="true",
    )


def _query(query: Query, at: int, most: int, dark: str) -> Html:
    line, state = query.line, query.line["state"]
    hints = [_hint(hint) for hint in line["hints"]]
    details = line["details"]
    return el(
        "article",
        el(
            "h2",
            name(line["name"], title=line["fullName"]),
            el("span", shape(state["level"]), " ", state["label"], class_="swr-state"),
        ),
        el("p", state["reason"], class_="swr-reason"),
        el("div", *hints, class_="swr-hints swr-still") if hints else None,
        el("p", words.WELL, class_="swr-weak") if not hints and state["level"] == "ok" else None,
        el("details", el("summary", "Error in full"), el("pre", details), class_="swr-error swr-still")
        if details
        else None,
        _picture(query.history, line["name"], dark, narrow=at < NARROW_PICTURES) if at < PICTURES else None,
        el("div", _facts(query), _runs(query.history), class_="swr-columns"),
        _checkpoint(line["checkpoint"]),
        _batches(query.history, most),
        id=f"query-{at}",
        class_="swr-query",
    )


def _hint(hint: dict[str, Any]) -> Html:
    evidence = [el("li", words.evidence(one)) for one in hint["evidence"]]
    link = hint["link"] if str(hint["link"] or "").startswith(_LINKS) else None
    manual = el("a", "Spark's documentation", href=link, rel="noreferrer") if link else None
    effect = words.effect(hint)
    return el(
        "section",
        el("h3", shape(hint["severity"]), " ", hint["title"]),
        el("ul", *evidence, class_="swr-evidence") if evidence else None,
        el("p", hint["cause"]) if hint["cause"] else None,
        el("p", hint["fix"]) if hint["fix"] else None,
        el("pre", hint["code_fix"]) if hint["code_fix"] else None,
        el("p", f"Effect: {effect}") if effect else None,
        el("p", el("code", hint["code"]), manual, class_="swr-weak"),
        class_="swr-hint swr-under" if hint["under"] else "swr-hint",
        data_level=hint["severity"],
    )


def _picture(history: HistoryView, title: str, in_the_dark: str, *, narrow: bool) -> Html | None:
    if not history.batches.rows:
        return None
    from jupyter_streamwatch.charts.png import picture

    def drawn(width: int, *, dark: bool) -> str:
        png = picture.png(history, width=width, dark=dark)
        return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"

    small = f"screen and (max-width: {NARROW + 100}px)"
    return el(
        "picture",
        el("source", srcset=drawn(NARROW, dark=True), media=f"{small} and {in_the_dark}") if narrow else None,
        el("source", srcset=drawn(NARROW, dark=False), media=small) if narrow else None,
        el("source", srcset=drawn(WIDE, dark=True), media=f"screen and {in_the_dark}"),
        el("img", src=drawn(WIDE, dark=False), alt=f"Charts of {clean(title)}: the table of batches has the numbers"),
        class_="swr-picture swr-still",
    )


def _facts(query: Query) -> Html:
    known = [row for row in query.line["facts"] if row[1] != UNKNOWN and row[0] != "Runs"]  # runs have their own table
    unknown = [row for row in query.line["facts"] if row[1] == UNKNOWN]
    rows = [join(el("dt", label), el("dd", name(value), title=tip)) for label, value, tip in known]
    rows.extend(join(el("dt", label), el("dd", value)) for label, value in words.capacity(query.diagnosis["capacity"]))
    if unknown:
        reasons = "\n".join(f"{label}: {tip}" for label, _, tip in unknown)
        listed = ", ".join(label for label, *_ in unknown)
        rows.append(join(el("dt", UNKNOWN), el("dd", listed, title=reasons, class_="swr-weak")))
    return el("section", el("h3", "Facts"), el("dl", *rows))


def _checkpoint(sheet: dict[str, Any] | None) -> Html | None:
    if sheet is None:
        return None
    rows = [join(el("dt", label), el("dd", name(value), title=tip)) for label, value, tip in sheet["rows"]]
    heads = (el("th", head, scope="col") for head in ("Setting", "Checkpoint (holds)", "Session"))
    pinned = [
        el("tr", *(el("td", name(part), class_="swr-text") for part in (setting, kept, session)), title=tip)
        for setting, kept, session, tip in sheet["pinned"]
    ]
    return el(
        "section",
        el("h3", "Checkpoint", el("span", " ", name(sheet["summary"]), class_="swr-weak")),
        *(el("p", name(sentence)) for sentence in sheet["restart"]),
        el("pre", sheet["code"]) if sheet["code"] else None,
        el("dl", *rows),
        _scrolling(el("table", el("thead", el("tr", *heads)), el("tbody", *pinned))) if pinned else None,
        class_="swr-checkpoint",
    )


def _runs(history: HistoryView) -> Html:
    numbered = list(enumerate(history.runs, 1))
    shown = numbered[-RUNS:]
    headings = ("Run", "State", "Started", "Ended", "Batches")
    head = el("tr", *(el("th", heading, scope="col") for heading in headings))
    rows = [
        el(
            "tr",
            el("td", str(number)),
            el("td", "replaced" if run.restartedBy == "replaced" else run.state),
            el("td", started(history, number - 1)),
            el("td", "" if run.state == "active" else when(run.ended)),
            el("td", words.span(run.firstBatch, run.lastBatch), class_="swr-number"),
            title=f"Run id {run.runId}",
        )
        + _error(run, len(headings))
        for number, run in reversed(shown)
    ]
    older = len(numbered) - len(shown)
    return el(
        "section",
        el("h3", "Runs"),
        _scrolling(el("table", el("thead", head), el("tbody", Html("".join(rows))))),
        el("p", f"{exact(older)} earlier ones are not listed.", class_="swr-weak") if older else None,
    )


def _error(run: Run, columns: int) -> Html:
    if run.state != "failed":
        return Html("")
    return el("tr", el("td"), el("td", name(error_line(run)), colspan=columns - 1, class_="swr-text swr-weak"))


def _batches(history: HistoryView, most: int) -> Html | None:
    made = table(history, most)
    if not made.rows:
        return None
    head = el(
        "tr",
        *(
            el("th", column.heading, scope="col", title=column.name, class_="swr-number" if column.numeric else None)
            for column in made.columns
        ),
    )
    rows: list[Html] = []
    for row in range(made.rows):
        mark = made.marks[row]
        if mark:
            rows.append(el("tr", el("th", f"↑ {mark}", colspan=len(made.columns)), class_="swr-mark"))
        cells = (
            el(
                "td",
                column.cells[row],
                class_="swr-number" if column.numeric else None,
                title=column.tips[row] if column.tips and column.tips[row] != column.cells[row] else None,
            )
            for column in made.columns
        )
        rows.append(el("tr", *cells, class_=f"swr-{made.kinds[row]}" if made.kinds[row] == "no-data" else None))
    count = f"{exact(made.rows)}, newest first"
    count = f"the last {count}; {exact(made.left_out)} earlier ones are not listed" if made.left_out else count
    return el(
        "details",
        el("summary", "Batches", el("span", f" {count}", class_="swr-weak")),
        _scrolling(el("table", el("thead", head), el("tbody", *rows))),
        class_="swr-batches",
    )


def _environment(content: Content) -> Html | None:
    rows: Iterable[Html] = [
        join(el("dt", key), el("dd", name(value))) for key, value in sorted(content.environment.items())
    ]
    problems = [el("li", problem) for problem in content.problems]
    if not (content.environment or problems):
        return None
    return el(
        "section",
        el("h2", "Environment") if content.environment else None,
        el("dl", *rows) if content.environment else None,
        join(el("h2", "Not understood"), el("ul", *problems)) if problems else None,
        class_="swr-environment",
    )


def _scrolling(inner: Html) -> Html:
    return el("div", inner, class_="swr-scroll", tabindex=0, role="region", aria_label="Table, scrolls sideways")
