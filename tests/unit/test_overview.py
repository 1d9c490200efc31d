"""The line of a query: the event's numbers in few characters, and one sentence where there is something to say."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from jupyter_streamwatch.diagnosis import Backlog, Capacity, Outcome, diagnose
from jupyter_streamwatch.model.error_line import LENGTH, error_line
from jupyter_streamwatch.model.facts import Facts, RunningBatch, Status
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.trigger import Trigger
from jupyter_streamwatch.recordings.recording import Recording
from jupyter_streamwatch.report import markdown, page
from jupyter_streamwatch.report.content import take
from jupyter_streamwatch.report.static import static
from jupyter_streamwatch.summary import line as overview
from jupyter_streamwatch.summary.note import Note
from tests.unit.queries import ID, RUN, START, UDF_ERROR, hint, history, kafka, record, verdict


class Session:
    def __init__(self, state="live"):
        self.state = state
        self.text = ""


def line(queried, diagnosis=None, session=None, now=None):
    return overview.line(queried.snapshot(), diagnosis or verdict(), session, now)


def test_numbers_are_those_of_the_last_batch():
    """Rates and batch time are the last event's, shortened; the tip has them exactly."""
    made = line(history(5, numInputRows=12_432, took=1500))
    assert (made.rates.input, made.rates.processed) == ("6.22k/s", "8.29k/s")
    assert "6216 rows/s" in made.rates.tip
    assert "8288 rows/s" in made.rates.tip
    assert "12,432 rows" in made.rates.tip
    assert (made.batch.id, made.batch.duration) == ("4", "1.5 s")
    assert "1500 ms" in made.batch.tip
    assert made.rates.spark == (8288.0,) * 5


def test_nothing_is_known_before_the_first_batch():
    """Without a batch every number is n/a, with the reason."""
    made = line(history(0), verdict("starting"))
    for text, tip in (
        (made.rates.input, made.rates.tip),
        (made.rates.processed, made.rates.tip),
        (made.batch.id, made.batch.tip),
        (made.batch.duration, made.batch.tip),
        (made.watermark.text, made.watermark.tip),
        (made.backlog.text, made.backlog.tip),
    ):
        assert (text, tip) == ("n/a", "No batch has been reported yet.")


def test_the_first_batch_has_no_input_rate():
    """Spark's input rate of 0 for a first batch with rows is no measurement."""
    made = line(history(1, inputRowsPerSecond=0.0))
    assert made.rates.input == "n/a"
    assert "first batch" in made.rates.tip
    assert line(history(2, numInputRows=0)).rates.input == "0/s"


def test_batch_time_stands_against_the_trigger_interval():
    """With an interval the ratio is batch time over it, and the tip says who said so."""
    queried = history(5, took=3400)
    queried.state_trigger(Trigger.parse("2 seconds"))
    batch = line(queried).batch
    assert (batch.duration, batch.of, batch.basis, batch.ratio) == ("3.4 s", "2 s", "interval", pytest.approx(1.7))
    assert "2000 ms, as stated" in batch.tip


def test_without_an_interval_batch_time_stands_against_its_usual():
    """The median of the run's earlier batches but its first is the measure; below three there is none."""
    queried = history(0)
    queried.state_trigger(Trigger("default"))
    for batch, took in enumerate([9000, 1000, 1200, 1100]):
        queried.append(parse(record(batch, batch * 9.1, took=took)))
    assert line(queried).batch.of is None
    queried.append(parse(record(4, 50.0, took=2200)))
    batch = line(queried).batch
    assert (batch.of, batch.basis, batch.ratio) == ("1.1 s", "usual", pytest.approx(2.0))


def test_usual_is_of_the_latest_run():
    """Batches of an earlier run do not say what is usual in this one."""
    queried = history(20)
    queried.start("bbbbbbbb", at=START + 100_000)
    for batch in range(20, 23):
        queried.append(parse(record(batch, 100 + batch, runId="bbbbbbbb")))
    assert overview.usual_duration(queried) is None
    for batch in range(23, 25):
        queried.append(parse(record(batch, 100 + batch, runId="bbbbbbbb", took=700)))
    assert overview.usual_duration(queried) == 1100.0


