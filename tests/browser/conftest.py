"""A real JupyterLab and a real Chromium, started once; notebooks are driven through the page."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.lab import ARGUMENTS, CHROMIUM, Notebook, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

playwright = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).resolve().parents[2]
PROLOGUE = f"import sys; sys.path.insert(0, {str(ROOT)!r})"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, once for all tests."""
    if not (ROOT / "jupyter_streamwatch" / "static" / "widget.js").exists():
        pytest.skip("the front end is not built: cd labextension && npm ci && npm run build")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Jupyter server for all tests."""
    running = Server(tmp_path_factory.mktemp("jupyter"))
    yield running
    running.stop()


Open = "Callable[..., Notebook]"


@pytest.fixture(scope="module")
def notebook(browser: Any, server: Server) -> Iterator[Callable[..., Notebook]]:
    """Return a function that opens a new notebook with these cells; their kernels end with the module."""
    contexts: list[Any] = []
    opened: list[Notebook] = []

    def make(*cells: str, kind: str = "lab", width: int = 1400, height: int = 1000) -> Notebook:
        path = server.notebooks / f"n{uuid.uuid4().hex[:8]}.ipynb"
        path.write_text(json.dumps(_content(cells)))
        context = browser.new_context(viewport={"width": width, "height": height}, timezone_id="Europe/Berlin")
        contexts.append(context)
        made = Notebook(context.new_page(), server, path, kind)
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.page.evaluate("() => globalThis.jupyterapp?.shell.currentWidget?.context?.sessionContext?.shutdown()")
    for context in contexts:
        context.close()


def _content(cells: tuple[str, ...]) -> dict[str, Any]:
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return {
        "cells": [{**code, "id": f"cell-{at}", "source": source} for at, source in enumerate(cells)],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
