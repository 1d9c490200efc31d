"""Cost of one progress event: our bridge against PySpark's own listener, in one run, as a ratio.

One real progress event is handed again and again to both listeners' Java wrappers, in turn, so that both pay the same
for the machine. ``callback`` is the time that the listener bus waits; ``whole`` adds what our collector's thread spends
on fetching the text.

    python tests/benchmarks/bench_bridge.py [rounds]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from typing import TYPE_CHECKING

from pyspark.sql.streaming import StreamingQueryListener

from jupyter_streamwatch.spark.events.open import open_bridge
from tests.helpers import wait_until
from tests.spark.conftest import make_session
from tests.spark.queries import rate, start

if TYPE_CHECKING:
    from jupyter_streamwatch.spark.events.base import Arrival


class Theirs(StreamingQueryListener):
    """PySpark's listener with nothing in it."""

    def onQueryStarted(self, event):
        pass

    def onQueryProgress(self, event):
        pass

    def onQueryTerminated(self, event):
        pass


def one_event(spark):
    """The Java event of one batch of a real stateful query."""
    bridge, arrivals = open_bridge(spark), []
    bridge.attach(arrivals.append)
    query = start(rate(spark, 1000).groupBy("value").count(), mode="update", trigger={"processingTime": "1 second"})
    event = wait_until(lambda: [a for a in arrivals if a.kind == "progress"][1:2])[0].payload
    query.stop()
    bridge.detach()
    return event


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(rounds=40):
    """Return medians in ms and ratios, as a dict."""
    spark = make_session()
    event = one_event(spark)
    bridge, queue = open_bridge(spark), []
    bridge.attach(queue.append)
    listener = Theirs()
    spark.streams.addListener(listener)
    spark.streams.removeListener(listener)
    ours, theirs = bridge._listener, listener._jlistener
    for _ in range(5):
        ours.onQueryProgress(event)
        theirs.onQueryProgress(event)
        bridge.read(queue[-1])
    callback, fetch, pyspark = [], [], []
    for _ in range(rounds):
        pyspark.append(seconds(lambda: theirs.onQueryProgress(event)))
        for _ in range(5):
            callback.append(seconds(lambda: ours.onQueryProgress(event)))
            arrival: Arrival = queue[-1]
            fetch.append(seconds(lambda arrival=arrival: bridge.read(arrival)))
    bridge.detach()
    version = spark.version
    spark.stop()
    call, read, other = (1000 * statistics.median(times) for times in (callback, fetch, pyspark))
    return {
        "benchmark": "bridge",
        "spark": version,
        "callback_ms": round(call, 3),
        "fetch_ms": round(read, 3),
        "pyspark_ms": round(other, 1),
        "callback_ratio": round(other / call, 1),
        "whole_ratio": round(other / (call + read), 1),
        "wanted_ratio": 50,
    }


if __name__ == "__main__":
    print(json.dumps(measure(*(int(word) for word in sys.argv[1:2]))))
