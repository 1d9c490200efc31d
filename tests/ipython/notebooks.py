"""A notebook that is run once, in a real kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nbformat
from nbclient import NotebookClient

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def ran(sources: dict[str, str], here: Path, **places: Path) -> dict[str, nbformat.NotebookNode]:
    """Run cells one after the other in ``here``, errors or not; returns them by name.

    In a source ``{root}``, ``{here}`` and the names of ``places`` stand for paths.
    """
    notebook = nbformat.v4.new_notebook()
    for name, source in sources.items():
        text = source.format(root=str(ROOT), here=str(here), **places) if "{" in source else source
        notebook.cells.append(nbformat.v4.new_code_cell(text))
        notebook.cells[-1].metadata["name"] = name
    NotebookClient(
        notebook, timeout=300, allow_errors=True, kernel_name="python3", resources={"metadata": {"path": str(here)}}
    ).execute()
    return {cell.metadata["name"]: cell for cell in notebook.cells}
