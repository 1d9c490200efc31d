"""Opening a checkpoint of 10,000 batches and 200 partitions against listing its files, as a ratio.

Run: ``python -m tests.benchmarks.bench_checkpoint``.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median

from jupyter_streamwatch.checkpoints import checkpoint

CONF = {f"spark.sql.streaming.setting{number}": "true" for number in range(16)} | {
    "spark.sql.shuffle.partitions": "200"
}


def make(folder: Path, batches: int = 10_000, partitions: int = 200, versions: int = 100) -> None:
    """Write a checkpoint as Spark leaves it on a local disk, checksums included."""
    for part in ("offsets", "commits", "sources/0"):
        (folder / part).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":"7a9f2c1e-0000-4000-8000-000000000001"}')
    for batch in range(batches):
        metadata = {"batchWatermarkMs": 1_000 * batch, "batchTimestampMs": 1_700_000_000_000 + batch, "conf": CONF}
        entry = {"logOffset": batch}
        _write(folder / f"offsets/{batch}", f"v1\n{json.dumps(metadata)}\n{json.dumps(entry)}")
        _write(folder / f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')
        line = {"path": f"file:///in/{batch}.json", "timestamp": 1, "batchId": batch}
        _write(folder / f"sources/0/{batch}", f"v1\n{json.dumps(line)}")
    for partition in range(partitions):
        place = folder / f"state/0/{partition}"
        place.mkdir(parents=True)
        for version in range(batches - versions + 1, batches + 1):
            _write(place / f"{version}.delta", "x")
        _write(place / f"{batches - 5}.snapshot", "x")


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    (path.parent / f".{path.name}.crc").write_text("crc")


def listed(folder: Path) -> int:
    """Count the files, as cheaply as Python lists them."""
    return sum(len(files) for _, _, files in os.walk(folder))


def timed(what: str, ask, folder: Path, rounds: int = 9) -> float:
    """Median seconds of a few rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        ask(folder)
        times.append(time.perf_counter() - start)
    print(f"{what:<28}{median(times) * 1000:8.0f} ms")
    return median(times)


def main() -> None:
    """Print the times, and each by that of listing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        print(f"{listed(folder):,} files")
        base = timed("list (os.walk)", listed, folder)
        for what, ask in {
            "open": checkpoint,
            "open, ids and last entries": _last,
            "restart(), with the state": lambda at: checkpoint(at).restart(),
            "text, with sizes": lambda at: str(checkpoint(at)),
            "all watermarks": lambda at: checkpoint(at).watermarks,
        }.items():
            print(f"  {timed(what, ask, folder, 5) / base:.2f} x listing")


def _last(folder: Path) -> None:
    found = checkpoint(folder)
    assert found.id
    assert found.lastOffset == found.lastCommit
    assert found.conf


if __name__ == "__main__":
    main()
