"""The checkpoint of a streaming query: what it holds, and what the next start on it does.

Read-only, whatever happens. Needs neither Spark nor pyspark for folders of this machine and for URLs of fsspec.
"""

from __future__ import annotations

from jupyter_streamwatch.checkpoints.facade import Checkpoint
from jupyter_streamwatch.checkpoints.opening import checkpoint

__all__ = ["Checkpoint", "checkpoint"]
