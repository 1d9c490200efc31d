"""Verdicts on triggers, named sources, starts, sinks and joins that changed sides (measured on Spark 4.3.0)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_streamwatch.checkpoints import facade
from jupyter_streamwatch.checkpoints.comparing.compare import judge
from jupyter_streamwatch.checkpoints.parts import Field, SourceOffset, StateOperator, StateStore
from jupyter_streamwatch.checkpoints.storage.files import Local
from jupyter_streamwatch.model.query_shape import Column, OperatorShape, Shape, SourceShape, StateShape
from jupyter_streamwatch.spark.plans import sinks
from tests.unit.checkpoints.test_compat import Fake, told
from tests.unit.checkpoints.test_modes import file_sink, kafka

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = Shape(
    mode="classic",
    sparkVersion="4.3.0",
    sources=(SourceShape("kafka", "Kafka orders", ()),),
    filters=(),
    output=(Column("value", "string", origin="value"),),
    operators=(),
    state=(),
    watermarks=(),
    outputMode="append",
    sink="kafka",
    sinkPath="out",
    trigger="processingTime",
    options=(),
)
KAFKA = (SourceOffset(0, "kafka", {"orders": {"0": 5}}, "5"),)


def fake(read: tuple[SourceOffset, ...] = KAFKA, **known: Any) -> Fake:
    return Fake(read=read, **known)


@pytest.mark.parametrize("trigger", ["processingTime", "availableNow", "default", "realTime"])
def test_a_continuous_checkpoint_takes_no_other_trigger(trigger: str) -> None:
    """Spark fails with a NullPointerException; a continuous trigger goes on."""
    checkpoint = fake(continuous=True)
    (change,) = judge(checkpoint, replace(PLAIN, trigger=trigger), replace(PLAIN, trigger="continuous"))
    assert (change.what, change.verdict) == ("trigger", "not-allowed")
    assert list(judge(checkpoint, replace(PLAIN, trigger="continuous"), None)) == []
    silent = judge(checkpoint, replace(PLAIN, trigger=None), None)
    assert any("no other trigger runs" in text for text in silent.unseen)


def test_micro_batches_become_continuous() -> None:
    """The other way works, at-least-once from then on; not for the rate source."""
    now = replace(PLAIN, trigger="continuous")
    assert told(judge(fake(), now, PLAIN)) == [("trigger", "changed-meaning")]
    rate = SourceShape("rate", "rate 1/s", ())
    read = (SourceOffset(0, "rate", 4, "4"),)
    changes = judge(fake(read), replace(now, sources=(rate,)), replace(PLAIN, sources=(rate,)))
    assert told(changes) == [("trigger", "not-allowed")]
    assert list(judge(fake(), replace(PLAIN, trigger="availableNow"), PLAIN)) == []


class Gapped(Fake):
    """Logs as asynchronous progress tracking leaves them."""

    @property
    def lastOffset(self) -> int:
        return 7

    @property
    def offsets(self) -> dict:
        (entry,) = super().offsets.values()
        return {3: entry, 7: entry}


def test_gaps_need_the_option_that_left_them() -> None:
    """Without asynchronous progress tracking Spark refuses the gap; with it, or if that is unknown, nothing is said."""
    checkpoint = Gapped(read=KAFKA)
    on = replace(PLAIN, options=(("asyncprogresstrackingenabled", "true"),))
    assert told(judge(checkpoint, PLAIN, on)) == [("conf", "not-allowed")]
    assert list(judge(checkpoint, on, on)) == []
    assert list(judge(checkpoint, replace(PLAIN, options=None), on)) == []


NAMED = (SourceOffset(0, "kafka", {"a": {"0": 5}}, "5", "a"), SourceOffset(1, "kafka", {"b": {"0": 5}}, "5", "b"))
A, B, C = (SourceShape("kafka", f"Kafka {name}", (), name=name) for name in "abc")


@pytest.mark.parametrize(
    ("now", "verdicts"),
    [
        ((A, B), []),
        ((B, A), []),
        ((A, B, C), ["allowed"]),
        ((A,), ["allowed"]),
        ((C, A), ["allowed", "allowed"]),
        ((A, replace(B, name=None)), ["not-allowed"]),
        ((A, replace(C, name="b")), ["not-allowed"]),
    ],
    ids=["same", "other order", "added", "dropped", "both", "without a name", "another topic by the same name"],
)
def test_named_sources_come_go_and_change_places(now: tuple[SourceShape, ...], verdicts: list[str]) -> None:
    """Spark finds them by name; one that lost its name is refused, and so is another topic under an old name."""
    before = replace(PLAIN, sources=(A, B))
    assert [change.verdict for change in judge(fake(NAMED), replace(PLAIN, sources=now), before)] == verdicts
    assert [change.what for change in judge(fake(NAMED), replace(PLAIN, sources=now), None)] == ["sources"] * len(
        verdicts
    )


def test_names_on_an_old_checkpoint() -> None:
    """Names cannot be given later."""
    now = replace(PLAIN, sources=(replace(A, what="Kafka orders"),))
    assert told(judge(fake(), now, PLAIN)) == [("sources", "not-allowed")]


def test_where_to_start_has_no_effect() -> None:
    """A changed startingOffsets is said to do nothing; unchanged, or of a run that nobody watched, it is no change."""
    earliest, latest = (
        replace(PLAIN, sources=(replace(PLAIN.sources[0], start=(("startingoffsets", offset),)),))
        for offset in ("earliest", "latest")
    )
    (change,) = judge(fake(), latest, earliest)
    assert (change.what, change.verdict) == ("sources", "allowed")
    assert "No effect" in change.reason
    assert list(judge(fake(), latest, latest)) == []
    alone = judge(fake(), latest, None)
    assert list(alone) == []
    assert any("startingoffsets latest: no effect" in text for text in alone.unseen)


@pytest.mark.parametrize(("mode", "refused"), [("append", True), ("update", True), ("complete", False)])
def test_the_memory_sink(mode: str, refused: bool) -> None:
    """It recovers in complete mode alone, also of a query that did not change."""
    shape = replace(PLAIN, sink="memory", sinkPath=None, outputMode=mode, operators=(OperatorShape("stateStoreSave"),))
    verdicts = [(change.what, change.verdict) for change in judge(fake(), shape, shape)]
    assert (("sink", "not-allowed") in verdicts) is refused


def test_a_class_and_its_short_name_are_one_sink() -> None:
    """Spark's own class names are no change; what a run calls a Python data source may be any."""
    assert sinks.kind("org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat") == "files"
    assert sinks.kind("parquet") == "files"
    python, mine = replace(PLAIN, sink="python", sinkPath=None), replace(PLAIN, sink="mysink", sinkPath=None)
    changes = judge(fake(), mine, python)
    assert list(changes) == []
    assert any("both may be one" in text for text in changes.unseen)
    assert told(judge(fake(), replace(mine, sink="delta"), replace(python, sink="console"))) == [
        ("sink", "changed-meaning")
    ]


