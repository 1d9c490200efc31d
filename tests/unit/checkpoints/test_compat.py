"""Verdicts on changed queries, without Spark: a checkpoint's state and offsets against what a query is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_streamwatch.checkpoints.comparing.changes import Change, Changes
from jupyter_streamwatch.checkpoints.comparing.compare import compare, judge
from jupyter_streamwatch.checkpoints.parts import (
    Field,
    OffsetEntry,
    SourceFile,
    SourceOffset,
    StateOperator,
    StateStore,
)
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.history import History
from jupyter_streamwatch.model.query_shape import (
    NOT_BIGINT,
    Aggregate,
    Column,
    OperatorShape,
    Shape,
    SourceShape,
    StateShape,
)
from jupyter_streamwatch.recordings.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Mapping

NULLABLE = {"spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled": "true"}


@dataclass
class Fake:
    """What a comparison asks of a checkpoint."""

    operators: tuple[StateOperator, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[int, Any] = field(default_factory=dict)
    read: tuple[SourceOffset, ...] = (SourceOffset(0, "file", {"logOffset": 0}, "1 file"),)
    lastCommit: int | None = 0
    id: str | None = "q"
    continuous: bool = False
    commands: bool = False
    spark: Any = None

    @property
    def lastOffset(self) -> int:
        return 0

    @property
    def offsets(self) -> dict[int, OffsetEntry]:
        return {0: OffsetEntry(0, sources=self.read, conf=self.conf)}


def stored(value: tuple[Field, ...], *keys: Field, name: str | None = "stateStoreSave") -> StateOperator:
    store = StateStore("default", keys or (Field("city", "string", nullable=True),), value)
    return StateOperator(0, name, guess=None if name else "stateStoreSave", stores=(store,))


def query(aggregate: Aggregate, *buffers: Column, key: str = "city", **changes: Any) -> Shape:
    """A query that groups files by a key."""
    keys = (Column(key, "string", nullable=True),)
    return replace(
        Shape(
            mode="classic",
            sparkVersion="4.3.0",
            sources=(SourceShape("file", "files /in", ()),),
            filters=(),
            output=(Column(key, "string", origin=key), Column("n", "bigint", origin=str(aggregate))),
            operators=(OperatorShape("stateStoreSave", (Column(key, origin=key),), (aggregate,)),),
            state=(StateShape(0, "stateStoreSave", keys, buffers),),
            watermarks=(),
            outputMode="update",
            sink="files",
            sinkPath="/out",
        ),
        **changes,
    )


COUNT = Aggregate("count", "1", "n")
SUM = Aggregate("sum", "amount", "n")
A_COUNT = Column("count", "bigint", nullable=False)
A_SUM = Column("sum", "bigint", nullable=True)
COUNTED = query(COUNT, A_COUNT)
NEW = Fake((stored((Field("count", "bigint", nullable=True),)),), NULLABLE)
OLD = Fake((stored((Field("count", "bigint", nullable=False),), name=None),))


def told(changes: Changes) -> list[tuple[str, str]]:
    return [(one.what, one.verdict) for one in changes]


def test_nothing_changed():
    """The same query has no changes; without a watched run it is said what was not compared."""
    assert str(judge(NEW, COUNTED, COUNTED)) == "Nothing has changed."
    alone = judge(NEW, COUNTED, None, "the watch of this kernel knows no run")
    assert list(alone) == []
    assert "sink" in alone.unseen[0].lower()
    assert "knows no run" in alone.unseen[0]
    assert "Nothing that was compared has changed." in str(alone)


@pytest.mark.parametrize(
    ("checkpoint", "verdict"),
    [(NEW, "silently-wrong"), (OLD, "not-allowed")],
    ids=["all columns nullable", "count never null"],
)
def test_count_becomes_sum(checkpoint, verdict):
    """Spark refuses a sum, which may be null, on the state of a count, which may not; 4.x made all columns nullable."""
    (change,) = judge(checkpoint, query(SUM, A_SUM), COUNTED)
    assert (change.what, change.verdict) == ("aggregates", verdict)
    assert (change.was, change.now) == ("count(1)", "sum(amount)")
    (alone,) = judge(checkpoint, query(SUM, A_SUM), None)
    assert (alone.verdict, alone.was, alone.now) == (verdict, "count", "sum(amount)")


def test_a_key_by_another_name():
    """A key of the same type is read as the old one; the state knows the name, Spark does not look."""
    assert told(judge(NEW, query(COUNT, A_COUNT, key="country"), None)) == [("grouping-keys", "silently-wrong")]


def test_a_key_that_is_made_of_another_column():
    """The same name with another column behind it is seen when the run was watched."""
    keys = (Column("city", origin="country"),)
    now = replace(COUNTED, operators=(OperatorShape("stateStoreSave", keys, (COUNT,)),))
    assert told(judge(NEW, now, COUNTED)) == [("grouping-keys", "silently-wrong")]
    assert told(judge(NEW, now, None)) == []


def test_capitals_make_no_other_name():
    """Spark takes City for city: no change of the key, nor of the output."""
    output = (Column("City", "string", origin="city"), Column("n", "bigint", origin="count(1)"))
    now = query(COUNT, A_COUNT, key="City", operators=COUNTED.operators, output=output)
    assert list(judge(NEW, now, COUNTED)) == []


def test_a_key_that_is_an_expression():
    """Plan and state have no name for it: its text is shown, and its type is that of the output column made of it."""
    keys = (Column("", origin="upper(city)"),)
    state = (StateShape(0, "stateStoreSave", (Column("_groupingexpression", NOT_BIGINT),), (A_COUNT,)),)
    output = (Column("upper(city)", "string", nullable=True, origin="upper(city)"), Column("n", "bigint"))
    operators = (OperatorShape("stateStoreSave", keys, (COUNT,)),)
    (change,) = judge(NEW, replace(COUNTED, operators=operators, state=state, output=output), COUNTED)
    assert (change.what, change.verdict, change.was, change.now) == (
        "grouping-keys",
        "silently-wrong",
        "city",
        "upper(city)",
    )


@pytest.mark.parametrize(("conf", "verdict"), [({}, "not-allowed"), (NULLABLE, "silently-wrong")])
def test_a_key_that_may_be_null_now(conf, verdict):
    """A fixed window is never null and a sliding one may be: 3.5 refuses it, 4.3 does not look."""
    window = Field("window", "struct<start:timestamp,end:timestamp>", nullable=False)
    checkpoint = Fake((stored((Field("count", "bigint", nullable=False),), window),), conf)

    def windowed(origin: str, *, nullable: bool) -> Shape:
        key = Column("window", window.type, nullable=nullable)
        operators = (OperatorShape("stateStoreSave", (Column("window", origin=origin),), (COUNT,)),)
        return replace(COUNTED, operators=operators, state=(StateShape(0, "stateStoreSave", (key,), (A_COUNT,)),))

    before = windowed("window(ts, 300 s)", nullable=False)
    now = windowed("window(ts, 300 s, 60 s)", nullable=True)
    assert told(judge(checkpoint, now, before)) == [("grouping-keys", verdict)]


def test_aggregates_of_which_nobody_knows_what_they_keep():
    """Whether Spark refuses them depends on types that the plan does not name: unknown."""
    now = query(Aggregate("approx_count_distinct", "a", "n"))
    state = (StateShape(0, "stateStoreSave", (Column("city", "string"),), None),)
    assert told(judge(NEW, replace(now, state=state), COUNTED)) == [("aggregates", "unknown")]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (("(a > 1)",), ("(1 < a)",)),
        (("(a = b)",), ("(b = a)",)),
        (("NOT (a = b)",), ("NOT (b = a)",)),
        (("(a > cast(1 as bigint))",), ("(cast(1 as bigint) < a)",)),
        (("between(a, 1, 9)",), ("(a <= cast(9 as bigint))", "(a >= cast(1 as bigint))")),
        (("(n > 1), after the aggregation",), ("(1 < n), after the aggregation",)),
    ],
)
def test_a_filter_that_is_written_another_way(was, now):
    """Sides swapped, between in place of two comparisons: no change, in neither direction."""
    for one, other in ((was, now), (now, was)):
        assert list(judge(NEW, replace(COUNTED, filters=other), replace(COUNTED, filters=one))) == []


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (("(a > 1)",), ("(a < 1)",)),
        (("between(a, 1, 9)",), ("between(a, 1, 8)",)),
        (("(n > 1), after the aggregation",), ("(n > 1)",)),
        (("(f(a, b) = 1)",), ("(f(b, a) = 1)",)),
    ],
)
def test_another_filter_is_another_one(was, now):
    """What is compared in one way is still told apart."""
    assert [one.what for one in judge(NEW, replace(COUNTED, filters=now), replace(COUNTED, filters=was))] == ["filter"]


def test_sources_in_another_order_are_one_change():
    """Two places swapped are said once."""
    read = tuple(SourceOffset(at, "file", {"logOffset": 0}, "1 file") for at in range(2))
    places = tuple(SourceShape("file", f"files /{name}", ()) for name in "ab")
    changes = judge(replace(NEW, read=read), replace(COUNTED, sources=places[::-1]), replace(COUNTED, sources=places))
    (change,) = changes
    assert (change.what, change.was, change.now) == ("sources", "files /a, files /b", "files /b, files /a")
    assert "by their order" in change.reason


def test_files_of_another_format():
    """In one folder: a source reads what comes in the other format, a sink leaves a folder that nothing can read."""
    sources = (SourceShape("file", "files /in", (), "json"),)
    before = replace(COUNTED, sources=sources, sinkFormat="parquet")
    now = replace(before, sources=(replace(sources[0], format="csv"),), sinkFormat="json")
    assert told(judge(NEW, now, before)) == [("sink", "silently-wrong"), ("sources", "changed-meaning")]
    assert list(judge(NEW, now, COUNTED)) == []  # a run of which the format is not known


@pytest.mark.parametrize(
    ("type", "verdict"),
    [("string", "silently-wrong"), ("int", "not-allowed"), (NOT_BIGINT, "unknown"), (None, "unknown")],
)
def test_types_decide(type, verdict):
    """Another type is refused, the same one goes through, and one that nothing tells is unknown, not guessed."""
    now = replace(COUNTED, state=(StateShape(0, "stateStoreSave", (Column("country", type),), (A_COUNT,)),))
    assert told(judge(NEW, now, None)) == [("grouping-keys", verdict)]


def test_a_generated_key_name_is_no_change():
    """Before Spark 3.3 an expression's name in the state held ids, which differ from run to run."""
    checkpoint = Fake((stored((Field("count", "bigint"),), Field("upper(city#12)", "string")),))
    now = replace(COUNTED, state=(StateShape(0, "stateStoreSave", (Column("_groupingexpression"),), (A_COUNT,)),))
    assert told(judge(checkpoint, now, None)) == []


