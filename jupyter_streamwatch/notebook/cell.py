"""What ``%%streamwatch`` does around a cell: show the queries that it starts, then leave the last state."""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.dashboard.widget import Dashboard
from jupyter_streamwatch.model.queries import Queries
from jupyter_streamwatch.notebook.guard import guarding
from jupyter_streamwatch.report.static import static
from jupyter_streamwatch.watcher import Watch, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_streamwatch.model.history import History
    from jupyter_streamwatch.report.static import Static
    from jupyter_streamwatch.watching.session import Session

CATCH_UP = 60.0  # seconds at most until the start of a query, whose event has arrived, is known
PAUSE = 1.0  # seconds after which the runs are looked at again, should a change not have been told


class Started:
    """The part of a watch that a cell has started: what its dashboard shows."""

    def __init__(self, whole: Watch, known: frozenset[str]) -> None:
        """Leave out of ``whole`` every query without a run beyond the ``known`` run ids."""
        self._whole = whole
        self._known = known

    @property
    def session(self) -> Session:
        """How the session is."""
        return self._whole.session

    @property
    def queries(self) -> Queries:
        """The histories of what the cell has started, by id."""
        return Queries({history.id: history for history in self.histories()})

    @property
    def left(self) -> Static | None:
        """What was known when watching was stopped; None while it goes on."""
        return self.picture() if self._whole.left is not None else None

    @property
    def active(self) -> bool:
        """Whether a run that the cell has started still goes on, as far as can be known."""
        return self.session.state == "live" and any(
            run.state == "active" and run.runId not in self._known
            for history in self.histories()
            for run in history.runs
        )

    def histories(self) -> list[History]:
        """The live histories of what the cell has started; never waits."""
        return [h for h in self._whole.histories() if any(run.runId not in self._known for run in h.runs)]

    def picture(self) -> Static:
        """The last state, as a static object."""
        return static([history.snapshot() for history in self.histories()], self.session)

    def sync(self) -> None:
        """Wait, for at most 2 s, for what comes after a run's end: its last events, and its checkpoint."""
        self._whole.sync()

    def catch_up(self) -> None:
        """Wait until what the cell has started is known; its events have arrived when the cell ends."""
        self._whole.catch_up(CATCH_UP)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback()`` after something changed; returns a function that ends it."""
        return self._whole.subscribe(callback)

    def shown(self, visible: bool) -> None:
        """One view more or less is visible."""
        self._whole.shown(visible)


def run_and_show(shell: Any, cell: str, *, guard: bool = False) -> bool:
    """Run ``cell`` in ``shell`` with a live dashboard of the queries that it starts.

    The dashboard stays live until those queries have ended, also when the cell returns right after
    ``.start()``; then the last state takes its place. Without a Spark session before the cell the
    dashboard appears when the cell has ended. With ``guard`` a query that does not fit its checkpoint is not
    started (:mod:`jupyter_streamwatch.notebook.guard`).

    Returns:
        Whether there was a session to watch, before the cell or after it.

    Raises:
        BaseException: what the cell raised, to be shown once, with the cell's own traceback.
    """
    __tracebackhide__ = True
    shown = _show(leave_out_present=True)
    failure = _run(shell, cell, guard=guard)
    if shown is None:  # the cell made the session: everything in it is the cell's
        shown = _show(leave_out_present=False)
    if shown is not None:
        arguments = (*shown, failure is not None)
        threading.Thread(target=_finish, args=arguments, name="streamwatch-cell", daemon=True).start()
    if failure is not None:
        raise failure
    return shown is not None


def _show(*, leave_out_present: bool) -> tuple[Started, Dashboard] | None:
    """Show what is started from now on, or all there is; None when there is no session yet."""
    from IPython.display import display

    try:
        whole = watch()
    except RuntimeError:
        return None
    runs = (run.runId for history in whole.queries.values() for run in history.runs)
    started = Started(whole, frozenset(runs if leave_out_present else ()))
    dashboard = Dashboard(started)
    display(dashboard)
    return started, dashboard


def _finish(started: Started, dashboard: Dashboard, failed: bool) -> None:
    """Wait until every run that the cell started has ended, then leave the last state; nothing of a cell in vain."""
    started.catch_up()
    if failed and not started.histories():
        dashboard.withdraw()
        return
    changed = threading.Event()
    remove = started.subscribe(changed.set)
    try:
        while started.left is None and started.active:
            changed.wait(PAUSE)
            changed.clear()
    finally:
        remove()
    started.sync()
    dashboard.freeze(started.picture())


def _run(shell: Any, cell: str, *, guard: bool) -> BaseException | None:
    """Run the cell as IPython does, magics included; what it raised is returned, not shown."""
    with _untold(shell), guarding() if guard else nullcontext():
        result = shell.run_cell(cell, store_history=False)
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    return error


@contextmanager
def _untold(shell: Any) -> Iterator[None]:
    """Keep the inner run from showing a traceback: the outer cell shows it, once."""
    names = ("showtraceback", "showsyntaxerror", "showindentationerror")
    for name in names:
        setattr(shell, name, lambda *_args, **_kwargs: None)
    try:
        yield
    finally:
        for name in names:
            delattr(shell, name)  # the class's own method is there again
