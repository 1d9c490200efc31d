"""Two saved histories of one query as one: a file that was gone on with may know runs that the later watch does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.model import values as v

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FILL = (0, 0, None, None)  # sum, known values, minimum and maximum of a column that a bin does not have


def run_ids(history: Mapping[str, Any]) -> set[Any]:
    """Ids of the runs of a saved history."""
    return {run.get("runId") for run in v.mappings(history.get("runs"))}


def joined(before: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any]:
    """``after``, with the runs, rows and bins of ``before`` whose runs it does not have."""
    newer = v.mappings(after.get("runs"))
    older = [(at, run) for at, run in enumerate(before["runs"]) if run["runId"] not in run_ids(after)]
    if not older:
        return after
    numbers = {at: place for place, (at, _) in enumerate(older)}
    rows, bins = dict(v.items(after.get("rows"))), dict(v.items(after.get("bins")))
    kept = [at for at, run in enumerate(before["rows"][""]) if run in numbers]
    old_bins = before["bins"]
    if bins.get("count"):  # bins stand before rows, and all of ``before`` is older
        old_bins, kept = _with_rows(old_bins, before["rows"], kept), []
    old_runs = old_bins["columns"].get("", [[]])[0]
    kept_bins = [at for at, run in enumerate(old_runs) if run in numbers]
    counts = [old_bins["count"][at] for at in kept_bins]
    return {
        **after,
        "runs": [run for _, run in older] + newer,
        "seen": (v.count(after.get("seen")) or 0) + len(kept) + sum(counts),
        "rows": _joined_rows(before["rows"], rows, kept, numbers),
        "bins": {
            "size": max(old_bins["size"] if counts else 1, v.count(bins.get("size")) or 1),
            "count": counts + list(bins.get("count") or []),
            "columns": _joined_bins(old_bins["columns"], bins, kept_bins, numbers),
        },
    }


def _with_rows(bins: Mapping[str, Any], rows: Mapping[str, list[Any]], kept: list[int]) -> dict[str, Any]:
    """The bins, and each row as a bin of one batch."""
    count = len(bins["count"])
    columns = {}
    for name in dict.fromkeys([*bins["columns"], *rows]):
        values = _at(rows.get(name), kept, None)
        one_each = ([x or 0 for x in values], [int(x is not None) for x in values], values, values)
        held = bins["columns"].get(name, [[fill] * count for fill in _FILL])
        columns[name] = [first + second for first, second in zip(held, one_each, strict=True)]
    return {"size": bins["size"], "count": bins["count"] + [1] * len(kept), "columns": columns}


def _joined_rows(
    old: Mapping[str, list[Any]], new: Mapping[str, list[Any]], kept: list[int], numbers: Mapping[int, int]
) -> dict[str, list[Any]]:
    length = len(new.get("", []))
    rows = {
        name: _at(old.get(name), kept, None) + new.get(name, [None] * length) for name in dict.fromkeys([*old, *new])
    }
    rows[""] = [numbers[old[""][at]] for at in kept] + [run + len(numbers) for run in new.get("", [])]
    return rows


def _joined_bins(
    old: Mapping[str, list[list[Any]]], bins: Mapping[str, Any], kept: list[int], numbers: Mapping[int, int]
) -> dict[str, list[list[Any]]]:
    new, length = dict(v.items(bins.get("columns"))), len(bins.get("count") or [])
    columns = {}
    for name in dict.fromkeys([*old, *new]):
        blank = [[fill] * length for fill in _FILL]
        parts = zip(old.get(name, [None] * 4), new.get(name, blank), _FILL, strict=True)
        columns[name] = [_at(first, kept, fill) + second for first, second, fill in parts]
    if "" in columns:
        old_runs = old.get("", [[]])[0]
        new_runs = new.get("", [[]])[0]
        columns[""][0] = [numbers[old_runs[at]] for at in kept] + [run + len(numbers) for run in new_runs]
    return columns


def _at(values: list[Any] | None, places: Iterable[int], fill: Any) -> list[Any]:
    return [fill if values is None else values[at] for at in places]
