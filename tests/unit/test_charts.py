"""Charts: which exist, what they show, and that a page with deltas has what a fresh cut would give."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_streamwatch import charts, testing
from jupyter_streamwatch.charts import catalogue
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.trigger import Trigger

if TYPE_CHECKING:
    from jupyter_streamwatch.model.history import History

T0 = 1_767_225_600_000.0


def names(history: History) -> list[str]:
    return [chart.name for chart in charts.build(history).charts]


def series(history: History, chart: str) -> dict[str, str]:
    found = next(c for c in charts.build(history).charts if c.name == chart)
    return {s.label: s.column for s in found.series}


def column(history: History, name: str) -> list[Any]:
    return charts.data(history)["batches"][name]


def parts(**durations: int) -> History:
    took = durations.get("triggerExecution", 1000)
    return testing.history([testing.progress(0, 10, took, durationMs=durations)])


def timed(*batches: tuple[float, float], rows: int = 10) -> History:
    """A history of batches (start in seconds, duration in ms)."""
    return testing.history([testing.progress(i, rows, took, T0 + 1000 * at) for i, (at, took) in enumerate(batches)])


class TestWhichChartsExist:
    def test_none_without_batches(self) -> None:
        """No batch, no chart; the page gets an empty document that is valid JSON."""
        history = testing.history([])
        assert names(history) == []
        assert charts.embed(charts.build(history))["roots"] == []
        assert charts.data(history)["batches"]["batchId"] == []

    def test_stateless_query_has_no_state_charts(self) -> None:
        """A query without state, watermark and backlog shows rates, batch time and rows alone."""
        assert names(testing.history(batches=3)) == ["rows-per-second", "batch-time", "rows-per-batch"]

    def test_all(self) -> None:
        """State, memory, backlog and event time appear with their data, in one order."""
        event = {"eventTime": {"watermark": "2025-12-31T23:50:00.000Z", "max": "2025-12-31T23:59:00.000Z"}}
        history = testing.history(batches=3, stateful=True, backlog=5, **event)
        assert names(history) == list(catalogue.KINDS)

    def test_unset_watermark_is_no_chart(self) -> None:
        """Event times that are all unknown (a watermark still at the epoch) make no chart."""
        history = testing.history(batches=3, eventTime={"watermark": "1970-01-01T00:00:00.000Z"})
        assert "event-time" not in names(history)

    def test_key_is_the_structure(self) -> None:
        """More rows of the same kind keep the key; state that appears, or a longer unit, changes it."""
        three, five = testing.history(batches=3), testing.history(batches=5)
        assert charts.key(three) == charts.key(five) == charts.build(five).key
        assert charts.key(three) != charts.key(testing.history(batches=3, stateful=True))
        assert charts.key(three) != charts.key(testing.history(batches=3, duration=400_000))

    def test_key_changes_when_rows_moved(self) -> None:
        """A batch that came out of order moved rows of a page: they must be sent anew."""
        records = testing.run(4)
        ordered, late = testing.history(records[:2] + records[3:]), testing.history(records[:2] + records[3:])
        late.append(records[2])
        assert charts.key(ordered) != charts.key(late)


class TestBatchTime:
    def test_parts_and_rest(self) -> None:
        """Parts are stacked from addBatch up; what triggerExecution has beyond them is unaccounted."""
        history = parts(addBatch=600, queryPlanning=100, walCommit=50, triggerExecution=1000)
        shown = series(history, "batch-time")
        assert list(shown) == ["total", "addBatch", "queryPlanning", "walCommit", "unaccounted"]
        assert column(history, shown["unaccounted"]) == [250]
        assert column(history, "part.addBatch.bottom") == [0]
        assert column(history, "part.queryPlanning.bottom") == [600]
        assert column(history, "part.unaccounted.top") == [1000]

    @pytest.mark.parametrize("name", ["getOffset", "latestOffset"])
    def test_one_word_of_a_version(self, name: str) -> None:
        """Asking the sources has the name that the Spark version at hand gives it."""
        history = parts(addBatch=10, triggerExecution=100, **{name: 50})
        assert list(series(history, "batch-time"))[1:3] == ["addBatch", name]

    def test_words_of_several_versions(self) -> None:
        """Spark 2.4's two names for it are one part."""
        history = parts(addBatch=10, setOffsetRange=20, getEndOffset=5, triggerExecution=100)
        assert column(history, "part.latestOffset") == [25]
        assert column(history, "part.unaccounted") == [65]

    def test_unknown_parts_are_other(self) -> None:
        """Parts that no Spark known to us has are shown as other, and counted."""
        history = parts(addBatch=10, brandNew=30, anotherOne=10, triggerExecution=100)
        assert column(history, "part.other") == [40]

    def test_parts_beyond_the_trigger(self) -> None:
        """Parts that exceed triggerExecution leave nothing unaccounted, never a negative bar."""
        history = parts(addBatch=900, queryPlanning=300, triggerExecution=1000)
        made = charts.data(history)["batches"]
        assert made["part.unaccounted"] == [0]
        assert made["part.unaccounted.top"] == [None]
        assert made["part.queryPlanning.top"] == [1200]

    def test_interval_line_when_near(self) -> None:
        """The interval is a line once batches come near it; far above them it is left out."""
        near, far = testing.history(batches=3, trigger=2, duration=900), testing.history(batches=3, trigger=60)
        limits = [next(p.limit for p in catalogue.plans(h) if p.name == "batch-time") for h in (near, far)]
        assert limits == [2000, None]
        assert column(near, series(near, "batch-time")["interval"]) == [2000] * 3
        assert "interval" not in series(far, "batch-time")


