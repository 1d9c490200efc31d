"""Spark Connect: a listener in the client (4.0 and newer), or polling (older, which ship a listener to the server).

Calls to a server that is gone block until it is back, so every call is made on a thread of ours and has a time-out.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_streamwatch.model.events import PROGRESS, STARTED, TERMINATED
from jupyter_streamwatch.spark import bounded, fallback, probe
from jupyter_streamwatch.spark.events import starts, stops
from jupyter_streamwatch.spark.events.base import PATIENCE, Active, Arrival, Link, now
from jupyter_streamwatch.spark.events.public import failure_of, listener_of, read_public, recent_public, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_streamwatch.spark.plans.started import Written

T = TypeVar("T")
D = TypeVar("D")

FIRST = 60.0  # seconds for the first answer of a server that has only just started, on a busy machine
UNKNOWN = ("INVALID_HANDLE.SESSION", "NO_ACTIVE_SESSION")  # what a server says of a session that it does not know
STARTS_KEPT = 200  # starts of this process that are remembered
POLL = 0.5  # seconds between two polls of a server that sends no events to the client


class ConnectBridge:
    """A Spark Connect session whose listener runs in this process."""

    mode = "connect"

    def __init__(self, spark: Any) -> None:
        """For this session; attaches nothing yet."""
        self.spark = spark
        self.version = ""
        self.problem: str | None = None
        self._listener: Any = None
        self._silent = False  # the server did not answer the last call, and has not since
        self._unknown = False  # the server was started anew and does not know the session
        self._noting = False
        self._written: OrderedDict[str, Written] = OrderedDict()  # runId -> what it was started with

    def serves(self, spark: Any) -> bool:
        """See :class:`Bridge`."""
        return spark is self.spark

    def attach(self, put: Callable[[Arrival], None]) -> None:
        """See :class:`Bridge`."""
        self.version = self.first_answer()
        self._listener = listener_of(put)
        self._detach_before_stop()
        self._note_calls()
        # PySpark starts its receiving thread in the thread that adds the first listener. From a daemon thread it is a
        # daemon too: with a listener attached, Python could not exit otherwise.
        self._bounded(lambda: self.spark.streams.addListener(self._listener), 30.0)

    def first_answer(self) -> str:
        """The server's version. Raises what PySpark raises, and TimeoutError when nothing comes for long."""
        return str(self._bounded(lambda: self.spark.version, FIRST))

    def detach(self) -> None:
        """See :class:`Bridge`."""
        self.spark.__dict__.pop("stop", None)
        self._forget_calls()
        listener, self._listener = self._listener, None
        # When Python exits it starts no more calls: PySpark would only warn that it could not take the listener off.
        if listener is None or not threading.main_thread().is_alive() or self.link().state == "stopped":
            return

        def remove() -> None:
            if self._silent:  # by now it answers, or says why not; PySpark would warn that it could not
                _ = self.spark.streams.active
            self.spark.streams.removeListener(listener)

        bounded.later(self.spark, remove, seconds=0.0 if self._silent else PATIENCE, line="bridge")

    def keep(self) -> str | None:
        """Add the listener again: PySpark drops all listeners when the connection breaks."""
        bus = getattr(self.spark.streams, "_sqlb", None)
        listeners = getattr(bus, "_listener_bus", None)
        listener = self._listener
        if listener is None or not isinstance(listeners, list) or self.link().state != "live":
            return None
        receiver = getattr(bus, "_execution_thread", None)
        if listener in listeners and (receiver is None or receiver.is_alive()):
            return None
        again = self.ask(lambda: listen_again(self.spark, listener), default=False, seconds=2 * PATIENCE)
        return "The connection that brings events had ended; the listener was added again." if again else None

    def read(self, arrival: Arrival) -> Mapping[str, Any]:
        """See :class:`Bridge`."""
        return read_public(arrival)

    def link(self) -> Link:
        """See :class:`Bridge`."""
        if self._stopped():
            return Link("stopped", "The Spark session was stopped. Start a session and call sw.watch() again to go on.")
        if self._unknown:
            text = "The Spark Connect server was started anew and does not know this session. Start a session"
            return Link("stopped", f"{text} and call sw.watch() again to go on.")
        if self._silent:
            then = "Watching goes on when it is back." if self.version else "Call sw.watch() again when it does."
            return Link("gone", f"The Spark Connect server does not answer. {then}", answers=False)
        return Link("live", "Watching a Spark Connect session.")

    def query(self, id: str, runId: str) -> Any | None:
        """See :class:`Bridge`."""
        query = self.ask(lambda: self.spark.streams.get(id), None)
        return query if query is not None and str(query.runId) == runId else None

    def active(self) -> list[Active] | None:
        """See :class:`Bridge`. One call for all runs, and one more for the batch of each."""

        def look() -> list[Active]:
            found = []
            for query in self.spark.streams.active:
                last = query.lastProgress
                batch = None if last is None else int(last["batchId"])
                found.append(Active(str(query.id), str(query.runId), query, batch))
            return found

        return self.ask(look, None)

    def ended(self, runs: Mapping[str, Any], seconds: float) -> set[str]:
        """See :class:`Bridge`. One call for all runs."""
        active = self.ask(lambda: {str(query.runId) for query in self.spark.streams.active}, None, seconds)
        return set() if active is None else set(runs) - active

    def recent(self, query: Any, after: int = -1) -> list[str]:
        """See :class:`Bridge`."""
        return self.ask(lambda: recent_public(query, after), [], 2 * PATIENCE)

    def ask(self, call: Callable[[], T], default: D, seconds: float | None = None) -> T | D:
        """See :class:`Bridge`."""
        if self._stopped():
            return default
        try:
            return self._bounded(call, PATIENCE if seconds is None else seconds)
        except Exception:
            fallback.taken()
            return default

    def written(self, runId: str) -> Written | None:
        """See :class:`Bridge`."""
        return self._written.get(runId)

    def _note_calls(self) -> bool:
        """Note the starts and stops that this process calls; False when starts cannot be."""
        query, writer = _classes()
        if not self._noting:
            self._noting = True
            stops.listen(query)
        return starts.listen(writer, self._started)

    def _forget_calls(self) -> None:
        query, writer = _classes()
        if self._noting:
            self._noting = False
            stops.forget(query)
        starts.forget(writer, self._started)

    def _started(self, query: Any, writer: Any) -> None:
        """Note what a query was started with; called on the thread that starts it."""
        if query._session is self.spark:  # noqa: SLF001 - there is no public way
            self._written[str(query.runId)] = probe.written(writer)
            while len(self._written) > STARTS_KEPT:
                self._written.popitem(last=False)

    def _stopped(self) -> bool:
        try:
            return bool(getattr(self.spark, "is_stopped", False) or self.spark.client.is_closed)
        except Exception:
            fallback.taken()
            return False

    def _bounded(self, call: Callable[[], T], seconds: float) -> T:
        """The answer of ``call``; raises what it raises, and TimeoutError when the server does not answer in time."""

        def heard() -> T:
            try:
                found = call()
            except Exception as error:
                self._unknown = any(word in str(error) for word in UNKNOWN)
                self._silent = False
                raise
            self._silent = False  # also when nobody waits for this answer any more
            return found

        try:
            return bounded.answer(self.spark, heard, seconds=seconds, line="bridge")
        except TimeoutError:
            self._silent = self._silent or seconds >= PATIENCE
            raise TimeoutError("the Spark Connect server does not answer") from None

    def _detach_before_stop(self) -> None:
        """PySpark warns when a session stops with a listener attached: take ours off first."""
        stop = self.spark.stop

        def detach_and_stop() -> None:
            self.detach()
            stop()

        detach_and_stop.__doc__ = stop.__doc__
        self.spark.stop = detach_and_stop


