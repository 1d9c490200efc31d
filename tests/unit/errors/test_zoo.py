"""The errors of queries that really failed, without Spark: ``make failures`` records them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_streamwatch.diagnosis.errors import judge_error
from jupyter_streamwatch.model.facts import Facts

ZOO = Path(__file__).resolve().parents[2] / "cases" / "zoo"


@pytest.mark.parametrize("path", sorted(ZOO.glob("*.json")), ids=lambda path: path.stem)
def test_a_real_failure(path):
    """Kind and owner are those that were expected, and there is something to do."""
    case = json.loads(path.read_text(encoding="utf-8"))
    facts = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in case["facts"].items()}
    judgement = judge_error("\n".join(case["text"]), case["condition"], Facts(**facts))
    assert (judgement.failure.kind, judgement.failure.owner) == (case["kind"], case["owner"])
    assert judgement.told.cures


def test_the_zoo_is_not_empty():
    """The recordings are where they are looked for."""
    assert len(list(ZOO.glob("*.json"))) >= 30
