"""All thresholds in one place, each with its reason and source.

``Thresholds(behind=1.2)`` changes one; ``Thresholds.table()`` lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import NamedTuple


class Row(NamedTuple):
    """One threshold as :meth:`Thresholds.table` lists it."""

    name: str
    value: float
    unit: str
    reason: str
    source: str


def _of(value: float, unit: str, reason: str, source: str = "judgement") -> float:
    made: float = field(default=value, metadata={"unit": unit, "reason": reason, "source": source})
    return made


SPARK = "Spark's own warning about snapshots (4.1 and later)"
GUIDE = "Spark's guide, monitoring streaming queries"
MEASURED = "measured on local Spark 4.3 and 3.5"


@dataclass(frozen=True)
class Thresholds:
    """What counts as late, slow, large or many."""

    # Windows and calm
    window: float = _of(200, "batches", "Bounds the cost of a diagnosis; trends need no more.")
    recent: float = _of(20, "batches", "What is said about now: enough for a median, short enough to follow a change.")
    min_batches: float = _of(3, "batches", "A rate from fewer data batches is chance.")
    min_trend: float = _of(8, "batches", "With fewer, one odd batch makes a trend.")
    steady: float = _of(
        5, "batches", "As `hold`, for the verdict: noise around a bound flips it four times less often.", MEASURED
    )
    hold: float = _of(3, "batches", "A finding must outweigh its absence by this many batches before it is raised.")

    # Does it keep up
    behind: float = _of(1.0, "of the interval", "A batch that takes longer delays the next trigger.", GUIDE)
    capacity: float = _of(0.8, "of the interval", "Beyond it the usual spread of batch times reaches the interval.")
    warm: float = _of(
        1.2, "of the interval", "First batches that still get quicker may end below it: caches, compiled code."
    )
    clear: float = _of(0.05, "of the interval", "A band below each bound, so that a verdict does not flicker.")
    busy: float = _of(0.95, "of the time", "Less than this and the query waits between its batches: it has time left.")
    sure: float = _of(3.0, "standard deviations", "Chance reaches it once in 750 windows (Mann and Kendall's test).")
    backlog_change: float = _of(1.0, "batches", "A backlog that moves by less than one batch is steady.")
    backlog_share: float = _of(0.1, "of the backlog", "As `backlog_change`, where files or bytes a batch are not told.")
    backlog_files: float = _of(10, "files", "Fewer come and go between two batches.")
    backlog_bytes: float = _of(1024.0**2, "bytes", "Less comes and goes between two batches.")
    backlog_ms: float = _of(1_000.0, "ms", "Consumers that keep up are late by less.")

    # Stuck
    stuck_factor: float = _of(5.0, "x usual", "Rare garbage collections and retries stay below it.")
    stuck_least: float = _of(20_000.0, "ms", "Below, nobody has begun to worry.")
    stuck_first: float = _of(600_000.0, "ms", "A first batch has no usual time and may read everything.")
    stuck_quiet: float = _of(10_000.0, "ms", "While tasks finish, a batch is slow, not stuck.")
    stuck_unseen: float = _of(3.0, "x as long", "Where tasks are not seen (Connect), a slow batch looks the same.")

    # Where the time goes
    part: float = _of(0.3, "of the batch", "Checkpoint, planning and listing are usually far below.", MEASURED)
    part_least: float = _of(500.0, "ms", "Healthy parts take 10-150 ms; less is not worth a hint.", MEASURED)
    dominates: float = _of(0.5, "of the batch", "More than all other parts together.")
    slow_batch: float = _of(2_000.0, "ms", "Without an interval, faster batches bother nobody.")
    extreme_batch: float = _of(60_000.0, "ms", "With `extreme_row`, slow without any comparison.")
    extreme_row: float = _of(50.0, "ms a row", "A thousand times what a plain batch needs.", MEASURED)
    extreme_part: float = _of(
        10_000.0, "ms", "A hundred times what listing, planning or a log usually takes.", MEASURED
    )
    long_part: float = _of(2_000.0, "ms", "Twenty times the usual, seen once: worth knowing, no alarm.", MEASURED)
    unaccounted: float = _of(0.3, "of the batch", "Healthy batches miss less than a tenth.", MEASURED)
    unaccounted_least: float = _of(1_000.0, "ms", "Less is not worth a hint.")
    overhead: float = _of(0.8, "of the batch", "Fixed cost beyond it: more rows a batch cost almost nothing.")
    trend_growth: float = _of(1.5, "x", "Batch time over the window, while rows stay flat.")
    trend_rows: float = _of(0.2, "of the rows", "Rows that change by less are flat.")
    trend_least: float = _of(20, "batches", "Slow growth is not told from noise with fewer.")
    peak: float = _of(3.0, "x median time", "Batches of a steady stream stay below it.", MEASURED)
    peaks: float = _of(4, "batches", "So many peaks at one distance are no chance.")
    big_batch: float = _of(10.0, "x median rows", "No steady stream varies that much from batch to batch.")

    # Tasks
    idle_driver: float = _of(0.5, "of addBatch", "Half of the time or more without a running task.")
    queue: float = _of(0.3, "of the batch", "Its stages wait for cores that others hold.", MEASURED)
    queue_least: float = _of(1_000.0, "ms", "Less is ordinary scheduling.")
    alone: float = _of(0.7, "of all tasks' time", "One task does nearly all of the work.")
    skew: float = _of(5.0, "x median task", "Ordinary tasks of one stage stay within 2 to 3.")
    skew_least: float = _of(1_000.0, "ms", "A shorter task holds up nothing.")

    uneven: float = _of(2.0, "x median rows", "A task with as many rows as the others has no more to do.")

    # Partitions and state
    partitions: float = _of(32, "partitions", "Fewer cost little even on two cores.", MEASURED)
    partition_rows: float = _of(10, "rows a partition", "A task costs as much as thousands of rows.", MEASURED)
    partition_least: float = _of(1_000.0, "ms", "Where time is left, partitions that cost less bother nobody.")
    partition_ms: float = _of(10.0, "ms", "Time that one more state partition takes at least.", MEASURED)
    commit: float = _of(0.5, "of addBatch", "Most of the processing is saving state.")
    commit_least: float = _of(500.0, "ms", "Less is not worth a hint.")
    state_memory: float = _of(2.0 * 1024**3, "bytes", "State in the JVM's heap that garbage collection must walk.")
    state_growth: float = _of(1.5, "x", "State rows over the window, none removed.")
    state_steady: float = _of(0.7, "of the first half's growth", "Less in the second half: keys come back and fill it.")
    state_least: float = _of(100, "rows", "A few keys are no growth.")

    snapshot_lag: float = _of(50, "batches", "Five times as many as usually lie between two snapshots.", SPARK)
    snapshot_age: float = _of(600_000.0, "ms", "Ten rounds of the state store's maintenance.", SPARK)

    # Event time
    ahead: float = _of(300_000.0, "ms", "Clocks of devices are wrong by less.")
    late_share: float = _of(0.001, "of the rows", "Fewer dropped rows are what a watermark is for.")
    late_batches: float = _of(50, "batches", "A finding about lost rows stays that long in sight.")
    quiet_input: float = _of(10_000.0, "ms", "Without a known delay: how much newer rows must get meanwhile.")
    watermark_batches: float = _of(5, "batches", "Watermarks move after each batch with newer rows.")

    # Sources
    small_files: float = _of(1_000, "files", "Fewer are listed and opened in a moment.")
    small_file: float = _of(1024.0**2, "bytes", "Opening a file costs as much as reading megabytes of it.")
    stuck_source: float = _of(10, "batches", "A source that has rows is read in every batch.")

    def __post_init__(self) -> None:
        """Refuse what is no number or negative, and numbers of batches that nobody can count.

        With half a batch a rule would wait for a batch more than it looks at, and with none look at all of them.
        """
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
                raise ValueError(f"Threshold {one.name} must be a number of at least 0, not {value!r}.")
            if one.metadata["unit"] == "batches" and (value < 1 or value % 1):
                raise ValueError(f"Threshold {one.name} must be a whole number of batches from 1 on, not {value!r}.")

    @classmethod
    def table(cls) -> tuple[Row, ...]:
        """Return every threshold with its default, unit, reason and source."""
        return tuple(
            Row(one.name, one.default, one.metadata["unit"], one.metadata["reason"], one.metadata["source"])
            for one in fields(cls)
            if isinstance(one.default, (int, float))
        )
