"""``make demo``: JupyterLab on the quickstart; with ``--headless`` a browser without a screen runs it.

The headless run leaves ``report.html``, ``dashboard.png`` and ``dashboard-dark.png`` in ``build/demo``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

NOTEBOOK = "quickstart.ipynb"
BATCHES = 12  # enough for the charts to show a course: about 25 s at the notebook's trigger of 2 s
SLOW = 240  # seconds that a slow machine may take for a step


def with_a_screen() -> None:
    """Replace this process with JupyterLab on the quickstart."""
    os.chdir(ROOT / "examples")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    root = ["--allow-root"] if os.geteuid() == 0 else []
    print(f"JupyterLab opens {NOTEBOOK}: run its cells (Run > Run All Cells) and watch the dashboard.", flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *root, NOTEBOOK])  # noqa: S606


def headless(output: Path) -> None:
    """Run the quickstart in a real JupyterLab in headless Chromium; leave a report and two pictures."""
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import ARGUMENTS, CHROMIUM, Notebook, Server

    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    home = output / "jupyter"
    home.mkdir()
    server = Server(home)
    for source in (ROOT / "examples").glob("[!.]*.*"):
        shutil.copy(source, server.notebooks)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1360, "height": 1900})
        try:
            _run(Notebook(page, server, server.notebooks / NOTEBOOK, "lab"), output)
        except Exception:
            page.screenshot(path=output / "failed.png")
            print(f"The page as it was then: {output / 'failed.png'}", flush=True)
            raise
        finally:
            browser.close()
            server.stop()
    shutil.rmtree(home)


def _run(notebook: object, output: Path) -> None:
    from tests.browser.lab import ROOTS, Notebook

    assert isinstance(notebook, Notebook)
    page = notebook.page
    cells = page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.type)")
    code = [at for at, kind in enumerate(cells) if kind == "code"]
    print("Running the quickstart: Spark starts, and flights stream in.", flush=True)
    for cell in code[:4]:  # up to the dashboard
        notebook.ran(cell, SLOW)
    notebook.run(code[4])  # it waits, and the dashboard goes on
    notebook.wait(f"Number(d.batchCount) >= {BATCHES}", SLOW)
    dashboard = page.locator(ROOTS).first
    for name, theme, light in (("dashboard", "Light", "true"), ("dashboard-dark", "Dark", "false")):
        notebook.command("apputils:change-theme", {"theme": f"JupyterLab {theme}"})
        page.wait_for_function(f"document.body.dataset.jpThemeLight === '{light}'")
        dashboard.screenshot(path=output / f"{name}.png")
        print(f"Wrote {output / name}.png", flush=True)
    for cell in code[5:]:  # what the stream has counted, the report, the end
        notebook.ran(cell, SLOW)
    shutil.copy(notebook.path.with_name("flights.html"), output / "report.html")
    print(f"Wrote {output / 'report.html'}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headless", action="store_true", help="run without a screen and leave build/demo")
    if parser.parse_args().headless:
        headless(ROOT / "build" / "demo")
    else:
        with_a_screen()
