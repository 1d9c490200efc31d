"""User state, state stores and settings that the first run fixes: the verdict, and what Spark then really does."""

from __future__ import annotations

from typing import Any

import pytest

import jupyter_streamwatch as sw
from tests.spark.comparing import NOTHING, SECOND, Case, Stage, continued, start, told

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PARTITIONS = "spark.sql.shuffle.partitions"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


@pytest.fixture
def stage(spark, tmp_path):
    return Stage(spark, tmp_path)


@pytest.fixture
def session(spark):
    """Settings of the session, set back after the test."""
    before: dict[str, Any] = {}

    def put(name: str, value: str) -> None:
        before.setdefault(name, spark.conf.get(name, None))
        spark.conf.set(name, value)

    yield put
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def _remember(
    fields: str = "c LONG", timeout: str = "NoTimeout", plus: int = 1, keys: tuple[str, ...] = ("city",)
) -> Any:
    def make(stage: Stage) -> Any:
        pytest.importorskip("pyarrow")
        pd = pytest.importorskip("pandas")
        count = fields.count(",") + 1

        def each(key: Any, frames: Any, state: Any) -> Any:
            seen = state.get[0] if state.exists else 0
            for frame in frames:
                seen += plus * len(frame)
            state.update((seen,) * count)
            yield pd.DataFrame({"city": [key[0]], "n": [seen]})

        frame = stage.source().withWatermark("ts", "10 minutes")
        grouped = frame.groupBy(*keys)
        return grouped.applyInPandasWithState(each, "city STRING, n LONG", fields, "update", timeout), "update"

    return make


CASES = [
    Case("function", _remember(), _remember(plus=2), "", ""),
    Case("state-field-added", _remember(), _remember("c LONG, d LONG"), "state-schema", "not-allowed"),
    Case("state-field-renamed", _remember(), _remember("d LONG"), "state-schema", "silently-wrong"),
    Case("state-field-type", _remember(), _remember("c STRING"), "state-schema", "not-allowed"),
    Case("timeout-added", _remember(), _remember(timeout="ProcessingTimeTimeout"), "state-schema", "not-allowed"),
    Case(
        "timeout-type",
        _remember(timeout="EventTimeTimeout"),
        _remember(timeout="ProcessingTimeTimeout"),
        "state-schema",
        "silently-wrong",
        alone=False,
    ),
    Case("key-of-user-state", _remember(), _remember(keys=("country",)), "grouping-keys", "silently-wrong"),
]


@pytest.mark.oldest
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_user_state(stage, watch, case):
    """The function may change; the schema of its state and its time-out may not, whether Spark notices or not."""
    start(stage, watch, case.first(stage))
    writer = continued(stage, case.second(stage)).trigger(once=True)  # a time-out by the clock never ends otherwise
    changes, alone = stage.compare(writer), stage.compare(writer, NOTHING)
    stage.add(SECOND)
    error = stage.run(writer)
    expected = [(case.what, case.verdict(stage.spark.version))] if case.what else []
    assert told(changes) == expected, changes
    assert told(alone) == (expected if case.alone else []), alone
    assert (error is not None) == (case.newest == "not-allowed"), error


@pytest.mark.oldest
def test_settings_of_the_first_run_win(stage, watch, session):
    """Partitions, state store and watermark policy of the session differ: allowed, and the checkpoint's are used."""
    start(stage, watch, (stage.source().groupBy("city").count(), "update"))
    kept = dict(sw.checkpoint(stage.checkpoint).conf)
    assert (kept[PARTITIONS], kept[PROVIDER], kept[POLICY]) == ("2", HDFS, "min")
    session(PARTITIONS, "3")
    session(PROVIDER, ROCKSDB)
    session(POLICY, "max")
    writer = stage.writer(stage.source().groupBy("city").count())
    changes = stage.compare(writer)
    assert told(changes) == [("conf", "allowed")] * 3
    assert {one.now for one in changes} == {f"{PARTITIONS} = 3", f"{PROVIDER} = {ROCKSDB}", f"{POLICY} = max"}
    assert all("the checkpoint's value wins" in one.reason for one in changes)
    stage.add(SECOND)
    assert stage.run(writer) is None
    after = sw.checkpoint(stage.checkpoint)
    assert {name: after.conf[name] for name in (PARTITIONS, PROVIDER, POLICY)} == {
        PARTITIONS: "2",
        PROVIDER: HDFS,
        POLICY: "min",
    }
    assert {one.partitions for one in after.operators[0].stores} == {2}


