"""State that grows: the advice fits the operator that keeps the rows."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.query_shape import Column, OperatorShape, Shape
from tests.unit.diagnosis.made import BEGIN, codes, hint, iso, judge, operator, records


def growing(name, event=None, **values):
    return records(
        30, state=lambda i: [operator(name, numRowsTotal=1000 + 200 * i, **values)], event=event, output=1, sink="Noop"
    )


def shaped(name, *keys, condition=None, watermarks=(("ts", 3_000.0),), **facts):
    """Return facts of a query with one stateful operator."""
    columns = tuple(Column(key, origin=key) for key in keys)
    shape = Shape(operators=(OperatorShape(name, columns, condition=condition),))
    return Facts(stateful=(name,), watermarks=watermarks, shape=shape, **facts)


def moving(i):
    start = BEGIN + 2000 * i
    return {"max": iso(start), "min": iso(start - 1000), "avg": iso(start - 500), "watermark": iso(start - 3_000)}


@pytest.mark.parametrize("name", ["transformWithStateExec", "transformWithStateInPySparkExec"])
def test_state_of_transform_with_state_stays_until_the_program_removes_it(name):
    """TTL, timers and clear(), whatever the watermark; metrics that show none of them make it a warning."""
    bare = {"numValueStateVars": 1, "numValueStateWithTTLVars": 0, "numRegisteredTimers": 0}
    found = hint(judge(growing(name, moving, customMetrics=bare)), "state-growth")
    assert found.severity == "warning"
    assert "clear()" in found.fix
    assert "ttlDurationMs" in found.code_fix
    assert "window" not in found.fix
    assert hint(judge(growing(name)), "state-growth").severity == "info"


@pytest.mark.parametrize("metric", ["numValueStateWithTTLVars", "numRegisteredTimers"])
def test_state_with_a_time_to_live_goes_when_its_time_has_come(metric):
    """Nothing is overdue."""
    assert "state-growth" not in codes(judge(growing("transformWithStateExec", customMetrics={metric: 1})))


@pytest.mark.parametrize("name", ["flatMapGroupsWithState", "applyInPandasWithState"])
def test_state_of_a_function_needs_remove_and_a_time_out(name):
    """A time-out that is there only calls the function: then it may be long, or remove() is missing."""
    found = hint(judge(growing(name), facts=shaped(name, condition="Update, NoTimeout")), "state-growth")
    assert found.severity == "warning"
    assert "no time-out" in found.cause
    assert "state.remove()" in found.fix
    timed = hint(judge(growing(name), facts=shaped(name, condition="Update, ProcessingTimeTimeout")), "state-growth")
    assert timed.severity == "info"
    assert "hasTimedOut" in timed.cause


def test_deduplication_within_the_watermark_is_not_told_to_use_itself():
    """Its delay, and what holds the watermark back; silent while the watermark moves."""
    stands = {"watermark": iso(BEGIN), "max": iso(BEGIN), "min": iso(BEGIN), "avg": iso(BEGIN)}
    for event in (None, stands):
        found = hint(judge(growing("dedupeWithinWatermark", event)), "state-growth")
        assert "delay" in found.fix
        assert "idle" in found.fix
        assert found.code_fix is None
        assert "no watermark" not in str(found)
    assert "state-growth" not in codes(judge(growing("dedupeWithinWatermark", moving)))


def test_sessions_without_a_watermark_are_never_over():
    """With one, the gap and keys that always get rows explain any growth."""
    name = "sessionWindowStateStoreSaveExec"
    assert "session is over" in hint(judge(growing(name)), "state-growth").cause
    assert "state-growth" not in codes(judge(growing(name, moving), facts=shaped(name)))


def test_a_join_with_a_bound_may_keep_rows_for_longer_than_was_seen():
    """Without one the rows wait for ever."""
    name = "symmetricHashJoin"
    free, bound = shaped(name, condition="(id = id)"), shaped(name, condition="(a >= b) AND (id = id)")
    assert "bound in time" in hint(judge(growing(name, moving), facts=free), "state-growth").cause
    assert "state-growth" not in codes(judge(growing(name, moving), facts=bound))


def test_an_aggregation_by_a_window_may_have_windows_longer_than_what_was_seen():
    """Keys without the event time are the reason; where the keys are not known, both are."""
    name = "stateStoreSave"
    assert "state-growth" not in codes(judge(growing(name, moving), facts=shaped(name, "window")))
    assert "longer than" not in hint(judge(growing(name, moving), facts=shaped(name, "city")), "state-growth").cause
    unknown = judge(growing(name, moving), facts=Facts(watermarks=(("ts", 3_000.0),)))
    assert "or the windows are longer than what was seen" in hint(unknown, "state-growth").cause


def test_the_operator_that_grows_is_named_though_another_one_removes():
    """The sums would hide it."""

    def two(i):
        return [operator(numRowsRemoved=5), operator("dedupe", numRowsTotal=1000 + 200 * i)]

    found = hint(judge(records(30, state=two, output=1)), "state-growth")
    assert found.title.startswith("State of dropDuplicates grew from")
    assert "dropDuplicates" in found.cause


def test_removals_that_are_not_reported_are_not_said_to_be_none():
    """Spark before 3.2: the rows never became less."""
    found = hint(judge(growing("stateStoreSave", numRowsRemoved=None)), "state-growth")
    assert found.title.endswith("and never became less")
    assert all(one.name != "numRowsRemoved" for one in found.evidence)


def test_an_operator_without_a_name_is_not_guessed():
    """Old versions do not name it; a plan with just one does."""
    assert "which of them" in hint(judge(growing(None)), "state-growth").cause
    named = judge(growing(None), facts=Facts(stateful=("dedupe",), watermarks=()))
    assert "dropDuplicates" in hint(named, "state-growth").cause


def test_complete_mode_of_a_sink_without_update_mode():
    """Delta takes append and complete alone."""
    delta = judge(growing("stateStoreSave"), facts=Facts(outputMode="complete", sinkKind="delta"))
    assert hint(delta, "state-growth").code_fix == '.outputMode("append")'


@pytest.mark.parametrize(
    ("facts", "fires"),
    [
        (shaped("dedupe", "id", watermarks=()), True),
        (shaped("dedupe", "id"), True),
        (shaped("dedupe", "id", "ts"), False),
        (Facts(stateful=("dedupe",), watermarks=(("ts", 1.0),)), False),
        (Facts(stateful=("dedupe",)), False),
        (shaped("dedupeWithinWatermark", "id"), False),
    ],
)
def test_a_deduplication_is_judged_by_its_plan_from_the_start(facts, fires):
    """Before any batch, as info: its keys may be few. Silent where the keys or the watermarks are not known."""
    for made in ([], records(2)):
        diagnosis = judge(made, facts=facts)
        assert ("state-growth" in codes(diagnosis)) == fires
        if fires:
            assert hint(diagnosis, "state-growth").severity == "info"


@pytest.mark.parametrize(
    ("spark", "code"),
    [
        ("3.4.1", '.withWatermark("event_time", "1 hour").dropDuplicates(["id", "event_time"])'),
        ("4.0.0", '.withWatermark("event_time", "1 hour").dropDuplicatesWithinWatermark(["id"])'),
    ],
)
def test_the_code_for_a_deduplication_is_of_this_version(spark, code):
    """The one within the watermark is there from 3.5 on."""
    found = hint(judge([], facts=shaped("dedupe", "id", watermarks=(), sparkVersion=spark)), "state-growth")
    assert found.code_fix.startswith(code)
