"""What the start of a query tells over Connect."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from jupyter_streamwatch.spark.plans import explained, started
from jupyter_streamwatch.spark.probe import connect

pytest.importorskip("grpc")


def message(*relations):
    """Return the message of a writer of a union of these relations."""
    from pyspark.sql.connect.proto import Relation, WriteStreamOperationStart

    made = relations[0]
    for one in relations[1:]:
        both = Relation()
        both.set_op.left_input.CopyFrom(made)
        both.set_op.right_input.CopyFrom(one)
        made = both
    written = WriteStreamOperationStart(format="noop", output_mode="Append")
    written.input.CopyFrom(made)
    return written


def stream(limit="2"):
    from pyspark.sql.connect.proto import Relation

    made = Relation()
    made.read.is_streaming = True
    made.read.data_source.format = "json"
    made.read.data_source.options["maxFilesPerTrigger"] = limit
    return made


def named():
    """Return what ``spark.table(name)`` is: a table, or a view, which may be one of a stream."""
    from pyspark.sql.connect.proto import Relation

    made = Relation()
    made.read.named_table.unparsed_identifier = "v"
    return made


def text():
    from pyspark.sql.connect.proto import Relation

    made = Relation()
    made.sql.query = "select * from v"
    return made


def writer(written, root=""):
    def get(name, default):
        assert name == "spark.sql.streaming.checkpointLocation"
        if root is None:
            raise ConnectionError
        return root or default

    return SimpleNamespace(_write_proto=written, _session=SimpleNamespace(conf=SimpleNamespace(get=get)))


def limits(*relations):
    told = started.written(writer(message(*relations))).sources
    return None if told is None else [dict(all).get("maxfilespertrigger") for _, all in told]


def test_limits_are_those_of_the_readers_of_the_plan():
    """Each reader has its own; a table beside them has none, for it cannot be counted in place of one."""
    assert limits(stream()) == ["2"]
    assert limits(stream("2"), stream("3"), stream("3")) == ["2", "3", "3"]
    assert limits(stream("2"), named()) == ["2"]


@pytest.mark.parametrize("relations", [[named()], [text()], [stream(), text()], [stream(), stream(), named()]])
def test_what_a_view_may_read_has_unknown_limits(relations):
    """A view of a stream with a limit would be counted for the second of two readers that Spark reads as one."""
    assert limits(*relations) is None


@pytest.mark.parametrize(
    ("root", "name", "path", "temporary"),
    [
        ("", "q", None, True),
        ("/root/", "q", "/root/q", False),
        ("/root", "", None, False),  # a folder of a random name
        (None, "q", None, None),
    ],
)
def test_the_checkpoint_is_where_the_session_had_it_at_the_start(root, name, path, temporary):
    """Without the option it is below the session's folder, temporary where there is none, unknown without an answer."""
    one = message(stream())
    one.query_name = name
    facts = connect._started(started.written(writer(one, root)), explained.of_plan(""), 1)
    assert (facts["checkpoint"], facts["temporaryCheckpoint"]) == (path, temporary)


def test_a_writer_with_a_checkpoint_asks_nothing():
    """The option stands before the session's setting, which is not read."""
    one = message(stream())
    one.options["checkpointLocation"] = "/own"
    told = started.written(writer(one, None))
    assert (told.checkpoint, told.checkpointRoot) == ("/own", None)
    assert connect._started(told, explained.of_plan(""), 1)["temporaryCheckpoint"] is False