class TestColdStart:
    def test_a_cold_first_batch_is_cut(self) -> None:
        """31 s before batches of 2 s end where those can be seen, with their time in words; numbers stay exact."""
        history = timed((0, 31_000), *((31.0 + 5 * i, 2000) for i in range(5)))
        assert max(top for top in column(history, "part.addBatch.top") if top is not None) == 2.5
        assert column(history, "part.cut.words") == ["cut: 31 s", "", "", "", "", ""]
        assert column(history, "part.cut") == [2.5, None, None, None, None, None]
        assert column(history, "batchDuration")[0] == 31_000
        assert column(history, "part.addBatch")[0] > 10_000

    @pytest.mark.parametrize("batches", [
        pytest.param([(0, 8000), (8, 2000), (13, 2000), (18, 2000)], id="four times as long"),
        pytest.param([(0, 2000), (5, 2000), (10, 31_000), (45, 2000), (50, 2000)], id="in the middle of a run"),
        pytest.param([(0, 31_000), (31, 2000), (36, 2000)], id="too few others"),
    ])  # fmt: skip
    def test_other_batches_are_whole(self, batches: list[tuple[float, float]]) -> None:
        """Nothing is cut that is not far longer, not the start of a run, or not among enough others."""
        history = timed(*batches)
        assert "part.cut.words" not in charts.data(history)["batches"]
        assert (
            max(top for top in column(history, "part.unaccounted.top") if top)
            == max(took for _, took in batches) / 1000
        )

    def test_the_newest_batch_is_whole(self) -> None:
        """The first batch of a new run is seen whole while it is the newest, and is cut once others follow."""
        history = timed(*((5.0 * i, 2000) for i in range(5)))
        history.append(testing.progress(5, 10, 31_000, T0 + 60_000, runId="other"))
        assert "part.cut" not in charts.data(history)["batches"]
        history.append(testing.progress(6, 10, 2000, T0 + 95_000, runId="other"))
        assert column(history, "part.cut.words")[-2:] == ["cut: 31 s", ""]

    def test_no_chart_of_rates_without_a_rate(self) -> None:
        """A first batch without rows has rates of 0: an empty frame would answer nothing."""
        assert "rows-per-second" not in names(testing.history([testing.progress(0, 0)]))
        assert "rows-per-second" in names(
            testing.history([testing.progress(0, 0), testing.progress(1, 5, start=T0 + 2000)])
        )


