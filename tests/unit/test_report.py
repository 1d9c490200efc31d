"""Reports: complete, in three formats, and safe whatever a name, message or path holds."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from jupyter_streamwatch import report
from jupyter_streamwatch.diagnosis import words
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.recordings.recording import Recording
from jupyter_streamwatch.report import html, markdown, page
from jupyter_streamwatch.report.content import take
from jupyter_streamwatch.report.table import table
from jupyter_streamwatch.summary import line as overview
from jupyter_streamwatch.text import html as elements
from tests.unit.queries import ID, RUN, START, UDF_ERROR, hint, history, kafka, record, verdict

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "'><svg/onload=alert(1)>",
    "<!-- <script>",
    "</style><style>*{display:none}",
    "| a | `b` **c** [d](javascript:alert(1)) ![e](http://evil.example/x.png)",
    "# heading\n\n<details open ontoggle=alert(1)>",
    "~~~\n```\n<iframe src=//evil.example>",
    "&lt;script&gt;",
]
SECRET = "geheim123"


@pytest.fixture(autouse=True)
def few_pictures(monkeypatch):
    """Draw the charts of two queries a report at most: drawing has tests of its own."""
    monkeypatch.setattr(page, "PICTURES", 2)
    monkeypatch.setattr(html, "VIEWS", 2)


class Page(HTMLParser):
    """The elements, attributes and text of a document."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


def judged(monkeypatch, *hints, word="falling-behind"):
    """Let every diagnosis be this one."""
    monkeypatch.setattr(overview, "diagnose", lambda one, now, others: verdict(word, *hints))


def two_runs():
    queried = history(4, eventTime={"watermark": "2026-01-01T13:56:00.000Z"})
    queried.append(parse(record(4, 12.0, numInputRows=0, sources=[])))
    queried.start("bbbbbbbb", at=START + 60_000)
    queried.append(parse(record(5, 61.0, runId="bbbbbbbb", sources=kafka(5, 9))))
    return queried


def hostile(text, id=ID):
    queried = history(2, id=id, name=text, sink={"description": text}, sources=[{"description": text}])
    queried.set_facts(
        Facts(sink=text, checkpoint=text, sources=(text,), outputMode=text, stateful=(text,), why={"watermarks": text})
    )
    queried.start(text, at=START + 50_000)
    queried.end(text, START + 60_000, f"{text}\nboom\n{text}", text)
    return queried


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_a_report_has_the_words_and_numbers_of_the_line(tmp_path, suffix):
    """Every format says state, name, rates, batch time and backlog as the overview does."""
    queried = two_runs()
    queried.state_trigger(Trigger.parse("2 seconds"))
    shown = report.write(tmp_path / f"r.{suffix}", [queried])
    text = (tmp_path / f"r.{suffix}").read_text(encoding="utf-8")
    line = overview.lines([queried])[0]
    if suffix == "json":
        said = json.loads(text)["queries"][ID]
        assert said["label"] == line.state.label
        assert said["overview"]["rates"]["input"] == line.rates.input
        return
    said = Page(text).text if suffix == "html" else text.replace("\\", "")
    for word in (line.state.label, line.name, line.rates.processed, line.batch.duration, line.backlog.text, "Batches"):
        assert word in said
    assert shown.html.startswith("<div><p>Report written to ")


def test_the_suffix_is_the_format(tmp_path):
    """Another suffix is one sentence that names the three."""
    with pytest.raises(ValueError, match=r"\.html, \.md or \.json"):
        report.write(tmp_path / "r.pdf", [])


def test_one_query_can_be_chosen(tmp_path):
    """A report of one query holds only that one; an unknown one is a KeyError."""
    both = [history(1), history(1, id="22222222", name="other")]
    report.write(tmp_path / "r.json", both, "other")
    assert list(json.loads((tmp_path / "r.json").read_text())["queries"]) == ["22222222"]
    with pytest.raises(KeyError):
        report.write(tmp_path / "r.json", both, "none")


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_an_empty_report_says_so(tmp_path, suffix):
    """Without a query there is still a report."""
    report.write(tmp_path / f"r.{suffix}", [])
    text = (tmp_path / f"r.{suffix}").read_text(encoding="utf-8")
    assert "No streaming query yet" in text or json.loads(text)["queries"] == {}


def test_hostile_text_is_only_text_in_html(tmp_path, monkeypatch):
    """Names, messages, paths and hints from outside make no element, no attribute and no script."""
    plain = _written(tmp_path, monkeypatch, ["plain"])
    made = _written(tmp_path, monkeypatch, HOSTILE)
    assert set(made.tags) <= set(plain.tags)
    assert {name for name, _ in made.attributes} <= {name for name, _ in plain.attributes}
    assert not any("javascript:" in value for name, value in made.attributes if name in {"href", "src"})
    assert len(made.scripts) == len(plain.scripts)
    said = " ".join(made.text.split())
    for text in HOSTILE:
        assert said.count(" ".join(text.split())) >= 8


