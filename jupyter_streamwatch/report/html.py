"""The report as one HTML file that needs nothing else: no network, no kernel, and no script to be read.

With scripts, the dashboard of the widget runs on top, from the same TypeScript and the installed BokehJS. The page's
own policy lets it load nothing, and run only the scripts that were written here: their hashes stand in the head, so
that a text which slipped through the escaping could still not run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.report import page
from jupyter_streamwatch.settings import StreamWatch
from jupyter_streamwatch.text.html import Html, el
from jupyter_streamwatch.text.numbers import clean, iso
from jupyter_streamwatch.text.plain import plain

if TYPE_CHECKING:
    from jupyter_streamwatch.report.content import Content

VIEWS = 30  # queries whose charts can be looked at; all have their line, facts and batches
CHART_ROWS = 600  # rows of a query's charts, fewer when there are many queries
_FEW = 5

# Once the dashboard stands, the page hides what it shows itself; paper gets everything that is folded.
_SWITCH = """
addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("streamwatch");
  if (place && place.childElementCount) document.documentElement.classList.add("swr-live");
});
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details.swr-error")) folded.open = true;
});
"""

# When a page is dark: as its reader likes it, unless the theme is set.
_DARK = {"auto": "(prefers-color-scheme: dark)", "light": "(max-width: 0)", "dark": "(min-width: 0)"}

_PACKAGE = Path(__file__).parent.parent
_NO_SCRIPT = "This report was made without the interactive charts: the front end of the package is not built."


def write(content: Content) -> str:
    """Write the content as one HTML document."""
    interactive = _interactive(content)
    scripts = interactive[1:] if interactive else []
    title = "Streaming report"
    if len(content.queries) == 1:
        title = f"{title}: {content.queries[0].line['name']}"
    remark = _NO_SCRIPT if not interactive and content.queries else ""
    theme = StreamWatch.instance().theme
    look = (_text(_PACKAGE / "report" / "page.css") or "").replace(_DARK["auto"], _DARK[theme])
    head = [
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark" if theme == "auto" else theme),
        el("meta", name="generator", content="jupyter-streamwatch"),
        el("title", clean(title)),
        _style(look),
    ]
    styles = _text(_static("widget.css")) if interactive else None
    if styles:
        head.insert(-1, _style(styles))
    data = [_data(interactive[0])] if interactive else []
    body = el("body", page.body(content, remark, _DARK[theme]), *data, *(_script(text) for text in scripts))
    return f"<!doctype html>\n{el('html', el('head', *head), body, lang='en', data_theme=theme)}\n"


def _interactive(content: Content) -> list[Any] | None:
    """Return the data and the scripts of the interactive part; None when there is none to run."""
    report = _text(_static("report.js"))
    if report is None or not content.queries:
        return None
    import bokeh as installed

    bokeh = _text(Path(installed.__file__).parent / "server" / "static" / "js" / "bokeh.min.js")
    return None if bokeh is None else [_snapshot(content), bokeh, report, _SWITCH]


def _snapshot(content: Content) -> dict[str, Any]:
    """Make the same snapshot that a widget is given, with the charts of every query."""
    from jupyter_streamwatch import charts

    rows = CHART_ROWS if len(content.queries) <= _FEW else CHART_ROWS // 3
    views = {}
    for query in content.queries[:VIEWS]:
        made = charts.build(query.history)
        embedded = charts.embed(made) if made.charts else None
        views[query.history.id] = {"charts": embedded, "data": charts.data(query.history, rows) if embedded else None}
    first = content.queries[0].history.id
    return {
        "n": 0,
        "taken": iso(content.taken),
        "session": {"state": "live", "text": ""},  # a report is a still: nothing in it is waited for or out of date
        "lines": [query.line for query in content.queries],
        "selected": first,
        **views[first],
        "views": plain(views),
    }


def _policy(scripts: list[str]) -> str:
    hashes = " ".join(f"'sha256-{_hash(text)}'" for text in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(_closed(script).encode()).digest()).decode("ascii")


def _script(text: str) -> Html:
    return Html(f"<script>{_closed(text)}</script>")


def _closed(script: str) -> str:
    """Keep a script from ending its element early: both texts are only ever inside strings or patterns of it."""
    return re.sub(r"<(?=/script|!--)", r"\\x3C", script, flags=re.IGNORECASE)


def _style(text: str) -> Html:
    return Html(f"<style>{re.sub('</(?=style)', '<' + chr(92) * 2 + '/', text, flags=re.IGNORECASE)}</style>")


def _data(snapshot: dict[str, Any]) -> Html:
    text = json.dumps(snapshot, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="streamwatch-data">{text}</script>')


def _static(file: str) -> Path:
    return _PACKAGE / "static" / file


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return None
