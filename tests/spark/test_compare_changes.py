"""Each change that Spark's guide lists, made on a real checkpoint: the verdict, and what Spark then really does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.comparing import NOTHING, SECOND, Case, Stage, continued, start, told

OLDEST = {
    "city-to-country",
    "second-key",
    "sum-to-count",
    "dedup-column",
    "join-type-back",
    "source-added",
    "sink-path",
}
"""What is also run on the oldest Spark, beside everything that it judges otherwise."""


def _by(*keys: str, **source: Any) -> Any:
    return lambda stage: (stage.source(**source).groupBy(*keys).count(), "update")


def _agg(*aggregates: str, keys: tuple[str, ...] = ("city",)) -> Any:
    from pyspark.sql import functions as F

    return lambda stage: (stage.source().groupBy(*keys).agg(*(F.expr(one) for one in aggregates)), "update")


def _window(
    window: str = "5 minutes",
    delay: str = "10 minutes",
    mode: str = "update",
    column: str = "ts",
    slide: str | None = None,
) -> Any:
    from pyspark.sql import functions as F

    def make(stage: Stage) -> Any:
        frame = stage.source() if column == "ts" else stage.source().withColumn(column, F.expr("ts + INTERVAL 1 HOUR"))
        marked = frame.withWatermark(column, delay) if delay else frame
        return marked.groupBy(F.window("ts", window, slide)).count(), mode

    return make


def _dedup(*columns: str, within: bool = False) -> Any:
    def make(stage: Stage) -> Any:
        frame = stage.source()
        if within:
            return frame.withWatermark("ts", "10 minutes").dropDuplicatesWithinWatermark(list(columns)), "append"
        return frame.dropDuplicates(list(columns)), "append"

    return make


def _join(
    kind: str = "inner", on: str = "city", minutes: int = 60, columns: str = "a.city b.amount", both: str = ""
) -> Any:
    from pyspark.sql import functions as F

    def make(stage: Stage) -> Any:
        left = stage.source().withWatermark("ts", "1 hour").alias("a")
        right = stage.source("other").withWatermark("ts", "1 hour").alias("b")
        if both:
            left, right = left.where(both), right.where(both)
        near = f"a.ts >= b.ts - INTERVAL {minutes} MINUTES AND a.ts <= b.ts + INTERVAL {minutes} MINUTES"
        joined = left.join(right, F.expr(f"a.{on} = b.{on} AND {near}"), kind)
        return joined.select(*columns.split()), "append"

    return make


def _plain(
    *columns: str, where: str = "", mode: str = "append", sink: str | None = None, folder: str = "in", **options: Any
) -> Any:
    def make(stage: Stage) -> Any:
        places = {name: value.format(path=stage.path) for name, value in options.items() if name == "path"}
        read = {name: value for name, value in options.items() if name != "path"}
        frame = stage.source(folder, **read)
        frame = frame.where(where) if where else frame
        return frame.selectExpr(*columns), mode, sink, places

    return make


def _rate(stage: Stage) -> Any:
    frame = stage.spark.readStream.format("rate").option("rowsPerSecond", 1).load()
    return frame.selectExpr("CAST(value AS STRING) AS city"), "append"


def _micro(rows: int) -> Any:
    def make(stage: Stage) -> Any:
        reader = stage.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
        return reader.load().selectExpr("CAST(value AS STRING) AS city"), "append"

    return make


def _union(stage: Stage) -> Any:
    return stage.source().union(stage.source("other")).select("city"), "append"


def _swapped(stage: Stage) -> Any:
    return stage.source("other").union(stage.source()).select("city"), "append"


def _dedup_count(stage: Stage) -> Any:
    return stage.source().dropDuplicates(["city", "amount"]).groupBy("city").count(), "update"


CASES = [
    # Grouping keys and aggregates
    Case("city-to-country", _by("city"), _by("country"), "grouping-keys", "silently-wrong"),
    Case("second-key", _by("city"), _by("city", "country"), "grouping-keys", "not-allowed"),
    Case("key-less", _by("city", "country"), _by("city"), "grouping-keys", "not-allowed"),
    Case("keys-swapped", _by("city", "country"), _by("country", "city"), "grouping-keys", "silently-wrong"),
    Case("key-of-another-type", _by("city"), _by("amount"), "grouping-keys", "not-allowed"),
    Case("count-to-sum", _by("city"), _agg("sum(amount)"), "aggregates", "silently-wrong", "not-allowed"),
    Case("sum-to-count", _agg("sum(amount)"), _by("city"), "aggregates", "silently-wrong"),
    Case("max-to-min", _agg("max(amount)"), _agg("min(amount)"), "aggregates", "silently-wrong"),
    Case("aggregate-added", _by("city"), _agg("count(1)", "max(amount)"), "aggregates", "not-allowed"),
    Case("aggregate-removed", _agg("count(1)", "max(amount)"), _agg("count(1)"), "aggregates", "not-allowed"),
    Case("aggregate-of-another-type", _agg("max(amount)"), _agg("max(country)"), "aggregates", "not-allowed"),
    Case(
        "aggregates-swapped",
        _agg("max(amount)", "min(amount)"),
        _agg("min(amount)", "max(amount)"),
        "aggregates",
        "silently-wrong",
    ),
    Case("argument", _agg("sum(amount)"), _agg("sum(amount * 10)"), "aggregates", "silently-wrong", alone=False),
    Case(
        "window-sliding",
        _window(),
        _window(slide="1 minute"),
        "grouping-keys",
        "silently-wrong",
        "not-allowed",
        alone=False,
    ),
    Case("window", _window("5 minutes"), _window("10 minutes"), "grouping-keys", "silently-wrong", alone=False),
    Case(
        "aggregation-removed", _by("city"), _plain("city", mode="append"), "aggregates", "not-allowed", "silently-wrong"
    ),
    Case("aggregation-added", _plain("city"), _by("city"), "aggregates", "not-allowed"),
    Case("dedup-removed", _dedup_count, _by("city"), "dedup", "not-allowed", "silently-wrong"),
    Case("dedup-added", _by("city"), _dedup_count, "dedup", "not-allowed"),
    # Deduplication
    Case("dedup-column", _dedup("city"), _dedup("country"), "dedup", "silently-wrong"),
    Case("dedup-column-added", _dedup("city"), _dedup("city", "country"), "dedup", "not-allowed"),
    Case("dedup-within", _dedup("city"), _dedup("city", within=True), "dedup", "not-allowed"),
    # Joins
    Case("join-type", _join(), _join("leftOuter"), "join", "silently-wrong", "not-allowed", alone=False),
    Case("join-type-back", _join("leftOuter"), _join(), "join", "silently-wrong", alone=False),
    Case(
        "join-key",
        _join(columns="a.city a.country b.city b.country"),
        _join(on="country", columns="a.city a.country b.city b.country"),
        "join",
        "silently-wrong",
        "not-allowed",
        alone=False,
    ),
    Case("join-key-of-another-type", _join(), _join(on="amount"), "join", "not-allowed"),
    Case("join-columns", _join(), _join(columns="a.city b.amount b.country"), "join", "not-allowed"),
    Case("join-condition", _join(), _join(minutes=30), "join", "changed-meaning", alone=False),
    # Sources
    Case("source-added", _plain("city"), _union, "sources", "not-allowed"),
    Case("source-removed", _union, _plain("city"), "sources", "not-allowed"),
    Case("sources-swapped", _union, _swapped, "sources", "not-allowed"),
    Case("source-type", _plain("city"), _rate, "sources", "not-allowed"),
    Case("source-type-micro", _plain("city"), _micro(2), "sources", "not-allowed"),
    Case("source-path", _plain("city"), _plain("city", folder="other"), "sources", "not-allowed"),
    Case(
        "rate-limit-added", _plain("city"), _plain("city", maxFilesPerTrigger="1"), "rate-limit", "allowed", alone=False
    ),
    Case("rate-limit-removed", _by("city", maxFilesPerTrigger="1"), _by("city"), "rate-limit", "allowed", alone=False),
    Case(
        "rate-limit-changed",
        _by("city", maxFilesPerTrigger="1"),
        _by("city", maxFilesPerTrigger="2"),
        "rate-limit",
        "allowed",
        alone=False,
    ),
    # Filters, projections
    Case(
        "filter-added",
        _by("city"),
        lambda stage: (stage.source().where("amount > 2").groupBy("city").count(), "update"),
        "filter",
        "changed-meaning",
        alone=False,
    ),
    Case(
        "filter-removed",
        lambda stage: (stage.source().where("amount > 2").groupBy("city").count(), "update"),
        _by("city"),
        "filter",
        "changed-meaning",
        alone=False,
    ),
    Case("filter-stateless", _plain("city"), _plain("city", where="amount > 2"), "filter", "allowed", alone=False),
    Case(
        "filter-after",
        _by("city"),
        lambda stage: (stage.source().groupBy("city").count().where("count > 1"), "update"),
        "filter",
        "allowed",
        alone=False,
    ),
    Case(
        "filter-of-a-join",
        _join(both="city IS NOT NULL"),
        _join(both="city <> 'x'"),
        "filter",
        "changed-meaning",
        alone=False,
    ),
    Case("projection", _plain("amount + 1 AS n"), _plain("amount + 2 AS n"), "projection", "allowed", alone=False),
    Case("projection-schema", _plain("city"), _plain("city", "amount"), "projection", "changed-meaning", alone=False),
    # Watermark, output mode
    Case("watermark-delay", _window(delay="10 minutes"), _window(delay="20 minutes"), "watermark", "changed-meaning"),
    Case("watermark-column", _window(), _window(column="later"), "watermark", "changed-meaning", alone=False),
    Case("watermark-removed", _window(), _window(delay=""), "watermark", "changed-meaning"),
    Case(
        "watermark-removed-append", _window(mode="append"), _window(delay="", mode="append"), "watermark", "not-allowed"
    ),
    Case(
        "update-to-complete",
        _by("city"),
        lambda stage: (stage.source().groupBy("city").count(), "complete"),
        "output-mode",
        "changed-meaning",
        alone=False,
    ),
    Case("update-to-append", _window(), _window(mode="append"), "output-mode", "changed-meaning", alone=False),
    Case(
        "update-to-append-refused",
        _by("city"),
        lambda stage: (stage.source().groupBy("city").count(), "append"),
        "output-mode",
        "not-allowed",
        alone=False,
    ),
    # Sinks
    Case(
        "sink-path",
        _plain("city", sink="parquet", path="{path}/out"),
        _plain("city", sink="parquet", path="{path}/moved"),
        "sink",
        "silently-wrong",
        alone=False,
    ),
    Case(
        "sink-format",
        _plain("city", sink="parquet", path="{path}/out"),
        _plain("city", sink="json", path="{path}/out"),
        "sink",
        "silently-wrong",
        alone=False,
    ),
    Case(
        "sink-to-files",
        _plain("city"),
        _plain("city", sink="parquet", path="{path}/out"),
        "sink",
        "silently-wrong",
        alone=False,
    ),
    Case("sink-to-noop", _plain("city"), _plain("city", sink="noop"), "sink", "changed-meaning", alone=False),
    Case("sink-to-memory", _plain("city"), _plain("city", sink="memory"), "sink", "not-allowed", alone=False),
    Case(
        "files-in-update-mode",
        _plain("city", sink="parquet", path="{path}/out"),
        _plain("city", sink="parquet", path="{path}/out", mode="update"),
        "output-mode",
        "not-allowed",
        alone=False,
    ),
]


@pytest.fixture
def stage(spark, tmp_path):
    return Stage(spark, tmp_path)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.oldest] if case.oldest or case.name in OLDEST else [])
        for case in CASES
    ],
)
def test_the_verdict_fits_what_spark_does(stage, watch, case):
    """Compared before the start; then Spark refuses exactly what is not allowed, and runs everything else."""
    start(stage, watch, case.first(stage))
    writer = continued(stage, case.second(stage))
    writer.queryName(case.name.replace("-", "_"))
    expected = case.verdict(stage.spark.version)
    changes = stage.compare(writer)
    alone = stage.compare(writer, NOTHING)
    stage.add(SECOND)
    stage.add(SECOND, "other")
    error = stage.run(writer)
    assert (case.what, expected) in told(changes), changes
    assert changes[0].what == case.what, changes
    assert (error is not None) == (expected == "not-allowed"), error
    assert all(one.reason.endswith(".") for one in changes)
    if case.alone:
        assert (case.what, expected) in told(alone), alone
    else:
        assert case.what not in [one.what for one in alone], alone
        assert alone.unseen


@pytest.mark.oldest
def test_the_silent_wrong_rows_are_real(stage, watch):
    """A key swapped by name: a country named like a city goes on with the city's count."""
    start(stage, watch, _by("city")(stage))
    writer = continued(stage, _by("country")(stage))
    stage.add(SECOND)
    assert stage.run(writer) is None
    assert {"country": "Delhi", "count": 3} in stage.rows  # two rows of the city Delhi, one of the country


def test_another_folder_of_a_source_that_was_quiet(stage, watch):
    """Spark notices another folder only when the last batch took files of the old one; else it runs."""
    start(stage, watch, _union(stage))
    stage.add(SECOND)
    assert stage.run(stage.writer(_union(stage)[0], "append")) is None
    moved = stage.writer(stage.source().union(stage.source("third")).select("city"), "append")
    changes, alone = stage.compare(moved), stage.compare(moved, NOTHING)
    stage.add(SECOND)
    assert stage.run(moved) is None
    assert told(changes) == told(alone) == [("sources", "silently-wrong")]
