"""Cost of a batch in a long history against a short one, and the memory of a very long one.

Run: ``python -m tests.benchmarks.bench_history``.
"""

from __future__ import annotations

import resource
import time
from dataclasses import replace

from jupyter_streamwatch import testing
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.progress import epoch_ms, parse
from jupyter_streamwatch.model.values import iso

START = epoch_ms(testing.START) or 0.0
RECORD = testing.run(2, stateful=True, backlog=7)[1]


def batch(number: int):
    """Batch ``number`` of one endless run, every two seconds."""
    return replace(RECORD, batchId=number, timestamp=iso(START + number * 2000.0))


def filled(batches: int) -> History:
    """A history of so many batches."""
    history = History(testing.ID)
    for number in range(batches):
        history.append(batch(number))
    return history


def append_ratio(long: int = 100_000, blocks: int = 20_000) -> float:
    """Median time of an append after ``long`` batches, by that after 100; blocks of 100 in turn, in one process."""
    grown, times = filled(long), {True: [], False: []}
    at = long
    for _ in range(max(1, blocks // 100)):
        for is_long in (True, False):
            history, first = (grown, at) if is_long else (filled(100), 100)
            records = [batch(first + i) for i in range(100)]
            start = time.perf_counter()
            for record in records:
                history.append(record)
            times[is_long].append(time.perf_counter() - start)
        at += 100
    # Every fifth block of the long history thins a chunk: the mean of the quicker 90 % holds it, and no hiccup.
    return _mean(times[True]) / _mean(times[False])


def memory(batches: int = 1_000_000, marks: int = 4) -> list[tuple[int, float]]:
    """MB of the process at most so far (as the system counts them) after so many batches, at a few marks on the way."""
    history, found = History(testing.ID), []
    for number in range(batches):
        history.append(batch(number))
        if (number + 1) % (batches // marks) == 0:
            found.append((number + 1, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
    assert history.seen == batches
    return found


def parse_ms() -> float:
    """Median ms to parse a usual record from its text."""
    text, times = RECORD.json, []
    for _ in range(500):
        start = time.perf_counter()
        parse(text)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1000


def snapshot_ms(batches: int = 20_000) -> float:
    """Median ms for a snapshot after one more batch, with one column read."""
    history, times = filled(batches), []
    for number in range(batches, batches + 200):
        history.append(batch(number))
        start = time.perf_counter()
        history.snapshot().batches.numbers("batchDuration")
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1000


def _mean(times: list[float]) -> float:
    quicker = sorted(times)[: max(1, len(times) * 9 // 10)]
    return sum(quicker) / len(quicker)


def main() -> None:
    """Print what was measured."""
    print(f"parse a usual record ({len(RECORD.json)} bytes): {parse_ms():.3f} ms (at most 0.3)")
    print(f"cost of a batch at 100,000 vs 100 batches of history: {append_ratio():.2f} (at most 1.2)")
    print(f"snapshot and one column at 20,000 batches: {snapshot_ms():.3f} ms")
    marks = memory()
    print("memory: " + ", ".join(f"{size:.1f} MB after {batches:,} batches" for batches, size in marks))
    print(f"memory at the end vs at a quarter: {marks[-1][1] / marks[0][1]:.2f} (flat after the cap)")


if __name__ == "__main__":
    main()
