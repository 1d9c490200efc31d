"""Cost of a diagnosis after each batch, at 200 and at 10,000 batches of history.

Each round appends a batch with its tasks, as a live query does, and diagnoses. The median counts: what the machine does
beside it shows in the slowest rounds.

    python tests/benchmarks/bench_diagnosis.py [rounds]
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jupyter_streamwatch import diagnose, parse
from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.facts import Facts
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
        rows=lambda i: 300 + 53 * i % 200,
        backlog=lambda i: 7 * i % 50,
        state=[operator(customMetrics={f"metric{n}": n for n in range(30)})],
        event=event_time,
        output=1,
    )
    return [parse(record) for record in made]


def cost(before, rounds, ms):
    """Return the median ms of a diagnosis after each of ``rounds`` batches that follow ``before`` batches."""
    made = batches(before + rounds, ms)
    history = history_of(made[:before])
    history.set_facts(Facts(watermarks=(("ts", 60_000.0),), rateLimit=(("maxOffsetsPerTrigger", "500"),)))
    times = []
    for progress in made[before:]:
        history.append(progress)
        history.set_tasks("run-1", progress.batchId, {f"tasks.{name}": value for name, value in TASKS.items()})
        begin = time.perf_counter()
        diagnose(history, 2)
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def measure(rounds=200):
    """Return medians in ms and the ratio of a long to a short history, as a dict."""
    short, long, late = cost(200, rounds, 900), cost(10_000, rounds, 900), cost(10_000, rounds, 2300)
    return {
        "diagnose at 200 batches (ms)": short,
        "diagnose at 10,000 batches (ms)": long,
        "diagnose a late query at 10,000 batches (ms)": late,
        "10,000 against 200 batches (ratio)": long / short,
    }


if __name__ == "__main__":
    for name, value in measure(*(int(argument) for argument in sys.argv[1:2])).items():
        print(f"{name:<48} {value:8.3f}")
