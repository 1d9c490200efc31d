"""Rules about keeping up and about limits: where they fire, and where they stay silent."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.model.facts import Facts
from tests.unit.diagnosis.made import FILES, codes, hint, judge, loud, records


@pytest.mark.parametrize(
    ("ms", "code"), [(1500, None), (1700, "at-capacity"), (1960, "at-capacity"), (2040, "falling-behind")]
)
def test_falling_behind_and_at_capacity_by_batch_time(ms, code):
    """Each side of 0.8 and of 1 of the interval; the evidence has both numbers and the batches."""
    diagnosis = judge(records(ms=ms))
    assert codes(diagnosis) == ([code] if code else [])
    if code:
        numbers = {one.name: one for one in hint(diagnosis, code).evidence}
        assert numbers["triggerExecution"].value == ms
        assert numbers["trigger interval"].value == 2000
        assert numbers["triggerExecution"].batches[-1] == 19


def test_falling_behind_proposes_an_interval_that_fits():
    """Where the fit says that a longer interval helps, it is computed from this query's batches."""
    made = records(40, rows=lambda i: 100 + 20 * (i % 10), ms=lambda i: 2000 + (100 + 20 * (i % 10)), interval=2000)
    found = hint(judge(made), "falling-behind")
    assert found.code_fix == '.trigger(processingTime="3 seconds")'
    assert found.effect.unit == "share"
    assert found.effect.low <= found.effect.best <= found.effect.high < 1


def test_no_interval_is_proposed_where_rows_cost_the_time():
    """A longer interval brings more rows; it does not help."""
    made = records(40, rows=lambda i: 1000 + 200 * (i % 10), ms=lambda i: 3 * (1000 + 200 * (i % 10)))
    found = hint(judge(made), "falling-behind")
    assert found.code_fix is None


@pytest.mark.parametrize(
    ("backlog", "fires"),
    [
        (lambda i: 40 * i, True),
        (lambda i: 6 * i, False),  # less than a batch from the first third to the last
        (lambda i: 9 * i, True),
        (lambda i: 2000 + 500 * (i % 2), False),
        (lambda i: 5000 - 100 * i, False),
        (None, False),
    ],
)
def test_backlog_growing_needs_a_sure_rise_of_a_batch(backlog, fires):
    """A rise by chance, or by less than a batch, is no trend."""
    assert ("backlog-growing" in codes(judge(records(backlog=backlog)))) == fires


def test_rate_limit_reached_is_a_warning_only_while_time_is_left():
    """With time left the limit is the cause of a growing backlog, and a higher one is computed."""
    facts = Facts(rateLimit=(("maxOffsetsPerTrigger", "100"),))
    diagnosis = judge(records(backlog=lambda i: 1000 + 60 * i, ms=600), facts=facts)
    found = hint(diagnosis, "rate-limit-reached")
    assert codes(diagnosis)[:2] == ["rate-limit-reached", "backlog-growing"]
    assert found.severity == "warning"
    assert hint(diagnosis, "backlog-growing").under == "rate-limit-reached"
    value = float(found.code_fix.split('"')[3])
    assert value >= 160  # what arrives in an interval
    assert found.effect.unit == "ms"


def test_rate_limit_reached_is_info_when_the_batches_are_late_or_the_backlog_shrinks():
    """Then a higher limit does not help, or nothing is wrong."""
    facts = Facts(rateLimit=(("maxOffsetsPerTrigger", "100"),))
    late = judge(records(backlog=lambda i: 1000 + 60 * i, ms=2500), facts=facts)
    assert hint(late, "rate-limit-reached").severity == "info"
    assert codes(late)[0] == "falling-behind"
    catching_up = judge(records(backlog=lambda i: 9000 - 100 * i), facts=facts)
    assert hint(catching_up, "rate-limit-reached").severity == "info"
    assert loud(catching_up) == []


