"""The kinds of failure, a family a file; of those that fit one cause the first one here wins."""

from jupyter_streamwatch.diagnosis.errors.kinds import program  # noqa: I001 - the order is the order of judging
from jupyter_streamwatch.diagnosis.errors.kinds import plan
from jupyter_streamwatch.diagnosis.errors.kinds import processes
from jupyter_streamwatch.diagnosis.errors.kinds import runs
from jupyter_streamwatch.diagnosis.errors.kinds import storage
from jupyter_streamwatch.diagnosis.errors.kinds import checkpoint
from jupyter_streamwatch.diagnosis.errors.kinds import state
from jupyter_streamwatch.diagnosis.errors.kinds import kafka
from jupyter_streamwatch.diagnosis.errors.kinds import classpath
from jupyter_streamwatch.diagnosis.errors.kinds import tables
from jupyter_streamwatch.diagnosis.errors.kinds import rows
from jupyter_streamwatch.diagnosis.errors.kinds import python
from jupyter_streamwatch.diagnosis.errors.kinds import files
from jupyter_streamwatch.diagnosis.errors.kinds import functions

__all__ = [
    "checkpoint",
    "classpath",
    "files",
    "functions",
    "kafka",
    "plan",
    "processes",
    "program",
    "python",
    "rows",
    "runs",
    "state",
    "storage",
    "tables",
]
