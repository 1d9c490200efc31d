"""1,000 events a second of 100 queries as JSON into the collector: nothing lost, queue bounded.

python tests/benchmarks/bench_collector.py [seconds]
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jupyter_streamwatch import testing
from jupyter_streamwatch.spark.events.base import Arrival
from jupyter_streamwatch.watching.collector import LIMIT, Collector

QUERIES = 100
RATE = 1_000


def measure(seconds=60):
    """Return what was sent, lost and queued, as a dict."""
    record = testing.progress(rows=10, duration=900).to_dict()
    collector = Collector()
    collector.read = lambda arrival: {"event": "progress", "at": arrival.at, "progress": arrival.payload}
    collector.start()
    pause, most, begin = threading.Event(), 0, time.monotonic()
    cpu = time.process_time()
    total = seconds * RATE
    for number in range(total):
        query, batch = number % QUERIES, number // QUERIES
        second = batch // 10
        record |= {
            "id": f"{query:08d}-0000-4000-8000-000000000001",
            "runId": f"{query:08d}-0000-4000-8000-000000000002",
            "batchId": batch,
            "timestamp": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}.{batch % 10}00Z",
        }
        collector.put(Arrival("progress", json.dumps(record), time.time() * 1000))
        most = max(most, len(collector._queue))
        ahead = number / RATE - (time.monotonic() - begin)
        if ahead > 0.01:
            pause.wait(ahead)
    sent = time.monotonic() - begin
    collector.drain(60)
    kept = sum(history.seen for history in collector.histories())
    collector.close()
    return {
        "benchmark": "collector",
        "events_a_second": round(total / sent),
        "queries": len(collector.histories()),
        "sent": total,
        "lost": total - kept,
        "missed": collector.missed,
        "most_queued": most,
        "queue": LIMIT,
        "cpu_ms_an_event": round(1000 * (time.process_time() - cpu) / total, 3),
    }


if __name__ == "__main__":
    print(json.dumps(measure(*(int(word) for word in sys.argv[1:2]))))
