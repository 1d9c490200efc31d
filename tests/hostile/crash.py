"""A process that records is killed at random moments, again and again, and goes on with the same file.

``python -m tests.hostile.crash FILE TIMES SEED`` prints, as JSON, the batches of which the writer knew that they were
written.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from typing import NoReturn

from jupyter_streamwatch import testing
from jupyter_streamwatch.recordings.recording import Recording
from jupyter_streamwatch.recordings.writer import Recorder

MOST = 40  # events of a process that is not killed before


def record(path: str, first: int, padding: int, told: int) -> NoReturn:
    """Write events until the end, or until killed; each is told of when it is written."""
    recorder = Recorder(path, lambda sentence: os.write(2, f"{sentence}\n".encode()))
    recorder.begin(Recording([]))
    for batch in range(first, first + MOST):
        sink = {"description": "x" * padding}
        progress = testing.progress(batch, start=1_767_225_600_000.0 + batch * 1000, sink=sink)
        recorder.write({"event": "progress", "at": 1.0, "id": progress.id, "progress": progress})
        os.write(told, batch.to_bytes(4, "big"))
    os._exit(0)


def crash(path: str, times: int, seed: int) -> list[int]:
    """Kill so many writers, each after a random number of events and a random moment; the batches they told of."""
    chance = random.Random(seed)
    written: list[int] = []
    for attempt in range(times):
        reading, telling = os.pipe()
        padding = chance.choice([0, 1_000, 100_000, 3_000_000])
        child = os.fork()
        if not child:
            os.close(reading)
            record(path, attempt * MOST, padding, telling)
        os.close(telling)
        heard = b""
        for _ in range(chance.randrange(4)):
            heard += os.read(reading, 4)
        for _ in range(chance.randrange(20_000)):  # a moment within a write
            pass
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while more := os.read(reading, 4096):
            heard += more
        os.close(reading)
        written += [int.from_bytes(heard[at : at + 4], "big") for at in range(0, len(heard), 4)]
    return written


if __name__ == "__main__":
    print(json.dumps(crash(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
