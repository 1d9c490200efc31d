"""What a saved notebook shows although watching was never stopped: stills beside the live view.

Of a widget a notebook's file keeps only the name. So each shown dashboard has three outputs: a text, the live view and
a picture. Text and picture are made anew now and then, where a page says that its style hides them while the live view
is there. When watching stops, the picture takes the place of the live view.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_streamwatch.dashboard.messages import Source
    from jupyter_streamwatch.report.static import Static

FIRST = 4.0  # seconds before the first still, when there is a batch or an error to show
EVERY = 30.0  # seconds between two stills, and before a first one that can only name the queries
LOOK = 1.0  # seconds between two looks whether one is due,
GLANCE = 5.0  # while nobody looks at the dashboard
SHARE = 0.004  # of one processor: what all stills together may cost
CREDIT = 0.5  # seconds of a processor that may be saved up, for the stills that queries leave when they end

MARK = "sw-still"  # the class by which widget.css knows our text and picture
# A page that is loaded anew while a cell runs shows the still: what it says is of then, not of now.
RETURNS = "while the kernel runs, the live view returns as soon as it is free"
EMPTY = {"text/html": "", "text/plain": ""}
_PLACE = f'<div class="{MARK}"></div>'
# A page without the live view, as its kernel is gone, says "model not found" in its place: the still says more.
_ALONE = f".jp-OutputArea-child:has(.{MARK})+.jp-OutputArea-child:not(:has(.sw-root)){{display:none}}"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outputs:
    """The display ids of one shown dashboard."""

    text: str = field(default_factory=lambda: uuid.uuid4().hex)
    view: str = field(default_factory=lambda: uuid.uuid4().hex)
    picture: str = field(default_factory=lambda: uuid.uuid4().hex)


class Stills:
    """The outputs of a dashboard, and what stands in them when its live view is gone. Thread-safe."""

    def __init__(
        self, source: Source, looked_at: Callable[[], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take stills of ``source``, as long as ``looked_at()`` says that somebody looks."""
        self._source = source
        self._looked_at = looked_at
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._begun: float | None = None
        self._outputs: list[Outputs] = []
        self._credit = CREDIT
        self._counted = self._at = 0.0
        self._kept: tuple[Any, ...] | None = None
        self._ends: tuple[Any, ...] | None = None
        self._looked = False

    def show(self, view: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """Show a live view, between the places of its stills; a terminal gets the states as text."""
        from IPython.display import display

        outputs = Outputs()
        self._outputs.append(outputs)
        display({"text/html": _PLACE, "text/plain": self._text()}, raw=True, display_id=outputs.text)
        display({**view, "text/plain": ""}, metadata=metadata, raw=True, display_id=outputs.view)
        display(EMPTY, raw=True, display_id=outputs.picture)

    def begin(self) -> None:
        """Keep the stills fresh from now on: a page hides them. Safe to call again."""
        with self._lock:
            if self._begun is not None or self._closed.is_set():
                return
            self._begun = self._counted = self._clock()
        threading.Thread(target=self._run, name="streamwatch-stills", daemon=True).start()

    def freeze(self, left: Static) -> None:
        """Put the last still into every output, for good."""
        with self._lock:
            self._closed.set()
            text, *pictures = left.bundles()
            for outputs in self._outputs:
                _update(outputs.text, text)
                _update(outputs.picture, EMPTY)  # hidden by then; the picture appears where the live view was
                _update(outputs.view, pictures[0] if pictures else EMPTY)

    def withdraw(self) -> None:
        """Leave every output empty, for good."""
        with self._lock:
            self._closed.set()
            for outputs in self._outputs:
                for output in (outputs.text, outputs.view, outputs.picture):
                    _update(output, EMPTY)

    def close(self) -> None:
        """Make no further still."""
        self._closed.set()

    def is_due(self) -> bool:
        """Tell whether now is the time for a still.

        One is due when something changed since the last one, and a query ended, or everybody looked away, or somebody
        looks and the last one is old; and never when stills have cost too much already.
        """
        now, looked = self._clock(), self._looked_at()
        away, self._looked = self._looked and not looked, looked
        self._credit = min(self._credit + SHARE * (now - self._counted), CREDIT)
        self._counted = now
        histories = self._source.histories()
        if self._credit < 0 or not histories or self._state() == self._kept:
            return False
        if self._kept is None:
            told = any(history.batches.rows for history in histories) or len(self._ended()) > 1
            return now - (self._begun or 0.0) >= (FIRST if told else EVERY)
        return away or self._ended() != self._ends or (looked and now - self._at >= EVERY)

    def make(self) -> None:
        """Make a still now and show it in the outputs; what it cost is counted."""
        from jupyter_streamwatch.text.html import Html, el

        began = time.thread_time()
        self._kept, self._ends, self._at = self._state(), self._ended(), self._clock()
        bundles = self._taken().bundles()
        hidden = el("div", el("style", Html(_ALONE)), Html(bundles[0]["text/html"]), class_=MARK)
        with self._lock:
            if not self._closed.is_set():
                for outputs in self._outputs:
                    _update(outputs.text, {**bundles[0], "text/html": hidden})
                    _update(outputs.picture, bundles[1] if len(bundles) > 1 else EMPTY)
        self._credit -= time.thread_time() - began

    def _taken(self) -> Static:
        from jupyter_streamwatch.report.static import static

        session = self._source.session
        now = time.time() * 1000 if session.state == "live" else None
        remark = RETURNS if session.state == "live" else ""
        return static([history.snapshot() for history in self._source.histories()], session, now=now, remark=remark)

    def _text(self) -> str:
        try:
            return self._taken().text
        except Exception:  # nothing of ours is raised into a cell
            _log.warning("The states could not be written as text", exc_info=True)
            return ""

    def _run(self) -> None:
        while not self._closed.wait(LOOK if self._looked else GLANCE):
            self._look()

    def _look(self) -> None:
        try:
            if self.is_due():
                self.make()
        except Exception:  # the notebook keeps the still before this one
            _log.warning("A still of a dashboard could not be made", exc_info=True)

    def _state(self) -> tuple[Any, ...]:
        return self._source.session.state, *((history.id, history.version) for history in self._source.histories())

    def _ended(self) -> tuple[Any, ...]:
        over = (run.runId for history in self._source.histories() for run in history.runs if run.state != "active")
        return self._source.session.state, *over


def _update(display_id: str, bundle: Mapping[str, str]) -> None:
    """Replace an output; one whose notebook is gone is no error."""
    from IPython.display import display

    try:
        display(dict(bundle), raw=True, display_id=display_id, update=True)
    except Exception:
        _log.warning("An output of a dashboard could not be replaced", exc_info=True)
