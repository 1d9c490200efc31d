"""What a query pays for being watched: median batch time with and without a watch, in pairs, as a ratio.

One stateful query runs all the time; the watch is attached and taken off in turn, so that both kinds of batches see
the same machine. Nothing is displayed. The interval is a bootstrap (95 %) over the pairs. About two minutes.

    python tests/benchmarks/bench_overhead.py [pairs] [batches]
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import jupyter_streamwatch as sw
from tests.spark.conftest import make_session
from tests.spark.queries import start

WARM_UP = 40  # batches
SETTLE = 20  # batches until a page that was just opened has loaded and drawn its charts once
BATCH = "300 milliseconds"  # a batch each, and a pause after it
LOOK = 0.5  # seconds between two looks at the query, which cost as well


def phase(query, batches):
    """Median triggerExecution in ms of the next batches, the first left out: it may have begun before."""
    first = query.lastProgress["batchId"] + 3
    wait_for_batch(query, first + batches)
    found = [p for p in query.recentProgress if first <= p["batchId"] < first + batches]
    return statistics.median(p["durationMs"]["triggerExecution"] for p in found)


def wait_for_batch(query, batch):
    """Wait until this batch has ended, looking seldom."""
    pause = threading.Event()
    while not query.lastProgress or query.lastProgress["batchId"] < batch:
        if not query.isActive:
            raise RuntimeError(f"the query ended: {query.exception()}")
        pause.wait(LOOK)


def interval(ratios, rounds=2_000):
    """The 95 % interval of the median of the ratios."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]


def measure(pairs=10, batches=18, show=None):
    """Return both medians and the ratio with its interval, as a dict; ``show(watch)`` displays what is watched."""
    spark = make_session()
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2_000).load()
    frame = rows.selectExpr("value % 100 AS key").groupBy("key").count()
    query = start(frame, "noop", mode="update", trigger={"processingTime": BATCH})
    wait_for_batch(query, WARM_UP)
    alone, watched = [], []
    for pair in range(pairs):
        for attached in (True, False) if pair % 2 else (False, True):
            if attached:
                with sw.watch(spark) as watch:
                    if show is not None:
                        show(watch)
                        wait_for_batch(query, query.lastProgress["batchId"] + SETTLE)
                    watched.append(phase(query, batches))
            else:
                alone.append(phase(query, batches))
    query.stop()
    version = spark.version
    spark.stop()
    ratios = [with_ / without for with_, without in zip(watched, alone, strict=True)]
    low, high = interval(ratios)
    return {
        "benchmark": "overhead",
        "spark": version,
        "pairs": pairs,
        "alone_ms": statistics.median(alone),
        "watched_ms": statistics.median(watched),
        "ratio": round(statistics.median(ratios), 3),
        "interval": [round(low, 3), round(high, 3)],
        "wanted_ratio": 1.01 if show is None else None,
    }


if __name__ == "__main__":
    print(json.dumps(measure(*(int(word) for word in sys.argv[1:3]))))
