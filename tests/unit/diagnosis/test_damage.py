"""Damaged and odd records: whatever can be parsed can be diagnosed."""

from __future__ import annotations

import copy
import json
import random

import pytest

from jupyter_streamwatch.model.facts import Facts
from tests.unit.diagnosis.made import BEGIN, FOREACH_BATCH, iso, judge, operator, records

ODD = [
    None,
    0,
    -1,
    1,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "7",
    "-1",
    "NaN",
    [],
    {},
    "2026-01-01T00:00:00.000Z",
    True,
]
KEYS = ["a", "0", "durationMs", "watermark", "max", "numShufflePartitions", "loadedMapCacheHitCount"]


def event(i):
    start = BEGIN + 2000 * i
    return {"watermark": iso(start - 60_000), "max": iso(start), "min": iso(start - 5000), "avg": iso(start - 2000)}


def mutate(value, rng):
    """Replace, drop or add something somewhere inside."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        choice = rng.random()
        if choice < 0.15:
            del value[key]
        elif choice < 0.25:
            value[rng.choice(KEYS)] = rng.choice(ODD)
        else:
            value[key] = mutate(value[key], rng)
        return value
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        if rng.random() < 0.2:
            value.append(copy.deepcopy(value[place]))
        else:
            value[place] = mutate(value[place], rng)
        return value
    return rng.choice(ODD)


@pytest.mark.parametrize("seed", range(60))
def test_mutated_records_never_raise(seed):
    """Every diagnosis of damaged records is whole and can be written as JSON."""
    rng = random.Random(seed)
    made = records(
        25,
        ms=rng.choice([500, 2600, 90_000]),
        times=rng.choice([1, 3]),
        sink=rng.choice([FOREACH_BATCH, "ForeachSink", "MemorySink"]),
        backlog=lambda i: 100 * i,
        output=rng.choice([0, 3]),
        event=event,
        state=lambda i: [
            operator(numRowsTotal=100 + 50 * i, customMetrics={"loadedMapCacheHitCount": 8 * i}),
            operator("dedupe", numShufflePartitions=200, numRowsDroppedByWatermark=i % 3),
        ],
    )
    for record in made:
        for _ in range(rng.randrange(4)):
            mutate(record, rng)
        record["id"] = "query-1"
        record["batchId"] = record.get("batchId", 3)
    facts = Facts(
        outputMode="append",
        watermarks=rng.choice([None, (), (("ts", 0.0),)]),
        rateLimit=rng.choice([None, (), (("maxOffsetsPerTrigger", "many"),)]),
        temporaryCheckpoint=True,
        pythonUdf=True,
        sessionPartitions=8,
    )
    tasks = {
        name: rng.choice([0, 1, 2500, float("nan")]) for name in ("busyMs", "queueMs", "runTimeMs", "runTimeMs.max")
    }
    parsed = [record for record in made if isinstance(record["batchId"], int) and isinstance(record.get("runId"), str)]
    for count in (1, 2, len(parsed)):
        diagnosis = judge(parsed[:count], facts=facts, tasks=tasks)
        assert json.loads(json.dumps(diagnosis.to_dict()))["verdict"] == diagnosis.verdict
        assert str(diagnosis)