def _written(tmp_path, monkeypatch, texts):
    hints = [hint(title=text, cause=text, fix=text, code_fix=text, link="javascript:alert(1)") for text in texts]
    judged(monkeypatch, *hints)
    queries = [hostile(text, id=f"{at:08d}") for at, text in enumerate(texts)]
    report.write(tmp_path / "r.html", Recording(queries, environment=dict(enumerate(texts))))
    return Page((tmp_path / "r.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text_in_markdown(tmp_path, monkeypatch, text):
    """Rendered, a Markdown report has no link, image, HTML or heading that came from outside."""
    mistune = pytest.importorskip("mistune")
    render = mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url"])
    judged(monkeypatch, hint(title=text, cause=text, fix=text, code_fix=text))
    report.write(tmp_path / "r.md", Recording([hostile(text)], environment={"app": text}))
    rendered = Page(render((tmp_path / "r.md").read_text(encoding="utf-8")))
    structure = {
        "h1",
        "h2",
        "h3",
        "p",
        "strong",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ul",
        "li",
        "pre",
        "code",
    }
    assert set(rendered.tags) <= structure
    assert not [value for name, value in rendered.attributes if name not in {"style", "class"}]
    assert rendered.tags.count("h1") == 1


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_secrets_are_redacted(tmp_path, monkeypatch, suffix):
    """No format holds a password, wherever it stood."""
    judged(monkeypatch, hint(title=f"password={SECRET}", code_fix=f"token={SECRET}"))
    queried = history(2, name=f"q token={SECRET}", sources=[{"description": f"Kafka[password={SECRET}]"}])
    queried.set_facts(Facts(checkpoint=f"s3://me:{SECRET}@bucket/x", sink=f"jdbc password={SECRET}"))
    queried.end(RUN, START + 9000, f"No access: secret={SECRET} https://me:{SECRET}@host/", "X")
    environment = {"conf": f"x.password={SECRET}", "spark.ssl.keyPassword": SECRET}
    shown = report.write(tmp_path / f"r.{suffix}", Recording([queried], environment=environment))
    assert SECRET not in (tmp_path / f"r.{suffix}").read_text(encoding="utf-8")
    assert SECRET not in shown.html


def test_json_has_every_batch_and_null_for_unknown(tmp_path):
    """Columns are whole and in order; unknown is null, times are ISO text; the text is strict JSON."""
    queried = two_runs()
    report.write(tmp_path / "r.json", queried)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    said = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert said["streamwatchReport"] == 1
    one = said["queries"][ID]
    assert one["batches"]["batchId"] == [0, 1, 2, 3, 4, 5]
    assert one["batches"]["kind"] == ["data"] * 4 + ["no-data", "data"]
    assert one["batches"]["backlog"] == [None] * 5 + [9]
    assert one["batches"]["timestamp"][5] == "2026-01-01T14:01:01.000Z"
    assert one["runs"][0]["started"] == "2026-01-01T14:00:00.000Z"
    assert [run["state"] for run in one["runs"]] == ["ended", "active"]
    assert one["facts"]["outputMode"] is None
    assert one["batchesSeen"] == 6


def test_the_table_lists_the_newest_and_counts_the_rest():
    """At most so many rows, the newest first; columns that say nothing are left out."""
    made = table(history(30), 20)
    assert made.rows == 20
    assert made.left_out == 10
    assert made.columns[0].cells[:2] == ("29", "28")
    assert "backlog" not in [column.name for column in made.columns]
    assert table(history(0)).rows == 0


def test_the_table_marks_starts_and_gaps():
    """Between rows it says where a run starts and how many batches were not seen."""
    queried = two_runs()
    queried.append(parse(record(9, 70.0, runId="bbbbbbbb")))
    made = table(queried)
    assert made.marks[:3] == (None, "3 batches were not seen", "run 2 starts")


def test_the_table_of_a_long_run_counts_what_was_thinned():
    """A row that stands for many batches says for how many."""
    from jupyter_streamwatch.model.history import History

    queried = History(ID, keep=100)
    for batch in range(2500):
        queried.append(parse(record(batch, batch)))
    made = table(queried, 10_000)
    counts = next(column for column in made.columns if column.name == "count")
    assert sum(int(cell.replace(",", "")) for cell in counts.cells) == 2500
    assert made.left_out == 0


def test_many_queries_make_a_report_that_still_opens(tmp_path):
    """A hundred queries share one number of rows; each keeps its line."""
    report.write(tmp_path / "r.html", [history(150, id=f"{at:08d}", name=f"query_{at}") for at in range(100)])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(text) < 8_000_000
    assert all(f'href="#query-{at}"' in text for at in range(100))


def test_the_page_may_load_nothing_and_runs_only_its_own_scripts(tmp_path):
    """The policy allows no source; the scripts are those whose hashes it names, and none ends early."""
    report.write(tmp_path / "r.html", [history(3)])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    made = Page(text)
    policy = next(value for name, value in made.attributes if name == "content" and "-src" in value)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    code = [script for script in made.scripts if not script.startswith("{")]
    for script in code:
        assert html._hash(script) in policy
    assert not any(value.startswith(("http:", "//")) for name, value in made.attributes if name in {"src", "srcset"})


def test_without_the_front_end_the_report_is_complete(tmp_path, monkeypatch):
    """A package without its built scripts still writes everything but the interactive part, and says so."""
    monkeypatch.setattr(html, "_static", lambda name: tmp_path / "missing" / name)
    report.write(tmp_path / "r.html", [two_runs()])
    made = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert made.scripts == []
    assert "without the interactive charts" in made.text
    assert "Batches" in made.text


def test_a_failure_is_told_in_full(tmp_path):
    """The whole error stands in the report."""
    failed = history(1)
    failed.end(RUN, START + 9000, UDF_ERROR, "STREAM_FAILED")
    for suffix in ("html", "md"):
        report.write(tmp_path / f"r.{suffix}", failed)
        assert "BasePythonRunner.read" in (tmp_path / f"r.{suffix}").read_text(encoding="utf-8")


def test_what_was_not_understood_is_listed(tmp_path):
    """Parts of a file that could not be read are in the report, a bounded number of them."""

    class Skipped:
        reason = "No JSON in this line."

    report.write(tmp_path / "r.md", Recording([], skipped=[Skipped()] * 50))
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert text.count("No JSON in this line") == 21  # once where the queries would stand
    assert "30 more parts were not understood" in text.replace("\\", "")


def test_elements_escape_what_is_not_an_element():
    """Strings are text; elements pass; None leaves out."""
    made = elements.el("p", "<b>", elements.el("i", "&"), None, title='"', hidden=True, id=None)
    assert made == '<p title="&quot;" hidden>&lt;b&gt;<i>&amp;</i></p>'


@pytest.mark.parametrize(
    ("ids", "text"),
    [((), ""), ((7,), "batch 7"), ((1, 2, 3), "batches 1–3"), ((5, 3, 4, 9), "batches 3–5, 9")],
)
def test_batch_ids_are_written_as_spans(ids, text):
    """Neighbours become a span, in order."""
    assert words.batches(ids) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2900, "ms", "addBatch 2.9 s (batch 3)"),
        (0.86, "share", "addBatch 86 % (batch 3)"),
        (200, "partitions", "addBatch 200 partitions (batch 3)"),
        (1024, "bytes", "addBatch 1 KiB (batch 3)"),
        ("OFFSETS", "", "addBatch OFFSETS (batch 3)"),
    ],
)
def test_evidence_has_its_unit_and_batches(value, unit, text):
    """Each unit is written as people do."""
    assert words.evidence({"name": "addBatch", "value": value, "unit": unit, "batches": [3]}) == text