@pytest.mark.parametrize("changelog", ["true", "false"])
def test_rocksdb_states_are_compared(stage, watch, session, changelog):
    """The state of RocksDB is read as that of files is, with and without changelogs."""
    session(PROVIDER, ROCKSDB)
    session("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", changelog)
    start(stage, watch, (stage.source().groupBy("city").count(), "update"))
    assert list(stage.compare(stage.writer(stage.source().groupBy("city").count()))) == []
    changed = stage.writer(stage.source().groupBy("country").count())
    assert told(stage.compare(changed, NOTHING)) == [("grouping-keys", "silently-wrong")]
    stage.add(SECOND)
    assert stage.run(changed) is None


def test_a_checkpoint_of_an_older_spark(stage, watch, session):
    """A state whose columns are not all nullable, as 3.5 wrote it, lets 4.3 refuse a sum for a count."""
    if stage.spark.version.startswith("3."):
        pytest.skip("the older Spark itself")
    session("spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled", "false")
    start(stage, watch, (stage.source().groupBy("city").count(), "update"))
    changed = stage.writer(stage.source().groupBy("city").agg({"amount": "sum"}))
    assert told(stage.compare(changed)) == [("aggregates", "not-allowed")]
    stage.add(SECOND)
    assert stage.run(changed) is not None


def _processor() -> Any:
    from pyspark.sql.streaming import StatefulProcessor

    pd = pytest.importorskip("pandas")

    class Counts(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.seen = handle.getValueState("seen", "n LONG")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            n = (self.seen.get()[0] if self.seen.exists() else 0) + sum(len(frame) for frame in rows)
            self.seen.update((n,))
            yield pd.DataFrame({"city": [key[0]], "n": [n]})

        def close(self) -> None:
            pass

    return Counts()


def test_transform_with_state(stage, watch, session):
    """Time mode and output mode are in the checkpoint; the variables are the function's own affair."""
    if stage.spark.version.startswith("3."):
        pytest.skip("Spark 4 brought transformWithState")
    pytest.importorskip("google.protobuf")
    session(PROVIDER, ROCKSDB)

    def made(mode: str) -> Any:
        grouped = stage.source().groupBy("city")
        return grouped.transformWithStateInPandas(_processor(), "city STRING, n LONG", "Update", mode)

    start(stage, watch, (made("None"), "update"))
    for against in (None, NOTHING):
        same = stage.compare(stage.writer(made("None")), against)
        assert list(same) == []
        assert any("transformWithState" in text for text in same.unseen)
    changed = stage.writer(made("ProcessingTime"))
    assert told(stage.compare(changed)) == [("state-schema", "not-allowed")]
    stage.add(SECOND)
    assert stage.run(changed) is not None


def test_what_cannot_be_compared_is_refused(stage, watch):
    """A batch DataFrame is no streaming query, and a number is nothing at all: one clear sentence each."""
    start(stage, watch, (stage.source().groupBy("city").count(), "update"))
    with pytest.raises(ValueError, match="not a streaming query"):
        stage.compare(stage.spark.range(3))
    with pytest.raises(TypeError, match=r"not builtins\.int"):
        stage.compare(3)


def test_another_kernel(stage, watch):
    """A fresh kernel knows the checkpoint alone: names in the state are compared, and the rest is listed as unseen."""
    start(stage, watch, (stage.source().groupBy("city").count(), "update"))
    watch.stop()
    changes = stage.compare(stage.writer(stage.source().groupBy("country").count()))
    assert told(changes) == [("grouping-keys", "silently-wrong")]
    assert "no run" in changes.unseen[0]