@pytest.mark.parametrize("rows", [90, lambda i: 60 + 5 * (i % 4)])
def test_batches_below_the_limit_have_not_reached_it(rows):
    """A query that takes what there is."""
    facts = Facts(rateLimit=(("maxOffsetsPerTrigger", "100"),))
    assert codes(judge(records(rows=rows, backlog=0), facts=facts)) == []


def test_one_file_a_batch_is_a_reached_limit():
    """Every batch with data takes exactly the limit; whether more wait is not known."""
    facts = Facts(rateLimit=(("maxFilesPerTrigger", "1"),))
    diagnosis = judge(records(source=FILES, rows=lambda i: 50 + i % 7), facts=facts)
    assert codes(diagnosis) == ["rate-limit-reached"]
    assert loud(diagnosis) == []


@pytest.mark.parametrize(("left", "fires"), [(0, False), (3, True), (None, False)])
def test_a_table_says_how_many_files_it_left(left, fires):
    """Batches that are alike have reached a limit of ten files only if files are left, where that is said."""
    facts = Facts(rateLimit=(("maxFilesPerTrigger", "10"),))
    made = records(source="DeltaSource[file:/lake/orders]")
    for record in made:
        record["sources"][0]["metrics"] = {} if left is None else {"numFilesOutstanding": str(left)}
    assert ("rate-limit-reached" in codes(judge(made, facts=facts))) == fires


def first_takes_all(rows: int, ms: int, **more):
    return records(10, rows=lambda i: 100 if i else rows, ms=lambda i: 500 if i else ms, **more)


@pytest.mark.parametrize(
    ("rows", "ms", "fires"),
    [(100_000, 30_000, True), (100_000, 4_000, False), (900, 30_000, False), (1_100, 11_000, True)],
)
def test_no_rate_limit_needs_a_huge_and_slow_first_batch(rows, ms, fires):
    """Ten times the usual rows, and long; a cold start alone is neither."""
    diagnosis = judge(first_takes_all(rows, ms, backlog=0), facts=Facts(rateLimit=()))
    assert ("no-rate-limit" in codes(diagnosis)) == fires
    if fires:
        assert hint(diagnosis, "no-rate-limit").evidence[0].batches == (0,)
        assert "maxOffsetsPerTrigger" in hint(diagnosis, "no-rate-limit").code_fix


@pytest.mark.parametrize(("rows", "ms", "limit"), [(5_000, 18_400, 300), (40_000, 11_000, 5_000), (950, 10_500, 100)])
def test_the_limit_to_set_leaves_time_in_the_interval(rows, ms, limit):
    """A batch of so many rows takes at most seven tenths of the interval, as the first one went: rounded down."""
    seen = records(10, rows=lambda i: 10 if i else rows, ms=lambda i: 300 if i else ms, backlog=0)
    assert hint(judge(seen, facts=Facts(rateLimit=())), "no-rate-limit").code_fix == (
        f'.option("maxOffsetsPerTrigger", "{limit}")'
    )


def test_no_rate_limit_is_not_said_of_a_limited_source():
    """The first batch took its limit; or nothing tells whether there is one."""
    limited = Facts(rateLimit=(("maxOffsetsPerTrigger", "100000"),))
    assert "no-rate-limit" not in codes(judge(first_takes_all(100_000, 30_000, backlog=0), facts=limited))
    assert "no-rate-limit" not in codes(judge(first_takes_all(100_000, 30_000, source=FILES)))


def test_overhead_bound_when_the_fixed_cost_dominates():
    """The rows hardly matter, no part stands out and no time is left."""

    def made(fixed: int):
        rows = [100 + 30 * (i % 10) for i in range(40)]
        return records(
            40, rows=lambda i: rows[i], ms=lambda i: int(fixed + rows[i] * (1900 - fixed) / 250), interval=2000
        )

    assert "overhead-bound" in codes(judge(made(1700)))
    assert "overhead-bound" not in codes(judge(made(1100)))
    idle = records(40, rows=lambda i: 100 + 30 * (i % 10), ms=lambda i: 500 + i % 10, interval=2000)
    assert codes(judge(idle)) == []


