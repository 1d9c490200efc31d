"""Diagnosis of one query: does it keep up, why not, and what to paste."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis import checkpointing as _checkpointing
from jupyter_streamwatch.diagnosis import delivery as _delivery
from jupyter_streamwatch.diagnosis import event_time as _event_time

# The rules register themselves.
from jupyter_streamwatch.diagnosis import failures as _failures
from jupyter_streamwatch.diagnosis import metrics as _metrics
from jupyter_streamwatch.diagnosis import partitions as _partitions
from jupyter_streamwatch.diagnosis import processing as _processing
from jupyter_streamwatch.diagnosis import recomputation as _recomputation
from jupyter_streamwatch.diagnosis import sources as _sources
from jupyter_streamwatch.diagnosis import state as _state
from jupyter_streamwatch.diagnosis import throughput as _throughput
from jupyter_streamwatch.diagnosis.engine import diagnose
from jupyter_streamwatch.diagnosis.hint import LABELS, LEVELS, Capacity, Diagnosis, Effect, Evidence, Hint
from jupyter_streamwatch.diagnosis.registry import Rule, Rules, rules
from jupyter_streamwatch.diagnosis.thresholds import Thresholds

__all__ = [
    "LABELS",
    "LEVELS",
    "Capacity",
    "Diagnosis",
    "Effect",
    "Evidence",
    "Hint",
    "Rule",
    "Rules",
    "Thresholds",
    "diagnose",
    "rules",
]