def test_usual_leaves_out_the_first_batch_of_a_long_run():
    """Beyond the window of recent batches the first batch plays no part."""
    assert overview.usual_duration(history(150)) == 1500.0


@pytest.mark.parametrize(
    ("event_time", "text"),
    [
        ({"watermark": "2026-01-01T13:56:00.300Z", "max": "2026-01-01T14:06:00.300Z"}, "−4 min"),
        ({"watermark": "1970-01-01T00:00:00.000Z"}, "unset"),
        ({}, "none"),
        ({"watermark": "2013-01-03T05:45:00.000Z"}, "2013-01-03 05:45"),
    ],
)
def test_the_watermark_is_a_lag_or_says_why_not(event_time, text):
    """A watermark near the batch's time is a lag; of replayed data it is a date; at the epoch it is unset."""
    watermark = line(history(1, eventTime=event_time)).watermark
    assert watermark.text == text
    assert watermark.tip


def test_the_backlog_is_rows_or_names_who_does_not_say():
    """A known backlog is a number, with a trend when it is judged; an unknown one names the silent source."""
    known = history(3, sources=kafka(2, 12_432))
    assert line(known).backlog == overview.Value("12.4k", "Up to 12,432 rows waited after batch 2.", None)
    for trend in ("grows", "shrinks", "steady"):
        judged = replace(verdict("running"), backlog=Backlog(12_432, trend))
        assert line(known, judged).backlog.trend == trend
    shrinks = line(
        known, replace(verdict("catching-up"), backlog=Backlog(12_432, "shrinks", -100.0, 124_320.0))
    ).backlog
    assert shrinks.tip.endswith("At the speed of the last batches they are gone in about 2 min 4 s.")
    nothing = line(history(3, sources=kafka(2, 0)), replace(verdict("keeping-up"), backlog=Backlog(0, "steady", 0.0)))
    assert nothing.backlog.trend is None
    silent = line(history(3)).backlog
    assert silent.text == "n/a"
    assert silent.tip == "files /data/in does not report how many rows wait."


def test_the_state_is_the_verdict_with_a_shape_of_its_level():
    """State, level and shape come from the diagnosis; the reason is kept."""
    state = line(history(3), replace(verdict("falling-behind", reason="Batches take 3.4 s."), worsens=True)).state
    assert (state.verdict, state.label, state.level, state.shape) == (
        "falling-behind",
        "Falling behind",
        "critical",
        "square",
    )
    assert state.reason == "Batches take 3.4 s."


def test_all_well_says_nothing():
    """A query that keeps up without a hint has no note."""
    made = line(history(3))
    assert made.note is None
    assert made.running is None
    assert made.details is None


def test_the_top_hint_is_the_note():
    """The first hint's title is the line under the query, at its severity."""
    made = line(history(3), verdict("falling-behind", hint(title="200 partitions for 34 rows"), hint("x", "info")))
    assert made.note == Note("200 partitions for 34 rows", "warning", "too-many-partitions")
    assert [one["code"] for one in made.hints] == ["too-many-partitions", "x"]


def test_what_never_changes_is_no_note():
    """A property of the query is in its hints; under the line stands what is news."""
    calm = hint("sink-not-idempotent", "info"), hint("temporary-checkpoint", "info")
    assert line(history(3), verdict("keeping-up", *calm)).note is None
    news = line(history(3), verdict("keeping-up", *calm, hint("results-pending", "info", "Nothing yet"))).note
    assert news == Note("Nothing yet", "info", "results-pending")


def test_a_failure_says_its_class_and_what_went_wrong():
    """A failed query shows the class and the line of the user's error; the full text is in the details."""
    failed = history(2)
    failed.end(RUN, START + 9000, UDF_ERROR, "STREAM_FAILED")
    made = line(failed, verdict("failed", hint("query-failed", "critical")))
    assert made.note == Note("STREAM_FAILED: ZeroDivisionError: division by zero", "critical", "query-failed")
    assert made.details == UDF_ERROR
    assert not made.ended


