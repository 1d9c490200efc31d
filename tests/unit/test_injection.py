"""Names that somebody chose to be more than names: in Markdown, HTML, frames, and on the command line."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from jupyter_streamwatch.report import html, write
from jupyter_streamwatch.report.static import static
from tests.hostile import names

mistune = pytest.importorskip("mistune")
MARKDOWN = mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url", "footnotes", "math"])
ALLOWED = {"h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "pre", "code", "a"}


class Seen(HTMLParser):
    """Which elements, links and attributes there are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def hostile(kind: str):
    evil = names.CHARACTERS[kind]
    return names.recording(names.query(0, evil, error=400, batches=3), names.query(1, "calm", batches=3), evil=evil)


@pytest.mark.parametrize("kind", list(names.CHARACTERS))
def test_no_name_is_markup_in_markdown(tmp_path, kind):
    """Nothing is a link, a picture, a heading or a cell of its own; the tables have the columns that they should."""
    write(tmp_path / "r.md", hostile(kind))
    text = (tmp_path / "r.md").read_text()
    seen = Seen(MARKDOWN(text))
    assert set(seen.tags) <= ALLOWED
    assert all(link.startswith("https://spark.apache.org/") for link in seen.links)
    titles = re.findall(r"(?m)^#+ .*", re.sub(r"(?ms)^(`{3,})[^`]*?^\1$", "", text))
    assert len([tag for tag in seen.tags if tag in ("h1", "h2", "h3")]) <= len(titles)
    for block in re.findall(r"(?m)(?:^\|.*\|\n)+", text):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}) == 1


@pytest.mark.parametrize("kind", list(names.CHARACTERS))
def test_no_name_is_markup_in_html(tmp_path, monkeypatch, kind):
    """Neither in the report nor in what a saved notebook keeps."""
    monkeypatch.setattr(html, "_static", lambda file: tmp_path / file)
    calm = names.recording(names.query(0, "calm", error=400, batches=3), names.query(1, "calm", batches=3), evil="calm")
    seen = []
    for recording in (hostile(kind), calm):
        write(tmp_path / "r.html", recording)
        page = Seen((tmp_path / "r.html").read_text() + static(recording).html)
        assert not page.handlers
        assert all(link.startswith(("#", "data:image/png", "https://spark.apache.org/")) for link in page.links)
        seen.append(set(page.tags))
    assert seen[0] <= seen[1] | {"details", "summary", "pre"}


def test_a_frame_holds_no_text_of_a_name():
    """What goes to a spreadsheet are numbers, times, kinds and the ids of runs."""
    frame = names.query(0, names.CHARACTERS["formula"], batches=3).to_pandas()
    texts = {column for column in frame.columns if frame[column].dtype == object}
    assert texts == {"runId", "kind"}
    assert not any(column[:1] in "=+-@" for column in frame.columns)