def test_markdown_tables_keep_their_columns():
    """A bar in a cell does not make a column."""
    row = markdown._table(["a", "b"], [[markdown.escape("x|y"), "z"]], 2).splitlines()[-1]
    assert row == "| x\\|y | z |"


def test_content_is_worst_first():
    """The order of a report is that of the overview."""
    failed = history(1, id="22222222")
    failed.end(RUN, START, "boom", "X")
    assert [query.history.id for query in take([history(3), failed]).queries] == ["22222222", ID]


@pytest.mark.parametrize("text", ["{not json", "{}", "hello\nworld"])
def test_nonsense_says_what_was_not_understood(tmp_path, text):
    """Of a text without progress the recording is empty, and says so in a sentence wherever it is shown."""
    found = load(text)
    assert [one.reason for one in found.skipped] == ["No progress of a streaming query was found."]
    assert "No progress of a streaming query was found." in repr(found)
    for suffix in ("html", "md"):
        shown = found.report(tmp_path / f"r.{suffix}")
        assert "No progress of a streaming query was found" in (tmp_path / f"r.{suffix}").read_text(encoding="utf-8")
        for still in (shown.html, shown.text):
            assert "No progress of a streaming query was found." in still
            assert "Start one" not in still


def test_a_long_name_is_whole_in_the_tooltip_alone(tmp_path):
    """The title of a query's part shortens a long name in the middle, and the tooltip has it whole."""
    report.write(tmp_path / "r.html", history(3, name="x" * 200))
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    title = re.search("<h2>(.*?)</h2>", text)[1]
    assert f'title="{"x" * 200}"' in title
    assert len(re.sub("<[^>]*>", "", title)) < 80
