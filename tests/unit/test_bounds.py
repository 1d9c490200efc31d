"""What comes from outside is bounded wherever it is kept, shown or written, and seen to be cut."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

from jupyter_streamwatch import testing
from jupyter_streamwatch.dashboard.messages import Delivery
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.queries import Queries
from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.recordings.recording import Recording
from jupyter_streamwatch.report import html, write
from jupyter_streamwatch.report.static import static
from jupyter_streamwatch.settings import StreamWatch
from jupyter_streamwatch.text import outside, whole_file
from jupyter_streamwatch.text.outside import REPR
from tests.hostile import names

CUT = re.compile(r"[\d,]+ characters left out|…")
LONG = names.query(0, "x y", 30_000, error=300_000, batches=3)
SUFFIXES = [".html", ".md", ".json"]


@pytest.fixture(autouse=True)
def plain_page(monkeypatch, tmp_path):
    """A page of text only: what draws in it is the same whatever the names are."""
    monkeypatch.setattr(html, "_static", lambda file: tmp_path / file)


def shown(*histories: History) -> dict:
    """What a page is sent of these, as JSON that was packed and read as a kernel does."""
    session = SimpleNamespace(state="live", text="")
    message = Delivery(SimpleNamespace(session=session, histories=lambda: histories)).snapshot()
    return json.loads(json.dumps(message, ensure_ascii=False, allow_nan=False).encode())


def report(tmp_path, suffix: str, recording: Recording) -> str:
    write(tmp_path / f"r{suffix}", recording)
    return (tmp_path / f"r{suffix}").read_text()


def test_a_text_that_is_cut_says_how_much_is_missing():
    """Beginning and end stay; what is short stays as it is."""
    text = outside.cut("a" * 500 + "b" * 500, 100)
    assert len(text) == 100
    assert (text[0], text[-1]) == ("a", "b")
    assert "900 characters left out" in text
    assert outside.cut("short", 100) == "short"
    assert outside.cut("abcdef", 3) == "abc"


def test_no_secret_is_halved_where_a_text_is_cut():
    """It is taken out before."""
    text = "x" * 700 + " https://me:hunter2-hunter2-hunter2@host " + "x" * 700
    assert not any("hunter2" in outside.kept(text, length) for length in range(100, 1_300, 7))


def test_a_record_keeps_no_more_of_a_text_than_is_of_use():
    """Names, descriptions, keys and metrics of a record, and the error of a run."""
    assert LONG.name is not None
    assert len(LONG.name) <= 1_000
    assert len(json.dumps(LONG.last.to_dict())) < 150_000
    assert len(LONG.runs[-1].exception) <= 100_000
    assert "characters left out" in LONG.runs[-1].exception
    assert all(len(name) <= 200 for name in LONG.batches.names)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_report_of_long_texts_is_small_and_says_that_they_are_cut(tmp_path, suffix):
    """Every text of a query is 30 kB, its error 300 kB, and the session's settings are as long."""
    text = report(tmp_path, suffix, names.recording(LONG, evil="x y", length=30_000))
    assert len(text) < 250_000
    assert CUT.search(text)


def test_a_message_of_long_texts_is_small():
    """Also the ids and names of columns in it."""
    assert len(json.dumps(shown(LONG))) < 250_000


