"""What waits is judged in the unit that a source tells: each says where it goes, and what it does not prove is left."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.summary.line import line
from tests.unit.diagnosis import made as given
from tests.unit.diagnosis.made import records

DELTA = "DeltaSource[s3a://lake/orders]"
AUTO_LOADER = "CloudFilesSource[/in]"
KAFKA = "KafkaV2[Subscribe[orders]]"
KINESIS = "KinesisV2[orders]"
SILENT = "SocketV2[localhost:9999]"


def source(description, rows=100, **metrics):
    """A source whose connector sends its metrics as text."""
    return {
        "description": description,
        "startOffset": {"version": 1},
        "endOffset": {"version": 2},
        "latestOffset": None,
        "numInputRows": rows,
        "metrics": {name: str(value) for name, value in metrics.items()},
    }


def kafka(i, waits):
    """A Kafka source with offsets, ``waits`` rows behind."""
    end = 100 * (i + 1)
    offsets = {"endOffset": {"orders": {"0": end}}, "latestOffset": {"orders": {"0": end + waits}}}
    return {**source(KAFKA), **offsets}


def of(*sources, count=12, **more):
    """Records that follow each other without a pause; each of ``sources`` is a function of the batch."""
    return records(count, sources=lambda i: [one(i) for one in sources], **{"interval": None, "ms": 2000, **more})


def judge(made, interval=None, **more):
    """Judge records, by default of a query without a trigger interval."""
    return given.judge(made, interval, **more)


def told(made):
    """(verdict, reason, codes, backlog of the overview) of records."""
    diagnosis = judge(made)
    codes = {hint.code for hint in diagnosis.hints}
    return diagnosis.verdict, diagnosis.reason, codes, line(history_of(made), diagnosis).backlog


@pytest.mark.parametrize(
    ("one", "reason", "text"),
    [
        (
            lambda i: source(DELTA, numFilesOutstanding=400 + 90 * i, numBytesOutstanding=10**9),
            "1.39k files wait, growing by 45/s.",
            "1.39k files",
        ),
        (
            lambda i: source(AUTO_LOADER, numFilesOutstanding=500, numBytesOutstanding=2**30 * (1 + i)),
            "12 GiB wait, growing by 512 MiB/s.",
            "12 GiB",
        ),
        (
            lambda i: source(KAFKA, maxOffsetsBehindLatest=8000 + 2000 * i, avgOffsetsBehindLatest=5000.0 + 1000 * i),
            "Up to 30k offsets behind in a partition, growing by 1k/s.",
            "30k offsets",
        ),
        (
            lambda i: source(KAFKA, estimatedTotalBytesBehindLatest=2.0**23 * (1 + i)),
            "About 96 MiB wait, growing by 4 MiB/s.",
            "96 MiB",
        ),
        (
            lambda i: source(KINESIS, maxMsBehindLatest=60_000 + 1000 * i, avgMsBehindLatest=30_000.0, mode="efo"),
            "Up to 1 min 11 s behind, growing by 30 s a minute.",
            "1 min 11 s",
        ),
        (
            lambda i: source(KINESIS, avgMsBehindLatest=60_000.0 + 1000 * i),
            "1 min 11 s behind on average, growing by 30 s a minute.",
            "1 min 11 s",
        ),
    ],
)
def test_growth_in_any_unit_is_proof(one, reason, text):
    """More and more files, bytes, offsets or time is falling behind, with its own unit in every place."""
    verdict, said, codes, shown = told(of(one))
    assert (verdict, said) == ("falling-behind", reason)
    assert "backlog-growing" in codes
    assert (shown.text, shown.trend) == (text, "grows")


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (
            lambda i: source(DELTA, numFilesOutstanding=1400 - 90 * i, numBytesOutstanding=(1400 - 90 * i) * 10**6),
            "410 files wait, shrinking by 45/s: about 9.1 s to go.",
        ),
        (
            lambda i: source(KINESIS, maxMsBehindLatest=600_000 - 20_000 * i),
            "Up to 6 min 20 s behind, shrinking by 10 min a minute: about 38 s to go.",
        ),
    ],
)
def test_what_shrinks_has_an_end(one, reason):
    """The time until it is gone is told in any unit, in the overview as well."""
    verdict, said, codes, shown = told(of(one))
    assert (verdict, said) == ("catching-up", reason)
    assert "backlog-growing" not in codes
    assert shown.trend == "shrinks"
    assert "in about" in shown.tip


@pytest.mark.parametrize(
    ("one", "verdict", "reason"),
    [
        (lambda i: source(DELTA, numFilesOutstanding=0, numBytesOutstanding=0), "keeping-up", "nothing waits"),
        (
            lambda i: source(DELTA, numFilesOutstanding=400 + i % 3),
            "at-capacity",
            "402 files wait, neither more nor less",
        ),
        (lambda i: source(KINESIS, maxMsBehindLatest=900 + i % 3), "keeping-up", "the query is only 902 ms behind"),
        (lambda i: source(KINESIS, maxMsBehindLatest=90_000 + i % 3), "at-capacity", "Up to 1 min 30 s behind"),
        (lambda i: source(KAFKA, maxOffsetsBehindLatest=5 + i % 2), "unknown", "Up to 6 offsets behind in a partition"),
    ],
)
def test_what_is_steady_raises_no_alarm(one, verdict, reason):
    """What neither grows nor shrinks is judged only against what a batch takes, where that is known."""
    found, said, codes, _ = told(of(one))
    assert found == verdict
    assert reason in said
    assert "backlog-growing" not in codes
    assert "nothing tells" not in said


@pytest.mark.parametrize(
    "one",
    [
        # Files shrink while bytes grow.
        lambda i: source(DELTA, numFilesOutstanding=1400 - 90 * i, numBytesOutstanding=10**9 * (1 + i)),
        # Each batch takes what came during the one before, and more comes.
        lambda i: source(KAFKA, rows=100 + 50 * i, estimatedTotalBytesBehindLatest=2**23 * (2 + i)),
        # The furthest partition gets nearer while the others fall behind.
        lambda i: source(KAFKA, maxOffsetsBehindLatest=90_000 - 3000 * i, avgOffsetsBehindLatest=10_000.0 + 3000 * i),
        # All at once, and no more since.
        lambda i: source(DELTA, numFilesOutstanding=0 if i < 6 else 500),
    ],
)
def test_what_proves_nothing_is_no_trend(one):
    """Units that contradict each other, growth with the batches, and a burst are neither lag nor catching up."""
    verdict, _, codes, _ = told(of(one))
    assert verdict not in ("falling-behind", "catching-up")
    assert "backlog-growing" not in codes


def test_a_trigger_that_ends_falls_behind_nothing():
    """What was there when an available-now query started is all that it reads."""
    made = of(lambda i: source(DELTA, numFilesOutstanding=400 + 90 * i))
    assert judge(made, trigger="availableNow").verdict == "running"


def test_one_record_says_the_work_it_proves():
    """Rows, batches and time at the rate of the record; neither a trend nor that nothing speaks against it."""
    diagnosis = judge(of(lambda i: kafka(i, 3800), count=1, first=812))
    assert diagnosis.verdict == "running"
    assert diagnosis.reason.startswith(
        "Up to 3.8k rows wait: about 38 batches or 1 min 16 s of work at this rate. Too few"
    )
    assert "Nothing to say against it" not in str(diagnosis)
    assert "Nothing to say against it" not in diagnosis._repr_html_()
    assert diagnosis.backlog.trend is None
    calm = judge(of(lambda i: kafka(i, 0), count=1, first=812))
    assert calm.reason.startswith("Too few")
    assert "Nothing to say against it" in str(calm)


def test_one_record_in_another_unit_says_how_much():
    """Files of one record are no rows, so no batches are made of them."""
    diagnosis = judge(of(lambda i: source(AUTO_LOADER, numFilesOutstanding=12_000), count=1, first=7))
    assert diagnosis.reason.startswith("12k files wait. Too few")
    assert (diagnosis.backlog.rows, diagnosis.backlog.unit, diagnosis.backlog.amount) == (None, "files", 12_000)


def test_few_records_do_not_claim_that_nothing_tells():
    """Four batches are too few for a trend, and how much waits is known all the same."""
    reason = judge(of(lambda i: kafka(i, 3800), count=4)).reason
    assert "Up to 3.8k rows wait: about 38 batches" in reason
    assert "nothing tells" not in reason


def test_a_query_in_time_says_what_waits_beyond_a_batch():
    """Time is left, and a limit holds rows back: both are said; less than a batch is not worth a word."""
    much = judge(of(lambda i: kafka(i, 3800), interval=10_000), 10_000)
    assert much.verdict == "keeping-up"
    assert "Up to 3.8k rows wait, neither more nor less: about 38 batches" in much.reason
    assert "wait" not in judge(of(lambda i: kafka(i, 10), interval=10_000), 10_000).reason


def test_a_source_that_falls_behind_is_named_among_several():
    """One of two that lags is proof, whatever the unit of the other; rows of one are not the backlog of all."""
    made = of(lambda i: source(DELTA, numFilesOutstanding=4), lambda i: kafka(i, 1000 * i))
    diagnosis = judge(made)
    assert diagnosis.reason == "Up to 11k rows wait in Kafka orders, growing by 500/s."
    assert diagnosis.backlog.rows is None
    assert line(history_of(made), diagnosis).backlog.text == "4 files, 11k rows"


def test_a_silent_source_hides_what_shrinks_elsewhere():
    """Less at one source is no catching up while another tells nothing; that it tells nothing is said."""
    verdict, reason, _, shown = told(
        of(lambda i: source(DELTA, numFilesOutstanding=1400 - 90 * i), lambda i: source(SILENT))
    )
    assert verdict == "unknown"
    assert reason.endswith("410 files wait in Delta s3a://lake/orders. What waits elsewhere is not told.")
    assert "an amount that it does not report" in shown.tip
    assert "nothing tells how many rows wait" in judge(of(lambda i: source(SILENT))).reason


def test_a_limit_is_not_said_to_hide_what_the_source_reports():
    """Whether more waits is reported in files, too."""
    limit = Facts(rateLimit=(("maxOffsetsPerTrigger", "100"),))
    tells = judge(of(lambda i: source(KAFKA, maxOffsetsBehindLatest=5000)), facts=limit)
    assert given.hint(tells, "rate-limit-reached").title.endswith(", and rows wait")
    silent = judge(of(lambda i: source(KAFKA)), facts=limit)
    assert given.hint(silent, "rate-limit-reached").title.endswith("; whether more wait is not reported")
