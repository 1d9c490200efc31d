"""Rules about watermarks, late rows and results that wait."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.query_shape import Column, OperatorShape, Shape
from tests.unit.diagnosis.made import BEGIN, codes, hint, iso, judge, loud, operator, records

EPOCH = "1970-01-01T00:00:00.000Z"
MINUTE = 60_000


def times(*, lag=0, delay=MINUTE, oldest=10_000, mark=None):
    """Return eventTime of batches whose newest row is the batch's time less ``lag``."""

    def event(i):
        start = BEGIN + 2000 * i
        watermark = EPOCH if i == 0 else iso(start - 2000 - lag - delay)
        if mark is not None:
            watermark = mark(i)
        low = oldest(i) if callable(oldest) else oldest
        return {
            "max": iso(start - lag),
            "min": iso(start - lag - low),
            "avg": iso(start - lag - low / 2),
            "watermark": watermark,
        }

    return event


def test_a_healthy_watermark_says_nothing():
    """It follows the rows."""
    made = records(30, event=times(), state=[operator(numRowsRemoved=2)], output=3)
    assert codes(judge(made, facts=Facts(watermarks=(("ts", MINUTE),)))) == []


@pytest.mark.parametrize(("count", "fires"), [(2, False), (3, True), (20, True)])
def test_watermark_unset_when_no_row_has_an_event_time(count, fires):
    """Three batches with rows and still nothing."""
    for event in ({"watermark": EPOCH}, dict.fromkeys(("watermark", "max", "min", "avg"), EPOCH)):  # null counts as 0
        made = records(count, event=event, state=[operator()], output=3)
        diagnosis = judge(made, facts=Facts(watermarks=(("ts", 0.0),)))
        assert ("watermark-unset" in codes(diagnosis)) == fires
        if fires:
            assert '"ts"' in hint(diagnosis, "watermark-unset").code_fix


def test_a_watermark_of_the_first_batch_is_unset_by_nature():
    """It moves after the batch."""
    assert codes(judge(records(3, event=times(), output=1))) == []
    assert codes(judge(records(10))) == []


@pytest.mark.parametrize(("ahead", "fires"), [(3_600_000, True), (310_000, True), (290_000, False), (-60_000, False)])
def test_watermark_ahead_of_the_clock(ahead, fires):
    """Five minutes ahead while the rows are not; one record proves it."""
    made = records(20, event=times(mark=lambda i: iso(BEGIN + 2000 * i + ahead)), output=1, state=[operator()])
    diagnosis = judge(made)
    assert ("watermark-ahead" in codes(diagnosis)) == fires
    assert ("watermark-ahead" in codes(judge(made[-1:]))) == fires


def test_rows_that_are_all_from_the_future_are_no_outlier():
    """A test with invented dates, or a wrong time zone: nothing is dropped."""
    assert codes(judge(records(20, event=times(lag=-86_400_000), output=1))) == []


def test_watermark_ahead_explains_the_dropped_rows():
    """The drops stand under it."""
    made = records(
        20,
        event=times(mark=lambda i: iso(BEGIN + 2000 * i + 3_600_000)),
        state=[operator(numRowsDroppedByWatermark=50)],
        output=1,
    )
    diagnosis = judge(made)
    assert codes(diagnosis)[:2] == ["watermark-ahead", "late-rows-dropped"]
    assert hint(diagnosis, "late-rows-dropped").under == "watermark-ahead"


def two_inputs(count=12, second=0, mark=lambda i: EPOCH, **more):
    """Return batches of a join whose second input has ``second`` rows."""
    made = records(count, event=times(mark=mark), state=[operator("symmetricHashJoin")], output=1, **more)
    for i, record in enumerate(made):
        rows = second(i) if callable(second) else second
        record["sources"].append(
            {
                "description": "KafkaV2[Subscribe[clicks]]",
                "startOffset": {"clicks": {"0": 7}},
                "endOffset": {"clicks": {"0": 7 + rows}},
                "numInputRows": rows,
            }
        )
    return made


