"""Python: its environment, what is sent to the workers and what comes back."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.registry import GUIDE, Told, kind

_PACKAGING = "https://spark.apache.org/docs/latest/api/python/tutorial/python_packaging.html"
_ARROW = "https://spark.apache.org/docs/latest/api/python/tutorial/sql/arrow_pandas.html"
_FUNCTIONS = GUIDE + "apis-on-dataframes-and-datasets.html#using-foreach-and-foreachbatch"
_WORKERS_PYTHON = 'import os, sys\nos.environ["PYSPARK_PYTHON"] = sys.executable  # before the session starts'


@kind(
    "arrow-pandas",
    Sign(conditions=("PACKAGE_NOT_INSTALLED", "UNSUPPORTED_PACKAGE_VERSION")),
    Sign(says=r"(?:[Pp]andas|[Pp]y[Aa]rrow|NumPy|grpcio|googleapis-common-protos) >= [\d.]+ must be installed"),
    Sign(says=r"'DataFrame' object has no attribute '(?:iteritems|append)'"),
    Sign(says=r"module '(?:numpy|pandas)' has no attribute '(?:bool|object|float|int|NaN|Int64Index)'"),
    Sign(
        names=("ValueError", "ImportError"),
        says=r"numpy\.(?:dtype|ndarray) size changed"
        r"|numpy\.core\.multiarray failed to import",
    ),
)
def arrow_pandas(case: Case) -> Told:
    """Tell that pandas, Arrow or numpy do not fit."""
    return Told(
        title="pandas, PyArrow or numpy do not fit this Spark",
        why="One of them is missing, too old for this Spark, or newer than it knows, where the function runs.",
        cures=(
            cures.after(
                "Install versions that this Spark supports, the same for the driver and for the workers, and start"
                " the session anew.",
                case.facts,
            ),
        ),
        link="https://spark.apache.org/docs/latest/api/python/getting_started/install.html#dependencies",
    )


@kind(
    "result-type",
    Sign(
        conditions=(
            "ARROW_TYPE_MISMATCH",
            "RESULT_TYPE_MISMATCH_FOR_ARROW_UDF",
            "RESULT_LENGTH_MISMATCH_FOR_PANDAS_UDF",
            "SCHEMA_MISMATCH_FOR_PANDAS_UDF",
            "RESULT_COLUMNS_MISMATCH_FOR_PANDAS_UDF",
            "RESULT_LENGTH_MISMATCH_FOR_SCALAR_ITER_PANDAS_UDF",
            "UDF_RETURN_TYPE",
            "RESULT_ROWS_MISMATCH",
            "RESULT_COLUMN_SCHEMA_MISMATCH",
            "RESULT_COLUMN_NAMES_MISMATCH",
            "RESULT_COLUMN_TYPES_MISMATCH",
        )
    ),
    Sign(names=("ArrowTypeError", "ArrowInvalid", "ArrowNotImplementedError", "PickleException")),
    Sign(
        says=r"expected zero arguments for construction of ClassDict"
        r"|Return type of the user-defined function should be"
    ),
)
def result_type(case: Case) -> Told:
    """Tell that a function returns something else than it says."""
    return Told(
        title="A Python function returns another type than it declares",
        why="What it returned does not fit the declared type: a numpy number in a plain UDF, text where a number is"
        " declared, other columns or another length in a pandas function.",
        cures=(
            cures.fails_again(
                "Return what is declared (int(x), float(x), .item() for numpy; the columns by name for pandas), or"
                " declare what is returned.",
                case.facts,
            ),
        ),
        link=_ARROW,
    )


@kind(
    "module-missing",
    Sign(names=("ModuleNotFoundError", "ImportError"), owners=(owners.DRIVER,)),
)
def module_missing(case: Case) -> Told:
    """Tell that the driver's Python lacks a module: foreachBatch runs there."""
    return Told(
        title="The driver's Python lacks a module",
        why="The function runs in the driver (foreachBatch does), in the Python of the notebook or job, and a module"
        " is not installed there.",
        cures=(cures.after("Install it in that Python, then start the kernel or job anew.", case.facts),),
        link=_PACKAGING,
    )


@kind(
    "python-environment",
    Sign(names=("ModuleNotFoundError", "ImportError"), owners=(owners.WORKER, owners.PYTHON)),
    Sign(conditions=("PYTHON_VERSION_MISMATCH",)),
    Sign(says=r"Python in worker has different version|ModuleNotFoundError: |Python was not found"),
    Sign(says=r"Cannot run program \"[^\"]{0,300}python[^\"]{0,20}\""),
)
def python_environment(case: Case) -> Told:
    """Tell that the workers' Python is another one."""
    return Told(
        title="The workers' Python lacks a module or is another one",
        why="The function runs in Python workers, and their Python is not the notebook's.",
        cures=(
            cures.after(
                "Let the workers use the notebook's Python (before the session starts), or install the module where"
                " they run.",
                case.facts,
            ),
        ),
        code=_WORKERS_PYTHON,
        link=_PACKAGING,
    )


@kind(
    "not-serializable",
    Sign(names=("NotSerializableException", "PicklingError")),
    Sign(
        says=r"Task not serializable|[Cc]annot pickle|[Cc]an't pickle|Could not serialize object|not JSON serializable"
        r"|attempting to reference SparkContext|SparkContext can only be used on the driver"
    ),
    Sign(conditions=("CONTEXT_ONLY_VALID_ON_DRIVER", "STREAMING_CONNECT_SERIALIZATION_ERROR")),
)
def not_serializable(case: Case) -> Told:
    """Tell that something cannot travel."""
    connect = case.cause.condition == "STREAMING_CONNECT_SERIALIZATION_ERROR"
    return Told(
        title="An object of the driver is used in a function and cannot be sent to the executors",
        why="The function refers to something that lives in the driver alone: a client, a connection, a lock, a file,"
        " the"
        " session" + (" (on Spark Connect also in foreachBatch, which runs on the server)." if connect else "."),
        cures=(
            cures.after(
                "Make it inside the function: in open() of a foreach writer, once a partition in foreachPartition, or"
                " when it is first needed; in foreachBatch take the session from the DataFrame"
                " (batch_df.sparkSession).",
                case.facts,
            ),
        ),
        link=_FUNCTIONS,
    )
