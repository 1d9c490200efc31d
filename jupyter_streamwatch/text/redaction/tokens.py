"""Secrets that show themselves by their form: bearer tokens, keys with the prefix of their issuer."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from jupyter_streamwatch.text.redaction.mark import REDACTED, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEARER = re.compile(r"\bbearer[ \t]+(?P<value>[\w\-.~+/]{8,}=*)", re.IGNORECASE)
_BASIC = re.compile(r"\bbasic[ \t]+(?P<value>[a-z0-9+/]{6,}={0,2})", re.IGNORECASE)
_CURL = re.compile(r"(?<=\s)(?:-u|--user)[ =]+[\"']?[^\s:\"']{1,100}:(?P<value>[^\s\"']+)")
_LONG = 24  # characters: no word of a sentence is as long

# Each begins with what its issuer puts there; none is a guess by its randomness, for offsets look random, too.
_ISSUED = re.compile(
    r"(?<![A-Za-z0-9_\-])(?:"
    r"(?:A3T[A-Z0-9]|AKIA|ABIA|ACCA|ASIA)[A-Z0-9]{16}"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w\-]{20,}"
    r"|xox[abeoprs]-[\w\-]{10,}"  # Slack
    r"|[sr]k_(?:live|test)_\w{10,}|sk-[\w\-]{20,}"  # Stripe, OpenAI
    r"|dapi[0-9a-f]{32}(?:-\d)?|dkea[0-9a-f]{32}"  # Databricks
    r"|AIza[\w\-]{35}|ya29\.[\w\-]{20,}"  # Google
    r"|SG\.[\w\-]{20,24}\.[\w\-]{39,50}"  # SendGrid
    r"|npm_[A-Za-z0-9]{36}|pypi-[\w\-]{70,}"
    r"|hv[sb]\.[\w\-]{20,}"  # Vault
    r"|eyJ[\w\-]{8,}\.[\w\-]{8,}(?:\.[\w\-]*)?"  # JSON web tokens
    r")"
)
_WEBHOOK = re.compile(
    r"(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks|webhook\.office\.com/webhookb2)/"
    r"(?P<value>[\w\-/@.]{10,})",
    re.IGNORECASE,
)


def find_authorization(text: str) -> Iterator[Span]:
    """Find what follows ``Bearer`` and ``Basic``."""
    for match in _BEARER.finditer(text):
        value = match["value"]
        if len(value) >= _LONG or any(character.isdigit() for character in value):
            yield match.start("value"), match.end(), REDACTED
    for match in _BASIC.finditer(text):
        if _is_pair(match["value"]):
            yield match.start("value"), match.end(), REDACTED


def find_curl(text: str) -> Iterator[Span]:
    """Find the password of ``curl -u user:password``."""
    if "curl" in text:
        for match in _CURL.finditer(text):
            yield match.start("value"), match.end(), REDACTED


def find_issued(text: str) -> Iterator[Span]:
    """Find keys and tokens by their issuers' prefixes."""
    for match in _ISSUED.finditer(text):
        yield match.start(), match.end(), REDACTED


def find_webhooks(text: str) -> Iterator[Span]:
    """Find addresses that whoever knows them may post to."""
    for match in _WEBHOOK.finditer(text):
        yield match.start("value"), match.end(), REDACTED


def _is_pair(encoded: str) -> bool:
    """Whether it is ``user:password`` in Base64; a word of a sentence is not."""
    try:
        return b":" in base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        return False
