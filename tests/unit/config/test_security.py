from __future__ import annotations

import ssl
from functools import partial
from typing import Any

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import ConfigError

make = partial(ClientConfig, bootstrap_servers="localhost:9092")
sasl = partial(make, security_protocol="SASL_SSL")
tls = partial(make, security_protocol="SSL")

PLAIN: dict[str, Any] = {"sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": "p"}
OIDC: dict[str, Any] = {
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauthbearer_token_endpoint_url": "https://login.example/token",
    "sasl_oauthbearer_client_credentials_client_id": "me",
    "sasl_oauthbearer_client_credentials_client_secret": "s3",
}
PEM = "-----BEGIN CERTIFICATE-----"


async def token() -> str:
    return "t"


def _without(options: dict[str, str], name: str) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != name}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("missing", ["sasl_username", "sasl_password"])
def test_a_mechanism_with_a_password_needs_user_and_password(mechanism: str, missing: str) -> None:
    options = _without({**PLAIN, "sasl_mechanism": mechanism}, missing)

    with pytest.raises(ConfigError, match=f"{missing} is missing: sasl_mechanism='{mechanism}'"):
        sasl(**options)


def test_a_password_with_kafkas_default_mechanism_is_explained() -> None:
    with pytest.raises(ConfigError, match="'GSSAPI', Kafka's default, which takes no password"):
        sasl(sasl_username="alice", sasl_password="p")


def test_kerberos_needs_the_name_of_the_service() -> None:
    assert sasl(sasl_kerberos_service_name="kafka").sasl_mechanism == "GSSAPI"
    with pytest.raises(ConfigError, match="sasl_kerberos_service_name is missing"):
        sasl()


@pytest.mark.parametrize("missing", [name for name in OIDC if name != "sasl_mechanism"])
def test_tokens_from_an_endpoint_need_its_url_an_id_and_a_secret(missing: str) -> None:
    assert sasl(**OIDC).sasl_mechanism == "OAUTHBEARER"
    with pytest.raises(ConfigError, match=f"{missing} is missing"):
        sasl(**_without(OIDC, missing))


def test_a_token_provider_stands_for_an_endpoint_but_not_beside_one() -> None:
    config = sasl(sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token)

    assert config.sasl_oauthbearer_token_provider is token
    with pytest.raises(ConfigError, match="give one of them"):
        sasl(**OIDC, sasl_oauthbearer_token_provider=token)


@pytest.mark.parametrize(
    "url",
    [
        *("https://login.example/token", "HTTPS://login.example:8443/token", "https://[::1]/t"),
        *(
            "http://localhost:8080/t",
            "http://127.0.0.1/t",
            "http://127.9.9.9/t",
            "http://[::1]:1/t",
        ),
    ],
)
def test_tokens_come_over_https_or_from_this_machine(url: str) -> None:
    options: dict[str, Any] = {**OIDC, "sasl_oauthbearer_token_endpoint_url": url}

    assert sasl(**options).sasl_oauthbearer_token_endpoint_url == url
    assert f"sasl_oauthbearer_token_endpoint_url={url!r}" in repr(sasl(**options))


@pytest.mark.parametrize(
    "url",
    [
        *("http://login.example/token", "file:///etc/passwd", "ftp://login.example/t", "token", ""),
        *("https://", "https:///token", "https://me:pw@login.example/t", "https://h:99999/t"),
        *("http://localhost.example/t", "http://127.0.0.1.example/t", "http://localhost@evil/t"),
        *("https://[::1/t", " https://login.example/token", "http://2130706433/t"),
    ],
)
def test_tokens_come_from_nowhere_else(url: str) -> None:
    options: dict[str, Any] = {**OIDC, "sasl_oauthbearer_token_endpoint_url": url}

    with pytest.raises(ConfigError, match="must be an https:// URL"):
        sasl(**options)


@pytest.mark.parametrize(
    "options",
    [PLAIN, {"sasl_username": "alice"}, {"sasl_oauthbearer_token_provider": token}],
)
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_credentials_that_would_not_be_used_are_refused(options: Any, protocol: str) -> None:
    with pytest.raises(ConfigError, match=f"security_protocol is '{protocol}', without SASL"):
        make(security_protocol=protocol, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"ssl_truststore_location": "ca.pem"},
        {"ssl_truststore_certificates": PEM},
        {"ssl_keystore_location": "me.pem"},
        {"ssl_context": ssl.create_default_context()},
    ],
)
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_certificates_that_would_not_be_used_are_refused(options: Any, protocol: str) -> None:
    with pytest.raises(ConfigError, match=f"security_protocol is '{protocol}', without TLS"):
        make(security_protocol=protocol, **PLAIN, **options)


def test_a_context_stands_for_the_stores_but_not_beside_one() -> None:
    context = ssl.create_default_context()

    assert tls(ssl_context=context).ssl_context is context
    with pytest.raises(ConfigError, match="ssl_context and ssl_truststore_location are given"):
        tls(ssl_context=context, ssl_truststore_location="ca.pem")
    with pytest.raises(ConfigError, match=r"ssl_context must be an ssl\.SSLContext, or None"):
        tls(ssl_context="ca.pem")


@pytest.mark.parametrize(
    ("mechanism", "exposed"), [("PLAIN", True), ("SCRAM-SHA-512", False), ("OAUTHBEARER", True)]
)
def test_credentials_in_the_clear_are_pointed_out_and_can_be_forbidden(
    mechanism: str, exposed: bool
) -> None:
    options: dict[str, Any] = {**PLAIN, **OIDC, "sasl_mechanism": mechanism}
    clear = make(security_protocol="SASL_PLAINTEXT", **options)

    assert bool(clear.notes) == exposed
    assert sasl(**options).notes == []
    assert sasl(**options, forbid_plaintext_credentials=True).forbid_plaintext_credentials
    if exposed:
        with pytest.raises(ConfigError, match="set security_protocol='SASL_SSL'"):
            clear.replace(forbid_plaintext_credentials=True)
    else:
        assert clear.replace(forbid_plaintext_credentials=True).sasl_password == "p"


def test_host_names_are_checked_unless_turned_off_which_is_pointed_out() -> None:
    (note,) = tls(ssl_endpoint_identification_algorithm="").notes

    assert "turns the check of the broker's host name off" in note
    assert tls().ssl_endpoint_identification_algorithm == "https"
    assert tls().notes == []
