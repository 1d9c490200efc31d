"""The line of a failed run's error that says what happened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jupyter_streamwatch.text.numbers import clean, middle
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.model.runs import Run

LENGTH = 200  # characters; the whole text is in the details
_WRAPPER = re.compile(r"^.*?terminated with exception:\s*", re.DOTALL)
_JAVA_CLASS = re.compile(r"^(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error):\s*")
_PYTHON_ERROR = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)(?::.*)?$")


def error_line(run: Run) -> str:
    """Return the error class and the line of the error that says what happened.

    Spark wraps the error of a batch in its own ("Query [id = ...] terminated with exception: ..."), and the error
    of a user's Python function in a job failure; what went wrong stands in the last line of Python's traceback.
    """
    text = redact(_WRAPPER.sub("", run.exception or "").strip())
    line = next((clean(one) for one in text.splitlines() if one.strip()), "")
    if "Traceback (most recent call last)" in text:
        after = text.split("Traceback (most recent call last)", 1)[1].splitlines()
        line = next((clean(one) for one in after if _PYTHON_ERROR.match(one)), line)
    line = _JAVA_CLASS.sub("", line) or line or "The query ended with an exception"
    named = run.errorClass and not line.startswith(f"[{run.errorClass}]")
    return middle(f"{run.errorClass}: {line}" if named else line, LENGTH)
