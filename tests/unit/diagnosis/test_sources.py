"""Rules about sources, the checkpoint, delivery and the metrics themselves."""

from __future__ import annotations

import pytest

from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.model.checkpoint_card import Card, Pinned
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.progress import parse
from tests.unit.diagnosis.made import BEGIN, FILES, FOREACH_BATCH, codes, hint, judge, loud, operator, records


@pytest.mark.parametrize(("listing", "code"), [(1200, "slow-source-discovery"), (700, None), (300, None)])
def test_slow_source_discovery(listing, code):
    """A third of the batch and half a second, under the part's name in old and new versions."""
    for name in ("latestOffset", "getOffset"):
        made = records(ms=2600, parts={"latestOffset": None, name: listing}, source=FILES)
        diagnosis = judge(made)
        assert ("slow-source-discovery" in codes(diagnosis)) == (code is not None)
        if code:
            assert "file:/data/in_done" in hint(diagnosis, code).code_fix
            assert hint(diagnosis, code).effect.best < 2600


def test_slow_discovery_from_one_extreme_record():
    """Half a minute, most of the trigger; also when it found nothing."""
    made = records(8, ms=50_000, parts={"latestOffset": 45_000})
    assert "slow-source-discovery" in codes(judge([made[7]]))
    assert "slow-source-discovery" not in codes(judge([made[0]]))
    idle = {**made[7], "numInputRows": 0, "durationMs": {"latestOffset": 45_000, "triggerExecution": 45_001}}
    assert "slow-source-discovery" in codes(judge([idle]))


@pytest.mark.parametrize(("wal", "commit", "fires"), [(600, 600, True), (300, 400, False), (20, 15, False)])
def test_slow_checkpoint(wal, commit, fires):
    """Both logs together; a warning when no time is left, else info."""
    parts = {"walCommit": wal, "commitOffsets": commit}
    assert ("slow-checkpoint" in codes(judge(records(ms=2600, parts=parts)))) == fires
    idle = judge(records(ms=2600, interval=10_000, parts=parts), 10_000)
    assert ("slow-checkpoint" in codes(idle)) == fires
    assert loud(idle) == []


def test_slow_checkpoint_names_the_directory_to_copy():
    """The option with the directory's own name, below a storage that the user knows."""
    made = records(ms=2600, parts={"walCommit": 900, "commitOffsets": 900})
    found = hint(judge(made, facts=Facts(checkpoint="/slow/orders/")), "slow-checkpoint")
    assert found.code_fix.startswith('.option("checkpointLocation", "<fast storage>/orders")')
    assert "copy the whole checkpoint directory" in found.fix


def test_a_slow_temporary_checkpoint_is_not_copied():
    """Spark deletes it when the query stops, so the query gets one of its own."""
    made = records(ms=2600, parts={"walCommit": 900, "commitOffsets": 900})
    facts = Facts(checkpoint="file:/var/temporary-1", temporaryCheckpoint=True)
    found = hint(judge(made, facts=facts), "slow-checkpoint")
    assert found.code_fix == '.option("checkpointLocation", "<fast storage>/orders")'
    assert "copy" not in found.fix
    assert "checkpointLocation of its own" in found.fix


@pytest.mark.parametrize(("planning", "busy"), [(400, False), (550, True)])
def test_a_checkpoint_is_not_blamed_for_a_busy_machine(planning, busy):
    """Where planning takes half a second as well, nothing tells whose fault it is, nor what other storage brings."""
    parts = {"walCommit": 900, "commitOffsets": 900, "queryPlanning": planning}
    found = hint(judge(records(ms=3600, parts=parts)), "slow-checkpoint")
    assert ("storage is slow" in found.cause) == (not busy)
    assert ("machine may be busy" in found.cause) == busy
    assert (found.effect is None) == busy


def test_slow_checkpoint_on_s3_has_code():
    """Without renaming, where the storage is known."""
    parts = {"walCommit": 900, "commitOffsets": 900}
    found = hint(judge(records(ms=2600, parts=parts), facts=Facts(checkpoint="s3a://b/ck")), "slow-checkpoint")
    assert "checkpointFileManagerClass" in found.code_fix


