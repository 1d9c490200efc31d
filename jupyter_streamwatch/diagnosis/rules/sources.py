"""Rules about the sources: slow to ask, stuck, offsets that go back."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from jupyter_streamwatch.diagnosis.measure import batch_time, begins_anew, count, gathered, severity, shorter, slow_part
from jupyter_streamwatch.diagnosis.registry import API, GUIDE, rule
from jupyter_streamwatch.diagnosis.result import Evidence, Hint
from jupyter_streamwatch.diagnosis.window import DISCOVERY
from jupyter_streamwatch.model import values as v
from jupyter_streamwatch.text.numbers import duration, exact, percent
from jupyter_streamwatch.text.spark_names import source as source_name

if TYPE_CHECKING:
    from jupyter_streamwatch.diagnosis.utilisation import Load
    from jupyter_streamwatch.diagnosis.window import Window

_WILDCARD = re.compile(r"[*?\[{]")
_ROOT = re.compile(r"^(?:file:/*|[\w+.-]+://[^/]*/?|\w+:/*|/)")
SOURCES = API + "#input-sources"
KAFKA = GUIDE + "structured-streaming-kafka-integration.html"


@rule("slow-source-discovery", "Asking the sources what is new takes a large part of each batch.")
def slow_source_discovery(window: Window, load: Load) -> Hint | None:
    """Raise when latestOffset and getBatch (getOffset in old versions) are a large part of the batch for a while."""
    slow = slow_part(window, DISCOVERY)
    last = window.last
    if slow is None or last is None:
        return None
    texts = [one.description or "" for one in last.sources]
    # Of several sources nothing tells which one is slow.
    files = texts[0] if len(texts) == 1 and texts[0].startswith("FileStreamSource[") else None
    code = None
    cause = "The source takes long to say what is new."
    fix = "Look at the source: its own logs and the network to it. A longer trigger interval asks less often."
    if files is not None:
        path = files.removeprefix("FileStreamSource[").rstrip("]").rstrip("/")
        cause = "The source lists all files below its path for each batch, so it gets slower with every one of them."
        fix = (
            "Keep the directory small: let Spark move files away once they are done (what is moved can no longer"
            " be read"
            " by others), or write to dated directories and read the newest. A longer trigger interval lists less"
            " often."
        )
        code = _archive(path)
    elif texts and all("Kafka" in text for text in texts):
        cause = (
            "Spark asks Kafka for the end of every partition before each batch; the brokers, or the network, are slow."
        )
        fix = "Subscribe to the topics needed and no pattern; look at the brokers. A longer trigger interval asks"
        " less often."
    return Hint(
        code="slow-source-discovery",
        severity=severity(load, slow),
        title=f"Asking the source{'' if len(texts) < 2 else 's'} what is new takes {duration(slow.ms)},"
        f" {percent(slow.share)} of a batch",
        evidence=gathered(
            Evidence("latestOffset + getBatch", slow.ms, "ms", slow.batches),
            *(() if slow.alone else batch_time(window, load)),
        ),
        cause=cause,
        fix=fix,
        code_fix=code,
        effect=None if slow.alone else shorter(window, slow.ms),
        link=KAFKA if code is None and "Kafka" in cause else SOURCES,
        share=slow.share,
    )


def _archive(path: str) -> str:
    """Return the options that move done files away: to a plain directory beside what the source's path matches.

    Spark refuses one that the source would read again, and takes a wildcard there for a name.
    """
    plain = _WILDCARD.split(path)[0]
    folder = plain.rpartition("/")[0] if plain != path else path
    # A bucket, or the root of a file system, has nothing beside it.
    beside = f"{folder}_done" if _ROOT.sub("", folder) else "<a directory beside the input>"
    archive = json.dumps(beside, ensure_ascii=False)
    return f'.option("cleanSource", "archive").option("sourceArchiveDir", {archive})'


@rule("source-stuck", "A source has rows that no batch takes.")
def source_stuck(window: Window, load: Load) -> Hint | None:
    """Raise when a source's offsets stand still over many batches although rows wait there."""
    del load
    records = window.with_data[-int(window.t.stuck_source) :]
    if len(records) < window.t.stuck_source or len({len(one.sources) for one in records}) > 1:
        return None
    for place in range(len(records[-1].sources)):
        seen = [one.sources[place] for one in records]
        if not all((one.backlog or 0) > 0 and not one.moved and one.numInputRows == 0 for one in seen):
            continue
        name = source_name(seen[-1].description)
        ids = tuple(one.batchId for one in records if one.batchId is not None)
        return Hint(
            code="source-stuck",
            severity="warning",
            title=f"{name} has {count(seen[-1].backlog, 'row')} waiting, and {len(records)} batches took none of them",
            evidence=(
                Evidence(f"backlog of {name}", seen[-1].backlog or 0, "rows", ids),
                Evidence(f"numInputRows of {name}", 0, "rows", ids),
            ),
            cause="Its end offset does not move, although the source says that there are newer rows.",
            fix="Look at the limits of this source"
            + (" (maxOffsetsPerTrigger is shared by its partitions)" if "Kafka" in (seen[-1].description or "") else "")
            + " and at its permissions.",
            link=KAFKA if "Kafka" in (seen[-1].description or "") else SOURCES,
        )
    return None


@rule("offset-rewind", "A source's offsets went back.")
def offset_rewind(window: Window, load: Load) -> Hint | None:
    """Raise when a batch starts or ends before the place that the one before it had reached; two records prove it."""
    del load
    records = window.ran[-20:]
    for before, after in reversed(list(pairwise(records))):
        if before.batchId is None or after.batchId != before.batchId + 1 or len(before.sources) != len(after.sources):
            continue
        for old, new in zip(before.sources, after.sources, strict=True):
            if old.description != new.description or "Kafka" not in (new.description or ""):
                continue  # elsewhere offsets may be of another kind in the next batch
            gone = _went_back(old.endOffset, new.endOffset)
            if gone is None:
                continue
            where, was, now = gone
            name = source_name(new.description)
            return Hint(
                code="offset-rewind",
                severity="warning",
                title=f"Offsets of {name} went back from {exact(was)} to {exact(now)}",
                evidence=(
                    Evidence(f"offset of {where}", was, "", (before.batchId,)),
                    Evidence(f"offset of {where}", now, "", (before.batchId + 1,)),
                ),
                cause="The topic was deleted and made again, or the query reads another cluster: rows between the"
                " two places"
                " are lost or come twice.",
                fix="Make sure that the topic is the right one. If it was made again on purpose, start with a new"
                f" checkpoint: {begins_anew(window)}. failOnDataLoss=true (the default) stops instead.",
                link=KAFKA,
            )
    return None


def _went_back(before: Any, after: Any) -> tuple[str, int, int] | None:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    for topic, partitions in after.items():
        old = before.get(topic)
        if not isinstance(partitions, dict) or not isinstance(old, dict):
            continue
        for partition, now in partitions.items():
            was, here = v.count(old.get(partition)), v.count(now)  # also numbers that came as text
            if was is not None and here is not None and here < was:
                return f"{topic}, partition {partition}", was, here
    return None
