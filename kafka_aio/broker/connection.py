"""A client's connection: frames in, calls to the core, answers out, one at a time and in order.

    made --> free <--> waiting: a request is being answered
             free <--> full: the client does not read its answers
             free <--> muted: the client was told to pause (KIP-219)
                  any --> closed

Only a free connection takes the next frame. Reading goes on meanwhile, until its memory is full.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

from kafka_aio.broker.agenda import Appointment
from kafka_aio.broker.api.sasl import bare_token
from kafka_aio.broker.api.versions import unsupported_version
from kafka_aio.broker.call import Call, Peer
from kafka_aio.broker.described import Traffic
from kafka_aio.broker.dispatch import Dispatch
from kafka_aio.broker.faults.damage import changed, corrupted, nonsense
from kafka_aio.broker.faults.rules import Corrupt, Delay, Disconnect, Garbage, Hold, Rule, Throttle
from kafka_aio.broker.inbox import Inbox
from kafka_aio.broker.reservations import Reservations
from kafka_aio.errors import BrokerError, ProtocolError, UnsupportedVersion
from kafka_aio.net.clock import wall_time
from kafka_aio.protocol.codec import decode_from, gather
from kafka_aio.protocol.frame import decode_request_head, encode_response
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.fetch import FetchResponse
from kafka_aio.protocol.schema import Buffer, Request, schema_of
from kafka_aio.protocol.wire import LIMIT_BEFORE_AUTHENTICATION

LARGE: Final = 64 * 1024
"""As many bytes of answers gather, to be written with one system call."""

KEPT: Final = 4 * 1024 * 1024
"""Memory for a frame larger than this is given back after it."""

LOGIN_SECONDS: Final = 10.0
"""How long a client may take to prove who it is."""

IDLE_SECONDS: Final = 600.0
"""How long a client may say nothing: Kafka's default of `connections.max.idle.ms`."""