def test_a_join_with_its_sides_swapped_is_one_change() -> None:
    """Sources and both states say the same thing: it is said once."""
    key = (Field("field0", "int"),)

    def store(side: str, *names: str) -> list[StateStore]:
        return [
            StateStore(f"{side}-keyToNumValues", key, (Field("value", "bigint"),)),
            StateStore(f"{side}-keyWithIndexToValue", key, tuple(Field(name, "string") for name in names)),
        ]

    old = StateOperator(0, "symmetricHashJoin", stores=(*store("left", "id", "l"), *store("right", "id", "r")))
    columns = {side: tuple(Column(name, "string") for name in ("id", side)) for side in ("l", "r")}
    checkpoint = Fake((old,), read=(KAFKA[0], replace(KAFKA[0], index=1, value={"other": {"0": 1}})))
    left, right = SourceShape("kafka", "Kafka orders", ()), SourceShape("kafka", "Kafka other", ())
    join = OperatorShape("symmetricHashJoin", joinType="Inner", condition="(a = b)")
    before = replace(
        PLAIN,
        sources=(left, right),
        operators=(join,),
        state=(StateShape(0, "symmetricHashJoin", (Column("id", "int"),), columns["l"], columns["r"]),),
    )
    swapped = replace(
        before,
        sources=(right, left),
        state=(StateShape(0, "symmetricHashJoin", (Column("id", "int"),), columns["r"], columns["l"]),),
    )
    for known in (before, None):
        (change,) = judge(checkpoint, swapped, known)
        assert change.what == "join"
        assert "sides of the join changed places" in change.reason
    assert list(judge(checkpoint, before, before)) == []


def test_a_folder_with_batches_of_another_checkpoint(tmp_path: Path) -> None:
    """The file sink would skip the ids that the folder has: said of a new checkpoint and of one that is behind."""
    sink = file_sink(tmp_path / "out", 4)
    shape = replace(PLAIN, sink="files", sinkPath=sink.path)
    for planned in ([], [0, 1]):
        folder = kafka(tmp_path / f"c{len(planned)}", planned, planned)
        (change,) = facade.Checkpoint(Local(folder)).compare(shape)
        assert (change.what, change.verdict) == ("sink", "silently-wrong")
        assert "committed without being written" in change.reason
    own = facade.Checkpoint(Local(kafka(tmp_path / "own", [2, 3], [2, 3])))
    assert list(own.compare(replace(shape, sinkPath=str(tmp_path / "nothing")))) == []
