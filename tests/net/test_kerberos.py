"""What becomes of Kerberos' mistakes; tests/kerberos has the real thing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import AuthenticationError, ConfigError, KafkaConnectionError
from kafka_aio.net import kerberos
from kafka_aio.protocol import sasl

GENERIC, NO_CREDENTIALS = 13 << 16, 7 << 16
KDC_UNREACHABLE, NO_CACHE, NOTHING = 2529639068, 2529639053, 100001
TEXTS = {
    GENERIC: "Unspecified GSS failure.  Minor code may provide more information",
    NO_CREDENTIALS: "No credentials were supplied",
    KDC_UNREACHABLE: "Cannot contact any KDC for realm 'TEST'",
    NO_CACHE: "No Kerberos credentials available",
    NOTHING: "Success",
}


class GSSError(Exception):
    """An error as the `gssapi` package has it: two numbers, and a text for each."""

    def __init__(self, maj_code: int, min_code: int) -> None:
        super().__init__(maj_code, min_code)
        self.maj_code, self.min_code = maj_code, min_code

    def get_all_statuses(self, code: int, is_major: bool) -> list[str]:
        return [TEXTS[code]]


class Context:
    """A context that is complete after its first token, and does not like what comes then."""

    complete = True

    def step(self, token: bytes | None = None) -> bytes:
        if token is not None:
            raise GSSError(NO_CREDENTIALS, NOTHING)
        return b"AP-REQ"

    def unwrap(self, message: bytes) -> SimpleNamespace:
        raise GSSError(GENERIC, NO_CACHE)

    def wrap(self, message: bytes, encrypt: bool) -> SimpleNamespace:
        return SimpleNamespace(message=b"encrypted" if encrypt else b"signed:" + message)


def a_package(problem: Exception | None) -> SimpleNamespace:
    """In the place of `gssapi`, which is not installed for these tests."""

    def credentials(**options: object) -> object:
        if problem is not None:
            raise problem
        return options

    return SimpleNamespace(
        exceptions=SimpleNamespace(GSSError=GSSError),
        RequirementFlag=SimpleNamespace(mutual_authentication=2, integrity=32),
        NameType=SimpleNamespace(hostbased_service="service", kerberos_principal="principal"),
        MechType=SimpleNamespace(kerberos="kerberos"),
        Name=lambda *parts: parts,
        Credentials=credentials,
        SecurityContext=lambda **options: Context(),
    )


def context(
    monkeypatch: pytest.MonkeyPatch, problem: Exception | None = None, keytab: Path | None = None
) -> sasl.Context:
    config = ClientConfig(
        bootstrap_servers="broker:9092",
        security_protocol="SASL_SSL",
        sasl_kerberos_service_name="kafka",
        sasl_kerberos_keytab=None if keytab is None else str(keytab),
    )
    monkeypatch.setitem(sys.modules, "gssapi", a_package(problem))
    return kerberos.context(config, "broker")


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    config = ClientConfig(
        bootstrap_servers="broker:9092",
        security_protocol="SASL_SSL",
        sasl_kerberos_service_name="kafka",
    )
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(ConfigError, match=r"pip install kafka-aio\[gssapi\]"):
        kerberos.context(config, "broker")


def test_a_context_has_its_first_token_ready_and_signs_without_encryption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = context(monkeypatch)

    assert made.step(None) == b"AP-REQ"
    assert made.complete
    assert made.wrap(b"x") == b"signed:x"
    assert repr(made) == "<Kerberos kafka@broker>"


def test_a_realm_without_a_server_is_a_failed_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KafkaConnectionError) as failed:
        context(monkeypatch, GSSError(GENERIC, KDC_UNREACHABLE))

    expected = "GSSAPI, kafka@broker: Cannot contact any KDC for realm 'TEST': see krb5.conf"
    assert str(failed.value) == expected


def test_no_ticket_is_a_failed_authentication_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuthenticationError) as failed:
        context(monkeypatch, GSSError(NO_CREDENTIALS, NO_CACHE))

    assert str(failed.value) == (
        "GSSAPI, kafka@broker: No credentials were supplied; No Kerberos credentials available:"
        " see whether we have a ticket (kinit, or sasl_kerberos_keytab and"
        " sasl_kerberos_principal), and whether Kerberos knows the broker as broker"
    )


def test_what_a_broker_sends_wrong_is_a_failed_authentication(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = context(monkeypatch)

    with pytest.raises(
        AuthenticationError, match="kafka@broker: No credentials were supplied: see"
    ):
        made.step(b"nonsense")
    with pytest.raises(AuthenticationError, match="kafka@broker: No Kerberos credentials avail"):
        made.unwrap(b"nonsense")


def test_a_keytab_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"sasl_kerberos_keytab: '.*none\.keytab' does not exist"):
        context(monkeypatch, keytab=tmp_path / "none.keytab")


def test_a_kerberos_library_that_cannot_use_a_keytab_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keytab = tmp_path / "alice.keytab"
    keytab.touch()

    with pytest.raises(ConfigError, match="sasl_kerberos_keytab needs MIT's Kerberos library"):
        context(monkeypatch, NotImplementedError("no credential stores"), keytab)