class TestRates:
    def test_first_input_rate_is_unknown(self) -> None:
        """Spark's 0.0 for a run's first batch is nothing measured: it is not drawn."""
        history = testing.history(batches=3)
        assert column(history, "inputRowsPerSecond.y")[:2] == [None, 50]

    def test_batches_without_data_do_not_cut_the_line(self) -> None:
        """The line goes from data batch to data batch; a batch that moved the watermark has no rate."""
        history = testing.history(batches=3, rows=[10, 0, 10])
        assert column(history, "processedRowsPerSecond.y")[1] is None
        assert column(history, "processedRowsPerSecond.y0")[2] == 20


class TestRowsPerBatch:
    def test_no_data_batches_are_marks(self) -> None:
        """A batch without rows is a hollow mark on the axis, not a bar."""
        history = testing.history(batches=3, rows=[10, 0, 10])
        assert column(history, "rows.top") == [10, None, 10]
        assert [value is not None for value in column(history, "nodata")] == [False, True, False]

    def test_rate_limit(self) -> None:
        """A limit on rows is a line; one on files says nothing about rows."""
        history = testing.history(batches=3, rows=100)
        for limits, expected in (((("maxOffsetsPerTrigger", "120"),), 120), ((("maxFilesPerTrigger", 5),), None)):
            history.set_facts(Facts(rateLimit=limits))
            assert next(p.limit for p in catalogue.plans(history) if p.name == "rows-per-batch") == expected


class TestState:
    def test_operators(self) -> None:
        """Several operators have a line each beside the total; the same name twice gets numbers."""
        operator = {"operatorName": "stateStoreSave", "numRowsTotal": 5, "numRowsUpdated": 1, "memoryUsedBytes": 100}
        history = testing.history([testing.progress(stateOperators=[operator, operator])])
        assert list(series(history, "state-rows"))[:3] == ["total", "stateStoreSave 1", "stateStoreSave 2"]
        assert column(history, "state.numRowsTotal.y") == [10]

    def test_dropped_rows_are_marks(self) -> None:
        """Rows dropped as late are triangles; without any there is no such series."""
        operator = {"operatorName": "a", "numRowsTotal": 5, "memoryUsedBytes": 1, "numRowsDroppedByWatermark": 2}
        history = testing.history([testing.progress(stateOperators=[operator])])
        assert series(history, "state-rows")["dropped"] == "state.numRowsDroppedByWatermark"
        assert "dropped" not in series(testing.history(batches=2, stateful=True), "state-rows")

    def test_memory_zero_is_no_chart(self) -> None:
        """Memory that is always 0 although rows are kept is a known mistake of a state store, not a measurement."""
        operator = {"operatorName": "a", "numRowsTotal": 5, "memoryUsedBytes": 0}
        assert "state-memory" not in names(testing.history([testing.progress(stateOperators=[operator])]))


class TestEventTime:
    def test_lags_behind_the_batch(self) -> None:
        """Lags are against the batch's start, in ms raw and in the axis' unit drawn."""
        event = {"watermark": "2025-12-31T23:50:00.000Z", "max": "2025-12-31T23:59:00.000Z"}
        history = testing.history([testing.progress(eventTime=event)])
        assert column(history, "lag.max") == [60_000]
        assert column(history, "lag.watermark.y") == [10]

    def test_replay(self) -> None:
        """Old data that is read again is shown against its own newest event: its age would flatten the chart."""
        days = (1, 3, 2)
        records = [
            testing.progress(i, start=T0 + 2000 * i, eventTime={"max": f"2013-01-0{day}T00:00:00.000Z"})
            for i, day in enumerate(days)
        ]
        history = testing.history(records)
        assert column(history, "lag.max") == [0, 0, 86_400_000]
        assert "newest event" in next(c.title for c in charts.build(history).charts if c.name == "event-time")

    def test_watermark_ahead(self) -> None:
        """A watermark ahead of the clock is a negative lag, and the axis shows it."""
        history = testing.history([testing.progress(eventTime={"watermark": "2026-01-01T01:00:00.000Z"})])
        figure = next(c.figure for c in charts.build(history).charts if c.name == "event-time")
        assert column(history, "lag.watermark") == [-3_600_000]
        assert figure.y_range.start != 0