@pytest.mark.parametrize(
    ("exception", "error_class", "text"),
    [
        ("java.lang.IllegalStateException: Cannot find offsets\n\tat x", None, "Cannot find offsets"),
        ("[X.Y] It broke\nmore", "X.Y", "[X.Y] It broke"),
        ("", "X", "X: The query ended with an exception"),
        ("boom " * 200, None, None),
    ],
)
def test_the_line_of_an_error(exception, error_class, text):
    """Java's class names go, Spark's error class is named once, and a long line is cut."""
    failed = history(1)
    failed.end(RUN, START, exception, error_class)
    said = error_line(failed.runs[-1])
    assert said == text or (text is None and len(said) == LENGTH)


def test_starting_says_what_spark_does_and_for_how_long():
    """Before the first batch: Spark's own status and the time since the start."""
    queried = history(0)
    queried.set_status(Status("Initializing sources"))
    note = line(queried, verdict("starting"), Session(), START + 3200).note
    assert note is not None
    assert note.text == "Initializing sources · 3.2 s since the start"


def test_continuous_mode_says_that_there_is_no_progress():
    """A continuous query has no batches to show, and says so."""
    queried = history(0)
    queried.state_trigger(Trigger("continuous", 1000.0))
    note = line(queried, verdict("running", hint("no-progress-mode", "info")), Session(), START).note
    assert note is not None
    assert note.text == "Spark reports no progress in this mode"


def test_idle_says_since_when():
    """An idle query tells when its last data was done, and the moment for pages that show another zone."""
    queried = history(1)
    queried.append(parse(record(1, 5.0, numInputRows=0, sources=[])))
    queried.idle(RUN, START + 20_000)
    note = line(queried, verdict("idle"), Session(), START + 30_000).note
    assert note == Note("No new data since 14:00 UTC", "info", at=START + 300 + 1500)
    later = line(queried, verdict("idle"), Session(), START + 86_400_000).note
    assert later is not None
    assert later.text == "No new data since 2026-01-01 14:00:01 UTC"
    told = line(queried, verdict("idle", hint(title="A warning")), Session(), START + 30_000).note
    assert told is not None
    assert told.text == "A warning"


def running(**changes):
    given = {"batchId": 4, "started": START, "tasksTotal": 200, "tasksDone": 37, **changes}
    return RunningBatch(RUN, seen=START, **given)


def test_the_running_batch_shows_after_a_moment():
    """It appears after a second, or earlier when it takes longer than usual, with its tasks and its usual time."""
    queried = history(4)
    queried.set_running(running())
    assert line(queried, now=START + 900, session=Session()).running is None
    made = line(queried, now=START + 1600, session=Session()).running
    assert made is not None
    assert made.text == "running batch 4: 37 of 200 tasks · 1.6 s so far, usually 1.5 s"
    assert made.fraction == pytest.approx(0.185)
    quick = history(0)
    for batch in range(5):
        quick.append(parse(record(batch, batch, took=200)))
    quick.set_running(running(batchId=5, tasksTotal=None, tasksFailed=2))
    early = line(quick, now=START + 300, session=Session()).running
    assert early is not None
    assert early.text == "running batch 5: 2 failed · 300 ms so far, usually 200 ms"
    assert early.fraction is None


def test_no_running_batch_where_nothing_runs():
    """A recording, a stopped session, an ended run and a batch that is already reported show none."""
    queried = history(4)
    queried.set_running(running())
    assert line(queried).running is None
    assert line(queried, session=Session("gone"), now=START + 5000).running is None
    queried.set_running(running(batchId=3))
    assert line(queried, session=Session(), now=START + 5000).running is None
    queried.set_running(running())
    queried.end(RUN, START + 4000)
    assert line(queried, session=Session(), now=START + 5000).running is None


