"""One connection without its socket: frames, correlation ids, deadlines, order of answers. Pure.

A broker answers the requests of a connection one after another, in the order in which they came
(it may skip none). So the oldest request in flight is the one that the next frame must answer; a
frame with another correlation id means that one of the two sides has lost count, and nothing that
follows can be trusted.

Bytes come in through `buffer` and `received`. Small frames gather in a staging area; a frame that
does not fit there gets memory of its own, which the socket then fills without a further copy.
Memory follows the bytes received, never the bytes promised: a large frame's memory doubles as it
fills, and begins with what this peer was seen to fill before. It is used again when nobody looks at
the frame any more: memory that the processor still has at hand is several times faster to fill.

Bytes that cannot be accepted end the wire: `failure` says why, after the answers before them were
returned. The connection is then closed, and `abandon` tells who was waiting.
"""

from __future__ import annotations

import struct
from collections import deque
from math import inf
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kafka_aio.errors import CorrelationIdError, ProtocolError, SerializationError
from kafka_aio.protocol import frame as frames
from kafka_aio.protocol.schema import Buffer, Request, schema_of

T = TypeVar("T")

LIMIT_BEFORE_AUTHENTICATION: Final = 512 * 1024
"""The largest frame that is accepted of a peer that has not proved to be a broker."""

STAGING: Final = 32 * 1024
FIRST_ROOM: Final = 256 * 1024
"""The memory that a large frame begins with, where the peer has not filled a larger one before."""

SPARE: Final = 16 * 1024 * 1024
"""As many bytes of frames that were handed out are kept in mind, to be used again."""

_HEAD: Final = struct.Struct(">ii")
_LENGTH: Final = 4
_LAST_CORRELATION_ID: Final = 2**31 - 1
_FOREIGN: Final = (
    (b"HTTP", "HTTP"),
    (b"<!DO", "HTTP"),
    (b"<htm", "HTTP"),
    (b"\x15\x03", "TLS; set security_protocol to 'SSL' or 'SASL_SSL'"),
    (b"\x16\x03", "TLS; set security_protocol to 'SSL' or 'SASL_SSL'"),
    (b"SSH-", "SSH"),
    (b"220", "SMTP or FTP"),
    (b"-ERR", "Redis"),
)


class InFlight(NamedTuple, Generic[T]):
    """A request that was sent and is not answered yet."""

    waiter: T
    cls: type[Request[Any]]
    version: int
    correlation_id: int
    sent_at: float
    deadline: float

    @property
    def api(self) -> str:
        return schema_of(self.cls).api


class Answer(NamedTuple, Generic[T]):
    """A frame, and the request that it answers."""

    request: InFlight[T]
    frame: Buffer

    def decode(self) -> Any:
        """The response.

        Raises:
            ProtocolError: The frame is not one whole response to that request.
        """
        return frames.decode_response(self.request.cls, self.frame, self.request.version)


