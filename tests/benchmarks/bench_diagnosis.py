"""Cost of a diagnosis after each batch, at 200 and at 10,000 batches of history.

Each round appends a batch with its tasks, as a live query does, and diagnoses. The thread's own time counts, its median
and its mean: what the machine does for others is in neither, what a diagnosis costs now and then is in the mean.

    python tests/benchmarks/bench_diagnosis.py [rounds]
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jupyter_streamwatch import diagnose, parse
from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.model.facts import Facts
from tests.unit.diagnosis.made import BEGIN, iso, operator, records

TASKS = {"busyMs": 800, "queueMs": 2, "runTimeMs": 1500, "runTimeMs.max": 300, "runTimeMs.median": 200, "count": 8}


def event_time(i):
    start = BEGIN + 2000 * i
    return {"watermark": iso(start - 60_000), "max": iso(start), "min": iso(start - 9000), "avg": iso(start - 4000)}


def batches(count, ms):
    """Return parsed batches of a stateful query from Kafka, with sizes that vary."""
    made = records(
        count,
        ms=lambda i: ms + 37 * i % 300,
        rows=lambda i: 300 + 53 * i % 400,
        backlog=lambda i: 7 * i % 50,
        state=[operator(customMetrics={f"metric{n}": n for n in range(30)})],
        event=event_time,
        output=1,
    )
    return [parse(record) for record in made]


def live(before, ms):
    """Return a history of ``before`` batches with the facts of a probe."""
    history = history_of(batches(before, ms))
    history.set_facts(Facts(watermarks=(("ts", 60_000.0),), rateLimit=(("maxOffsetsPerTrigger", "500"),)))
    return history


def cost(history, progress):
    """Return the ms of the diagnosis after one more batch."""
    history.append(progress)
    history.set_tasks("run-1", progress.batchId, {f"tasks.{name}": value for name, value in TASKS.items()})
    begin = time.thread_time()
    diagnose(history, 2)
    return (time.thread_time() - begin) * 1000


def measure(rounds=200):
    """Return medians and means in ms and the ratio of a long to a short history, as a dict.

    The queries take turns, so that the ratio compares rounds of the same moments.
    """
    kinds = {"at 200 batches": (200, 900), "at 10,000 batches": (10_000, 900), "at 10,000, late": (10_000, 2300)}
    histories = {name: live(*kind) for name, kind in kinds.items()}
    rest = {name: batches(before + rounds, ms)[before:] for name, (before, ms) in kinds.items()}
    gc.collect()
    gc.freeze()  # the batches to come are the bench's own: a query has not got them
    times = {name: [] for name in kinds}
    for at in range(rounds):
        for name, history in histories.items():
            times[name].append(cost(history, rest[name][at]))
    gc.unfreeze()
    found = {f"diagnose {name} (ms)": statistics.median(values) for name, values in times.items()}
    found |= {f"diagnose {name}, mean (ms)": statistics.mean(values) for name, values in times.items()}
    short, long = (statistics.median(times[name]) for name in ("at 200 batches", "at 10,000 batches"))
    return found | {"10,000 against 200 batches (ratio)": long / short}


if __name__ == "__main__":
    for name, value in measure(*(int(argument) for argument in sys.argv[1:2])).items():
        print(f"{name:<52} {value:8.3f}")