@pytest.mark.parametrize(
    ("version", "name", "verdict"), [("4.3.0", "stateStoreSave", "not-allowed"), ("3.5.9", None, "silently-wrong")]
)
def test_an_operator_that_is_gone(version, name, verdict):
    """A checkpoint that names its operators lets none go; an older Spark leaves the state behind."""
    checkpoint = Fake((stored((Field("count", "bigint"),), name=name),))
    now = replace(COUNTED, operators=(), state=(), sparkVersion=version)
    assert ("aggregates", verdict) in told(judge(checkpoint, now, None))


@pytest.mark.parametrize(
    ("kind", "value", "now", "verdict"),
    [
        ("file", {"logOffset": 0}, "rate", "not-allowed"),
        ("number", 5, "file", "silently-wrong"),
        ("rate", 5, "socket", "silently-wrong"),
        ("kafka", {"t": {"0": 1}}, "file", "not-allowed"),
    ],
)
def test_another_kind_of_source(kind, value, now, verdict):
    """A source that can read the old one's offset runs on with it; another one fails."""
    checkpoint = replace(NEW, read=(SourceOffset(0, kind, value, ""),))
    changed = replace(COUNTED, sources=(SourceShape(now, now, ()),))
    assert told(judge(checkpoint, changed, None)) == [("sources", verdict)]


