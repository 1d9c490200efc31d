"""Classic sessions: a py4j proxy of ours that takes references and returns.

PySpark's own listener builds its event object with about 150 round trips, on the thread that delivers events. Ours
queues the Java reference; the collector's thread fetches the JSON text. Strings above 8 kB stall py4j for about 45 ms
(a socket wait), so the text is written into a Java ``StringWriter`` and taken in pieces.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_streamwatch.model.events import IDLE, PROGRESS, STARTED, TERMINATED
from jupyter_streamwatch.spark import bounded, fallback
from jupyter_streamwatch.spark.events import stops
from jupyter_streamwatch.spark.events.base import PATIENCE, Active, Arrival, Link, now
from jupyter_streamwatch.spark.events.public import listener_of, read_public, recent_public

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
D = TypeVar("D")

ATTACHING = 4.0  # seconds for the answers that attaching takes, together
PIECE = 8_000  # characters: below py4j's 8,192-byte buffer
PIECES_FOR = 200  # texts after a long one: a session whose queries have long ones takes all in pieces


class _Proxy:
    """What the JVM calls. Each method appends to a queue and returns; it raises nothing, fetches nothing."""

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)

    def __init__(self) -> None:
        self.put: Callable[[Arrival], None] | None = None
        self.name = ""  # by which the JVM calls it

    def _hand_over(self, kind: str, event: Any) -> None:
        put = self.put
        if put is not None:
            put(Arrival(kind, event, now()))

    def onQueryStarted(self, event: Any) -> None:
        self._hand_over(STARTED, event)

    def onQueryProgress(self, event: Any) -> None:
        self._hand_over(PROGRESS, event)

    def onQueryIdle(self, event: Any) -> None:
        self._hand_over(IDLE, event)

    def onQueryTerminated(self, event: Any) -> None:
        self._hand_over(TERMINATED, event)


class _Pool:
    """Proxies that no session uses now: py4j never frees one in pinned-thread mode, so they are used again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[tuple[Any, _Proxy, Any]] = []

    def take(self, gateway: Any) -> tuple[_Proxy, Any]:
        """A proxy and its Java wrapper. Raises when this Spark lacks the names."""
        with self._lock:
            for i, (owner, proxy, wrapper) in enumerate(self._free):
                if owner is gateway:
                    del self._free[i]
                    self.restore(gateway, proxy)
                    return proxy, wrapper
        from pyspark.java_gateway import ensure_callback_server_started

        ensure_callback_server_started(gateway)
        proxy = _Proxy()
        wrapper = gateway.jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(proxy)
        known = gateway.gateway_property.pool
        with known.lock:
            proxy.name = next(name for name, other in known.dict.items() if other is proxy)
        return proxy, wrapper

    def restore(self, gateway: Any, proxy: _Proxy) -> bool:
        """Let the JVM reach a proxy again whose callback server was shut down; False when it is reached."""
        server = gateway.__dict__.get("_callback_server")
        there = server is not None and not server.is_shutdown and server.thread is not None and server.thread.is_alive()
        known = gateway.gateway_property.pool
        if there and proxy.name in known:
            return False
        if not there:
            from pyspark.java_gateway import ensure_callback_server_started

            gateway._callback_server = None  # noqa: SLF001 - py4j keeps the one that was shut down
            ensure_callback_server_started(gateway)
        known.put(proxy, force_id=proxy.name)  # shutting down forgets all proxies; the JVM knows ours by this name
        return True

    def give(self, gateway: Any, proxy: _Proxy, wrapper: Any) -> None:
        proxy.put = None
        with self._lock:
            self._free.append((gateway, proxy, wrapper))


_pool = _Pool()


