"""What a dashboard sends: exact, numbered, throttled, and only while somebody looks."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_streamwatch import charts
from jupyter_streamwatch.dashboard import stills
from jupyter_streamwatch.dashboard import widget as dashboard
from jupyter_streamwatch.dashboard.leases import ATTACHING, LEASE, Leases
from jupyter_streamwatch.dashboard.messages import EXTRA_ROWS, Delivery
from jupyter_streamwatch.dashboard.stills import Stills
from jupyter_streamwatch.diagnosis import rules
from tests.browser.fakes import FakeWatch
from tests.browser.scenes import now_of
from tests.helpers import wait_until
from tests.pages import Page, Pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_streamwatch.model.history import History


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    driven = Pages()
    yield driven
    driven.close()


@pytest.fixture
def watch() -> FakeWatch:
    return FakeWatch(batches=20, pace=0)


def delivery(watch: FakeWatch) -> Delivery:
    return Delivery(watch, None, lambda: now_of(watch.histories()))


def same(page: Page, history: History) -> None:
    """The page has what a fresh page would get."""
    fresh = json.loads(json.dumps(charts.data(history)))
    assert page.data["batches"]["batchId"] == fresh["batches"]["batchId"]
    assert page.data == fresh


def test_deltas_give_what_a_fresh_picture_gives(watch: FakeWatch, pages: Pages) -> None:
    """After any number of steps, each of some batches, a page has exactly the rows of a fresh snapshot."""
    sender = delivery(watch)
    page = pages.open(sender.snapshot())
    for count in (1, 3, 1, 12, 0, 2):
        for _ in range(count):
            watch.add()
        message = sender.step()
        if message is not None:
            page.apply(message)
        same(page, watch.histories()[0])
    assert set(page.outcomes) == {"applied"}


def test_nothing_new_sends_nothing(watch: FakeWatch) -> None:
    """When nothing changed there is no message and no number is used up."""
    sender = delivery(watch)
    sender.snapshot()
    watch.add()
    assert sender.step() is not None
    before = sender.n
    assert sender.step() is None
    assert sender.n == before


def test_late_numbers_of_a_batch_arrive(watch: FakeWatch, pages: Pages) -> None:
    """The numbers of a batch's tasks come after the batch was sent: its row is sent again, and is not doubled."""
    history = watch.histories()[0]
    history.set_tasks("run-1", 19, {"tasks.count": 4.0})
    sender = delivery(watch)
    page = pages.open(sender.snapshot())
    watch.add()
    page.apply(sender.step())
    history.set_tasks("run-1", 20, {"tasks.count": 8.0})
    page.apply(sender.step())
    same(page, history)
    assert page.data["batches"]["tasks.count"][-1] == 8


def test_new_kinds_of_charts_send_the_whole_picture(watch: FakeWatch) -> None:
    """When the charts themselves change, a delta cannot tell: all is sent anew, with the next number."""
    sender = delivery(watch)
    sender.snapshot()
    growing = watch.histories()[0]
    from tests.browser import scenes

    at = scenes.START.replace(year=2027)
    growing.append(scenes.batch(growing.id, "run-1", 20, at, 900, 300, **scenes.stateful(20, at, 300)))
    message = sender.step()
    assert message is not None
    assert message["type"] == "snapshot"
    assert {root["name"] for root in message["charts"]["roots"]} >= {"state-rows", "event-time"}


def test_a_long_run_is_cut_anew_before_it_grows_without_end(watch: FakeWatch, pages: Pages) -> None:
    """A page never holds many more rows than a fresh picture."""
    sender = delivery(watch)
    page = pages.open(sender.snapshot())
    for _ in range(25):
        for _ in range(50):
            watch.add()
        page.apply(sender.step())
        assert len(page.data["batches"]["batchId"]) <= charts.MAX_ROWS + EXTRA_ROWS
    assert page.data["batches"]["batchId"][-1] == watch.histories()[0].seen - 1


def test_selecting_another_query_sends_its_rows() -> None:
    """A selection is answered by the whole picture; an unknown id changes nothing."""
    watch = FakeWatch(scene="several")
    sender = delivery(watch)
    first = sender.snapshot()["selected"]
    other = next(history.id for history in watch.histories() if history.name == "clicks")
    assert first != other
    assert not sender.select("nonsense")
    assert sender.select(other)
    message = sender.step()
    assert message is not None
    assert (message["type"], message["selected"]) == ("snapshot", other)
    assert message["data"]["batches"]["batchId"][-1] == 59


