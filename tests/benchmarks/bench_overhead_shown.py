"""What a query pays for a dashboard that is open in a browser on the same machine, in pairs, as a ratio.

As ``bench_overhead``, inside a real JupyterLab: while it is watched, its dashboard is on a page that is looked at. The
browser draws on the cores that Spark works on, so this is reported apart. About three minutes.

    python tests/benchmarks/bench_overhead_shown.py [pairs] [batches]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.browser.lab import ARGUMENTS, CHROMIUM, ROOTS, Notebook, Server
from tests.conftest import ROOT

CELL = """\
import sys
sys.path.insert(0, {root!r})
from IPython.display import clear_output, display
from tests.benchmarks import bench_overhead

def show(watch):
    clear_output()
    display(watch.dashboard())

print("RESULT", bench_overhead.json.dumps(bench_overhead.measure({pairs}, {batches}, show)))
"""
SLOW = 1_200  # seconds that the whole may take


def measure(pairs=6, batches=18):
    """Return what :func:`bench_overhead.measure` returns."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        server = Server(Path(home))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            source = CELL.format(root=str(ROOT), pairs=pairs, batches=batches)
            path = server.notebooks / "bench.ipynb"
            path.write_text(json.dumps(notebook(source)))
            page = Notebook(browser.new_page(viewport={"width": 1360, "height": 1200}), server, path, "lab")
            page.run(0)
            page.page.wait_for_selector(ROOTS, timeout=SLOW * 1000)
            page.wait("Number(d.batchCount) >= 3", SLOW)
            page.page.wait_for_function(
                "() => jupyterapp.shell.currentWidget.content.widgets[0].outputArea.node.innerText.includes('RESULT')",
                timeout=SLOW * 1000,
            )
            text = page.text(0)
        finally:
            browser.close()
            server.stop()
    return {**json.loads(text.split("RESULT", 1)[1].strip().splitlines()[0]), "benchmark": "overhead-shown"}


def notebook(source):
    """A notebook of one cell."""
    cell = {"cell_type": "code", "id": "bench", "metadata": {}, "outputs": [], "source": source}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": [{**cell, "execution_count": None}],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


if __name__ == "__main__":
    print(json.dumps(measure(*(int(word) for word in sys.argv[1:3]))))
