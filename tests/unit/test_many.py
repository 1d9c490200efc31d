"""Sixty queries at once: reports and messages grow with their number, and not faster."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest

from jupyter_streamwatch import charts, testing
from jupyter_streamwatch.dashboard.messages import Delivery
from jupyter_streamwatch.report import html, write


def histories(number: int, batches: int = 100) -> list:
    return [testing.history(batches=batches, id=f"{at:08x}-0000", name=f"query {at}") for at in range(number)]


def delivery(queries: list) -> Delivery:
    session = SimpleNamespace(state="live", text="")
    return Delivery(SimpleNamespace(session=session, histories=lambda: queries))


def size(message) -> int:
    return len(json.dumps(message))


def test_a_message_of_sixty_queries_is_sixty_lines_and_one_set_of_charts():
    """What follows holds the lines that changed alone."""
    few, many = (size(delivery(histories(number)).snapshot()) for number in (6, 60))
    alone = size(delivery(histories(1)).snapshot())
    line = (few - alone) / 5
    assert many < alone + 59 * line * 1.1
    queries = histories(60)
    shown = delivery(queries)
    whole = size(shown.snapshot())
    queries[7].append(testing.progress(100, start="2026-01-01T00:05:00Z", id=queries[7].id))
    step = shown.step()
    assert len(step["lines"]) == 1
    assert size(step) < whole / 20


@pytest.mark.parametrize(("suffix", "most"), [(".md", 11.0), (".json", 11.0), (".html", 8.0)])
def test_a_report_of_sixty_queries_is_at_most_ten_times_one_of_six(tmp_path, monkeypatch, suffix, most):
    """Its pictures and rows are bounded, so that a page grows less."""
    monkeypatch.setattr(html, "_static", lambda file: tmp_path / file)
    sizes, times = [], []
    for number in (6, 60):
        queries = histories(number)
        before = time.process_time()
        write(tmp_path / f"r{suffix}", {history.id: history for history in queries})
        times.append(time.process_time() - before)
        sizes.append((tmp_path / f"r{suffix}").stat().st_size)
    assert sizes[1] < most * sizes[0]
    assert times[1] < 25 * times[0] + 0.5  # ten times as many; the rest is what a busy machine adds


def test_a_deluge_of_batches_makes_no_larger_message():
    """Ten thousand batches are as many rows as six hundred."""
    rows = [size(charts.data(testing.history(batches=number))["batches"]) for number in (600, 6_000)]
    assert rows[1] < 1.3 * rows[0]
