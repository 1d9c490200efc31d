"""A table of the forms in which secrets are written, and of texts that only look like one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from jupyter_streamwatch.text.redaction import REDACTED, redact

CASES = Path(__file__).parents[1] / "cases" / "redaction"
MARKED = re.compile("«(.*?)»", re.DOTALL)

# Put together here, so that no file of the project holds what looks like a living key.
LETTERS = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8"
BODY = "\n".join(("MII" + LETTERS * 3)[:64] for _ in range(4))
MADE = {
    "pem": BODY,
    "pemesc": BODY.replace("\n", "\\n"),
    "pem1": BODY.replace("\n", " "),
    "aws": "AK" + "IA" + "QX7EXAMPLE" + "2ZK4WQ",
    "github": "gh" + "p_" + (LETTERS * 2)[:36],
    "github_fine": "github" + "_pat_" + (LETTERS * 4)[:82],
    "gitlab": "gl" + "pat-" + LETTERS[:20],
    "slack": "xo" + "xb-" + "123456789012-" + LETTERS[:24],
    "stripe": "sk" + "_live_" + LETTERS[:24],
    "openai": "s" + "k-" + (LETTERS * 2)[:48],
    "databricks": "da" + "pi" + "0123456789abcdef" * 2,
    "google": "AI" + "za" + (LETTERS * 2)[:35],
    "sendgrid": "S" + "G." + LETTERS[:22] + "." + (LETTERS * 2)[:43],
    "npm": "np" + "m_" + (LETTERS * 2)[:36],
    "vault": "hv" + "s." + LETTERS[:24],
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + LETTERS,
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + LETTERS * 3,
    "long": "".join(f"{LETTERS}{number}" for number in range(400)),
    "pad": "lorem ipsum " * 400,
}


def written(text: str) -> str:
    """Put what is made here into the text of a case."""
    return re.sub(r"\{(\w+)\}", lambda match: MADE.get(match[1], match[0]), text)


def forms() -> list[dict]:
    lines = (CASES / "forms.jsonl").read_text(encoding="utf-8").splitlines()
    return [{**form, "text": written(form["text"])} for form in map(json.loads, lines)]


def leaks(secret: str, around: str, redacted: str) -> list[str]:
    """Pieces of a secret that are left, other than those that stand around it, too."""
    pieces = {secret[at : at + 4] for at in range(max(len(secret) - 3, 1))}
    allowed = around + REDACTED
    return sorted(piece for piece in pieces if piece in redacted and piece not in allowed)


def parameters(items):
    return [pytest.param(item, id=item["form"].replace(" ", "-")) for item in items]


@pytest.mark.parametrize("form", parameters(forms()))
def test_a_secret_is_taken_out(form):
    """No piece of a marked secret is left, what stands around it is, and a second time changes nothing."""
    secrets = MARKED.findall(form["text"])
    around = MARKED.sub("", form["text"])
    redacted = redact(MARKED.sub(r"\1", form["text"]))
    assert secrets
    for secret in secrets:
        assert leaks(secret, around, redacted) == [], redacted[-300:]
    assert REDACTED in redacted
    for part in form.get("stays", ()):
        assert part in redacted
    assert redact(redacted) == redacted


def harmless() -> list[str]:
    return (CASES / "harmless.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("text", harmless())
def test_a_harmless_text_stays(text):
    """Names without values, offsets, counts, types, classes and sentences are left whole."""
    assert redact(text) == text


def test_the_table_is_long_enough():
    """A hundred of each, none of them twice."""
    assert len({form["text"] for form in forms()}) >= 100
    assert len(set(harmless())) >= 100
