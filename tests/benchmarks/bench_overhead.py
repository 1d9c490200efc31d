"""What a query pays for being watched: median batch time with and without a watch, in pairs, as a ratio.

One stateful query runs all the time; the watch is attached and taken off in turn, so that both kinds of batches see
the same machine. Nothing is displayed. The interval is a bootstrap (95 %) over the pairs.

    python tests/benchmarks/bench_overhead.py [pairs] [batches]
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import jupyter_streamwatch as sw
from tests.helpers import wait_until
from tests.spark.conftest import make_session
from tests.spark.queries import rate, start

WARM_UP = 20  # batches


def phase(query, batches):
    """Median triggerExecution in ms of the next batches, the first left out: it may have begun before."""
    first = query.lastProgress["batchId"] + 2
    wait_until(lambda: query.lastProgress["batchId"] >= first + batches, 120)
    found = [p for p in query.recentProgress if first <= p["batchId"] < first + batches]
    return statistics.median(p["durationMs"]["triggerExecution"] for p in found)


def interval(ratios, rounds=2_000):
    """The 95 % interval of the median of the ratios."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]


def measure(pairs=12, batches=20):
    """Return both medians and the ratio with its interval, as a dict."""
    spark = make_session()
    frame = rate(spark, 2_000).selectExpr("value % 100 AS key").groupBy("key").count()
    query = start(frame, "noop", mode="update", trigger={"processingTime": "500 milliseconds"})
    wait_until(lambda: query.lastProgress and query.lastProgress["batchId"] >= WARM_UP, 120)
    alone, watched = [], []
    for pair in range(pairs):
        for attached in (True, False) if pair % 2 else (False, True):
            if attached:
                with sw.watch(spark):
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
        "wanted_ratio": 1.01,
    }


if __name__ == "__main__":
    print(json.dumps(measure(*(int(word) for word in sys.argv[1:3]))))
