"""Watch Spark Structured Streaming queries live in a notebook.

The public names are loaded when they are first used: ``import jupyter_streamwatch`` imports neither
pyspark, bokeh, IPython nor pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_streamwatch.checkpoints import checkpoint as checkpoint
    from jupyter_streamwatch.diagnosis import Thresholds as Thresholds
    from jupyter_streamwatch.diagnosis import diagnose as diagnose
    from jupyter_streamwatch.diagnosis import rules as rules
    from jupyter_streamwatch.model.history import History as History
    from jupyter_streamwatch.model.progress import Progress as Progress
    from jupyter_streamwatch.model.progress import parse as parse
    from jupyter_streamwatch.recordings.load import load as load
    from jupyter_streamwatch.recordings.recording import Recording as Recording
    from jupyter_streamwatch.watcher import Watch as Watch
    from jupyter_streamwatch.watcher import watch as watch

__version__ = "0.1.0"

_HOMES = {
    "History": "model.history",
    "Progress": "model.progress",
    "Recording": "recordings.recording",
    "Thresholds": "diagnosis",
    "Watch": "watcher",
    "checkpoint": "checkpoints",
    "diagnose": "diagnosis",
    "load": "recordings.load",
    "parse": "model.progress",
    "rules": "diagnosis",
    "watch": "watcher",
}

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604 - the names of _HOMES are strings


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """Register ``%streamwatch`` and ``%%streamwatch`` (``%load_ext jupyter_streamwatch``)."""
    from jupyter_streamwatch.notebook import magic

    magic.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magic and stop watching (``%unload_ext jupyter_streamwatch``)."""
    from jupyter_streamwatch.notebook import magic

    magic.unload(shell)
