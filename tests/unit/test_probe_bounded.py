"""Questions to Spark that cannot hang who asks."""

from __future__ import annotations

import gc
import threading
import time
from functools import partial

from jupyter_streamwatch.spark import bounded
from tests.helpers import wait_until


class Session:
    """Stands for a session of Spark."""


def askers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "streamwatch-asks-spark"]


def test_an_answer_is_returned():
    """The answer of a question comes back, from one thread for all questions to a session."""
    session = Session()
    assert bounded.ask(session, lambda: 7, None, seconds=5) == 7
    names = {bounded.ask(session, threading.get_ident, None, seconds=5) for _ in range(3)}
    assert len(names) == 1


def test_a_question_that_raises_gives_the_default():
    """An error of Spark's is no error of who asks."""
    assert bounded.ask(Session(), lambda: 1 / 0, "default", seconds=5) == "default"


def test_a_question_that_hangs_gives_the_default_in_time():
    """Who asks waits for the time given; later questions are not asked while one hangs, and are again when it ends."""
    session, release, asked = Session(), threading.Event(), []
    assert bounded.ask(session, release.wait, "default", seconds=0.05) == "default"
    begun = time.monotonic()
    assert bounded.ask(session, lambda: asked.append(1), "default", seconds=0.01) == "default"
    assert time.monotonic() - begun < 2
    assert not asked
    release.set()
    wait_until(lambda: bounded.ask(session, lambda: "here", None, seconds=1) == "here", 10)
    assert not asked, "a question nobody waits for any more is not asked"


def test_sessions_do_not_wait_for_each_other():
    """A session that hangs keeps no other one from being asked."""
    hanging, other, release = Session(), Session(), threading.Event()
    assert bounded.ask(hanging, release.wait, None, seconds=0.05) is None
    assert bounded.ask(other, lambda: 1, None, seconds=5) == 1
    release.set()


def test_the_thread_ends_with_its_session():
    """Nothing keeps a session alive, and its thread ends with it."""
    before = len(askers())
    session = Session()
    bounded.ask(session, partial(vars, session), None, seconds=5)
    del session
    gc.collect()
    wait_until(lambda: len(askers()) <= before, 10, "the thread still runs")
