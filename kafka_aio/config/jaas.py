"""`sasl.jaas.config`, read as text: who we are, for the stock login modules. Pure.

Java loads the class that this option names; more than once that has been a way to run foreign code
(CVE-2023-25194, CVE-2025-27818). Here a name is compared with the four below; nothing is loaded.
The tokens are those of Java's StreamTokenizer, as Kafka sets it up; a test asks both. An error
never repeats the text, because any part of it may be the password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kafka_aio.errors import ConfigError

_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_OAUTHBEARER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_KERBEROS: Final = "com.sun.security.auth.module.Krb5LoginModule"

# What each option of a login module is called here; the rest is for the JVM.
_OPTIONS: Final = {
    _PLAIN: {"username": "sasl_username", "password": "sasl_password"},
    _SCRAM: {
        "username": "sasl_username",
        "password": "sasl_password",
        "tokenauth": "sasl_scram_tokenauth",
    },
    _OAUTHBEARER: {
        "clientId": "sasl_oauthbearer_client_credentials_client_id",
        "clientSecret": "sasl_oauthbearer_client_credentials_client_secret",
        "scope": "sasl_oauthbearer_scope",
    },
    _KERBEROS: {
        "serviceName": "sasl_kerberos_service_name",
        "principal": "sasl_kerberos_principal",
        "keyTab": "sasl_kerberos_keytab",
    },
}
_MECHANISMS: Final = {
    _PLAIN: ("PLAIN",),
    _SCRAM: ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    _OAUTHBEARER: ("OAUTHBEARER",),
    _KERBEROS: ("GSSAPI",),
}
_EXTENSION: Final = "extension_"
_SHADED: Final = "kafkashaded."
"""Before the names of all of Kafka's classes on Databricks."""

_TOKEN = re.compile(
    r"""
      (?P<blank> [\x00-\x20]+ | /\*.*?(?:\*/|\Z) | /[^\r\n]* )
    | "(?P<double> (?:\\.|[^"\\\r\n])* )"?
    | '(?P<single> (?:\\.|[^'\\\r\n])* )'?
    | (?P<word> [A-Za-z_$\u00a0-\U0010ffff][\w$.\-\u00a0-\U0010ffff]* )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

_ADVICE = 'write it as: <login module> required username="..." password="...";'


def parse(text: str) -> dict[str, object]:
    """Our options, as the login module's say them.

    Raises:
        ConfigError: It is malformed, or names a login module other than the four stock ones.
    """
    module, options = entry(text)
    if module not in _OPTIONS:
        is_name = re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", module, re.ASCII)
        shown = module if is_name else "one (not shown)"
        raise ConfigError(
            f"sasl.jaas.config names the login module {shown}; no class is loaded here, and only "
            + ", ".join(name.rpartition(".")[2] for name in _OPTIONS)
            + " are known: use one of these, or sasl_oauthbearer_token_provider"
        )
    if any(name.startswith("unsecuredLogin") for name in options):
        raise ConfigError(
            "sasl.jaas.config asks for an unsecured token, which proves nothing; for a test give"
            " sasl_oauthbearer_token_provider a function that returns one"
        )
    known = _OPTIONS[module]
    ours: dict[str, object] = {known[name]: options[name] for name in options if name in known}
    if "tokenauth" in options and module == _SCRAM:
        ours["sasl_scram_tokenauth"] = options["tokenauth"].lower() == "true"
    if module == _OAUTHBEARER:
        extensions = tuple(
            (name.removeprefix(_EXTENSION), value)
            for name, value in options.items()
            if name.startswith(_EXTENSION)
        )
        if extensions:
            ours["sasl_oauthbearer_extensions"] = extensions
    return ours


def check_mechanism(text: str, mechanism: str) -> None:
    """Whether the login module is the mechanism's.

    Raises:
        ConfigError: It is another's; says which it goes with.
    """
    module, _ = entry(text)
    if mechanism not in _MECHANISMS[module]:
        raise ConfigError(
            f"sasl.jaas.config names {module.rpartition('.')[2]}, but sasl.mechanism is"
            f" {mechanism!r}: it goes with {' or '.join(map(repr, _MECHANISMS[module]))}"
        )


def entry(text: str) -> tuple[str, dict[str, str]]:
    """The one login module that the text names, and its options.

    Raises:
        ConfigError: It is malformed, or has not exactly one login module.
    """
    tokens = [*_tokens(text), _END, _END, _END]
    (module, module_is_text), (flag, _) = tokens[:2]
    options: dict[str, str] = {}
    problem = ""
    if not module_is_text:
        problem = "begins with no login module"
    elif flag.lower() not in ("required", "requisite", "sufficient", "optional"):
        problem = "has no control flag, such as `required`, after the login module"
    at = 2
    while not problem and tokens[at] not in (_SEMICOLON, _END):
        (name, name_is_text), equals, (value, value_is_text) = tokens[at : at + 3]
        if not (name_is_text and equals == _EQUALS and value_is_text):
            problem = "has an option without a value; put values in quotes"
        options[name] = value
        at += 3
    if not problem and tokens[at] == _END:
        problem = "does not end with a semicolon"
    elif not problem and tokens[at + 1] != _END:
        problem = "names more than one login module"
    if problem:
        raise ConfigError(f"sasl.jaas.config {problem}; {_ADVICE}")
    return module.removeprefix(_SHADED), options


_Token = tuple[str, bool]
"""What it says, and whether it is a word or a quoted text, not a mark."""

_SEMICOLON: Final[_Token] = (";", False)
_EQUALS: Final[_Token] = ("=", False)
_END: Final[_Token] = ("", False)


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup, match[match.lastgroup or 0]
        if kind in ("double", "single"):
            yield _ESCAPE.sub(_unescape, found), True
        elif kind in ("word", "mark"):
            yield found, kind == "word"


def _unescape(escape: re.Match[str]) -> str:
    char = escape[1]
    return chr(int(char, 8)) if char[0] in "01234567" else _ESCAPED.get(char, char)
