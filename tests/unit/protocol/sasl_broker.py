"""The broker's side of SASL for the tests, written from the RFCs and not from our code."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field

from kafka_aio.protocol.sasl import Derive, Exchange, Step

BLOCK = {"sha256": 64, "sha512": 128}


def hmac(hash_name: str, key: bytes, message: bytes) -> bytes:
    """RFC 2104, by hand."""
    if len(key) > BLOCK[hash_name]:
        key = hashlib.new(hash_name, key).digest()
    key = key.ljust(BLOCK[hash_name], b"\0")
    inner = hashlib.new(hash_name, bytes(byte ^ 0x36 for byte in key) + message).digest()
    return hashlib.new(hash_name, bytes(byte ^ 0x5C for byte in key) + inner).digest()


def salted(hash_name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """Hi() of RFC 5802, by hand."""
    block = hmac(hash_name, password, salt + b"\0\0\0\1")
    result = int.from_bytes(block, "big")
    for _ in range(iterations - 1):
        block = hmac(hash_name, password, block)
        result ^= int.from_bytes(block, "big")
    return result.to_bytes(len(block), "big")


@dataclass
class ScramBroker:
    """Keeps what RFC 5802 has a server keep, and knows no password afterwards."""

    mechanism: str
    username: str
    password: str
    salt: bytes = b"pepper"
    iterations: int = 4_096
    nonce: str = "theirs"
    extensions: str = ""
    tokens: bool = False
    """Whether its users are delegation tokens."""
    proven: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.hash_name = self.mechanism.replace("SCRAM-SHA-", "sha")
        # Not by hand: 4,096 rounds in Python, for each case of Hypothesis, take too long.
        key = hashlib.pbkdf2_hmac(
            self.hash_name, self.password.encode(), self.salt, self.iterations
        )
        client_key = hmac(self.hash_name, key, b"Client Key")
        self.stored_key = hashlib.new(self.hash_name, client_key).digest()
        self.server_key = hmac(self.hash_name, key, b"Server Key")

    def first(self, message: bytes) -> bytes:
        fields = re.fullmatch("n,,(n=([^,]+),r=([^,]+)(,tokenauth=true)?)", message.decode())
        assert fields is not None
        self.client_first, name, nonce, tokenauth = fields.groups()
        assert name.replace("=2C", ",").replace("=3D", "=") == self.username
        assert bool(tokenauth) == self.tokens
        self.full_nonce = nonce + self.nonce
        salt = base64.b64encode(self.salt).decode()
        self.server_first = f"r={self.full_nonce},s={salt},i={self.iterations}{self.extensions}"
        return self.server_first.encode()

    def final(self, message: bytes) -> bytes:
        without_proof, _, proof = message.decode().rpartition(",p=")
        assert without_proof == f"c=biws,r={self.full_nonce}"
        signed = f"{self.client_first},{self.server_first},{without_proof}".encode()
        signature = hmac(self.hash_name, self.stored_key, signed)
        given = base64.b64decode(proof, validate=True)
        client_key = bytes(a ^ b for a, b in zip(given, signature, strict=True))
        if hashlib.new(self.hash_name, client_key).digest() != self.stored_key:
            return b"e=invalid-proof"
        self.proven = True
        return b"v=" + base64.b64encode(hmac(self.hash_name, self.server_key, signed))


def derive(step: Step) -> bytes:
    """What the network layer does with a `Derive`."""
    assert isinstance(step, Derive)
    return hashlib.pbkdf2_hmac(step.hash_name, step.password, step.salt, step.iterations)


def failed(exchange: Exchange) -> bool:
    return repr(exchange).endswith(" failed>")
