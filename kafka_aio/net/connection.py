"""A connection to one broker: an asyncio protocol around `wire`.

    connecting --connection_made--> open --close, overdue, lost, nonsense--> closed

`dial` makes connections; `cluster` owns them. What is sent waits for its turn (`turns`).

Each request has its deadline. One that passes in the queue ends that request alone. One that passes
in flight ends the connection, and with it all requests in flight: what has become of them is not
known (`indefinite`). A cancelled request leaves the connection as it is; its answer is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import Any, Final, TypeAlias, TypeVar, cast

from kafka_aio.errors import (
    AuthenticationError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    UnsupportedVersion,
    fresh,
)
from kafka_aio.net import tls
from kafka_aio.net.limits import Limits, Traffic
from kafka_aio.net.reply import Done, Reply
from kafka_aio.net.turns import Turns
from kafka_aio.protocol.messages.api_versions import ApiVersionsResponse
from kafka_aio.protocol.schema import Buffer, Request, schema_of
from kafka_aio.protocol.versions import BrokerVersions
from kafka_aio.protocol.wire import Answer, Wire

R = TypeVar("R")

LARGE: Final = 64 * 1024
"""From so many bytes on, a request is not copied to be written with one system call."""

UNTAKEN_LIMIT: Final = 4 * 1024 * 1024
"""Reading pauses while more bytes of answers than this wait for the tasks that asked for them."""

CLOSE_SECONDS: Final = 1.0
"""How long a closing connection may take to write what it has and to say goodbye (TLS)."""

_Waiter: TypeAlias = "asyncio.Future[list[Answer[Any]]] | Reply"
"""Is given its answer in a list, and takes it out: whoever keeps the future keeps no frame."""

logger = logging.getLogger(__name__)


class Connection(asyncio.BufferedProtocol):
    """Requests out, answers in, in the same order."""

    def __init__(
        self, host: str, port: int, limits: Limits, traffic: Traffic | None = None
    ) -> None:
        """Make the protocol for `loop.create_connection`.

        Args:
            host: The broker, as it was named to us.
            port: Its port.
            limits: What it is held to.
            traffic: What to count in.
        """
        self.host = host
        self.port = port
        self.peer = address_text(host, port)
        self.versions = BrokerVersions({})
        """What the broker speaks; `dial` asks for it."""
        self.api_versions: ApiVersionsResponse | None = None
        self.renew_at = inf
        """When to authenticate anew, so that the broker does not close it (KIP-368)."""
        self.session_ends_at = inf
        """From when on the broker closes it at any request but that."""
        self.hint = ""
        """What it may mean that the broker hangs up before it has answered a single request."""
        self.was_closed_by_us = False
        """Whether it ended because nobody needed it any more."""
        self.idle_since = inf
        """Since when nothing is in flight; infinity while something is."""
        self._limits = limits
        self._traffic = traffic if traffic is not None else Traffic()
        self._loop = asyncio.get_running_loop()
        self._wire: Wire[_Waiter] = Wire(
            client_id=limits.client_id, frame_timeout=limits.frame_timeout
        )
        self._turns = Turns(self._wire, limits.max_in_flight)
        self._transport: asyncio.Transport | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._error: KafkaError | None = None
        self._joins = False
        self._untaken = 0
        self._is_reading = True
        self._timer: asyncio.Handle | None = None
        self._timer_at = inf

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self._error}" if self._error else "closed"
        return f"<Connection to {self.peer}: {self._wire.in_flight} in flight, {state}>"

    @property
    def is_open(self) -> bool:
        # A transport that failed tells us a turn later, and until then takes what it will not send.
        transport = self._transport
        return transport is not None and self._error is None and not transport.is_closing()

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer, or for their turn."""
        return self._wire.in_flight + len(self._turns)

    @property
    def throttled_until(self) -> float:
        """Until when the broker has asked us to pause."""
        return self._turns.paused_until

    @property
    def error(self) -> KafkaError | None:
        """Why it was closed."""
        return self._error

    @property
    def transport(self) -> asyncio.Transport | None:
        return self._transport

    def trust(self) -> None:
        """From now on the peer is a broker that we know: accept what brokers send."""
        self._wire.limit = self._limits.receive_max_bytes

    def version_of(self, cls: type[Request[Any]], *, at_most: int | None = None) -> int:
        """The highest version of a request that both sides speak.

        Raises:
            UnsupportedVersion: They have none in common.
            KafkaConnectionError: The connection is lost.
        """
        self._check_open()
        try:
            return self.versions.pick(cls, at_most=at_most)
        except UnsupportedVersion as error:
            raise UnsupportedVersion(f"{self.peer}: {error}") from None

    async def send(self, request: Request[R], *, deadline: float, at_most: int | None = None) -> R:
        """The broker's answer, in the highest version that both speak.

        Args:
            request: What to ask.
            deadline: Until which time of the loop the answer must be here.
            at_most: The highest version to use.

        Raises:
            UnsupportedVersion: There is no version in common, or it has no place for a value.
            SerializationError: A value does not fit its type: it was not sent.
            KafkaTimeoutError: The time is over; `indefinite` if it was sent before.
            KafkaConnectionError: The connection is lost; `indefinite` if it was sent before.
            ProtocolError: The answer makes no sense; the connection is closed.
        """
        version = self.version_of(type(request), at_most=at_most)
        await self._wait_turn(request, deadline)
        return await self.exchange(request, version, deadline=deadline)

    async def post(
        self, request: Request[Any], *, deadline: float, at_most: int | None = None
    ) -> None:
        """Send what the broker does not answer: a Produce with acks=0.

        Raises:
            UnsupportedVersion, SerializationError: As `send`.
            KafkaTimeoutError, KafkaConnectionError: As `send`.
        """
        version = self.version_of(type(request), at_most=at_most)
        await self._wait_turn(request, deadline)
        self._post(request, version)

    @property
    def can_send(self) -> bool:
        """Whether a request would be written at once."""
        return self.is_open and self._turns.are_free

    def why_not(self) -> str:
        """Why it would not."""
        return self._turns.why_not() if self.is_open else str(self._lost(indefinite=False))

    def when_free(self, callback: Callable[[], None]) -> None:
        """Have it called whenever a request may be written again, and when it is closed."""
        self._turns.when_free = callback

    def send_nowait(
        self,
        request: Request[R],
        done: Done[R] | None,
        *,
        deadline: float,
        at_most: int | None = None,
    ) -> None:
        """Send a request in this very step; only while `can_send`.

        Args:
            request: What to ask.
            done: Is called in the step in which the answer comes; None where there is none.
            deadline: As for `send`.
            at_most: As for `send`.

        Raises:
            KafkaConnectionError: It cannot be sent now.
            UnsupportedVersion, SerializationError: As `send`.
        """
        version = self.version_of(type(request), at_most=at_most)
        if not self._turns.are_free:
            raise KafkaConnectionError(f"{self.peer}: {self._turns.why_not()}")
        if done is None:
            self._post(request, version)
        else:
            self._begin(request, version, Reply(self, done), deadline)

    async def exchange(self, request: Request[R], version: int, *, deadline: float) -> R:
        """Ask out of turn, in a given version: for the handshake.

        Raises:
            KafkaTimeoutError, KafkaConnectionError, ProtocolError: As `send`.
            SerializationError: As `send`.
        """
        return cast(R, self.decoded(await self.raw_exchange(request, version, deadline=deadline)))

    async def raw_exchange(
        self, request: Request[R], version: int, *, deadline: float
    ) -> Answer[Any]:
        """As `exchange`, but the answer is not decoded: for ApiVersions, which may refuse."""
        self._check_open()
        waiter: asyncio.Future[list[Answer[Any]]] = self._loop.create_future()
        self._begin(request, version, waiter, deadline)
        try:
            answer = (await waiter).pop()
        except asyncio.CancelledError:
            self._forget(waiter)
            raise
        self.take(answer)
        return answer

    async def wait_closed(self, *, until: float = inf) -> bool:
        """Wait for its end, but no longer than that. True if it has ended."""
        try:
            async with asyncio.timeout_at(None if until == inf else until):
                await asyncio.shield(self._closed)
        except TimeoutError:
            return False
        return True

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Let nothing but `exchange` be sent meanwhile; it begins when all before is answered.

        Raises:
            KafkaConnectionError: The connection is lost, before it has begun.
        """
        async with self._turns.exclusive():
            self._check_open()
            yield

    def close(self, error: KafkaError | None = None) -> None:
        """Close it. What is in flight fails, and so does what waits for its turn.

        Args:
            error: Why; None when it is not needed any more.
        """
        if self._error is not None:
            return
        self.was_closed_by_us = error is None
        self._error = error or KafkaConnectionError(f"{self.peer}: the connection was closed")
        if self._timer is not None:
            self._timer.cancel()
        for request in self._wire.abandon():
            if not request.waiter.done():
                request.waiter.set_exception(self._lost(indefinite=True))
        self._turns.close()
        if self._transport is None:
            self._closed.set_result(None)
        elif error is None:
            self._transport.close()
        else:
            self._transport.abort()

    async def aclose(self) -> None:
        """Close it and wait until the socket is gone."""
        self.close()
        try:
            await self.wait_closed(until=self._loop.time() + CLOSE_SECONDS)
        finally:  # also if we are cancelled: a peer that does not read would keep it for ever
            # Not where it has ended: asyncio cannot abort what was closed with bytes to write.
            if self._transport is not None and not self._closed.done():
                self._transport.abort()
        await self.wait_closed()

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # Up to Python 3.11 asyncio's `writelines` makes one copy of all it is given.
        self._joins = type(transport).writelines is asyncio.WriteTransport.writelines  # type: ignore[attr-defined]  # it can write
        self.idle_since = self._loop.time()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._wire.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._error is not None:
            return  # TLS reads on until both sides have said goodbye
        self._traffic.bytes_in += nbytes
        if self._wire.fill(nbytes):
            return
        now = self._loop.time()
        for answer in self._wire.received(nbytes, now=now):
            self._deliver(answer)
        if self._wire.failure is not None:
            reason = self._wire.failure
            self.close(type(reason)(f"{self.peer}: {reason}"))
            return
        if self._wire.in_flight == 0:
            self.idle_since = now
        self._arm(self._wire.deadline)
        self._turns.let_in()

    def eof_received(self) -> bool:
        self.close(self._hung_up())
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError):
            self.close(tls.explain(exc, self.peer))
        elif exc is not None:
            error = KafkaConnectionError(f"{self.peer}: the connection broke: {exc}")
            error.__cause__ = exc
            self.close(error)
        self.close(self._hung_up())
        if not self._closed.done():
            self._closed.set_result(None)

    def _hung_up(self) -> KafkaConnectionError:
        return KafkaConnectionError(f"{self.peer}: the broker closed the connection{self.hint}")

    def pause_writing(self) -> None:
        self._turns.is_full = True

    def resume_writing(self) -> None:
        self._turns.is_full = False
        self._turns.let_in()

    # Answers.

    def _deliver(self, answer: Answer[_Waiter]) -> None:
        self._traffic.answers += 1
        waiter = answer.request.waiter
        if waiter.done():
            self._traffic.dropped += 1
            return
        self._untaken += len(answer.frame)
        waiter.set_result([answer])
        if self._untaken > UNTAKEN_LIMIT and self._is_reading and self._transport is not None:
            self._is_reading = False
            self._transport.pause_reading()

    def take(self, answer: Answer[Any]) -> None:
        """An answer is in the hands of who asked: it counts as read no longer."""
        self._untaken -= len(answer.frame)
        if not self._is_reading and self._untaken <= UNTAKEN_LIMIT and self._error is None:
            assert self._transport is not None
            self._is_reading = True
            self._transport.resume_reading()

    def report(self, failure: Exception) -> None:
        """A callback has failed. Its connection goes on, as asyncio does with callbacks."""
        context = {"message": f"{self.peer}: a callback failed", "exception": failure}
        self._loop.call_exception_handler(context)

    def _forget(self, waiter: asyncio.Future[list[Answer[Any]]]) -> None:
        """A request was cancelled; perhaps after its answer came, before its task ran."""
        if waiter.cancelled() or waiter.exception() is not None:
            return
        self._traffic.dropped += 1
        self.take(waiter.result().pop())

    def decoded(self, answer: Answer[Any]) -> object:
        """What an answer says.

        Raises:
            ProtocolError: It makes no sense; the connection is closed.
        """
        try:
            response = answer.decode()
        except ProtocolError as error:
            self.close(ProtocolError(f"{self.peer}: {error}"))
            raise self._lost(indefinite=True) from error
        self.hint = ""
        self._honour_throttle(getattr(response, "throttle_time_ms", 0))
        return response

    def _honour_throttle(self, milliseconds: int) -> None:
        """Pause as the broker asks (KIP-219). It does not read from us meanwhile anyway."""
        if milliseconds <= 0 or not self.is_open:
            return
        seconds = min(milliseconds / 1000, self._limits.frame_timeout)
        self._traffic.throttled += seconds
        self._turns.pause(seconds)

    # Requests.

    async def _wait_turn(self, request: Request[Any], deadline: float) -> None:
        """Wait until the request may be sent. Who returns from here sends it in the same step."""
        self._check_open()
        try:
            await self._turns.wait(deadline=deadline)
        except TimeoutError:
            raise self._not_sent(request) from None
        self._check_open()
        if deadline <= self._loop.time():
            raise self._not_sent(request)  # it would end the connection, and all others with it

    def _not_sent(self, request: Request[Any]) -> KafkaTimeoutError:
        api = schema_of(type(request)).api
        return KafkaTimeoutError(
            f"{self.peer}: {api} was not sent in time: {self._turns.why_not()}"
        )

    def _begin(self, request: Request[Any], version: int, waiter: _Waiter, deadline: float) -> None:
        now = self._loop.time()
        self._write(self._wire.send(request, version, waiter, now=now, deadline=deadline))
        self.idle_since = inf
        self._arm(deadline)
        logger.debug("sent %s v%d to %s", type(request).__name__, version, self.peer)

    def _post(self, request: Request[Any], version: int) -> None:
        self._write(self._wire.post(request, version))
        if self._wire.in_flight == 0:
            self.idle_since = self._loop.time()

    # The socket.

    def _write(self, buffers: list[Buffer]) -> None:
        assert self._transport is not None
        size = sum(map(len, buffers))
        self._traffic.requests += 1
        self._traffic.bytes_out += size
        if size >= LARGE and self._joins:
            for buffer in buffers:
                self._transport.write(buffer)
        else:
            self._transport.writelines(buffers)
            if self._transport.get_write_buffer_size():
                # Makes it see whether it is full: Python before 3.12.9 and 3.13.2 forgets to.
                self._transport.set_write_buffer_limits()

    def _arm(self, deadline: float) -> None:
        """See to it that `_check_time` runs at that time or before, if anything is awaited."""
        if self._timer is not None:
            if self._timer_at <= deadline:  # uvloop's timer for a time that is past has no when()
                return
            self._timer.cancel()
        self._timer = None if deadline == inf else self._loop.call_at(deadline, self._check_time)
        self._timer_at = deadline

    def _check_time(self) -> None:
        self._timer = None
        reason = self._wire.overdue(now=self._loop.time())
        if reason:
            self.close(KafkaTimeoutError(f"{self.peer}: {reason}; the connection was closed"))
        elif self._error is None:
            self._arm(self._wire.deadline)

    def _check_open(self) -> None:
        if not self.is_open:
            raise self._lost(indefinite=False)

    def _lost(self, *, indefinite: bool) -> KafkaError:
        """A fresh error for one request: why the connection is gone."""
        reason = self._error or KafkaConnectionError(f"{self.peer}: not connected")
        if indefinite or isinstance(reason, AuthenticationError):
            error = fresh(reason)
        else:
            error = KafkaConnectionError(str(reason))
        error.indefinite = indefinite
        error.__cause__ = reason.__cause__
        return error


def address_text(host: str, port: int) -> str:
    """A broker's address as people write it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
