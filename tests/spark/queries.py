"""Small streaming queries that the tests start."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def rate(spark: Any, rows: int = 20) -> Any:
    return spark.readStream.format("rate").option("rowsPerSecond", rows).load()


def start(frame: Any, sink: str = "noop", **changes: Any) -> Any:
    """Start ``frame`` into ``sink``; changes: name, trigger (dict), checkpoint, mode, each (foreachBatch)."""
    writer = frame.writeStream.outputMode(changes.get("mode", "append"))
    writer = writer.foreachBatch(changes["each"]) if "each" in changes else writer.format(sink)
    if "name" in changes:
        writer = writer.queryName(changes["name"])
    if "checkpoint" in changes:
        writer = writer.option("checkpointLocation", str(changes["checkpoint"]))
    if "trigger" in changes:
        writer = writer.trigger(**changes["trigger"])
    return writer.start()


def add_file(directory: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """A JSON file that appears in ``directory`` at once, as a file source wants it."""
    directory.mkdir(parents=True, exist_ok=True)
    draft = directory.parent / f".{name}"
    draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
    draft.rename(directory / name)


def files(spark: Any, directory: Path, schema: str = "n INT", **options: Any) -> Any:
    directory.mkdir(parents=True, exist_ok=True)
    reader = spark.readStream.schema(schema)
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.json(str(directory))
