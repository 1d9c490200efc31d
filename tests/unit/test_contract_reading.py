"""The public API as its users know it: what is loaded, and recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jupyter_streamwatch as sw

CASES = Path(__file__).parent.parent / "cases"
OTHER, RUN = "9d3c2b1a-0f4e-4d6a-8b7c-6a5f4e3d2c1b", "5e1f0a9b-8c7d-4e6f-9a0b-1c2d3e4f5a6b"
ID = "3f6f0d51-9c1e-4a52-8a4d-2f5be1f1c001"


def record(batch: int = 0, **changes: object) -> dict:
    made = {
        "id": ID,
        "runId": RUN,
        "name": "clicks",
        "timestamp": f"2026-03-02T08:00:{2 * batch:02}.000Z",
        "batchId": batch,
        "numInputRows": 40,
        "inputRowsPerSecond": 20.0,
        "processedRowsPerSecond": 57.1,
        "durationMs": {"addBatch": 500, "triggerExecution": 700},
        "stateOperators": [],
        "sources": [
            {
                "description": "KafkaV2[Subscribe[clicks]]",
                "startOffset": {"clicks": {"0": 40 * batch}},
                "endOffset": {"clicks": {"0": 40 * batch + 40}},
                "latestOffset": {"clicks": {"0": 40 * batch + 40}},
                "numInputRows": 40,
            }
        ],
        "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
    }
    return {name: value for name, value in {**made, **changes}.items() if value is not ...}


def test_text_is_content_and_anything_else_a_path(tmp_path, monkeypatch):
    """A newline or a brace makes text; else the argument names a file, as text or as a path."""
    text = json.dumps(record())
    (tmp_path / "progress.json").write_text(text)
    monkeypatch.chdir(tmp_path)
    for given in (text, text + "\n", tmp_path / "progress.json", str(tmp_path / "progress.json"), "progress.json"):
        assert [p.batchId for p in sw.load(given).progress] == [0]
    assert sw.load("no record\nat all").progress == []


@pytest.mark.parametrize("name", ["nowhere.json", "/nowhere/at/all.txt", "progress"])
def test_a_missing_file(name, tmp_path, monkeypatch):
    """A name of nothing is FileNotFoundError that names it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=name):
        sw.load(name)
    with pytest.raises(FileNotFoundError):
        sw.load(tmp_path / (name.strip("/") or "x"))


@pytest.mark.parametrize("text", ["nothing\nhere", "{}", "{", "[]\n", "\n", '{"a": 1}', "INFO Spark: started {}\n"])
def test_text_without_progress(text):
    """It makes an empty recording that says why, and can be diagnosed, reported and saved."""
    rec = sw.load(text)
    assert rec.progress == []
    assert len(rec.queries) == 0
    assert rec.diagnose() == {}
    assert len(rec.skipped) > 0
    assert all(skipped.reason.endswith((".", "…")) or skipped.reason for skipped in rec.skipped)
    with pytest.raises(KeyError):
        rec.queries["x"]


def test_an_empty_file(tmp_path):
    """An empty file is text without any progress."""
    (tmp_path / "empty.log").write_text("")
    rec = sw.load(tmp_path / "empty.log")
    assert rec.progress == []
    assert rec.skipped


def test_records_without_an_id_share_one():
    """They are one query, with an id that is made up; all records are told in order."""
    rec = sw.load(json.dumps([record(i, id=..., runId=..., name=...) for i in range(3)]))
    assert len(rec.queries) == 1
    (key,) = rec.queries
    assert isinstance(key, str)
    assert rec.queries[key].id == key
    assert [p.batchId for p in rec.progress] == [0, 1, 2]
    assert list(rec.queries[key].batches["batchId"]) == [0, 1, 2]
    assert set(rec.diagnose()) == {key}


def test_keys():
    """An id, a unique prefix, a name, or an object with an id; a reused name means its newest query."""
    later = [record(i, id=OTHER, runId=OTHER, timestamp=f"2026-03-02T09:00:{2 * i:02}.000Z") for i in range(2)]
    for records in ([record(), *later], [*later, record()]):
        rec = sw.load(json.dumps(records))
        assert set(rec.queries) == {ID, OTHER}
        assert rec.queries["clicks"].id == OTHER
        assert rec.queries[ID[:6]].id == rec.queries[ID].id == ID
        assert rec.queries[rec.queries[ID]].id == ID
        assert "clicks" in rec.queries
        assert "nothing" not in rec.queries
        assert rec.queries.get("nothing") is None
        with pytest.raises(KeyError) as error:
            rec.queries["nothing"]
        assert "nothing" in str(error.value)
        assert "clicks" in str(error.value)
        assert ID in str(error.value)
        assert OTHER in str(error.value)