class Wire(Generic[T]):
    """The two byte streams of a connection. What waits for an answer passes through as a `T`."""

    def __init__(self, *, client_id: str | None, frame_timeout: float) -> None:
        """Begin a connection.

        Args:
            client_id: What the broker's logs and quotas call us.
            frame_timeout: How long a frame may take from its first byte to its last (drip feed).
        """
        self.limit = LIMIT_BEFORE_AUTHENTICATION
        """The largest frame that is accepted."""
        self.failure: ProtocolError | None = None
        """Why no further byte can be accepted; None while all is well."""
        self._client_id = client_id
        self._frame_timeout = frame_timeout
        self._in_flight: deque[InFlight[T]] = deque()
        self._correlation_id = 0
        self._staging = bytearray(STAGING)
        self._end = 0  # of what the staging area holds; it begins at 0
        self._frame: bytearray | None = None  # the large frame that is being filled
        self._filled = 0
        self._length = 0
        self._largest = FIRST_ROOM
        self._lent: list[bytearray] = []  # the memory of frames that were handed out
        self._partial_since = inf

    def __repr__(self) -> str:
        partial = "" if self._partial_since == inf else ", in the middle of a frame"
        return f"<Wire {len(self._in_flight)} in flight{partial}>"

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def deadline(self) -> float:
        """When `overdue` will have something to say; infinity where nothing is awaited."""
        oldest = min((request.deadline for request in self._in_flight), default=inf)
        return min(oldest, self._partial_since + self._frame_timeout)

    def send(
        self, request: Request[Any], version: int, waiter: T, *, now: float, deadline: float
    ) -> list[Buffer]:
        """The bytes to write. The request is in flight from now on.

        Raises:
            UnsupportedVersion: That version has no place for a value.
            SerializationError: A value does not fit its type. The wire is as before.
        """
        buffers = self.post(request, version)
        self._in_flight.append(
            InFlight(waiter, type(request), version, self._correlation_id, now, deadline)
        )
        return buffers

    def post(self, request: Request[Any], version: int) -> list[Buffer]:
        """The bytes of a request that the broker does not answer: a Produce with acks=0.

        Raises:
            UnsupportedVersion: That version has no place for a value.
            SerializationError: A value does not fit its type. The wire is as before.
        """
        following = self._correlation_id + 1 if self._correlation_id < _LAST_CORRELATION_ID else 0
        try:
            buffers = frames.encode_request(
                request, version, correlation_id=following, client_id=self._client_id
            )
        except ValueError as error:
            raise SerializationError(f"not sent: {error}") from None
        self._correlation_id = following
        return buffers

    def buffer(self) -> memoryview:
        """Where the next bytes of the socket go. `received` is told how many they were.

        Whoever asks has let go of the view before: memory that somebody looks at cannot grow.
        """
        if self._frame is None:
            return memoryview(self._staging)[self._end :]
        if self._filled == len(self._frame):
            # In small pieces: what is freed in large ones, malloc later keeps for itself.
            for room in range(min(self._filled, self._length - self._filled), 0, -FIRST_ROOM):
                self._frame += bytes(min(room, FIRST_ROOM))
        return memoryview(self._frame)[self._filled : self._length]

    def fill(self, count: int) -> bool:
        """As `received`, where all is still as it was: a large frame just has more of its bytes.

        False where it is otherwise, and nothing was done.
        """
        if self._frame is None or self._filled + count >= self._length:
            return False
        self._filled += count
        return True

    def received(self, count: int, *, now: float) -> list[Answer[T]]:
        """What is answered by the bytes that were put into the last `buffer`.

        Look at `failure` afterwards: a frame of an impossible length, or one that nothing in
        flight asked for, ends the connection.
        """
        answers: list[Answer[T]] = []
        try:
            if self._frame is None:
                self._take_staged(count, answers)
            else:
                self._take_large(count, answers)
        except ProtocolError as error:
            self.failure = error
        if self._end == 0 and self._frame is None:
            self._partial_since = inf
        elif answers or self._partial_since == inf:
            self._partial_since = now
        return answers

    def overdue(self, *, now: float) -> str:
        """Why the connection must be given up: what was waited for in vain. Empty if nothing."""
        for request in self._in_flight:
            if request.deadline <= now:
                return f"no answer to {request.api} within {now - request.sent_at:.1f} s"
        if self._partial_since + self._frame_timeout <= now:
            return f"a frame was not complete {self._frame_timeout:.1f} s after its first byte"
        return ""

    def abandon(self) -> list[InFlight[T]]:
        """Every request in flight, oldest first: none of them will be answered."""
        abandoned = list(self._in_flight)
        self._in_flight.clear()
        self._lent.clear()
        return abandoned

    def _take_large(self, count: int, answers: list[Answer[T]]) -> None:
        self._filled += count
        frame = self._frame
        if frame is None or self._filled < self._length:
            return
        self._frame = None
        self._largest = max(self._largest, self._length)
        answers.append(self._answer(memoryview(frame)[: self._length]))
        self._lend(frame)

    def _take_staged(self, count: int, answers: list[Answer[T]]) -> None:
        end = self._end + count
        start = 0
        with memoryview(self._staging) as staging:
            while end - start >= _LENGTH:
                length = self._checked_length(staging[start:end])
                after = start + _LENGTH + length
                if after > end:
                    if _LENGTH + length > STAGING:
                        self._begin_large(length, staging[start + _LENGTH : end])
                        start = end
                    break
                answers.append(self._answer(bytes(staging[start + _LENGTH : after])))
                start = after
            if start:
                staging[: end - start] = bytes(staging[start:end])
        self._end = end - start

    def _begin_large(self, length: int, begun: memoryview) -> None:
        self._frame = self._returned(length) or bytearray(min(length, self._largest))
        self._frame[: len(begun)] = begun
        self._filled = len(begun)
        self._length = length

    def _lend(self, memory: bytearray) -> None:
        self._lent.append(memory)
        while sum(map(len, self._lent)) > SPARE:
            del self._lent[0]  # whoever looks at it keeps it alive

    def _returned(self, length: int) -> bytearray | None:
        """Memory of about that length that nobody looks at any more; it may have to grow a bit."""
        for index, memory in enumerate(self._lent):
            if length <= 2 * len(memory) <= 4 * length and _is_free(memory):
                return self._lent.pop(index)
        return None

    def _checked_length(self, head: memoryview) -> int:
        """The length that a frame begins with; also who it is for, as soon as that is known."""
        length = int.from_bytes(head[:_LENGTH], "big", signed=True)
        if not 4 <= length <= self.limit:
            raise ProtocolError(_what_is(bytes(head[:_LENGTH]), length, self.limit))
        if len(head) >= _HEAD.size:
            self._check_turn(_HEAD.unpack_from(head)[1])
        elif not self._in_flight:
            raise CorrelationIdError("an answer came although nothing was asked")
        return length

    def _check_turn(self, correlation_id: int) -> None:
        if not self._in_flight:
            raise CorrelationIdError(
                f"an answer to request {correlation_id} came although nothing was asked"
            )
        expected = self._in_flight[0]
        if correlation_id != expected.correlation_id:
            raise CorrelationIdError(
                f"request {expected.correlation_id} ({expected.api}) is to be answered,"
                f" but the answer to {correlation_id} came"
            )

    def _answer(self, frame: Buffer) -> Answer[T]:
        self._check_turn(frames.correlation_id_of(frame))
        return Answer(self._in_flight.popleft(), frame)


def _is_free(memory: bytearray) -> bool:
    """Whether there is no view of it: Python refuses to change the length of one that has any."""
    try:
        last = memory.pop()
    except BufferError:
        return False
    memory.append(last)
    return True


def _what_is(head: bytes, length: int, limit: int) -> str:
    """Why a length is refused; four bytes often tell what the peer is."""
    for beginning, name in _FOREIGN:
        if head.startswith(beginning):
            return f"the peer speaks {name}" + ("" if "TLS" in name else ", not Kafka's protocol")
    if head.isascii() and head.decode().isprintable():
        return f"the peer answers with text ({head.decode()!r}), not Kafka's protocol: see the port"
    return f"a frame of {length:,} bytes; from 4 to {limit:,} are accepted"
