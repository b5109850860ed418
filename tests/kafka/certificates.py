"""Keys and certificates for the tests, made anew in a folder: good ones, and some to be refused."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PASSWORD = "store-secret"
_DAY = timedelta(days=1)


class Authority:
    """Somebody who signs certificates."""

    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name(name)
        now = datetime.now(UTC)
        builder = _builder(self.name, self.name, self.key, now + 30 * _DAY)
        self.certificate = (
            builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .sign(self.key, hashes.SHA256())
        )

    def issue(
        self, name: str, *, host: str = "localhost", until: datetime | None = None
    ) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        """A key and its certificate, good for servers and clients; `localhost` is loopback too."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives: list[x509.GeneralName] = [x509.DNSName(host)]
        if host == "localhost":
            loopback = ("127.0.0.1", "::1")
            alternatives += [x509.IPAddress(ipaddress.ip_address(each)) for each in loopback]
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        until = until or datetime.now(UTC) + 30 * _DAY
        certificate = (
            _builder(_name(name), self.name, key, until)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
            .sign(self.key, hashes.SHA256())
        )
        return key, certificate


class Certificates:
    """Files of one folder. A `.pem` has a key, in the open, and its certificate.

    Attributes:
        password: Of the encrypted key and of both stores.
        ca: The certificate of the authority that all are meant to trust.
        server: For localhost, 127.0.0.1 and ::1.
        expired_server: The same, but of the past.
        elsewhere_server: Good, but for the host `elsewhere.example`.
        client: Key and certificate of `CN=client`.
        client_key: The key alone.
        client_encrypted_key: The key alone, encrypted (PKCS#8).
        client_certificate: The certificate alone.
        client_store: Key and certificate (PKCS#12).
        trust_store: The authority's certificate (PKCS#12), as Java writes it.
        other_ca: The certificate of an authority that nobody trusts.
        stranger: A client that it has signed.
    """

    password = PASSWORD

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        authority, other = Authority("test-ca"), Authority("other-ca")
        self.ca = self._write("ca.crt", _pem(authority.certificate))
        self.other_ca = self._write("other-ca.crt", _pem(other.certificate))

        yesterday = datetime.now(UTC) - _DAY
        self.server = self._both("server", *authority.issue("server"))
        self.expired_server = self._both("expired", *authority.issue("server", until=yesterday))
        elsewhere = authority.issue("elsewhere", host="elsewhere.example")
        self.elsewhere_server = self._both("elsewhere", *elsewhere)
        self.stranger = self._both("stranger", *other.issue("client"))

        key, certificate = authority.issue("client")
        secret = BestAvailableEncryption(PASSWORD.encode())
        self.client = self._both("client", key, certificate)
        self.client_key = self._write("client.key", _pem(key))
        self.client_encrypted_key = self._write("client.encrypted.key", _pem(key, secret))
        self.client_certificate = self._write("client.crt", _pem(certificate))
        self.client_store = self._write(
            "client.p12",
            pkcs12.serialize_key_and_certificates(
                b"client", key, certificate, [authority.certificate], secret
            ),
        )
        trusted = [pkcs12.PKCS12Certificate(authority.certificate, b"test-ca")]
        self.trust_store = self._write(
            "trust.p12", pkcs12.serialize_java_truststore(trusted, secret)
        )

    def client_context(self, identity: Path | None = None) -> ssl.SSLContext:
        """What a client of the standard library needs to trust our servers, and to be trusted."""
        context = ssl.create_default_context(cafile=self.ca)
        if identity is not None:
            context.load_cert_chain(identity)
        return context

    def server_context(self, identity: Path | None = None) -> ssl.SSLContext:
        """For a server of a test's own."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(identity or self.server)
        return context

    def _both(
        self, name: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate
    ) -> Path:
        return self._write(f"{name}.pem", _pem(key) + _pem(certificate))

    def _write(self, name: str, content: bytes) -> Path:
        file = self._folder / name
        file.write_bytes(content)
        return file


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, until: datetime
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(until - 60 * _DAY)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(
    what: ec.EllipticCurvePrivateKey | x509.Certificate,
    encryption: KeySerializationEncryption | None = None,
) -> bytes:
    if isinstance(what, x509.Certificate):
        return what.public_bytes(Encoding.PEM)
    return what.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())
