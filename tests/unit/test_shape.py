"""What a query is, read from the text of its plans: names only, the same for the same code."""

from __future__ import annotations

import json

import pytest

from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.query_shape import NOT_BIGINT, Aggregate, Column, OperatorShape, Shape, SourceShape
from jupyter_streamwatch.recordings import history_json as saving
from jupyter_streamwatch.recordings.load import load
from jupyter_streamwatch.recordings.recording import line
from jupyter_streamwatch.spark.plans import analyzed as shape_analyzed
from jupyter_streamwatch.spark.plans import connect as shape_connect
from jupyter_streamwatch.spark.plans import sinks as shape_sinks
from jupyter_streamwatch.spark.plans import state as shape_state
from jupyter_streamwatch.spark.plans import text as shape_text

WINDOW = (
    "named_struct(start, knownnullable(precisetimestampconversion(((precisetimestampconversion(ts#8-T600000ms, "
    "TimestampType, LongType) - CASE WHEN (((precisetimestampconversion(ts#8-T600000ms, TimestampType, LongType) - 0) "
    "% 300000000) < cast(0 as bigint)) THEN 0 ELSE 300000000 END) - 0), LongType, TimestampType)), end, 0)"
)
COUNT = f"""\
~Aggregate [window#9-T600000ms, city#5], [window#9-T600000ms, city#5, count(1) AS count#4L, sum(amount#7) AS s#10L]
+- ~Project [{WINDOW} AS window#9-T600000ms, city#5, country#6, amount#7, ts#8-T600000ms]
   +- ~Filter isnotnull(ts#8-T600000ms)
      +- ~Filter ((amount#7 > 1) AND NOT (city#5 = a, (b))
         +- ~EventTimeWatermark 4d0f7091-0957-4e57-9022-05a14e276374, ts#8: timestamp, 10 minutes
            +- StreamingRelation FileSource[/data/in], [city#5, country#6, amount#7, ts#8], name=<Unassigned>
"""
JOIN = """\
Project [city#1, amount#6]
+- Join LeftOuter, ((city#1 = city#4) AND (ts#2-T60000ms >= ts#7))
   :- SubqueryAlias a
   :  +- EventTimeWatermark ts#2: timestamp, 1 hours 30 minutes
   :     +- StreamingRelation DataSource(org.apache.spark.sql.SparkSession@4539b37f,json,List()), FileSource[/a], [city#1, ts#2]
   +- StreamingRelation DataSource(org.apache.spark.sql.SparkSession@4539b37f,json,List()), FileSource[/b], [city#4, amount#6, ts#7]
"""  # noqa: E501 - as Spark prints it
PHYSICAL = """\
*(4) HashAggregate(keys=[_groupingexpression#51, city#2], functions=[count(1), max(ts#8)], output=[c#4, n#5L, max(ts)#6])
+- StateStoreSave [_groupingexpression#51, city#2], state info [ checkpoint = file:/c/state, runId = 9, opId = 0, ver = 0, numPartitions = 2] stateStoreCkptIds = None, Update, 0, 0, 2
   +- *(3) HashAggregate(keys=[_groupingexpression#51, city#2], functions=[merge_count(1), merge_max(ts#8)], output=[_groupingexpression#51, city#2, count#54L, max#56])
      +- Exchange hashpartitioning(city#2, 2), REQUIRED_BY_STATEFUL_OPERATOR, [plan_id=918]
         +- StreamingDeduplicate [city#2, amount#3], state info [ checkpoint = <unknown>, runId = 9, opId = 1, ver = 0, numPartitions = 2] stateStoreCkptIds = None, 0
"""  # noqa: E501 - as Spark prints it


def test_a_windowed_count():
    """Keys, aggregates, filters and watermark by name; the window as a person writes it, not its arithmetic."""
    found = shape_analyzed.read(COUNT)
    assert found.operators == [
        OperatorShape(
            "stateStoreSave",
            (Column("window", origin="window(ts, 300 s)"), Column("city", origin="city")),
            (Aggregate("count", "1", "count"), Aggregate("sum", "amount", "s")),
        )
    ]
    assert found.watermarks == [("ts", 600_000.0)]
    assert [one.name for one in found.output] == ["window", "city", "count", "s"]
    assert "(amount > 1)" in " ".join(found.filters)
    assert "isnotnull" not in " ".join(found.filters)


