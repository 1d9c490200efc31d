"""Pages without a browser: what the kernel sends is applied by the store that a real page has, in node."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parent.parent / "labextension" / "test" / "pages.mjs"


class Pages:
    """One node process with the stores of any number of pages."""

    def __init__(self) -> None:
        self._node = subprocess.Popen(["node", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._count = 0

    def close(self) -> None:
        """End node, which has nothing more to read."""
        self._node.communicate()

    def open(self, snapshot: dict[str, Any]) -> Page:
        """Return a page that attached with this picture."""
        self._count += 1
        return Page(self, self._count, snapshot)

    def tell(self, page: int, message: dict[str, Any]) -> dict[str, Any]:
        """Give a page a message; return what came of it and what the page knows then."""
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        self._node.stdin.write(json.dumps({"page": page, "message": message}, allow_nan=False) + "\n")
        self._node.stdin.flush()
        answer = self._node.stdout.readline()
        assert answer, f"node ended, code {self._node.wait()}: is labextension/node_modules there?"
        return json.loads(answer)  # type: ignore[no-any-return]


class Page:
    """What one page knows: each message is applied, too old, or shows that one before it was lost."""

    def __init__(self, pages: Pages, name: int, snapshot: dict[str, Any]) -> None:
        self._pages, self._name = pages, name
        self.outcomes: list[str] = []
        self.apply({"type": "snapshot", **snapshot})

    def apply(self, message: dict[str, Any] | None) -> None:
        """Take the message that the kernel has for this page."""
        assert message is not None, "the kernel sent nothing"
        state = self._pages.tell(self._name, message)
        self.outcomes.append(state["outcome"])
        self.lines: dict[str, dict[str, Any]] = {line["id"]: line for line in state["lines"]}
        self.selected: str | None = state["selected"]
        self.data: dict[str, dict[str, list[Any]]] = state["data"]
