"""Runs cases one after the other, each in a session of its own, and judges what the watch says."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jupyter_streamwatch as sw
from tests.conftest import ROOT
from tests.faults import ends, sound, state, work  # noqa: F401 - they register their cases
from tests.faults.bench import CASES, Bench, Case

RECORDINGS = Path(__file__).parent / "recordings"
LOUD = ("warning", "critical")
CALM = ("keeping-up", "catching-up", "running", "idle", "finished", "stopped", "unknown")

# Hadoop calls chmod for each file that it makes on a local disk: there a slow file system can be had without one.
SLOW_CHMOD = """\
#!/bin/sh
case "$*" in *slow-storage*) sleep 0.5 ;; esac
exec /bin/chmod "$@"
"""


@dataclass(frozen=True)
class Outcome:
    """What a case gave."""

    case: Case
    hints: tuple[tuple[str, str, str], ...]  # code, severity, cause; the most important first
    verdict: str
    seconds: float = 0.0

    @property
    def first(self) -> str:
        """The code of the first hint; of a healthy run only what warns counts."""
        loud = [code for code, severity, _ in self.hints if severity in LOUD]
        codes = loud if self.case.code is None else [code for code, _, _ in self.hints]
        return codes[0] if codes else ""

    @property
    def right(self) -> bool:
        if self.case.code is None:
            return not self.first and self.verdict in CALM
        return self.first == self.case.code and self.case.says in self.hints[0][2]


def judged(case: Case, diagnosis: Any, seconds: float = 0.0) -> Outcome:
    hints = tuple((hint.code, hint.severity, hint.cause) for hint in diagnosis.hints)
    return Outcome(case, hints, diagnosis.verdict, seconds)


def attempt(case: Case, directory: Path) -> Outcome:
    """Run a case; one that breaks is wrong and does not keep the others from running."""
    try:
        return run(case, directory)
    except Exception:
        traceback.print_exc()
        return Outcome(case, (), "broken")


def run(case: Case, directory: Path) -> Outcome:
    """Run a case and keep its recording; one that went wrong, or was disturbed, replaces none."""
    spark = session()
    root = directory / case.name
    root.mkdir()
    began = time.monotonic()
    try:
        with sw.watch(spark) as watch:
            bench = Bench(spark, watch, root)
            query = case.run(bench)
            bench.settle(query)
            outcome = judged(case, watch.diagnose(str(query.id)), time.monotonic() - began)
            if outcome.right or not recorded(case).exists():
                save(watch, query, case, root)
            for one in bench.started:
                stop(one)
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)
    return outcome


def stop(query: Any) -> None:
    try:
        query.stop()
    except Exception as error:
        print(f"{query.id} did not stop: {type(error).__name__}")


def recorded(case: Case) -> Path:
    return RECORDINGS / f"{case.name}.jsonl"


def save(watch: Any, query: Any, case: Case, root: Path) -> None:
    """Keep the recording without this machine's paths, and beside it what a recording does not hold."""
    recording = watch.recording()
    history = recording.queries[str(query.id)]
    more: dict[str, Any] = {"case": case.name, "query": history.id}
    if history.running is not None:
        more |= {"now": time.time() * 1000, "running": asdict(history.running)}
    path = recorded(case)
    recording.save(path)
    text = path.read_text() + json.dumps(more) + "\n"
    for known, neutral in ((str(root), "/data"), (str(ROOT), "/app")):
        text = text.replace(known, neutral)
    path.write_text(text)


def session() -> Any:
    from pyspark.sql import SparkSession

    made = (
        SparkSession.builder.master("local[2]")
        .appName("faults")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    return made


def slow_storage(directory: Path) -> None:
    """Make files below a directory named slow-storage slow to create, for the JVM that starts next."""
    tools = directory / "tools"
    tools.mkdir()
    (tools / "chmod").write_text(SLOW_CHMOD)
    (tools / "chmod").chmod(0o755)
    os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"


def main(names: list[str]) -> int:
    """Run the named cases, all by default; returns 1 when one is wrong."""
    unknown = [name for name in names if name not in CASES]
    if unknown:
        print(f"Unknown: {', '.join(unknown)}. Known: {', '.join(CASES)}")
        return 2
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    RECORDINGS.mkdir(exist_ok=True)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        slow_storage(Path(directory))
        print(row("case", "expected", "first hint", "verdict", "seconds", ""), flush=True)
        for name in names or CASES:
            outcome = attempt(CASES[name], Path(directory))
            outcomes.append(outcome)
            print(line(outcome), flush=True)
    print(summary(outcomes))
    return 0 if all(outcome.right for outcome in outcomes) else 1


def line(outcome: Outcome) -> str:
    case = outcome.case
    more = "right" if outcome.right else f"WRONG {[hint[:2] for hint in outcome.hints]}"
    return row(case.name, case.code or "(calm)", outcome.first or "-", outcome.verdict, f"{outcome.seconds:.0f}", more)


def row(*cells: str) -> str:
    widths = (34, 22, 22, 15, 8, 0)
    return " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def summary(outcomes: list[Outcome]) -> str:
    """Count: precision is the share of right ones among the first hints, recall among the faults."""
    faults = [one for one in outcomes if one.case.code]
    calm = [one for one in outcomes if not one.case.code]
    found = sum(one.right for one in faults)
    named = sum(bool(one.first) for one in outcomes)
    precision = found / named if named else 1.0
    recall = found / len(faults) if faults else 1.0
    return (
        f"{len(faults)} faults, {len(calm)} healthy runs, {len(calm) - sum(one.right for one in calm)} false alarms; "
        f"precision {precision:.2f}, recall {recall:.2f}"
    )
