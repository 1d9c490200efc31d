"""A history as it was at one moment: what views and rules get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.history import History

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from jupyter_streamwatch.batches import Batches
    from jupyter_streamwatch.progress import Progress
    from jupyter_streamwatch.runs import Run
    from jupyter_streamwatch.trigger import Trigger

_PLAIN = (
    *("id", "name", "last", "record", "idleSince", "facts", "checkpoint", "running", "status"),
    *("version", "seen", "inserted"),
)


class Snapshot(History):
    """A history as it was at one moment; changing it raises ``TypeError``."""

    def __init__(self, of: History, **parts: Any) -> None:
        """Copy what is plain of a history and take the ``parts`` that it made of the rest."""
        for name in _PLAIN:
            setattr(self, name, getattr(of, name))
        self._parts = parts

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs, oldest first."""
        return self._parts["runs"]  # type: ignore[no-any-return]

    @property
    def batches(self) -> Batches:
        """The columns, oldest batch first."""
        return self._parts["batches"]  # type: ignore[no-any-return]

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Missing batches as (batch before, batch after)."""
        return self._parts["gaps"]  # type: ignore[no-any-return]

    @property
    def run_gaps(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The gaps of each run."""
        return self._parts["run_gaps"]  # type: ignore[no-any-return]

    @property
    def recent(self) -> tuple[Progress, ...]:
        """The latest records."""
        return self._parts["recent"]  # type: ignore[no-any-return]

    @property
    def trigger(self) -> Trigger | None:
        """What starts the batches."""
        return self._parts["trigger"]  # type: ignore[no-any-return]

    def snapshot(self) -> Snapshot:
        """Itself."""
        return self

    def _writing(self) -> AbstractContextManager[Any]:
        raise TypeError("A snapshot of a history cannot be changed; change the history that it was taken from.")
