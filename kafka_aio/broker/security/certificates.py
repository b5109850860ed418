"""TLS of the embedded broker: its certificate, whom of its clients it trusts, and who they are."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, get_args

from kafka_aio.config.option import Secret
from kafka_aio.errors import ConfigError
from kafka_aio.net.tls import as_file

if TYPE_CHECKING:
    from kafka_aio.broker.security.authority import Authority

ClientAuth: TypeAlias = Literal["none", "requested", "required"]
"""Kafka's `ssl.client.auth`: whether clients show a certificate, too."""

ANONYMOUS: Final = "User:ANONYMOUS"
"""Who has not shown one."""

_MODES: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class Certificates:
    """What a broker shows, and whom it trusts.

    Attributes:
        ca_pem: The certificate that clients have to trust: `ssl_truststore_certificates`.
        client_auth: Whether clients show a certificate, too.
    """

    def __init__(
        self,
        server_pem: str,
        *,
        ca_pem: str,
        client_auth: ClientAuth = "none",
        authority: Authority | None = None,
    ) -> None:
        """See `generate` and `from_pem`.

        Raises:
            ConfigError: `client_auth` is none of the three.
        """
        if client_auth not in _MODES:
            choices = ", ".join(get_args(ClientAuth))
            raise ConfigError(f"client_auth is one of {choices}, not {client_auth!r}")
        self.ca_pem = ca_pem
        self.client_auth = client_auth
        self._server_pem = Secret(server_pem)
        self._authority = authority

    def __repr__(self) -> str:
        made = "one's own" if self._authority is None else "generated"
        return f"<Certificates {made}, those of clients {self.client_auth}>"

    @classmethod
    def generate(cls, *, client_auth: ClientAuth = "none") -> Self:
        """A new authority, and a certificate by it for localhost, 127.0.0.1 and ::1.

        Raises:
            ConfigError: The cryptography package is missing.
        """
        try:
            from kafka_aio.broker.security.authority import Authority
        except ImportError as error:
            raise ConfigError(
                "certificates for the embedded broker are made by the cryptography package: pip"
                " install 'kafka-aio[pkcs12]'; or give your own by Certificates.from_pem"
            ) from error
        authority = Authority()
        return cls(
            authority.server_pem(),
            ca_pem=authority.pem,
            client_auth=client_auth,
            authority=authority,
        )

    @classmethod
    def from_pem(cls, server_pem: str, *, ca_pem: str, client_auth: ClientAuth = "none") -> Self:
        """Certificates of one's own.

        Args:
            server_pem: The broker's private key, not encrypted, and its certificate, with those
                in between it and the authority.
            ca_pem: The authority's certificate; certificates of clients must be signed by it, too.
            client_auth: Whether clients show a certificate.
        """
        return cls(server_pem, ca_pem=ca_pem, client_auth=client_auth)

    def client_pem(self, name: str) -> str:
        """A private key and a certificate for a client; who shows it is `User:CN=name`.

        Raises:
            ConfigError: The certificates were given: only those that are generated have an
                authority here that can sign one more.
        """
        if self._authority is None:
            raise ConfigError("only Certificates.generate() can make certificates for clients")
        return self._authority.client_pem(name)

    def server_context(self) -> ssl.SSLContext:
        """The broker's side of its connections. It takes a while, so not in the loop.

        Raises:
            ConfigError: OpenSSL does not take the certificates or the key.
        """
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.verify_mode = _MODES[self.client_auth]
        try:
            with as_file(self._server_pem.encode()) as path:
                made.load_cert_chain(path, password=_no_password)
            if self.client_auth != "none":
                made.load_verify_locations(cadata=self.ca_pem)
        except ssl.SSLError as error:
            reason = error.reason.lower().replace("_", " ") if error.reason else "it is not PEM"
            raise ConfigError(
                f"the broker's certificate, key or authority cannot be used: {reason}"
            ) from error
        return made


def _no_password() -> bytes:
    # Without this, OpenSSL would ask at the terminal.
    raise ConfigError("the broker's private key is encrypted: give it without a password")


# Who a client is. As Java prints it: RFC 2253, the last part of the name first.

_SHORT: Final = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_SPECIAL: Final = re.compile(r'[,+"\\<>;=]|^[ #]| $')


def principal_of(certificate: Mapping[str, Any] | None) -> str:
    """The principal of a client, from what `getpeercert()` says of the certificate it has shown."""
    subject = (certificate or {}).get("subject")
    if not subject:
        return ANONYMOUS
    return "User:" + ",".join("+".join(map(_shown, part)) for part in reversed(subject))


def _shown(attribute: tuple[str, str]) -> str:
    name, value = attribute
    escaped = _SPECIAL.sub(r"\\\g<0>", value)
    return f"{_SHORT.get(name, name)}={escaped}"
