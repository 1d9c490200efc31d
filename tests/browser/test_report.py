"""A report in a real browser: from disk, without a network, with and without scripts, on screens and on paper."""

from __future__ import annotations

import pytest

from jupyter_streamwatch import report
from jupyter_streamwatch.recordings.recording import Recording
from tests.helpers import wait_until
from tests.unit.queries import RUN, START, UDF_ERROR, history, kafka

ALERT = "<img src=x onerror=alert(1)><script>alert(1)</script></script>"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report of a failed query, one that waits and one with a hostile name."""
    failed = history(3, id="33333333", name="broken")
    failed.end(RUN, START + 9000, UDF_ERROR, "STREAM_FAILED")
    waiting = history(40, sources=kafka(4, 12_432), eventTime={"watermark": "2026-01-01T13:56:00.000Z"})
    path = tmp_path_factory.mktemp("report") / "r.html"
    recording = Recording([failed, waiting, history(5, id="44444444", name=ALERT)], environment={"app": ALERT})
    report.write(path, recording)
    return path


class Tab:
    """A page that is offline and keeps what it asked for and complained about."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.requests = []
        self.complaints = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on(
            "console",
            lambda message: self.complaints.append(message.text) if message.type in {"error", "warning"} else None,
        )
        self.url = path.as_uri()
        self.page.goto(self.url)

    def charts(self):
        """Wait until charts are drawn; return how many canvases have a size."""
        script = """() => {
            const all = (root) => [...root.querySelectorAll("*")].flatMap((one) =>
                one.shadowRoot ? all(one.shadowRoot) : one.tagName === "CANVAS" && one.width > 50 ? [one] : []);
            return all(document.getElementById("streamwatch")).length;
        }"""
        return wait_until(lambda: self.page.evaluate(script), 30, "charts in the report")

    def overflow(self):
        """Pixels by which the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.fixture
def opened(browser, written):
    """Open the report with options of a browser context."""
    tabs = []

    def opens(**options):
        tabs.append(Tab(browser, written, **options))
        return tabs[-1]

    yield opens
    for tab in tabs:
        tab.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [600, 1200])
def test_it_opens_from_disk_without_a_request_or_a_complaint(opened, width, scheme):
    """Charts run with the network off; nothing is asked for, nothing is logged, nothing is wider than the window."""
    tab = opened(viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert tab.charts() >= 2
    assert tab.requests == [tab.url]
    assert tab.complaints == []
    assert tab.overflow() <= 0


def test_another_query_can_be_chosen_without_a_kernel(opened):
    """A click on a line shows that query's charts."""
    tab = opened(viewport={"width": 1200, "height": 900})
    tab.charts()
    assert tab.page.locator(".sw-bar-name").inner_text() == "broken"
    tab.page.locator(".sw-line", has_text="late_flights").first.click()
    wait_until(lambda: tab.page.locator(".sw-bar-name").inner_text() == "late_flights", 10, "the other query")
    assert tab.charts() >= 3
    assert tab.complaints == []


@pytest.mark.parametrize("width", [600, 1200])
def test_it_is_readable_without_scripts(opened, width):
    """With scripts off, states, pictures, facts and the table of batches are there."""
    tab = opened(viewport={"width": width, "height": 900}, java_script_enabled=False)
    assert tab.page.locator(".swr-overview").is_visible()
    assert tab.page.locator(".swr-picture img").first.is_visible()
    assert tab.page.get_by_text("STREAM_FAILED: ZeroDivisionError: division by zero").first.is_visible()
    assert tab.page.get_by_text("Kafka orders").first.is_visible()
    tab.page.locator(".swr-batches summary").first.click()
    assert tab.page.get_by_role("cell", name="2026-01-01T14:00:00.300Z").first.is_visible()
    assert tab.requests == [tab.url]


def test_with_scripts_nothing_is_said_twice(opened):
    """Where the dashboard stands, the still of the same step back."""
    tab = opened(viewport={"width": 1200, "height": 900})
    tab.charts()
    assert not tab.page.locator(".swr-overview").is_visible()
    assert not tab.page.locator(".swr-picture").first.is_visible()


def test_the_dashboard_leads_to_the_rest_of_a_query(opened):
    """A link above the charts goes to the chosen query's facts, runs and batches, which stand there once."""
    tab = opened(viewport={"width": 1200, "height": 900})
    tab.charts()
    assert tab.page.locator(".sw-facts:not(.sw-checkpoint)").count() == 0
    link = tab.page.get_by_role("link", name="Facts, runs and all batches")
    for name in ("late_flights", "broken"):
        tab.page.locator(".sw-line", has_text=name).first.click()
        wait_until(lambda name=name: tab.page.locator(".sw-bar-name").inner_text() == name, 10, "the other query")
        link.click()
        target = tab.page.locator(":target")
        assert target.locator("h2").inner_text().startswith(name)
        assert 0 <= target.evaluate("one => one.getBoundingClientRect().top") < 900


def test_the_dashboard_stands_on_the_edges_of_the_cards(opened):
    """Its text begins where that of the cards below begins."""
    tab = opened(viewport={"width": 1200, "height": 900})
    tab.charts()
    left = "one => one.getBoundingClientRect().left + parseFloat(getComputedStyle(one).paddingLeft)"
    inner = tab.page.locator(".sw-line").first.evaluate(left)
    card = tab.page.locator(".swr-query h2").first.evaluate("one => one.getBoundingClientRect().left")
    assert abs(inner - card) < 1


def test_paper_gets_the_still(opened):
    """Printed, the page shows pictures and text on white, not the dashboard."""
    tab = opened(viewport={"width": 1200, "height": 900}, color_scheme="dark")
    tab.charts()
    tab.page.emulate_media(media="print")
    assert tab.page.locator(".swr-overview").is_visible()
    assert tab.page.locator(".swr-picture img").first.is_visible()
    assert not tab.page.locator("#streamwatch").is_visible()
    assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