class JsonText:
    """Fetches a progress as JSON text: short ones in one call, long ones in pieces that do not stall py4j.

    One call costs a third of the pieces; which way is taken follows the lengths seen lately. For one thread.
    """

    def __init__(self, gateway: Any) -> None:
        """Of this py4j gateway."""
        self._jvm = gateway.jvm
        self._java: tuple[Any, Any, Any] | None = None
        self._pieces = 0  # so many texts more are taken in pieces

    def of(self, progress: Any) -> str:
        """The JSON text of a Java ``StreamingQueryProgress``."""
        text = self._in_pieces(progress) if self._pieces > 0 else None
        if text is None:
            text = str(progress.json())
        self._pieces = PIECES_FOR if len(text) > PIECE - 1_000 else self._pieces - 1
        return text

    def _in_pieces(self, progress: Any) -> str | None:
        """None when this Spark has other names."""
        try:
            if self._java is None:
                self._java = self._made()
            writer, target, buffer = self._java
            buffer.setLength(0)
            writer.writeValue(target, progress.jsonValue())
            length = buffer.length()
            return "".join(buffer.substring(at, min(at + PIECE, length)) for at in range(0, length, PIECE))
        except Exception:
            fallback.taken()
            return None

    def _made(self) -> tuple[Any, Any, Any]:
        mapper = getattr(self._jvm, "org.json4s.jackson.JsonMethods$").__getattr__("MODULE$").mapper()
        features = getattr(self._jvm, "com.fasterxml.jackson.core.JsonGenerator$Feature")
        # Pure ASCII: a character of two code units must not be cut at the end of a piece.
        writer = getattr(mapper.writer(), "with")(features.ESCAPE_NON_ASCII)
        target = self._jvm.java.io.StringWriter()
        return writer, target, target.getBuffer()


