"""Runs failures one after the other, each in a session of its own, and tells whether answer and cure were right."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupyter_streamwatch as sw
from jupyter_streamwatch.diagnosis.errors import judge_error
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.text.numbers import middle
from tests.conftest import ROOT
from tests.kafka.broker import Broker
from tests.kafka.versions import PACKAGES
from tests.zoo import checkpoints, delta, functions, kafka, program, state, storage, values  # noqa: F401 - they register failures
from tests.zoo.cage import DELTA, FAILURES, KAFKA, PLAIN, Answer, Cage, Ended, NotHere, Specimen

RECORDINGS = ROOT / "tests" / "cases" / "zoo"
FACTS = ("sparkVersion", "sinkKind", "stateful", "temporaryCheckpoint")  # that the cures depend on


@dataclass(frozen=True)
class Outcome:
    """What a failure gave."""

    specimen: Specimen
    answer: Answer | None
    cured: str  # "goes on", "not cured: why", or what went wrong
    seconds: float = 0.0
    skipped: str = ""

    @property
    def named(self) -> bool:
        """Whether kind and owner are right."""
        failure = self.answer.failure if self.answer is not None else None
        if failure is None or self.specimen.kind is None:
            return failure is None and self.specimen.kind is None
        return (failure.kind, failure.owner) == (self.specimen.kind, self.specimen.owner)

    @property
    def right(self) -> bool:
        """Whether the cure let it go on, too, where there is one to apply."""
        return bool(self.skipped) or (self.named and self.cured.startswith(("goes on", "not cured")))

    def __str__(self) -> str:
        name = self.specimen.name.ljust(44)
        if self.skipped:
            return f"{name} skipped: {self.skipped}"
        failure = self.answer.failure if self.answer is not None else None
        kind = f"{failure.kind} ({failure.owner})" if failure is not None else "no failure"
        wrong = "" if self.named else f" WRONG, not {self.specimen.kind} ({self.specimen.owner})"
        return f"{name} {kind.ljust(44)} {self.seconds:3.0f} s  {self.cured}{wrong}"


def run(specimen: Specimen, cage: Cage) -> Outcome:
    """Let a query fail, judge the answer, apply the cure and see that the query goes on."""
    began = time.monotonic()
    answer: Answer | None = None
    cured = ""
    steps = specimen.run(cage)
    try:
        answer = answer_to(next(steps), cage)
        cured = cure(steps, answer, specimen)
    except NotHere as reason:
        return Outcome(specimen, None, "", time.monotonic() - began, skipped=str(reason))
    except Exception as error:
        traceback.print_exc()
        cured = f"WRONG {type(error).__name__}: {str(error)[:300]}"
    finally:
        steps.close()
        cage.close()
    return Outcome(specimen, answer, cured, time.monotonic() - began)


def answer_to(failed: Any, cage: Cage) -> Answer | None:
    """Return what a person is told of a failed query, or of the exception of a call; None when nothing failed."""
    if isinstance(failed, Exception):
        failed = Ended("".join(traceback.format_exception(failed)), None)
    if isinstance(failed, Ended):
        judgement = judge_error(failed.exception, failed.condition, Facts(sparkVersion=cage.version))
        facts = {"sparkVersion": cage.version}
        told = judgement.told
        return Answer(judgement.failure, told.cures, told.code, failed.exception, failed.condition, facts)
    diagnosis = cage.watch.diagnose(str(failed.id))
    if diagnosis.verdict != "failed":
        assert not any(hint.failure for hint in diagnosis.hints)
        return None
    hint = diagnosis.hints[0]
    assert hint.failure is not None, hint
    history = cage.history(failed)
    facts = {name: getattr(history.facts, name) for name in FACTS}
    ended = history.runs[-1]
    return Answer(hint.failure, (hint.fix,), hint.code_fix, ended.exception or "", ended.errorClass, facts)


def cure(steps: Any, answer: Any, specimen: Specimen) -> str:
    """Apply the cure and wait until the query has worked off what there is."""
    try:
        query = steps.send(answer)
    except StopIteration:
        assert specimen.incurable or specimen.kind is None, "neither cured nor said why not"
        return f"not cured: {specimen.incurable}" if specimen.incurable else "goes on (nothing to cure)"
    if specimen.endless:
        assert query.exception() is None, query.exception()
        return "goes on"
    query.processAllAvailable()
    assert query.exception() is None, query.exception()
    progress = [record for record in query.recentProgress if "addBatch" in record["durationMs"]]
    assert progress, "no batch after the cure"
    return f"goes on (batch {progress[-1]['batchId']})"


def keep(outcome: Outcome, root: Path, version: str) -> None:
    """Keep the error as ``tests/unit/errors/test_zoo.py`` replays it, without this machine's paths."""
    answer, specimen = outcome.answer, outcome.specimen
    if answer is None or specimen.kind is None:
        return
    text = answer.text
    for known, neutral in (
        (str(root), "/data"),
        (sys.prefix, "/venv"),
        (str(ROOT), "/app"),
        (str(Path(sys.prefix).resolve()), "/venv"),
        (sys.base_prefix, "/usr"),
        (socket.gethostname(), "host"),
    ):
        text = text.replace(known, neutral)
    case = {
        "kind": specimen.kind,
        "owner": specimen.owner,
        "condition": answer.condition,
        "facts": answer.facts,
        "text": text.split("\n"),
    }
    RECORDINGS.mkdir(exist_ok=True)
    path = RECORDINGS / f"{'.'.join(version.split('.')[:2])}-{specimen.name}.json"
    path.write_text(json.dumps(case, indent=1) + "\n")


