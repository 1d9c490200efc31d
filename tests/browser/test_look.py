"""How the dashboard looks and answers, on a page without a kernel: every scene, narrow and wide, light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import scenes
from tests.browser.lab import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OVERLAPS = """() => {
    const shown = one => one.getClientRects().length && getComputedStyle(one).visibility !== 'hidden';
    const problems = [];
    for (const line of document.querySelectorAll('.sw-line')) {
        const cells = [...line.children].filter(shown).map(one => [one.className, one.getBoundingClientRect()]);
        cells.forEach(([name, a], at) => cells.slice(at + 1).forEach(([other, b]) => {
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 1 && high > 1) problems.push(`${name} over ${other}`);
        }));
    }
    const root = document.querySelector('.sw-root').getBoundingClientRect();
    for (const one of document.querySelectorAll('.sw-root *'))
        if (shown(one) && getComputedStyle(one).position !== 'absolute' && !one.closest('pre')
            && one.getBoundingClientRect().right > root.right + 1) problems.push(`${one.className} is too wide`);
    if (document.documentElement.scrollWidth > innerWidth) problems.push('the page scrolls sideways');
    return problems;
}"""

CONTRAST = """() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const luminance = color => {
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(part => {
            const share = part / 255;
            return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const surface = luminance(getComputedStyle(document.querySelector('.sw-root')).backgroundColor);
    const ratio = color => {
        const [low, high] = [surface, luminance(color)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const least = (names, property) =>
        Math.min(...[...document.querySelectorAll(names)].map(one => ratio(getComputedStyle(one)[property])));
    return {
        texts: least('.sw-state .sw-word, .sw-head span, .sw-note-text, .sw-bar-zone, .sw-series-label', 'color'),
        marks: least('.sw-mark', 'color'),
    };
}"""


@pytest.fixture(scope="module")
def pictures() -> dict[str, dict[str, Any]]:
    """The snapshot of each scene."""
    made = {name: scenes.snapshot(make()) for name, make in scenes.SCENES.items()}
    made["hints"] = scenes.with_hints(scenes.snapshot([scenes.lagging()]))
    made["stale"] = {**made["one"], "session": {"state": "stopped", "text": "The Spark session has stopped."}}
    return made


@pytest.fixture
def show(browser: Any, pictures: dict[str, Any], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a scene and waits for its first paint."""
    contexts = []

    def opened(scene: str, *, width: int = 1200, dark: bool = False, **more: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, timezone_id="Europe/Berlin", **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        file = tmp_path / "page.html"
        file.write_text(scenes.page(pictures[scene], dark=dark))
        page.goto(file.as_uri())
        painted = ".sw-root:not([data-painted='0'])" if pictures[scene]["charts"] else ".sw-root"
        page.wait_for_selector(painted)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [600, 860, 1600])
@pytest.mark.parametrize("scene", ["several", "hints", "hundred", "empty"])
def test_nothing_overlaps(show: Callable[..., Any], scene: str, width: int) -> None:
    """Long names, right-to-left names, a hundred queries: no cell lies over another, nothing is cut off at the side."""
    page = show(scene, width=width)
    assert page.evaluate(OVERLAPS) == []
    assert page.errors == []


def test_a_shortened_name_has_one_ellipsis(show: Callable[..., Any]) -> None:
    """A name that was cut in its middle is not cut again at its end, in the table and above the charts."""
    page = show("several", width=860)
    page.locator(".sw-name", has_text="orders_enriched").click()
    for name in (page.locator(".sw-name", has_text="orders_enriched"), page.locator(".sw-bar-name")):
        name.filter(has_text="orders_enriched").wait_for()
        assert name.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert name.evaluate("one => getComputedStyle(one).textOverflow") == "clip"
        assert name.inner_text().count("…") == 1


def test_what_is_out_of_date_keeps_its_colours(show: Callable[..., Any]) -> None:
    """Dimmed, but the series of a chart can still be told apart by the colours of its legend."""
    page = show("stale")
    assert "The Spark session has stopped." in page.locator(".sw-status").inner_text()
    style = page.locator(".sw-charts").evaluate("one => [getComputedStyle(one).filter, getComputedStyle(one).opacity]")
    assert style == ["none", "0.6"]


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(show: Callable[..., Any], dark: bool) -> None:
    """Text has at least 4.5:1 against its surface, marks of series at least 3:1, on both themes."""
    ratios = show("several", dark=dark).evaluate(CONTRAST)
    assert ratios["texts"] >= 4.5
    assert ratios["marks"] >= 3


def test_paper_is_light(show: Callable[..., Any]) -> None:
    """Printed from a dark theme, text has contrast on white."""
    page = show("several", dark=True)
    page.emulate_media(media="print")
    assert page.locator(".sw-root").evaluate("root => getComputedStyle(root).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRAST)["texts"] >= 4.5


def test_columns_line_up(show: Callable[..., Any]) -> None:
    """The numbers of all lines stand under each other."""
    page = show("several")
    edges = page.evaluate(
        "() => [...document.querySelectorAll('.sw-line')].filter(e => e.offsetParent)"
        ".map(line => [...line.querySelectorAll('.sw-num')].map(e => Math.round(e.getBoundingClientRect().right)))"
    )
    assert len(edges) == 6
    assert all(line == edges[0] for line in edges)


def test_an_empty_dashboard_says_one_thing(show: Callable[..., Any]) -> None:
    """Nothing runs: one sentence, nothing else."""
    page = show("empty")
    assert page.locator(".sw-root").inner_text().strip() == "No streaming query yet. Start one and it appears here."


def test_text_from_outside_is_text(show: Callable[..., Any]) -> None:
    """A message that looks like HTML is shown, not built."""
    page = show("several")
    assert "<img src=x onerror=alert(1)>" in page.locator(".sw-line").first.inner_text()
    assert page.locator(".sw-root img").count() == 0


def test_lines_are_chosen_by_keys_and_pointer(show: Callable[..., Any]) -> None:
    """Arrow keys and clicks select a line; ended queries are folded until asked for."""
    page = show("several")
    page.locator(".sw-line").first.focus()
    page.keyboard.press("ArrowDown")
    page.locator('.sw-line[aria-selected="true"]', has_text="late_flights").wait_for()
    page.locator(".sw-line", has_text="clicks").last.click()
    page.wait_for_function("() => document.querySelector('.sw-root').dataset.batches === '0-59'")
    assert page.locator(".sw-line:visible").count() == 6
    page.get_by_role("button", name="2 ended queries").click()
    assert page.locator(".sw-line:visible").count() == 8


def test_a_hint_opens_and_its_code_is_copied(show: Callable[..., Any]) -> None:
    """A hint shows its evidence; cause, fix and code are folded; the copy button says what it did."""
    page = show("hints", permissions=["clipboard-read", "clipboard-write"])
    hint = page.locator(".sw-hint").first
    assert "200 partitions" in hint.inner_text()
    assert "Each batch starts" not in hint.inner_text()
    hint.locator(".sw-hint-head").click()
    assert "Each batch starts" in hint.inner_text()
    hint.get_by_role("button", name="Copy").click()
    hint.get_by_text("Copied").wait_for()
    hint.get_by_role("button", name="Show batch 141 on the charts").click()
    page.wait_for_function("() => document.querySelector('.sw-root').dataset.cursor === '141'")


def test_the_chart_that_explains_the_first_hint_comes_first(show: Callable[..., Any]) -> None:
    """It carries the hint's mark, each width of charts has one time axis below it, and no place stays empty."""
    page = show("hints")
    boxes = page.locator(".sw-chart").evaluate_all(
        "all => Object.fromEntries(all.map(one => [one.dataset.chart, one.getBoundingClientRect().toJSON()]))"
    )
    assert min(boxes, key=lambda name: boxes[name]["y"]) == "batch-time"
    assert page.locator('.sw-chart[data-chart="batch-time"] .sw-shape').get_attribute("title").startswith("200 shuffle")
    assert page.locator(".sw-chart .sw-shape:visible").count() == 1
    assert page.locator('[data-axis="true"]').count() == 3, "below two columns and below the whole width"
    full = max(box["width"] for box in boxes.values())
    halves = sum(box["width"] < full - 10 for box in boxes.values())
    assert halves % 2 == 0


@pytest.mark.parametrize("width", [600, 1600])
def test_the_checkpoint_opens_by_keys(show: Callable[..., Any], width: int) -> None:
    """Folded, it says what a restart does; open, all of it is there, nothing is cut off, and the code is copied."""
    page = show("hints", width=width, permissions=["clipboard-read", "clipboard-write"])
    card = page.locator(".sw-checkpoint")
    assert card.inner_text().strip() == "Checkpoint · batch 143 is under way: a restart runs it again"
    card.locator("summary").focus()
    page.keyboard.press("Enter")
    card.get_by_role("columnheader", name="Checkpoint (holds)").wait_for()
    text = card.inner_text()
    for word in ("runs batch 143 again", "46 MiB", "batch 142", "spark.sql.shuffle.partitions", "RocksDBStateStore"):
        assert word in text
    assert page.evaluate(OVERLAPS) == []
    assert card.evaluate("card => card.scrollWidth <= card.clientWidth")
    card.get_by_role("button", name="Copy").click()
    card.get_by_text("Copied").wait_for()


def test_a_checkpoint_that_cannot_be_read_says_why(show: Callable[..., Any]) -> None:
    """One line, folded: the reason, not an empty section."""
    card = show("calm").locator(".sw-checkpoint")
    assert card.inner_text().strip() == "Checkpoint · Spark Connect does not tell where the checkpoint is."


def test_all_numbers_of_a_batch(show: Callable[..., Any]) -> None:
    """A table holds every number of the batch under the cursor, under Spark's names and nothing of ours."""
    page = show("one")
    page.locator(".sw-numbers summary").click()
    page.locator(".sw-numbers th").first.wait_for()
    names = page.locator(".sw-numbers th").all_inner_texts()
    assert {"batchId", "durationMs.addBatch", "state.numRowsTotal", "eventTime.watermark"} <= set(names)
    assert not [name for name in names if name.endswith((".x0", ".y0", ".top", ".bottom"))]
    page.locator(".sw-root").focus()
    page.keyboard.press("Home")
    first = page.locator(".sw-numbers tr", has_text="batchId").locator("td")
    assert first.inner_text() == "0"


def test_times_are_the_readers(show: Callable[..., Any]) -> None:
    """Times are in the reader's zone, which is named once; the table has ISO times in UTC."""
    page = show("calm")
    assert page.locator(".sw-bar-zone").inner_text() == "Times in Europe/Berlin (UTC+1)"
    assert page.locator(".sw-bar-batch").inner_text() == "Last batch 59 · 14:01:58"
    page.locator(".sw-numbers summary").click()
    assert page.locator(".sw-numbers tr", has_text="timestamp").locator("td").inner_text() == "2026-03-01T13:01:58.000Z"


def test_a_zoom_stops_following_until_the_whole_run_is_asked_for(show: Callable[..., Any]) -> None:
    """Dragging over a stretch of time zooms every chart; a button leads back; the wheel alone only scrolls."""
    page = show("one")
    box = page.locator(".sw-place").first.bounding_box()
    button = page.get_by_role("button", name="Whole run")
    assert not button.is_visible()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 200, y)
    page.mouse.wheel(0, 200)
    assert not button.is_visible()
    page.evaluate("() => scrollTo(0, 0)")
    page.mouse.move(box["x"] + 200, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 320, y, steps=4)
    page.mouse.up()
    button.wait_for()
    button.click()
    button.wait_for(state="hidden")


def test_roles(show: Callable[..., Any]) -> None:
    """A screen reader finds a grid of queries, charts with a sentence each, and a polite region for changed states."""
    page = show("several")
    assert page.get_by_role("grid", name="Streaming queries").count() == 1
    assert page.get_by_role("columnheader").all_inner_texts()[:2] == ["State", "Query"]
    labels = page.locator(".sw-place").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    assert labels[0].startswith("Rows per second")
    assert labels[0].endswith(".")
    assert page.locator('[role="status"][aria-live="polite"]').count() == 1