def test_kafka_topics_are_in_the_offsets():
    """Topics are compared with the checkpoint alone: the guide does not allow others."""
    checkpoint = replace(NEW, read=(SourceOffset(0, "kafka", {"orders": {"0": 1}}, ""),))
    same = replace(COUNTED, sources=(SourceShape("kafka", "Kafka orders", ()),))
    more = replace(COUNTED, sources=(SourceShape("kafka", "Kafka orders, refunds", ()),))
    other = replace(COUNTED, sources=(SourceShape("kafka", "Kafka refunds", ()),))
    pattern = replace(COUNTED, sources=(SourceShape("kafka", "Kafka pattern orders.*", ()),))
    assert told(judge(checkpoint, same, None)) == []
    assert told(judge(checkpoint, other, None)) == [("sources", "not-allowed")]
    assert told(judge(checkpoint, other, same)) == [("sources", "not-allowed")]
    assert told(judge(checkpoint, more, None)) == [("sources", "silently-wrong")]
    assert told(judge(checkpoint, pattern, None)) == []


@pytest.mark.parametrize(
    ("folder", "verdict"),
    [
        ("/in", None),
        ("/", None),
        ("/in/deeper", "not-allowed"),
        ("/other", "not-allowed"),
        ("relative", None),
        ("s3a://bucket/in", None),
    ],
)
def test_the_folder_of_a_file_source(folder, verdict):
    """The log of the source names the files that it took: another folder is seen without a watched run."""
    checkpoint = replace(NEW, sources={0: {0: (SourceFile("file:///in/1.json"),)}})
    now = replace(COUNTED, sources=(SourceShape("file", f"files {folder}", ()),))
    assert told(judge(checkpoint, now, None)) == ([("sources", verdict)] if verdict else [])


