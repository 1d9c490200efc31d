"""Reports: one file with everything that is known of the queries, as HTML, Markdown or JSON.

Every name, message and path from outside is redacted when the content is taken, and escaped by the writer of each
format. The same content, still and small, is what a saved notebook keeps (:mod:`.static`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.report.content import take
from jupyter_streamwatch.report.static import Static
from jupyter_streamwatch.text import whole_file
from jupyter_streamwatch.text.numbers import size

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from jupyter_streamwatch.model.history import HistoryView
    from jupyter_streamwatch.report.content import Recorded
    from jupyter_streamwatch.summary.note import SessionLike

SUFFIXES = (".html", ".md", ".json")


def write(
    path: str | os.PathLike[str],
    what: Recorded | HistoryView | Mapping[str, HistoryView] | Iterable[HistoryView],
    query: Any = None,
    *,
    session: SessionLike | None = None,
    now: float | None = None,
) -> Static:
    """Write a report and return what shows the same, small, in a notebook.

    Args:
        path: Where; its suffix is the format: ``.html``, ``.md`` or ``.json``.
        what: A recording, one history, or several.
        query: Only this query: an id, a unique prefix of one, a name, or an object with an ``id``.
        session: State of the Spark session, when there is one.
        now: Epoch ms, when queries may still run; without it verdicts are as of the last record.

    Raises:
        ValueError: When the suffix is none of the three.
        KeyError: When there is no such query.
        OSError: When the file cannot be written; a file of that name is what it was then.
    """
    target = Path(path).expanduser()
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"A report ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, not in {target.name!r}.")
    content = take(what, query, session=session, now=now)
    if suffix == ".html":
        from jupyter_streamwatch.report import html

        text = html.write(content)
    elif suffix == ".md":
        from jupyter_streamwatch.report import markdown

        text = markdown.write(content)
    else:
        from jupyter_streamwatch.report import as_json

        text = as_json.write(content)
    written = whole_file.write(target, [text])
    return Static(content, f"Report written to {target} ({size(written)}).")
