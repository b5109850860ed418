"""SCRAM (RFC 5802, RFC 7677): both sides prove that they know the password. Pure.

    we      n,,n=user,r=ours                    [,tokenauth=true]
    broker  r=ours+theirs,s=salt,i=iterations
    we      c=biws,r=ours+theirs,p=proof        biws: no channel binding
    broker  v=signature                         or e=error

Names and passwords are not normalised (SASLprep, RFC 4013). Kafka does not do it either, neither
where it stores a password nor where it checks one: if we did, passwords that SASLprep changes, such
as those with a ligature or a no-break space, would be refused.

What the broker may ask of us is bounded: without an upper limit on the iterations, any server that
is in the way could keep a core busy for hours (CVE-2026-10143).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from typing import Final, NamedTuple

from kafka_aio.config.option import Secret
from kafka_aio.errors import AuthenticationError, ProtocolError
from kafka_aio.protocol.sasl.exchange import Derive, Exchange, Send, Talk, check_sendable, shown

MIN_ITERATIONS: Final = 4_096
MAX_ITERATIONS: Final = 1_000_000
"""About a second of work; Kafka's default is 4,096, and what is recommended today 600,000."""
MAX_SALT: Final = 1_024
MAX_MESSAGE: Final = 4_096

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

_NONCE: Final = r"[!-+\x2d-~]+"  # printable ASCII but for the comma
# Said here in full, because b64decode takes more than this, and not the same in each Python.
_BASE64: Final = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_EXTENSIONS: Final = "(?:,[A-Za-z]+=[^,\0]+)*"
_SERVER_FIRST: Final = re.compile(f"r=({_NONCE}),s=({_BASE64}),i=([0-9]+){_EXTENSIONS}".encode())
_SERVER_FINAL: Final = re.compile(f"v=({_BASE64}){_EXTENSIONS}".encode())


class Scram(Exchange):
    """Proves who we are without showing the password, and asks the same of the broker."""

    __slots__ = ()

    def __init__(
        self, mechanism: str, username: str, password: str, nonce: str, tokenauth: bool = False
    ) -> None:
        """Take the credentials.

        Args:
            mechanism: SCRAM-SHA-256 or SCRAM-SHA-512.
            username: The user, or the id of a delegation token.
            password: The user's password, or the token's HMAC.
            nonce: Printable ASCII without commas; new and unpredictable for each exchange.
            tokenauth: Whether they are those of a delegation token (KIP-48).

        Raises:
            ConfigError: The user name or the password is empty or cannot be sent.
        """
        password = Secret(password)
        super().__init__(mechanism, _talk(mechanism, username, password, nonce, tokenauth))
        if mechanism not in _HASHES:
            raise ValueError(f"mechanism is one of {', '.join(_HASHES)}, not {mechanism!r}")
        if not re.fullmatch(_NONCE, nonce):
            raise ValueError("a nonce is printable ASCII without commas, and not empty")
        check_sendable("user name", username)
        check_sendable("password", password)


class _ServerFirst(NamedTuple):
    """What the broker asks of us."""

    nonce: bytes
    salt: bytes
    iterations: int


def _talk(mechanism: str, username: str, password: Secret, nonce: str, tokenauth: bool) -> Talk:
    name = username.replace("=", "=3D").replace(",", "=2C")
    client_first = f"n={name},r={nonce}{',tokenauth=true' * tokenauth}".encode()
    server_first = yield Send(b"n,," + client_first)
    asked = _read_first(mechanism, server_first, nonce.encode())
    client_final = b"c=biws,r=" + asked.nonce
    signed = b",".join((client_first, server_first, client_final))
    hash_name = _HASHES[mechanism]
    # The key has no name here: it is as good as the password.
    proof, signature = _prove(
        hash_name,
        (yield Derive(hash_name, password.encode(), asked.salt, asked.iterations)),
        signed,
    )
    server_final = yield Send(client_final + b",p=" + b64encode(proof))
    if not hmac.compare_digest(_read_final(mechanism, server_final), signature):
        raise AuthenticationError(
            f"{mechanism}: the broker could not prove that it knows the password: something else"
            " may be answering in its place"
        )


def _prove(hash_name: str, key: bytes, signed: bytes) -> tuple[bytes, bytes]:
    """Our proof, and the signature that will be the broker's."""
    client_key = hmac.digest(key, b"Client Key", hash_name)
    stored_key = hashlib.new(hash_name, client_key).digest()
    client_signature = hmac.digest(stored_key, signed, hash_name)
    proof = bytes(a ^ b for a, b in zip(client_key, client_signature, strict=True))
    server_key = hmac.digest(key, b"Server Key", hash_name)
    return proof, hmac.digest(server_key, signed, hash_name)


def _read_first(mechanism: str, message: bytes, ours: bytes) -> _ServerFirst:
    _check(mechanism, message)
    fields = _SERVER_FIRST.fullmatch(message)
    if fields is None:
        raise ProtocolError(f"{mechanism}: the broker's first message is not r=..,s=..,i=..")
    nonce, salt, iterations = fields.groups()
    if not nonce.startswith(ours) or nonce == ours:
        raise AuthenticationError(
            f"{mechanism}: the broker's nonce does not go on from ours: its answer is that of"
            " another exchange"
        )
    salt = b64decode(salt)
    if not 0 < len(salt) <= MAX_SALT:
        raise ProtocolError(f"{mechanism}: the broker's salt has {len(salt)} bytes")
    return _ServerFirst(nonce, salt, _read_iterations(mechanism, iterations))


def _read_iterations(mechanism: str, digits: bytes) -> int:
    # Compared by their number first: Python refuses to read thousands of digits.
    iterations = int(digits) if len(digits) <= len(str(MAX_ITERATIONS)) else MAX_ITERATIONS + 1
    if iterations < MIN_ITERATIONS:
        raise AuthenticationError(
            f"{mechanism}: the broker asks for {iterations} iterations, and below"
            f" {MIN_ITERATIONS:,} a listener could guess the password: set it again with more"
        )
    if iterations > MAX_ITERATIONS:
        raise AuthenticationError(
            f"{mechanism}: the broker asks for more than {MAX_ITERATIONS:,} iterations: set the"
            " password again with fewer"
        )
    return iterations


def _read_final(mechanism: str, message: bytes) -> bytes:
    _check(mechanism, message)
    fields = _SERVER_FINAL.fullmatch(message)
    if fields is None:
        raise ProtocolError(f"{mechanism}: the broker's final message is not v=..")
    return b64decode(fields[1])


def _check(mechanism: str, message: bytes) -> None:
    """What holds for both messages of the broker."""
    if len(message) > MAX_MESSAGE:
        raise ProtocolError(
            f"{mechanism}: the broker's message has {len(message):,} bytes, more than"
            f" {MAX_MESSAGE:,}"
        )
    if message.startswith(b"e="):
        error = message[2:].partition(b",")[0].decode(errors="replace")
        raise AuthenticationError(f"{mechanism}: the broker refuses us: {shown(error)}")
    if message.startswith(b"m=") or b",m=" in message:
        raise AuthenticationError(
            f"{mechanism}: the broker insists on an extension (m=) that we do not know"
        )