def test_a_pattern_in_place_of_a_folder():
    """Spark demands of a folder that it holds the files of the last batch, of a pattern it does not."""
    checkpoint = replace(NEW, sources={0: {0: (SourceFile("file:///in/1.json"),)}})
    now = replace(COUNTED, sources=(SourceShape("file", "files /other/*", ()),))
    assert told(judge(checkpoint, now, COUNTED)) == [("sources", "silently-wrong")]


@pytest.mark.parametrize(
    ("was", "now", "verdict"),
    [
        (("kafka", "orders"), ("kafka", "refunds"), "allowed"),
        (("kafka", "orders"), ("foreach", None), "allowed"),
        (("kafka", "orders"), ("files", "/out"), "silently-wrong"),
        (("files", "/out"), ("kafka", "orders"), "changed-meaning"),
        (("files", "/out"), ("files", "/moved"), "silently-wrong"),
    ],
)
def test_sinks_of_the_guide(was, now, verdict):
    """The combinations that the guide names."""
    before = replace(COUNTED, sink=was[0], sinkPath=was[1])
    assert told(judge(NEW, replace(COUNTED, sink=now[0], sinkPath=now[1]), before)) == [("sink", verdict)]


def test_settings_that_the_checkpoint_keeps():
    """A session with other values changes nothing: allowed, and the reason says which value wins."""
    name = "spark.sql.shuffle.partitions"
    checkpoint = replace(NEW, conf={**NULLABLE, name: "2", "spark.sql.streaming.multipleWatermarkPolicy": "min"})
    session = ((name, "200"), ("spark.sql.streaming.multipleWatermarkPolicy", "MIN"))
    (change,) = judge(checkpoint, replace(COUNTED, conf=session), COUNTED)
    assert (change.what, change.verdict) == ("conf", "allowed")
    assert "the checkpoint's value wins, 2" in change.reason


def test_another_version_writes_other_texts():
    """Texts of plans of two Spark versions are not compared; names are."""
    before = replace(COUNTED, sparkVersion="3.5.9", filters=("(a > 1)",))
    changes = judge(NEW, COUNTED, before)
    assert list(changes) == []
    assert "another version" in changes.unseen[0]


