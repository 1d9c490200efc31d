"""The house: no way around the layers that import-linter holds, no circle, few files at the top, a map that is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "jupyter_streamwatch"
NAME = PACKAGE.name
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
# sys.modules is looked into for libraries that somebody else may have loaded; import_module for the public names, and
# for PySpark's classes that the guard wraps.
LOOKS_FOR_LIBRARIES = {"dashboard.leases", "notebook.guard", "recordings.formats.streams", "spark.bounded"} | {
    "spark.events.open"
}
IMPORTS_BY_NAME = {"", "notebook.guard"}


def imported(module: str) -> set[str]:
    """The modules of the package that a module imports, anywhere in it: in functions and for types, too."""
    found = set()
    for node in ast.walk(ast.parse(FILES[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in FILES}
        elif isinstance(node, ast.ImportFrom) and node.module in FILES:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else node.module for name in below}
    return found


def short(module: str) -> str:
    return module.removeprefix(NAME).removeprefix(".")


@pytest.mark.parametrize("module", sorted(FILES, key=len))
def test_nobody_goes_around_the_layers(module):
    """Not by the root package, which knows every public name, nor by names of modules that no linter sees."""
    source = FILES[module].read_text()
    assert NAME not in imported(module)
    assert "sys.modules" not in source or short(module) in LOOKS_FOR_LIBRARIES
    assert "import_module" not in source or short(module) in IMPORTS_BY_NAME
    assert "__import__" not in source


def test_there_is_no_circle_of_modules():
    """Neither of imports at the top, nor of lazy ones, nor of those for types; a package counts as its own file."""
    left = {module: imported(module) for module in FILES if module != NAME}
    while free := {module for module, needs in left.items() if not needs & left.keys()}:
        left = {module: needs for module, needs in left.items() if module not in free}
    assert not left


def test_the_top_of_the_package_is_small():
    """At most ten files; everything else has a room."""
    assert len([path for path in PACKAGE.iterdir() if path.is_file()]) <= 10


def test_the_map_of_rooms_is_the_tree():
    """CONTRIBUTING names every folder of the package and of the page's sources, and none that is not there."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    told = set(re.findall(r"^\| `((?:jupyter_streamwatch|labextension/src)/[\w/]*)` \|", text, re.MULTILINE))
    sources = [PACKAGE, ROOT / "labextension" / "src"]
    there = {
        f"{folder.relative_to(ROOT)}/"
        for source in sources
        for folder in source.rglob("*")
        if any(folder.glob("*.py")) or any(folder.glob("*.ts"))
    }
    assert told == there
