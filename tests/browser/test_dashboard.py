"""The dashboard in a real JupyterLab: live, exact and calm. A watch without Spark makes the batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import PROLOGUE
from tests.browser.lab import ROOTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browser.lab import Notebook

IMPORT = f"{PROLOGUE}\nfrom tests.browser.fakes import FakeWatch"
SHOW = f"{IMPORT}\nwatch = FakeWatch()\nwatch.dashboard()"
LOAD = f"{IMPORT}\nfrom jupyter_streamwatch import charts\ncharts.build(FakeWatch(pace=0).histories()[0]);"
BUSY = "import pathlib, time\nwhile not pathlib.Path('enough').exists():\n    time.sleep(0.1)"
EXECUTING = "cell => jupyterapp.shell.currentWidget.content.widgets[cell].model.executionState === 'running'"


@pytest.fixture(scope="module")
def live(notebook: Callable[..., Notebook]) -> Notebook:
    """A notebook with a dashboard whose query has a batch every 0.25 s."""
    made = notebook(SHOW, BUSY, "watch.pause()", "watch.views", "watch.stop();", LOAD)
    made.ran(5)
    made.run(0)
    return made


def test_first_picture(live: Notebook) -> None:
    """Lines and charts are painted within 10 s of the cell, without an answer from the kernel."""
    live.wait("d.charts > 0 && d.painted > 0", 10)
    assert live.page.locator(".sw-line").count() == 1
    assert live.page.locator(".sw-line .sw-state").inner_text() == "Keeping up"
    assert live.errors == []


def test_it_grows_while_another_cell_sleeps(live: Notebook) -> None:
    """New batches are painted while the kernel is busy with a cell, for as long as it is."""
    live.run(1)
    live.page.wait_for_function(EXECUTING, arg=1)
    before = live.data()
    live.wait(f"d.lastBatch > {int(before['lastBatch']) + 8} && d.painted > {int(before['painted']) + 2}")
    assert live.page.evaluate(EXECUTING, 1)
    live.path.with_name("enough").touch()


def test_no_batch_is_lost_or_doubled(live: Notebook) -> None:
    """The page has every batch from the first to the last once."""
    data = live.data()
    assert data["batches"] == f"0-{data['lastBatch']}"
    assert int(data["batchCount"]) == int(data["lastBatch"]) + 1


def test_a_second_view_is_equal(live: Notebook) -> None:
    """A new view of the same output shows the same batches, at once and from then on."""
    live.page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
    live.command("notebook:create-output-view")
    live.wait("d.charts > 0 && d.painted > 2", view=1)
    live.page.wait_for_function(
        "roots => { const [a, b] = document.querySelectorAll(roots);"
        " return a.dataset.batches === b.dataset.batches && a.dataset.n === b.dataset.n; }",
        arg=ROOTS,
    )
    live.page.evaluate("() => [...jupyterapp.shell.widgets('main')].at(-1).close()")
    live.page.wait_for_function("roots => document.querySelectorAll(roots).length === 1", arg=ROOTS)


def test_keys_stay_in_the_dashboard(live: Notebook) -> None:
    """Arrow keys move the cursor batch by batch, and no key acts on the notebook's cells."""
    content = "jupyterapp.shell.currentWidget.content"
    cells = f"() => [{content}.widgets.length, {content}.activeCellIndex]"
    live.page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
    live.page.locator(f"{ROOTS} .sw-chart-bar").click()
    before = live.page.evaluate(cells)
    live.page.keyboard.press("ArrowLeft")
    live.wait("d.cursor !== ''")
    first = int(live.data()["cursor"])
    live.page.keyboard.press("ArrowLeft")
    live.wait(f"+d.cursor === {first - 1}")
    for key in ("ArrowDown", "x", "d", "d", "a", "ArrowUp"):
        live.page.keyboard.press(key)
    assert live.page.evaluate(cells) == before
    assert live.page.locator(".sw-cursor:not([hidden])").count() == 3
    live.page.keyboard.press("Escape")
    live.wait("d.cursor === ''")


def test_the_cursor_waits_and_live_goes_on(live: Notebook) -> None:
    """While a batch is looked at the charts do not move; Live shows what came meanwhile."""
    live.page.locator(f"{ROOTS} .sw-chart-bar").click()
    live.page.keyboard.press("Home")
    live.wait("d.cursor === '0'")
    painted = live.data()["painted"]
    last = int(live.data()["lastBatch"])
    live.wait(f"d.lastBatch > {last + 4}")
    assert live.data()["painted"] == painted
    live.page.get_by_role("button", name="Live").click()
    live.wait(f"d.cursor === '' && d.painted > {painted}")


