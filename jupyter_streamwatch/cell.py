"""What ``%%streamwatch`` does around a cell: show the queries that it starts, then leave the last state."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.dashboard import Dashboard
from jupyter_streamwatch.watcher import Watch, watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_streamwatch.history import History


def run_and_show(shell: Any, cell: str) -> None:
    """Run ``cell`` in ``shell`` with a live dashboard of the queries that it starts.

    The dashboard stays live until those queries have ended, also when the cell returns right after
    ``.start()``; then the last state takes its place. Without a Spark session before the cell the
    dashboard appears when the cell has made one.

    Raises:
        Exception: what the cell raised, shown once, with the cell's own traceback.
    """
    __tracebackhide__ = True
    try:
        watched: Watch | None = watch()
    except RuntimeError:  # no session yet: the cell may make it
        watched = None
    known = _runs(watched)
    dashboard = _show(watched, known) if watched else None
    failure = _run(shell, cell)
    if watched is None:
        watched = _watch_late(failure)
        dashboard = _show(watched, known) if watched else None
    if watched is not None and dashboard is not None:
        threading.Thread(target=_finish, args=(watched, dashboard, known), name="streamwatch-cell", daemon=True).start()
    if failure is not None:
        raise failure


def _watch_late(failure: BaseException | None) -> Watch | None:
    try:
        return watch()
    except RuntimeError:
        if failure is None:
            raise  # the cell worked and made no session: say so
        return None


def _show(watched: Watch, known: frozenset[str]) -> Dashboard:
    from IPython.display import display

    dashboard = Dashboard(watched, include=lambda history: _is_new(history, known))
    display(dashboard)
    return dashboard


def _runs(watched: Watch | None) -> frozenset[str]:
    if watched is None:
        return frozenset()
    return frozenset(run.runId for history in watched.queries.values() for run in history.runs)


def _is_new(history: History, known: frozenset[str]) -> bool:
    return any(run.runId not in known for run in history.runs)


def _finish(watched: Watch, dashboard: Dashboard, known: frozenset[str]) -> None:
    """Wait until every run that the cell started has ended, then leave the last state."""
    changed = threading.Event()
    remove = watched.subscribe(changed.set)
    try:
        while watched.session.state == "live" and _still_active(watched, known):
            changed.wait(1.0)
            changed.clear()
    finally:
        remove()
    dashboard.finish()


def _still_active(watched: Watch, known: frozenset[str]) -> bool:
    return any(
        run.state == "active" and run.runId not in known for history in watched.queries.values() for run in history.runs
    )


def _run(shell: Any, cell: str) -> BaseException | None:
    """Run the cell as IPython does, await and magics included; what it raised is returned, not shown."""
    with _untold(shell):
        result = shell.run_cell(cell, store_history=False)
    return result.error_before_exec or result.error_in_exec  # type: ignore[no-any-return]


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
