"""What a writer will do when it is started: where its checkpoint is going to be."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, NamedTuple

from jupyter_streamwatch.spark import jvm
from jupyter_streamwatch.spark.bounded import ask

OPTION = "checkpointlocation"
SETTING = "spark.sql.streaming.checkpointLocation"


def session_of(writer: Any) -> Any:
    """Return the session that a ``DataStreamWriter`` belongs to; it is private, and has two names."""
    return getattr(writer, "_spark", None) or getattr(writer, "_session", None)


def checkpoint_of(writer: Any) -> str | None:
    """Return the checkpoint that ``writer.start()`` will use; None when it makes a temporary one, or is not known.

    As Spark does it: the option ``checkpointLocation``, else a folder with the query's name under the session's
    ``spark.sql.streaming.checkpointLocation``.
    """
    spark = session_of(writer)

    def look() -> str | None:
        options = _options(writer, spark)
        if options.get(OPTION):
            return options[OPTION]
        root, name = spark.conf.get(SETTING, ""), options.get("queryname")
        return in_root(root, name)

    return ask(spark, look, None, seconds=5.0) if spark is not None else None


class Table(NamedTuple):
    """A table as its catalog has it: who provides it (``parquet``, ``delta``), and where; both None of a new one."""

    provider: str | None
    location: str | None


def table_of(spark: Any, name: str) -> Table | None:
    """Look a table up that a query is to write; None where the catalog does not tell where it is."""
    try:
        if not spark.catalog.tableExists(name):
            return Table(None, None)
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except Exception:
        return None  # the catalog does not answer, or not so
    told = {str(row[0]).strip().lower(): str(row[1]).strip() for row in rows if row[0]}
    location = told.get("location")
    return Table(told.get("provider") or None, location) if location else None


def in_root(root: str | None, name: str | None) -> str | None:
    """Return the folder that Spark makes for a query's name under the session's folder of checkpoints."""
    return root.rstrip("/") + "/" + str(PurePosixPath(name)) if root and name else None


def _options(writer: Any, spark: Any) -> dict[str, str]:
    """Return a writer's options, names in lower case."""
    if jvm.is_connect(spark):
        proto = writer._write_proto  # noqa: SLF001 - there is no public way
        return {name.lower(): value for name, value in proto.options.items()} | {"queryname": proto.query_name}
    java = writer._jwrite  # noqa: SLF001 - there is no public way
    found = jvm.field(java, "extraOptions")
    known = ((name, found.get(name)) for name in (OPTION, "queryname"))
    return {name: str(value.get()) for name, value in known if value.isDefined()}