class TestBars:
    def test_short_batches_are_visible(self) -> None:
        """Batches of 100 ms every 10 s fill most of the time to the next one."""
        history = timed(*((10.0 * i, 100) for i in range(6)))
        widths = [b - a for a, b in zip(column(history, "left"), column(history, "right"), strict=True)]
        assert widths == pytest.approx([8500] * 6)

    def test_long_batches_fill_their_time(self) -> None:
        """Batches that follow each other at once touch, and never overlap."""
        history = timed(*((2.0 * i, 2000) for i in range(4)))
        assert column(history, "right")[:-1] == column(history, "left")[1:]

    def test_silence_is_not_filled(self) -> None:
        """The last bar before hours without data is as wide as its neighbours."""
        history = timed((0, 500), (2, 500), (4, 500), (7200, 500), (7202, 500))
        widths = [b - a for a, b in zip(column(history, "left"), column(history, "right"), strict=True)]
        assert widths == pytest.approx([1700] * 5, abs=1)

    def test_line_breaks_in_silence(self) -> None:
        """A line does not lead through hours without data; it starts anew with a dot."""
        history = timed((0, 500), (2, 500), (4, 500), (7200, 500), (7202, 500))
        assert [x is None for x in column(history, "processedRowsPerSecond.x0")] == [True, False, False, True, False]
        assert [x is None for x in column(history, "processedRowsPerSecond.dot")] == [False, True, True, False, True]

    @pytest.mark.parametrize(("end", "right"), [(4.9, 4.9), (30.0, 5.7), (4.1, 4.5), (None, 4.5)])
    def test_no_bar_passes_the_end_of_its_run(self, end: float | None, right: float) -> None:
        """The last bar ends with its run where that is sooner than its pace, but never before its own batch."""
        history = timed((0, 500), (2, 500), (4, 500))
        assert column(history, "right")[-1] == T0 + 5700
        if end is None:
            history.start("other", at=T0 + 60_000)
        else:
            history.end(testing.RUN, T0 + 1000 * end, "boom", "X")
        assert column(history, "right")[-1] == T0 + 1000 * right

    def test_short_histories_use_the_width(self) -> None:
        """A lone batch has room beside it, so that it is a bar; from the second one on the axis is full."""
        assert column(timed((0, 500)), "room") == [T0 + 10_000]
        assert column(timed((0, 30_000), (30, 500)), "room") == [None, None]

    @settings(deadline=None, max_examples=40)
    @given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 30_000)), min_size=1, max_size=40))
    def test_never_overlap(self, steps: list[tuple[int, int]]) -> None:
        """Whatever starts and durations are, a bar never reaches into the next and never runs backwards."""
        at, batches = 0.0, []
        for wait, took in steps:
            batches.append((at, took))
            at += wait / 1000
        made = charts.data(timed(*batches))["batches"]
        assert all(a <= b for a, b in zip(made["left"], made["right"], strict=True))
        assert all(a <= b for a, b in zip(made["right"], made["left"][1:], strict=False))


class TestMarks:
    @pytest.mark.parametrize(
        ("kind", "word"), [("availableNow", "finished"), ("once", "finished"), ("default", "stopped")]
    )
    def test_the_end_has_the_word_of_the_state(self, kind: Any, word: str) -> None:
        """What ends by itself has finished, as its state says; anything else was stopped."""
        history = testing.history(batches=3)
        history.set_facts(Facts(trigger=Trigger(kind, None, "asked")))
        history.end(testing.RUN, T0 + 9000)
        assert charts.data(history)["marks"]["word"] == [word]

    def test_runs_failures_gaps(self) -> None:
        """A later run, a failure and missing batches are marks with a word; the end of the last run is one."""
        history = testing.history(batches=3)
        history.end(testing.RUN, T0 + 9000, "boom", "X")
        history.start("other", at=T0 + 20_000)
        for batch in (3, 6):
            history.append(testing.progress(batch, start=T0 + 21_000 + 1000 * batch, runId="other"))
        history.end("other", T0 + 40_000)
        made = charts.data(history)["marks"]
        assert made["word"] == ["failed", "run 2", "gap 3–6", "stopped"]
        assert made["kind"] == ["failed", "run", "gap", "stopped"]
        assert made["x"] == [T0 + 9000, T0 + 20_000, T0 + 27_000, T0 + 40_000]

    def test_crowded_words_are_left_out(self) -> None:
        """Words that would lie over each other are not written; the failure's is."""
        history = testing.history(batches=2)
        for number in range(30):
            history.start(f"run{number}", at=T0 + 10_000 + 100 * number)
        history.end("run29", T0 + 13_000, "boom")
        made = charts.data(history)["marks"]
        assert sum(bool(label) for label in made["label"]) < 12
        assert "failed" in made["label"]