def test_an_unfinished_first_batch():
    """Before the first commit the state may be incomplete: it is not judged."""
    changes = judge(replace(NEW, lastCommit=None, operators=()), COUNTED, COUNTED)
    assert list(changes) == []
    assert any("no batch is committed" in text for text in changes.unseen)


def test_a_spark_that_does_not_answer():
    """Nothing known of the query is said so, not taken for no change."""
    changes = judge(NEW, Shape(mode="connect"), COUNTED)
    assert list(changes) == []
    assert "did not answer" in changes.unseen[0]


def test_against_takes_what_knows_a_run():
    """A history, a recording or a watch; of another query they know nothing, and other things are refused."""
    known, other = History("q"), History("other")
    known.set_facts(Facts(shape=COUNTED))
    moved = History("q")
    moved.set_facts(Facts(shape=replace(COUNTED, sinkPath="/moved")))
    for against in (known, Recording([known, other])):
        assert told(compare(NEW, moved, against)) == [("sink", "silently-wrong")]
    for against in (other, Recording([other])):
        assert "knows no run" in compare(NEW, moved, against).unseen[0]
    with pytest.raises(TypeError, match="against takes"):
        compare(NEW, moved, 3)
    with pytest.raises(FileNotFoundError):
        compare(NEW, moved, "/no/such/recording.jsonl")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (COUNTED, []),
        (query(SUM, key="city"), [("aggregates", "silently-wrong")]),
        (query(COUNT, key="country"), [("grouping-keys", "silently-wrong")]),
        (query(Aggregate("collect_set", "a", "n"), key="city"), []),
    ],
    ids=["same", "sum", "key", "buffers nobody knows"],
)
def test_a_recorded_run_is_compared(now, expected):
    """A watched run has no physical plan any more: keys and the well-known aggregates come from the analyzed one."""
    recorded = History("newer")
    recorded.set_facts(Facts(shape=replace(now, state=None)))
    assert told(compare(NEW, recorded, Recording([]))) == expected


@pytest.mark.parametrize("x", [3, None, "text", [1], object()])
def test_only_a_query_can_be_compared(x):
    """Anything else is refused with a sentence that says what to give."""
    with pytest.raises(TypeError, match="streaming DataFrame, its writeStream"):
        compare(NEW, x)


def _limited(mode: str | None) -> Shape:
    operators = (*(COUNTED.operators or ()), OperatorShape("globalLimit", stateSchema="limit 3"))
    state = (StateShape(0, "globalLimit"), StateShape(1, "stateStoreSave", (Column("city", "string"),), (A_COUNT,)))
    return replace(COUNTED, operators=operators, state=state, outputMode=mode)


@pytest.mark.parametrize("mode", ["complete", None])
def test_the_top_of_an_aggregation(mode):
    """Spark explains a limit as it runs in append mode; in complete mode it keeps no state, and is no new operator."""
    assert told(judge(NEW, _limited(mode), None)) == []
    assert told(judge(NEW, _limited("append"), None)) == [("state-schema", "not-allowed")]


def test_changes_show_themselves():
    """A list, the worst first; as text and as plain escaped HTML; secrets are redacted."""
    changes = Changes(
        [
            Change("filter", "allowed", None, "<b>password=hunter2</b>", "A filter."),
            Change("sink", "not-allowed", "/a", "/b", "A <script>."),
        ],
        ["The <i>state</i>."],
    )
    assert changes.worst == "not-allowed"
    assert [one.what for one in changes] == ["sink", "filter"]
    bundle = changes._repr_mimebundle_()
    assert "<script>" not in bundle["text/html"]
    assert "<i>" not in bundle["text/html"]
    assert "hunter2" not in str(bundle) + str(changes.to_dict())
    assert "Not compared" in bundle["text/plain"]
    assert changes.to_dict()["changes"][0]["verdict"] == "not-allowed"
    assert Changes().worst is None