def test_replayed_batch_has_no_offsets_to_plan():
    """The run's first batch neither asks the sources nor writes the offset log."""
    first = records(5)
    second = records(5, first=5, run="run-2", begin=BEGIN + 1e6, sink=FOREACH_BATCH)
    for name in ("latestOffset", "walCommit"):
        del second[0]["durationMs"][name]
    diagnosis = judge([*first, *second])
    assert hint(diagnosis, "replayed-batch").evidence[0].batches == (5,)
    assert hint(diagnosis, "replayed-batch").severity == "warning"


@pytest.mark.parametrize("sink", ["FileSink[/data/out]", "DeltaSink[/data/table]"])
def test_a_replayed_batch_is_harmless_for_sinks_that_skip_it(sink):
    """Then it is only worth knowing."""
    made = records(5, first=5, sink=sink)
    del made[0]["durationMs"]["walCommit"]
    assert hint(judge(made), "replayed-batch").severity == "info"


@pytest.mark.parametrize(
    ("rows", "state", "sink", "severity", "words"),
    [
        (0, [], "KafkaTable", "info", "no rows, so nothing is doubled"),
        (0, [operator()], "KafkaTable", "warning", "read no rows, but it may have written results"),
        (0, [], FOREACH_BATCH, "warning", "is there twice"),
        (5, [], "KafkaTable", "warning", "is there twice"),
        (5, [], "MemorySink", "info", "for looking only"),
    ],
)
def test_what_a_replayed_batch_doubles(rows, state, sink, severity, words):
    """Nothing where it had no rows and no state, or the sink keeps nothing."""
    made = records(5, first=5, sink=sink, rows=lambda i: rows if i == 0 else 100, state=state, output=1)
    del made[0]["durationMs"]["walCommit"]
    found = hint(judge(made), "replayed-batch")
    assert found.severity == severity
    assert words in found.fix


@pytest.mark.parametrize(
    ("path", "archive"),
    [
        ("file:/data/in", "file:/data/in_done"),
        ("/data/in/*.csv", "/data/in_done"),
        ("/data/in/part-*", "/data/in_done"),
        ("s3://bucket/in/*/x", "s3://bucket/in_done"),
        ("s3://bucket/*", "<a directory beside the input>"),
        ("s3://bucket", "<a directory beside the input>"),
        ("/*.csv", "<a directory beside the input>"),
    ],
)
def test_done_files_go_to_a_plain_directory_beside_the_source(path, archive):
    """Never one with a wildcard, below the source, or another bucket."""
    made = records(ms=2600, parts={"latestOffset": 1200}, source=f"FileStreamSource[{path}]")
    assert f'"sourceArchiveDir", "{archive}"' in hint(judge(made), "slow-source-discovery").code_fix


def test_of_several_sources_nothing_tells_which_one_is_slow():
    """No listing is blamed, no code is given."""
    made = records(ms=2600, parts={"latestOffset": 1200}, source=FILES)
    for record in made:
        record["sources"].append({"description": "KafkaV2[Subscribe[orders]]", "numInputRows": 0})
    found = hint(judge(made), "slow-source-discovery")
    assert found.code_fix is None
    assert found.title.startswith("Asking the sources")


def test_an_ordinary_restart_replays_nothing():
    """Its first batch plans its offsets; old versions that never report walCommit prove nothing."""
    assert "replayed-batch" not in codes(judge(records(5, first=5)))
    assert "replayed-batch" not in codes(judge(records(5, first=5, parts={"walCommit": None})))
    later = records(5, first=5)
    del later[2]["durationMs"]["walCommit"]
    assert "replayed-batch" not in codes(judge(later))


def test_temporary_checkpoint_is_info_and_not_said_of_sinks_for_looking():
    """Console and memory queries are thrown away."""
    facts = Facts(temporaryCheckpoint=True)
    diagnosis = judge(records(sink=FOREACH_BATCH), facts=facts)
    assert '"/checkpoints/orders"' in hint(diagnosis, "temporary-checkpoint").code_fix
    assert loud(diagnosis) == []
    assert codes(judge(records(sink="MemorySink"), facts=facts)) == []
    assert "temporary-checkpoint" not in codes(judge(records(sink=FOREACH_BATCH)))