def test_an_id_may_be_a_uuid():
    """PySpark's ``query.id`` is text in some versions and a UUID in others."""
    from uuid import UUID

    rec = sw.load(json.dumps(record()))
    assert rec.queries[UUID(ID)].id == ID
    assert sw.diagnose([{**record(), "id": UUID(ID), "runId": UUID(RUN)}]).verdict


def test_records_of_several_queries_are_refused_with_advice():
    """``sw.diagnose`` judges one query; of several it says to use ``sw.load``."""
    with pytest.raises(ValueError, match=r"sw\.load"):
        sw.diagnose([record(), record(id=OTHER)])
    with pytest.raises(ValueError, match=r"sw\.load"):
        sw.diagnose([sw.parse(record()), sw.parse(record(id=OTHER))])
    assert set(sw.load(json.dumps([record(), record(id=OTHER)])).diagnose()) == {ID, OTHER}


def test_what_diagnose_takes():
    """Records as dicts, text or parsed ones, one record, a history; all give the same."""
    records = [record(i) for i in range(12)]
    parsed = [sw.parse(one) for one in records]
    rec = sw.load(json.dumps(records))
    found = [
        sw.diagnose(records),
        sw.diagnose(parsed),
        sw.diagnose(tuple(json.dumps(one) for one in records)),
        sw.diagnose(iter(parsed)),
        sw.diagnose(rec.queries[ID]),
        sw.diagnose(rec.progress),
        rec.diagnose("clicks"),
        rec.diagnose()[ID],
        rec.diagnose(rec.queries[ID]),
    ]
    assert len({json.dumps(one.to_dict()) for one in found}) == 1
    assert sw.diagnose(records[0]).verdict == sw.diagnose([records[0]]).verdict
    assert sw.diagnose([]).verdict == "unknown"


@pytest.mark.parametrize(
    ("trigger", "kind"),
    [
        (2, "processingTime"),
        (2.0, "processingTime"),
        ("2 seconds", "processingTime"),
        ("availableNow", "availableNow"),
        ("once", "once"),
        ("continuous", "continuous"),
    ],
)
def test_a_stated_trigger(trigger, kind):
    """Seconds, Spark's text or a word; it is the trigger of each query, and stated."""
    rec = sw.load(json.dumps([record(i) for i in range(8)]), trigger=trigger)
    found = rec.queries[ID].trigger
    assert (found.kind, found.origin) == (kind, "stated")
    assert found.interval_ms == (2000 if kind == "processingTime" else None)
    assert sw.diagnose([record(i) for i in range(8)], trigger=trigger).verdict == rec.diagnose("clicks").verdict


@pytest.mark.parametrize("trigger", ["soon", -1, "2 parsecs", "", [], float("nan")])
def test_a_trigger_that_is_none(trigger):
    """One sentence of ValueError says what is one."""
    with pytest.raises(ValueError, match="rigger"):
        sw.load("a\nb", trigger=trigger)
    with pytest.raises(ValueError, match="rigger"):
        sw.diagnose([record()], trigger=trigger)


def test_an_unknown_format():
    """ValueError names the right ones."""
    with pytest.raises(ValueError, match="event-log"):
        sw.load("a\nb", format="yaml")


def test_a_recording_comes_back(tmp_path):
    """Saved and loaded it has the same queries, records, batches, runs and diagnosis."""
    rec = sw.load(json.dumps([record(i) for i in range(12)] + [record(i, id=OTHER, runId=OTHER) for i in range(3)]))
    rec.save(tmp_path / "a.jsonl")
    rec.save(str(tmp_path / "b.jsonl"))
    for path in (tmp_path / "a.jsonl", str(tmp_path / "b.jsonl")):
        again = sw.load(path)
        assert list(again.queries) == list(rec.queries)
        assert [p.to_dict() for p in again.progress] == [p.to_dict() for p in rec.progress]
        assert again.skipped == rec.skipped == []
        for id, history in rec.queries.items():
            other = again.queries[id]
            assert (other.name, len(other.runs), other.last) == (history.name, len(history.runs), history.last)
            assert list(other.batches) == list(history.batches)
            assert list(other.batches["batchId"]) == list(history.batches["batchId"])
            assert again.diagnose(id).to_dict() == rec.diagnose(id).to_dict()
    (tmp_path / "a.jsonl").rename(tmp_path / "b.txt")
    assert sw.load((tmp_path / "b.txt").read_text()).diagnose(ID).to_dict() == rec.diagnose(ID).to_dict()


