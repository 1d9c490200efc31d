"""The rules, one family a file; importing this registers them all."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.rules import (  # noqa: F401 - each registers its rules
    checkpointing,
    delivery,
    event_time,
    failures,
    growth,
    lost,
    metrics,
    partitions,
    processing,
    recomputation,
    sources,
    state,
    throughput,
    trend,
)
