"""A throw-away authority, which makes certificates in memory: needs the `cryptography` package."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOOPBACK: Final = ("127.0.0.1", "::1")

_LIFE: Final = timedelta(days=365)
_EARLIER: Final = timedelta(days=1)
"""Certificates begin in the past: clocks need not agree to the second."""

Key = ec.EllipticCurvePrivateKey


class Authority:
    """Signs certificates of servers and clients; nobody keeps its key but itself."""

    def __init__(self) -> None:
        self._key = _new_key()
        self._name = _name("kafka_aio, for tests only")
        builder = _builder(self._name, self._key, self._name)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_usage(signs=True), critical=True)
        self.pem = _pem(builder.sign(self._key, hashes.SHA256()))
        """Its own certificate: who trusts it trusts those that it has signed."""

    def __repr__(self) -> str:
        return "<Authority>"

    def server_pem(self) -> str:
        """A key, and its certificate for a server on this machine."""
        names: list[x509.GeneralName] = [x509.DNSName("localhost")]
        names += [x509.IPAddress(ipaddress.ip_address(each)) for each in LOOPBACK]
        alternatives = x509.SubjectAlternativeName(names)
        return self._issue("localhost", ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client_pem(self, name: str) -> str:
        """A key, and its certificate for a client."""
        return self._issue(name, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self, name: str, purpose: x509.ObjectIdentifier, *extensions: x509.ExtensionType
    ) -> str:
        key = _new_key()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = _builder(_name(name), key, self._name)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        builder = builder.add_extension(_usage(signs=False), critical=True)
        for extension in (issuer, x509.ExtendedKeyUsage([purpose]), *extensions):
            builder = builder.add_extension(extension, critical=False)
        return _key_pem(key) + _pem(builder.sign(self._key, hashes.SHA256()))


def _new_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(name: x509.Name, key: Key, issuer: x509.Name) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _key_pem(key: Key) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