def attempt(specimen: Specimen, directory: Path, broker: Any) -> Outcome:
    """Run a failure in a session of its own."""
    spark = session(specimen)
    root = directory / specimen.name
    root.mkdir()
    try:
        with sw.watch(spark) as watch:
            cage = Cage(spark, watch, root, broker=broker, settings=fetched(specimen.needs))
            outcome = run(specimen, cage)
        if outcome.named:
            keep(outcome, root, spark_version())
        return outcome
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)


def spark_version() -> str:
    import pyspark

    return str(pyspark.__version__)


def fetched(needs: str) -> dict[str, str]:
    """Settings of a session that has the connectors; its first one brings them to all of its process."""
    if needs == PLAIN:
        return {}
    settings = {"spark.jars.packages": ",".join(PACKAGES[spark_version()])}
    if needs == DELTA:
        settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        settings["spark.databricks.delta.snapshotPartitions"] = "1"
        settings["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
    return settings


def session(specimen: Specimen) -> Any:
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2]")
        .appName("zoo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.ansi.enabled", "true")
    )
    made = builder.config(map={**fetched(specimen.needs), **specimen.conf}).getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def main(arguments: list[str]) -> int:
    """Run the named failures, by default all that need the same fetched; returns 1 when one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo")
    parser.add_argument("names", nargs="*", metavar="FAILURE", help="all, unless some are named")
    parser.add_argument("--needs", choices=(PLAIN, KAFKA, DELTA), default=PLAIN, help="what was fetched for them")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in FAILURES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(FAILURES)}")
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    chosen = [one for one in FAILURES.values() if one.needs == asked.needs and one.name in (asked.names or FAILURES)]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="zoo-") as directory, ExitStack() as leaving:
        broker = Broker(Path(directory)) if asked.needs == KAFKA else None
        if broker is not None:
            leaving.callback(broker.stop)
        for specimen in chosen:
            outcome = attempt(specimen, Path(directory), broker)
            outcomes.append(outcome)
            print(outcome, flush=True)
            if outcome.answer is not None and not outcome.named:
                print(middle(outcome.answer.text, 4_000), flush=True)
    ran = [outcome for outcome in outcomes if not outcome.skipped]
    print(
        f"{len(ran)} failures on Spark {spark_version()}, {sum(one.named for one in ran)} of their kind and owner,"
        f" {sum(one.cured.startswith('goes on') for one in ran)} went on after the cure;"
        f" {len(outcomes) - len(ran)} skipped"
    )
    return 0 if all(outcome.right for outcome in outcomes) else 1
