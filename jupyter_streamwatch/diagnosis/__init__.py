"""Diagnosis of one query: does it keep up, why not, and what to paste."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis import rules as _rules  # noqa: F401 - the rules register themselves
from jupyter_streamwatch.diagnosis.engine import ADD_BATCH, diagnose
from jupyter_streamwatch.diagnosis.errors import Failure
from jupyter_streamwatch.diagnosis.registry import Rule, Rules, rules
from jupyter_streamwatch.diagnosis.result import (
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
