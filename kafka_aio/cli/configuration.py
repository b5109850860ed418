"""From the arguments of a command to the configuration of its client. Pure.

Later wins: the file of `--config`, `-X`, then the options of our own. An option of our own also
replaces what it stands for: with `--username`, the password of the file is not used.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, NamedTuple, TypeVar

from kafka_aio.cli.credentials import TokenFile, read_bytes, read_secret
from kafka_aio.cli.options import CLIENT_ID, PASSWORD, SEEN
from kafka_aio.config import ClientConfig, properties, translation
from kafka_aio.config.option import Unset, kinds
from kafka_aio.errors import ConfigError

_PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_ENDPOINT: Final = "sasl_oauthbearer_token_endpoint_url"

Ask = Callable[[str], str]
C = TypeVar("C", bound=ClientConfig)


class Note(NamedTuple):
    """A sentence on an option that has no effect."""

    text: str
    is_about_file: bool


def load(
    kind: type[C], given: argparse.Namespace, *, environment: Mapping[str, str], ask: Ask | None
) -> tuple[C, list[Note]]:
    """The configuration, and what is to be noted about it.

    Args:
        kind: That of the client.
        given: The arguments.
        environment: The variables of the process.
        ask: Asks for a password; None where nobody can be asked.

    Raises:
        ConfigError: An option is wrong or missing, or a file cannot be read.
    """
    ours, in_file = _from_file(kind, given.config) if given.config else ({}, [])
    found, in_x = _from_x(kind, given)
    ours.update(found)
    _override(ours, given, kind)
    _override_stores(ours, given)
    _check(ours, given)
    if _wants_password(ours):
        _set_password(ours, given, environment, ask)
    notes = [*(Note(text, True) for text in in_file), *(Note(text, False) for text in in_x)]
    return kind.from_options(ours), notes


def changed(config: ClientConfig) -> dict[str, Any]:
    """The options that are not at their defaults."""
    known = kinds(type(config))
    defaults = {entry.name: entry.default for entry in fields(config) if entry.name in known}
    return {
        name: value
        for name, default in defaults.items()
        if (value := getattr(config, name))
        != (default.value if isinstance(default, Unset) else default)
    }


def connecting(kind: type[C], config: ClientConfig) -> C:
    """The configuration of a client that connects as another does, and has nothing else of it."""
    if isinstance(config, kind):
        return config
    shared = kinds(ClientConfig)
    return kind.from_options(
        {name: value for name, value in changed(config).items() if name in shared}
    )


def _check(ours: Mapping[str, Any], given: argparse.Namespace) -> None:
    """What is said better here than by the configuration, which knows no options of ours."""
    if given.username is not None and _is_sasl(ours, None):
        raise ConfigError(
            f"--username needs --sasl-mechanism: one of {', '.join(_PASSWORD_MECHANISMS)}"
        )
    if given.password_file is not None and not _wants_password(ours):
        raise ConfigError("--password-file needs --username, and a mechanism that takes a password")
    if _is_sasl(ours, "OAUTHBEARER") and not _has_tokens(ours):
        raise ConfigError(
            "sasl_mechanism='OAUTHBEARER' needs a token: give --token-file, or the token endpoint"
            f" in --config ({_ENDPOINT} and its client credentials)"
        )


def _from_file(kind: type[ClientConfig], name: str) -> tuple[dict[str, Any], list[str]]:
    try:
        options = properties.parse(properties.decode(read_bytes(name)))
        return translation.translate(kind.client, options, kinds(kind))
    except ConfigError as error:
        raise ConfigError(f"--config {name}: {error}") from None


def _from_x(
    kind: type[ClientConfig], given: argparse.Namespace
) -> tuple[dict[str, Any], list[str]]:
    options = dict(given.kafka_options)
    for name in options:
        its = kinds(kind).get(name.replace(".", "_"))
        if (its is not None and its.secret) or name.replace("_", ".") == "sasl.jaas.config":
            raise ConfigError(f"-X {name}: {SEEN}; put it into a file, for --config")
    try:
        return translation.translate(kind.client, options, kinds(kind))
    except ConfigError as error:
        raise ConfigError(f"-X: {error}") from None


def _override(ours: dict[str, Any], given: argparse.Namespace, kind: type[ClientConfig]) -> None:
    """Put in what was given by options of our own, and take out what it replaces."""
    for name, value in {"client_id": CLIENT_ID, **given.client_defaults}.items():
        ours.setdefault(name, value)
    simple = {name: value for name, value in vars(given).items() if name in kinds(kind)}
    simple["sasl_username"] = given.username
    ours.update((name, value) for name, value in simple.items() if value is not None)
    if given.bootstrap_server:
        ours["bootstrap_servers"] = ",".join(given.bootstrap_server)
    if given.timeout is not None:
        milliseconds = max(1, round(given.timeout * 1000))
        ours["socket_connection_setup_timeout_ms"] = milliseconds
        ours["socket_connection_setup_timeout_max_ms"] = milliseconds
    if given.username is not None:
        _leave_out(ours, "sasl_password")
    if given.token_file is not None:
        ours.setdefault("sasl_mechanism", "OAUTHBEARER")
        _leave_out(ours, _ENDPOINT)
        ours["sasl_oauthbearer_token_provider"] = TokenFile(given.token_file)


def _override_stores(ours: dict[str, Any], given: argparse.Namespace) -> None:
    if given.key is not None and given.cert is None:
        raise ConfigError("--key is given without --cert: name the certificate that it belongs to")
    if given.ca is not None:
        _leave_out(ours, "ssl_truststore_certificates")
        _set_store(ours, "ssl_truststore", given.ca)
    if given.cert is None:
        return
    _leave_out(ours, "ssl_keystore_certificate_chain", "ssl_keystore_key")
    if given.key is None:
        _set_store(ours, "ssl_keystore", given.cert)
    else:
        _leave_out(ours, "ssl_keystore_location", "ssl_keystore_type", "ssl_keystore_password")
        ours["ssl_keystore_certificate_chain"] = _pem("--cert", given.cert)
        ours["ssl_keystore_key"] = _pem("--key", given.key)


def _set_store(ours: dict[str, Any], store: str, name: str) -> None:
    """A file; where its name tells nothing it is PEM, which is what people have at a shell."""
    _leave_out(ours, f"{store}_type")
    ours[f"{store}_location"] = name
    if not re.search(r"\.(p12|pfx|pkcs12|jks)$", name, re.IGNORECASE):
        _leave_out(ours, f"{store}_password")
        ours[f"{store}_type"] = "PEM"


def _pem(option: str, name: str) -> str:
    try:
        return read_bytes(name).decode("ascii")
    except UnicodeDecodeError:
        raise ConfigError(f"{option} {name}: it is not PEM; give PKCS12 as --cert alone") from None


def _leave_out(ours: dict[str, Any], *names: str) -> None:
    for name in names:
        ours.pop(name, None)


def _is_sasl(ours: Mapping[str, Any], *mechanisms: str | None) -> bool:
    is_sasl = str(ours.get("security_protocol", "")).startswith("SASL")
    return is_sasl and ours.get("sasl_mechanism") in mechanisms


def _wants_password(ours: Mapping[str, Any]) -> bool:
    takes_one = _is_sasl(ours, *_PASSWORD_MECHANISMS)
    return takes_one and ours.get("sasl_username") is not None


def _has_tokens(ours: Mapping[str, Any]) -> bool:
    return "sasl_oauthbearer_token_provider" in ours or _ENDPOINT in ours


def _set_password(
    ours: dict[str, Any],
    given: argparse.Namespace,
    environment: Mapping[str, str],
    ask: Ask | None,
) -> None:
    if given.password_file:
        ours["sasl_password"] = read_secret("--password-file", given.password_file)
    elif environment.get(PASSWORD):
        ours["sasl_password"] = environment[PASSWORD]
    elif "sasl_password" in ours:
        pass
    elif ask is not None:
        ours["sasl_password"] = ask(f"Password of {ours['sasl_username']}: ")
    else:
        raise ConfigError(
            f"there is no password: give --password-file, or set {PASSWORD}; there is no terminal"
            " to ask at"
        )
    if not ours["sasl_password"]:
        raise ConfigError("the password is empty")