@pytest.mark.parametrize(
    ("ms", "rows", "fires"),
    [
        (lambda i: 500 + 15 * i, 100, True),
        (lambda i: 500 + 3 * i, 100, False),  # not much
        (lambda i: 1000 + 15 * i, 100, True),  # from 1,150 to 1,750 ms: by half
        (lambda i: 1000 + 12 * i, 100, False),  # from 1,120 to 1,600 ms
        (lambda i: 500 + 15 * i, lambda i: 100 + 3 * i, False),  # the rows grow as well
        (lambda i: 500 if i < 30 else 1200, 100, False),  # a step
        (lambda i: 500 + 200 * (i % 5), 100, False),
    ],
)
def test_duration_trend_needs_flat_rows_and_steady_growth(ms, rows, fires):
    """Batch time that grows for the same rows."""
    assert ("duration-trend" in codes(judge(records(60, ms=ms, rows=rows)))) == fires


@pytest.mark.parametrize(("count", "fires"), [(21, True), (20, False)])
def test_duration_trend_needs_twenty_batches(count, fires):
    """Beside the first, which starts cold: fewer do not tell growth from noise."""
    assert ("duration-trend" in codes(judge(records(count, ms=lambda i: 500 + 45 * i)))) == fires


def test_duration_trend_names_the_part_that_grows():
    """The cause says where the time goes."""
    made = records(60, ms=lambda i: 500 + 15 * i, parts={"latestOffset": lambda i: 5 + 15 * i})
    assert "latestOffset" in hint(judge(made), "duration-trend").cause


@pytest.mark.parametrize(("missing", "fires"), [(1200, True), (900, False), (100, False)])
def test_time_unaccounted_shows_the_missing_time(missing, fires):
    """A second and a third of the batch that no part explains."""
    made = records(ms=3000, interval=5000, parts={"addBatch": 3000 - 51 - missing})
    diagnosis = judge(made, 5000)
    assert ("time-unaccounted" in codes(diagnosis)) == fires
    assert loud(diagnosis) == []


@pytest.mark.parametrize(("missing", "fires"), [(1600, True), (1400, False)])
def test_time_unaccounted_is_three_tenths_of_the_batch(missing, fires):
    """Of five seconds, where one is missed on both sides."""
    made = records(ms=5000, interval=8000, parts={"addBatch": 5000 - 51 - missing})
    assert ("time-unaccounted" in codes(judge(made, 8000))) == fires


def test_time_unaccounted_is_the_cause_of_a_lag():
    """Then it stands before the symptom and is as severe."""
    diagnosis = judge(records(ms=3000, parts={"addBatch": 500}, backlog=lambda i: 400 * i))
    assert codes(diagnosis)[:2] == ["time-unaccounted", "falling-behind"]
    assert hint(diagnosis, "falling-behind").under == "time-unaccounted"
    assert hint(diagnosis, "time-unaccounted").severity == "critical"


@pytest.mark.parametrize(
    ("more", "severity", "words"),
    [
        ({}, "warning", "at the source as well is not known"),
        ({"backlog": 40}, "warning", "What waits at the source does not grow"),
        ({"backlog": lambda i: 400 * i}, "critical", "More rows arrive than the batches take"),
        ({"rows": lambda i: int(100 * 1.1**i), "ms": lambda i: int(2600 * 1.1**i)}, "critical", "later and later"),
    ],
)
def test_late_batches_are_critical_only_if_the_lag_is_known_to_grow(more, severity, words):
    """Spark does not queue the triggers that were missed: results come less often, and no later than by a batch."""
    diagnosis = judge(records(**{"ms": 2600, **more}))
    found = hint(diagnosis, "falling-behind")
    assert diagnosis.verdict == "falling-behind"
    assert (found.severity, diagnosis.level) == (severity, severity)
    assert words in found.cause
    assert ("later and later" in found.cause) == (severity == "critical")
    assert ("results come every 2.6 s instead of every 2 s" in found.cause) == (severity == "warning")
    assert diagnosis.to_dict()["worsens"] == (severity == "critical")


