"""Columns as a pandas DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jupyter_streamwatch.model.batches import TIMES

if TYPE_CHECKING:
    from jupyter_streamwatch.model.batches import Batches, Floats

_CALENDAR = (-62_135_596_800_000.0, 253_402_300_799_999.0)  # ms from the epoch to the years 1 and 9999
_LATEST_MS = 2**63 / 1e6 - 1.0  # ms from the epoch that nanoseconds can count


def frame(batches: Batches) -> Any:
    """The batches as a DataFrame, one row a batch; unknown is NaN, NaT or None.

    Raises:
        ImportError: When pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from None
    columns = {name: _aware(pd, batches.numbers(name)) if name in TIMES else batches[name] for name in batches.names}
    return pd.DataFrame(columns)


def _aware(pd: Any, ms: Floats) -> Any:
    """Epoch ms as aware UTC times; in microseconds where one is beyond the years that nanoseconds reach (1677 to 2262).

    Only what is known is ever a number here: pandas itself multiplies the memory that stands for unknown times, too.
    """
    known = (ms >= _CALENDAR[0]) & (ms <= _CALENDAR[1])
    times = np.full(len(ms), "NaT", dtype="datetime64[us]")
    whole = np.floor(ms[known])
    micros = whole.astype(np.int64) * 1_000 + np.rint((ms[known] - whole) * 1_000.0).astype(np.int64)
    times[known] = micros.astype("datetime64[us]")
    if (np.abs(ms[known]) < _LATEST_MS).all():
        times = times.astype("datetime64[ns]")
    return pd.DatetimeIndex(times).tz_localize("UTC")
