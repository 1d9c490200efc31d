"""An error's text as data: the causes from the outermost to the last one, each with its frames.

The text is Java's, Scala's or Python's, or one inside the other: a task's failure in the message of a job's, the
traceback of a Python function in the message of the Java exception that brought it, a Java trace in the message of
the Python exception that brought that one.
"""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from jupyter_streamwatch.model.errors.text import lines_of

_WORDS: Final = 3  # fewer are a name or a path, and the class says what is the matter with it
MAX_CAUSES: Final = 64
MAX_FRAMES: Final = 100  # of one cause
MAX_MESSAGE: Final = 6_000  # characters of one message

Language = Literal["java", "python"]


@dataclass(frozen=True)
class Frame:
    """One call of a stack trace.

    Attributes:
        function: What was called; in Java with its class.
        file: The file as the trace says; None where it does not.
        line: The line in it; None where the trace does not say.
        code: The source line, where a Python traceback shows it.
        language: ``java`` or ``python``.
    """

    function: str
    file: str | None = None
    line: int | None = None
    code: str | None = None
    language: Language = "java"

    def __str__(self) -> str:
        """The frame in one line: function, file and line."""
        where = f"{self.file}:{self.line}" if self.file and self.line is not None else self.file or ""
        return f"{self.function} ({where})" if where else self.function


@dataclass(frozen=True)
class Cause:
    """One exception of a chain.

    Attributes:
        name: Its class as written; empty when the text does not say.
        message: What it says, without the exceptions that Spark writes into the message.
        condition: Spark's error condition (``CAST_INVALID_INPUT``), where it has one.
        sqlState: The five characters after ``SQLSTATE``, where they are there.
        frames: Where it was raised, the innermost call first.
        task: The executor that ran the failing task (``3``, ``driver``), when this is what a task reported.
        language: Who raised it: ``java`` (any JVM language) or ``python``.
    """

    name: str
    message: str = ""
    condition: str | None = None
    sqlState: str | None = None
    frames: tuple[Frame, ...] = ()
    task: str | None = None
    language: Language = "java"

    @property
    def simple(self) -> str:
        """Its class without the package."""
        return re.split(r"[.$]", self.name.rstrip("$."))[-1]

    @property
    def python(self) -> bool:
        """Whether Python raised it."""
        return self.language == "python"

    @property
    def first_line(self) -> str:
        """The first line of its message that has words."""
        return next((line.strip() for line in self.message.split("\n") if line.strip()), "")