class PollingBridge(ConnectBridge):
    """Spark Connect before 4.0: the client's listener gets nothing, so the last progress is asked for."""

    def __init__(self, spark: Any) -> None:
        """For this session; attaches nothing yet."""
        super().__init__(spark)
        self._put: Callable[[Arrival], None] | None = None
        self._done = threading.Event()
        self._one_taker = threading.Lock()
        self._known: dict[str, Any] = {}  # runId -> query
        self._last: dict[str, tuple[Any, Any]] = {}  # runId -> (batchId, timestamp) of the last progress

    def attach(self, put: Callable[[Arrival], None]) -> None:
        """See :class:`Bridge`."""
        self.version = self.first_answer()
        self._put = put
        self._done = threading.Event()
        noted = self._note_calls()
        self.problem = (
            "Spark Connect before 4.0 sends no events to the client: the last progress is asked for twice a second."
        )
        if not noted:
            self.problem += " A query that starts and ends between two looks is not seen."
        threading.Thread(target=self._poll, args=(self._done,), name="streamwatch-poll", daemon=True).start()

    def detach(self) -> None:
        """See :class:`Bridge`."""
        self._put = None
        self._forget_calls()
        self._done.set()

    def keep(self) -> None:
        """See :class:`Bridge`; polling needs no repair: each look comes anew."""

    def read(self, arrival: Arrival) -> Mapping[str, Any]:
        """See :class:`Bridge`. Polled payloads are plain already."""
        return {"event": arrival.kind, "at": arrival.at, **arrival.payload}

    def query(self, id: str, runId: str) -> Any | None:
        """See :class:`Bridge`."""
        return self._known.get(runId) or super().query(id, runId)

    def _poll(self, done: threading.Event) -> None:
        while not done.wait(POLL):
            self.ask(self.look, None)

    def look(self) -> None:
        """One look at all queries: starts, progress and ends since the look before."""
        before = set(self._known)  # one that is started during this look is none that ended
        active = {str(query.runId): query for query in self.spark.streams.active}
        for runId, query in active.items():
            self._take(runId, query)
            self._progress_of(runId, query, ended=False)
        for runId in before - set(active):
            self._ended(runId, self._known.pop(runId))

    def _started(self, query: Any, writer: Any) -> None:
        """Take a query in the moment that this process starts it."""
        super()._started(query, writer)
        if query._session is self.spark:  # noqa: SLF001 - there is no public way
            self._take(str(query.runId), query)

    def _take(self, runId: str, query: Any) -> None:
        with self._one_taker:
            if runId in self._known:
                return
            self._known[runId] = query
        self._hand_over(STARTED, {"id": str(query.id), "runId": runId, "name": query.name})

    def _ended(self, runId: str, query: Any) -> None:
        end = {"id": str(query.id), "runId": runId, "exception": None, "errorClass": None}
        try:
            self._progress_of(runId, query, ended=True)
            end["exception"], end["errorClass"] = failure_of(query)
        finally:  # the server forgets a query that is over after a while: its end is known all the same
            self._last.pop(runId, None)
            self._hand_over(TERMINATED, end)

    def _progress_of(self, runId: str, query: Any, *, ended: bool) -> None:
        last = query.lastProgress
        if last is None:
            return
        before = self._last.get(runId)
        mark = (last["batchId"], last["timestamp"])
        if before == mark:
            return
        # Batches between two looks are read from the recent ones, which cost more: only when there are some.
        missed = ended or before is None or last["batchId"] > before[0] + 1
        for progress in query.recentProgress if missed else [last]:
            seen = (progress["batchId"], progress["timestamp"])
            if before is None or seen > before:
                self._hand_over(PROGRESS, {"progress": text_of(progress)})
                before = seen
        self._last[runId] = mark

    def _hand_over(self, kind: str, payload: dict[str, Any]) -> None:
        put = self._put
        if put is not None:
            put(Arrival(kind, payload, now()))


