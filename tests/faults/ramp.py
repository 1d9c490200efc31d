"""A rate that rises until the query breaks: how far the fitted capacity is from where that really was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jupyter_streamwatch.diagnosis import diagnose
from tests.faults.bench import Bench, fault, slowly

INTERVAL = 1000  # ms
LATE = 4  # batches over the interval, one after the other: it no longer keeps up
SEEN = 16  # batches: a machine that wakes up slowly has not broken
NEAR = 0.25  # of the real rate: how far off a fit may be
EARLY = 0.8  # of the real rate: what has come until then tells where it is


def broken(history: Any) -> float | None:
    """Return the rows a second that arrived when the query stopped keeping up; None while it keeps up."""
    ran = [one for one in history.recent if one.kind == "data" and one.batchId] if history is not None else []
    late: list[Any] = []
    for record in ran:
        late = [*late, record] if record.durationMs["triggerExecution"] > INTERVAL else []
    return arrived(late[0]) if len(late) >= LATE and len(ran) >= SEEN else None


def arrived(record: Any) -> float:
    """Return the rate at which a batch's rows came: offsets of the rate source are seconds."""
    source = record.sources[0]
    return source.numInputRows / (source.endOffset - source.startOffset)


@dataclass(frozen=True)
class Fit:
    """What was said of the capacity, against the rate at which it ended."""

    real: float
    after: float | None  # fitted over the whole run
    before: float | None  # foretold from the batches before the rate came near

    @classmethod
    def of(cls, history: Any) -> Fit:
        """Measure where a run broke, and what was said of it."""
        real = broken(history)
        if real is None:
            return cls(math.nan, None, None)
        early = [one for one in history.recent if not one.batchId or arrived(one) <= EARLY * real]
        return cls(real, _best(diagnose(history)), _best(diagnose(early, trigger=INTERVAL / 1000)))

    @property
    def right(self) -> bool:
        """Whether both are near enough."""
        return all(said is not None and abs(said - self.real) <= NEAR * self.real for said in (self.after, self.before))

    def __str__(self) -> str:
        return f"broke at {self.real:.0f} rows/s; fitted {_text(self.after)}, foretold {_text(self.before)}"


def _best(diagnosis: Any) -> float | None:
    most = diagnosis.capacity.max_rows_per_second
    return None if most is None else most[1]


def _text(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.0f}"


@fault("slow-user-code", also=Fit.of)
def rate_ramp(bench: Bench) -> Any:
    """Each second brings 14 rows more than the one before, and a row costs 4 ms of one of two cores."""
    source = bench.spark.readStream.format("rate").option("numPartitions", 2)
    frame = source.option("rowsPerSecond", 840).option("rampUpTime", "60s").load()
    query = bench.start(frame.select(slowly(4)("value")), trigger=INTERVAL / 1000)
    return bench.until(query, lambda: broken(bench.history(query)) is not None)