class ClassicBridge:
    """A session of this process's own JVM, reached through py4j."""

    mode = "classic"

    def __init__(self, spark: Any) -> None:
        """For this session; attaches nothing yet."""
        self.spark = spark
        self.problem: str | None = None
        self._context = spark._sc  # noqa: SLF001 - ``sparkContext`` is the same, but asks nothing of a dead JVM
        self._gateway = self._context._gateway  # noqa: SLF001
        self._session = spark._jsparkSession  # noqa: SLF001
        self._proxy: _Proxy | None = None
        self._listener: Any = None
        self._json = JsonText(self._gateway)
        self._silent = False  # the JVM did not answer in time, and has not since
        self._noting = False
        self.version = ""

    def serves(self, spark: Any) -> bool:
        """See :class:`Bridge`."""
        if spark is self.spark:
            return True
        other = getattr(spark, "_jsparkSession", None)
        same_context = getattr(spark, "_sc", None) is self._context
        return bool(same_context and self._alive() and self.ask(lambda: self._session == other, default=False))

    def attach(self, put: Callable[[Arrival], None]) -> None:
        """See :class:`Bridge`."""
        from pyspark.sql.streaming.query import StreamingQuery

        self._noting = True
        stops.listen(StreamingQuery)
        bounded.answer(self.spark, lambda: self._listen(put), seconds=ATTACHING, line="bridge")

    def _listen(self, put: Callable[[Arrival], None]) -> None:
        self.version = str(self.spark.version)
        manager = self._session.streams()
        try:
            self._proxy, self._listener = _pool.take(self._gateway)
            self._proxy.put = put
            manager.addListener(self._listener)
        except Exception as error:
            self._proxy = None
            self._listener = listener_of(put)
            self.spark.streams.addListener(self._listener)
            self.problem = (
                f"This Spark has no listener for Python that hands over references ({type(error).__name__}); "
                "PySpark's own is used, which costs about 100 ms an event."
            )

    def detach(self) -> None:
        """See :class:`Bridge`."""
        from pyspark.sql.streaming.query import StreamingQuery

        if not self._noting:
            return
        self._noting = False
        stops.forget(StreamingQuery)
        if self._proxy is not None:
            self._proxy.put = None
        if self._alive():  # a JVM that is paused does it when it goes on, also what it has still to add before
            bounded.later(self.spark, self._remove, seconds=0.0 if self._silent else PATIENCE, line="bridge")

    def _remove(self) -> None:
        listener, proxy = self._listener, self._proxy
        self._listener = self._proxy = None
        if listener is None or not self._alive():
            return
        if proxy is None:
            self.spark.streams.removeListener(listener)
            return
        proxy.put = None
        # Where that raises the bus went with its session, and the proxy is not given back: an event may be on its way.
        self._session.streams().removeListener(listener)
        _pool.give(self._gateway, proxy, listener)

    def keep(self) -> str | None:
        """See :class:`Bridge`."""
        return self.ask(self._restore, None)

    def _restore(self) -> str | None:
        listener, proxy, manager = self._listener, self._proxy, self._session.streams()
        if not self._noting or proxy is None:
            return None
        reached = _pool.restore(self._gateway, proxy)
        if not any(other == listener for other in manager.listListeners()):
            manager.addListener(listener)
            return "The listener of the watch had been removed from Spark; it was added again."
        return "py4j's callback server had ended, so no event arrived; it was started again." if reached else None

    def read(self, arrival: Arrival) -> Mapping[str, Any]:
        """See :class:`Bridge`."""
        if self._proxy is None and not hasattr(arrival.payload, "_target_id"):
            return read_public(arrival)
        event = arrival.payload
        if arrival.kind == PROGRESS:
            return {"event": PROGRESS, "at": arrival.at, "progress": self._json.of(event.progress())}
        line = {"event": arrival.kind, "id": event.id().toString(), "runId": event.runId().toString(), "at": arrival.at}
        if arrival.kind == STARTED:
            line |= {"name": event.name(), "timestamp": event.timestamp()}
        elif arrival.kind == IDLE:
            line["timestamp"] = event.timestamp()
        else:
            line |= {"exception": _option(event.exception()), "errorClass": _error_class(event)}
        return line

    def link(self) -> Link:
        """See :class:`Bridge`."""
        process = getattr(self._gateway, "proc", None)
        if process is not None and process.poll() is not None:
            return Link("gone", "The Spark driver process has ended. Restart the kernel, then call sw.watch() again.")
        if not self._alive():
            return Link("stopped", "The Spark session was stopped. Start a session and call sw.watch() again to go on.")
        if self._silent:
            return Link("live", "The Spark driver does not answer. Watching goes on when it does.", answers=False)
        return Link("live", "Watching the Spark session of this kernel.")

    def written(self, runId: str) -> None:
        """See :class:`Bridge`. This Spark can be asked."""

    def query(self, id: str, runId: str) -> Any | None:
        """See :class:`Bridge`."""
        from pyspark.sql.streaming.query import StreamingQuery

        java = self.ask(lambda: self._session.streams().get(id), default=None)
        if java is None:
            return None
        same = self.ask(lambda: java.runId().toString() == runId, default=False)
        return StreamingQuery(java) if same else None

    def active(self) -> list[Active] | None:
        """See :class:`Bridge`. A few round trips a run, which take about a millisecond."""
        from pyspark.sql.streaming.query import StreamingQuery

        def look() -> list[Active]:
            found = []
            for java in self._session.streams().active():
                last = java.lastProgress()
                batch = None if last is None else int(last.batchId())
                found.append(Active(java.id().toString(), java.runId().toString(), StreamingQuery(java), batch))
            return found

        return self.ask(look, None)

    def ended(self, runs: Mapping[str, Any], seconds: float) -> set[str]:
        """See :class:`Bridge`."""
        known = {runId: query for runId, query in runs.items() if query is not None}
        nobody: set[str] = set()
        over = self.ask(lambda: {runId for runId, query in known.items() if not query.isActive}, nobody, seconds)
        unknown = set(runs) - set(known)
        if unknown:  # over before its query object could be had
            active = self.ask(lambda: {str(query.runId) for query in self.spark.streams.active}, None, seconds)
            over = over if active is None else over | (unknown - active)
        return over

    def recent(self, query: Any, after: int = -1) -> list[str]:
        """See :class:`Bridge`."""
        java: Any = getattr(query, "_jsq", None)
        json = JsonText(self._gateway)  # the other one is the collector's

        def texts() -> list[str]:
            try:
                return [json.of(progress) for progress in java.recentProgress() if progress.batchId() > after]
            except Exception:
                fallback.taken()
                return recent_public(query, after)

        return self._ask(texts, [], seconds=5 * PATIENCE)

    def ask(self, call: Callable[[], T], default: D, seconds: float | None = None) -> T | D:
        """See :class:`Bridge`."""
        return self._ask(call, default, seconds=PATIENCE if seconds is None else seconds)

    def _ask(self, call: Callable[[], T], default: D, *, seconds: float) -> T | D:
        """Calls to a JVM that has ended would print a traceback from py4j: they are not made."""
        if not self._alive():
            return default

        def heard() -> T:
            try:
                return call()
            finally:
                self._silent = False  # also when nobody waits for this answer any more

        try:
            return bounded.answer(self.spark, heard, seconds=seconds, line="bridge")
        except TimeoutError:
            self._silent = self._silent or seconds >= PATIENCE
        except Exception:
            fallback.taken()
        return default

    def _alive(self) -> bool:
        process = getattr(self._gateway, "proc", None)
        ended = process is not None and process.poll() is not None
        return not ended and self._context._jsc is not None  # noqa: SLF001 - None once the context is stopped


def _option(option: Any) -> str | None:
    return str(option.get()) if option.isDefined() else None


def _error_class(event: Any) -> str | None:
    try:
        return _option(event.errorClassOnException())
    except Exception:  # Spark before 3.5
        fallback.taken()
        return None
