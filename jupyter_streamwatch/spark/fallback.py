"""What Spark does not tell under the names that are known: never an error, but not silent either."""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


def taken() -> None:
    """Log the exception that is being handled, for whoever wonders why something is unknown."""
    _log.debug("Spark did not answer this way, so another is taken", exc_info=True)