@pytest.mark.parametrize(("wanted", "first", "fires"), [(8, 5, True), (4, 5, False), (None, 5, False), (8, 0, False)])
def test_pinned_conf(wanted, first, fires):
    """A run that goes on with a checkpoint does not use the session's number of partitions.

    After a first start the session's setting is for other queries; what the run uses is pinned by then.
    """
    facts = Facts(sessionPartitions=wanted, shufflePartitions=4, checkpoint="/checkpoints/orders")
    diagnosis = judge(records(state=[operator()], first=first), facts=facts)
    assert ("pinned-conf" in codes(diagnosis)) == fires
    if fires:
        code = '.option("checkpointLocation", "/checkpoints/orders_8_partitions")'
        assert hint(diagnosis, "pinned-conf").code_fix == code


def two_sources(count, backlog=50, moved=0):
    made = records(count)
    for record in made:
        end = {"clicks": {"0": 7 + moved}}
        latest = {"clicks": {"0": 7 + moved + backlog}}
        record["sources"].append(
            {
                "description": "KafkaV2[Subscribe[clicks]]",
                "startOffset": {"clicks": {"0": 7}},
                "endOffset": end,
                "latestOffset": latest,
                "numInputRows": moved,
            }
        )
    return made


@pytest.mark.parametrize(
    ("made", "fires"),
    [
        (two_sources(12), True),
        (two_sources(9), False),
        (two_sources(12, backlog=0), False),
        (two_sources(12, moved=5), False),
    ],
)
def test_source_stuck(made, fires):
    """Ten batches that took nothing although rows wait."""
    assert ("source-stuck" in codes(judge(made))) == fires


def test_offset_rewind_is_proven_by_two_records():
    """A batch that ends before the end of the one before."""
    made = records(6)
    made[5]["sources"][0]["startOffset"] = {"orders": {"0": 3}}
    made[5]["sources"][0]["endOffset"] = {"orders": {"0": 90}}
    diagnosis = judge(made)
    assert hint(diagnosis, "offset-rewind").evidence[1].value == 90
    assert "offset-rewind" not in codes(judge(records(6)))
    assert "offset-rewind" not in codes(judge([made[3], made[5]]))  # what was between is not known


@pytest.mark.parametrize(
    ("sink", "fires"),
    [
        (FOREACH_BATCH, True),
        ("org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable@47ce476", True),
        ("ForeachSink", True),
        ("FileSink[/out]", False),
        ("MemorySink", False),
    ],
)
def test_delivery_is_said_calmly(sink, fires):
    """Info, for sinks that may write a batch twice."""
    diagnosis = judge(records(sink=sink))
    assert ("sink-not-idempotent" in codes(diagnosis)) == fires
    assert loud(diagnosis) == []


def test_a_socket_cannot_be_read_again():
    """Info as well."""
    diagnosis = judge(records(source="TextSocketV2[host: localhost, port: 9999]"))
    assert codes(diagnosis) == ["source-not-replayable"]


def test_missed_progress_counts_what_is_missing():
    """Batches between the first and the last one seen of the run."""
    made = records(12)
    diagnosis = judge([*made[:4], *made[7:]])
    assert hint(diagnosis, "missed-progress").evidence[0].value == 3
    assert loud(diagnosis) == []
    assert codes(judge(made)) == []


def test_a_gap_of_an_earlier_run_is_history():
    """Only the latest run is judged."""
    made = records(6)
    history = history_of([*made[:2], *made[4:], *records(6, first=6, run="run-2", begin=BEGIN + 1e6)])
    assert "missed-progress" not in codes(diagnose(history, 2))


def test_metric_unreliable_when_a_source_contradicts_itself():
    """Its own metric says that nothing waits, its offsets say that rows do."""
    made = records(6, backlog=500)
    for record in made:
        record["sources"][0]["metrics"] = {"maxOffsetsBehindLatest": "0"}
    assert "metric-unreliable" in codes(judge(made))
    for record in made:
        record["sources"][0]["metrics"] = {"maxOffsetsBehindLatest": "500"}
    assert "metric-unreliable" not in codes(judge(made))


def test_metric_unreliable_for_rocksdb_without_memory():
    """A known defect: 0 bytes for state that has rows."""
    broken = [operator(memoryUsedBytes=0, customMetrics={"rocksdbGetCount": 3})]
    assert "metric-unreliable" in codes(judge(records(3, state=broken)))
    empty = [operator(memoryUsedBytes=0, numRowsTotal=0, customMetrics={"rocksdbGetCount": 3})]
    assert "metric-unreliable" not in codes(judge(records(3, state=empty)))


