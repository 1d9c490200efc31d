"""What ``make demo HEADLESS=1`` leaves: the quickstart run in a real JupyterLab, on real flights."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_leaves_a_report_and_pictures():
    """The quickstart runs to its end; its report and its dashboard, light and dark, are there to look at."""
    done = subprocess.run(
        [sys.executable, "scripts/demo.py", "--headless"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    output = ROOT / "build" / "demo"
    report = (output / "report.html").read_text()
    assert "flights_per_hour" in report
    data = json.loads(re.search('id="streamwatch-data">(.*?)</script>', report, re.DOTALL)[1])
    dropped = data["data"]["batches"]["state.numRowsDroppedByWatermark"]
    assert sum(rows or 0 for rows in dropped) > 0, "the notebook says that late rows are dropped, and shows how many"
    light, dark = (Image.open(output / f"{name}.png").convert("L") for name in ("dashboard", "dashboard-dark"))
    assert min(light.size) > 600
    assert light.getpixel((3, 3)) > 200
    assert dark.getpixel((3, 3)) < 60
