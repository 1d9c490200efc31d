"""Which names are those of secrets: Spark's default for ``spark.redaction.regex``, and what others use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY_OF = (
    "access|api|account|private|priv|shared|secret|encryption|signing|master|storage|auth|service|db|database|client"
    "|consumer|subscription|keystore|functions?"
)
# A word counts as it begins: "token" in apiToken and authtoken, but not in "tokenizer". Short ones count alone.
_WORD = re.compile(
    rf"""(?:secret(?!ar|ion)|passw(?:or)?d(?!less)|pwd|passphrase|passcode|contrase[nñ]a|token(?!i[sz])
    |(?:{_KEY_OF})[ ._\-]?key(?:[ ._\-]?ids?|s)?(?-i:(?![a-z]))
    |(?P<weak>credential(?!ed)|signature|authorization|cookie|jwt
    |(?<![a-z])(?:pass|sas|sig|auth)(?![a-z])|(?<=[a-z])(?-i:Pass|Auth|Sas|Sig)(?![a-z])
    |(?:db|user|my|root|admin)pass(?![a-z])))""",
    re.IGNORECASE | re.VERBOSE,
)

# Every word above holds one of these: looking for them first, in lower case, is many times as fast.
_ROOT = re.compile("secret|pass|pwd|token|contrase|key|credential|sig|auth|cookie|jwt|sas")
_LONGEST = 40  # characters, more than a word and what it looks at behind it
_BEFORE_ROOT = 14  # characters: "subscription key"

# A last word that says something about the secret and is not the secret itself: "tokenProvider", "password.file".
_ABOUT = re.compile(
    r"algorithm|alias|bits|bytes|class|classname|codec|column|columns|conf|config|count|counts|crc|csv|default"
    r"|dir|directory|enabled|endpoint|error|exception|expected|expiration|expired|expires|expiry|factory|field"
    r"|fields|file|filename|format|generator|gz|handler|header|index|interval|issuer|java|jks|json|kind|kt"
    r"|length|lifetime|limit|location|log|manager|md|mechanism|method|mode|name|names|number|offset|optional"
    r"|parquet|parser|path|pattern|pem|policy|prefix|properties|protocol|provider|providers|py|python|ratio"
    r"|regex|renewal|renewer|required|rotation|rule|rules|scala|scheme|scope|service|size|sql|store|suffix"
    r"|timeout|total|ttl|txt|type|types|uri|url|usage|used|user|username|valid|validator|version|width|xml|yaml"
    r"|yml"
)
_UNITS = re.compile("ms|s|sec|secs|seconds|minutes|hours|days|at|in|on")
_QUANTITY = re.compile("num|number|max|min|total|counts?|avg|mean|sum|n|nr|used|remaining")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words(text: str) -> Iterator[re.Match[str]]:
    """Find the words that make names those of secrets."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter that is two in lower case
        yield from _WORD.finditer(text)
        return
    at = 0
    for root in _ROOT.finditer(lowered):
        if root.start() < at:
            continue
        word = _WORD.search(text, max(at, root.start() - _BEFORE_ROOT), root.end() + _LONGEST)
        if word is not None and word.start() <= root.start():
            yield word
            at = word.end()


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
    matches = list(words(name))
    if not matches:
        return None
    match = matches[-1]
    tail = [word.lower() for word in _CAMEL.findall(name[match.end() :])]
    plural = tail[:1] == ["s"] or match[0].lower().endswith("keys")
    if tail[:1] == ["s"]:
        tail = tail[1:]
    last = next((word for word in reversed(tail) if not word.isdigit() and not _UNITS.fullmatch(word)), "")
    if _ABOUT.fullmatch(last) or (tail and _UNITS.fullmatch(tail[-1])):
        return None
    counted = any(_QUANTITY.fullmatch(word.lower()) for word in _CAMEL.findall(name))
    return Name(
        word=match[0].lower(),
        weak=match["weak"] is not None,
        exact=not tail and not plural and not counted,
        plural=plural and not tail,
        further=bool(tail),
    )
