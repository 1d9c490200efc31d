"""What can be asked of a running query, beside its events.

Every function here answers in bounded time and never raises: what Spark does not say, or says under another name, is
None or missing. Private names of Spark stay in ``spark``.
"""

from __future__ import annotations

from jupyter_streamwatch.spark.plans.shape import shape
from jupyter_streamwatch.spark.plans.started import written
from jupyter_streamwatch.spark.probe.about import facts
from jupyter_streamwatch.spark.probe.batch_tasks import tasks
from jupyter_streamwatch.spark.probe.running_batch import by_status, running
from jupyter_streamwatch.spark.probe.session import active, environment, reported, status
from jupyter_streamwatch.text import spark_names as names

__all__ = [
    "active",
    "by_status",
    "environment",
    "facts",
    "names",
    "reported",
    "running",
    "shape",
    "status",
    "tasks",
    "written",
]