def test_the_worst_comes_first_and_ended_ones_last(monkeypatch):
    """Order: level, then verdict; then what has ended, the newest end first."""
    words = ["keeping-up", "finished", "falling-behind", "starting", "failed", "stopped", "at-capacity"]
    queries = [history(1, id=f"{at}-{word}") for at, word in enumerate(words)]
    queries[1].end(RUN, START + 9000)
    queries[5].end(RUN, START + 10_000)
    monkeypatch.setattr(overview, "diagnose", lambda one, now, others: verdict(one.id.split("-", 1)[1]))
    made = [one.state.verdict for one in overview.lines(queries)]
    assert made == ["failed", "falling-behind", "at-capacity", "keeping-up", "starting", "stopped", "finished"]


def test_facts_say_what_is_known_and_why_the_rest_is_not():
    """Known facts are words; unknown ones are n/a with the probe's reason."""
    queried = history(2)
    queried.state_trigger(Trigger.parse("2 seconds", "asked"))
    queried.set_facts(
        Facts(
            mode="connect",
            sparkVersion="4.3.0",
            checkpoint="/tmp/temporary-1",
            temporaryCheckpoint=True,
            watermarks=(("ts", 600_000.0),),
            stateful=(),
            sources=("Kafka a", "Kafka b", "Kafka c", "Kafka d", "Kafka e"),
            rateLimit=(("maxFilesPerTrigger", "10"),),
            why={"outputMode": "Spark Connect does not tell."},
        )
    )
    rows = {label: (value, tip) for label, value, tip in line(queried).facts}
    assert rows["Trigger"] == ("every 2 s", "As Spark says.")
    assert rows["Output mode"] == ("n/a", "Spark Connect does not tell.")
    assert rows["Sink"][0] == "console"
    assert rows["Sources"][0] == "Kafka a, Kafka b, Kafka c, Kafka d and 1 more"
    assert rows["Rate limit"][0] == "maxFilesPerTrigger 10"
    assert rows["Checkpoint"][0] == "/tmp/temporary-1 (temporary)"
    assert rows["Watermark"][0] == "ts, 10 min"
    assert rows["Stateful operators"][0] == "none"
    assert rows["Spark"][0] == "4.3.0, Connect"


def test_a_hostile_name_cannot_disturb_the_line():
    """Controls and direction overrides go, a long name is cut in the middle, and a nameless query has its id."""
    made = line(history(1, name="a\u202eb\n" + "x" * 200))
    assert made.name.startswith("a b x")
    assert len(made.name) == overview.NAME_LENGTH
    assert "\n" not in made.fullName
    nameless = history(0, name=None)
    assert line(nameless).name == f"query {ID[:8]}"


def test_secrets_do_not_leave_the_line():
    """The data of a line has no password: not in names, notes, errors, facts or hints."""
    secret = "geheim123"
    failed = history(1, name=f"q password={secret}")
    failed.set_facts(Facts(sources=(f"Kafka password={secret}",), checkpoint=f"s3://user:{secret}@bucket/x"))
    failed.end(RUN, START, f"boom token={secret}")
    data = line(failed, verdict("failed", hint(title=f"password={secret}"))).to_dict()
    assert secret not in json.dumps(data)


def test_a_line_is_json():
    """The data of a line survives JSON unchanged: lists, numbers, text and null only."""
    queried = history(5, sources=kafka(2, 7))
    data = line(queried, verdict("at-capacity", hint())).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_redacting_twice_changes_nothing():
    """Texts pass more than one redaction on their way: the mark of a secret does not grow."""
    queried = history(1, name="q")
    queried.end(RUN, START, "boom password=geheim123", "X")
    note = line(queried, verdict("failed")).to_dict()["note"]
    assert note["text"] == "X: boom password=*********(redacted)"


def test_what_became_of_a_prediction_stands_with_the_reason():
    """After a restart the line says whether the last hint was right, in one more sentence."""
    came = Outcome("slow-checkpoint", "batch time", (500.0, 600.0, 900.0), 2000.0, 700.0, "ms", "As predicted: 700 ms.")
    judged = replace(verdict("keeping-up", reason="Batches take 700 ms."), outcome=came)
    assert line(history(3), judged).state.reason == "Batches take 700 ms. As predicted: 700 ms."


