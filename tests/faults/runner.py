"""Runs cases one after the other, each in a session of its own, and judges what the watch says."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jupyter_streamwatch as sw
from tests.conftest import ROOT
from tests.faults import calm, ends, ramp, sound, state, work  # noqa: F401 - they register their cases
from tests.faults.bench import CASES, Bench, Case
from tests.faults.outcome import Mended, Outcome, batch_time, judged, line, mended_line, row, summary

RECORDINGS = Path(__file__).parent / "recordings"
LARGEST = 60_000  # bytes of a recording

# Hadoop calls chmod for each file that it makes on a local disk: there a slow file system can be had without one.
SLOW_CHMOD = """\
#!/bin/sh
case "$*" in *slow-storage*) sleep 0.5 ;; esac
exec /bin/chmod "$@"
"""


def attempt(case: Case, directory: Path, *, connect: bool) -> tuple[Outcome, Mended | None]:
    """Run a case; one that breaks is wrong and does not keep the others from running."""
    spark = session(connect=connect)
    root = directory / case.name
    root.mkdir()
    try:
        with sw.watch(spark) as watch:
            return run(case, Bench(spark, watch, root), keep=True, fix=not connect)
    except Exception:
        traceback.print_exc()
        return Outcome(case, (), "broken"), None
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)


def run(case: Case, bench: Bench, *, keep: bool = False, fix: bool = True) -> tuple[Outcome, Mended | None]:
    """Run a case and judge it, then mend it.

    Args:
        case: What to run.
        bench: Where; everything is over there afterwards.
        keep: Whether to keep the recording. One that went wrong, or was disturbed, replaces none.
        fix: Whether to paste the code of the hint.
    """
    connect = bench.watch.session.mode == "connect"
    began = time.monotonic()
    try:
        query = case.run(bench)
        bench.settle(query)
        diagnosis = bench.watch.diagnose(str(query.id))
        outcome = judged(case, diagnosis, bench.history(query), time.monotonic() - began)
        good = outcome.degraded != "WRONG" if connect else outcome.right
        path = recorded(case, connect=connect)
        if keep and (good or not path.exists()):
            save(bench.watch, query, path, bench.root)
        mended = mend(case, bench, query, diagnosis.hints[0]) if fix and case.mended and outcome.right else None
    finally:
        bench.close()
    return outcome, mended


def mend(case: Case, bench: Bench, query: Any, hint: Any) -> Mended:
    """Run the same case with the code of its hint pasted; the first run is over then."""
    before = usual(bench.history(query))
    root = bench.root / "mended"
    root.mkdir()
    code = (hint.code_fix or "").replace('"/checkpoints/', f'"{root}/').replace("<fast storage>", str(root))
    assert code, f"{case.name}: the hint has no code"
    if "spark.streams.active" not in code:  # code that looks for the queries of the first run needs them
        bench.close()
    again = Bench(bench.spark, bench.watch, root, code=code, mending=bench.started)
    other = case.run(again)
    try:
        again.settle(other)
        diagnosis = bench.watch.diagnose(str(other.id))
        history = bench.history(other)
        interval = history.trigger.interval_ms if history.trigger is not None else None
        return Mended(
            case,
            hint.code_fix,
            tuple(one.code for one in diagnosis.hints),
            diagnosis.verdict,
            before,
            usual(history),
            batch_time(hint.effect, interval),
        )
    finally:
        again.close()


def usual(history: Any) -> float | None:
    """Return the median batch time in ms of the latest run's last batches with data, without the first one."""
    batches = history.batches
    mine = batches["runId"] == history.runs[-1].runId
    rows = batches.numbers("numInputRows")
    times = sorted(batches.numbers("durationMs.triggerExecution")[mine & (rows > 0)][1:][-20:].tolist())
    return times[len(times) // 2] if times else None


def recorded(case: Case, *, connect: bool = False) -> Path:
    return RECORDINGS / ("connect" if connect else "") / f"{case.name}.jsonl"


def save(watch: Any, query: Any, path: Path, root: Path) -> None:
    """Keep the recording without this machine's paths, and beside it what a recording does not hold."""
    recording = watch.recording()
    history = recording.queries[str(query.id)]
    more: dict[str, Any] = {"case": path.stem, "query": history.id}
    if history.running is not None:
        more |= {"now": time.time() * 1000, "running": asdict(history.running)}
    path.parent.mkdir(parents=True, exist_ok=True)
    recording.save(path)
    text = path.read_text() + json.dumps(more) + "\n"
    for known, neutral in ((str(root), "/data"), (sys.prefix, "/venv"), (str(ROOT), "/app")):
        text = text.replace(known, neutral)
    path.write_text(text)
    if len(text) > LARGEST:
        print(f"    {path.name} has {len(text)} bytes, more than the {LARGEST} that a recording may have")


def session(*, connect: bool) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]") if connect else SparkSession.builder.master("local[2]")
    made = (
        builder.appName("faults")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    if not connect:
        made.sparkContext.setLogLevel("OFF")
    return made


def slow_storage(directory: Path) -> None:
    """Make files below a directory named slow-storage slow to create, for the JVM that starts next."""
    tools = directory / "tools"
    tools.mkdir()
    (tools / "chmod").write_text(SLOW_CHMOD)
    (tools / "chmod").chmod(0o755)
    os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"


def main(arguments: list[str]) -> int:
    """Run the named cases, all by default; returns 1 when one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("names", nargs="*", metavar="CASE", help="all, unless some are named")
    parser.add_argument("--connect", action="store_true", help="over Spark Connect; nothing is mended there")
    parser.add_argument("--fixes", action="store_true", help="only cases that the code of their hint mends")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in CASES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(CASES)}")
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    os.environ["SPARK_TESTING"] = "true"  # a Connect server takes a free port then
    outcomes, fixed = [], []
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        slow_storage(Path(directory))
        print(row("case", "expected", "first hint", "verdict", "seconds", ""), flush=True)
        chosen = sorted(CASES.values(), key=lambda case: case.code is None)
        for name in asked.names or [case.name for case in chosen if case.mended or not asked.fixes]:
            outcome, mended = attempt(CASES[name], Path(directory), connect=asked.connect)
            outcomes.append(outcome)
            print(line(outcome, connect=asked.connect), flush=True)
            if mended is not None:
                fixed.append(mended)
                print(mended_line(mended), flush=True)
    print(summary(outcomes, fixed, connect=asked.connect))
    wrong = [one for one in outcomes if (one.degraded == "WRONG" if asked.connect else not one.right)]
    return 1 if wrong or not all(one.right for one in fixed) else 0