def test_the_worst_query_is_selected_and_stays(watch: FakeWatch) -> None:
    """Without a choice the worst query is shown; it stays when another one gets worse, and yields when it ended."""
    source = FakeWatch(scene="several")
    sender = delivery(source)
    shown = sender.snapshot()["selected"]
    assert shown == sender.snapshot()["lines"][0]["id"]
    source._made = [history for history in source._made if history.name != "late_flights"]
    assert sender.snapshot()["selected"] == shown


def test_lines_change_order_and_vanish(pages: Pages) -> None:
    """After lines vanished a page has those that a fresh page would get, in their order, each once."""
    watch = FakeWatch(scene="several")
    sender = delivery(watch)
    page = pages.open(sender.snapshot())
    watch._made = [h for h in watch._made if not (h.name or "").startswith("backfill")]
    page.apply(sender.step())
    assert len(page.lines) == len(watch._made)
    assert list(page.lines.values()) == json.loads(json.dumps(sender.snapshot()["lines"]))


def test_every_picture_is_plain_json() -> None:
    """Unknown numbers are null: NaN is no JSON."""
    for scene in ("one", "several", "empty"):
        watch = FakeWatch(scene=scene)
        json.dumps(delivery(watch).snapshot(), allow_nan=False)


class Executing:
    """Whether a cell runs, as a test says."""

    busy = False
    ended = 0.0


def test_a_lease_lapses_unless_renewed() -> None:
    """A page that was closed says nothing: after a while nobody looks."""
    now = [0.0]
    leases = Leases(Executing(), lambda: now[0])  # type: ignore[arg-type]
    assert not leases.held()
    leases.grant("a")
    now[0] = LEASE - 1
    assert leases.held()
    leases.grant("a")
    now[0] = 2 * LEASE - 2
    assert leases.held()
    now[0] = 3 * LEASE
    assert not leases.held()


def test_no_lease_lapses_while_a_cell_runs_nor_right_after() -> None:
    """Renewals may wait for the end of the cell."""
    now = [0.0]
    executing = Executing()
    leases = Leases(executing, lambda: now[0])  # type: ignore[arg-type]
    leases.grant("a")
    executing.busy, now[0] = True, 10 * LEASE
    assert leases.held()
    executing.busy, executing.ended = False, now[0]
    now[0] += 1
    assert leases.held()
    now[0] += LEASE
    assert not leases.held()


def test_a_page_that_speaks_is_no_longer_attaching() -> None:
    """A new page counts as a view until it says itself whether it is visible."""
    leases = Leases(Executing())  # type: ignore[arg-type]
    leases.grant(ATTACHING)
    assert leases.held()
    leases.release("its view")
    assert not leases.held()


class Wire:
    """Catches what a dashboard sends."""

    def __init__(self, made: dashboard.Dashboard) -> None:
        self.messages: list[dict[str, Any]] = []
        made.send = lambda content, buffers=None: self.messages.append(content)  # type: ignore[method-assign]


@pytest.fixture
def made(watch: FakeWatch) -> Any:
    one = dashboard.Dashboard(watch)
    yield one
    one.close()


def test_a_page_attaches_with_the_picture_as_of_now(watch: FakeWatch, made: dashboard.Dashboard) -> None:
    """The widget's state holds the whole picture, and BokehJS: a first paint needs no answer from the kernel."""
    watch.add()
    state = made.get_state()
    assert state["snapshot"]["data"]["batches"]["batchId"][-1] == 20
    assert state["snapshot"]["charts"]["roots"]
    assert state["bokehjs"][:2] == b"\x1f\x8b"
    assert "snapshot" not in made.get_state("theme")


def test_a_second_page_does_not_lose_the_first(watch: FakeWatch, made: dashboard.Dashboard, pages: Pages) -> None:
    """When another page attaches, those that are there step along or notice that a number is missing."""
    page = pages.open(made.get_state()["snapshot"])
    wire = Wire(made)
    made._receive({"type": "visible", "view": "a", "visible": False})
    watch.add()
    picture = made.get_state()["snapshot"]
    second = pages.open(picture)
    watch.add()
    later = wait_until(lambda: [sent for sent in wire.messages if sent["n"] > picture["n"]], 5, "no update")
    second.apply(later[0])
    assert second.outcomes[-1] == "applied"
    for message in wire.messages:
        page.apply(message)
    assert page.outcomes[:2] == ["applied", "applied"], "the picture, and the step before the second page's picture"
    assert page.outcomes[-1] == "gap"
    watch.add()
    made._receive({"type": "resync"})
    answer = wire.messages[-1]
    assert answer["type"] == "snapshot"
    for attached in (page, second):
        attached.apply(answer)
        assert attached.outcomes[-1] == "applied"
        same(attached, watch.histories()[0])


