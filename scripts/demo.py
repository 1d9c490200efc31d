"""``make demo``: JupyterLab on the quickstart; with ``--headless`` a browser without a screen runs it.

The headless run leaves ``report.html``, ``dashboard.png`` and ``dashboard-dark.png`` in ``build/demo``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.lab import BROWSER, BROWSER_ARGUMENTS, TOKEN, jupyter  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Page

NOTEBOOK = "quickstart.ipynb"
BATCHES = 12  # enough for the charts to show a course: about 25 s at the notebook's trigger of 2 s


def with_a_screen() -> None:
    """Replace this process with JupyterLab on the quickstart."""
    os.chdir(ROOT / "examples")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    root = ["--allow-root"] if os.geteuid() == 0 else []
    print(f"JupyterLab opens {NOTEBOOK}: run its cells (Run > Run All Cells) and watch the dashboard.", flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *root, NOTEBOOK])  # noqa: S606


def headless(output: Path) -> None:
    """Run the quickstart in a real JupyterLab in headless Chromium; leave a report and two pictures."""
    from playwright.sync_api import sync_playwright

    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(ROOT / "examples", output / "notebooks", ignore=shutil.ignore_patterns(".*", "__pycache__"))
    home = output / "home"
    home.mkdir()
    with jupyter(output / "notebooks", home, output / "jupyter.log") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=BROWSER_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1360, "height": 1500})
        page.goto(f"{address}/lab/tree/{NOTEBOOK}?token={TOKEN}")
        _run_notebook(page, output)
        browser.close()
    shutil.rmtree(home)


def _run_notebook(page: Page, output: Path) -> None:
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)
    last = page.locator(".jp-Cell").count() - 1
    page.wait_for_function("document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'")
    print("Running the quickstart: Spark starts, flights stream in.", flush=True)
    for _ in range(last):  # all but the cell that ends the stream
        _execute(page, "notebook:run-cell-and-select-next", wait=False)
    dashboard = page.locator("[data-batch-count]").first
    page.wait_for_function(
        f"Number(document.querySelector('[data-batch-count]')?.dataset.batchCount) >= {BATCHES}", timeout=180_000
    )
    for name, theme in (("dashboard", "JupyterLab Light"), ("dashboard-dark", "JupyterLab Dark")):
        _execute(page, "apputils:change-theme", theme=theme)
        page.wait_for_selector(f"body[data-jp-theme-name='{theme}']")
        dashboard.scroll_into_view_if_needed()
        dashboard.screenshot(path=output / f"{name}.png")
        print(f"Wrote {output / name}.png", flush=True)
    report = output / "notebooks" / "flights.html"
    page.wait_for_function("document.body.innerText.includes('flights.html')", timeout=120_000)
    shutil.copy(report, output / "report.html")
    print(f"Wrote {output / 'report.html'}", flush=True)
    _execute(page, "notebook:run-cell")


def _execute(page: Page, command: str, *, wait: bool = True, **arguments: str) -> None:
    script = "([command, arguments]) => window.jupyterapp.commands.execute(command, arguments)"
    if not wait:
        script = f"async (given) => {{ void ({script})(given); }}"
    page.evaluate(script, [command, arguments])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headless", action="store_true", help="run without a screen and leave build/demo")
    if parser.parse_args().headless:
        headless(ROOT / "build" / "demo")
    else:
        with_a_screen()
