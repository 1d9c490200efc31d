"""State that is missing, locked, or made for another query."""

from __future__ import annotations

import threading
from typing import Any

from pyspark.sql import functions as F

from tests.zoo.cage import Cage, Steps, fails

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def counts(cage: Cage, key: str = "text") -> Any:
    return cage.texts().groupBy(key).count()


@fails("state-schema", "program")
def key_of_another_type(cage: Cage) -> Steps:
    """The grouping key changes from text to number; taken back, the query goes on."""
    cage.text_files("a")
    cage.run(counts(cage), mode="update")
    cage.text_files("b")
    yield cage.failed(cage.start(counts(cage, "value"), mode="update"))
    yield cage.start(counts(cage), mode="update")


@fails("state-schema", "program")
def another_aggregate(cage: Cage) -> Steps:
    """A second aggregate is added; taken back, the query goes on."""
    cage.text_files("a")
    cage.run(counts(cage), mode="update")
    cage.text_files("b")
    more = cage.texts().groupBy("text").agg(F.count("*"), F.max("value"))
    yield cage.failed(cage.start(more, mode="update"))
    yield cage.start(counts(cage), mode="update")


def state_deleted(cage: Cage, suffix: str) -> Steps:
    """Delete the newest version of the state; its batch, run again, writes it anew."""
    cage.text_files("a", "b", "a")
    cage.run(counts(cage), mode="update")
    newest = cage.newest("commits") + 1
    files = list((cage.root / "checkpoint" / "state").rglob(f"{newest}{suffix}"))
    assert files
    for file in files:
        cage.aside(str(file.relative_to(cage.root / "checkpoint")))
    cage.text_files("a")
    answer = yield cage.failed(cage.start(counts(cage), mode="update"))
    assert f"commits/{newest - 1}" in " ".join(answer.cures)
    cage.aside(f"commits/{newest - 1}")
    if (cage.root / "checkpoint" / "offsets" / str(newest)).exists():
        cage.aside(f"offsets/{newest}")
    rows: dict[str, int] = {}

    def each(frame: Any, batch: int) -> None:
        rows.update({row.text: row["count"] for row in frame.collect()})

    query = cage.start(counts(cage), each=each, mode="update")
    query.processAllAvailable()
    assert rows["a"] == 3
    yield query


@fails("state-missing", "state-store")
def state_version_deleted(cage: Cage) -> Steps:
    """The newest delta file is gone; its batch, run again, writes it anew, and the counts are right."""
    yield from state_deleted(cage, ".delta")


@fails("state-missing", "state-store")
def rocksdb_version_deleted(cage: Cage) -> Steps:
    """The newest zip file is gone; its batch, run again, writes it anew, and the counts are right."""
    cage.conf(PROVIDER, ROCKSDB)
    yield from state_deleted(cage, ".zip")


@fails("state-missing", "state-store")
def provider_changed(cage: Cage) -> Steps:
    """The state of one provider is read by the other; set back, the query goes on."""
    cage.text_files("a")
    cage.run(counts(cage), mode="update")
    cage.text_files("b")
    offsets = cage.root / "checkpoint" / "offsets" / "0"
    text = offsets.read_text()
    cage.aside("offsets/0")
    own = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    assert own in text
    offsets.write_text(text.replace(own, ROCKSDB))  # as a checkpoint that was edited, or a start of an old Spark
    answer = yield cage.failed(cage.start(counts(cage), mode="update"))
    assert "set it as it was before" in " ".join(answer.cures)
    cage.aside("offsets/0")
    offsets.write_text(text)
    if (cage.root / "checkpoint" / "offsets" / "1").exists():
        cage.aside("offsets/1")
    yield cage.start(counts(cage), mode="update")


@fails("rocksdb-lock", "state-store")
def store_held_by_another_task(cage: Cage) -> Steps:
    """Two actions on one batch run at the same time; one after the other they go on."""
    cage.conf(PROVIDER, ROCKSDB)
    cage.conf("spark.sql.shuffle.partitions", "1")  # both actions come to the same store at once
    cage.conf("spark.sql.streaming.stateStore.rocksdb.lockAcquireTimeoutMs", "500")
    cage.text_files("a", "b")

    @F.udf("long")
    def slowly(value):
        threading.Event().wait(3)
        return value

    def together(frame: Any, batch: int) -> None:
        errors: list[Exception] = []

        def act() -> None:
            try:
                frame.select(slowly("count")).collect()
            except Exception as error:
                errors.append(error)

        actions = [threading.Thread(target=act) for _ in range(2)]
        for action in actions:
            action.start()
        for action in actions:
            action.join()
        if errors:
            raise errors[0]

    def after_each_other(frame: Any, batch: int) -> None:
        for _ in range(2):
            frame.collect()

    yield cage.failed(cage.start(counts(cage), each=together, mode="update"))
    yield cage.start(counts(cage), each=after_each_other, mode="update")
