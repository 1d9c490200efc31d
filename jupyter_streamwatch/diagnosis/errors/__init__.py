"""What stopped a query: its error is read before it is judged.

``model.errors`` makes a chain of causes of the text. Here ``owners`` says whose each of them is, ``kinds``
has the usual ways to fail with the signs that show them, ``cures`` what helps and what it costs with the query's sink.

A new kind is a function in one of the files of ``kinds`` under ``@kind(name, signs)``, and a text that shows it in
``tests/cases/errors.json``; one that only looks like it goes there as a near miss.
"""

from jupyter_streamwatch.diagnosis.errors.failure import Failure
from jupyter_streamwatch.diagnosis.errors.judgement import Judgement, judge_error

__all__ = ["Failure", "Judgement", "judge_error"]
