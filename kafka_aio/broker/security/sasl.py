"""The broker's side of SASL, one generator for each mechanism. Pure.

It yields what to answer and is sent what the client says next; what is sent first is what the
client begins with. It returns who that is, or raises SaslAuthenticationFailed: with Kafka's text,
or with none where Kafka does not say what was wrong.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Generator
from typing import Final, NamedTuple, TypeAlias

from kafka_aio.broker.security.tokens import TokenValidator
from kafka_aio.broker.security.users import ScramMechanism, Users
from kafka_aio.config.option import Secret
from kafka_aio.errors import SaslAuthenticationFailed

_REFUSES: Final = "Authentication failed: "
_OTHER_ID: Final = f"{_REFUSES}Client requested an authorization id that is different from username"


class Proven(NamedTuple):
    """The end of an exchange: who the client is, and the last answer."""

    user: str
    answer: bytes = b""
    expires_at: float | None = None
    """The end of a token, in seconds since 1970."""


Talk: TypeAlias = Generator[bytes, bytes, Proven]


def begin(mechanism: str, users: Users, *, nonce: str, validate: TokenValidator) -> Talk:
    """An exchange that waits for what the client begins with.

    Args:
        mechanism: One that is enabled.
        users: Who may log in.
        nonce: For SCRAM: printable ASCII without commas; new and unpredictable each time.
        validate: For OAUTHBEARER: who checks tokens.
    """
    match mechanism:
        case "PLAIN":
            talk = _plain(users)
        case "OAUTHBEARER":
            talk = _oauthbearer(validate)
        case _:
            talk = _scram(ScramMechanism.called(mechanism), users, nonce.encode())
    next(talk)
    return talk


def _plain(users: Users) -> Talk:
    """RFC 4616."""
    fields = (yield b"").decode(errors="replace").split("\0", 3)
    if len(fields) != 3:
        raise SaslAuthenticationFailed(
            f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(fields)}"
        )
    acting_as, user, password = fields[0], fields[1], Secret(fields.pop())
    if not user:
        raise SaslAuthenticationFailed(f"{_REFUSES}username not specified")
    if not password:
        raise SaslAuthenticationFailed(f"{_REFUSES}password not specified")
    expected = users.passwords.get(user)
    if expected is None or not hmac.compare_digest(expected.encode(), password.encode()):
        raise SaslAuthenticationFailed(f"{_REFUSES}Invalid username or password")
    if acting_as not in ("", user):
        raise SaslAuthenticationFailed(_OTHER_ID)
    return Proven(user)


# SCRAM, RFC 5802 and RFC 7677. Kafka takes names of ASCII alone.

_NAME: Final = rb"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_NONCE: Final = rb"[!-+\x2d-~]+"  # printable ASCII but for the comma
_BASE64: Final = rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_EXTENSIONS: Final = rb"(?:,[A-Za-z]+=[\x01-\x2b\x2d-\x7f]+)*"
# Of the headers, only that without channel binding: no listener of Kafka has any.
_CLIENT_FIRST: Final = re.compile(
    rb"(n,(?:a=(%b))?,)(n=(%b),r=(%b)(%b))" % (_NAME, _NAME, _NONCE, _EXTENSIONS)
)
_CLIENT_FINAL: Final = re.compile(
    rb"(c=(%b),r=(%b)%b),p=(%b)" % (_BASE64, _NONCE, _EXTENSIONS, _BASE64)
)
_BY_TOKEN: Final = b",tokenauth=true"
"""By a delegation token (KIP-48), of which there are none here."""


def _scram(mechanism: ScramMechanism, users: Users, nonce: bytes) -> Talk:
    first = _CLIENT_FIRST.fullmatch((yield b""))
    if first is None:
        raise SaslAuthenticationFailed()
    header, acting_as, client_first, name, client_nonce, extensions = first.groups()
    user = _unescaped(name)
    credential = users.scram[mechanism].get(user)
    if credential is None or _BY_TOKEN in extensions.lower():
        raise SaslAuthenticationFailed()
    if acting_as is not None and _unescaped(acting_as) != user:
        raise SaslAuthenticationFailed(_OTHER_ID)
    both = client_nonce + nonce
    salt = b64encode(credential.salt)
    server_first = b"r=%b,s=%b,i=%d" % (both, salt, credential.iterations)
    final = _CLIENT_FINAL.fullmatch((yield server_first))
    if final is None:
        raise SaslAuthenticationFailed()
    client_final, binding, given_nonce, proof = final.groups()
    # Without the nonce, what was overheard could be sent once more (CVE-2024-56128).
    if given_nonce != both or b64decode(binding) != header:
        raise SaslAuthenticationFailed()
    signed = b",".join((client_first, server_first, client_final))
    if not _is_proof(mechanism, b64decode(proof), credential.stored_key, signed):
        raise SaslAuthenticationFailed()
    signature = hmac.digest(credential.server_key, signed, mechanism.hash_name)
    return Proven(user, b"v=" + b64encode(signature))


def _is_proof(mechanism: ScramMechanism, proof: bytes, stored_key: bytes, signed: bytes) -> bool:
    signature = hmac.digest(stored_key, signed, mechanism.hash_name)
    if len(proof) != len(signature):
        return False
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    given = hashlib.new(mechanism.hash_name, client_key).digest()
    return hmac.compare_digest(given, stored_key)


def _unescaped(name: bytes) -> str:
    return name.decode().replace("=2C", ",").replace("=3D", "=")


# OAUTHBEARER, RFC 7628.

_PAIR: Final = rb"([A-Za-z]+)=([!-~ \t\r\n]+)\x01"
_INITIAL: Final = re.compile(rb"n,(?:a=(%b))?,\x01((?:%b)*)\x01" % (_NAME, _PAIR))
_PAIRS: Final = re.compile(_PAIR)
_BEARER: Final = re.compile(rb"bearer +([-_~+/.A-Za-z0-9]+=*)", re.IGNORECASE)
_REFUSED: Final = '{"status":"invalid_token"}'


def _oauthbearer(validate: TokenValidator) -> Talk:
    said = yield b""
    while True:
        acting_as, token = _read_initial(said)
        valid = validate(token.reveal())
        if valid is not None:
            break
        # With no error code: the client is to read why, and then to say so by one byte.
        said = yield _REFUSED.encode()
        if said == b"\x01":
            raise SaslAuthenticationFailed(_REFUSED)
    if acting_as not in ("", valid.subject):
        raise SaslAuthenticationFailed(
            f"{_REFUSES}Client requested an authorization id ({acting_as}) that is different from"
            f" the token's principal name ({valid.subject})"
        )
    return Proven(valid.subject, expires_at=valid.expires_at)


def _read_initial(said: bytes) -> tuple[str, Secret]:
    """Whom the client wants to act as, and its token. Kafka's brokers ignore extensions, too."""
    initial = _INITIAL.fullmatch(said)
    if initial is None:
        raise SaslAuthenticationFailed()
    pairs = dict(_PAIRS.findall(initial[2]))
    bearer = _BEARER.fullmatch(pairs.get(b"auth", b""))
    if bearer is None:
        raise SaslAuthenticationFailed()
    return (initial[1] or b"").decode(), Secret(bearer[1].decode())
