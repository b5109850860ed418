from __future__ import annotations

import ssl
import sys
from typing import Any, get_args

import pytest

from kafka_aio.broker.security.certificates import Certificates, ClientAuth, principal_of
from kafka_aio.config import ClientConfig
from kafka_aio.errors import ConfigError
from kafka_aio.net import tls

pytest.importorskip("cryptography")

every_version = pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])


@pytest.fixture(scope="module")
def generated() -> Certificates:
    return Certificates.generate()


@pytest.fixture(scope="module")
def stranger() -> Certificates:
    return Certificates.generate()


def client_context(trusted: Certificates, identity: str = "", **options: Any) -> ssl.SSLContext:
    """Our own client's, which trusts an authority and shows an identity."""
    config = ClientConfig(
        bootstrap_servers="localhost:9092",
        security_protocol="SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_certificates=trusted.ca_pem,
        ssl_keystore_type="PEM",
        ssl_keystore_certificate_chain=identity or None,
        ssl_keystore_key=identity or None,
        **options,
    )
    context = tls.context(config)
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # Python's default from 3.13 on
    return context


def meet(
    server_context: ssl.SSLContext, client_context: ssl.SSLContext, host: str = "localhost"
) -> str:
    """Let two sides talk in memory. The principal of the client."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=host)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    done: set[ssl.SSLObject] = set()
    for _ in range(10):
        for side in (client, server):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                pass
    assert done == {client, server}
    client.write(b"hello")
    assert server.read() == b"hello"
    return principal_of(server.getpeercert())


@every_version
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_a_broker_is_trusted_by_each_name_of_this_machine(
    generated: Certificates, host: str, version: str
) -> None:
    client = client_context(generated, ssl_enabled_protocols=[version])

    assert meet(generated.server_context(), client, host) == "User:ANONYMOUS"


def test_it_is_not_trusted_by_another_name(generated: Certificates) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        meet(generated.server_context(), client_context(generated), "example.com")


def test_nobody_trusts_it_who_trusts_another_authority(
    generated: Certificates, stranger: Certificates
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        meet(generated.server_context(), client_context(stranger))


@every_version
@pytest.mark.parametrize("client_auth", ["requested", "required"])
def test_a_client_is_who_its_certificate_says(client_auth: ClientAuth, version: str) -> None:
    certificates = Certificates.generate(client_auth=client_auth)
    identity = certificates.client_pem("alice, the first")
    client = client_context(certificates, identity, ssl_enabled_protocols=[version])

    assert meet(certificates.server_context(), client) == r"User:CN=alice\, the first"


def test_a_client_that_need_not_show_a_certificate_is_anonymous() -> None:
    certificates = Certificates.generate(client_auth="requested")

    principal = meet(certificates.server_context(), client_context(certificates))

    assert principal == "User:ANONYMOUS"


def test_a_certificate_that_nobody_asked_for_says_nothing(generated: Certificates) -> None:
    client = client_context(generated, generated.client_pem("alice"))

    assert meet(generated.server_context(), client) == "User:ANONYMOUS"


@every_version
def test_a_client_without_a_certificate_is_refused_if_one_is_required(version: str) -> None:
    certificates = Certificates.generate(client_auth="required")
    client = client_context(certificates, ssl_enabled_protocols=[version])

    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        meet(certificates.server_context(), client)


@pytest.mark.parametrize("client_auth", ["requested", "required"])
def test_a_client_with_a_certificate_of_another_authority_is_refused(
    client_auth: ClientAuth, stranger: Certificates
) -> None:
    certificates = Certificates.generate(client_auth=client_auth)
    client = client_context(certificates, stranger.client_pem("alice"))

    with pytest.raises(ssl.SSLCertVerificationError):
        meet(certificates.server_context(), client)


def test_the_certificate_of_a_client_is_none_of_a_broker(generated: Certificates) -> None:
    impostor = Certificates.from_pem(generated.client_pem("localhost"), ca_pem=generated.ca_pem)

    with pytest.raises(ssl.SSLCertVerificationError, match="unsuitable certificate purpose"):
        meet(impostor.server_context(), client_context(generated))


def test_certificates_may_be_ones_own(generated: Certificates) -> None:
    server_pem = generated._server_pem.reveal()
    own = Certificates.from_pem(server_pem, ca_pem=generated.ca_pem, client_auth="required")
    client = client_context(generated, generated.client_pem("alice"))

    assert meet(own.server_context(), client) == "User:CN=alice"
    with pytest.raises(ConfigError, match="generate"):
        own.client_pem("bob")


def test_what_openssl_does_not_take_is_a_mistake_in_the_configuration(
    generated: Certificates, stranger: Certificates
) -> None:
    ours, theirs = generated._server_pem.reveal(), stranger._server_pem.reveal()
    mixed = ours.partition("-----BEGIN CERT")[0] + "".join(theirs.partition("-----BEGIN CERT")[1:])

    for server_pem, ca_pem, problem in (
        ("nothing", generated.ca_pem, "not PEM"),
        (mixed, generated.ca_pem, "key values mismatch"),
        (ours, "nothing", "cannot be used"),
    ):
        made = Certificates.from_pem(server_pem, ca_pem=ca_pem, client_auth="required")
        with pytest.raises(ConfigError, match=problem):
            made.server_context()


def test_a_key_with_a_password_is_refused_instead_of_asking_at_the_terminal(
    generated: Certificates,
) -> None:
    from cryptography.hazmat.primitives import serialization

    pem = generated._server_pem.encode()
    key = serialization.load_pem_private_key(pem, None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    certificate = "".join(pem.decode().partition("-----BEGIN CERT")[1:])
    made = Certificates.from_pem(encrypted.decode() + certificate, ca_pem=generated.ca_pem)

    with pytest.raises(ConfigError, match="encrypted"):
        made.server_context()


def test_a_misspelt_client_auth_is_told_at_once() -> None:
    choices = ", ".join(get_args(ClientAuth))
    with pytest.raises(ConfigError, match=f"one of {choices}, not 'require'"):
        Certificates.generate(client_auth="require")  # type: ignore[arg-type] # the mistake


def test_no_key_is_shown(generated: Certificates) -> None:
    assert "PRIVATE" not in repr(generated) + repr(vars(generated))


def test_without_the_package_that_makes_them_it_is_said_how_to_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.delitem(sys.modules, "kafka_aio.broker.security.authority", raising=False)

    with pytest.raises(ConfigError, match=r"pip install 'kafka-aio\[pkcs12\]'"):
        Certificates.generate()


# As Java prints them: X500Principal.getName().
@pytest.mark.parametrize(
    ("subject", "principal"),
    [
        ((), "User:ANONYMOUS"),
        (((("commonName", "alice"),),), "User:CN=alice"),
        (
            (
                (("countryName", "DE"),),
                (("organizationName", "Acme"),),
                (("organizationalUnitName", "a"), ("commonName", "b")),
            ),
            "User:OU=a+CN=b,O=Acme,C=DE",
        ),
        (((("commonName", "a, b+c=d"),),), r"User:CN=a\, b\+c\=d"),
        (((("organizationalUnitName", "#x"),),), r"User:OU=\#x"),
        (((("organizationName", 'y\\z"<>;'),),), r"User:O=y\\z\"\<\>\;"),
        (((("commonName", " a "),),), "User:CN=\\ a\\ "),
        (((("userId", "u"),), (("domainComponent", "d"),)), "User:DC=d,UID=u"),
    ],
)
def test_the_principal_is_the_subject_of_the_certificate(subject: Any, principal: str) -> None:
    assert principal_of({"subject": subject}) == principal


def test_who_has_shown_nothing_is_anonymous() -> None:
    assert principal_of(None) == principal_of({}) == "User:ANONYMOUS"
