"""Time to read text of many kinds, ordinary and hostile: twice the text takes at most twice as long.

Then a driver log of 50 MB, and an event log against ``json.loads`` over the lines of it that are about streaming.

    python tests/benchmarks/bench_reading.py [kilobytes of each kind]
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import jupyter_streamwatch as sw
from tests.benchmarks import texts

TOLERANCE = 2.6
DRIVER_LOG = 50 << 20


def seconds(text: str, *, tries: int = 3) -> float:
    """Best of a few: the process's own time to read the text."""
    best = float("inf")
    for _ in range(tries):
        start = time.process_time()
        sw.load(text + "\n")
        best = min(best, time.process_time() - start)
        if best > 3.0:
            break
    return best


def growth(kind: str, size: int) -> tuple[float, float]:
    """Seconds for the first ``size`` characters of a kind, and for twice as many."""
    text = texts.of(kind, 2 * size)
    return seconds(text[:size]), seconds(text)


def of_file(content: str) -> tuple[float, int]:
    """Seconds to read a file of that content, and the number of records in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_text(content)
        start = time.process_time()
        recording = sw.load(path)
        return time.process_time() - start, len(recording.progress)


def event_log_ratio(batches: int = 3_000) -> tuple[float, float, int]:
    """Seconds to load an event log, and those of ``json.loads`` over its lines about streaming; records read."""
    content = texts.event_log(batches)
    ours = [line for line in content.splitlines() if "StreamingQueryListener$Query" in line]
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for line in ours:
            json.loads(line)
        best = min(best, time.process_time() - start)
    took, records = min(of_file(content) for _ in range(3))
    return took, best, records


def main() -> None:
    """Print what was measured."""
    size = (int(sys.argv[1]) if len(sys.argv) > 1 else 200) * 1000
    print(f"{'kind':44} {size // 1000:>6} kB {2 * size // 1000:>6} kB  ratio (at most {TOLERANCE})")
    for kind in texts.KINDS:
        once, twice = growth(kind, size)
        print(f"{kind:44} {once:8.3f}s {twice:8.3f}s {twice / once:6.2f}{'  !' if twice > TOLERANCE * once else ''}")
    took, records = of_file(texts.driver_log(DRIVER_LOG))
    print(f"driver log of 50 MB: {took:.2f} s, {records} records (at most 3 s)")
    took, parsing, records = event_log_ratio()
    print(f"event log of {records} records: {took:.3f} s, {took / parsing:.1f} times json.loads (at most 3)")
    print(f"memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
