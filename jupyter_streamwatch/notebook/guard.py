"""``%%streamwatch --guard``: a query is compared with its checkpoint before it starts; an unsafe one is not started.

The calls that start a query are wrapped for the time of one cell. Whatever goes wrong with the comparison itself, the
query starts: the guard never takes away what it could not judge, but says so in one line.
"""

from __future__ import annotations

import functools
import inspect
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from jupyter_streamwatch.checkpoints.comparing.changes import SAID, TAKEN
from jupyter_streamwatch.spark import probe
from jupyter_streamwatch.spark.bounded import answer
from jupyter_streamwatch.spark.plans import sinks as shape_sinks
from jupyter_streamwatch.spark.writer import checkpoint_of, session_of, table_of
from jupyter_streamwatch.text.numbers import clean
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jupyter_streamwatch.model.query_shape import Shape

SECONDS = 15.0  # that a start may wait for the comparison
STOPS = ("silently-wrong", "not-allowed")  # the worse one first: nobody else would tell
TOLD = ("changed-meaning", "unknown")

_UNCOMPARED = "Started without a comparison with its checkpoint"
_REMEDY = (
    "Undo the change; or run the cell without --guard; or give the changed query a new checkpointLocation (its state"
    " starts anew and its source is read again)."
)
_ELSEWHERE = "Give the query a new output folder, or run the cell without --guard."
_CLASSIC = "pyspark.sql.streaming.readwriter"
_CONNECT = "pyspark.sql.connect.streaming.readwriter"


class NotStartedError(UsageError):  # type: ignore[misc] # IPython is not typed
    """A query was not started: it does not fit its checkpoint. Shown as one message, without a traceback."""


@contextmanager
def guarding(say: Callable[[str], None] = print) -> Iterator[None]:
    """Within the block, refuse to start a query whose change its checkpoint does not bear.

    Args:
        say: Gets one line about what does not stop a start: a change of meaning, or why nothing was compared.

    Raises:
        NotStartedError: From the call that would have started the query, in the block.
    """
    with ExitStack() as wrapped:
        for cls, method in _starts():
            wrapped.enter_context(_wrapped(cls, method, say))
        yield


def check(writer: Any, *, path: str | None = None, table: str | None = None) -> list[str]:
    """Compare a writer with its checkpoint.

    Args:
        writer: A ``DataStreamWriter`` before its start.
        path: What ``start`` was given as its path.
        table: What ``toTable`` was given as its table.

    Returns:
        Lines about what does not stop the start.

    Raises:
        NotStartedError: When a change is not allowed or silently wrong.
    """
    where = checkpoint_of(writer)
    if where is None:
        return []
    try:
        found = answer(writer, lambda: _changes(writer, where, path, table), seconds=SECONDS, line="guard")
    except FileNotFoundError:
        return []  # gone since it was looked at
    except TimeoutError:
        return [redact(f"{_UNCOMPARED} {where}: comparing took longer than {SECONDS:g} s")]
    except Exception as error:  # nothing of ours may keep a query from starting
        reason = " ".join(str(error).split()) or type(error).__name__
        return [redact(f"{_UNCOMPARED} {where}: {reason}")]
    bad = [change for verdict in STOPS for change in found if change.verdict == verdict]
    if bad:
        raise NotStartedError(_refusal(where, bad))
    return [_line(change) for change in found if change.verdict in TOLD]


def _changes(writer: Any, where: str, path: str | None, table: str | None) -> Sequence[Any]:
    from jupyter_streamwatch.checkpoints import checkpoint
    from jupyter_streamwatch.checkpoints.comparing.compare import compare, taken_by_another
    from jupyter_streamwatch.checkpoints.comparing.plan import unrecoverable
    from jupyter_streamwatch.checkpoints.parts import KnownSink
    from jupyter_streamwatch.checkpoints.restart.available import unwritten_new

    spark = session_of(writer)
    try:
        found = checkpoint(where, spark)
    except (FileNotFoundError, ValueError) as error:
        if isinstance(error, ValueError) and "is empty" not in str(error):
            raise
        shape = _placed(probe.shape(writer, ()), spark, path, table)  # the first start makes the checkpoint
        sentence = unwritten_new(KnownSink(shape.sink, shape.sinkPath), spark) if shape.sink else None
        return [taken_by_another(shape, sentence)] if sentence else []
    shape = _placed(probe.shape(writer, tuple(found.conf)), spark, path, table)
    changes: list[Any] = compare(found, shape)
    refused = unrecoverable(shape) if found.offsets else None
    return changes if refused is None or any(one.what == "sink" for one in changes) else [*changes, refused]


