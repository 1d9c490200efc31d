"""How a checkpoint looks in a terminal and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from IPython.lib.pretty import pretty

import jupyter_streamwatch as sw
from tests.unit.checkpoints import real

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.oldest
@pytest.mark.parametrize("case", ["4.3-join", "4.3-with-state", "3.5-aggregate", "4.3-files"])
def test_terminal(case: str, tmp_path: Path) -> None:
    """Under thirty lines, none too wide, labels in one column; first what it holds, then what happens next."""
    found = sw.checkpoint(real.unpack(case, tmp_path / "orders"))
    lines = str(found).splitlines()
    assert len(lines) < 30
    assert max(len(line) for line in lines) <= 112
    assert lines[0] == f"Checkpoint  {tmp_path / 'orders'}" or "…" in lines[0]
    assert lines[1] == f"Query id    {found.id}"
    assert "\n\nThe next start runs batch " in str(found)
    assert all(line[:11].strip() or line.startswith("            ") for line in lines[: lines.index("")])


def test_operator_lines(tmp_path: Path) -> None:
    """The operator with its partitions, store and version; its key and value under it."""
    text = str(sw.checkpoint(real.unpack("4.3-aggregate", tmp_path / "x")))
    assert "State       0 stateStoreSave, 2 partitions, HDFS, version 3, 1.03 KiB" in text
    assert "(window struct<start:timestamp,end:timestamp>, city string) → (count bigint, sum double)" in text
    assert "Pinned      state store HDFSBacked, watermark policy min, shuffle partitions 2, 14 more settings" in text
    older = str(sw.checkpoint(real.unpack("3.5-aggregate", tmp_path / "y")))
    assert "0 stateStoreSave, judged by its schema, 2 partitions" in older


def test_notebook(tmp_path: Path) -> None:
    """Text and a plain table, with the same rows; many sources and problems are counted, not listed."""
    folder = real.unpack("4.3-files", tmp_path / "x")
    (folder / "offsets/1").write_text("v1\n{}\n" + "\n".join(f'{{"logOffset":{number}}}' for number in range(40)))
    found = sw.checkpoint(folder)
    bundle = found._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "and 37 more" in bundle["text/plain"]
    assert "and 37 more" in bundle["text/html"]
    assert len(bundle["text/plain"].splitlines()) < 40


def test_a_source_is_told_from_a_count(tmp_path: Path) -> None:
    """The number of a source does not read as how many files it has."""
    text = str(sw.checkpoint(real.unpack("4.3-files", tmp_path / "x")))
    assert "Source      source 0 (files): entry " in text


def test_a_plan_in_a_cell_is_its_sentences(tmp_path: Path) -> None:
    """``cp.restart()`` as the last line of a cell shows what a person reads, not a dataclass."""
    plan = sw.checkpoint(real.unpack("4.3-files", tmp_path / "x")).restart()
    assert pretty(plan) == str(plan)
