"""The batches of a history as immutable columns: what views and rules read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from jupyter_streamwatch.model.values import moment
from jupyter_streamwatch.text.numbers import middle
from jupyter_streamwatch.text.outside import cut

Floats: TypeAlias = NDArray[np.float64]
Array = TypeVar("Array", bound=NDArray[Any])

STATE = (
    "numRowsTotal",
    "numRowsUpdated",
    "numRowsRemoved",
    "numRowsDroppedByWatermark",
    "memoryUsedBytes",
    "allUpdatesTimeMs",
    "allRemovalsTimeMs",
    "commitTimeMs",
    "numShufflePartitions",
    "numStateStoreInstances",
)
BASE = (
    "",  # the number of the run
    "batchId",
    "kind",  # 1 data, 0 no-data
    "timestamp",
    "batchDuration",
    "numInputRows",
    "inputRowsPerSecond",
    "processedRowsPerSecond",
    "eventTime.watermark",
    "eventTime.max",
    "eventTime.min",
    "eventTime.avg",
    *(f"state.{name}" for name in STATE),
    "backlog",
    "sink.numOutputRows",
)
"""Columns that every history has, in the order in which they are stored."""

TIMES = frozenset({"timestamp", "eventTime.watermark", "eventTime.max", "eventTime.min", "eventTime.avg"})
_OF_FIRST = [BASE.index(name) for name in ("", "batchId", "timestamp")]
_RUN, _KIND = BASE.index(""), BASE.index("kind")
_ORDER = ("batchId", "runId", "kind", "timestamp", "batchDuration", "numInputRows", "inputRowsPerSecond",
          "processedRowsPerSecond", "durationMs.", "eventTime.", "state.", "backlog", "sink.", "count", "state[",
          "source[", "tasks.")  # fmt: skip


@dataclass(frozen=True)
class Bins:
    """Thinned rows, oldest first: sums and numbers of known values, minima and maxima; arrays (bins, columns).

    All bins hold ``size`` batches but the newest, which may still be filling. A bin stands at its first batch.
    """

    size: int
    count: NDArray[np.int64]
    total: Floats
    known: Floats
    low: Floats
    high: Floats

    @classmethod
    def empty(cls, width: int) -> Bins:
        """No bins yet."""
        none = np.empty((0, width))
        return cls(1, np.empty(0, dtype=np.int64), none, none, none, none)

    def joined(self, rows: Floats, width: int, most: int) -> Bins:
        """These bins and ``rows`` after them, in at most ``most`` bins: their size doubles until they fit."""
        rows = _wide(rows, width, np.nan)
        known = ~np.isnan(rows)
        ones = np.ones(len(rows), dtype=np.int64)
        new = Bins(self.size, ones, np.where(known, rows, 0.0), known.astype(float), rows, rows)
        batches, size = int(self.count.sum()) + len(rows), self.size
        while (batches - 1) // size + 1 > most:
            size *= 2
        if size != self.size:
            return _chained(self, new, width).merged(size)
        full = len(self.count) - bool(len(self.count) and self.count[-1] < size)  # only the newest may be filling
        return _chained(self.between(0, full), _chained(self.between(full, None), new, width).merged(size), width)

    def between(self, start: int, end: int | None) -> Bins:
        """Some of the bins."""
        cut = slice(start, end)
        return Bins(self.size, self.count[cut], self.total[cut], self.known[cut], self.low[cut], self.high[cut])

    def merged(self, size: int) -> Bins:
        """Bins of ``size`` made of these."""
        starts = np.flatnonzero(np.diff((np.cumsum(self.count) - 1) // size, prepend=-1))
        total, known = np.add.reduceat(self.total, starts), np.add.reduceat(self.known, starts)
        low, high = np.fmin.reduceat(self.low, starts), np.fmax.reduceat(self.high, starts)
        # A mean of run numbers, ids or start times says nothing: a bin stands at its first batch,
        # and is of kind data when any of its batches is.
        total[:, _OF_FIRST], known[:, _OF_FIRST] = self.total[starts][:, _OF_FIRST], self.known[starts][:, _OF_FIRST]
        total[:, _KIND], known[:, _KIND] = high[:, _KIND], 1.0
        return Bins(size, np.add.reduceat(self.count, starts), total, known, low, high)

    def mean(self, column: int) -> Floats:
        """Mean of the known values of each bin; NaN where none is known."""
        if column >= self.total.shape[1]:
            return np.full(len(self.count), np.nan)
        known = self.known[:, column]
        mean = np.full(len(known), np.nan)
        np.divide(self.total[:, column], known, out=mean, where=known > 0)
        return mean


class Batches(Mapping[str, NDArray[Any]]):
    """Columns of the batches of a query, oldest first; one row a batch, or a bin of older batches (``count``).

    Times are aware UTC datetimes (None when unknown), ``batchId`` is int64 when all are known, ``runId`` and ``kind``
    are text, everything else is float64 with NaN for unknown. In a bin a column is the mean of its known values.
    Arrays are read-only. ``len()`` is the number of columns, ``.rows`` the number of rows.
    """

    def __init__(
        self,
        index: Mapping[str, int],
        width: int,
        bins: Bins,
        chunks: tuple[tuple[Floats, int], ...],
        runs: tuple[tuple[str, ...], NDArray[np.intp]],
    ) -> None:
        """Share ``chunks`` of (rows, number in use) and the ``runs``: their ids, and the place of a run's number there.

        ``index`` may grow later, but only ``width`` columns are ours.
        """
        self._index, self._width, self._bins, self._chunks = index, width, bins, chunks
        self._runs = runs
        self._made: dict[tuple[str, str], NDArray[Any]] = {}
        self._names: tuple[str, ...] | None = None
        self.rows = len(bins.count) + sum(used for _, used in chunks)
        self.thinned = len(bins.count)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: those of every history first, then what its batches brought."""
        if self._names is None:
            own = [name for name, at in list(self._index.items()) if name and at < self._width]
            self._names = tuple(sorted([*own, "runId", "count"], key=_rank))
        return self._names

    def numbers(self, name: str) -> Floats:
        """A column as float64: times as epoch ms, unknown as NaN; all NaN when there is no such column."""
        return self._column(name, "mean")

    def minimum(self, name: str) -> Floats:
        """The smallest value of each row: the value itself, but in bins of older batches."""
        return self._column(name, "low")

    def maximum(self, name: str) -> Floats:
        """The largest value of each row: the value itself, but in bins of older batches."""
        return self._column(name, "high")

    def tail(self, rows: int) -> Batches:
        """The newest ``rows`` of the batches kept in full, or all of these, at the same cost however many there are."""
        parts: list[Floats] = []
        held = 0
        for data, used in reversed(self._chunks):
            if held >= rows:
                break
            parts.insert(0, data[max(used - (rows - held), 0) : used, : self._width])
            held += len(parts[0])
        # One block, column after column: whoever reads a few columns finds each in one piece.
        block = np.full((held, self._width), np.nan, order="F")
        at = 0
        for part in parts:
            block[at : at + len(part), : part.shape[1]] = part
            at += len(part)
        return Batches(self._index, self._width, Bins.empty(self._width), ((block, held),), self._runs)

    def taken(self, rows: NDArray[np.intp]) -> Batches:
        """The rows at these places alone, each as one batch."""
        block = np.full((len(rows), self._width), np.nan)
        for name, at in list(self._index.items()):
            if at < self._width:
                block[:, at] = self._column(name, "mean")[rows]
        return Batches(self._index, self._width, Bins.empty(self._width), ((block, len(rows)),), self._runs)

    @property
    def count(self) -> NDArray[np.int64]:
        """Batches in each row: 1, or the size of a bin."""
        return self._once("count", "", self._counts)

    @property
    def isData(self) -> NDArray[np.bool_]:
        """Whether each row is of kind data."""
        return self._once("isData", "", lambda: self.numbers("kind") > 0)

    @property
    def runIndex(self) -> NDArray[np.intp]:
        """The place of each row's run in the history's ``runs``."""
        return self._once("runIndex", "", lambda: self._runs[1][self._column("", "mean").astype(np.intp)])

    def parts(self) -> tuple[dict[str, Floats], Bins, dict[str, int]]:
        """What a recording saves: the full rows by column, the bins, and the columns of the bins' arrays."""
        places = {name: at for name, at in list(self._index.items()) if at < self._width}
        columns = {name: self.numbers(name)[self.thinned :] for name in places}
        columns[""] = self.runIndex[self.thinned :].astype(float)
        first = self._bins.total.copy()
        first[:, _RUN] = self.runIndex[: self.thinned]
        return columns, replace(self._bins, total=first), places

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The column as the class describes it; KeyError when there is none."""
        if name == "count":
            return self.count
        if name == "runId":
            return self._once(name, "", lambda: _texts([*self._runs[0], ""])[self.runIndex])
        if not name or self._index.get(name, self._width) >= self._width:
            raise KeyError(cut(f"no column {middle(name, 80)!r} among {', '.join(self.names)}", 2_000))
        if name == "kind":
            return self._once(name, "", lambda: _texts(["no-data", "data"])[self.isData.astype(int)])
        if name in TIMES:
            return self._once(name, "", lambda: _moments(self.numbers(name)))
        if name == "batchId":
            return self._once(name, "", lambda: _whole(self.numbers(name)))
        return self.numbers(name)

    def __iter__(self) -> Iterator[str]:
        """Names of the columns."""
        return iter(self.names)

    def __len__(self) -> int:
        """Number of columns."""
        return len(self.names)

    def __repr__(self) -> str:
        """Sizes only: columns may be long."""
        return f"<Batches: {self.rows} rows, {len(self)} columns>"

    def _counts(self) -> NDArray[np.int64]:
        return np.concatenate([self._bins.count, np.ones(self.rows - self.thinned, dtype=np.int64)])

    def _column(self, name: str, which: str) -> Floats:
        if name == "count":
            return self._once(name, "float", lambda: self.count.astype(float))
        return self._once(name, which if self.thinned else "mean", lambda: self._joined(name, which))

    def _joined(self, name: str, which: str) -> Floats:
        at = self._index.get(name, self._width)
        if at >= self._width or not self.rows:
            return np.full(self.rows, np.nan)
        full = [
            data[:used, at] if at < data.shape[1] else np.full(used, np.nan)  # older than the column
            for data, used in self._chunks
        ]
        if not self.thinned:
            return full[0] if len(full) == 1 else np.concatenate(full)
        bins = self._bins
        if which == "mean":
            old = bins.mean(at)
        else:
            array = bins.low if which == "low" else bins.high
            old = array[:, at] if at < array.shape[1] else np.full(len(array), np.nan)
        return np.concatenate([old, *full])

    def _once(self, name: str, which: str, make: Callable[[], Array]) -> Array:
        """Make an array at its first use; threads that meet here make equal ones."""
        made = self._made.get((name, which))
        if made is None:
            made = self._made[name, which] = make()
            made.setflags(write=False)
        return cast("Array", made)


def _rank(name: str) -> tuple[int, str]:
    place = next((i for i, start in enumerate(_ORDER) if name.startswith(start)), len(_ORDER))
    return place, name if _ORDER[place : place + 1] and _ORDER[place] in ("tasks.", "durationMs.") else ""


def _texts(texts: list[str]) -> NDArray[np.object_]:
    return np.array(texts, dtype=object)


def _moments(ms: Floats) -> NDArray[np.object_]:
    made = np.empty(len(ms), dtype=object)
    made[:] = [moment(value) for value in ms.tolist()]
    return made


def _whole(ids: Floats) -> NDArray[Any]:
    exact = not np.isnan(ids).any() and bool((np.abs(ids) < 2**53).all())
    return ids.astype(np.int64) if exact else ids


def _chained(old: Bins, new: Bins, width: int) -> Bins:
    """Bins one after the other, ``width`` columns wide."""
    joined = (
        np.concatenate([_wide(getattr(old, name), width, fill), getattr(new, name)])
        for name, fill in (("total", 0.0), ("known", 0.0), ("low", np.nan), ("high", np.nan))
    )
    return Bins(new.size, np.concatenate([old.count, new.count]), *joined)


def _wide(array: Floats, width: int, fill: float) -> Floats:
    missing = width - array.shape[1]
    if missing <= 0:
        return array[:, :width]
    return np.concatenate([array, np.full((len(array), missing), fill)], axis=1)
