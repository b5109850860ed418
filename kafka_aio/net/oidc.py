"""A bearer token from an OpenID Connect endpoint, for our client credentials (RFC 6749, 4.4).

One POST over HTTP/1.1, as `h11` writes and reads it. The endpoint may be anybody (CVE-2025-27817):
no redirect is followed, the answer is bounded, and nothing of it is shown but the error's code.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import ssl
from base64 import b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import quote, quote_plus, urlencode, urlsplit

from kafka_aio.backoff import Backoff
from kafka_aio.config import ClientConfig
from kafka_aio.errors import (
    AuthenticationError,
    ConfigError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
)
from kafka_aio.net import clock, tls
from kafka_aio.types import BearerToken

if TYPE_CHECKING:
    import h11

LARGEST_ANSWER: Final = 65_536
"""In bytes, with its headers."""

TIMEOUT_MS: Final = 10_000
"""To connect, and to answer, where the configuration does not say."""

_TRANSIENT = (408, 429)  # and whatever is 500 or more: ask again

logger = logging.getLogger(__name__)


def backoff(config: ClientConfig) -> Backoff:
    """The pauses between attempts to get a token; never none at all."""
    first = max(1, config.sasl_login_retry_backoff_ms)
    longest = max(1, config.sasl_login_retry_backoff_max_ms)
    return Backoff(first=first / 1000, longest=longest / 1000)


async def fetch_token(config: ClientConfig, *, deadline: float) -> BearerToken:
    """A fresh token. Where the endpoint cannot be reached, or is ill, it is asked again.

    Args:
        config: Where the endpoint is, who we are, and how long to wait.
        deadline: Until which time of the loop to try.

    Raises:
        AuthenticationError: The endpoint refuses us, or we refuse its certificate.
        KafkaConnectionError, KafkaTimeoutError: It could not be reached, or did not answer.
        ProtocolError: Its answer makes no sense.
        ConfigError: `h11` is not installed, or there can be no such host.
    """
    pauses = backoff(config)
    loop = asyncio.get_running_loop()
    attempt = 0
    while True:
        try:
            return await _ask(config, deadline)
        except (KafkaConnectionError, KafkaTimeoutError) as error:
            pause = pauses.delay(attempt, jitter=clock.rng().uniform(-1, 1))
            if loop.time() + pause >= deadline:
                raise
            attempt += 1
            logger.info("no token, trying again attempt=%d: %s", attempt, error)
        await asyncio.sleep(pause)


async def _ask(config: ClientConfig, deadline: float) -> BearerToken:
    _check_extra()
    endpoint = _endpoint(cast(str, config.sasl_oauthbearer_token_endpoint_url))
    loop = asyncio.get_running_loop()
    context = None
    if endpoint.is_secure:
        context = await loop.run_in_executor(None, tls.system_context)
    now = clock.wall_time()  # before the token's life begins
    try:
        async with asyncio.timeout_at(_limit(config.sasl_login_connect_timeout_ms, deadline)):
            reader, writer = await asyncio.open_connection(
                endpoint.host, endpoint.port, ssl=context
            )
    except OSError as error:
        raise _unreachable(endpoint, error) from error
    try:
        async with asyncio.timeout_at(_limit(config.sasl_login_read_timeout_ms, deadline)):
            answer = await _exchange(_request(endpoint, config), endpoint, reader, writer)
    except KafkaError:  # which may also be an OSError
        raise
    except TimeoutError as error:
        raise KafkaTimeoutError(
            f"{endpoint}: no answer in time (sasl_login_read_timeout_ms)"
        ) from error
    except OSError as error:
        raise KafkaConnectionError(f"{endpoint}: the connection broke: {error}") from error
    finally:
        writer.transport.abort()  # after the answer, or in the middle of a failure
        with suppress(OSError):
            await writer.wait_closed()
    return _token(answer, endpoint, now=now)


def _check_extra() -> None:
    try:
        import h11  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise ConfigError(
            "sasl_oauthbearer_token_endpoint_url needs the h11 package: pip install"
            " 'kafka-aio[oidc]'; or give sasl_oauthbearer_token_provider an async function"
        ) from error


def _limit(timeout_ms: int | None, deadline: float) -> float:
    """Until when; 0 means that nothing but the deadline counts, as in Java."""
    timeout_ms = TIMEOUT_MS if timeout_ms is None else timeout_ms
    if timeout_ms == 0:
        return deadline
    return min(deadline, asyncio.get_running_loop().time() + timeout_ms / 1000)


class _Endpoint(NamedTuple):
    """Where to ask. Its str has no path and no query, which may hold a secret."""

    is_secure: bool
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        return f"token endpoint {self.authority}"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_secure else 80) else f"{host}:{self.port}"


def _endpoint(url: str) -> _Endpoint:
    """The parts of a URL that the configuration has checked."""
    parts = urlsplit(url)
    try:
        host = cast(str, parts.hostname).encode("idna").decode()
    except UnicodeError as error:
        raise ConfigError(
            "sasl_oauthbearer_token_endpoint_url: there can be no such host"
        ) from error
    is_secure = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Endpoint(
        is_secure,
        host,
        parts.port or (443 if is_secure else 80),
        quote(target, safe="/?%:@!$&'()*+,;="),
    )


def _request(endpoint: _Endpoint, config: ClientConfig) -> list[h11.Event]:
    import h11  # an extra

    form = {"grant_type": "client_credentials"}
    if config.sasl_oauthbearer_scope is not None:
        form["scope"] = config.sasl_oauthbearer_scope
    body = urlencode(form).encode()
    credentials = [
        cast(str, config.sasl_oauthbearer_client_credentials_client_id).encode(),
        cast(str, config.sasl_oauthbearer_client_credentials_client_secret).encode(),
    ]
    if config.sasl_oauthbearer_header_urlencode:
        credentials = [quote_plus(part).encode() for part in credentials]
    headers = [
        ("Host", endpoint.authority),
        ("Authorization", f"Basic {b64encode(b':'.join(credentials)).decode()}"),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Content-Length", str(len(body))),
        ("Accept", "application/json"),
        ("User-Agent", "kafka_aio"),
        ("Connection", "close"),
    ]
    return [
        h11.Request(method="POST", target=endpoint.target, headers=headers),
        h11.Data(data=body),
        h11.EndOfMessage(),
    ]


class _Answer(NamedTuple):
    """What the endpoint said."""

    status: int
    location: str
    body: bytes


async def _exchange(
    request: list[h11.Event],
    endpoint: _Endpoint,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> _Answer:
    import h11  # an extra

    client = h11.Connection(h11.CLIENT)
    writer.write(b"".join(client.send(part) or b"" for part in request))
    status, location, body, received, is_ended = 0, "", b"", 0, False
    while True:
        event = _next_event(client)
        if event is h11.NEED_DATA:
            data = await reader.read(LARGEST_ANSWER)
            received += len(data)
            is_ended = not data
            if received > LARGEST_ANSWER:
                raise ProtocolError(f"{endpoint}: its answer is above {LARGEST_ANSWER} bytes")
            client.receive_data(data)
        elif isinstance(event, h11.Response):
            status = event.status_code
            location = dict(event.headers).get(b"location", b"").decode("latin-1")
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return _Answer(status, location, body)
        elif not isinstance(event, h11.InformationalResponse):
            if is_ended:
                raise KafkaConnectionError(f"{endpoint}: it closed the connection, unanswered")
            raise ProtocolError(f"{endpoint}: its answer is not HTTP/1.1, or its headers are long")


def _next_event(client: h11.Connection) -> object:
    """What comes next in the answer; None where it makes no sense."""
    import h11  # an extra

    try:
        return client.next_event()
    except h11.RemoteProtocolError:  # its text repeats what the endpoint sent
        return None


def _unreachable(endpoint: _Endpoint, error: OSError) -> KafkaError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return AuthenticationError(
            f"{endpoint}: its certificate is not trusted ({error.verify_message}): the system's"
            " trust store decides, or the file that SSL_CERT_FILE names"
        )
    if isinstance(error, TimeoutError):
        return KafkaTimeoutError(
            f"{endpoint}: no connection in time (sasl_login_connect_timeout_ms)"
        )
    return KafkaConnectionError(f"{endpoint}: no connection: {str(error) or type(error).__name__}")


def _token(answer: _Answer, endpoint: _Endpoint, *, now: float) -> BearerToken:
    """The token in an answer; what it asks of us otherwise is an error."""
    status = answer.status
    if status in _TRANSIENT or status >= 500:
        raise KafkaConnectionError(f"{endpoint}: it answered with status {status}")
    said = _json(answer.body)
    if status >= 400:
        code = said.get("error")
        is_code = isinstance(code, str) and re.fullmatch("[a-z_]{1,64}", code)
        what = f"{code} (status {status})" if is_code else f"status {status}"
        raise AuthenticationError(
            f"{endpoint}: it refuses us: {what}; see"
            " sasl_oauthbearer_client_credentials_client_id, its secret, and the scope"
        )
    if status >= 300:
        raise AuthenticationError(
            f"{endpoint}: it sends us to {_host_of(answer.location)} (status {status}); no redirect"
            " is followed: set sasl_oauthbearer_token_endpoint_url to the right place"
        )
    text, life = said.get("access_token"), said.get("expires_in")
    try:
        token = BearerToken.parse(text if isinstance(text, str) else "")
    except ValueError as error:
        raise ProtocolError(f"{endpoint}: its answer has no access_token") from error
    if isinstance(life, str) and re.fullmatch("[0-9]{1,10}", life):
        life = int(life)  # as some endpoints have it
    if isinstance(life, int | float) and 0 < life < 10**10:
        return BearerToken(token.value, now + life, now)  # without a look at the other's clock
    return token


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _host_of(location: str) -> str:
    """The host of a URL that is not ours: nothing else of it, and only if it is one."""
    try:
        host = urlsplit(location).hostname or ""
    except ValueError:
        host = ""
    return repr(host) if re.fullmatch("[a-z0-9.:-]{1,253}", host) else "another place"
