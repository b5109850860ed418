"""Declarations only, with no limit of lines: authentication. Pure."""

from kafka_aio.protocol.schema import (
    Int16,
    Int64,
    Request,
    SecretBytes,
    String,
    request,
    response,
    since,
)


@response(key=17, versions=(0, 1))
class SaslHandshakeResponse:
    error_code: Int16
    mechanisms: list[String]


@request(key=17, versions=(0, 1))
class SaslHandshakeRequest(Request[SaslHandshakeResponse]):
    mechanism: String


@response(key=36, versions=(0, 2), flexible=2)
class SaslAuthenticateResponse:
    error_code: Int16
    error_message: String | None
    auth_bytes: SecretBytes
    session_lifetime_ms: Int64 = since(1, default=0, ignorable=True)


@request(key=36, versions=(0, 2), flexible=2)
class SaslAuthenticateRequest(Request[SaslAuthenticateResponse]):
    auth_bytes: SecretBytes
