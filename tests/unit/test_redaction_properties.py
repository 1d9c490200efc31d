"""What holds of redaction whatever the text: no secret survives, nothing grows, other detectors find nothing."""

from __future__ import annotations

import json
import time
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_streamwatch.text.redaction import REDACTED, redact, redact_all
from tests.unit.test_redaction_forms import LETTERS, MARKED, forms

# The lane of lowest versions has no other detector.
detectors = pytest.importorskip("detect_secrets.core.plugins.util")

NAMES = [
    "password", "db.password", "sasl.password", "DB_PASSWORD", "passwd", "pwd", "passphrase", "secret", "client_secret",
    "clientSecret", "token", "apiToken", "access_token", "fs.s3a.secret.key", "fs.s3a.access.key", "api_key", "apiKey",
    "accountKey", "private_key", "spark.ssl.keyPassword", "fs.azure.account.key.acc.dfs.core.windows.net",
    "SharedAccessKey", "aws.credential",
]  # fmt: skip

# The pieces of a secret are nowhere else in a text; between them stands what makes reading hard.
PIECES = ("Qx7w", "Zk9v", "Wj3q")


def secrets(alphabet: str) -> st.SearchStrategy[str]:
    between = st.text(alphabet, max_size=4)
    return st.tuples(between, between).map(lambda gaps: f"{PIECES[0]}{gaps[0]}{PIECES[1]}{gaps[1]}{PIECES[2]}")


QUOTED = secrets("@/,;&:= .!?#%+-_()[]{}<>|~^$*'\"\\")
BARE = secrets("@/.!?#+-_:=~^$*")

# How a name and a value are written; a text in quotes is escaped as its writer does.
QUOTED_FORMS = [
    lambda name, value: json.dumps({name: value}),
    lambda name, value: json.dumps({"user": "me", name: value, "n": 1}, indent=2),
    lambda name, value: json.dumps({name: {"value": value}}),
    lambda name, value: json.dumps({name: [value, value]}),
    lambda name, value: json.dumps([{"name": name, "value": value}]),
    lambda name, value: json.dumps({name: value}, separators=(",", ":")),
    lambda name, value: repr({"user": "me", name: value}),
    lambda name, value: f"{name}={json.dumps(value)} user=me",
    lambda name, value: f'x.PlainLoginModule required username="me" {name}={json.dumps(value)};',
    lambda name, value: f"{name} => {json.dumps(value)}, a => b",
    lambda name, value: f"<property><name>{name}</name><value>{escape(value)}</value></property>",
    lambda name, value: f".option({json.dumps(name)}, {json.dumps(value)})",
]
BARE_FORMS = [
    lambda name, value: f"{name}={value}",
    lambda name, value: f"{name}: {value}",
    lambda name, value: f"user=me {name}={value} host=db",
    lambda name, value: f"Map(user -> me, {name} -> {value}, host -> db)",
    lambda name, value: f"{{user=me, {name}={value}, host=db}}",
    lambda name, value: f"jdbc:x://host/db;user=me;{name}={value};ssl=true",
    lambda name, value: f"Array((a,b), ({name},{value}))",
    lambda name, value: f"java -D{name}={value} -jar x.jar",
    lambda name, value: f"run --{name} {value} -v",
]
AROUND = [
    lambda text: text,
    lambda text: f"java.io.IOException: cannot open {text}",
    lambda text: f"The query failed.\n{text}\n\tat org.x.Y.z(Y.java:12)",
    lambda text: f"[{text}]",
    lambda text: json.dumps({"message": text}),
    lambda text: json.dumps({"message": text, "level": "ERROR"}),
    lambda text: json.dumps([text, "x"]),
    lambda text: json.dumps(f"Error: {text}"),
]


def nested(text: str, around: list[int]) -> str:
    for index in around:
        text = AROUND[index](text)
    return text


AROUNDS = st.lists(st.integers(0, len(AROUND) - 1), max_size=5)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(NAMES), QUOTED, st.sampled_from(range(len(QUOTED_FORMS))), AROUNDS)
def test_a_secret_in_quotes_never_survives(name, secret, form, around):
    """Any characters, any form, any depth of escapes; redacting again changes nothing."""
    text = nested(QUOTED_FORMS[form](name, secret), around)
    redacted = redact(text)
    assert [piece for piece in PIECES if piece in redacted] == [], (text, redacted)
    assert redact(redacted) == redacted


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(NAMES), BARE, st.sampled_from(range(len(BARE_FORMS))), AROUNDS)
def test_a_secret_without_quotes_never_survives(name, secret, form, around):
    """Characters that a list of settings can hold without quotes, any form, any depth of escapes."""
    text = nested(BARE_FORMS[form](name, secret), around)
    redacted = redact(text)
    assert [piece for piece in PIECES if piece in redacted] == [], (text, redacted)
    assert redact(redacted) == redacted


