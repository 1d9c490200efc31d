"""One record of the field that proves something, or has what only looks like it."""

from __future__ import annotations

from tests.unit.diagnosis.field import (
    EVENT,
    FLOW,
    FOREACH_BATCH,
    ID,
    LAG,
    RUN,
    Case,
    batch,
    files,
    kafka,
    operator,
    rocksdb,
)

CASES: dict[str, Case] = {
    "three actions in foreachBatch": Case(
        [batch(sink=FOREACH_BATCH, source=kafka(9000, 9700, rows=2100))], must={"batch-recomputed"}, must_not=LAG
    ),
    "two actions over three partitions": Case(
        [batch(sink=FOREACH_BATCH, source=kafka(9000, 9300, rows=1800, parts=3))], must={"batch-recomputed"}
    ),
    "rows that a watermark dropped": Case(
        [batch(state=[operator(dropped=51)], eventTime=EVENT)], must={"late-rows-dropped"}
    ),
    "dropped rows by Spark 3.0's name": Case(
        [
            batch(
                state=[
                    {
                        "numRowsTotal": 40,
                        "numRowsUpdated": 8,
                        "memoryUsedBytes": 9000,
                        "numLateInputs": 6,
                        "customMetrics": {},
                    }
                ],
                eventTime=EVENT,
            )
        ],
        must={"late-rows-dropped"},
    ),
    "200 partitions for few rows": Case(
        [batch(ms=7000, state=[operator(partitions=200, commitTimeMs=9800)], eventTime=EVENT)],
        must={"too-many-partitions"},
        must_not=LAG,
    ),
    "200 partitions, quick all the same": Case(
        [batch(ms=1100, state=[operator(partitions=200, commitTimeMs=900)], eventTime=EVENT)], must_not=LAG, quiet=True
    ),
    "foreach that writes row by row": Case(
        [batch(ms=94_000, source=kafka(0, 400), sink="ForeachWriterTable(org.acme.Writer@1,Right())")],
        must_any={"slow-user-code", "slow-sink"},
        must_not={"too-many-partitions"},
    ),
    "foreachBatch that takes minutes for few rows": Case(
        [batch(ms=240_000, source=kafka(0, 900), sink=FOREACH_BATCH)],
        must_any={"slow-user-code", "slow-sink"},
        must_not=LAG,
    ),
    "a listing of 40 seconds": Case(
        [batch(ms=44_000, source=files(300), parts={"latestOffset": 40_000})], must={"slow-source-discovery"}
    ),
    "a log that takes 15 seconds": Case(
        [batch(ms=17_000, parts={"walCommit": 8000, "commitOffsets": 7500})], must={"slow-checkpoint"}
    ),
    "planning of 20 seconds": Case([batch(ms=24_000, parts={"queryPlanning": 20_000})], must={"slow-planning"}),
    "a listing of an old Spark": Case(
        [batch(ms=35_000, source=files(300), parts={"getOffset": 31_000, "latestOffset": 0})],
        must={"slow-source-discovery"},
    ),
    "a row of the year 9999": Case(
        [batch(state=[operator()], eventTime={**EVENT, "max": "9999-12-31T23:59:59.000Z"})], must={"watermark-ahead"}
    ),
    "a watermark two days ahead": Case(
        [batch(state=[operator(dropped=300)], eventTime={**EVENT, "watermark": "2025-11-05T07:00:00.000Z"})],
        must={"watermark-ahead", "late-rows-dropped"},
    ),
    "a socket": Case(
        [batch(source={"description": "TextSocketV2[host: localhost, port: 9999]", "numInputRows": 3})],
        must={"source-not-replayable"},
        quiet=True,
    ),
    "Kafka that says nothing waits": Case(
        [batch(source=kafka(0, 500, 9000, maxOffsetsBehindLatest="0", avgOffsetsBehindLatest="0.0"))],
        must={"metric-unreliable"},
        quiet=True,
    ),
    "deduplication that saw more rows than came": Case(
        [
            batch(
                sink=FOREACH_BATCH,
                source={"description": "KafkaV2[Subscribe[clicks]]", "numInputRows": 200},
                state=[operator("dedupe", 90_000, 410, customMetrics={"numDroppedDuplicateRows": 190})],
            )
        ],
        must={"batch-recomputed"},
    ),
    "a log that takes three seconds": Case(
        [batch(ms=4600, parts={"walCommit": 3100, "commitOffsets": 60})], must={"slow-checkpoint"}, quiet=True
    ),
    "a listing of two and a half seconds": Case(
        [batch(ms=3900, source=files(300), parts={"latestOffset": 2500})], must={"slow-source-discovery"}, quiet=True
    ),
    "foreachBatch of 15 seconds for 60 rows": Case(
        [batch(ms=15_000, source=kafka(0, 60), sink=FOREACH_BATCH)], must={"slow-user-code"}, quiet=True
    ),
    "foreachBatch of 15 seconds for 60,000 rows": Case(
        [batch(ms=15_000, source=kafka(0, 60_000), sink=FOREACH_BATCH)], must_not={"slow-user-code"}, quiet=True
    ),
    "15 seconds in no part": Case(
        [batch(ms=19_000, parts={"addBatch": 3500})], must={"time-unaccounted"}, quiet=True, must_not=LAG
    ),
    "parts left out where it was copied": Case(
        [{**batch(ms=19_000), "durationMs": {"addBatch": 1800, "triggerExecution": 19_000}}],
        must_not={"time-unaccounted"},
        quiet=True,
    ),
    "saving the state takes most of a minute": Case(
        [
            batch(
                ms=62_000,
                source=kafka(0, 400_000),
                state=[rocksdb(commitTimeMs=50_000 * 200)],
                eventTime=EVENT,
            )
        ],
        must={"state-commit-slow"},
        must_not={"too-many-partitions"},
    ),
    "commit times that are sums over tasks": Case(
        [batch(ms=9000, source=kafka(0, 400_000), state=[rocksdb(commitTimeMs=120_000)], eventTime=EVENT)],
        must_not={"state-commit-slow"},
        quiet=True,
    ),
    "a slow first batch in every part": Case(
        [batch(0, 70_000, files(90_000), parts={"latestOffset": 30_000, "queryPlanning": 12_000, "walCommit": 11_000})],
        must_not={"slow-source-discovery", "slow-planning", "slow-checkpoint"},
        quiet=True,
    ),
    "a heavy heap": Case(
        [batch(ms=9000, source=kafka(0, 90_000), state=[operator(total=30_000_000, memoryUsedBytes=9_000_000_000)])],
        must={"state-memory"},
        must_not={"too-many-partitions"},
    ),
    "flatMapGroupsWithState without a time-out": Case(
        [batch(ms=1500, state=[operator("flatMapGroupsWithState", 900, 20)])], quiet=True, must_not=LAG
    ),
    "a watermark of a delay of an hour": Case(
        [batch(state=[operator()], eventTime={**EVENT, "watermark": "2025-11-03T06:14:40.000Z"})],
        quiet=True,
        must_not={"watermark-stuck", "results-pending"},
    ),
    "all clocks ahead": Case(
        [
            batch(
                state=[operator()], eventTime={k: v.replace("2025-11-03T07", "2025-11-03T12") for k, v in EVENT.items()}
            )
        ],
        must_not={"watermark-ahead"},
        quiet=True,
    ),
    "a state of one partition": Case(
        [batch(state=[operator("globalLimit", 10, 0, partitions=1)])],
        must_not={"pinned-conf", "too-many-partitions"},
        quiet=True,
    ),
    "rows that cannot be counted": Case(
        [batch(numInputRows=None, source={"description": "CustomSource", "numInputRows": None})], quiet=True
    ),
    "unknown everywhere": Case(
        [{"id": ID, "runId": RUN, "batchId": 5, "durationMs": {"triggerExecution": 300_000}, "sources": []}],
        quiet=True,
        must_not=FLOW,
    ),
    "a batch of a minute in a join of two idle sources": Case(
        [
            batch(
                ms=61_000,
                source=[kafka(5, 5, 5), kafka(9, 9, 9, topic="b")],
                state=[operator("symmetricHashJoin", updated=0)],
            )
        ],
        quiet=True,
    ),
    "Kafka behind by its own metric": Case(
        [batch(source=kafka(0, 500, 500, maxOffsetsBehindLatest="48210", minOffsetsBehindLatest="120"))],
        quiet=True,
        must_not=LAG | {"metric-unreliable"},
    ),
}