def test_watermark_stuck_names_the_idle_input():
    """Under the min policy the quiet input holds it."""
    diagnosis = judge(two_inputs())
    found = hint(diagnosis, "watermark-stuck")
    assert "clicks" in found.cause
    assert "multipleWatermarkPolicy" in found.code_fix
    assert found.severity == "warning"


@pytest.mark.parametrize(
    "made",
    [
        two_inputs(second=lambda i: 5),
        two_inputs(mark=lambda i: iso(BEGIN + 2000 * i - MINUTE)),  # it moves
        records(12, event=times(mark=lambda i: iso(BEGIN - MINUTE)), output=1),  # one input: it cannot be held back
    ],
)
def test_watermark_stuck_is_silent(made):
    """An input that is not idle, a watermark that moves, a single input."""
    assert "watermark-stuck" not in codes(judge(made))


@pytest.mark.parametrize(("count", "fires"), [(5, True), (4, False)])
def test_a_watermark_that_stands_still_for_five_batches_is_stuck(count, fires):
    """Where the delay is known, however old their rows are."""
    facts = Facts(watermarks=(("ts", 1_000.0),))
    assert ("watermark-stuck" in codes(judge(two_inputs(count), facts=facts))) == fires


@pytest.mark.parametrize(("count", "fires"), [(6, True), (5, False)])
def test_without_a_known_delay_rows_must_get_ten_seconds_newer(count, fires):
    """Each batch's newest row is two seconds after that of the one before."""
    assert ("watermark-stuck" in codes(judge(two_inputs(count)))) == fires


@pytest.mark.parametrize(("delay", "fires"), [(19_000, True), (21_000, False)])
def test_an_input_that_is_quiet_for_a_moment_is_not_stuck(delay, fires):
    """The watermark must be late by a whole delay: here the newest row seen before is 20 s after the first."""
    made = two_inputs(mark=lambda i: iso(BEGIN - delay))
    assert ("watermark-stuck" in codes(judge(made, facts=Facts(watermarks=(("ts", float(delay)),))))) == fires


def test_watermark_stuck_by_a_slow_input_needs_the_delay():
    """Both have rows, but the watermark is where one of them is; with a known delay the distance proves it."""
    slow = two_inputs(second=5, mark=lambda i: iso(BEGIN - 10 * MINUTE))
    assert "watermark-stuck" in codes(judge(slow, facts=Facts(watermarks=(("ts", MINUTE),))))
    fair = two_inputs(second=5, mark=lambda i: iso(BEGIN - MINUTE))
    assert "watermark-stuck" not in codes(judge(fair, facts=Facts(watermarks=(("ts", 10 * MINUTE),))))


def dropping(where, count=40, dropped=3, **more):
    return records(
        count,
        event=times(**more),
        output=1,
        state=lambda i: [operator(numRowsDroppedByWatermark=dropped if where(i) else 0)],
    )


def test_late_rows_are_proven_by_one_batch():
    """How many at least, in which batches."""
    made = dropping(lambda i: i == 20)
    diagnosis = judge(made[20:21])
    found = hint(diagnosis, "late-rows-dropped")
    assert found.severity == "warning"
    assert found.evidence[0].value == 3
    assert found.evidence[0].batches == (20,)
    assert "late-rows-dropped" not in codes(judge(made[:20]))


def test_few_late_rows_are_what_a_watermark_is_for():
    """Below a thousandth it is no warning."""
    assert loud(judge(dropping(lambda i: i == 20, dropped=3))) == []
    assert loud(judge(dropping(lambda i: i == 20, dropped=5))) == ["late-rows-dropped"]


def test_late_rows_propose_the_delay_that_keeps_them():
    """The oldest row of 99 % of the batches, from the batches themselves, with the column's name."""
    made = dropping(lambda i: i % 4 == 0, oldest=lambda i: 170_000 if i % 4 == 0 else 5_000)
    found = hint(judge(made, facts=Facts(watermarks=(("ts", MINUTE),))), "late-rows-dropped")
    assert found.code_fix == '.withWatermark("ts", "3 minutes")'
    inferred = hint(judge(made), "late-rows-dropped")
    assert inferred.code_fix == '.withWatermark("event_time", "3 minutes")'


