"""Queries that Spark refuses: batch actions on a stream, and what a stream cannot do."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import GUIDE, Told, kind

_PAGE = GUIDE + "apis-on-dataframes-and-datasets.html"


@kind(
    "batch-action",
    Sign(says=r"Queries with streaming sources must be executed with writeStream"),
    Sign(says=r"can ?not be called on streaming (?:Dataset|DataFrame)"),
    Sign(conditions=("CALL_ON_STREAMING_DATASET_UNSUPPORTED",)),
    owner=owners.PROGRAM,
)
def batch_action(case: Case) -> Told:
    """Tell that a stream is used as a batch."""
    del case
    return Told(
        title="A batch action is called on the streaming DataFrame",
        why="show, count, collect, toPandas, rdd or write need a DataFrame that ends; a streaming one does not."
        " Inside a function of the query, too, only the DataFrame that it is given can be used so.",
        cures=(
            (
                "Do it in foreachBatch, with the DataFrame that the function gets, or write the stream to a table or"
                " to memory and read that. Then start the query."
            ),
        ),
        code="def each(batch_df, batch_id):\n    batch_df.show()  # batch_df is no"
        " stream\n\ndf.writeStream.foreachBatch(each).start()",
        link=_PAGE + "#using-foreach-and-foreachbatch",
    )


@kind(
    "not-streamable",
    Sign(
        conditions=(
            "STREAMING_OUTPUT_MODE",
            "UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK",
            "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING",
            "STREAMING_REAL_TIME_MODE",
            "NOT_STREAMING_DATASET",
            "WRITE_STREAM_NOT_ALLOWED",
            "INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL",
        )
    ),
    Sign(
        says=r"output mode not supported when|not supported (?:on|with|in|for|between) (?:a )?streaming"
        r"|Non-time-based windows"
        r"|without watermark in the (?:join|grouping)|only be called on streaming"
        r"|does not support .{0,40}(?:output mode|streamed)"
    ),
    owner=owners.PROGRAM,
)
def not_streamable(case: Case) -> Told:
    """Tell that the plan is refused."""
    del case
    return Told(
        title="Spark refuses this query as a stream",
        why="An operation, an output mode or a sink in it is not possible on a stream; the last cause names it. No"
        " batch was run by this start, and nothing is lost.",
        cures=("Change that part (often a watermark, another output mode, or foreachBatch), then start it.",),
        link=_PAGE + "#unsupported-operations",
    )
