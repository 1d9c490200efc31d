"""The views of a watch: who is told of changes, and whether any of them is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Views:
    """Subscribers that are told after something changed; what one of them raises stops none of the others."""

    def __init__(self, note: Callable[[str], None]) -> None:
        """``note`` keeps a sentence about what went wrong."""
        self._note = note
        self._subscribers: list[Callable[[], None]] = []
        self._looked_at = 0

    @property
    def shown(self) -> bool:
        """Whether a view is visible."""
        return self._looked_at > 0

    def show(self, visible: bool) -> None:
        """One view more (True) or less (False) is visible."""
        self._looked_at = max(0, self._looked_at + (1 if visible else -1))

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback()`` after each change; returns a function that ends it."""
        self._subscribers.append(callback)

        def remove() -> None:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

        return remove

    def tell(self) -> None:
        """Tell every subscriber that something changed."""
        for callback in tuple(self._subscribers):
            self._call(callback)

    def _call(self, callback: Callable[[], None]) -> None:
        try:
            callback()
        except Exception as error:
            self._note(f"A view could not be told of a change: {type(error).__name__}: {error}")