def test_ids_do_not_take_part():
    """The same plan with other ids is the same shape."""
    other = COUNT
    for number in range(4, 11):
        other = other.replace(f"#{number}", f"#{number + 500}")
    first, second = shape_analyzed.read(COUNT), shape_analyzed.read(other)
    assert first.operators == second.operators
    assert (first.filters, first.output) == (second.filters, second.output)


def test_a_join_names_its_sides():
    """Two inputs are told apart; the type, the condition and the watermark of Spark 3.5's text are read."""
    found = shape_analyzed.read(JOIN)
    assert found.operators == [
        OperatorShape(
            "symmetricHashJoin",
            joinType="LeftOuter",
            condition="(input1.city = input2.city) AND (input1.ts >= input2.ts)",
        )
    ]
    assert found.watermarks == [("input1.ts", 5_400_000.0)]
    assert [one.origin for one in found.output] == ["input1.city", "input2.amount"]
    assert len(found.leaves) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Filter ((a#1 > 1) AND (b#2 > 2))", "Filter ((b#2 > 2) AND (a#1 > 1))"),
        ("Filter (a#1 > rand(5))", "Filter (a#1 > rand(-7))"),
        ("Filter exists(a#1, lambdafunction((lambda x_1#15 > 1), lambda x_1#15, false))",) * 2,
        ("Filter <lambda>(a#1)#7", "Filter <lambda>(a#1)#99"),
    ],
)
def test_what_does_not_matter(one, other):
    """The order of conditions, seeds nobody gave, and the ids of function calls change nothing."""
    leaf = "\n+- StreamingRelation FileSource[/in], [a#1, b#2]"
    assert shape_analyzed.read(one + leaf).filters == shape_analyzed.read(other + leaf).filters


def test_a_renamed_column_keeps_its_origin():
    """A key that has the old name and another column behind it is another key."""
    plan = """\
Aggregate [city#9], [city#9, count(1) AS count#4L]
+- Project [country#2 AS city#9]
   +- StreamingRelation FileSource[/in], [city#1, country#2]"""
    assert shape_analyzed.read(plan).operators[0].keys == (Column("city", origin="country"),)


def test_a_filter_after_an_aggregation_says_so():
    """A filter of results is not a filter of what is counted."""
    plan = """\
Filter (count#4L > 1)
+- Aggregate [city#1], [city#1, count(1) AS count#4L]
   +- StreamingRelation FileSource[/in], [city#1]"""
    assert shape_analyzed.read(plan).filters == ["(count(1) > 1), after the aggregation"]


def test_a_cut_plan_is_known_to_be_cut():
    """Spark leaves out columns of long lists: what is missing is not taken for nothing."""
    plan = "Project [a#1, ... 30 more fields]\n+- StreamingRelation FileSource[/in], [a#1, ... 30 more fields]"
    assert shape_analyzed.read(plan).truncated
    state = PHYSICAL.replace("max#56]", "... 30 more fields]")
    assert shape_state.read(state, {}, ())[0].value is None


def test_the_state_that_will_be_kept():
    """Operators by their numbers; keys and buffers as the state's schema names them, types as far as they are known."""
    aggregate, dedupe = shape_state.read(PHYSICAL, {"#2": ("string", True), "#8": ("timestamp", True)}, ())
    assert (aggregate.id, aggregate.name) == (0, "stateStoreSave")
    assert aggregate.key == (Column("_groupingexpression", NOT_BIGINT), Column("city", "string", nullable=True))
    assert aggregate.value == (
        Column("count", "bigint", nullable=False),
        Column("max", "timestamp", nullable=True),
    )
    assert (dedupe.id, dedupe.name) == (1, "dedupe")
    assert [one.name for one in dedupe.key] == ["city", "amount"]


@pytest.mark.parametrize(
    "text",
    ["", "no plan", "Aggregate", "Aggregate [", "Filter", "Join", "Project ]]][[", "Expand [[", "Union\n+- Union"],
)
def test_damaged_texts_do_no_harm(text):
    """Whatever stands in the place of a plan is read without an error."""
    shape_analyzed.read(text)
    shape_state.read(text, {}, ())


def test_a_plan_that_is_too_long_is_not_read():
    """The reading is bounded."""
    with pytest.raises(ValueError, match="too long"):
        shape_text.tree("Project [a#1]" + " " * shape_text.MOST_TEXT)


def test_long_expressions_are_cut_and_still_told_apart():
    """Of a long expression the beginning is kept, with a checksum of all."""
    one, other = (shape_text.short("a" * 5_000 + end) for end in "xy")
    assert len(one) < 1_100
    assert one != other


