"""Several records of the field: what they show together."""

from __future__ import annotations

from tests.unit.diagnosis.field import EVENT, LAG, Case, batch, kafka, moving, operator, several

CASES: dict[str, Case] = {
    "a query that keeps up": Case(
        several(20, 10_000, lambda i: moving(i, ms=4100 + 90 * (i % 4))),
        verdict={"keeping-up"},
        quiet=True,
        trigger="10 seconds",
    ),
    "rate-limited and late": Case(
        several(20, 29_000, lambda i: moving(i, 10_000, 900_000 + 20_000 * i, ms=29_000)),
        verdict={"falling-behind"},
        must={"falling-behind", "backlog-growing"},
        trigger="10 seconds",
    ),
    "rate-limited with time left and a backlog that grows": Case(
        several(20, 60_000, lambda i: moving(i, 10_000, 50_000 + 8000 * i, ms=9000)),
        must={"rate-limit-reached", "backlog-growing"},
        verdict={"falling-behind"},
        must_not={"falling-behind"},
        trigger="1 minute",
    ),
    "working off a backlog after a restart": Case(
        several(15, 30_000, lambda i: moving(i, 40_000, 900_000 - 30_000 * i, ms=21_000)),
        verdict={"catching-up"},
        quiet=True,
        must_not=LAG,
        trigger="30 seconds",
    ),
    "back to back with few rows waiting": Case(
        several(20, 805, lambda i: moving(i, 300, 10, ms=800)),
        verdict={"keeping-up"},
        quiet=True,
    ),
    "availableNow that drains": Case(
        several(12, 15_500, lambda i: moving(i, 50_000, 600_000 - 50_000 * (i + 1), ms=15_000)),
        must_not=LAG,
        quiet=True,
        trigger="availableNow",
    ),
    "nearly the whole interval": Case(
        several(25, 5000, lambda i: moving(i, ms=4600 + 40 * (i % 3))), verdict={"at-capacity"}, trigger="5 seconds"
    ),
    "no watermark and state that grows": Case(
        several(40, 10_000, lambda i: moving(i, ms=2200, state=[operator("stateStoreSave", 500 * (i + 1), 500)])),
        must={"state-growth"},
        must_not=LAG,
        trigger="10 seconds",
    ),
    "state that is full": Case(
        several(40, 10_000, lambda i: moving(i, ms=2200, state=[operator("stateStoreSave", 50_000, 500)])),
        must_not={"state-growth"},
        quiet=True,
        trigger="10 seconds",
    ),
    "null event times": Case(
        several(
            6,
            10_000,
            lambda i: moving(
                i, ms=1500, state=[operator()], eventTime=dict.fromkeys(EVENT, "1970-01-01T00:00:00.000Z")
            ),
        ),
        must={"watermark-unset"},
        must_not=LAG,
    ),
    "slow object store for the checkpoint": Case(
        several(20, 3500, lambda i: moving(i, ms=3500, parts={"walCommit": 1300, "commitOffsets": 1250})),
        must={"slow-checkpoint", "falling-behind"},
        trigger="2 seconds",
    ),
    "alternating no-data batches": Case(
        several(
            30,
            5000,
            lambda i: {
                "ms": 1400,
                "source": kafka(500 * i, 500 * (i + (i % 2))),
                "state": [operator(numRowsRemoved=4)],
                "eventTime": EVENT,
            },
        ),
        must_not=LAG | {"state-growth"},
        quiet=True,
        trigger="5 seconds",
    ),
    "a topic that was made again": Case(
        [
            batch(80, source=kafka(90_000, 90_500, 90_500)),
            batch(81, source=kafka(90_500, 40, 40, rows=40), at="2025-11-03T07:15:10.000Z"),
        ],
        must={"offset-rewind"},
    ),
    "a log with holes": Case(
        [batch(3), batch(400, at="2025-11-03T08:15:00.000Z")], must={"missed-progress"}, quiet=True, must_not=LAG
    ),
    "time in no part": Case(
        several(20, 9000, lambda i: moving(i, ms=8800, parts={"addBatch": 1200})),
        must={"time-unaccounted"},
        trigger="10 seconds",
    ),
    "minute batches of a query without a trigger": Case(
        several(12, 63_000, lambda i: moving(i, 200_000, ms=60_000)),
        must_not={"falling-behind"},
    ),
    "batches that grow with their rows, back to back": Case(
        [
            batch(
                10 + i,
                2000 + 900 * i,
                kafka(0, 1000 + 500 * i),
                at=f"2025-11-03T07:{3 * i // 60:02}:{3 * i % 60:02}.000Z",
            )
            for i in range(5)
        ],
        must_not={"duration-trend"},
    ),
    "compaction every ten batches": Case(
        several(60, 5000, lambda i: moving(i, ms=6200 if i % 10 == 9 else 900, sink="FileSink[s3a://out]")),
        must={"duration-trend"},
        verdict={"keeping-up"},
        quiet=True,
        trigger="5 seconds",
    ),
    "one long garbage collection": Case(
        several(30, 5000, lambda i: moving(i, ms=18_000 if i == 17 else 900)),
        verdict={"keeping-up"},
        quiet=True,
        trigger="5 seconds",
    ),
    "a delay that drops few of many": Case(
        several(
            20,
            10_000,
            lambda i: moving(i, 90_000, ms=2000, state=[operator(dropped=3, numRowsRemoved=9)], eventTime=EVENT),
        ),
        must={"late-rows-dropped"},
        quiet=True,
    ),
    "a source that no batch reads": Case(
        several(
            12,
            5000,
            lambda i: {
                "ms": 900,
                "source": [kafka(500 * i, 500 * i + 500), kafka(70, 70, 9000, topic="ghost")],
            },
        ),
        must={"source-stuck"},
        trigger="5 seconds",
    ),
    "a quiet second input": Case(
        several(
            12,
            60_000,
            lambda i: {
                "ms": 900,
                "source": [kafka(500 * i, 500 * i + 500), kafka(70, 70, 70, topic="views")],
                "state": [operator("symmetricHashJoin", 1000 + 500 * i)],
                "eventTime": {
                    "watermark": "2025-11-03T05:00:00.000Z",
                    "max": f"2025-11-03T07:{i:02}:00.000Z",
                    "min": f"2025-11-03T06:{i:02}:50.000Z",
                    "avg": f"2025-11-03T06:{i:02}:55.000Z",
                },
            },
        ),
        must={"watermark-stuck"},
        must_not=LAG,
        trigger="1 minute",
    ),
    "a restart": Case(
        [
            *several(6, 10_000, lambda i: moving(i, ms=1500)),
            *[
                {**one, "runId": "c9", "timestamp": one["timestamp"].replace("T07", "T09")}
                for one in several(6, 10_000, lambda i: moving(6 + i, ms=1500), first=16)
            ],
        ],
        verdict={"keeping-up"},
        quiet=True,
        trigger="10 seconds",
    ),
}
