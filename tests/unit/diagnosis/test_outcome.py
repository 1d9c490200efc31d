"""Did it come true: the prediction of a hint of the run before beside what this run shows."""

from __future__ import annotations

import json

import pytest

import jupyter_streamwatch as sw
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.diagnosis.engine import history_of
from tests.unit.diagnosis.made import BEGIN, FOREACH_BATCH, codes, hint, operator, records

LATER = BEGIN + 600_000.0


def state(partitions):
    return [operator(numShufflePartitions=partitions, numStateStoreInstances=partitions, numRowsRemoved=1)]


def slow(run="run-1", **more):
    """Return a run with 200 partitions for 34 rows: 4.9 s a batch at an interval of 2 s."""
    return records(20, ms=4900, rows=34, state=state(200), run=run, output=1, **more)


def mended(ms=700, count=20, rows=34, **more):
    """Return the run after it, with 4 partitions."""
    settings = {"run": "run-2", "begin": LATER, "first": 20, "state": state(4), "output": 1, **more}
    return records(count, ms=ms, rows=rows, **settings)


def restarted(*runs):
    """Return the history of runs of one id."""
    return history_of([record for run in runs for record in run])


def test_a_prediction_that_came_true_is_said_in_one_sentence():
    """With what was, what is and what was predicted; in the object, the text and the JSON."""
    predicted = hint(diagnose(restarted(slow()), 2), "too-many-partitions").effect
    diagnosis = diagnose(restarted(slow(), mended()), 2)
    found = diagnosis.outcome
    assert (found.code, found.name, found.before, found.now, found.unit) == (
        "too-many-partitions",
        "batch time",
        4900,
        700,
        "ms",
    )
    assert found.predicted == (predicted.low, predicted.best, predicted.high)
    assert found.true
    assert found.text.startswith(
        "As predicted: batches take 700 ms now, after 4.9 s in the run before; too-many-partitions predicted about"
    )
    assert found.text in str(diagnosis).splitlines()
    plain = json.loads(json.dumps(diagnosis.to_dict()))["outcome"]
    assert plain["text"] == found.text
    assert plain["true"] is True
    assert plain["predicted"] == [predicted.low, predicted.best, predicted.high]


@pytest.mark.parametrize(
    ("ms", "word", "true"), [(100, "Better than predicted", True), (1900, "Not as predicted", False)]
)
def test_a_prediction_that_was_wrong_is_said_as_well(ms, word, true):
    """Too careful or too hopeful."""
    found = diagnose(restarted(slow(), mended(ms)), 2).outcome
    assert found.text.startswith(f"{word}: batches take")
    assert found.true is true


@pytest.mark.parametrize(("count", "told"), [(5, False), (6, True)])
def test_a_run_must_have_settled(count, told):
    """Five batches beside the first one."""
    assert (diagnose(restarted(slow(), mended(count=count)), 2).outcome is not None) == told


@pytest.mark.parametrize(("rows", "told"), [(50, True), (52, False), (24, True), (22, False)])
def test_times_of_other_sizes_are_not_compared(rows, told):
    """Half as many rows again, or as few, and the time says nothing of the fix."""
    assert (diagnose(restarted(slow(), mended(rows=rows)), 2).outcome is not None) == told


def test_while_the_hint_holds_nothing_has_come_true():
    """The fix was not made."""
    diagnosis = diagnose(restarted(slow(), mended(4900, state=state(200))), 2)
    assert "too-many-partitions" in codes(diagnosis)
    assert diagnosis.outcome is None


def test_without_a_prediction_there_is_nothing_to_compare():
    """One run, a healthy run before, or a hint without an effect."""
    assert diagnose(restarted(slow()), 2).outcome is None
    assert diagnose(restarted(records(20, ms=700, rows=34, output=1), mended()), 2).outcome is None


def test_a_new_checkpoint_makes_another_id_of_the_same_name():
    """The fix of too many partitions needs one; the run before is found by the query's name."""
    old = history_of(slow())
    old.end("run-1", BEGIN + 200_000)
    new = history_of(mended(first=0, id="query-2"))
    assert diagnose(new, 2, others=[old, new]).outcome.code == "too-many-partitions"
    assert diagnose(new, 2).outcome is None


def test_another_name_or_a_query_that_still_runs_is_no_run_before():
    """Nor one that came later."""
    new = history_of(mended(first=0, id="query-2"))
    assert diagnose(new, 2, others=[history_of(slow())]).outcome is None
    other = history_of(slow(name="other"))
    other.end("run-1", BEGIN + 200_000)
    assert diagnose(new, 2, others=[other]).outcome is None
    late = history_of(slow(begin=LATER + 600_000))
    late.end("run-1", LATER + 900_000)
    assert diagnose(new, 2, others=[late]).outcome is None


def test_a_persisted_batch_is_compared_too():
    """The same checkpoint and id: the function persists now."""
    before = records(20, ms=2600, times=3, sink=FOREACH_BATCH)
    after = records(20, ms=1000, sink=FOREACH_BATCH, run="run-2", begin=LATER, first=20)
    found = diagnose(restarted(before, after), 2).outcome
    assert found.code == "batch-recomputed"
    assert found.true


def test_a_longer_interval_is_compared_only_where_it_is_the_proposed_one():
    """Its prediction is a share of that interval."""
    before = records(40, ms=lambda i: 1700 + 37 * i % 300, rows=lambda i: 100 + 53 * i % 400)
    proposed = hint(diagnose(restarted(before)), "at-capacity")
    seconds = float(proposed.code_fix.split('"')[1].split()[0])
    for interval, told in ((seconds, True), (4 * seconds, False)):
        after = records(
            20,
            ms=1000 * seconds * proposed.effect.best,
            rows=lambda i: 120 + 53 * i % 400,
            run="run-2",
            begin=LATER,
            first=40,
            interval=1000 * interval,
        )
        found = diagnose(restarted(before, after)).outcome
        assert (found is not None and found.name == "utilisation") == told
        assert not found or found.text.startswith("As predicted: of the interval batches take ")


def test_it_survives_a_recording(tmp_path):
    """The prediction is made anew from the rows of the run before."""
    history = restarted(slow(), mended())
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(one.json for one in history.recent))
    assert next(iter(sw.load(path).diagnose().values())).outcome == diagnose(history).outcome


def test_the_run_before_is_judged_once():
    """It is over: each later batch costs no second diagnosis of it."""
    from jupyter_streamwatch.diagnosis import outcome

    history = restarted(slow(), mended())
    diagnose(history, 2)
    judged = outcome._KEPT[-1]
    history.append(sw.parse(mended(count=21)[-1]))
    assert diagnose(history, 2).outcome is not None
    assert outcome._KEPT[-1] is judged


@pytest.mark.parametrize("others", [0, 40])
def test_a_past_run_far_back_is_still_found(others):
    """Its rows are taken from the whole history."""
    history = restarted(slow(), mended(count=60 + others))
    assert diagnose(history, 2).outcome.before == 4900


def test_a_start_that_failed_is_passed_over():
    """A run with two batches says nothing; the one before it made the prediction."""
    failed = records(2, ms=700, rows=34, run="run-x", begin=LATER - 100_000, first=20, state=state(4), output=1)
    history = restarted(slow(), failed, mended(first=22))
    assert diagnose(history, 2).outcome.before == 4900
