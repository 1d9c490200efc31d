"""One record of the field that proves nothing bad: nobody is alarmed."""

from __future__ import annotations

from tests.unit.diagnosis.field import (
    DELTA,
    EVENT,
    FLOW,
    FOREACH_BATCH,
    ID,
    LAG,
    Case,
    batch,
    files,
    idle,
    kafka,
    operator,
    rocksdb,
)

CASES: dict[str, Case] = {
    "a batch of Kafka": Case([batch()], quiet=True, verdict={"running"}, must_not=FLOW),
    "processed below input in one record": Case(
        [batch(inputRowsPerSecond=900.0, processedRowsPerSecond=120.0)], quiet=True, must_not=LAG
    ),
    "a burst over a tiny gap": Case([batch(inputRowsPerSecond=250_000.0)], quiet=True, must_not=LAG),
    "a first batch that takes long": Case(
        [batch(0, 14_000, kafka(None, 50_000))], quiet=True, must_not=LAG | {"no-rate-limit"}
    ),
    "a batch of ten minutes with many rows": Case(
        [batch(ms=610_000, source=kafka(0, 90_000_000))], quiet=True, must_not=LAG | {"slow-user-code", "slow-sink"}
    ),
    "idle": Case([idle()], quiet=True, verdict={"idle"}),
    "idle with the state's old times": Case(
        [idle(state=[operator(commitTimeMs=90_000)])], quiet=True, verdict={"idle"}
    ),
    "a no-data batch": Case(
        [batch(source=kafka(4120, 4120, 4120), state=[operator(updated=0, numRowsRemoved=4)], eventTime=EVENT)],
        quiet=True,
    ),
    "files without latestOffset": Case([batch(source=files(12_000))], quiet=True, must_not=LAG),
    "Delta to Delta": Case(
        [
            batch(
                ms=4200,
                sink=DELTA,
                source={
                    "description": "DeltaSource[s3://lake/bronze/orders]",
                    "startOffset": {"sourceVersion": 1, "reservoirId": "r", "reservoirVersion": 881, "index": 3},
                    "endOffset": {"sourceVersion": 1, "reservoirId": "r", "reservoirVersion": 882, "index": -1},
                    "latestOffset": None,
                    "numInputRows": 81_200,
                    "metrics": {"numBytesOutstanding": "73400320", "numFilesOutstanding": "12"},
                },
            )
        ],
        quiet=True,
        must_not=LAG | {"batch-recomputed"},
    ),
    "Auto Loader with files outstanding": Case(
        [
            batch(
                ms=38_000,
                sink=FOREACH_BATCH,
                source={
                    "description": "CloudFilesSource[abfss://landing@acct/clicks]",
                    "startOffset": {"seqNum": 880, "sourceVersion": 1, "lastBackfillStartTimeMs": 1},
                    "endOffset": {"seqNum": 1880, "sourceVersion": 1, "lastBackfillStartTimeMs": 1},
                    "latestOffset": None,
                    "numInputRows": 412_000,
                    "metrics": {"numFilesOutstanding": "25000", "approximateQueueSize": "25000"},
                },
            )
        ],
        quiet=True,
        must_not=LAG | {"batch-recomputed"},
    ),
    "Kinesis": Case(
        [
            batch(
                ms=1800,
                sink=DELTA,
                source={
                    "description": "KinesisV2[KinesisConsumerOptions(maxRecordsPerFetch = 10000), clicks]",
                    "startOffset": [{"shard": {"stream": "clicks", "shardId": "shardId-0"}, "isClosed": False}],
                    "endOffset": [{"shard": {"stream": "clicks", "shardId": "shardId-0"}, "isClosed": False}],
                    "numInputRows": 311,
                    "metrics": {"avgMsBehindLatest": "0.0", "mode": "polling", "numStreams": "1"},
                },
            )
        ],
        quiet=True,
        must_not=LAG,
    ),
    "Event Hubs": Case(
        [
            batch(
                source={
                    "description": "org.apache.spark.sql.eventhubs.EventHubsSource@5a1f",
                    "startOffset": {"hub": {"0": 100, "1": 120}},
                    "endOffset": {"hub": {"0": 150, "1": 160}},
                    "numInputRows": 90,
                }
            )
        ],
        quiet=True,
        must_not={"batch-recomputed"},
    ),
    "a big RocksDB state": Case(
        [batch(ms=21_000, source=kafka(0, 400_000), state=[rocksdb()], eventTime=EVENT)],
        quiet=True,
        must_not={"state-memory", "too-many-partitions", "state-growth"},
    ),
    "RocksDB that does not count its rows": Case(
        [batch(ms=9000, source=kafka(0, 400), state=[rocksdb(0, 0)])], must_not={"too-many-partitions"}, quiet=True
    ),
    "a join with four stores a partition": Case(
        [
            batch(
                ms=2600,
                source=[kafka(0, 3000), kafka(0, 2800, topic="views")],
                state=[operator("symmetricHashJoin", 40_000, 5800, numStateStoreInstances=32)],
                eventTime=EVENT,
            )
        ],
        quiet=True,
    ),
    "a watermark far behind in replayed data": Case(
        [batch(state=[operator()], eventTime={k: v.replace("2025", "2019") for k, v in EVENT.items()})],
        quiet=True,
        must_not={"watermark-stuck", "watermark-ahead"},
    ),
    "an unset watermark in the first batch": Case(
        [batch(0, state=[operator()], eventTime={**EVENT, "watermark": "1970-01-01T00:00:00.000Z"})],
        must_not={"watermark-unset", "results-pending"},
        quiet=True,
    ),
    "a record of Spark 2.1 without a batch id": Case(
        [
            {
                "id": ID,
                "timestamp": "2017-03-01T08:00:00.000Z",
                "numInputRows": 30,
                "inputRowsPerSecond": 120.0,
                "processedRowsPerSecond": 200.0,
                "durationMs": {
                    "triggerExecution": 150,
                    "getOffset": 2,
                    "getBatch": 9,
                    "queryPlanning": 14,
                    "walCommit": 12,
                },
                "eventTime": {"watermark": "1970-01-01T00:00:00.000Z"},
                "stateOperators": [],
                "sources": [{"description": "KafkaSource[Subscribe[a]]", "numInputRows": 30}],
                "sink": {"description": "org.apache.spark.sql.execution.streaming.ConsoleSink@1"},
            }
        ],
        quiet=True,
        must_not={"watermark-unset"},
    ),
    "transaction markers": Case(
        [batch(sink=FOREACH_BATCH, source=kafka(0, 1000, rows=750))], must_not={"batch-recomputed"}, quiet=True
    ),
    "a memory sink": Case([batch(sink="MemorySink")], quiet=True, must_not={"sink-not-idempotent"}),
}
