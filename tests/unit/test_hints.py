"""``on_hint``: each code of each query once, and again when a later run had lost it; never on flicker."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from jupyter_streamwatch.diagnosis.engine import history_of
from jupyter_streamwatch.model.progress import Trigger, parse
from jupyter_streamwatch.watching.hint_calls import HintCalls
from tests.unit.diagnosis.made import BEGIN, records

LATE, QUICK = 2600, 700


class Told:
    """A watcher over one history; ``run`` returns how often it told ``falling-behind``."""

    def __init__(self):
        self.history = history_of([])
        self.history.id = "query-1"
        self.history.state_trigger(Trigger.parse(2))
        self.notes = []
        self.codes = []
        self.watcher = HintCalls(SimpleNamespace(histories=lambda: [self.history], note=self.notes.append))
        self.remove = self.watcher.add(lambda history, hint: self.codes.append(hint.code))
        self.begin, self.batch = BEGIN, 0

    def run(self, name, *times, count=20):
        """Add a run whose batches take ``times``, ``count`` of each, and look after every batch."""
        ms = [took for took in times for _ in range(count)]
        for record in records(len(ms), ms=lambda i: ms[i], run=name, begin=self.begin, first=self.batch):
            self.history.append(parse(record))
            self.watcher.look()
        self.begin += 10_000_000
        self.batch += len(ms)
        return [code for code in self.codes if code == "falling-behind"]


@pytest.fixture
def told():
    return Told()


def test_a_code_is_told_once(told):
    """However many batches it holds."""
    assert told.run("run-1", LATE) == ["falling-behind"]


def test_flicker_is_not_told(told):
    """In one run a code that comes and goes is told once."""
    assert told.run("run-1", LATE, QUICK, LATE, QUICK, LATE) == ["falling-behind"]


def test_what_becomes_critical_is_told_once_more(told):
    """Late batches are a warning; then a backlog grows, then it does not, then it grows again."""
    severities = []
    told.watcher.add(lambda history, hint: severities.append((hint.code, hint.severity)))
    waits = [0] * 15 + [2000 * i for i in range(20)] + [40_000] * 20 + [40_000 + 2000 * i for i in range(20)]
    for record in records(len(waits), ms=LATE, backlog=lambda i: waits[i]):
        told.history.append(parse(record))
        told.watcher.look()
    late = [severity for code, severity in severities if code == "falling-behind"]
    assert late == ["warning", "critical"]


def test_what_holds_over_a_restart_is_not_told_again(told):
    """The next run has it too: nothing new."""
    told.run("run-1", LATE)
    assert told.run("run-2", LATE) == ["falling-behind"]
    assert told.run("run-3", LATE) == ["falling-behind"]


def test_what_a_later_run_had_lost_is_told_again(told):
    """Cleared in one run, raised anew in it or in the next one."""
    told.run("run-1", LATE)
    told.run("run-2", QUICK)
    assert told.run("run-3", LATE) == ["falling-behind", "falling-behind"]
    assert told.run("run-4", QUICK, LATE) == ["falling-behind"] * 3


def test_a_short_run_clears_nothing(told):
    """Too few batches to judge."""
    told.run("run-1", LATE)
    told.run("run-2", QUICK, count=2)
    assert told.run("run-3", LATE) == ["falling-behind"]


def test_a_new_callback_hears_what_holds_now(told):
    """And the others do not hear it again."""
    told.run("run-1", LATE)
    late = []
    told.watcher.add(lambda history, hint: late.append(hint.code))
    told.watcher.look()
    assert late == ["falling-behind"]
    assert told.codes == ["falling-behind"]


def test_a_callback_that_was_removed_hears_nothing(told):
    """Nor does it keep the watcher busy."""
    told.remove()
    assert told.run("run-1", LATE) == []


def test_a_callback_that_raises_is_noted_and_disturbs_nobody(told):
    """The others hear the hint."""
    told.watcher.add(lambda history, hint: 1 / 0)
    assert told.run("run-1", LATE) == ["falling-behind"]
    assert told.notes == ["An on_hint callback raised ZeroDivisionError: division by zero"]


def test_queries_are_told_apart(told):
    """The same code of two queries is two hints."""
    other = history_of(records(20, ms=LATE, id="query-2"))
    other.state_trigger(Trigger.parse(2))
    told.watcher._collector.histories = lambda: [told.history, other]
    assert told.run("run-1", LATE) == ["falling-behind", "falling-behind"]


def test_what_cannot_be_called_is_refused(told):
    """At once, in the cell of the one who passed it."""
    with pytest.raises(TypeError, match="on_hint takes a function of"):
        told.watcher.add(3)
