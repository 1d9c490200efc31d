"""Texts that somebody chose to break what shows them, and queries that carry them everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_streamwatch.model.checkpoint_card import Card, Pinned
from jupyter_streamwatch.model.facts import Facts
from jupyter_streamwatch.model.progress import parse
from jupyter_streamwatch.recordings.recording import Recording, Skipped
from tests.unit import queries

if TYPE_CHECKING:
    from jupyter_streamwatch.model.history import History

KB = 1_000
LONG = 100 * KB
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\x9b31m\x08\x00\r\nnext\u202e\u2028\u200b"
SURROGATE = "half \ud83d of a pair"
CHARACTERS = {
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+cmd|' /C calc'!A0",
    "table": "| a | b |\n|---|---|",
    "link": "[x](javascript:alert(1)) ![i](https://evil.example/p.png) <https://evil.example>",
    "code": "```\n</pre><script>alert(1)</script>\n```` `a` ~~~",
    "html": "<img src=x onerror=alert(1)>&lt;b&gt;</script></title><!--",
    "control": ESCAPES,
    "surrogate": SURROGATE,
    "format": "{0} {id} %s %(name)s $HOME ${id}",
    "path": "../../../etc/passwd\x00.html",
}


def text(start: str, length: int) -> str:
    """``start`` again and again, numbered so that no two parts of it are alike."""
    parts, size, number = [], 0, 0
    while size < length:
        parts.append(f"{start} {number}\n")
        size += len(parts[-1])
        number += 1
    return "".join(parts)[:length]


def query(number: int, evil: str = "x", length: int = 0, *, error: int = 0, batches: int = 20) -> History:
    """A query all of whose texts are ``evil``, up to ``length`` characters long; its error has ``error``."""
    long = text(evil, length) if length else evil
    id = f"{number:08x}-5b6a-4788-9900-aabbccddeeff"
    history = queries.history(name=long, id=id)
    for batch in range(batches):
        record = queries.record(batch, 0.3 + 2.5 * batch, id=id, name=long)
        record["sources"][0]["description"] = long
        record["sink"]["description"] = long
        record["stateOperators"] = [{"operatorName": long, "numRowsTotal": 3, "customMetrics": {long: 1}}]
        record["durationMs"][long] = 7
        record["observedMetrics"] = {long: {long: 1}}
        history.append(parse(record))
    history.set_facts(
        Facts(
            mode="classic", sparkVersion=long, outputMode=long, sink=long, checkpoint=long, sources=(long,) * 3,
            stateful=(long,) * 3, watermarks=((long, 1000.0),), rateLimit=((long, long),), why={"trigger": long},
        )
    )  # fmt: skip
    pinned = (Pinned(long, long, long),) * 3
    card = Card(queries.START, path=long, runId=queries.RUN, restart=(long,) * 3, code_fix=long, problems=(long,) * 3)
    history.set_checkpoint(replace(card, pinned=pinned))
    if error:
        boom = text(f"org.apache.spark.SparkException: [{evil}] {evil}", error)
        history.end(queries.RUN, queries.START + 60_000, boom, long)
    return history


def recording(*histories: History, evil: str = "x", length: int = 0) -> Recording:
    """These queries, in a session whose settings, and parts that were not understood, are as hostile."""
    long = text(evil, length) if length else evil
    records = [p for history in histories for p in history.recent]
    skipped = [Skipped(long, long, 1)] * 30
    return Recording(histories, records, skipped, {long: long, "Spark": long}, queries.START)