@pytest.mark.parametrize(
    "value",
    [
        LONG, LONG.snapshot(), LONG.last, LONG.last.sources[0],
        LONG.facts, LONG.checkpoint, LONG.runs[-1], LONG.batches,
        Queries({LONG.id: LONG}), names.recording(LONG), diagnose(LONG), *diagnose(LONG).hints, static([LONG]),
        names.recording(evil="x", length=30_000).skipped[0],
        Recording([], skipped=names.recording(evil="x y", length=9_000).skipped),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_repr_is_bounded_and_printable(value):
    """Of anything that a cell may end with."""
    assert len(repr(value)) <= REPR
    assert repr(value).isprintable()


def test_texts_for_a_terminal_are_bounded():
    """A diagnosis, and a still of a watch."""
    assert len(str(diagnose(LONG))) < 30_000
    assert len(static([LONG]).text) < 5_000


def test_an_unknown_query_among_a_thousand_names_some():
    """And counts the rest."""
    queries = Queries({str(at): History(str(at), "n" * 500) for at in range(1000)})
    with pytest.raises(KeyError) as error:
        queries["what"]
    assert len(str(error.value)) < 3_000
    assert "and 980 more" in str(error.value)


def test_an_unknown_column_names_some(tmp_path):
    """A query may have hundreds."""
    with pytest.raises(KeyError) as error:
        LONG.batches["x" * 10_000]
    assert len(str(error.value)) < 2_100


CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
@pytest.mark.parametrize("evil", ["control", "surrogate"])
def test_no_control_character_reaches_a_report(tmp_path, suffix, evil):
    """A terminal that shows the file does not move, change its title or turn text around."""
    text = names.CHARACTERS[evil]
    history = names.query(0, text, error=500, batches=3)
    written = report(tmp_path, suffix, names.recording(history, evil=text))
    assert not CONTROLS.search(written)
    assert "\N{SYMBOL FOR ESCAPE}" in written or evil == "surrogate"


@pytest.mark.parametrize("evil", ["control", "surrogate"])
def test_no_control_character_reaches_a_terminal(evil):
    """Nor one that no terminal can be sent."""
    history = names.query(0, names.CHARACTERS[evil], error=500, batches=3)
    for text in (
        str(diagnose(history)),
        static([history]).text,
        repr(history),
        repr(history.last),
        *static([history]).html,
    ):
        assert not CONTROLS.search(text)
        text.encode()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_half_a_character_in_one_name_takes_nothing_from_the_others(tmp_path, suffix):
    """Twenty queries, one of which has a name that no file can hold: all are written, sent, saved and read."""
    broken = names.query(0, names.SURROGATE, error=500, batches=2)
    histories = [broken, *(names.query(at, f"query number {at}", batches=2) for at in range(1, 20))]
    recording = names.recording(*histories, evil=names.SURROGATE)
    text = report(tmp_path, suffix, recording)
    assert all(f"query number {at}" in text for at in range(1, 20))
    assert "half \N{REPLACEMENT CHARACTER} of a pair" in text
    assert len(shown(*histories)["lines"]) == 20
    recording.save(tmp_path / "run.jsonl")
    assert len(load(tmp_path / "run.jsonl").queries) == 20
    static(histories).html.encode()


def test_half_a_character_in_an_id_is_replaced_everywhere_alike():
    """What a page selects by is what the kernel knows."""
    id = parse({"id": "a\ud83d", "batchId": 1}).id
    history = testing.history(batches=2, id=id)
    message = shown(history)
    assert message["selected"] == message["lines"][0]["id"] == history.id == "a\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("before", [None, "old"])
def test_what_could_not_be_written_whole_leaves_nothing(tmp_path, monkeypatch, before):
    """A file of that name stays what it was, and no half of one is left beside it."""
    path = tmp_path / "run.jsonl"
    if before:
        path.write_text(before)

    def failing():
        yield "half"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        whole_file.write(path, failing())
    recording = testing.recording(batches=2)
    monkeypatch.setattr(Recording, "events", lambda _: ({"event": what} for what in failing()))
    with pytest.raises(OSError, match="No space"):
        recording.save(path)
    assert [each.name for each in tmp_path.iterdir()] == (["run.jsonl"] if before else [])
    assert not before or path.read_text() == before


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_report_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path, monkeypatch, suffix):
    """Also when the disk is full in the middle of the write."""
    monkeypatch.setattr(whole_file, "_written", lambda file, texts: file.write(b"half") and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / f"r{suffix}", testing.recording(batches=2))
    assert not list(tmp_path.iterdir())


def test_a_file_is_written_where_a_link_or_a_pipe_leads(tmp_path):
    """The link stays; a device is no file to replace."""
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    whole_file.write(tmp_path / "link.md", ["new"])
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == "new"
    assert whole_file.write("/dev/null", ["gone"]) == 4
    longest = tmp_path / f"{'n' * 252}.md"
    assert whole_file.write(longest, ["x"]) == 1
    with pytest.raises(IsADirectoryError):
        whole_file.write(tmp_path, ["x"])
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.parent.glob("*.part"))


def test_the_theme_is_no_way_in():
    """The only setting that a page shows is one of three words."""
    with pytest.raises(Exception, match="theme"):
        StreamWatch(theme='"><script>')