def card(**more):
    """Return what was read of the checkpoint for the run."""
    return Card(runId="run-1", path="/ckpt/orders", **more)


PROVIDER = "spark.sql.streaming.stateStore.providerClass"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
STATE = "org.apache.spark.sql.execution.streaming.state."


@pytest.mark.parametrize(
    ("setting", "first", "inputs", "fires"),
    [
        (Pinned(PROVIDER, f"{STATE}HDFSBackedStateStoreProvider", f"{STATE}RocksDBStateStoreProvider"), 5, 1, True),
        (Pinned(PROVIDER, f"{STATE}HDFSBackedStateStoreProvider", f"{STATE}RocksDBStateStoreProvider"), 0, 1, False),
        (Pinned(POLICY, "min", "max"), 5, 2, True),
        (Pinned(POLICY, "min", "max"), 5, 1, False),
        (Pinned("spark.sql.streaming.aggregation.stateFormatVersion", "1", "2"), 5, 1, False),
    ],
)
def test_pinned_conf_of_other_settings(setting, first, inputs, fires):
    """The state store and the watermark policy, where they matter and the run goes on with a checkpoint."""
    made = records(6, first=first, state=[operator()], output=1)
    for record in made:
        record["sources"] = record["sources"] * inputs
    history = history_of(made)
    history.set_checkpoint(card(pinned=(setting,)))
    diagnosis = diagnose(history, 2)
    assert codes(diagnosis) == ["pinned-conf"] * fires
    if fires:
        found = hint(diagnosis, "pinned-conf")
        short = [value.rpartition(".")[2] for value in (setting.session, setting.checkpoint)]
        assert found.title == f"{setting.name} is {short[0]}, but this query keeps the {short[1]} of its first start"
        assert found.code_fix == f'.option("checkpointLocation", "/ckpt/orders_{short[0]}")'


def test_a_card_of_another_run_says_nothing_of_this_one():
    """It was read before the restart."""
    history = history_of(records(6, first=5, state=[operator()], output=1))
    history.set_checkpoint(Card(runId="run-0", pinned=(Pinned(PROVIDER, "a.A", "b.B"),)))
    assert codes(diagnose(history, 2)) == []


@pytest.mark.parametrize(("planned", "fires"), [(BEGIN - 60_000, True), (BEGIN + 10, False), (None, False)])
def test_a_replayed_batch_was_planned_before_its_run(planned, fires):
    """The offset log has the time; the evidence names both runs."""
    history = history_of(records(6, first=5))
    history.start("run-1", at=BEGIN)
    history.set_checkpoint(card(firstBatch=5, firstPlannedMs=planned))
    assert ("replayed-batch" in codes(diagnose(history, 2))) == fires


def test_a_replayed_batch_names_both_runs():
    """With their ids, short, and their times."""
    history = history_of(records(5, run="0a1b2c3d-before", begin=BEGIN - 600_000, sink=FOREACH_BATCH))
    history.end("0a1b2c3d-before", BEGIN - 500_000)
    history.start("9f8e7d6c-after", at=BEGIN)
    for i, record in enumerate(records(6, first=5, run="9f8e7d6c-after", sink=FOREACH_BATCH)):
        if i == 0:
            del record["durationMs"]["walCommit"]
        history.append(parse(record))
    shown = [str(one) for one in hint(diagnose(history, 2), "replayed-batch").evidence]
    assert "run before: 0a1b2c3d, ended 2025-12-31 23:51:40 UTC" in shown
    assert "this run: 9f8e7d6c, started 2026-01-01 00:00:00 UTC" in shown


@pytest.mark.parametrize(("wal", "fires"), [(850, True), (740, False)])
def test_a_part_is_slow_from_three_tenths_of_the_batch(wal, fires):
    """Of batches of 2.6 s, with 15 ms for the commit."""
    assert ("slow-checkpoint" in codes(judge(records(ms=2600, parts={"walCommit": wal})))) == fires


@pytest.mark.parametrize(("wal", "fires"), [(520, True), (450, False)])
def test_a_part_is_slow_from_half_a_second(wal, fires):
    """However large its share of a short batch is."""
    made = records(ms=800, interval=900, parts={"walCommit": wal})
    assert ("slow-checkpoint" in codes(judge(made, 900))) == fires
