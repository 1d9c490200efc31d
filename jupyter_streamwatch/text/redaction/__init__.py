"""Takes secrets out of texts and plain data, on their way to a disk or a page.

What a text is made of is read first: private keys, URLs, names with their values in all the ways they are written.
Then come tokens that show themselves by their form. What is replaced still tells what it was, and a text that was
redacted before stays as it is. The time grows with the length of the text and not faster, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from jupyter_streamwatch.text.redaction import pairs, pem, tokens, urls, views
from jupyter_streamwatch.text.redaction.harmless import is_harmless_plain
from jupyter_streamwatch.text.redaction.mark import REDACTED, Span, replaced
from jupyter_streamwatch.text.redaction.names import Name, secret_name

__all__ = ["REDACTED", "redact", "redact_all"]

_FINDERS: tuple[Callable[[str], Iterable[Span]], ...] = (
    pem.find,
    urls.find,
    urls.find_oracle,
    pairs.find,
    tokens.find_authorization,
    tokens.find_curl,
    tokens.find_issued,
    tokens.find_webhooks,
)

_SHORT = 100  # characters

# Without any of these nothing is found; most texts have none, and this is asked for every text of every line.
_SIGNS = (
    "secret", "pass", "pwd", "token", "key", "contrase", "credential", "sig", "auth", "cookie", "jwt", "sas", "bearer",
    "basic", "oracle:", "curl", "webhook", "hooks.", "akia", "abia", "acca", "asia", "a3t", "ghp_", "gho_", "ghu_",
    "ghs_", "ghr_", "_pat_", "glpat", "xox", "k_live", "k_test", "sk-", "dapi", "dkea", "aiza", "ya29", "sg.", "npm_",
    "pypi-", "hvs.", "hvb.", "eyj",
)  # fmt: skip


def redact(text: str) -> str:
    """Replace the secrets in a text: of ``password=...``, ``"token": "..."``, ``scheme://user:password@host``."""
    text = _through(text, views.written)
    if "lt;" in text or "u003c" in text:
        text = _through(text, views.tagged)
    return _through(text, views.percent) if "%" in text else text


def redact_all(x: Any, name: str = "") -> Any:
    """Redact every text inside plain data, and whatever text, number or list stands under a secret's name.

    Numbers that a name only counts (``numTokens``) and the offsets of a topic called ``tokens`` stay.
    """
    secret = secret_name(name) if name else None
    if secret is not None:
        return _under(secret, x)
    if isinstance(x, str):
        return redact(x)
    if isinstance(x, Mapping):
        label = x.get("name", x.get("key"))
        is_setting = "value" in x and isinstance(label, str)  # {"name": "sasl.password", "value": "..."}
        return {_key(key): redact_all(x[key], label if is_setting and key == "value" else str(key)) for key in x}
    if isinstance(x, (list, tuple)):
        # A setting as getAll() gives it; a name with a dot is no column's.
        is_setting = len(x) == 2 and isinstance(x[0], str) and "." in x[0]
        return [redact_all(part, x[0] if is_setting and index else "") for index, part in enumerate(x)]
    return x


def _under(name: Name, x: Any) -> Any:
    """Redact each leaf of what stands under a secret's name, unless it is no secret."""
    if is_harmless_plain(name, x):
        return redact_all(x)
    if isinstance(x, Mapping):
        return {_key(key): _under(name, value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [_under(name, part) for part in x]
    return REDACTED if isinstance(x, (str, int, float)) else x


def _key(key: Any) -> Any:
    if not isinstance(key, str):
        return key
    return _short(key) if len(key) < _SHORT else redact(key)


@lru_cache(maxsize=4096)  # the keys of one record are those of the next
def _short(key: str) -> str:
    return redact(key)


def _through(text: str, view_of: Callable[[str], views.View]) -> str:
    """Replace in the text what the finders find in a view of it."""
    view = view_of(text)
    if not _may_hold_secrets(view.text):
        return text
    for find in _FINDERS:
        found = list(find(view.text))
        if found:
            text = replaced(text, view.originals(found))
            view = view_of(text)
    return text


def _may_hold_secrets(text: str) -> bool:
    if "@" in text and "://" in text:
        return True
    lowered = text.lower()
    return any(sign in lowered for sign in _SIGNS)