def test_the_pointer_shows_the_same_batch_in_every_chart(live: Notebook) -> None:
    """Pointing at one chart draws the cursor in all, and names the batch once."""
    box = live.page.locator(".sw-place").first.bounding_box()
    assert box is not None
    live.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    live.wait("d.cursor !== ''")
    assert live.page.locator(".sw-cursor:not([hidden])").count() == 3
    assert live.page.locator(".sw-bar-batch").inner_text().startswith(f"Batch {live.data()['cursor']} ·")
    live.page.mouse.move(5, 5)
    live.wait("d.cursor === ''")


def test_dark_theme(live: Notebook) -> None:
    """The dashboard follows JupyterLab's theme at once."""
    assert live.data()["theme"] == "light"
    surface = "roots => getComputedStyle(document.querySelector(roots)).backgroundColor"
    light = live.page.evaluate(surface, ROOTS)
    live.command("apputils:change-theme", {"theme": "JupyterLab Dark"})
    live.wait("d.theme === 'dark'")
    assert live.page.evaluate(surface, ROOTS) != light
    live.command("apputils:change-theme", {"theme": "JupyterLab Light"})
    live.wait("d.theme === 'light'")


def test_a_hidden_view_is_not_fed(live: Notebook) -> None:
    """When the notebook's tab is behind another one nothing is sent; what was missed is there on return."""
    live.command("launcher:create")
    live.page.wait_for_selector(".jp-Launcher")
    live.page.wait_for_function("roots => !document.querySelector(roots).offsetParent", arg=ROOTS)
    live.page.wait_for_function(
        """async roots => {
            const root = document.querySelector(roots), before = root.dataset.n;
            await new Promise(done => setTimeout(done, 1500));
            return root.dataset.n === before;
        }""",
        arg=ROOTS,
    )
    before = int(live.data()["lastBatch"])
    live.page.evaluate("() => [...jupyterapp.shell.widgets('main')].at(-1).close()")
    live.wait(f"d.lastBatch > {before + 4}")
    data = live.data()
    assert data["batches"] == f"0-{data['lastBatch']}"


def test_a_reload_keeps_every_batch_once(live: Notebook) -> None:
    """After a reload of the page the same batches are there, none lost, none twice, and it goes on."""
    live.save()
    before = int(live.data()["lastBatch"])
    live.open()
    live.wait(f"d.charts > 0 && d.painted > 0 && d.lastBatch >= {before}")
    live.wait(f"d.lastBatch > {before + 8}")
    data = live.data()
    assert data["batches"] == f"0-{data['lastBatch']}"
    live.ran(2)


@pytest.mark.parametrize("width", [600, 1600])
def test_nothing_overflows(live: Notebook, width: int) -> None:
    """In a narrow and a wide window nothing is wider than its place."""
    live.page.set_viewport_size({"width": width, "height": 1000})
    live.page.wait_for_function(
        """roots => {
            const root = document.querySelector(roots), box = root.getBoundingClientRect();
            return box.width > 0 && [...root.querySelectorAll('*')].every(one => {
                const at = one.getBoundingClientRect();
                return !at.width || getComputedStyle(one).position === 'absolute' || at.right <= box.right + 1;
            });
        }""",
        arg=ROOTS,
    )


def test_stopping_after_a_reload_keeps_the_picture(live: Notebook) -> None:
    """An output that was loaded anew cannot be swapped: its last picture stays, greyed, and says why."""
    live.open()
    live.wait("d.charts > 0 && d.painted > 0")
    live.ran(4)
    live.wait("d.connection !== 'live'")
    assert live.page.locator(f"{ROOTS}.sw-stale").count() == 1
    assert "Last update" in live.page.locator(".sw-status").inner_text()
    assert live.errors == []


def test_stop_leaves_a_static_picture(notebook: Callable[..., Notebook]) -> None:
    """After stop, a restart of the kernel and a reload, text and picture are there; the file is small."""
    made = notebook(SHOW, "watch.stop();")
    made.run(0)
    made.wait("d.charts > 0 && d.painted > 0")
    made.ran(1)
    made.page.wait_for_function("roots => document.querySelectorAll(roots).length === 0", arg=ROOTS)
    content = made.save()
    assert made.path.stat().st_size < 150_000
    kept = [output["data"] for output in content["cells"][0]["outputs"]]
    assert [sorted(data) for data in kept[:2]] == [["text/html", "text/plain"], ["image/png", "text/plain"]]
    assert kept[2:] == [{"text/html": [], "text/plain": []}]
    made.restart()
    made.open()
    made.page.wait_for_selector(".jp-OutputArea-output img")
    assert "clicks" in made.text(0)
    assert made.errors == []


OFTEN = f"{IMPORT}\nfrom jupyter_streamwatch.dashboard import stills\nstills.EVERY = stills.SHARE = 1"
STILLS = """() => ['.sw-still td', '.jp-RenderedImage img'].map(
    name => [...document.querySelectorAll(name)].filter(one => one.getClientRects().length).length)"""