def test_no_secret_is_saved_or_reported(tmp_path):
    """What is written to disk has no password of a description or path."""
    text = "jdbc:postgresql://ann:pa55w0rd@db/x?password=pa55w0rd"
    source = {**record()["sources"][0], "description": text}
    rec = sw.load(json.dumps(record(sources=[source], sink={"description": text})))
    rec.save(tmp_path / "x.jsonl")
    for suffix in ("html", "md", "json"):
        rec.report(tmp_path / f"x.{suffix}")
    for path in tmp_path.iterdir():
        assert "pa55w0rd" not in path.read_text(), path.name


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_a_report_by_its_suffix(tmp_path, suffix):
    """The file is complete and offline, the returned object shows itself without a script."""
    rec = sw.load(json.dumps([record(i) for i in range(12)] + [record(i, id=OTHER, name="other") for i in range(2)]))
    for path in (tmp_path / f"all.{suffix}", str(tmp_path / f"ALL.{suffix.upper()}")):
        shown = rec.report(path)
        text = Path(path).read_text(encoding="utf-8")
        assert "clicks" in text
        assert "other" in text
        html = shown._repr_mimebundle_()
        html = html[0] if isinstance(html, tuple) else html
        assert "clicks" in html["text/html"]
        assert "<script" not in html["text/html"]
        assert shown._repr_html_() == html["text/html"]
    rec.report(tmp_path / f"one.{suffix}", "clicks")
    if suffix == "json":
        assert json.loads((tmp_path / "one.json").read_text())
        assert "NaN" not in (tmp_path / "one.json").read_text()
    with pytest.raises(KeyError, match="clicks"):
        rec.report(tmp_path / f"none.{suffix}", "nothing")
    assert not (tmp_path / f"none.{suffix}").exists()


@pytest.mark.parametrize("name", ["x.pdf", "x", "x.html.gz", ".html"])
def test_a_report_of_another_suffix(tmp_path, name):
    """ValueError names the three that are."""
    rec = sw.load(json.dumps(record()))
    with pytest.raises(ValueError, match=r"\.html.*\.md.*\.json"):
        rec.report(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_every_case_can_be_saved_reported_and_read_again(tmp_path):
    """Whatever people paste: it is saved, read again and diagnosed as before, and reported."""
    for path in sorted(CASES.glob("[0-9]*")):
        rec = sw.load(path)
        rec.save(tmp_path / "x.jsonl")
        again = sw.load(tmp_path / "x.jsonl")
        assert [p.to_dict() for p in again.progress] == [p.to_dict() for p in rec.progress], path.name
        assert [s.reason for s in again.skipped] == [s.reason for s in rec.skipped], path.name
        for id, diagnosis in rec.diagnose().items():
            assert again.diagnose(id).to_dict() == diagnosis.to_dict(), path.name
        rec.report(tmp_path / "x.md")
        rec.report(tmp_path / "x.json")
        json.loads((tmp_path / "x.json").read_text(), parse_constant=pytest.fail)


def test_an_outline_with_quotes():
    """YAML quotes what looks like a time or holds a colon."""
    text = """\
id: 3f6f0d51-9c1e-4a52-8a4d-2f5be1f1c001
batchId: 12
timestamp: '2026-03-02T08:00:00.000Z'
numInputRows: 9
durationMs:
  addBatch: 525
  triggerExecution: 700
sources:
- description: "TextSocketV2[host: localhost, port: 9999]"
  endOffset: 14
  numInputRows: 9
  startOffset: 5
"""
    (p,) = sw.load(text).progress
    assert (p.timestamp, p.sources[0].description) == (
        "2026-03-02T08:00:00.000Z",
        "TextSocketV2[host: localhost, port: 9999]",
    )


@pytest.mark.parametrize("given", [b'{"batchId": 1}', [{"batchId": 1}], None, 3])
def test_what_is_neither_text_nor_a_path_is_refused(given):
    """One sentence says what to pass, and where records go."""
    with pytest.raises(
        TypeError, match=r"sw\.load reads a path, a URL or text, not .*progress records go to sw\.diagnose"
    ):
        sw.load(given)
