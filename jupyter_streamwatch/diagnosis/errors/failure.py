"""What stopped a query, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_streamwatch.model.errors import Cause, Frame


@dataclass(frozen=True)
class Failure:
    """What stopped a query.

    Attributes:
        kind: The usual way to fail that it is (``concurrent-run``, ``disk-full``); ``unknown`` where it is none.
        owner: Who owns the place that failed: ``user-python-driver``, ``user-python-worker``, ``user-python``,
            ``user-jvm``, ``spark``, ``connector-`` and its name, ``state-store``, ``storage``, ``system`` (machine,
            processes, libraries), ``program`` (it ended, or someone stopped it); ``unknown``.
        condition: Spark's or the connector's error condition; None without one.
        sqlState: Its SQLSTATE; None where the text does not say.
        message: What the last cause says.
        frame: The user's code that is nearest to the failure; without any, the call that failed; None if not known.
        causes: The chain, the outermost first and the last one last, each with its innermost calls.
    """

    kind: str
    owner: str
    condition: str | None
    sqlState: str | None
    message: str
    frame: Frame | None
    causes: tuple[Cause, ...]
