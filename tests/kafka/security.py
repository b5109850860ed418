"""Listeners that ask who somebody is: TLS, certificates of clients, and every SASL mechanism."""

from __future__ import annotations

from tests.kafka.certificates import Certificates
from tests.kafka.tokens import AUDIENCE, Issuer

USERS = {"alice": "alice-secret", "admin": "admin-secret"}
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
REAUTHENTICATION_MS = 10_000

# Beside those of every node. EXPIRED shows a certificate of the past; OAUTH wants signed tokens.
LISTENERS = {
    "TLS": "SSL",
    "MTLS": "SSL",
    "EXPIRED": "SSL",
    "SASLP": "SASL_PLAINTEXT",
    "SASLS": "SASL_SSL",
    "OAUTH": "SASL_PLAINTEXT",
}

_MODULES = "org.apache.kafka.common.security"
_PASSWORDS = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
# What a server needs to know of each mechanism, as a line of JAAS.
_JAAS = {
    "PLAIN": f"{_MODULES}.plain.PlainLoginModule required {_PASSWORDS};",
    "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule required;",
    "SCRAM-SHA-512": f"{_MODULES}.scram.ScramLoginModule required;",
    "OAUTHBEARER": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required"
    ' unsecuredLoginStringClaim_sub="broker";',
}


class Security:
    """What a cluster with secured listeners is made with."""

    def __init__(self, certificates: Certificates, issuer: Issuer) -> None:
        self.certificates = certificates
        self.issuer = issuer

    def settings(self) -> dict[str, str]:
        """Of a node; re-authentication is asked for on SASLS by SCRAM-SHA-256 alone."""
        lifetime = "listener.name.sasls.scram-sha-256.connections.max.reauth.ms"
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificates.server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.certificates.ca),
            "listener.name.expired.ssl.keystore.location": str(self.certificates.expired_server),
            "listener.name.mtls.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            **{
                f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config": line
                for listener in ("saslp", "sasls")
                for mechanism, line in _JAAS.items()
            },
            lifetime: str(REAUTHENTICATION_MS),
            **self._signed_tokens(),
        }

    def _signed_tokens(self) -> dict[str, str]:
        by_token = "listener.name.oauth.oauthbearer.sasl"
        return {
            "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{by_token}.jaas.config": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
            f"{by_token}.server.callback.handler.class": (
                f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
            ),
            f"{by_token}.oauthbearer.jwks.endpoint.url": self.issuer.jwks_url,
            f"{by_token}.oauthbearer.expected.audience": AUDIENCE,
            f"{by_token}.oauthbearer.expected.issuer": self.issuer.url,
        }

    def java(self) -> list[str]:
        """Options of a node's JVM: Kafka asks only addresses that are named there."""
        return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.issuer.jwks_url}"]

    def users(self) -> list[str]:
        """What the storage tool is told, so that the users of SCRAM are there from the start."""
        return [
            argument
            for mechanism in SCRAM
            for name, password in USERS.items()
            for argument in ("--add-scram", f"{mechanism}=[name={name},password={password}]")
        ]
