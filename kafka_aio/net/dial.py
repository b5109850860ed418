"""From a host and a port to a connection that can be used: TCP, TLS, ApiVersions, SASL.

Every address that the name resolves to is tried. What goes wrong is said in one sentence that names
the broker, the step that failed, and the option to look at.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import ssl
from importlib.metadata import PackageNotFoundError, version
from math import inf
from typing import Final

from kafka_aio.config import ClientConfig
from kafka_aio.errors import (
    CorrelationIdError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    fresh,
)
from kafka_aio.net import tls
from kafka_aio.net.authentication import Authenticator
from kafka_aio.net.connection import CLOSE_SECONDS, Connection, address_text
from kafka_aio.net.limits import Limits, Traffic
from kafka_aio.net.tokens import Tokens
from kafka_aio.protocol.versions import Negotiation

SOFTWARE_NAME: Final = "kafka-aio"
try:
    SOFTWARE_VERSION = version("kafka-aio")
except PackageNotFoundError:  # a checkout that was not installed
    SOFTWARE_VERSION = "0"

_CORRELATION_ID: Final = 4  # bytes before the body of an answer to ApiVersions

_OPTION = "socket_connection_setup_timeout_ms"

_CONNECT = "the connection"
_HELLO = "the answer to ApiVersions"
_AUTHENTICATION = "the authentication"

logger = logging.getLogger(__name__)


class Dialer:
    """Makes the connections of one client."""

    def __init__(
        self,
        config: ClientConfig,
        limits: Limits,
        traffic: Traffic,
        *,
        tokens: Tokens | None,
        rng: random.Random,
    ) -> None:
        self._protocol = config.security_protocol
        self._buffer_sizes = (config.send_buffer_bytes, config.receive_buffer_bytes)
        self._limits = limits
        self._traffic = traffic
        self._loop = asyncio.get_running_loop()
        self._contexts = tls.Contexts(config) if self._protocol.endswith("SSL") else None
        self._authenticator = Authenticator(config, tokens, rng)

    async def dial(self, host: str, port: int, *, timeout: float) -> Connection:
        """A connection that is ready for requests.

        Raises:
            AuthenticationError: One side does not accept the other's proof.
            UnsupportedVersion, ProtocolError: The peer is no broker that we can speak with.
            ConfigError: A key or trust store cannot be read.
            KafkaConnectionError: Anything else, with every address that was tried.
        """
        peer = address_text(host, port)
        step = _CONNECT
        connection: Connection | None = None
        deadline = self._loop.time() + timeout
        try:
            async with asyncio.timeout_at(deadline):
                connection = await self._connect(host, port, timeout)
                step = _HELLO
                await self._negotiate(connection)
                if self._protocol.startswith("SASL"):
                    step = _AUTHENTICATION
                    await self._authenticator.authenticate(connection, deadline=deadline)
        except BaseException as error:
            is_broken = connection is not None and not connection.is_open
            if connection is not None:
                connection.close(KafkaConnectionError(f"{peer}: given up"))
            is_late = isinstance(error, TimeoutError) and self._loop.time() >= deadline
            if type(error) is TimeoutError or (is_broken and is_late):
                raise self._late(peer, step, timeout) from error
            # What is not about this connection, but about a token, says enough itself.
            if is_broken and isinstance(error, KafkaConnectionError | KafkaTimeoutError):
                raise self._closed(error, step) from error
            raise
        connection.trust()
        if not self._protocol.startswith("SASL"):
            connection.hint = (
                " at the first request: does this listener want SASL?"
                f" security_protocol is {self._protocol!r}"
            )
        logger.info("connected to %s", peer)
        return connection

    async def renew(self, connection: Connection) -> None:
        """Authenticate anew on a connection in use (KIP-368), or put it off: see its `renew_at`.

        Raises:
            KafkaError: It did not succeed; the connection is closed.
        """
        try:
            await self._authenticator.renew(connection, timeout=self._limits.frame_timeout)
        except KafkaError as error:
            connection.close(fresh(error))
            raise
        except BaseException:  # if half of it is done, the broker takes nothing but the rest
            connection.close(KafkaConnectionError(f"{connection.peer}: given up"))
            raise

    async def resolve(self, host: str, port: int) -> list[str]:
        """Every address that a name stands for.

        Raises:
            KafkaConnectionError: There is none.
        """
        try:
            found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a host name"
            text = f"{address_text(host, port)}: the name cannot be resolved: {reason}"
            raise KafkaConnectionError(text) from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))

    async def canonical_names(self, host: str, port: int) -> list[str]:
        """The names of the addresses that a name stands for: Kerberos asks for them.

        Raises:
            KafkaConnectionError: The name has no address.
        """
        names: dict[str, None] = {}
        for ip in await self.resolve(host, port):
            try:
                name, _ = await self._loop.getnameinfo((ip, port), socket.NI_NAMEREQD)
            except OSError:
                name = ip
            names[name] = None
        return list(names)

    async def _connect(self, host: str, port: int, timeout: float) -> Connection:
        addresses = await self.resolve(host, port)
        problems: list[str] = []
        share = timeout / len(addresses)  # one that is silent must not use up the others' time
        for address in addresses:
            try:
                async with asyncio.timeout(share):
                    return await self._connect_to(host, port, address)
            except TimeoutError:
                problems.append(f"{address}: no answer within {share:.1f} s ({_OPTION})")
            except OSError as error:
                # What says nothing about TLS is about this address; the next one may do.
                if isinstance(error, KafkaError | ssl.SSLError):
                    raise
                problems.append(_at(address, host, _words(error)))
        raise KafkaConnectionError(f"{address_text(host, port)}: {'; '.join(problems)}")

    async def _connect_to(self, host: str, port: int, address: str) -> Connection:
        def protocol() -> Connection:
            return Connection(host, port, self._limits, self._traffic)

        if self._contexts is None:
            _, connection = await self._loop.create_connection(protocol, address, port)
        else:
            context = await self._contexts.current()
            _check_name(context, host, port)
            try:
                _, connection = await self._loop.create_connection(
                    protocol,
                    address,
                    port,
                    ssl=context,
                    server_hostname=host,
                    ssl_shutdown_timeout=CLOSE_SECONDS,
                )
            except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError) as error:
                raise tls.explain(error, address_text(host, port)) from error
        self._set_buffer_sizes(connection)
        return connection

    def _set_buffer_sizes(self, connection: Connection) -> None:
        assert connection.transport is not None
        raw: socket.socket | None = connection.transport.get_extra_info("socket")
        if raw is None:
            return
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, size in zip(
            (socket.SO_SNDBUF, socket.SO_RCVBUF), self._buffer_sizes, strict=True
        ):
            if size != -1:
                raw.setsockopt(socket.SOL_SOCKET, option, size)

    async def _negotiate(self, connection: Connection) -> None:
        negotiation = Negotiation(SOFTWARE_NAME, SOFTWARE_VERSION)
        versions = None
        while versions is None:
            try:
                answer = await connection.raw_exchange(
                    negotiation.request, negotiation.version, deadline=inf
                )
            except CorrelationIdError as error:
                raise CorrelationIdError(f"{error}; is this a Kafka broker?") from error
            try:
                versions = negotiation.receive(answer.frame, _CORRELATION_ID)
            except ProtocolError as error:
                raise type(error)(f"{connection.peer}: {error}") from error
        if negotiation.response is None or not negotiation.response.api_keys:
            raise ProtocolError(f"{connection.peer}: ApiVersions: the broker names no API")
        connection.versions = versions
        connection.api_versions = negotiation.response

    def _late(self, peer: str, step: str, timeout: float) -> KafkaConnectionError:
        what = (
            "the connection, or its TLS handshake," if self._contexts and step == _CONNECT else step
        )
        return KafkaConnectionError(
            f"{peer}: {what} was not there within {timeout:.1f} s ({_OPTION})"
        )

    def _closed(self, error: KafkaError, step: str) -> KafkaConnectionError:
        """What a connection that is closed in the middle of a handshake may mean."""
        if step == _AUTHENTICATION:
            advice = "the broker's log may say why"
        elif self._contexts is None:
            advice = f"is it a listener with TLS? security_protocol is {self._protocol!r}"
        else:
            advice = "does it ask for a client certificate?"
        return KafkaConnectionError(f"{error} before {step}; {advice}")


def _check_name(context: ssl.SSLContext, host: str, port: int) -> None:
    """Whether TLS can ask for that name at all.

    asyncio finds out too late: it leaves the socket open; and without a name it checks none.
    """
    try:
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=host)
    except (ValueError, TypeError) as error:  # a UnicodeError is a ValueError
        text = f"{address_text(host, port)}: TLS cannot ask for a host of this name: {error}"
        raise KafkaConnectionError(text) from error


def _words(error: OSError) -> str:
    """The system's name of what went wrong: asyncio puts its own text in that place."""
    return os.strerror(error.errno).lower() if error.errno else str(error)


def _at(address: str, host: str, problem: str) -> str:
    return problem if address == host else f"{address}: {problem}"
