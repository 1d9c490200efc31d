"""The dashboard in a real JupyterLab: live, exact and calm. A watch without Spark makes the batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import PROLOGUE
from tests.helpers import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browser.conftest import Notebook

SHOW = f"{PROLOGUE}\nfrom tests.browser.fakes import FakeWatch\nwatch = FakeWatch()\nwatch.dashboard()"
SLEEP = "import time\ntime.sleep(8)\nprint('slept')"


@pytest.fixture(scope="module")
def live(notebook: Callable[..., Notebook]) -> Notebook:
    """A notebook with a dashboard whose query has a batch every 0.25 s."""
    made = notebook(SHOW, SLEEP, "watch.pause()", "watch.views")
    made.run(0)
    return made


def test_first_picture(live: Notebook) -> None:
    """Lines are there at once and charts are painted within 10 s of the cell, without an answer from the kernel."""
    live.wait("d.charts > 0 && d.painted > 0", 10)
    assert live.page.locator(".sw-line").count() == 1
    assert live.page.locator(".sw-line").inner_text().startswith("Keeping up")
    assert live.errors == []
