"""A checkpoint as a person has it: what it holds, what a restart does, and whether a changed query fits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.checkpoints import known as about
from jupyter_streamwatch.checkpoints import text
from jupyter_streamwatch.checkpoints.comparing.compare import compare
from jupyter_streamwatch.checkpoints.contents import Contents
from jupyter_streamwatch.checkpoints.logs.source_log import SHOWN
from jupyter_streamwatch.checkpoints.restart.plan import plan
from jupyter_streamwatch.text.redaction import redact_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_streamwatch.checkpoints.comparing.changes import Changes
    from jupyter_streamwatch.checkpoints.parts import RestartPlan


class Checkpoint(Contents):
    """What a checkpoint holds. Nothing of it is ever changed; a fresh look takes ``checkpoint(path)`` again."""

    def restart(
        self, trigger: Any = None, options: Mapping[str, Any] | None = None, against: Any = None
    ) -> RestartPlan:
        """Say what the next start of the query on this checkpoint does.

        A checkpoint holds neither trigger nor options nor sink, and they decide whether rows come again.

        Args:
            trigger: The trigger of that start: seconds, ``"2 seconds"``, ``"availableNow"``, ``"continuous"``,
                ``{"realTime": "5 minutes"}``.
            options: All options of its writer, ``{}`` for none.
            against: Where the query was watched: a Recording, the path of one, a History or a Watch; by default the
                watch of this kernel. It knows what is not stated.

        Raises:
            TypeError: When ``options`` or ``against`` is nothing of that kind.
            ValueError: When ``trigger`` is no trigger.
        """
        known = about.of(self.id, trigger=trigger, options=options, against=against, sink=self._sink)
        return plan(self, known)

    def compare(self, x: Any, against: Any = None) -> Changes:
        """Say what is different in a query that is to run on this checkpoint, and what Spark does about it.

        Args:
            x: a streaming DataFrame, its writer before the start, or a query; classic or Connect.
            against: where the checkpoint's query was watched: a Recording, the path of one, a History or a Watch; by
                default the watch of this kernel. It knows what the checkpoint does not hold.

        Returns:
            The changes, worst first; empty when nothing changed. Its ``unseen`` says what could not be compared.

        Raises:
            TypeError: when ``x`` or ``against`` is nothing that can be compared.
            ValueError: when ``x`` is a DataFrame that reads no stream.
        """
        return compare(self, x, against)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as data for JSON, without secrets; of each log the newest hundred entries."""
        restart = self.restart()
        found: dict[str, Any] = redact_all(
            {
                "path": self.path,
                "id": self.id,
                "lastOffset": self.lastOffset,
                "lastCommit": self.lastCommit,
                "planned": len(self.offsets),
                "committed": len(self.commits),
                "gaps": {log: list(ids) for log, ids in self.gaps.items()},
                "bytes": dict(self.bytes),
                "conf": dict(self.conf),
            }
        )
        return found | {
            "offsets": [self.offsets[id].to_dict() for id in list(self.offsets)[-SHOWN:]],
            "commits": [self.commits[id].to_dict() for id in list(self.commits)[-SHOWN:]],
            "sources": [source.to_dict() for source in self.sources.values()],
            "operators": [operator.to_dict() for operator in self.operators],
            "restart": restart.to_dict(),
            "problems": list(self.problems),
        }

    def __str__(self) -> str:
        """What it holds and what the next start does, for a terminal."""
        return text.plain(self, self.restart())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002 - IPython's signature
        return {"text/plain": str(self), "text/html": text.html(self, self.restart())}