# Counts how often something of a still took up room.
WATCHFUL = """() => {
    globalThis.seen = 0;
    const sizes = new ResizeObserver(entries => entries.forEach(({target, contentRect}) => {
        seen += Boolean(contentRect.height && target.querySelector('.sw-still td, .jp-RenderedImage'));
    }));
    const watch = () => document.querySelectorAll('.jp-OutputArea-child').forEach(one => sizes.observe(one));
    new MutationObserver(watch).observe(document.querySelector('.jp-Notebook'), {childList: true, subtree: true});
    watch();
}"""


def test_without_a_stop_text_and_picture_are_kept(notebook: Callable[..., Notebook]) -> None:
    """Saved while live, the kernel restarted, the page reloaded: text and picture are there, and no complaint.

    While the live views were there, nothing of their stills was seen; that holds for each of two dashboards.
    """
    made = notebook(SHOW, "watch.dashboard()", OFTEN, height=2400)  # both are looked at
    made.ran(2)
    made.run(0)
    made.ran(1)
    made.page.evaluate(WATCHFUL)
    made.wait("d.charts > 0 && d.painted > 0")
    made.wait("d.charts > 0 && d.painted > 0", view=1)
    made.page.wait_for_function(
        "() => [...document.querySelectorAll('.sw-still')].filter(one => one.querySelector('td')).length === 2"
        " && document.querySelectorAll('.jp-RenderedImage img').length === 2"
    )
    first = made.page.locator(".sw-still").first.text_content()
    made.page.wait_for_function("first => document.querySelector('.sw-still').textContent !== first", arg=first)
    assert made.page.evaluate("() => seen") == 0
    made.save()
    assert made.path.stat().st_size < 150_000
    made.restart()
    made.wait("d.connection === 'gone'")
    assert made.page.evaluate("() => seen") == 0
    made.open()
    made.page.wait_for_function(f"() => ({STILLS})()[1] === 2")
    assert made.page.evaluate(STILLS)[0] > 10
    for cell in (0, 1):
        assert "clicks" in made.text(cell)
        assert "model not found" not in made.text(cell)
        assert "Loading widget" not in made.text(cell)
    made.path.write_text(made.path.read_text().replace("clicks", "clocks"))  # another hand: nothing here is trusted
    made.open()
    made.page.wait_for_function(f"() => ({STILLS})()[1] === 2")
    assert "clocks" in made.text(0)
    assert "model not found" not in made.text(0)
    assert made.errors == []


def test_a_reload_shows_the_still_only_until_the_live_view_is_there(notebook: Callable[..., Notebook]) -> None:
    """With the kernel alive, the live view comes back after a reload and the stills step back."""
    made = notebook(SHOW)
    made.run(0)
    made.page.wait_for_function("() => document.querySelectorAll('.sw-still td').length")
    made.save()
    made.open()
    made.wait("d.charts > 0 && d.painted > 0")
    assert made.page.evaluate(STILLS) == [0, 0]
    assert made.page.locator(".sw-still td").count() > 0


def test_a_dead_kernel_leaves_the_picture(notebook: Callable[..., Notebook]) -> None:
    """When the kernel restarts without a stop, the picture stays, greyed, with the time of the last update."""
    made = notebook(SHOW)
    made.run(0)
    made.wait("d.charts > 0 && d.painted > 0")
    made.restart()
    made.wait("d.connection === 'gone'")
    assert "Last update" in made.page.locator(".sw-status").inner_text()
    assert made.page.locator(f"{ROOTS}.sw-stale").count() == 1
    assert int(made.data()["batchCount"]) >= 20


def test_notebook_7(notebook: Callable[..., Notebook]) -> None:
    """The same dashboard works in Notebook 7."""
    made = notebook(SHOW, kind="notebook")
    made.run(0)
    made.wait("d.charts > 0 && d.painted > 0")
    last = int(made.data()["lastBatch"])
    made.wait(f"d.lastBatch > {last + 4}")
    assert made.errors == []


def test_a_theme_can_be_asked_for(notebook: Callable[..., Notebook]) -> None:
    """A theme that is asked for is taken at once, whatever the theme of JupyterLab."""
    made = notebook(f"{IMPORT}\nboard = FakeWatch(pace=0).dashboard()\nboard", "board.theme = 'dark'")
    made.run(0)
    made.wait("d.painted > 0 && d.theme === 'light'")
    made.ran(1)
    made.wait("d.theme === 'dark'")
    surface = made.page.locator(ROOTS).evaluate("root => getComputedStyle(root).backgroundColor")
    assert surface == "rgb(19, 21, 24)"