def test_at_most_four_updates_a_second(watch: FakeWatch, made: dashboard.Dashboard) -> None:
    """However fast batches come, a page gets at most four messages a second."""
    made.get_state()
    wire = Wire(made)
    made._receive({"type": "visible", "view": "a", "visible": True})
    began = time.monotonic()
    while len(wire.messages) < 5:
        watch.add()
    assert time.monotonic() - began >= 4 * 0.25


def test_nothing_is_sent_while_nothing_is_visible(watch: FakeWatch, made: dashboard.Dashboard, pages: Pages) -> None:
    """Hidden views get nothing; what was missed comes in one message when one is looked at again."""
    page = pages.open(made.get_state()["snapshot"])
    wire = Wire(made)
    made._receive({"type": "visible", "view": "a", "visible": False})
    wait_until(lambda: watch.views == 0, 5, "the probe is not told that nobody looks")
    sent = len(wire.messages)
    for _ in range(30):
        watch.add()
    pumped = threading.Event()
    pumped.wait(0.6)
    assert len(wire.messages) == sent
    made._receive({"type": "visible", "view": "a", "visible": True})
    wait_until(lambda: len(wire.messages) > sent, 5, "no message after the view is visible again")
    assert watch.views == 1
    for message in wire.messages:
        page.apply(message)
    same(page, watch.histories()[0])


@pytest.mark.parametrize(
    ("content", "warned"),
    [
        (None, False),
        (7, False),
        ([], False),
        ({}, False),
        ({"type": ["select"]}, False),
        ({"type": "select"}, False),
        ({"type": "select", "id": "nonsense"}, False),
        ({"type": "visible"}, False),
        ({"type": "visible", "visible": True, "view": None}, False),
        ({"type": "hide"}, True),
        ({"type": "hide", "code": "nonsense"}, True),
    ],
)
def test_a_strange_message_changes_nothing(
    made: dashboard.Dashboard, caplog: pytest.LogCaptureFixture, content: Any, warned: bool
) -> None:
    """What a page sends never raises into the kernel's loop; only a rule that is not there is worth a warning."""
    made.get_state()
    wire = Wire(made)

    def known() -> tuple[Any, ...]:
        return set(made._leases._views), made._delivery.selected, made._stills._begun, rules.off

    before = known()
    made._receive(content)
    assert known() == before
    assert not [message for message in wire.messages if message["type"] == "snapshot"]
    assert [record.message for record in caplog.records] == ["A message of a page could not be handled"] * warned


def test_an_unknown_query_is_an_error_at_once(watch: FakeWatch) -> None:
    """A wrong name raises where it is written."""
    with pytest.raises(KeyError):
        dashboard.Dashboard(watch, "nonsense")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What is displayed, with the arguments of each display."""
    calls: list[tuple[dict[str, Any], dict[str, Any]]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **more: calls.append((data, more)))
    return calls


def test_stopping_swaps_every_shown_output(watch: FakeWatch, made: dashboard.Dashboard, shown: Any) -> None:
    """Each shown output turns into text and picture when watching stops, also from another thread."""
    made._ipython_display_()
    made._ipython_display_()
    ids = [more["display_id"] for _, more in shown]
    assert len(set(ids)) == 6
    assert "application/vnd.jupyter.widget-view+json" in shown[1][0]
    assert "clicks" in shown[0][0]["text/plain"], "what a terminal prints"
    assert shown[1][0]["text/plain"] == ""
    stopper = threading.Thread(target=watch.stop)
    stopper.start()
    stopper.join()
    swapped = {more["display_id"]: data for data, more in shown[6:] if more["update"]}
    assert set(swapped) == set(ids)
    for text, view, picture in (ids[:3], ids[3:]):
        assert "clicks" in swapped[text]["text/html"]
        assert "sw-still" not in swapped[text]["text/html"]
        assert "image/png" in swapped[view]
        assert swapped[picture]["text/html"] == ""


class Camera:
    """Stills of a watch, with a clock and an eye of the test's."""

    def __init__(self, watch: FakeWatch, monkeypatch: pytest.MonkeyPatch, cost: float = 0.1) -> None:
        self.now, self.looked, used = 1000.0, True, [0.0]
        self.stills = Stills(watch, lambda: self.looked, lambda: self.now)
        self.stills._begun = self.stills._counted = self.now

        def cpu() -> float:
            used[0] += cost
            return used[0]

        monkeypatch.setattr("time.thread_time", cpu)

    def after(self, seconds: float) -> bool:
        """Tell whether a still is due after some seconds; make it then."""
        self.now += seconds
        due = self.stills.is_due()
        if due:
            self.stills.make()
        return due


