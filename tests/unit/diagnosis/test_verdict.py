"""The verdict of every state, on both sides of each bound."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from jupyter_streamwatch.diagnosis import LABELS, LEVELS, diagnose
from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.model.facts import Facts, RunningBatch, Status
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.model.trigger import Trigger
from tests.unit.diagnosis.made import BEGIN, codes, hint, judge, loud, operator, records


def test_every_verdict_has_a_label_and_a_level():
    """Views colour and name each verdict from these tables."""
    assert LABELS.keys() == LEVELS.keys()
    assert set(LEVELS.values()) <= {"ok", "info", "warning", "critical", "muted"}


def test_nothing_known_is_unknown():
    """A history without run or record gives no opinion."""
    diagnosis = diagnose(History("q"))
    assert (diagnosis.verdict, diagnosis.hints) == ("unknown", ())


def test_a_run_without_a_batch_is_starting():
    """The start was seen and no batch is done; waiting for data is idle, and says so."""
    history = History("q")
    history.start("run-1", at=BEGIN)
    assert diagnose(history).verdict == "starting"
    history.set_status(Status("Waiting for data to arrive"))
    assert diagnose(history).verdict == "idle"


def test_a_restart_is_starting_again():
    """Batches of the run before say nothing about the new run."""
    history = history_of(records(ms=5000))
    history.state_trigger(Trigger.parse(2))
    assert diagnose(history).verdict == "falling-behind"
    history.start("run-2", at=BEGIN + 1e6)
    assert diagnose(history).verdict == "starting"
    assert codes(diagnose(history)) == []


def test_an_ended_run_is_failed_finished_or_stopped():
    """An error wins; a query that ends by itself has finished; the others were stopped."""
    history = history_of(records(5))
    history.end("run-1", at=BEGIN + 1e5)
    assert diagnose(history).verdict == "stopped"
    assert diagnose(history, "availableNow").verdict == "finished"
    assert diagnose(history, "once").verdict == "finished"
    history.end("run-1", at=BEGIN + 1e5, exception="java.lang.RuntimeException: boom", errorClass="SOME_CLASS")
    failed = diagnose(history, "availableNow")
    assert failed.verdict == "failed"
    assert "SOME_CLASS" in failed.reason


def test_an_ended_query_keeps_its_hints():
    """What was wrong when it ended is still to be read."""
    history = history_of(records(ms=2600))
    history.end("run-1", at=BEGIN + 1e6)
    diagnosis = diagnose(history, 2)
    assert diagnosis.verdict == "stopped"
    assert "falling-behind" in codes(diagnosis)


def stuck_history(*, started: float, last_end: float | None) -> History:
    """Return a history with a running batch, after 19 batches of half a second."""
    made = records()
    history = history_of(made)
    history.set_running(
        RunningBatch("run-1", 20, started=started, tasksTotal=4, tasksDone=3, tasksRunning=1, lastTaskEnd=last_end)
    )
    return history


@pytest.mark.parametrize(
    ("ran", "quiet", "verdict"),
    [
        (19_000, 19_000, "keeping-up"),  # long, but nobody worries yet
        (21_000, 21_000, "stuck"),
        (60_000, 9_000, "keeping-up"),  # slow: its tasks finish
        (60_000, 11_000, "stuck"),
    ],
)
def test_stuck_needs_a_long_batch_and_silence(ran, quiet, verdict):
    """Far beyond its usual time and no task finished for a while, both."""
    now = BEGIN + 1e6
    history = stuck_history(started=now - ran, last_end=now - quiet)
    assert diagnose(history, 2, now=now).verdict == verdict
    assert ("batch-stuck" in codes(diagnose(history, 2, now=now))) == (verdict == "stuck")


def test_stuck_is_only_said_of_a_live_query():
    """Without the time of now a running batch cannot be judged; nor one whose end has been reported."""
    now = BEGIN + 1e6
    history = stuck_history(started=now - 1e5, last_end=None)
    assert diagnose(history, 2).verdict == "keeping-up"
    history.set_running(RunningBatch("run-1", 19, started=now - 1e5, tasksTotal=1))
    assert diagnose(history, 2, now=now).verdict == "keeping-up"


def test_an_old_look_at_the_running_batch_proves_nothing():
    """When the probe has stopped, the batch may have ended long since."""
    now = BEGIN + 1e6
    history = history_of(records())
    history.set_running(RunningBatch("run-1", 20, started=now - 60_000, tasksTotal=4, seen=now - 50_000))
    assert diagnose(history, 2, now=now).verdict == "keeping-up"
    history.set_running(RunningBatch("run-1", 20, started=now - 60_000, tasksTotal=4, seen=now - 1_000))
    assert diagnose(history, 2, now=now).verdict == "stuck"


@pytest.mark.parametrize(("ran", "verdict"), [(59_000, "keeping-up"), (61_000, "stuck")])
def test_where_tasks_are_not_seen_a_batch_must_run_three_times_as_long(ran, verdict):
    """Over Connect a slow batch looks like one that hangs; what is said does not claim to have seen tasks."""
    now = BEGIN + 1e6
    history = history_of(records())
    history.set_running(RunningBatch("run-1", 20, started=now - ran, seen=now))
    made = diagnose(history, 2, now=now)
    assert made.verdict == verdict
    if verdict == "stuck":
        (hint,) = (hint for hint in made.hints if hint.code == "batch-stuck")
        assert "Connect does not show its tasks" in hint.cause
        assert {evidence.name for evidence in hint.evidence} == {"running for", "usual batch time"}
        assert "task has finished" not in hint.title + made.reason


def test_a_first_batch_is_stuck_only_after_very_long():
    """It has no usual time and may read everything there is."""
    history = History("q")
    history.start("run-1", at=BEGIN)
    history.set_running(RunningBatch("run-1", 0, started=BEGIN, tasksTotal=1))
    assert diagnose(history, now=BEGIN + 590_000).verdict == "starting"
    assert diagnose(history, now=BEGIN + 610_000).verdict == "stuck"


@pytest.mark.parametrize("kind", ["continuous", "realTime"])
def test_a_mode_whose_batches_last_as_long_as_they_are_told_is_not_stuck(kind):
    """A real-time batch of an hour runs for an hour, and none of its tasks finishes before."""
    history = History("q")
    history.start("run-1", at=BEGIN)
    history.set_facts(Facts(trigger=Trigger(kind, 3_600_000.0, "asked")))
    for tasks in (None, 2):  # Connect, classic
        history.set_running(RunningBatch("run-1", 0, started=BEGIN, tasksTotal=tasks, tasksRunning=tasks))
        assert diagnose(history, now=BEGIN + 3_000_000).verdict == "running"


@pytest.mark.parametrize(("ran", "verdict"), [(29_000, "keeping-up"), (31_000, "stuck")])
def test_stuck_is_five_times_the_usual_time(ran, verdict):
    """Of batches of six seconds a slow one may take half a minute."""
    now = BEGIN + 1e6
    history = history_of(records(ms=6000, interval=10_000))
    history.set_running(RunningBatch("run-1", 20, started=now - ran, tasksTotal=1))
    assert diagnose(history, 10, now=now).verdict == verdict


def test_an_idle_record_after_the_last_batch_is_idle():
    """Old Sparks repeat the last progress without addBatch; new ones send an idle event."""
    made = records(6)
    idle = {**made[-1], "numInputRows": 0, "durationMs": {"latestOffset": 2, "triggerExecution": 2}}
    idle["timestamp"] = "2026-01-01T00:10:00.000Z"
    assert judge([*made, idle]).verdict == "idle"
    history = history_of(made)
    history.idle("run-1", BEGIN + 1e6)
    assert diagnose(history).verdict == "idle"


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(500, "keeping-up"), (1500, "keeping-up"), (1700, "at-capacity"), (1980, "at-capacity"), (2050, "falling-behind")],
)
def test_batch_time_against_the_interval(ms, verdict):
    """The bands: below 0.8 of the interval, up to it, beyond it."""
    assert judge(records(ms=ms)).verdict == verdict


@pytest.mark.parametrize(("count", "verdict"), [(1, "running"), (3, "running"), (4, "falling-behind")])
def test_batch_0_says_nothing_about_speed(count, verdict):
    """Three batches beside the first one are needed."""
    assert judge(records(count, ms=2600)).verdict == verdict


def test_no_data_batches_say_nothing_about_speed():
    """They only move the watermark."""
    made = records(20, ms=lambda i: 2600 if i % 5 == 0 else 50, rows=lambda i: 10 if i % 5 == 0 else 0)
    assert judge(made[:11]).verdict == "running"


def test_one_slow_batch_is_no_lag():
    """A pause of the garbage collection passes."""
    assert judge(records(ms=lambda i: 9000 if i == 19 else 500)).verdict == "keeping-up"
    assert judge(records(ms=lambda i: 9000 if i == 15 else 500)).verdict == "keeping-up"


def test_late_batches_with_pauses_between_keep_up():
    """Every other batch overruns, but on average time is left."""
    assert judge(records(30, ms=lambda i: 200 if i % 2 else 2600)).verdict != "falling-behind"


def test_the_verdict_does_not_flicker():
    """Batch times around the bound do not change the verdict from batch to batch."""
    made = records(60, ms=lambda i: 2010 if i % 2 else 1985)
    verdicts = [judge(made[:count]).verdict for count in range(10, 61)]
    assert len(set(verdicts)) <= 2
    assert sum(a != b for a, b in pairwise(verdicts)) <= 1


def test_a_lag_clears_after_it_stopped():
    """A few batches in time after many late ones: it keeps up again."""
    made = records(40, ms=lambda i: 2600 if i < 30 else 500)
    assert judge(made[:31]).verdict == "falling-behind"
    assert judge(made[:36]).verdict == "keeping-up"


def test_a_shrinking_backlog_is_catching_up_with_its_time():
    """After a restart batches are late and the backlog goes down: it says when it is gone."""
    diagnosis = judge(records(backlog=lambda i: 50_000 - 2000 * i, ms=2600, rows=3000))
    assert diagnosis.verdict == "catching-up"
    assert "to go" in diagnosis.reason
    assert "falling-behind" not in codes(diagnosis)


def test_a_growing_backlog_is_never_catching_up():
    """However fast the batches are."""
    assert judge(records(backlog=lambda i: 1000 + 500 * i, ms=300)).verdict == "falling-behind"


@pytest.mark.parametrize("backlog", [0, 40, lambda i: 30 + 20 * (i % 3)])
def test_a_small_or_steady_backlog_is_no_lag(backlog):
    """What comes while a batch runs always waits."""
    diagnosis = judge(records(backlog=backlog))
    assert diagnosis.verdict == "keeping-up"
    assert "backlog-growing" not in codes(diagnosis)


def test_draining_without_a_known_backlog_is_catching_up():
    """Late batches that get smaller and smaller work off what waited."""
    made = records(10, ms=lambda i: 9000 - 700 * i, rows=lambda i: 9000 - 700 * i, source="FileStreamSource[/in]")
    assert judge(made).verdict == "catching-up"


def test_without_an_interval_pauses_decide():
    """A query that waits between its batches keeps up."""
    assert judge(records(interval=None, ms=900, pause=300), None).verdict == "keeping-up"


def test_without_an_interval_a_small_backlog_decides():
    """Back to back, each batch takes all there is: it keeps up. With much waiting it is at its limit."""
    back_to_back = {"interval": None, "ms": 900, "rows": lambda i: 100 + i % 3}
    assert judge(records(backlog=5, **back_to_back), None).verdict == "keeping-up"
    assert judge(records(backlog=lambda i: 5000 + i % 2, **back_to_back), None).verdict == "at-capacity"
    assert judge(records(backlog=lambda i: 500 * i, **back_to_back), None).verdict == "falling-behind"


def test_without_an_interval_and_a_backlog_nothing_tells():
    """A rate-limited source back to back may be far behind or not at all."""
    assert judge(records(interval=None, ms=900, source="FileStreamSource[/in]"), None).verdict == "unknown"


def test_swelling_batches_fall_behind():
    """Back to back without a limit, each batch takes what came during the one before: more and more."""
    made = records(20, interval=None, ms=lambda i: int(500 * 1.15**i), rows=lambda i: int(100 * 1.15**i))
    for record in made:
        record["sources"][0]["latestOffset"] = None
    assert judge(made, None).verdict == "falling-behind"


def test_available_now_runs_through_what_is_there():
    """Its batches follow each other by intention."""
    diagnosis = judge(records(ms=5000, interval=None), None, trigger="availableNow")
    assert diagnosis.verdict == "running"
    assert codes(diagnosis) == []


def test_available_now_does_not_fall_behind_what_comes_later():
    """It ends at the offsets of its start, whatever arrives meanwhile."""
    diagnosis = judge(records(ms=5000, interval=None, backlog=lambda i: 500 * i), None, trigger="availableNow")
    assert diagnosis.verdict == "running"
    assert codes(diagnosis) == []


def test_a_mode_without_progress_is_running():
    """Continuous mode sends no progress at all."""
    history = History("q")
    history.start("run-1", at=BEGIN)
    history.set_facts(Facts(trigger=Trigger("continuous", 1000, "asked")))
    assert diagnose(history).verdict == "running"
    assert codes(diagnose(history)) == ["no-progress-mode"]


def test_single_records_give_no_rate():
    """One pasted record proves no lag, however slow it was."""
    made = records(5, ms=9000, state=[operator()])
    diagnosis = judge([made[3]])
    assert diagnosis.verdict == "running"
    assert not {"falling-behind", "at-capacity"} & set(codes(diagnosis))


def test_records_of_two_queries_are_refused():
    """The way out is named."""
    made = records(2)
    made[1]["id"] = "query-2"
    with pytest.raises(ValueError, match=r"sw\.load"):
        diagnose(made)


def test_progress_comes_in_any_form():
    """A single record, JSON text and a list of dicts give the same."""
    import json

    made = records(1)
    assert diagnose(made[0]).verdict == diagnose(json.dumps(made[0])).verdict == diagnose(made).verdict == "running"


def test_a_noisy_backlog_is_neither_growing_nor_shrinking():
    """Sizes of a few batches by chance: over 400 windows next to no trend is seen."""
    rng = random.Random(5)
    waits = [rng.randrange(400) for _ in range(440)]
    verdicts = [judge(records(30, backlog=lambda i, at=at: waits[at + i])).verdict for at in range(0, 400, 2)]
    assert verdicts.count("keeping-up") >= 198


def test_late_batches_of_varying_size_stay_behind():
    """A few smaller batches in a row by chance are no catching up."""
    rng = random.Random(6)
    rows = [rng.randrange(50, 150) for _ in range(440)]
    verdicts = [judge(records(30, ms=2600, rows=lambda i, at=at: rows[at + i])).verdict for at in range(0, 400, 4)]
    assert verdicts.count("falling-behind") >= 99


@pytest.mark.parametrize(("quick", "typical"), [(9, "1.5 s"), (12, "300 ms")])
def test_what_is_said_of_now_rests_on_the_last_twenty_batches(quick, typical):
    """Most of them decide: a change shows after eleven batches."""
    diagnosis = judge(records(40 + quick, ms=lambda i: 1500 if i < 40 else 300))
    assert diagnosis.reason.startswith(f"Batches take {typical} of the 2 s")


def test_a_trend_reaches_back_two_hundred_batches():
    """However long the query has run."""
    state = [operator(numRowsTotal=10 * i, numRowsUpdated=10) for i in range(400)]
    diagnosis = judge(records(300, state=lambda i: [state[i]], output=1), facts=Facts(outputMode="complete"))
    assert hint(diagnosis, "state-growth").evidence[0].batches == (100,)


@pytest.mark.parametrize(("count", "verdict"), [(9, "falling-behind"), (8, "unknown")])
def test_growing_batches_without_an_interval_need_eight_of_them(count, verdict):
    """Eight settled batches, each with more rows and longer than the one before, without a pause."""
    made = records(count, interval=None, pause=2, rows=lambda i: int(100 * 1.2**i), ms=lambda i: int(900 * 1.2**i))
    assert judge(made, None).verdict == verdict


def real_time(rows=1500, **more):
    """Return batches of five minutes, as real-time mode reports them."""
    made = records(8, interval=300_000, ms=300_000, rows=rows, sink="ForeachSink", first=3)
    return [record | more for record in made]


@pytest.mark.parametrize(
    ("more", "trigger"), [({"rtmMetrics": {"e2eLatencyMs": {"P50": 2, "P99": 6}}}, None), ({}, "realTime")]
)
def test_batches_of_real_time_mode_are_not_late(more, trigger):
    """They last as long as they are told, whether the trigger or the records tell the mode."""
    diagnosis = judge(real_time(**more), None, trigger=trigger)
    assert diagnosis.verdict == "running"
    assert "real-time" in diagnosis.reason
    assert ("at most 6 ms" in diagnosis.reason) == bool(more)
    assert loud(diagnosis) == []
    assert "slow-user-code" not in codes(diagnosis)
    assert "slow-user-code" in codes(judge(real_time(), None, trigger="default"))


def test_real_time_metrics_are_kept_in_a_record():
    """What is saved and read again has them; other records have no such item."""
    told = {"e2eLatencyMs": {"P99": 6}}
    record = parse(real_time(rtmMetrics=told)[0])
    assert parse(record.to_dict()).rtmMetrics == told
    assert "rtmMetrics" not in parse(records(1)[0]).to_dict()


def test_few_batches_are_counted_as_what_they_are():
    """One batch with data is one, though the first of a run is no measure of speed."""
    assert judge(records(1, first=13)).reason == (
        "Too few batches with data to judge: 1; 3 are needed after the first one of a run."
    )
    assert (
        judge(records(3)).reason == "Too few batches with data to judge: 3; 3 are needed after the first one of a run."
    )
    untimed = [{**record, "durationMs": {}, "batchDuration": None} for record in records(6)]
    assert judge(untimed).reason == "Too few batches whose time is known: 0 of 3."
    assert judge([{**records(1)[0], "numInputRows": 0}]).verdict == "running"


def test_a_backlog_is_said_of_one_batch():
    """As many such batches as it takes."""
    reason = judge(records(1, first=13, backlog=1900)).reason
    assert "1,900 rows wait: about 19 batches or 10 s of work at this rate." in reason.replace("1.9k", "1,900")


def test_rare_batches_that_overrun_are_late_results_and_no_lag():
    """The query waits between them."""
    made = records(12, interval=60_000, ms=23_000)
    diagnosis = judge(made, 20_000)
    assert diagnosis.verdict == "keeping-up"
    assert diagnosis.reason == (
        "Batches take 23 s, longer than the 20 s trigger interval, so results are that late. Between batches the query"
        " waits: it is busy 38 % of the time."
    )


def test_an_excerpt_without_rows_is_not_idle():
    """Nothing tells whether rows came."""
    excerpt = {"batchId": 9, "batchDuration": 700, "durationMs": {"triggerExecution": 690}}
    assert judge([excerpt], None).verdict == "running"
    assert judge([excerpt | {"numInputRows": 0}], None).verdict == "idle"


def test_the_first_progress_of_real_time_mode_takes_minutes():
    """It is no mode without progress; continuous mode is, and its checkpoint takes no other trigger."""
    found = {}
    for trigger in (Trigger("realTime", 300_000, "asked"), Trigger("continuous", 1000, "asked")):
        history = History("query-1")
        history.start("run-1", at=BEGIN)
        history.set_facts(Facts(trigger=trigger))
        found[trigger.kind] = hint(diagnose(history), "no-progress-mode")
    assert found["realTime"].title == "Real-time mode reports its first progress after 5 min"
    assert "checkpoint of its own" in found["continuous"].fix


def test_a_history_that_lags_behind_spark_is_not_judged_as_if_it_were_now():
    """It says what Spark is at and what was known last; once it has caught up, it is judged again."""
    history = history_of(records(20))
    history.state_trigger(Trigger.parse(2))
    known = diagnose(history).verdict
    history.set_stale("Spark is at batch 57, and 19 is the last that is known here.")
    stale = diagnose(history)
    assert known == "keeping-up"
    assert stale.verdict == "unknown"
    assert stale.reason.startswith(
        "Spark is at batch 57, and 19 is the last that is known here. The last that is known"
    )
    assert "keeping-up" in stale.reason
    history.set_stale(None)
    assert diagnose(history).verdict == "keeping-up"
