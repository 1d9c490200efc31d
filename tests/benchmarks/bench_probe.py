"""Cost of the probe's looks in ms: the running batch, the tasks of one that ended, status and facts of a run.

Medians on a stateful query of 200 partitions, whose batch runs while it is looked at.

    python tests/benchmarks/bench_probe.py [rounds]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jupyter_streamwatch.spark import probe
from tests.helpers import wait_until
from tests.spark.conftest import make_session
from tests.spark.queries import rate, start


def median_ms(rounds, call):
    """Median time of ``call()`` in ms."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - begin))
    return round(statistics.median(times), 2)


def measure(rounds=30):
    """Return medians in ms, as a dict."""
    spark = make_session()
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    query = start(rate(spark).groupBy("value").count(), mode="update")
    run = str(query.runId)
    wait_until(lambda: query.lastProgress, 300, "a batch")
    batch = query.lastProgress["batchId"]
    wait_until(lambda: probe.running(spark, run), 300, "a running batch")
    found = {
        "benchmark": "probe",
        "spark": spark.version,
        "running_ms": median_ms(rounds, lambda: probe.running(spark, run)),
        "tasks_ms": median_ms(rounds, lambda: probe.tasks(spark, run, batch)),
        "status_ms": median_ms(rounds, lambda: probe.status(query)),
        "facts_ms": median_ms(rounds, lambda: probe.facts(spark, query)),
    }
    query.stop()
    spark.stop()
    return found


if __name__ == "__main__":
    print(json.dumps(measure(*(int(word) for word in sys.argv[1:2]))))
