"""User names and passwords in URLs; what stands in a URL's parameters is found as pairs are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jupyter_streamwatch.text.redaction.mark import REDACTED, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEME = re.compile(r"[a-z][a-z0-9+.\-]{0,30}$", re.IGNORECASE)
# A backslash or a quote goes on where neither an escape nor the end of a quoted text can be meant.
_RUN = re.compile(r"(?:[^\s\"'<>`\\]|\\(?![\"'nrt\\])|'(?=[\w@]))*")
_PARAMETERS = re.compile(r";[\w.\- ]{1,100}=")
_HOST = re.compile(r"(?:[\w.\-]+|\[[0-9a-fA-F:.]+\])(?::\d+)?(?:[,/?#;)\]]|$)")
_PORT = re.compile(r"\d+(?:,|$)")
# A user name alone is a token in these; elsewhere it is a container (abfss), or only a name (ssh, hdfs).
_TOKEN_ALONE = {"http", "https", "ftp", "ftps", "ws", "wss", "git+https"}
_ORACLE = re.compile(r"jdbc:oracle:\w{1,10}:(?P<run>[^\s<>\\]*)", re.IGNORECASE)


def find(text: str) -> Iterator[Span]:
    """Find ``user:password`` before the host of any URL."""
    at = text.find("://")
    while at >= 0:
        start = at + 3
        following = text.find("://", start)
        match = _RUN.match(text, start, following if following >= 0 else len(text))
        run = match[0] if match else ""
        scheme = _SCHEME.search(text, max(at - 31, 0), at)
        if "@" in run and scheme is not None:
            length = _credentials(run, scheme[0].lower())
            if length and run[:length] != REDACTED:
                yield start, start + length, REDACTED
        at = following


def find_oracle(text: str) -> Iterator[Span]:
    """Find ``user/password`` of Oracle's own form: ``jdbc:oracle:thin:user/password@//host:1521/service``."""
    for match in _ORACLE.finditer(text):
        address = match["run"].partition("?")[0]
        end = address.rfind("@//")
        end = address.rfind("@") if end < 0 else end
        if end > 0 and "/" in address[:end]:
            yield match.start("run"), match.start("run") + end, REDACTED


def _credentials(run: str, scheme: str) -> int:
    """How many characters before the host are credentials."""
    parameters = _PARAMETERS.search(run)
    address = run[: parameters.start()] if parameters else run
    try:
        netloc = urlsplit(f"//{address}").netloc
    except ValueError:  # a bracket that is no address, a character that would become a slash
        netloc = re.split("[/?#]", address, maxsplit=1)[0]
    user, at, host = netloc.rpartition("@")
    if not at:
        # "me:pa/ss@host": what stands after the colon is no port, so the slash is one of a password.
        _, colon, port = host.partition(":")
        is_host = not colon or _PORT.match(port) or "[" in host or scheme == "file"
        return 0 if is_host else max(address.rfind("@"), 0)
    if ":" not in user:
        return len(user) if scheme in _TOKEN_ALONE else 0
    last = address.rfind("@")
    query = re.search("[?#]", address)
    if query and "=" in address[query.start() : max(last, 0)]:  # "me:word@host?mail=x@y"
        last = address.rfind("@", 0, query.start())
    # "me:p@ss/word@host"
    return last if last > len(user) and _HOST.match(address, last + 1) else len(user)