_CLASS = r"(?:[A-Za-z_][\w$]{0,200}\.){0,20}[A-Za-z_$][\w$]{0,200}"
_FULL = r"(?:[A-Za-z_][\w$]{0,200}\.){1,20}[A-Z][\w$]{0,200}"
_ENDS = r"(?:Exception|Error|Throwable|Failure|Exit|Interrupt|Fault|NotCompatible|Iteration)"
_JAVA_FRAME = re.compile(r"\s*at\s+(?:[\w.@-]{0,100}/{1,2}){0,2}([^\s()]{1,400}?)\(([^()]{0,300})\)")
_PLAIN_FRAME = re.compile(r"\s+((?:[\w$<>]{1,200}\.){2,30}[\w$<>]{1,200})\(([\w$]{1,200}\.(?:scala|java|kt):\d+)\)$")
_BARE_FRAME = re.compile(r"\s+at\s+[\w.$/<>]{1,400}$")
_MORE = re.compile(r"\s*\.\.\. (?:\d+ (?:more|common frames omitted)|elided|and \d+ more)|\s*\.\.\.$")
_HEAD = re.compile(
    r"(?P<indent>\s*)(?P<how>(?:\[\w+\] )?(?:Caused by|Suppressed|Wrapped by|Exception in thread \"[^\"]{0,200}\"|"
    rf"ERROR|: ?(?=[a-z])):? ?:? ?)?(?:\[CIRCULAR REFERENCE: ?)?\(?(?P<name>{_CLASS})\)?(?:\((?P<inner>{_FULL})\))?"
    r"(?P<rest>: .*|:?$)",
    re.DOTALL,
)
_EXCEPTION_NAME = re.compile(rf"\(?(?:{_FULL}|[A-Z]\w{{0,100}}){_ENDS}?\Z")
_ENDING = re.compile(rf"{_ENDS}\Z")
_INSIDE = re.compile(rf"(?:^|[\s(:\[])(?P<name>(?:[a-z_][\w$]{{0,100}}\.){{2,20}}[A-Z][\w$]{{0,200}}?{_ENDS})\)?:? ")
_TASK = re.compile(
    r"Lost task [\d.]+ in stage [\d.]+ \(TID \d+(?:, (?P<host>[^,)]{0,200})(?:, executor (?P<old>\w+))?[^)]{0,100})?\)"
    r"(?: \([^()]{0,200}?executor (?P<executor>\w+)\))?: "
)
_LOST = re.compile(r"ExecutorLostFailure \(executor (\w+) [^)]{0,300}\)(?: Reason:)? ?")
_TRACEBACK: Final = "Traceback (most recent call last)"
_PYTHON_FRAME = re.compile(
    r"\s*(?:File \"(?P<file>[^\"]{1,400})\", line (?P<line>\d+)(?:, in (?P<function>.{1,200}))?"
    r"|(?P<cell>(?:Cell )?In ?\[\d*\]|File (?P<path>[^\s\",]{1,400}):(?P<at>\d+))(?:, line (?P<cell_line>\d+))?"
    r"(?:, in (?P<in>.{1,200}))?"
    r"|(?P<old>[/~<][^\s]{0,400}) in (?P<old_function>[\w<>]{1,100}\([^)]{0,200}\)?))$"
)
_PYTHON_ERROR = re.compile(rf"(?P<name>{_CLASS})(?:: (?P<message>.*))?$", re.DOTALL)
_ARROW = re.compile(r"\s*-+> ?(?P<line>\d+) (?P<code>.*)")
_DIRECT: Final = "The above exception was the direct cause of the following exception"
_DURING: Final = "During handling of the above exception, another exception occurred"
_PREVIOUS: Final = "Previous exception in task"  # which one that came while the task was closed down hides
_WRAPPER = re.compile(r"(?:Query )?[^\n]{0,400}?terminated with (?:exception|error): ?")
_SECTION = re.compile(
    r"=== Streaming Query ===|Identifier: .*\[id = |Current (?:Committed|Available) Offsets:|Current State: |"
    r"Thread State: |(?:Unparsed )?Logical Plan:|== SQL|={3,} "
)
_LOG_LINE = re.compile(
    r"(?:\d{2,4}[-/.]\d\d?[-/.]\d\d?[ T]\d\d?:\d\d:\d\d\S*|\d\d:\d\d:\d\d\S*|\[\d{4}-\d\d-\d\d[^\]]{0,40}\]) .{0,100}?"
    r"\b(?P<level>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b[ \]:]{1,5}"
)
_CONDITION = re.compile(r"(?:^|[:\s(])\[([A-Z][A-Z0-9_]{2,100}(?:\.[A-Z][A-Z0-9_]{1,100}){0,3})\]")
_LONE_STATE = re.compile(r"\n\s*(?:SQLSTATE: [0-9A-Z]{5}\s*)+\Z")  # of the exception around it
_SQL_STATE = re.compile(r"SQLSTATE(?::|\() ?([0-9A-Z]{5})\b")


@dataclass
class _Draft:
    """A cause while it is read."""

    name: str
    python: bool = False
    task: str | None = None
    message: list[str] = field(default_factory=list)
    size: int = 0
    frames: list[Frame] = field(default_factory=list)
    closed: bool = False  # its message has ended
    complete: bool = False  # its frames have ended, too
    parent: _Draft | None = None

    def say(self, line: str) -> None:
        if self.size < MAX_MESSAGE:
            self.message.append(line)
            self.size += len(line) + 1

    def finish(self) -> Cause:
        message = "\n".join(self.message).strip("\n")[:MAX_MESSAGE].strip()
        state = _SQL_STATE.search(message)
        message = _LONE_STATE.sub("", message)
        condition = _CONDITION.search(message[:600])
        # Python prints the innermost call last.
        frames = tuple(reversed(self.frames)) if self.python else tuple(self.frames)
        return Cause(
            self.name,
            message,
            condition[1] if condition else None,
            state[1] if state else None,
            frames,
            self.task,
            "python" if self.python or self.name in _BUILT_IN else "java",
        )