def _placed(shape: Shape, spark: Any, path: str | None, table: str | None) -> Shape:
    """Add where ``start`` or ``toTable`` was told to write."""
    if path is not None:
        return replace(shape, sinkPath=shape_sinks.path("files", {"path": path}))
    if table is None:
        return shape
    known = table_of(spark, table)
    if known is None:
        return replace(shape, sink=None, sinkPath=None)  # only its catalog knows what and where that is
    kind = shape_sinks.kind(known.provider) if known.provider else shape.sink
    place = shape_sinks.path("files", {"path": known.location}) if known.location else f"the new table {table}"
    return replace(shape, sink=kind, sinkPath=place)


def _refusal(where: str, bad: Sequence[Any]) -> str:
    what = "a change does" if len(bad) == 1 else f"{len(bad)} changes do"
    lines = (f"  {_line(change)}" for change in bad)
    elsewhere = all(change.was == TAKEN for change in bad)
    return "\n".join(
        (
            redact(f"The query was not started: {what} not fit its checkpoint {where}."),
            *lines,
            _ELSEWHERE if elsewhere else _REMEDY,
        )
    )


def _line(change: Any) -> str:
    was, now = ("nothing" if value is None else value for value in (change.was, change.now))
    return clean(redact(f"{change.what}: {was} → {now} ({SAID[change.verdict]}). {change.reason}"))


# Wrapping


def _starts() -> Iterator[tuple[type, str]]:
    """The calls that start a query, of the classes that this process can use."""
    if find_spec("pyspark") is None:
        return
    classic = import_module(_CLASSIC).DataStreamWriter
    yield classic, "start"
    yield classic, "toTable"
    from pyspark.sql.utils import is_remote

    if _CONNECT in sys.modules or is_remote():
        with suppress(ImportError):  # Connect's own dependencies are not installed: it cannot be used either
            yield import_module(_CONNECT).DataStreamWriter, "_start_internal"


@contextmanager
def _wrapped(cls: type, name: str, say: Callable[[str], None]) -> Iterator[None]:
    own = cls.__dict__.get(name)
    if own is None:
        yield
        return
    active = True

    @functools.wraps(own)
    def guarded(writer: Any, *arguments: Any, **options: Any) -> Any:
        if active:
            _before(writer, own, arguments, options, say)
        return own(writer, *arguments, **options)

    setattr(cls, name, guarded)
    try:
        yield
    finally:
        active = False  # somebody may have wrapped this wrapper meanwhile: then it stays, and does nothing
        if cls.__dict__.get(name) is guarded:
            setattr(cls, name, own)


def _before(
    writer: Any, start: Any, arguments: tuple[Any, ...], options: dict[str, Any], say: Callable[[str], None]
) -> None:
    """Bring the writer to where ``start`` would have it, and compare."""
    try:
        given = dict(inspect.signature(start).bind(writer, *arguments, **options).arguments)
        given.update(given.pop("options", {}))
        given.pop("self", None)
        path, table = given.pop("path", None), given.pop("tableName", None)
        for setter in ("outputMode", "partitionBy", "format", "queryName"):
            value = given.pop(setter, None)
            if value is not None:
                getattr(writer, setter)(value)
        writer.options(**given)
    except Exception:
        return  # Spark says the same about it in a moment, and better
    try:
        for line in check(writer, path=path, table=table):
            say(line)
    except NotStartedError:
        raise
    except Exception as error:  # nothing of ours may keep a query from starting
        say(f"{_UNCOMPARED}: {type(error).__name__}: {error}")