@settings(max_examples=200, deadline=None)
@given(secrets("/@:!$&()*+;?#~.-_").filter(lambda secret: "://" not in secret), AROUNDS)
def test_a_password_before_a_host_never_survives(secret, around):
    """Also characters that should have been escaped in a URL."""
    text = nested(f"jdbc:postgresql://me:{secret}@db.example:5432/x?ssl=true", around)
    redacted = redact(text)
    assert [piece for piece in PIECES if piece in redacted] == [], (text, redacted)
    assert "@db.example:5432/x" in redacted
    assert redact(redacted) == redacted


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(PLAIN, st.sampled_from(NAMES), QUOTED, st.integers(0, 3))
def test_a_secret_in_plain_data_never_survives(data, name, secret, depth):
    """Under its name, in a list under it, as a text of JSON: and what is left is data for JSON."""
    plain = {"data": data, name: secret, "conf": json.dumps({name: secret}), "all": [{"name": name, "value": secret}]}
    for _ in range(depth):
        plain = {"inner": [plain, {name: [plain]}], "text": json.dumps(plain)}
    redacted = redact_all(plain)
    assert [piece for piece in PIECES if piece in json.dumps(redacted)] == []
    assert redact_all(redacted) == redacted


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "password",
                "=",
                ":",
                '"',
                "\\",
                "'",
                "token",
                " ",
                ",",
                ";",
                "&",
                "{",
                "}",
                "(",
                ")",
                "[",
                "]",
                "a",
                "5",
                "://",
                "@",
                "\n",
                "->",
                "bearer ",
                "%3D",
                "%22",
                "\\u003d",
                "&amp;",
                "&quot;",
                REDACTED,
                "<",
                ">",
                "--",
                "=x1y",
                "sig=",
                "name",
                "value",
                "/",
                ".",
            ]
        ),
        max_size=30,
    )
)
def test_redacting_again_changes_nothing(parts):
    """Of any mixture of what redaction looks at."""
    redacted = redact("".join(parts))
    assert redact(redacted) == redacted


PLUGINS = [
    plugin()
    for kind, plugin in detectors.get_mapping_from_secret_type_to_class().items()
    if kind != "Public IP (ipv4)"  # not a secret
]


def detected(text: str) -> list[tuple[str, str]]:
    """What detect-secrets finds, other than our mark and the border of a key that was taken out."""
    return [
        (plugin.secret_type, secret.secret_value)
        for line in text.splitlines()
        for plugin in PLUGINS
        for secret in plugin.analyze_line(filename="x", line=line, line_number=1)
        if not REDACTED.startswith(secret.secret_value or "") and "PRIVATE KEY" not in secret.secret_value
    ]


def marked_with(form: dict, secret: str) -> str:
    """The text of a form with this secret in the place of its own."""
    return MARKED.sub(lambda _: secret, form["text"])


def test_another_detector_finds_nothing():
    """The rules of detect-secrets find secrets in the forms as they are, and none when they are redacted."""
    texts = [MARKED.sub(r"\1", form["text"]) for form in forms()]
    # Most of its rules look for randomness; "Basic" alone needs the form of a pair.
    texts += [marked_with(form, LETTERS * 2) for form in forms() if form["form"] != "basic without a header"]
    assert sum(bool(detected(text)) for text in texts) >= 60
    for text in texts:
        assert detected(redact(text)) == [], text


UNITS = [
    "password=", 'password="', 'password=\\"', '"', "'", "\\", "password\\", '\\"password\\":\\"x\\",', " password=x",
    ",password=x y", "{password=x y", "password={", "password=A(", '"password":[', '"password":{"', "(password,",
    "password: a\n", "password:\n", "secret.", "passwordtoken", "a://b", "a://b:c@", "a://b:c@d ", "://", "@",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "<password>", "<password ", "<secret><a",
    'name":"password","value":"', "authorization: bearer ", "cookie: a=b;", "&sig=a", "&amp;", "%25", "password%3D",
    "password\\u003d", "&lt;password&gt;", "jdbc:oracle:thin:a/b@", "eyJaaaaaaaa.", "bearer a", "basic aaaaaaaa",
    "password: a\npassword=A(%25", "lorem ipsum ", " ", "\n", "password   ", "--password ", "| a.password |",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("start", ["", "password=", '{"password": "'])
def test_the_time_grows_with_the_text_and_not_faster(unit, start):
    """Four times the text takes about four times as long, whatever is repeated, and a text is read in no time."""

    def seconds(length: int) -> float:
        text = (start + unit * length)[:length]
        best = float("inf")
        for _ in range(3):
            before = time.process_time()
            redact(text)
            best = min(best, time.process_time() - before)
        return best

    few, many = seconds(5_000), seconds(20_000)
    assert many < 8 * max(few, 0.001)
    assert many < 1
