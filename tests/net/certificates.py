"""Authorities and the certificates that they issue, made for one run."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)
LOCALHOST = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Identity:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(
        self, password: str | None = None, form: PrivateFormat = PrivateFormat.PKCS8
    ) -> str:
        encryption: serialization.KeySerializationEncryption = NoEncryption()
        if password is not None:
            encryption = BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, form, encryption).decode()

    @property
    def pem(self) -> str:
        return self.key_pem() + self.certificate_pem

    def key_store(self, password: str) -> bytes:
        """As PKCS12."""
        return pkcs12.serialize_key_and_certificates(
            b"me", self.key, self.certificate, None, BestAvailableEncryption(password.encode())
        )

    def trust_store(self, password: str) -> bytes:
        """As PKCS12, the certificate alone."""
        return pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(self.certificate, b"ca")],
            BestAvailableEncryption(password.encode()),
        )

    def issue(
        self,
        *names: str,
        is_authority: bool = False,
        starts: timedelta = -DAY,
        ends: timedelta = DAY,
    ) -> Identity:
        """A certificate for hosts and addresses, signed by this one."""
        subject = names[0] if names else "an authority below"
        return _make(subject, self, names, is_authority, (starts, ends))

    def server(self, trusted: Identity | None = None) -> ssl.SSLContext:
        """A context that shows this certificate, and wants one that `trusted` has issued."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with TemporaryDirectory() as folder:
            file = Path(folder, "server.pem")
            file.write_text(self.pem)
            made.load_cert_chain(file)
        if trusted is not None:
            made.verify_mode = ssl.CERT_REQUIRED
            made.load_verify_locations(cadata=trusted.certificate_pem)
        return made


def authority(name: str) -> Identity:
    return _make(name, None, (), True, (-DAY, DAY))


def self_signed(*names: str) -> Identity:
    return _make(names[0], None, names, False, (-DAY, DAY))


def _make(
    name: str,
    issuer: Identity | None,
    names: tuple[str, ...],
    is_authority: bool,
    life: tuple[timedelta, timedelta],
) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + life[0])
        .not_valid_after(now + life[1])
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    )
    if names:
        hosts = [
            x509.IPAddress(ip_address(each)) if each[0].isdigit() else x509.DNSName(each)
            for each in names
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return Identity(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)