def test_what_is_usual_reads_as_no_limit():
    """Without an interval nothing is exceeded: "2.2 s, usually 1.1 s" and not "2.2 s of 1.1 s", in every view."""
    queried = history(6, took=1100)
    queried.append(parse(record(6, 40, took=2200)))
    queried.set_facts(Facts(trigger=Trigger("default", None, "asked")))
    made = line(queried)
    assert (made.batch.duration, made.batch.against) == ("2.2 s", ", usually 1.1 s")
    assert "Usual is 1100 ms" in made.batch.tip
    limited = history(6, took=1100)
    limited.set_facts(Facts(trigger=Trigger("processingTime", 1000, "asked")))
    assert line(limited).batch.against == " of 1 s"
    for made_of, text in ((queried, "2.2 s, usually 1.1 s"), (limited, "1.1 s of 1 s")):
        still = static(made_of)
        assert text in still.html
        assert text in still.text
        assert text in markdown.write(take(made_of))
        assert text in re.sub("<[^>]*>", "", page.body(take(made_of), "", "all"))


def test_what_the_query_could_do_is_a_fact():
    """The capacity is a row of the facts once it is known, with what limits it in its tip, and none before."""
    known = replace(
        verdict(), capacity=Capacity((2100.0, 2312.0, 2600.0), None, reason="A guess.", rows_per_second=1750.0)
    )
    row = ("Capacity", "Keeps up to about 2,310 rows/s (2,100 to 2,600); now 1,750.", "A guess.")
    assert line(history(3), known).facts[-1] == row
    assert all(label != "Capacity" for label, _, _ in line(history(3)).facts)


def test_a_query_without_a_name_is_called_alike_everywhere():
    """In the table, in lists of what there is, and as a key: query and the start of its id."""
    queried = History("6be93ec0-0000-4000-8000-000000000001")
    recording = Recording([queried])
    assert line(queried).name == "query 6be93ec0"
    assert "query 6be93ec0 (6be93ec0-0000-" in repr(recording.queries)
    assert "query 6be93ec0" in repr(queried)
    assert recording.queries["query 6be93ec0"] is queried
    with pytest.raises(KeyError, match="query 6be93ec0"):
        recording.queries["orders"]


def test_a_long_name_in_an_error_is_shortened():
    """A list of what there is stays readable whatever the names; so does what was asked for."""
    with pytest.raises(KeyError) as refused:
        Recording([History("1" * 36, "x" * 200)]).queries["y" * 200]
    assert len(str(refused.value)) < 250


def test_a_run_that_was_joined_late_started_by_its_first_batch():
    """Where the start was not seen, the first batch says by when it was: not n/a."""
    joined = History(ID, "late_flights")
    joined.append(parse(record(0, 10)))
    assert ("Runs", "1, the last by 2026-01-01 14:00:10 UTC", f"Run id of the last: {RUN}") in line(joined).facts
    for text in (markdown.write(take(joined)), page.body(take(joined), "", "all")):
        assert "by 2026-01-01 14:00:10 UTC" in text


def test_a_run_without_new_data_says_whose_numbers_these_are():
    """An availableNow run that found nothing: the batch shown is of the run before."""
    queried = history(8)
    queried.set_facts(Facts(trigger=Trigger("availableNow", None, "asked")))
    queried.end(RUN, START + 60_000)
    assert line(queried, diagnose(queried)).note is None
    queried.start("again", at=START + 100_000)
    queried.end("again", START + 103_000)
    made = line(queried, diagnose(queried))
    said = "This run found no new data; the last batch, 7, is of the run before"
    assert (made.state.verdict, made.state.reason) == ("finished", f"{said}.")
    assert made.note == Note(said, "info")
    queried.set_facts(Facts(trigger=Trigger("default", None, "asked")))
    assert "stopped without a batch; the last batch, 7, is of the run before" in diagnose(queried).reason