CLOSE_SECONDS: Final = 5.0
"""How long a closing connection may take to write what it has and to say goodbye (TLS)."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Shared:
    """What the connections of one broker share."""

    dispatch: Dispatch
    meet: Callable[[asyncio.Transport], Peer]
    """Who somebody is who has just connected, and what they have to do first."""
    large: Reservations[Connection]
    """Memory for large frames."""
    open: dict[Connection, None] = field(default_factory=dict)
    """In the order in which they were made."""
    listening: set[int] = field(default_factory=set)
    """The ids of the nodes that can be reached."""
    made: int = 0
    traffic: dict[type[Request[Any]], Traffic] = field(default_factory=dict)
    """By the class of the request."""


class Connection(asyncio.BufferedProtocol):
    """The broker's end of one connection."""

    def __init__(self, node: int, shared: Shared) -> None:
        """Make the protocol for `loop.create_server`.

        Args:
            node: The id of the node that is asked here.
            shared: What all of them share.
        """
        self.node = node
        self.peer = Peer()
        self._shared = shared
        self._dispatch = shared.dispatch
        self._state = shared.dispatch.core.state
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._joins = False
        self._inbox = Inbox(LIMIT_BEFORE_AUTHENTICATION)
        self._out: list[Buffer] = []
        self._out_bytes = 0
        self._call: Call | None = None
        """The request that is being answered."""
        self._correlation_id = 0
        self._story: Iterator[None] | None = None
        """What becomes of that request, if there are faults in it."""
        self._response: object = None
        self._is_waiting = False
        self._is_full = False
        self._is_muted = False
        self._is_closed = False
        self._is_reading = True
        self._made_at = self._heard_at = self._loop.time()
        self._appointment: Appointment | None = None

    def __repr__(self) -> str:
        asks = f", {type(self._call.request).__name__}" if self._call is not None else ""
        return f"<Connection of {self.peer.host} to node {self.node}{asks}>"

    @property
    def socket(self) -> Any:
        """What is behind the transport, if it is a real socket."""
        return self._transport and self._transport.get_extra_info("socket")

    def close(self, reason: str = "") -> None:
        """Write the answers that are there, and say goodbye.

        Args:
            reason: What the log is to say about it.
        """
        if self._is_closed:
            return
        if reason:
            logger.warning("closed %r: %s", self, reason)
        self._flush()
        self._forget()
        if self._transport is not None:
            transport = self._transport
            transport.close()
            until = self._loop.time() + CLOSE_SECONDS
            self._appointment = self._state.agenda.at(until, lambda now: transport.abort())
            self._dispatch.run()  # for its timer

    def abort(self) -> None:
        """End at once."""
        self._forget()
        if self._transport is not None:
            self._transport.abort()

    def _forget(self) -> None:
        if self._call is not None and self._call.gone is not None:
            self._call.gone()
        self._is_closed = True
        self._call = self._story = self._response = None
        self._out.clear()
        self._inbox = Inbox(0)
        if self._appointment is not None:
            self._appointment.cancel()
        self._shared.large.release(self)
        self._call_next()

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # Up to Python 3.11 asyncio's `writelines` makes one copy of all it is given.
        self._joins = type(transport).writelines is asyncio.WriteTransport.writelines  # type: ignore[attr-defined]  # it can write
        if self.node not in self._shared.listening:
            self.abort()  # it was accepted just before the node went down
            return
        self.peer = self._shared.meet(self._transport)
        self._shared.made += 1
        if len(self._shared.open) >= self._state.settings.max_connections:
            self.close("there are as many as max.connections allows")
        else:
            self._shared.open[self] = None
            self._trust()
            self._look_after(self._made_at)
        self._dispatch.run()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._inbox.buffer(make_room=self._is_free)

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_closed:
            return  # TLS reads on until both sides have said goodbye
        self._heard_at = self._loop.time()
        self._inbox.received(nbytes)
        self._dispatch.run(self)

    def eof_received(self) -> bool:
        self.close()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._shared.open.pop(self, None)
        self._transport = None

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._dispatch.run(self)

    # Turns.

    @property
    def _is_free(self) -> bool:
        return not (self._is_waiting or self._is_full or self._is_muted or self._is_closed)

    def work(self) -> None:
        """Handle the frames that are here, until a request has to wait."""
        while self._is_free:
            if self._story is not None:
                next(self._story, None)
            elif not self._take():
                break
        self._flush()
        self._regulate()

    def deliver(self, call: Call, response: object) -> None:
        """Take the answer to the request in hand. If nobody waits for it any more, drop it."""
        if call is not self._call:
            return
        self._is_waiting = False
        if self._story is None:
            self._send(self._encoded(call, response))
        else:
            self._response = response

    def _regulate(self) -> None:
        """Read while there is room, or while we can make some."""
        if self._transport is None or self._is_closed:
            return
        can_read = self._has_memory()
        self._call_next()
        if can_read == self._is_reading:
            return
        self._is_reading = can_read
        if can_read:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _has_memory(self) -> bool:
        """Whether more can be read. A large frame gets what it needs first, or stands in line."""
        large = self._shared.large
        if not self._is_free:
            large.step_out(self)
            return not self._inbox.is_full
        if needed := self._inbox.large:
            return large.reserve(self, needed)
        is_too_much = large.of(self) > (0 if large.are_scarce else KEPT)
        if is_too_much and self._inbox.give_back():
            large.release(self)
        return True

    def _call_next(self) -> None:
        """Let go on who stands in line for memory, if there is some."""
        if (other := self._shared.large.next) is not None:
            self._dispatch.run(other)

    def _trust(self) -> None:
        """Accept frames of any size that Kafka does, once it is known who sends them."""
        if self.peer.is_authenticated:
            self._inbox.limit = self._state.settings.socket_request_max_bytes

    def _look_after(self, now: float) -> None:
        """Close it if the client does not prove who it is, or says nothing for long."""
        if not self.peer.is_authenticated:
            due = self._made_at + LOGIN_SECONDS
        else:
            due = (now if self._call is not None else self._heard_at) + IDLE_SECONDS
        if due <= now:
            self.close("it has said nothing for long, or not who it is")
        else:
            self._appointment = self._state.agenda.at(due, self._look_after)

    # Requests.

    def _take(self) -> bool:
        """Handle the next frame. False if there is none, or none that can be accepted."""
        try:
            frame = self._inbox.take()
            if frame is None:
                return False
            if self.peer.login is not None and self.peer.login.wants_tokens:
                self._take_token(bytes(frame))
            else:
                self._take_request(frame)
        except (ProtocolError, BrokerError) as error:
            self.close(str(error))
        return not self._is_closed

    def _take_token(self, token: bytes) -> None:
        """A step of SASL as it was before SaslAuthenticate: no header, neither there nor back."""
        now, wall_ms = self._loop.time(), int(wall_time() * 1000)
        answer = bare_token(token, self.peer, now=now, wall_ms=wall_ms)
        self._send([len(answer).to_bytes(4, "big"), answer])

    def _take_request(self, frame: memoryview) -> None:
        header, cls, body = decode_request_head(frame)
        version = header.request_api_version
        self._correlation_id = header.correlation_id
        traffic = self._traffic(cls)
        traffic.requests += 1
        traffic.bytes_in += len(frame)
        first, last = self._state.versions.get(header.request_api_key, (0, -1))
        if not first <= version <= last:
            self._refuse_version(cls, version)
            return
        now = self._loop.time()
        if self.peer.login is not None:
            self.peer.login.check(cls, now=now)
        # What is left over is ignored, as Kafka does: librdkafka 2.16 sends 3 bytes too many.
        request, _ = decode_from(cls, frame, version, body)
        self._call = call = Call(
            state=self._state,
            request=request,
            version=version,
            node=self.node,
            now=now,
            wall_ms=int(wall_time() * 1000),
            client_id=header.client_id or "",
            peer=self.peer,
            ticket=self,
        )
        if self.peer.login is not None and not self.peer.login.admits(call):
            self._dispatch.deliver()  # it was refused
        elif faults := self._state.faults.plan(call):
            self._story = self._suffer(call, faults)
        else:
            self._receive(call)

    def _refuse_version(self, cls: type[Request[Any]], version: int) -> None:
        """End the connection; but who asks what we speak, in too new a version, is told (KIP-511).

        Raises:
            UnsupportedVersion: It is not served.
        """
        if cls is not ApiVersionsRequest or version < 0:
            raise UnsupportedVersion(f"{schema_of(cls).api} is not served in version {version}")
        answer = unsupported_version()
        self._send(encode_response(cls, answer, 0, correlation_id=self._correlation_id))

    def _receive(self, call: Call) -> None:
        self._is_waiting = True
        self._dispatch.core.receive(call)
        self._dispatch.deliver()

    # Faults.

    def _suffer(self, call: Call, faults: tuple[Rule, ...]) -> Iterator[None]:
        """Answer a request to which something happens. It yields where it has to wait."""
        for fault in faults:
            if fault.when == "before":
                self._wait_for(call, fault)
                yield
        call.now, call.wall_ms = self._loop.time(), int(wall_time() * 1000)
        self._receive(call)
        yield
        for fault in faults:
            if isinstance(fault, Throttle | Corrupt):
                self._change(fault)
            elif fault.when == "after" and not isinstance(fault, Garbage):
                self._wait_for(call, fault)
                yield
        if any(isinstance(fault, Garbage) for fault in faults):
            self._send([nonsense(self._correlation_id, self._state.rng)])
        else:
            self._send(self._encoded(call, self._response))

    def _change(self, fault: Throttle | Corrupt) -> None:
        """Put a fault into the answer."""
        if isinstance(self._response, FetchResponse) and isinstance(fault, Corrupt):
            names = self._state.topics.by_id
            self._response = corrupted(self._response, fault.hits_partition, names=names)
        elif self._response is not None and isinstance(fault, Throttle):
            self._response = changed(self._response, throttle_time_ms=fault.milliseconds)
            until = self._loop.time() + fault.milliseconds / 1000
            self._state.agenda.at(until, self._unmute)
            self._is_muted = True

    def _wait_for(self, call: Call, fault: Rule) -> None:
        """Wait until a fault is over, which may be never."""
        self._is_waiting = True
        match fault:
            case Delay():
                until = self._loop.time() + fault.seconds
                call.gone = self._state.agenda.at(until, lambda now: self._resume()).cancel
            case Hold():
                fault.keep(self._resume)
                call.gone = lambda: fault.drop(self._resume)
            case Disconnect():
                self.abort()

    def _resume(self) -> None:
        self._is_waiting = False
        self._dispatch.run(self)

    def _unmute(self, now: float) -> None:
        self._is_muted = False
        self._dispatch.run(self)

    # Answers.

    def _traffic(self, cls: type[Request[Any]]) -> Traffic:
        found = self._shared.traffic.get(cls)
        if found is None:
            found = self._shared.traffic[cls] = Traffic()
        return found

    def _encoded(self, call: Call, response: object) -> list[Buffer]:
        if response is None:  # a Produce with acks=0
            return []
        cls = type(call.request)
        buffers = encode_response(cls, response, call.version, correlation_id=self._correlation_id)
        self._traffic(cls).bytes_out += sum(map(len, buffers))
        return buffers

    def _send(self, buffers: list[Buffer]) -> None:
        """Answer the request in hand; the next one may come."""
        self._call = self._story = self._response = None
        self._out += buffers
        self._out_bytes += sum(map(len, buffers))
        if self._out_bytes >= LARGE:
            self._flush()
        if self.peer.login is not None:
            self._trust()
        if self.peer.must_close:
            self.close()

    def _flush(self) -> None:
        """Write what has gathered."""
        if not self._out or self._transport is None:
            return
        buffers, self._out = gather(self._out), []
        is_large, self._out_bytes = self._out_bytes >= LARGE, 0
        if is_large and self._joins:
            for buffer in buffers:
                self._transport.write(buffer)
            return
        self._transport.writelines(buffers)
        if self._transport.get_write_buffer_size():
            # Makes it see whether it is full: Python before 3.12.9 and 3.13.2 forgets to.
            self._transport.set_write_buffer_limits()