class TestData:
    def test_ready_for_json(self) -> None:
        """Nothing but numbers, texts and None; times as epoch ms; each column as long as the rows."""
        made = charts.data(testing.history(batches=5, stateful=True))
        text = json.dumps(made, allow_nan=False)
        assert json.loads(text) == made
        assert {len(values) for values in made["batches"].values()} == {5}
        assert made["batches"]["timestamp"][0] == T0

    def test_all_columns_travel(self) -> None:
        """Every column of the history is there, so that a page can show all numbers of a batch."""
        history = testing.history(batches=2, stateful=True)
        assert set(history.batches.names) <= set(charts.data(history)["batches"])

    def test_figures_find_their_columns(self) -> None:
        """What a glyph draws is in the data, and in the empty source that the page gets."""
        event = {"eventTime": {"watermark": "2025-12-31T23:50:00.000Z", "max": "2025-12-31T23:59:00.000Z"}}
        history = testing.history(batches=3000, keep=100, stateful=True, backlog=5, **event)
        made, data = charts.build(history), charts.data(history)
        for chart in made.charts:
            for renderer in chart.figure.renderers:
                source = renderer.data_source
                for name in renderer.glyph.properties():
                    value = getattr(renderer.glyph, name)
                    if isinstance(value, str) and value in data[source.name]:
                        assert value in source.data
                for name in ("x", "x0", "x1", "y", "y0", "y1", "top", "bottom", "left", "right"):
                    value = getattr(renderer.glyph, name, None)
                    assert not isinstance(value, str) or value in data[source.name], (chart.name, value)

    def test_unknown_times(self) -> None:
        """Batches without times have no place on the axis; their numbers are there all the same."""
        history = testing.history([testing.progress(i, timestamp=None) for i in range(3)])
        made = charts.data(history)["batches"]
        assert made["time"] == [None] * 3
        assert made["numInputRows"] == [10] * 3

    def test_time_columns(self) -> None:
        """The page is told every column of times that figures draw."""
        made = charts.embed(charts.build(testing.history(batches=3)))
        assert {"timestamp", "time", "left", "right", "middle", "processedRowsPerSecond.x0"} <= set(
            made["timeColumns"]["batches"]
        )
        assert made["timeColumns"]["marks"] == ["x"]

    def test_embed(self) -> None:
        """One document, a root a chart, valid JSON, no rows in it, and no code."""
        made = charts.embed(charts.build(testing.history(batches=3)))
        text = json.dumps(made, allow_nan=False)
        assert len(made["docs_json"]) == 1
        assert [root["name"] for root in made["roots"]] == ["rows-per-second", "batch-time", "rows-per-batch"]
        assert "CustomJS" not in text
        assert len(text) < 100_000


def upsert(page: dict[str, list[Any]], rows: dict[str, list[Any]]) -> None:
    """Do what a page does with new rows: one of a known batch replaces it."""
    known = {key: at for at, key in enumerate(zip(page["runId"], page["batchId"], strict=True))}
    for row, key in enumerate(zip(rows["runId"], rows["batchId"], strict=True)):
        at = known.get(key)
        for name, values in page.items():
            if at is None:
                values.append(rows[name][row])
            else:
                values[at] = rows[name][row]