@pytest.mark.parametrize(
    ("format", "kind"),
    [("parquet", "files"), ("JSON", "files"), ("kafka", "kafka"), ("foreachBatch", "foreachBatch"), ("noop", "noop")],
)
def test_kinds_of_sinks(format, kind):
    """A writer's format is the kind of sink that a run tells."""
    assert shape_sinks.kind(format) == kind


def test_places_of_sinks():
    """Paths without the scheme of the local file system and without secrets; a topic for Kafka; nothing else."""
    assert shape_sinks.path("files", {"path": "file:///out/"}) == "/out"
    assert shape_sinks.path("kafka", {"TOPIC": "orders"}) == "orders"
    assert shape_sinks.path("foreachBatch", {"path": "/x"}) is None
    assert "secret" not in str(shape_sinks.path("delta", {"path": "s3://me:secret@bucket/x"}))
    assert shape_sinks.described("files", "FileSink[file:/out]") == "/out"


SHAPE = Shape(
    mode="classic",
    sparkVersion="4.3.0",
    sources=(SourceShape("file", "files /in", (("maxfilespertrigger", "3"),)), SourceShape(None, "n/a", None)),
    filters=("(a > 1)",),
    output=(Column("a", "bigint", nullable=True, origin="a"),),
    operators=(OperatorShape("stateStoreSave", (Column("a"),), (Aggregate("count", "1", "n"),)),),
    watermarks=(("ts", 600_000.0),),
    outputMode="update",
    sink="files",
    sinkPath="/out",
)


def test_a_recording_keeps_the_shape(tmp_path):
    """Facts with a shape come back from a recording as they were; what an older or a foreign one has is unknown."""
    event = {"event": "facts", "id": "q", "facts": Facts(shape=SHAPE)}
    (tmp_path / "r.jsonl").write_text(line(event) + "\n")
    assert load(tmp_path / "r.jsonl", format="recording").queries["q"].facts.shape == SHAPE
    assert saving.facts({"sink": "x"}).shape is None
    assert saving.facts({"shape": {"sources": [1], "new": 2}}).shape is None
    assert Shape.from_dict(json.loads(json.dumps(SHAPE.to_dict()))) == SHAPE


def test_options_in_the_text_of_a_connect_plan():
    """A source of the second generation shows its options: kind, name and limits are read, secrets are not kept."""
    text = (
        "org.apache.spark.sql.kafka010.KafkaSourceProvider@1, kafka, org.apache.spark.sql.kafka010.KafkaTable@2, "
        "[subscribe=orders, maxOffsetsPerTrigger=5, kafka.sasl.password=x], [key#1]"
    )
    found = shape_connect._source("StreamingRelationV2", text, None)
    assert found == SourceShape("kafka", "Kafka orders", (("maxoffsetspertrigger", "5"),))


@pytest.mark.parametrize(
    ("slide", "start", "steps", "written"),
    [
        (300, 0, (0,), "window(ts, 300 s)"),
        (60, 0, (0, 60, 120, 180, 240), "window(ts, 300 s, 60 s)"),
        (300, 60, (0,), "window(ts, 300 s, 300 s, 60 s)"),
        (120, 60, (0, 120, 240), "window(ts, 300 s, 120 s, 60 s)"),
    ],
)
def test_windows_read_as_in_a_query(slide, start, steps, written):
    """Length, slide and start, whatever arithmetic Spark makes of them; the rows of a sliding one are one window."""
    long = "precisetimestampconversion(ts#1, TimestampType, LongType)"
    rest = f"(({long} - {start}000000) % {slide}000000)"
    last = f"CASE WHEN ({rest} < cast(0 as bigint)) THEN ({rest} + {slide}000000) ELSE {rest} END"
    back = "LongType, TimestampType)"
    rows = []
    for step in steps:
        begin = f"(({long} - {last}) - {step * 1_000_000})"
        ends = f"precisetimestampconversion(({begin} + 300000000), {back}"
        rows.append(f"named_struct(start, precisetimestampconversion({begin}, {back}, end, {ends})")
    expanded = ", ".join(f"[{row}, ts#1]" for row in rows)
    node = f"Expand [{expanded}], [window#2, ts#1]" if len(rows) > 1 else f"Project [{rows[0]} AS window#2, ts#1]"
    text = f"""Aggregate [window#2], [window#2, count(1) AS count#3L]
+- {node}
   +- StreamingRelation DataSource(x), FileSource[/in], [ts#1]"""
    found = shape_analyzed.read(text)
    assert [key.origin for key in found.operators[0].keys] == [written]