@pytest.mark.parametrize(("growth", "worsens"), [(1.034, True), (1.029, False)])
def test_late_batches_with_ever_more_rows_lag_behind(growth, worsens):
    """By half from the first third of the batches to the last: by 54 % they do, by 45 % they do not."""
    made = records(rows=lambda i: int(5000 * growth**i), ms=lambda i: int(2600 * growth**i))
    assert judge(made).worsens == worsens


def test_a_backlog_that_grows_while_time_is_left_is_critical_too():
    """The verdict's level follows what is known of the lag, whatever its reason."""
    diagnosis = judge(records(backlog=lambda i: 1000 + 500 * i, ms=300))
    assert (diagnosis.verdict, diagnosis.level) == ("falling-behind", "critical")


def test_at_capacity_of_batches_that_overrun_and_others_that_make_up_for_it():
    """Two of three batches take 2.6 s of 2 s, the third 0.3 s: the query is busy for 92 % of the time."""
    diagnosis = judge(records(ms=lambda i: 300 if i % 3 == 0 else 2600))
    assert diagnosis.verdict == "at-capacity"
    assert diagnosis.reason == "Most batches take 2.6 s of the 2 s trigger interval; quicker ones make up for it."
    title = "Most batches overrun the 2 s trigger interval; quicker ones make up for it"
    assert hint(diagnosis, "at-capacity").title == title


@pytest.mark.parametrize(("missing", "fires"), [(10_100, True), (9_900, False)])
def test_time_unaccounted_in_one_whole_record(missing, fires):
    """Ten seconds in no part are worth knowing; a first batch, and a record that was cut, prove nothing."""
    made = records(8, ms=2000 + missing, parts={"addBatch": 1900})
    diagnosis = judge([made[7]])
    assert ("time-unaccounted" in codes(diagnosis)) == fires
    assert loud(diagnosis) == []
    assert "time-unaccounted" not in codes(judge([made[0]]))
    cut = {**made[7], "durationMs": {"addBatch": 1900, "triggerExecution": 2000 + missing}}
    assert "time-unaccounted" not in codes(judge([cut]))


@pytest.mark.parametrize(("total", "fires"), [(32_000, True), (36_000, False)])
def test_time_unaccounted_in_one_record_is_three_tenths_of_it(total, fires):
    """10.5 s are missed of both."""
    made = records(8, ms=total, parts={"addBatch": total - 51 - 10_500})
    assert ("time-unaccounted" in codes(judge([made[7]]))) == fires


@pytest.mark.parametrize(("ms", "fires"), [(1620, True), (1480, False)])
def test_at_capacity_from_four_fifths_of_the_interval(ms, fires):
    """And no more below three quarters."""
    assert ("at-capacity" in codes(judge(records(ms=ms)))) == fires


@pytest.mark.parametrize("ms", [1800, 2600])
def test_full_batches_that_work_off_a_backlog_are_no_alarm(ms):
    """After a restart batches are as large as they may be; what takes their time is only worth knowing."""
    made = records(ms=ms, rows=3000, backlog=lambda i: 50_000 - 2000 * i)
    diagnosis = judge(made, facts=Facts(pythonUdf=True))
    assert diagnosis.verdict == "catching-up"
    assert "slow-user-code" in codes(diagnosis)
    assert loud(diagnosis) == []
    assert loud(judge(records(ms=ms, rows=3000, backlog=50_000), facts=Facts(pythonUdf=True)))


@pytest.mark.parametrize(("pause", "verdict"), [(30, "falling-behind"), (120, "keeping-up")])
def test_a_query_that_waits_between_its_batches_has_time_left(pause, verdict):
    """Less than 95 % of the time busy: growing batches are no lag then."""
    made = records(
        14,
        interval=None,
        pause=lambda i: pause + i % 3,
        rows=lambda i: int(100 * 1.1**i),
        ms=lambda i: int(900 * 1.1**i),
    )
    assert judge(made, None).verdict == verdict