def test_a_delay_of_zero_is_named():
    """It drops ties, which no row's lateness shows; a second keeps them."""
    made = dropping(lambda i: i % 2 == 0, delay=0, oldest=2_000)
    found = hint(judge(made, facts=Facts(watermarks=(("ts", 0.0),))), "late-rows-dropped")
    assert "delay is 0" in found.cause
    assert found.code_fix == '.withWatermark("ts", "1 second")'


def test_late_rows_clear_after_many_batches_without():
    """Fifty batches later it is history."""
    made = dropping(lambda i: i == 20, count=120)
    assert "late-rows-dropped" in codes(judge(made[:70]))
    assert "late-rows-dropped" not in codes(judge(made[:71]))
    assert "late-rows-dropped" not in codes(judge(made))


def test_results_pending_in_append_mode():
    """Batches with rows, results in the state, nothing out yet: info, and alone."""
    made = records(10, event=times(), state=[operator()], output=0)
    diagnosis = judge(made, facts=Facts(outputMode="append", watermarks=(("ts", MINUTE),)))
    assert codes(diagnosis) == ["results-pending"]
    assert hint(diagnosis, "results-pending").severity == "info"


@pytest.mark.parametrize(
    ("made", "mode"),
    [
        (records(10, event=times(), state=[operator()], output=lambda i: 1 if i == 5 else 0), "append"),
        (records(10, event=times(), state=[operator()], output=0), "update"),
        (records(2, event=times(), state=[operator()], output=0), "append"),
        (records(10, event=times(), state=[operator(numRowsRemoved=1)], output=-1), "append"),
        (records(10, event=times(), state=[operator(numRowsRemoved=None)], output=-1), "append"),
        (records(10, event=times(), state=[operator()], output=-1), None),
        (records(10, output=0), "append"),
        (records(10, event=times(), state=[operator("symmetricHashJoin")], output=0), "append"),
        (records(10, event=times(), state=[operator("dedupe")], output=0), "append"),
    ],
)
def test_results_pending_is_silent(made, mode):
    """Results came, another mode, too few batches, an unknown number, no state, no aggregation."""
    assert "results-pending" not in codes(judge(made, facts=Facts(outputMode=mode)))


@pytest.mark.parametrize(("sink", "updates"), [("FileSink[/out]", False), ("ForeachBatchSink", True)])
def test_results_pending_where_the_sink_does_not_count(sink, updates):
    """In append mode what is not removed from the state has not come out; only some sinks take update mode."""
    made = records(10, event=times(), state=[operator()], output=-1, sink=sink)
    found = hint(judge(made, facts=Facts(outputMode="append", watermarks=(("ts", MINUTE),))), "results-pending")
    assert found.evidence[0].name == "numRowsRemoved"
    assert ("Update mode" in found.fix) == updates


def test_results_pending_of_a_run_whose_begin_was_not_seen():
    """It does not say "yet", and names no window that rows from before might be in front of."""
    made = records(10, event=times(delay=10 * MINUTE), state=[operator()], output=0, first=70)
    found = hint(judge(made, facts=shaped("window(ts, 60 s)")), "results-pending")
    assert found.title.endswith("none came out of the last 10 batches")
    assert found.fix.startswith("A result comes out when the watermark, 1 min behind the newest row, has passed")


def test_results_pending_with_an_idle_input_promises_nothing():
    """Rows that would end the window have come, but the idle input holds the watermark."""
    made = two_inputs(mark=lambda i: iso(BEGIN - 5 * MINUTE))
    for record in made:
        record["stateOperators"] = [operator()]
        record["sink"]["numOutputRows"] = 0
    found = hint(judge(made, facts=shaped("window(ts, 60 s)", 0.0)), "results-pending")
    assert "slowest" in found.fix
    assert "Kafka clicks had no rows lately." in found.fix
    assert "later has come" not in found.fix