@lru_cache(maxsize=32)
def causes_of(text: str) -> tuple[Cause, ...]:
    """The causes in the text of an error, the outermost first and the last one last; empty for a text without words.

    Causes that are written more than once (in the job's message and as its cause) are one. Suppressed exceptions are
    left out: they are no reason.
    """
    reader = _Reader()
    for line in lines_of(text):
        reader.take(line)
    drafts = [draft.finish() for draft in reader.drafts]
    return tuple(cause for cause in drafts if cause.name or cause.message)


class _Reader:
    """Takes the lines of an error one by one and keeps its causes in order."""

    def __init__(self) -> None:
        self.drafts: list[_Draft] = []
        self._current: _Draft | None = None  # whose message or frames come next
        self._java: _Draft | None = None  # the Java exception that Java frames belong to
        self._traceback: int | None = None  # indentation of the Python traceback that is being read
        self._begun: int | None = None  # place of the first cause of the latest Python block
        self._at: int | None = None  # where the next causes go; None is the end
        self._suppressed: int | None = None  # indentation of the suppressed exception that is being skipped
        self._skips = False  # within a section that is no part of the error
        self._ended = False  # the log went on with other things
        self._repeats = False  # the next exception is the one above, as Java tells it
        self._frames: list[Frame] = []  # of the Python traceback that is being read

    def take(self, line: str) -> None:
        if self._ended or not any(map(str.isalnum, line)):
            return
        if self._traceback is not None and self._in_traceback(line):
            return
        if self._is_frame(line) or self._is_link(line):
            return
        head = self._head(line)
        if head is not None:
            self._take_head(head)
        elif _TRACEBACK in line and (self.drafts or not line.partition(_TRACEBACK)[0].rstrip().endswith(":")):
            self._start_traceback(line)
        else:
            self._take_words(line)

    def _is_frame(self, line: str) -> bool:
        frame = _JAVA_FRAME.match(line) or _PLAIN_FRAME.match(line)
        if frame is None:
            if _MORE.match(line):
                if self._java is not None:
                    self._java.complete = self._java.closed = True
                return True
            if _BARE_FRAME.match(line) and self._current is not None and self._current.closed:
                return True
            bare = _BARE_FRAME.match(line) if self._current is not None and self._current.name else None
            if bare is not None and self._current is not None:
                self._current.closed = True
            return bare is not None
        self._skips = False
        if self._suppressed is None and self._java is not None:
            file, _, number = frame[2].partition(":")
            known = file if file not in ("Unknown Source", "Native Method", "") else None
            if len(self._java.frames) < MAX_FRAMES and not self._java.complete:
                self._java.frames.append(Frame(frame[1], known, int(number) if number.isdecimal() else None))
            self._java.closed = True
        if self._current is not None:
            self._current.closed = True
        return True

    def _is_link(self, line: str) -> bool:
        text = line.strip()
        if text.startswith("Driver stacktrace"):
            task = next((draft for draft in self.drafts if draft.task is not None), None)
            self._java = task.parent if task is not None else self._java
            self._current = self._java
            if self._current is not None:
                self._current.closed = True
            return True
        if _DIRECT in text or _DURING in text:
            self._at = self._begun  # what follows was raised because of what stands above
            self._current = None
            return True
        if text.startswith(("JVM stacktrace", "Java stacktrace")):
            self._repeats = True
            return True
        if _SECTION.match(text):
            self._skips = True
            return True
        if text.startswith(_PREVIOUS):
            self._open("", text[len(_PREVIOUS) :].strip(": "))
            return True
        return False

    def _head(self, line: str) -> re.Match[str] | None:
        head = _HEAD.match(line)
        if head is None:
            return None
        how, name = head["how"] or "", head["name"]
        if how.startswith("ERROR") and not _ENDING.search(name):
            return None
        if "by" in how or how.startswith(("Suppressed", "Exception", ":")):
            return head if "." in name or _ENDING.search(name) else None
        if self._skips and not _ENDING.search(name):
            return None
        first = self._current is None and self._traceback is None
        full = re.fullmatch(_FULL, name) is not None
        if full and (_ENDING.search(name) or (first and name.count(".") >= 2)):
            return head
        return head if _ENDING.search(name) and (first or not self._open_java()) and " " not in name else None

    def _open_java(self) -> bool:
        """Whether the message of a Java exception goes on, in which a word with a colon is no new exception."""
        return self._current is not None and not self._current.closed and not self._current.python

    def _take_head(self, head: re.Match[str]) -> None:
        indent, how = len(head["indent"].expandtabs(4)), head["how"] or ""
        if how.startswith("Suppressed"):
            self._suppressed = indent
            return
        if self._suppressed is not None:
            if how and indent >= self._suppressed > 0:
                return
            self._suppressed = None
        self._skips = False
        if how.startswith("Wrapped"):  # a log that prints the root first
            self._at = 0
        elif "Caused by" in how:
            self._at = None if self._at == 0 else self._at
        name, rest = head["inner"] or head["name"], head["rest"][1:].strip()
        self._open(name, rest)

    def _take_words(self, line: str) -> None:
        logged = _LOG_LINE.match(line)
        if logged is not None:
            self._take_logged(logged["level"], line[logged.end() :])
            return
        if self._skips or self._suppressed is not None:
            return
        if self._current is None:
            if not self.drafts:
                self._open("", line.strip())
        elif not self._current.closed:
            self._say(self._current, line)

    def _take_logged(self, level: str, said: str) -> None:
        """Take what another line of the log says, while no exception was read: that one is what is asked for."""
        self._traceback = None
        if self._current is not None:
            self._current.closed = True
        self._ended = any(draft.name for draft in self.drafts)
        if self._ended or level not in ("WARN", "WARNING", "ERROR", "FATAL"):
            return
        said = said.partition(": ")[2] or said
        if re.search(r"terminated with (?:error|exception)\s*$", said):
            return
        self.drafts.clear()
        self._current = None
        head = self._head(said)
        if head is not None:
            self._take_head(head)
        else:
            self._open("", said)
        if not any(draft.name for draft in self.drafts):
            self._current = None  # the exception stands in the next line

    def _open(self, name: str, message: str, *, python: bool = False, task: str | None = None) -> None:
        """Begin a cause, or go on with one that was written before."""
        before = self._known(name, message[:80])
        self._repeats = False
        if before is not None:
            before.complete = before.complete or bool(before.frames)
            self._current = before
            self._java = self._java if python else before
            if _TRACEBACK in message:
                self._start_traceback(message)
            return
        if len(self.drafts) >= MAX_CAUSES:
            del self.drafts[MAX_CAUSES // 2]  # the outermost and the last ones say the most
        draft = _Draft(name, python=python, task=task)
        if task is not None:
            draft.parent = self._current
        if self._at is None:
            self.drafts.append(draft)
        else:
            self.drafts.insert(self._at, draft)
            self._at += 1
        self._current = draft
        if not python:
            self._java = draft
        self._say(draft, message)

    def _known(self, name: str, first: str) -> _Draft | None:
        """The cause that was written before with this class and this beginning of its message."""
        traced = first.replace(_TRACEBACK, "").strip(": ")
        for draft in self.drafts:
            if self._repeats and draft.name.rpartition(".")[2] == name.rpartition(".")[2]:
                return draft
            if draft.name == name and _same(draft.message[0] if draft.message else "", traced):
                return draft
        return None

    def _say(self, draft: _Draft, line: str) -> None:
        """Take a line of a message, and the exceptions that are written into it as causes of their own."""
        line = _WRAPPER.sub("", line, count=1) if "terminated with e" in line else line
        task = _TASK.search(line)
        if task is not None:
            draft.say(line[: task.start()].removesuffix("most recent failure: ").rstrip(" ,:"))
            self._task(line[task.end() :], task["executor"] or task["old"] or task["host"] or "")
            return
        if _TRACEBACK in line:
            draft.say(line[: line.find(_TRACEBACK)].rstrip())
            self._start_traceback(line)
            return
        inside = _INSIDE.search(line[:1_000] + " ")
        if inside is not None and line[inside.end() :].strip():
            before = line[: inside.start("name")].rstrip(" (:")
            draft.say(before)
            self._open(inside["name"], line[inside.end() :].strip())
            return
        draft.say(line)

    def _task(self, text: str, executor: str) -> None:
        lost = _LOST.match(text)
        if lost is not None:
            self._open("ExecutorLostFailure", text[lost.end() :], task=lost[1])
            return
        head = _HEAD.match(text)
        if head is not None and _EXCEPTION_NAME.match(head["name"]):
            self._open(head["inner"] or head["name"], head["rest"][1:].strip(), task=executor)
        else:
            self._open("", text, task=executor)

    def _start_traceback(self, line: str) -> None:
        at = line.find(_TRACEBACK)
        self._traceback = at if not line[:at].strip() else 0
        self._suppressed = None
        self._skips = False
        self._frames = []

    def _in_traceback(self, line: str) -> bool:
        """Take a line of a Python traceback; False when it is none."""
        frame = _PYTHON_FRAME.match(line)
        if frame is not None:
            self._add_python_frame(frame)
            return True
        indent = len(line) - len(line.lstrip())
        arrow = _ARROW.match(line)
        if arrow is not None and self._frames:
            last = self._frames[-1]
            self._frames[-1] = Frame(
                last.function, last.file, last.line or int(arrow["line"]), arrow["code"].strip(), "python"
            )
            return True
        if indent > (self._traceback or 0) or re.match(r"\s*\d+ ", line):
            self._add_code(line.strip())
            return True
        error = _PYTHON_ERROR.match(line.strip())
        if error is None or not (self._frames or _ENDING.search(error["name"])):
            ended = bool(self._frames)
            self._traceback = None if ended else self._traceback
            return not ended
        self._end_traceback(error["name"], error["message"] or "")
        return True

    def _add_python_frame(self, frame: re.Match[str]) -> None:
        if len(self._frames) >= MAX_FRAMES:
            del self._frames[1]  # the first call tells who called, the last ones what failed
        file = frame["file"] or frame["path"] or frame["cell"] or frame["old"]
        number = frame["line"] or frame["cell_line"] or frame["at"]
        function = frame["function"] or frame["in"] or frame["old_function"] or "<module>"
        self._frames.append(Frame(function.strip(), file, int(number) if number else None, None, "python"))

    def _add_code(self, code: str) -> None:
        if self._frames and self._frames[-1].code is None and set(code) - set("~^ "):
            last = self._frames[-1]
            self._frames[-1] = Frame(last.function, last.file, last.line, code[:300], "python")

    def _end_traceback(self, name: str, message: str) -> None:
        self._traceback = None
        known = [id(draft) for draft in self.drafts]
        at = len(self.drafts) if self._at is None else self._at
        self._open(name, message, python=True)
        draft = next((one for one in self.drafts if id(one) not in known), None)
        if draft is not None:
            self._begun = at
            draft.frames = self._frames
        elif self._current is not None and not self._current.frames:
            self._current.frames, self._current.python = self._frames, True


# Errors of Python itself; one of these names Java has, too.
_BUILT_IN = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
) - {"AssertionError"}
_WRAPS = re.compile(
    r"(?:Writing )?[Jj]ob aborted|An error occurred while calling|An exception was raised by the Python Proxy|"
    r"Exception thrown in awaitResult|(?:\[TASK_WRITE_FAILED\] )?Task failed while writing rows|"
    r"(?:\[FAILED_EXECUTE_UDF\] )?Failed to execute user defined function|Foreach writer has been aborted|"
    r"\[FOREACH_(?:BATCH_)?USER_FUNCTION_ERROR\]|\[STREAM_FAILED\]|terminated with (?:exception|error)"
)

_CARRIERS: Final = frozenset(
    {"", "ExecutionException", "InvocationTargetException", "Py4JException", "PythonException", "SparkException"}
)


def last_of(causes: tuple[Cause, ...]) -> Cause | None:
    """The last cause that says what happened; one that only says that something failed, where there is no other."""
    for cause in reversed(causes):
        if not _WRAPS.match(cause.message) and (cause.message or cause.simple not in _CARRIERS):
            return cause
    return causes[-1] if causes else None


def said(cause: Cause) -> str:
    """A cause in one line: what it says, after its class where Python's or where the words alone say too little."""
    line, name = cause.first_line, cause.simple
    if not line:
        return f"{name} at {cause.frames[0]}" if name and cause.frames else name
    told = len(line.split()) >= _WORDS and not cause.python
    return line if told or not name or line.startswith(("[", name)) else f"{name}: {line}"


def _same(one: str, other: str) -> bool:
    """Whether two first lines of a message are the same, one of them perhaps cut."""
    one, other = one[:80].strip(), other.strip()
    return one == other or (len(one) > 20 and len(other) > 20 and (one.startswith(other) or other.startswith(one)))
