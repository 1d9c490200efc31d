"""Which hint comes first, path by path: the cause before its symptoms, the worse before the lesser, costs by share."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.diagnosis.ranking import BEFORE, GREW, rank
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.model.facts import Facts
from tests.unit.diagnosis.made import BEGIN, codes, iso, judge, operator, records


def made(code, severity="warning", share=None, **evidence):
    """Return a hint with evidence of these names and values."""
    return Hint(code, severity, code, tuple(Evidence(*one) for one in evidence.items()), "", "", share=share)


def trend(part="addBatch", before=800.0, severity="warning"):
    """Return a duration-trend whose time went into ``part``."""
    return made("duration-trend", severity, **{BEFORE: before, part + GREW: 900.0})


def late(severity="critical"):
    """Return a falling-behind at an interval of 2 s."""
    return made("falling-behind", severity, **{"trigger interval": 2000.0})


def order(*hints):
    """Return (code, severity, under) of the hints in their order."""
    return [(one.code, one.severity, one.under) for one in rank(list(hints))]


@pytest.mark.parametrize("code", ["query-failed", "batch-stuck"])
def test_an_end_comes_before_everything(code):
    """Whatever costs most time stands behind it, also what is as severe."""
    assert order(late(), made("slow-planning", "critical", 0.9), made(code, "critical"))[0][0] == code


def test_severity_comes_before_the_share_of_time():
    """A warning that costs nothing stands before what is only worth knowing, however much it costs."""
    assert [one[0] for one in order(made("slow-sink", "info", 0.9), made("late-rows-dropped"))] == [
        "late-rows-dropped",
        "slow-sink",
    ]


def test_of_equal_severity_what_costs_more_time_comes_first():
    """Whatever the order of the rules."""
    found = order(made("slow-planning", share=0.31), made("slow-checkpoint", share=0.4), made("late-rows-dropped"))
    assert [one[0] for one in found] == ["slow-checkpoint", "slow-planning", "late-rows-dropped"]


@pytest.mark.parametrize("symptom", ["falling-behind", "at-capacity", "backlog-growing", "duration-trend"])
def test_a_symptom_stands_under_what_costs_the_time(symptom):
    """And gives it its severity."""
    assert order(made(symptom, "critical"), made("task-skew", share=0.6)) == [
        ("task-skew", "critical", None),
        (symptom, "critical", "task-skew"),
    ]


@pytest.mark.parametrize("symptom", ["falling-behind", "at-capacity", "backlog-growing", "duration-trend"])
def test_a_symptom_comes_first_where_no_cause_is_known(symptom):
    """Then it is all that can be said."""
    assert order(made("sink-not-idempotent", "info"), made(symptom)) == [
        (symptom, "warning", None),
        ("sink-not-idempotent", "info", None),
    ]


def test_state_that_grows_is_why_batches_take_longer_and_so_why_they_are_late():
    """The chain: state-growth, duration-trend, falling-behind, backlog-growing; all as severe as the worst."""
    assert order(late(), made("backlog-growing"), trend(), made("state-growth")) == [
        ("state-growth", "critical", None),
        ("duration-trend", "critical", "state-growth"),
        ("falling-behind", "critical", "duration-trend"),
        ("backlog-growing", "warning", "duration-trend"),
    ]


def test_growing_state_explains_slow_saving_too():
    """Where the time grew with it."""
    found = order(late(), trend(), made("state-commit-slow", share=0.6), made("state-growth"), made("state-memory"))
    assert found[0] == ("state-growth", "critical", None)
    under = {code: cause for code, _, cause in found}
    assert under["state-commit-slow"] == under["duration-trend"] == under["state-memory"] == "state-growth"
    assert under["falling-behind"] == "duration-trend"


def test_growing_state_that_costs_no_time_is_not_why_a_query_is_late():
    """Without a trend of the batch time the lag has another cause, or none that is known."""
    assert order(late(), made("state-growth")) == [
        ("falling-behind", "critical", None),
        ("state-growth", "warning", None),
    ]
    assert order(late(), made("state-growth"), made("slow-checkpoint", share=0.5))[:2] == [
        ("slow-checkpoint", "critical", None),
        ("falling-behind", "critical", "slow-checkpoint"),
    ]


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("walCommit", "slow-checkpoint"),
        ("commitOffsets", "slow-checkpoint"),
        ("queryPlanning", "slow-planning"),
        ("latestOffset", "slow-source-discovery"),
        ("getBatch", "slow-source-discovery"),
    ],
)
def test_the_part_that_grew_names_the_cause_of_a_trend(part, code):
    """Not the state, and not what costs more but always did."""
    found = order(trend(part), made("state-growth"), made("slow-sink", share=0.6), made(code, share=0.35))
    assert {hint: cause for hint, _, cause in found}["duration-trend"] == code


def test_a_trend_is_not_why_a_query_is_late_that_always_was():
    """Then what costs most is."""
    found = order(late(), trend(before=2400.0), made("state-growth"), made("slow-planning", share=0.5))
    assert {hint: cause for hint, _, cause in found} == {
        "slow-planning": None,
        "falling-behind": "slow-planning",
        "state-growth": None,
        "duration-trend": "state-growth",
    }


@pytest.mark.parametrize("cause", ["watermark-unset", "watermark-stuck"])
def test_state_grows_because_the_watermark_does_not_move(cause):
    """And results wait for the same reason; so do the longer batches that come of it."""
    found = order(late(), trend(), made("state-growth"), made("results-pending", "info"), made(cause))
    assert [code for code, _, _ in found] == [
        cause,
        "state-growth",
        "duration-trend",
        "falling-behind",
        "results-pending",
    ]
    assert found[0][1] == "critical"
    assert found[-1] == ("results-pending", "info", cause)


def test_rows_of_now_are_late_because_the_watermark_is_ahead():
    """One row from the future drops all others."""
    assert order(made("late-rows-dropped"), made("watermark-ahead", "info")) == [
        ("late-rows-dropped", "warning", None),
        ("watermark-ahead", "info", None),
    ]
    assert order(made("late-rows-dropped"), made("watermark-ahead"))[1][2] == "watermark-ahead"


def test_a_second_query_of_the_same_cell_takes_the_cores():
    """The wait for a core is its symptom."""
    assert order(made("contention", share=0.5), made("duplicate-query"), late())[0][0] == "duplicate-query"


def test_results_that_wait_stand_alone():
    """They are no trouble: info, under nothing but a watermark that does not move."""
    assert order(made("results-pending", "info"), made("late-rows-dropped"))[1] == ("results-pending", "info", None)


def test_a_limit_is_the_whole_reason_only_while_time_is_left():
    """A warning says so; an info that the limit is reached explains nothing worse."""
    assert order(made("rate-limit-reached"), made("backlog-growing"))[1][2] == "rate-limit-reached"
    assert order(made("rate-limit-reached", "info"), made("backlog-growing"))[0] == ("backlog-growing", "warning", None)


def grown(i):
    """Return a state without a watermark that grows from batch to batch."""
    return [operator(numRowsTotal=1000 * (i + 1), numRowsUpdated=1000)]


def test_a_query_whose_state_grows_until_it_is_late():
    """Real records: state-growth first, all else under it."""
    batches = records(90, ms=lambda i: 900 + 25 * i, rows=1000, state=grown, output=1)
    facts = Facts(outputMode="complete", stateful=("stateStoreSave",))
    diagnosis = judge(batches, facts=facts)
    assert codes(diagnosis)[:3] == ["state-growth", "duration-trend", "falling-behind"]
    assert [one.under for one in diagnosis.hints[:3]] == [None, "state-growth", "duration-trend"]
    assert {one.severity for one in diagnosis.hints[:3]} == {"warning"}


def test_a_query_whose_sink_gets_slower_while_its_state_stays():
    """The same trend without growing state: the trend is the cause that is known."""
    batches = records(90, ms=lambda i: 900 + 25 * i, rows=1000, state=[operator(numRowsRemoved=5)], output=1)
    assert codes(judge(batches))[:2] == ["duration-trend", "falling-behind"]


def test_a_stuck_watermark_before_the_state_that_it_keeps():
    """The idle input holds the watermark, so nothing is removed, so the state grows."""

    def two(i):
        one = {"startOffset": {"a": {"0": i}}, "endOffset": {"a": {"0": i + 1}}, "numInputRows": 100}
        return [
            {"description": "KafkaV2[Subscribe[a]]", **one},
            {"description": "KafkaV2[Subscribe[b]]", **one, "endOffset": {"a": {"0": i}}, "numInputRows": 0},
        ]

    def event(i):
        at = BEGIN + 60_000 * i
        return {"watermark": iso(0), "max": iso(at), "min": iso(at - 1000), "avg": iso(at - 500)}

    batches = records(
        40, sources=two, event=event, state=lambda i: [operator("symmetricHashJoin", numRowsTotal=100 * (i + 1))]
    )
    found = codes(judge(batches))
    assert found[0] == "watermark-stuck", found
