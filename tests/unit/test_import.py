"""What importing the package costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pyspark", "py4j", "bokeh", "IPython", "pandas", "ipywidgets", "anywidget", "traitlets", "PIL")


def loaded(statement: str) -> set[str]:
    """Names of the packages that are loaded after ``statement`` in a new Python."""
    program = f"{statement}\nimport sys\nprint(' '.join(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    """``import jupyter_streamwatch`` loads none of them, not even numpy; its names are there all the same."""
    found = loaded("import jupyter_streamwatch as sw\nassert {'watch', 'parse', 'History'} <= set(dir(sw))")
    assert not found & {*HEAVY, "numpy"}


@pytest.mark.parametrize(
    "module", ["model.progress", "model.history", "recordings.recording", "text.redaction", "testing"]
)
def test_plain_data_needs_no_heavy_package(module):
    """Progress, histories and recordings import neither Spark nor what draws; progress not even numpy."""
    found = loaded(f"import jupyter_streamwatch.{module}")
    assert not found & set(HEAVY)
    assert module != "model.progress" or "numpy" not in found
