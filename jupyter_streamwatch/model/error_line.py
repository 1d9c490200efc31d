"""The line of a failed run's error that says what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_streamwatch.model.errors import causes_of, last_of, said
from jupyter_streamwatch.text.numbers import clean, middle
from jupyter_streamwatch.text.redaction import redact

if TYPE_CHECKING:
    from jupyter_streamwatch.model.runs import Run

LENGTH = 200  # characters; the whole text is in the details


def error_line(run: Run) -> str:
    """Return the error condition and what the last cause of the error says.

    Spark wraps what went wrong in errors of its own ("Query [id = ...] terminated with exception", "Job aborted"): the
    last cause is what happened.
    """
    causes = causes_of(run.exception or "")
    last = last_of(causes)
    line = redact(clean(said(last))) if last is not None else ""
    line = line or "The query ended with an exception"
    condition = (last.condition if last is not None else None) or run.errorClass
    named = condition and f"[{condition}]" not in line
    return middle(f"{condition}: {line}" if named else line, LENGTH)
