"""The dashboard: a widget that shows the queries of a watch, live, and leaves a static picture when it ends.

The widget holds no truth. Its state, made when a page attaches, is a snapshot; a thread sends numbered deltas (see
``messages``). It parses nothing and judges nothing.
"""

from __future__ import annotations

import gzip
import logging
import threading
import time
import uuid
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from jupyter_streamwatch.dashboard.leases import ATTACHING, Leases, cell
from jupyter_streamwatch.dashboard.messages import Delivery
from jupyter_streamwatch.dashboard.stills import Stills
from jupyter_streamwatch.settings import StreamWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_streamwatch.dashboard.messages import Watched
    from jupyter_streamwatch.report.static import Static

TICK = 1.0  # seconds between two looks while somebody watches and nothing happens: "1.1 s so far" goes on
ALIVE = 10.0  # seconds of silence after which a page is told that the kernel is still there
BUILT = Path(__file__).parent.parent / "static"

_log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def bokehjs() -> bytes:
    """Return the installed BokehJS, gzipped (about 0.35 MB); what draws in the page always matches what plans here."""
    import bokeh

    script = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
    return gzip.compress(script.read_bytes(), mtime=0)


def _built(name: str) -> Path:
    """Return the path of a built file; a source tree that was never built says so."""
    path = BUILT / name
    if not path.exists():
        raise ImportError(f"The dashboard's {name} is not built. Run `npm ci && npm run build` in labextension/.")
    return path


class Dashboard(anywidget.AnyWidget):
    """A live view of the streaming queries of a watch. Made by ``watch.dashboard()``."""

    _esm = _built("widget.js")
    _css = _built("widget.css")

    key = traitlets.Unicode(help="Name of this dashboard on a page.").tag(sync=True)
    snapshot = traitlets.Dict(help="The picture at the time that a page attached.").tag(sync=True)
    bokehjs = traitlets.Bytes(help="BokehJS, gzipped.").tag(sync=True)
    bokeh_version = traitlets.Unicode(help="Its version.").tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto", help="Colours of this dashboard.").tag(sync=True)

    def __init__(self, watch: Watched, query: Any = None) -> None:
        """Show the queries of ``watch``.

        Args:
            watch: Where the histories come from.
            query: The query whose charts are shown first: an id, the start of one, a name, or a query object.

        Raises:
            KeyError: when there is no such query; its text names those there are.
        """
        import bokeh

        # Here, before there are threads: two that import Bokeh at once by two ways find half of it.
        from jupyter_streamwatch.charts.png import picture  # noqa: F401

        self._wake = threading.Event()
        self._closed = threading.Event()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._watch = watch
        self._leases = Leases(cell())
        self._sending = threading.Lock()
        self._sent_at = 0.0
        self._shown = False
        self._stills = Stills(watch, self._leases.held)
        self._delivery = Delivery(watch, None if query is None else watch.queries[query].id)
        self._left: Static | None = None
        super().__init__(
            key=uuid.uuid4().hex,
            bokehjs=bokehjs(),
            bokeh_version=bokeh.__version__,
            theme=StreamWatch.instance().theme,
        )
        self.on_msg(lambda _, content, __: self._receive(content))
        self._unsubscribe = watch.subscribe(self._changed)
        threading.Thread(target=self._run, name="streamwatch-dashboard", daemon=True).start()

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the widget's state for a page, with a snapshot as of now when the whole is asked for."""
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        if key is None:
            try:
                with self._sending:
                    self._flush()  # other pages step along: the snapshot's number is theirs, too
                    state["snapshot"] = self._delivery.snapshot()
            except Exception:  # the page gets a picture as soon as there can be one
                _log.warning("The picture for a page could not be made", exc_info=True)
            self._leases.grant(ATTACHING)
            self._wake.set()
        return state

    def freeze(self, left: Static) -> None:
        """Swap every shown output to a static picture, which needs no kernel, and end. Safe to call twice.

        An output that a page has loaded anew cannot be swapped from here: there the last picture stays, greyed.
        """
        if self._left is not None:
            return
        self._left = left
        self._stills.freeze(left)
        self._end()
        with self._sending:
            self._flush()

    def withdraw(self) -> None:
        """Take every shown output away and end."""
        self._stills.withdraw()
        self._end()

    def close(self) -> None:
        """End the live view and take it off every page."""
        self._end()
        super().close()

    def _end(self) -> None:
        self._closed.set()
        self._stills.close()
        self._wake.set()
        self._unsubscribe()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if self._left is not None:
            display(self._left)
            return
        bundle = self._repr_mimebundle_()
        self._stills.show(*(bundle if isinstance(bundle, tuple) else (bundle, {})))

    # Messages of the pages

    def _receive(self, content: Any) -> None:
        """Act on a message of a page; what is not understood is ignored, nothing is raised into the kernel's loop."""
        try:
            kind = content.get("type") if isinstance(content, dict) else None
            if kind == "visible" and isinstance(content.get("view"), str):
                act = self._leases.grant if content.get("visible") else self._leases.release
                act(content["view"])
                if content.get("stills"):
                    self._stills.begin()
            elif kind in ("select", "resync"):
                if kind == "resync" or self._delivery.select(str(content.get("id"))):
                    self._send_snapshot()
            elif kind == "hide":
                from jupyter_streamwatch.diagnosis import rules

                rules.switch_off(str(content.get("code")))
            self._wake.set()
        except Exception:
            _log.warning("A message of a page could not be handled", exc_info=True)

    # The pump

    def _changed(self) -> None:
        left = self._watch.left
        if left is not None:
            self.freeze(left)
        self._wake.set()

    def _run(self) -> None:
        """Send what changed, at most so often, as long as somebody looks."""
        while not self._closed.is_set():
            self._wake.wait(TICK if self._shown else None)
            self._wake.clear()
            try:
                if self._look():
                    with self._sending:
                        self._flush()
            except Exception:
                _log.warning("A dashboard could not be updated", exc_info=True)
            self._closed.wait(1 / StreamWatch.instance().updates_per_second)
        self._show(False)

    def _look(self) -> bool:
        held = self._leases.held() and not self._closed.is_set()
        self._show(held)
        return held

    def _show(self, shown: bool) -> None:
        if shown != self._shown:
            self._shown = shown
            self._watch.shown(shown)

    def _flush(self) -> None:
        message = self._delivery.step()
        now = time.monotonic()
        if message is None and now - self._sent_at >= ALIVE:
            message = {"type": "alive", "n": self._delivery.n}
        if message is not None:
            self._sent_at = now
            self.send(message)

    def _send_snapshot(self) -> None:
        with self._sending:
            self._sent_at = time.monotonic()
            self.send({"type": "snapshot", **self._delivery.snapshot()})
