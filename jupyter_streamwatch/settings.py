"""Settings a person may change: traitlets of one Configurable, the same everywhere.

``%config StreamWatch.theme = "dark"`` in a notebook, ``c.StreamWatch.batches_kept = 2000`` in
``ipython_config.py``, ``jupyter streamwatch report run.jsonl --StreamWatch.theme=dark`` on the command line.
"""

from __future__ import annotations

from traitlets import Enum, Float, Int, TraitError, validate
from traitlets.config import SingletonConfigurable


class StreamWatch(SingletonConfigurable):
    """Settings of jupyter-streamwatch."""

    updates_per_second = Float(4.0, help="Most updates a second that a dashboard sends to the page (0.1 to 4).").tag(
        config=True
    )
    batches_kept = Int(
        10_000,
        help="Batches of a query that are kept in full; older ones are thinned to min, max and mean (at least 100).",
    ).tag(config=True)
    theme = Enum(
        ("auto", "light", "dark"),
        "auto",
        help="Colours of dashboard and reports; auto follows the notebook, in a report its reader.",
    ).tag(config=True)
    probe_seconds = Float(
        3.0, help="Seconds between two looks at the running batch while nothing is shown (1 to 60)."
    ).tag(config=True)

    @validate("updates_per_second")
    def _valid_updates(self, proposal: dict[str, float]) -> float:
        return _within("updates_per_second", proposal["value"], 0.1, 4.0)

    @validate("batches_kept")
    def _valid_kept(self, proposal: dict[str, int]) -> int:
        return int(_within("batches_kept", proposal["value"], 100, 1_000_000))

    @validate("probe_seconds")
    def _valid_probe(self, proposal: dict[str, float]) -> float:
        return _within("probe_seconds", proposal["value"], 1.0, 60.0)


def _within(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise TraitError(f"StreamWatch.{name} must be between {low:,.10g} and {high:,.10g}, not {value:,.10g}.")
    return value
