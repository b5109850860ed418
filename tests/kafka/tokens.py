"""Tokens for OAUTHBEARER: unsigned ones, and an issuer of signed ones that serves over HTTP."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE = "kafka"
CLIENT_ID = "kafka-aio"
CLIENT_SECRET = "client-secret"

Claims = Mapping[str, object]


def claims(subject: str = "alice", *, lifetime: float = 300, **more: object) -> Claims:
    """What a token says; one with a negative lifetime has expired."""
    now = time.time()
    return {"sub": subject, "iat": int(now + min(lifetime, 0)), "exp": int(now + lifetime), **more}


def unsecured(said: Claims) -> str:
    """A token that nobody has signed; Kafka takes it where no validator is set."""
    return f"{_part({'alg': 'none'})}.{_part(said)}."


class TokenRequest(NamedTuple):
    """What a client sent to the token endpoint."""

    headers: Mapping[str, str]
    form: Mapping[str, str]


class Issuer:
    """Signs tokens (RS256), shows its key at `jwks_url`, and gives tokens out at `token_url`.

    It gives one to whoever has its client id and secret (`client_credentials`, by Basic
    authentication or in the form). Runs in a thread of its own from `start` to `close`.

    Attributes:
        requests: What came to the token endpoint, oldest first.
        lifetime: Seconds that a token lives which the endpoint gives out.
        broken: Answer this status to every token request instead.
    """

    client_id = CLIENT_ID
    client_secret = CLIENT_SECRET

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.requests: list[TokenRequest] = []
        self.lifetime = 300.0
        self.broken: int | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _endpoint_of(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its name, as tokens have it."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    @property
    def jwks_url(self) -> str:
        return f"{self.url}jwks"

    @property
    def token_url(self) -> str:
        return f"{self.url}token"

    def token(
        self,
        subject: str = "alice",
        *,
        lifetime: float = 300,
        audience: str = AUDIENCE,
        key_id: str = "k1",
        **more: object,
    ) -> str:
        """A signed token; `iss="..."` makes it say that somebody else has issued it."""
        said = claims(subject, lifetime=lifetime, **{"aud": audience, "iss": self.url, **more})
        signed = f"{_part({'alg': 'RS256', 'typ': 'JWT', 'kid': key_id})}.{_part(said)}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64(signature)}"

    def keys(self) -> dict[str, object]:
        """Its public key, as a JSON web key set."""
        numbers = self._key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": "k1",
            "n": _base64(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")),
            "e": _base64(numbers.e.to_bytes(3, "big")),
        }
        return {"keys": [key]}

    def answer(self, request: TokenRequest) -> tuple[int, dict[str, object]]:
        """Status and content for a request of a token."""
        self.requests.append(request)
        if self.broken is not None:
            return self.broken, {"error": "server_error"}
        if request.form.get("grant_type") != "client_credentials":
            return 400, {"error": "unsupported_grant_type"}
        if not self._knows(request):
            return 401, {"error": "invalid_client"}
        token = self.token(lifetime=self.lifetime, scope=request.form.get("scope", ""))
        return 200, {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": int(self.lifetime),
        }

    def _knows(self, request: TokenRequest) -> bool:
        secret = f"{CLIENT_ID}:{CLIENT_SECRET}"
        basic = f"Basic {base64.b64encode(secret.encode()).decode()}"
        form = f"{request.form.get('client_id')}:{request.form.get('client_secret')}"
        return request.headers.get("authorization") == basic or form == secret


def _endpoint_of(issuer: Issuer) -> type[BaseHTTPRequestHandler]:
    class Endpoint(BaseHTTPRequestHandler):
        """The two pages of an issuer."""

        def do_GET(self) -> None:
            self._reply(*((200, issuer.keys()) if self.path == "/jwks" else (404, {})))

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            form = parse_qs(self.rfile.read(length).decode(), keep_blank_values=True)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = TokenRequest(headers, {name: values[-1] for name, values in form.items()})
            self._reply(*(issuer.answer(request) if self.path == "/token" else (404, {})))

        def _reply(self, status: int, content: dict[str, object]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing is printed while tests run."""

    return Endpoint


def _part(content: Claims) -> str:
    return _base64(json.dumps(content).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
