"""Growing columns of numbers with immutable snapshots: one row a batch, the oldest thinned into bins.

Rows live in chunks that snapshots share. A row is written once; who changes one that a snapshot shares (the tasks of
a batch may come late) copies its chunk first. Appending therefore costs the same however long the history is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jupyter_streamwatch.model.batches import BASE, Batches, Bins

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

CHUNK = 512
"""Rows of a chunk: small enough to copy in passing (0.1 ms), large enough to be few."""
MOST_BINS = 1024
MOST_COLUMNS = 600
"""Names come from outside: a query with endless ones must not make endless columns."""
_STEP = 16

_NAN = float("nan")
RUN, TIMESTAMP, BATCH, KIND = (BASE.index(name) for name in ("", "timestamp", "batchId", "kind"))


@dataclass
class _Chunk:
    data: Floats
    used: int = 0
    shared: int = 0  # rows that a snapshot may hold

    def own(self) -> None:
        """Make the rows ours alone again."""
        self.data, self.shared = self.data.copy(), 0

    def widen(self, width: int) -> None:
        if width > self.data.shape[1]:
            wide = _unknown(len(self.data), -(-width // _STEP) * _STEP)
            wide[:, : self.data.shape[1]] = self.data
            self.data, self.shared = wide, 0


class Table:
    """The columns of one history. Not thread-safe: its history locks."""

    def __init__(self, keep: int) -> None:
        """Keep at least ``keep`` rows in full."""
        self.keep = keep
        self.index: dict[str, int] = {name: i for i, name in enumerate(BASE)}
        self.rows = 0  # rows in full
        self.chunks: list[_Chunk] = []
        self.bins = Bins.empty(len(BASE))

    def column(self, name: str) -> int | None:
        """The number of a column, made when it is new; None when there are too many already."""
        found = self.index.get(name)
        if found is None and len(self.index) < MOST_COLUMNS:
            found = self.index[name] = len(self.index)
        return found

    def append(self, values: Mapping[str, float], *, newest: bool) -> bool:
        """Add a row at its place in time, the ``newest`` at the end; True when that is the end, as nearly always."""
        row = [_NAN] * len(self.index)
        places = self.index
        for name, value in values.items():
            at = places[name] if name in places else self.column(name)
            if at is None:
                continue
            if at >= len(row):
                row.extend([_NAN] * (at + 1 - len(row)))
            row[at] = value
        self.rows += 1
        last = self.chunks[-1] if self.chunks else None
        in_order = newest or last is None or not row[TIMESTAMP] < last.data[last.used - 1, TIMESTAMP]
        if in_order:
            if last is None or last.used == len(last.data):
                last = _Chunk(_unknown(CHUNK, -(-len(self.index) // _STEP) * _STEP))
                self.chunks.append(last)
            last.widen(len(row))
            last.data[last.used, : len(row)] = row
            last.used += 1
        else:
            self._insert(row)
        self._thin()
        return in_order

    def update(self, run: int, batch: int, values: Mapping[str, float]) -> bool:
        """Set values of a row that is kept in full; False when there is no such row."""
        for chunk in reversed(self.chunks):
            data = chunk.data[: chunk.used]
            found = np.flatnonzero((data[:, BATCH] == batch) & (data[:, RUN] == run))
            if len(found):
                places = [(at, value) for name, value in values.items() if (at := self.column(name)) is not None]
                chunk.widen(len(self.index))
                if found[-1] < chunk.shared:
                    chunk.own()
                for at, value in places:
                    chunk.data[found[-1], at] = value
                return True
        return False

    def snapshot(self, run_ids: tuple[str, ...], run_places: NDArray[np.intp]) -> Batches:
        """The columns as they are now; ``run_places`` tells the place in ``run_ids`` of a run's number."""
        for chunk in self.chunks:
            chunk.shared = chunk.used
        return Batches(
            self.index,
            len(self.index),
            self.bins,
            tuple((chunk.data, chunk.used) for chunk in self.chunks),
            (run_ids, run_places),
        )

    def restore(self, rows: Mapping[str, Floats], bins: Bins) -> None:
        """Take the full rows, oldest first, and the bins of a saved history into this empty table."""
        places = {at: values for name, values in rows.items() if (at := self.column(name)) is not None}
        self.rows = len(next(iter(places.values()), ()))
        for start in range(0, self.rows, CHUNK):
            chunk = _Chunk(_unknown(CHUNK, len(self.index)), min(CHUNK, self.rows - start))
            for at, values in places.items():
                chunk.data[: chunk.used, at] = values[start : start + CHUNK]
            self.chunks.append(chunk)
        self.bins = bins

    def _insert(self, row: list[float]) -> None:
        at = len(self.chunks) - 1
        while at > 0 and not self.chunks[at].data[0, TIMESTAMP] <= row[TIMESTAMP]:
            at -= 1
        chunk = self.chunks[at]
        place = int(np.count_nonzero(chunk.data[: chunk.used, TIMESTAMP] <= row[TIMESTAMP]))
        whole = np.insert(chunk.data[: chunk.used], place, np.nan, axis=0)
        width = max(whole.shape[1], len(row))
        parts = [whole] if len(whole) <= CHUNK else [whole[: CHUNK // 2], whole[CHUNK // 2 :]]
        made = []
        for part in parts:
            new = _Chunk(_unknown(CHUNK, width), len(part))
            new.data[: len(part), : part.shape[1]] = part
            made.append(new)
        self.chunks[at : at + 1] = made
        half = len(parts[0]) if place >= len(parts[0]) and len(parts) == 2 else 0
        made[1 if half else 0].data[place - half, : len(row)] = row

    def _thin(self) -> None:
        """Turn the oldest chunk into bins when enough rows are left in full without it."""
        while len(self.chunks) > 1 and self.rows - self.chunks[0].used >= self.keep:
            oldest = self.chunks.pop(0)
            self.rows -= oldest.used
            self.bins = self.bins.joined(oldest.data[: oldest.used], len(self.index), MOST_BINS)


def _unknown(rows: int, width: int) -> Floats:
    return np.full((rows, width), np.nan)
