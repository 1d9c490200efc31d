"""Columns as a pandas DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jupyter_streamwatch.model.batches import TIMES

if TYPE_CHECKING:
    from jupyter_streamwatch.model.batches import Batches, Floats


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
    """Epoch ms as aware UTC times; in milliseconds where one is beyond 2262, the last year that nanoseconds reach."""
    try:
        return pd.to_datetime(ms, unit="ms", utc=True)
    except pd.errors.OutOfBoundsDatetime:
        times = np.full(len(ms), "NaT", dtype="datetime64[ms]")
        known = ~np.isnan(ms)
        times[known] = ms[known].astype(np.int64).astype("datetime64[ms]")
        return pd.DatetimeIndex(times).tz_localize("UTC")