def test_known_drops_count_though_another_operator_does_not_tell():
    """At least those were dropped; without any known drop the sum stays unknown."""
    partly = [operator(numRowsDroppedByWatermark=57), operator("symmetricHashJoin", numRowsDroppedByWatermark=None)]
    assert "57 of 100 rows" in hint(judge(records(1, first=77, state=partly)), "late-rows-dropped").title
    unknown = [operator(), operator("symmetricHashJoin", numRowsDroppedByWatermark=None)]
    assert "late-rows-dropped" not in codes(judge(records(1, first=77, state=unknown)))


def test_fragments_without_a_time_are_all_kept():
    """Two pasted fragments say different things; the same one twice is one."""
    first = {"eventTime": {"watermark": iso(BEGIN)}, "stateOperators": [{"numRowsUpdated": 3}]}
    second = {"stateOperators": [{"numRowsUpdated": 0, "numRowsDroppedByWatermark": 4}]}
    assert "4 rows" in hint(judge([first, second, second], None), "late-rows-dropped").title


def shaped(origin, delay=MINUTE):
    """Return facts with the shape of a query that groups by ``origin``."""
    keys = (Column("window", "struct<start:timestamp,end:timestamp>", origin=origin),)
    shape = Shape(operators=(OperatorShape("stateStoreSave", keys),))
    return Facts(outputMode="append", watermarks=(("ts", delay),), shape=shape)


def test_results_pending_names_the_window_that_comes_out_next():
    """Its end, the event time that a row must have, and where the watermark is."""
    made = records(10, event=times(), state=[operator()], output=0)
    found = hint(judge(made, facts=shaped("window(ts, 300 s)")), "results-pending")
    assert found.fix.startswith(
        "The next is the window that ends at 2026-01-01 00:00:00 UTC: it comes out in the batch after a row with an"
        " event time of 2026-01-01 00:01:00 UTC or later has come (the delay is 1 min)."
        " Now the watermark is at 2025-12-31 23:59:16 UTC."
    )
    assert ("next window ends", BEGIN, "time", ()) in found.evidence


def test_results_pending_waits_for_the_window_that_the_watermark_is_in():
    """Rows from before the watermark are in no window that still comes out."""
    made = records(10, event=times(oldest=600_000), state=[operator()], output=0)
    found = hint(judge(made, facts=shaped("window(ts, 60 s)", 0.0)), "results-pending")
    assert "ends at 2026-01-01 00:00:00 UTC" in found.fix
    assert "it comes out in the next batch. Now" in found.fix  # the row that moves the watermark has come


@pytest.mark.parametrize("origin", ["window(ts, 60 s, 300 s)", "session_window(ts, 5 minutes)", "ts", None])
def test_results_pending_guesses_no_window(origin):
    """Of sliding windows, sessions and other keys the plan does not tell where they end."""
    made = records(10, event=times(), state=[operator()], output=0)
    fix = hint(judge(made, facts=shaped(origin)), "results-pending").fix
    assert fix.startswith(
        "The first is the window with 2025-12-31 23:59:50 UTC: it comes out when the watermark, 1 min behind the newest"
        " row, has passed its end. Now the watermark is at 2025-12-31 23:59:16 UTC."
    )


@pytest.mark.parametrize(
    ("newest", "title"),
    [
        ("2026-01-01T02:00:00.000Z", "One row is 2 h ahead of the clock and takes the watermark with it"),
        ("9999-12-31T23:59:59.000Z", "One row is dated 9999-12-31 and takes the watermark with it"),
    ],
)
def test_a_row_far_ahead_is_named_by_its_date(newest, title):
    """Nobody counts 2,912,444 days."""
    event = {"watermark": iso(BEGIN - MINUTE), "max": newest, "min": iso(BEGIN - 5000), "avg": iso(BEGIN - 4000)}
    assert hint(judge(records(1, first=7, event=event)), "watermark-ahead").title == title
