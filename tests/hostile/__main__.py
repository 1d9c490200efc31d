"""``make hostile``: attacks on what is kept, shown and written, and what became of each, as a table.

Exit code 1 when one went through. ``SEEDS=N`` damages N files instead of 500.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch import testing
from jupyter_streamwatch.dashboard.messages import Delivery
from jupyter_streamwatch.diagnosis import diagnose
from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.report import write
from jupyter_streamwatch.report.static import static
from jupyter_streamwatch.text.outside import REPR
from tests.hostile import crash, damage, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_streamwatch.recordings.recording import Recording

Result = tuple[str, str, bool]
"""What was attacked, a figure, and whether it held."""

SUFFIXES = (".html", ".md", ".json")
CRASHES = 50


def crashes(folder: Path) -> Iterator[Result]:
    """A recording process that is killed again and again."""
    path = folder / "run.jsonl"
    written = crash.crash(str(path), CRASHES, 1)
    recording = load(path)
    batches = [p.batchId for p in recording.progress]
    lost = len(set(written) - set(batches))
    yield f"kill -9, {CRASHES} times", f"{len(written)} events written, {lost} lost", not lost
    yield "  read twice", str(len(batches) - len(set(batches))), len(batches) == len(set(batches))


def texts(folder: Path) -> Iterator[Result]:
    """Twenty queries of which every text is 100 kB, and whose errors are 1 MB."""
    recording = names.recording(
        *(names.query(at, "x y", names.LONG, error=1_000_000) for at in range(20)), evil="x y", length=names.LONG
    )
    yield from _written(folder, "20 queries, texts of 100 kB, errors of 1 MB", recording, 8e6)


def characters(folder: Path) -> Iterator[Result]:
    """Names of control characters, halves of characters, formulas and markup, beside nineteen calm queries."""
    for kind, evil in names.CHARACTERS.items():
        calm = [names.query(at, f"query {at}", batches=3) for at in range(1, 20)]
        recording = names.recording(names.query(0, evil, error=500, batches=3), *calm, evil=evil)
        yield from _written(folder, f"a name that is a {kind}", recording, 8e6)


def many(folder: Path) -> Iterator[Result]:
    """Sixty queries at once."""
    sizes, times = {}, {}
    for number in (6, 60):
        queries = [testing.history(batches=200, id=f"{at:08x}-0000", name=f"query {at}") for at in range(number)]
        for suffix in SUFFIXES:
            before = time.process_time()
            write(folder / f"r{suffix}", queries)
            times[suffix, number] = time.process_time() - before
            sizes[suffix, number] = (folder / f"r{suffix}").stat().st_size
        before = time.process_time()
        sizes["message", number] = len(_message(queries))
        times["message", number] = time.process_time() - before
    for what in (*SUFFIXES, "message"):
        grown, slower = sizes[what, 60] / sizes[what, 6], times[what, 60] / times[what, 6]
        yield f"60 queries against 6: {what}", f"{grown:.1f} times as large, {slower:.1f} as long", grown < 11


def damages(folder: Path) -> Iterator[Result]:
    """Recordings and logs that were damaged."""
    seeds, broken = int(os.environ.get("SEEDS", "500")), []
    for seed in range(seeds):
        data = damage.damaged(random.Random(seed))
        (folder / "damaged").write_bytes(data if seed % 2 else b'{"streamwatch":1}\n' + data)
        try:
            recording = load(folder / "damaged")
            for query in recording.queries.values():
                str(diagnose(query))
                query.to_pandas()
            write(folder / "r.md", recording)
            recording.save(folder / "again.jsonl")
        except Exception as error:
            broken.append(f"seed {seed}: {type(error).__name__}: {error}")
    yield f"{seeds} damaged files", f"{len(broken)} broke something", not broken
    yield from ((f"  {sentence:.70}", "", False) for sentence in broken[:5])


def memory(folder: Path) -> Iterator[Result]:
    """Frames while all memory that nothing was written to holds huge numbers."""
    history, empty = testing.history(batches=50, eventTime={}), np.empty

    def dirty(*given, **named):
        made = empty(*given, **named)
        if made.dtype.kind == "f":
            made[...] = 1e308
        return made

    np.empty = dirty
    try:
        history.to_pandas()
        held = True
    except FloatingPointError:
        held = False
    finally:
        np.empty = empty
    yield "to_pandas on dirty memory", "a frame" if held else "FloatingPointError", held


def _written(folder: Path, what: str, recording: Recording, most: float) -> Iterator[Result]:
    figures, held = [], True
    before = time.process_time()
    for suffix in SUFFIXES:
        write(folder / f"r{suffix}", recording)
        size = (folder / f"r{suffix}").stat().st_size
        figures.append(f"{suffix[1:]} {size / 1e6:.2f} MB")
        held = held and size < most and "\x1b" not in (folder / f"r{suffix}").read_text()
    message = _message(list(recording.queries.values()))
    figures.append(f"message {len(message) / 1e6:.2f} MB")
    recording.save(folder / "saved.jsonl")
    again = load(folder / "saved.jsonl")
    longest = max(len(repr(each)) for query in recording.queries.values() for each in (query, query.last, query.facts))
    figures.append(f"repr {longest}")
    figures.append(f"{time.process_time() - before:.1f} s")
    held = held and len(message) < most and len(again.queries) == len(recording.queries) and longest <= REPR
    static(recording).text.encode()
    yield what, ", ".join(figures), held and not list(folder.glob("*.part"))


def _message(queries: list) -> bytes:
    session = SimpleNamespace(state="live", text="")
    message = Delivery(SimpleNamespace(session=session, histories=lambda: queries)).snapshot()
    return json.dumps(message, ensure_ascii=False, allow_nan=False).encode()


ATTACKS: tuple[Callable[[Path], Iterator[Result]], ...] = (crashes, memory, texts, characters, many, damages)


def main() -> int:
    """Run all attacks; 1 when one of them went through."""
    through = 0
    for attack in ATTACKS:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            results = attack(Path(folder))
            for what, figure, held in results:
                through += not held
                print(f"{'held   ' if held else 'THROUGH'}  {what:<46}  {figure}", flush=True)
    print(f"{through} went through." if through else "All held.")
    return bool(through)


if __name__ == "__main__":
    sys.exit(main())
