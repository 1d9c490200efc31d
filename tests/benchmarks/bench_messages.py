"""Messages and bytes a second from a dashboard to its page, at 1, 10 and 100 batches a second.

Run it with ``python -m tests.benchmarks.bench_messages``; about half a minute. A page is allowed at most four
messages a second, however fast batches are, and none while nobody looks.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from jupyter_streamwatch import charts
from jupyter_streamwatch.dashboard.widget import Dashboard
from tests.browser.fakes import FakeWatch

SECONDS = 6.0
ROWS = 20  # batches of the history before the measurement


def measure(pace: float, *, visible: bool = True) -> dict[str, Any]:
    """Send to a page that is looked at (or not) while batches come at ``pace`` a second."""
    watch = FakeWatch(batches=ROWS, pace=0)
    dashboard = Dashboard(watch)  # type: ignore[arg-type]
    messages: list[str] = []
    dashboard.send = lambda content, buffers=None: messages.append(json.dumps(content))  # type: ignore[method-assign]
    dashboard.get_state()
    dashboard._receive({"type": "visible", "view": "page", "visible": visible})
    threading.Event().wait(0.6)
    messages.clear()
    before, busy, began = watch.histories()[0].seen, time.process_time(), time.monotonic()
    pause = threading.Event()
    while (passed := time.monotonic() - began) < SECONDS:
        due = before + int(passed * pace) - watch.histories()[0].seen
        for _ in range(due):
            watch.add()
        pause.wait(min(1 / pace, 0.02))
    passed = time.monotonic() - began
    used = (time.process_time() - busy) / passed
    batches = watch.histories()[0].seen - before
    dashboard.close()
    sizes = [len(text) for text in messages]
    return {
        "batches_per_s": batches / passed,
        "messages_per_s": len(sizes) / passed,
        "kB_per_s": sum(sizes) / passed / 1000,
        "largest_kB": max(sizes, default=0) / 1000,
        "cpu_share": used,
    }


def step_cost() -> float:
    """Return how many times dearer one delta is with 10,000 batches of history than with 100."""
    costs = []
    for batches in (100, 10_000):
        watch = FakeWatch(batches=batches, pace=0)
        dashboard = Dashboard(watch)  # type: ignore[arg-type]
        delivery = dashboard._delivery
        delivery.snapshot()
        taken = []
        for _ in range(15):
            watch.add()
            began = time.perf_counter()
            delivery.step()
            taken.append(time.perf_counter() - began)
        dashboard.close()
        costs.append(sorted(taken)[len(taken) // 2])
    print(f"one delta: {costs[0] * 1000:.1f} ms at 100 batches, {costs[1] * 1000:.1f} ms at 10,000")
    return costs[1] / costs[0]


def main() -> None:
    """Print the table."""
    print("dashboard to page, one view")
    print(f"{'batches/s':>10} {'messages/s':>11} {'kB/s':>8} {'largest kB':>11} {'CPU':>6}")
    for pace in (1, 10, 100):
        row = measure(pace)
        print(
            f"{row['batches_per_s']:>10.1f} {row['messages_per_s']:>11.2f} {row['kB_per_s']:>8.1f}"
            f" {row['largest_kB']:>11.1f} {row['cpu_share']:>6.0%}"
        )
    hidden = measure(100, visible=False)
    print(f"nobody looks, {hidden['batches_per_s']:.0f} batches/s: {hidden['messages_per_s']:.2f} messages/s")
    print(f"at most {charts.MAX_ROWS} rows a picture; ratio of the costs of a delta: {step_cost():.2f}")


if __name__ == "__main__":
    main()