def listen_again(spark: Any, listener: Any) -> bool:
    """Add a listener to a bus that receives no events any more; those of others that are still there stay.

    A server that still has the listener of the connection that broke never answers a second one: it is taken off first,
    as PySpark does it with its last listener.
    """
    bus = spark.streams._sqlb  # noqa: SLF001 - there is no public way
    others: list[Any] = []
    receiver = bus._execution_thread  # noqa: SLF001
    if receiver is None or not receiver.is_alive():
        with bus._lock:  # noqa: SLF001
            others = [other for other in bus._listener_bus if other is not listener]  # noqa: SLF001
            bus._listener_bus[:] = [listener]  # noqa: SLF001
            bus._execution_thread = None  # noqa: SLF001
        bus.remove(listener)
    if listener not in bus._listener_bus:  # noqa: SLF001
        bus.append(listener)
    with bus._lock:  # noqa: SLF001
        bus._listener_bus.extend(others)  # noqa: SLF001
        return listener in bus._listener_bus  # noqa: SLF001


def _classes() -> tuple[type, type]:
    """Return the classes of Connect's queries and of its writers."""
    from pyspark.sql.connect.streaming.query import StreamingQuery
    from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

    return StreamingQuery, DataStreamWriter


def connect_bridge(spark: Any) -> ConnectBridge:
    """A bridge that listens, or one that polls where client or server is older than 4.0."""
    import pyspark

    listening = ConnectBridge(spark)
    try:
        server = listening.first_answer()
    except Exception:
        fallback.taken()
        server = ""  # the bridge knows that it got no answer
    versions = (str(pyspark.__version__), server)
    majors = [int(version.partition(".")[0]) for version in versions if version.partition(".")[0].isdigit()]
    return PollingBridge(spark) if any(major < 4 for major in majors) else listening
