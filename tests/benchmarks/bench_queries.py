"""Twenty real queries at once for a minute: every batch in its history, and how long the listener bus waits for us.

``callback_ms`` is what our callback takes, by the clock, of every real event. ``round_trip_ms`` is measured beside it
from Python through the JVM to a listener of ours and back: more than what the listener bus waits for, and on a machine
without an idle core mostly waiting for one.

    python tests/benchmarks/bench_queries.py [seconds] [queries]
"""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import jupyter_streamwatch as sw
from jupyter_streamwatch.spark.events.open import open_bridge
from tests.helpers import wait_until
from tests.spark.conftest import make_session
from tests.spark.queries import start


def timed(proxy):
    """Time in ms of each call of the callback that takes progress events; grows while the watch runs."""
    took, callback = [], proxy.onQueryProgress

    def onQueryProgress(event):
        begin = time.perf_counter()
        callback(event)
        took.append(1000 * (time.perf_counter() - begin))

    proxy.onQueryProgress = onQueryProgress
    return took


def measure(seconds=60, count=20):
    """Return what ran, what is missing, and what a callback took, as a dict."""
    spark = make_session()
    watch = sw.watch(spark)
    callbacks = timed(watch._attachment.bridge._proxy)
    aside, arrivals, trips = open_bridge(spark), [], []
    aside.attach(arrivals.append)
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    queries = [start(rows, name=f"q{i}", trigger={"processingTime": "1 second"}) for i in range(count)]
    event = wait_until(lambda: [a.payload for a in arrivals if a.kind == "progress"], 300)[0]
    pause, until = threading.Event(), time.monotonic() + seconds
    while time.monotonic() < until:
        begin = time.perf_counter()
        aside._listener.onQueryProgress(event)
        trips.append(1000 * (time.perf_counter() - begin))
        pause.wait(0.1)
    for query in queries:
        query.stop()
    missing = extra = batches = 0
    for query in queries:
        found = [int(batch) for batch in watch.queries[query].batches["batchId"]]
        expected = range(query.lastProgress["batchId"] + 1)
        batches += len(expected)
        missing += len(set(expected) - set(found))
        extra += len(found) - len(set(found))
    result = {
        "benchmark": "queries",
        "spark": spark.version,
        "queries": count,
        "seconds": seconds,
        "batches": batches,
        "missing": missing,
        "twice": extra,
        "missed": watch.missed,
        "callbacks": len(callbacks),
        "callback_ms": round(statistics.median(callbacks), 4),
        "callback_ms_99": round(statistics.quantiles(callbacks, n=100)[98], 4),
        "wanted_callback_ms": 1,
        "round_trip_ms": round(statistics.median(trips), 3),
    }
    aside.detach()
    watch.stop()
    spark.stop()
    return result


if __name__ == "__main__":
    print(json.dumps(measure(*(int(word) for word in sys.argv[1:3]))))
