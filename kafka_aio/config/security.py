"""How a client proves who it is, and to whom: which options of TLS and SASL go together. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kafka_aio.config.option import Kind
from kafka_aio.errors import ConfigError

if TYPE_CHECKING:
    from kafka_aio.config.client import ClientConfig

_STORES = (
    "ssl_context",
    "ssl_keystore_location",
    "ssl_keystore_key",
    "ssl_keystore_certificate_chain",
    "ssl_truststore_location",
    "ssl_truststore_certificates",
)
_CREDENTIALS = (
    "sasl_username",
    "sasl_password",
    "sasl_oauthbearer_client_credentials_client_secret",
    "sasl_oauthbearer_token_provider",
    "sasl_kerberos_keytab",
)
_SENT_AS_IS = ("PLAIN", "OAUTHBEARER")


class Endpoint(Kind):
    """The URL of a token endpoint: https, or http to this machine; never a file."""

    takes = (
        "an https:// URL without user and password in it (http:// only to localhost, 127.0.0.0/8"
        " or [::1])"
    )

    def accept(self, value: Any) -> Any:
        if not isinstance(value, str) or not re.match(r"https?://[^/]", value, re.IGNORECASE):
            return self.REFUSED
        try:
            url = urlsplit(value)
            usable = url.hostname is not None and url.port != 0 and "@" not in url.netloc
        except ValueError:
            return self.REFUSED
        secure = url.scheme == "https" or _is_loopback(url.hostname or "")
        return value if usable and secure else self.REFUSED

    def show(self, value: object) -> str:
        """Without query and fragment, and only if it is right: a wrong one may hold a password."""
        is_right = self.accept(value) is not self.REFUSED
        return repr(re.split("[?#]", str(value))[0]) if is_right else "[hidden]"


def check(config: ClientConfig) -> None:
    """Whether the options of TLS and SASL fit the security protocol, and each other.

    Raises:
        ConfigError: They do not; says why, and what to set.
    """
    protocol = config.security_protocol
    if not protocol.endswith("SSL"):
        _refuse(config, _STORES, f"security_protocol is {protocol!r}, without TLS", "SSL")
    elif config.ssl_context is not None:
        given = [name for name in _STORES[1:] if getattr(config, name) is not None]
        if given:
            raise ConfigError(f"ssl_context and {given[0]} are given: give one of them")
    if bool(config.ssl_keystore_key) != bool(config.ssl_keystore_certificate_chain):
        raise ConfigError("ssl_keystore_key and ssl_keystore_certificate_chain go together")
    if protocol.startswith("SASL"):
        _check_sasl(config)
    else:
        _refuse(
            config, _CREDENTIALS, f"security_protocol is {protocol!r}, without SASL", "SASL_SSL"
        )


def notes(config: ClientConfig) -> list[str]:
    """What a careful reader of the configuration would point out."""
    found = []
    if config.security_protocol == "SASL_PLAINTEXT" and config.sasl_mechanism in _SENT_AS_IS:
        found.append(
            f"security_protocol='SASL_PLAINTEXT' with sasl_mechanism={config.sasl_mechanism!r}"
            " sends credentials unencrypted; 'SASL_SSL' protects them"
        )
    unchecked = not config.ssl_endpoint_identification_algorithm and config.ssl_context is None
    if config.security_protocol.endswith("SSL") and unchecked:
        found.append(
            "ssl_endpoint_identification_algorithm='' turns the check of the broker's host name"
            " off: anyone with a certificate of the same authority can pose as it"
        )
    return found


def _refuse(config: ClientConfig, names: tuple[str, ...], because: str, instead: str) -> None:
    given = [name for name in names if getattr(config, name) is not None]
    if given:
        raise ConfigError(
            f"{given[0]} is given, but {because}: set security_protocol={instead!r}, or leave"
            f" {given[0]} out"
        )


def _check_sasl(config: ClientConfig) -> None:
    mechanism = config.sasl_mechanism
    if mechanism == "GSSAPI":
        _check_kerberos(config)
    elif mechanism == "OAUTHBEARER":
        _check_oauthbearer(config)
    else:
        for name in ("sasl_username", "sasl_password"):
            if getattr(config, name) is None:
                raise ConfigError(f"{name} is missing: sasl_mechanism={mechanism!r} needs it")
    plain = config.security_protocol == "SASL_PLAINTEXT" and mechanism in _SENT_AS_IS
    if plain and config.forbid_plaintext_credentials:
        raise ConfigError(
            f"forbid_plaintext_credentials is set, and {mechanism} over 'SASL_PLAINTEXT' sends"
            " them unencrypted: set security_protocol='SASL_SSL'"
        )


def _check_kerberos(config: ClientConfig) -> None:
    if config.sasl_password is not None:
        raise ConfigError(
            "sasl_mechanism is 'GSSAPI', Kafka's default, which takes no password: set it to"
            " 'PLAIN', 'SCRAM-SHA-256' or 'SCRAM-SHA-512'"
        )
    if config.sasl_kerberos_service_name is None:
        raise ConfigError(
            "sasl_kerberos_service_name is missing: sasl_mechanism='GSSAPI' needs the name of the"
            " brokers' service, mostly 'kafka'"
        )


def _check_oauthbearer(config: ClientConfig) -> None:
    endpoint = config.sasl_oauthbearer_token_endpoint_url
    if config.sasl_oauthbearer_token_provider is not None:
        if endpoint is not None:
            raise ConfigError(
                "sasl_oauthbearer_token_provider and sasl_oauthbearer_token_endpoint_url are given:"
                " give one of them"
            )
        return
    needed = (
        "sasl_oauthbearer_token_endpoint_url",
        "sasl_oauthbearer_client_credentials_client_id",
        "sasl_oauthbearer_client_credentials_client_secret",
    )
    for name in needed:
        if getattr(config, name) is None:
            raise ConfigError(
                f"{name} is missing: sasl_mechanism='OAUTHBEARER' needs {', '.join(needed)}; or"
                " give sasl_oauthbearer_token_provider an async function that returns a token"
            )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