@pytest.fixture
def camera(watch: FakeWatch, monkeypatch: pytest.MonkeyPatch) -> Camera:
    return Camera(watch, monkeypatch)


def test_a_still_is_due_now_and_then(watch: FakeWatch, camera: Camera) -> None:
    """The first comes after some seconds; then one every half a minute, if something changed and somebody looks."""
    assert not camera.after(stills.FIRST - 1)
    assert camera.after(1)
    assert not camera.after(stills.EVERY + 1)
    watch.add()
    assert camera.after(1)
    watch.add()
    assert not camera.after(stills.EVERY - 1)
    assert camera.after(1)
    camera.looked = False
    watch.add()
    assert camera.after(1), "the last look"
    watch.add()
    assert not camera.after(10 * stills.EVERY)


def test_a_query_that_ends_is_kept_at_once(watch: FakeWatch, camera: Camera) -> None:
    """A query that ends or fails is in a still at once, looked at or not."""
    camera.after(stills.FIRST)
    camera.looked = False
    camera.after(1)
    watch.histories()[0].end("run-1", 0.0, "ValueError: no", "STREAM_FAILED")
    assert camera.after(0)


def test_a_query_that_fails_before_its_first_batch_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no batch to wait for: its error is in the first still."""
    watch = FakeWatch(batches=0, pace=0)
    camera = Camera(watch, monkeypatch)
    assert not camera.after(stills.FIRST)
    watch.histories()[0].end("run-1", 0.0, "ValueError: no", "STREAM_FAILED")
    assert camera.after(1)


def test_stills_cost_little(watch: FakeWatch, camera: Camera) -> None:
    """A query that fails every second for an hour, and a slow processor: stills stay within their share of it."""
    made = 0
    for second in range(3600):
        watch.histories()[0].start(f"again-{second}")
        watch.histories()[0].end(f"again-{second}", 0.0, "ValueError: no", "STREAM_FAILED")
        made += camera.after(1)
    assert made > 100
    assert made * 0.1 <= stills.SHARE * 3600 + stills.CREDIT + 0.1


def test_no_still_where_no_page_hides_it(watch: FakeWatch, made: dashboard.Dashboard, shown: Any) -> None:
    """Only a page that hides stills beside its live view gets some; a still is text and picture around it."""
    made._ipython_display_()
    made._receive({"type": "visible", "view": "a", "visible": True, "stills": False})
    assert made._stills._begun is None
    made._receive({"type": "visible", "view": "a", "visible": True, "stills": True})
    assert made._stills._begun is not None
    made._stills.make()
    text, picture = shown[3:]
    assert [text[1]["display_id"], picture[1]["display_id"]] == [shown[0][1]["display_id"], shown[2][1]["display_id"]]
    assert text[0]["text/html"].startswith('<div class="sw-still">')
    assert "clicks" in text[0]["text/html"]
    assert "image/png" in picture[0]
    assert "as of " in text[0]["text/html"]
    assert "the live view returns" in text[0]["text/html"], "a page that is loaded anew while a cell runs shows it"
    watch.stop()
    made._stills.make()
    assert len(shown) == 8, "nothing after the end"


def test_after_a_step_that_failed_all_is_sent(watch: FakeWatch, monkeypatch: pytest.MonkeyPatch, pages: Pages) -> None:
    """Half a step is never the base of the next one: what it would have told is in a new picture."""
    sender = delivery(watch)
    page = pages.open(sender.snapshot())
    watch.add()
    with monkeypatch.context() as broken:
        broken.setattr(charts, "rows_after", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sender.step()
    page.apply(sender.step())
    same(page, watch.histories()[0])
    assert page.lines[watch.histories()[0].id]["batch"]["id"] == "20"
