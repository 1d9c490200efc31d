"""Diagnosis of one query: does it keep up, why not, and what to paste."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis import (  # noqa: F401 - the rules register themselves
    checkpointing,
    delivery,
    ends,
    event_time,
    failures,
    limits,
    metrics,
    partitions,
    processing,
    recomputation,
    sources,
    state,
    throughput,
    trend,
)
from jupyter_streamwatch.diagnosis.engine import ADD_BATCH, diagnose
from jupyter_streamwatch.diagnosis.errors import Failure
from jupyter_streamwatch.diagnosis.hint import (
    LABELS,
    LEVELS,
    Backlog,
    Capacity,
    Diagnosis,
    Effect,
    Evidence,
    Hint,
    Outcome,
)
from jupyter_streamwatch.diagnosis.registry import Rule, Rules, rules
from jupyter_streamwatch.diagnosis.thresholds import Thresholds

__all__ = [
    "ADD_BATCH",
    "LABELS",
    "LEVELS",
    "Backlog",
    "Capacity",
    "Diagnosis",
    "Effect",
    "Evidence",
    "Failure",
    "Hint",
    "Outcome",
    "Rule",
    "Rules",
    "Thresholds",
    "diagnose",
    "rules",
]