BATCH = st.fixed_dictionaries(
    {
        "wait": st.sampled_from([0, 100, 1000, 1000, 2000, 90_000, 10_000_000]),
        "took": st.sampled_from([0, 50, 700, 1000, 5000]),
        "rows": st.sampled_from([0, 1, 50, 50, 100]),
        "skip": st.sampled_from([0, 0, 0, 0, 2]),
        "restart": st.sampled_from([False] * 9 + [True]),
        "state": st.sampled_from([None, 5, 50]),
        "max": st.sampled_from([None, 0, -5000, 20_000]),
        "told": st.booleans(),
    }
)


@settings(deadline=None, max_examples=50)
@given(st.lists(BATCH, min_size=1, max_size=30), st.integers(1, 4))
def test_snapshot_and_deltas_are_a_fresh_snapshot(batches: list[dict[str, Any]], chunk: int) -> None:
    """A page that had a snapshot and takes deltas has exactly what a new snapshot would give."""
    history = testing.history([])
    page: dict[str, Any] = {}
    key, seen, at, number, run = "", 0, T0, 0, 0
    for index, b in enumerate(batches):
        run += b["restart"]
        number += b["skip"]
        operator = {"operatorName": "a", "numRowsTotal": b["state"], "memoryUsedBytes": 100}
        event = {} if b["max"] is None else {"max": _iso(at + b["max"]), "watermark": _iso(at - 60_000)}
        history.append(
            testing.progress(
                number,
                b["rows"],
                b["took"],
                at,
                runId=f"run{run}",
                stateOperators=[] if b["state"] is None else [operator],
                eventTime=event,
                backlog=3 if b["told"] else None,
            )
        )
        number += 1
        at += b["took"] + b["wait"]
        if (index + 1) % chunk and index + 1 < len(batches):
            continue
        fresh = charts.data(history)
        if charts.key(history) != key:
            key, page = charts.key(history), charts.data(history)
        else:
            delta = charts.rows_after(history, seen)
            assert delta is not None
            for name in delta["batches"]:
                page["batches"].setdefault(name, [None] * len(page["batches"]["batchId"]))
            upsert(page["batches"], delta["batches"])
            page["marks"] = delta["marks"]
        seen = history.seen
        assert page == fresh


def _iso(ms: float) -> str:
    from jupyter_streamwatch.model.values import iso

    return str(iso(ms))


class TestRowsAfter:
    def test_nothing_new(self) -> None:
        """Without new batches there are no rows."""
        history = testing.history(batches=3)
        made = charts.rows_after(history, history.seen)
        assert made is not None
        assert made["batches"]["batchId"] == []

    def test_with_the_row_before(self) -> None:
        """New rows come with the one before, whose bar now knows where it ends."""
        history = testing.history(batches=5)
        made = charts.rows_after(history, 3)
        assert made is not None
        assert made["batches"]["batchId"] == [2, 3, 4]

    def test_more_than_there_is(self) -> None:
        """Asked for more than all batches it gives all."""
        history = testing.history(batches=3)
        made = charts.rows_after(history, -10)
        assert made is not None
        assert made["batches"]["batchId"] == [0, 1, 2]

    def test_too_many(self) -> None:
        """More rows than a page should get, or than are kept in full, are no delta."""
        assert charts.rows_after(testing.history(batches=50), 10, max_rows=30) is None
        thinned = testing.history(batches=2000, keep=100)
        assert charts.rows_after(thinned, 100, max_rows=5000) is None


def test_bands_of_bins() -> None:
    """Thinned batches carry the range between their minimum and maximum, single ones none."""
    history = testing.history(batches=3000, keep=100, rows=lambda i: 10 + i % 7)
    made = charts.data(history)["batches"]
    thin = [at for at, count in enumerate(made["count"]) if count > 1]
    assert thin
    for at, (low, high) in enumerate(
        zip(made["processedRowsPerSecond.low"], made["processedRowsPerSecond.high"], strict=True)
    ):
        assert (low is None) == (high is None) == (at not in thin)
        assert low is None or low <= made["processedRowsPerSecond"][at] <= high
    assert all(math.isfinite(x) for x in made["time"])
