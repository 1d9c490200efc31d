"""Which names are those of secrets: Spark's default for ``spark.redaction.regex``, and what others use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_KEY_OF = (
    "access|api|account|private|priv|shared|secret|encryption|signing|master|storage|auth|service|db|database|client"
    "|consumer|subscription|keystore|functions?"
)
# A word counts as it begins: "token" in apiToken and authtoken, but not in "tokenizer". Short ones count alone.
WORD = re.compile(
    rf"""(?:secret(?!ar|ion)|passw(?:or)?d(?!less)|pwd|passphrase|passcode|contrase[nñ]a|token(?!i[sz])
    |(?:{_KEY_OF})[ ._\-]?key(?:[ ._\-]?ids?|s)?(?-i:(?![a-z]))
    |(?P<weak>credential(?!ed)|signature|authorization|cookie|jwt
    |(?<![a-z])(?:pass|sas|sig|auth)(?![a-z])|(?<=[a-z])(?-i:Pass|Auth|Sas|Sig)(?![a-z])
    |(?:db|user|my|root|admin)pass(?![a-z])))""",
    re.IGNORECASE | re.VERBOSE,
)
"""Finds the word that makes a name one of a secret."""

# A last word that says something about the secret and is not the secret itself: "tokenProvider", "password.file".
_ABOUT = frozenset(
    "algorithm alias bits bytes class classname codec column columns config count counts default dir directory"
    " enabled endpoint error exception expected expiration expired expires expiry factory field fields file filename"
    " format generator handler header index interval issuer java kind kt length lifetime limit location log manager"
    " mechanism method mode name names number offset optional parser path pattern policy prefix protocol provider"
    " providers py python ratio regex renewal renewer required rotation rule rules scala scheme scope service size"
    " sql store suffix timeout total ttl type types uri url usage used user username valid validator version"
    " width yaml yml txt json xml conf properties csv md log parquet crc gz jks pem".split()
)
_UNITS = frozenset("ms s sec secs seconds minutes hours days at in on".split())
_QUANTITY = frozenset("num number max min total count counts avg mean sum n nr used remaining".split())
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Name:
    """A secret's name.

    Attributes:
        word: The word that makes it one, in lower case.
        weak: Whether prose uses the word, too: it needs the form of a setting.
        exact: Whether it ends with that word in the singular and counts nothing: a number under it is a secret.
        plural: Whether it ends with that word in the plural, as topics are called.
        further: Whether words follow the word.
    """

    word: str
    weak: bool
    exact: bool
    plural: bool
    further: bool

    @property
    def is_topic(self) -> bool:
        """Whether a topic may be called so: ``tokens``, ``password-resets``."""
        return self.plural or self.further


@lru_cache(maxsize=4096)
def secret_name(name: str) -> Name | None:
    """Read a name; None when it is none of a secret."""
    match = None
    for match in WORD.finditer(name):
        pass
    if match is None:
        return None
    tail = [word.lower() for word in _CAMEL.findall(name[match.end() :])]
    plural = tail[:1] == ["s"] or match[0].lower().endswith("keys")
    if tail[:1] == ["s"]:
        tail = tail[1:]
    told = next((word for word in reversed(tail) if word not in _UNITS and not word.isdigit()), "")
    if told in _ABOUT or (tail and tail[-1] in _UNITS):
        return None
    counted = _QUANTITY.intersection(word.lower() for word in _CAMEL.findall(name))
    return Name(
        word=match[0].lower(),
        weak=match["weak"] is not None,
        exact=not tail and not plural and not counted,
        plural=plural and not tail,
        further=bool(tail),
    )
