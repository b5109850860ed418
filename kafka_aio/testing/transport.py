"""One end of a connection in memory. It behaves as asyncio's transports on sockets do.

    open --close--> closing, flushes --all is sent--> lost
         --abort, reset, a protocol that raises--> lost at once

`connection_lost` runs once, in a turn of its own, and after it the socket is gone: then the other
end gets an EOF, or a RESET if bytes were left here that nobody has read.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import warnings
from collections.abc import Callable, Iterable
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from kafka_aio.testing.pipe import End, Pipe

if TYPE_CHECKING:
    from kafka_aio.testing.names import SocketAddress
    from kafka_aio.testing.network import Network
    from kafka_aio.testing.server import VirtualServer

_Buffer: TypeAlias = "bytes | bytearray | memoryview[Any]"

READ_SIZE: Final = 256 * 1024
"""How much is read at a time, at most."""
_HIGH_WATER: Final = 64 * 1024
_SILENT_WRITES: Final = 5
"""How many writes to a lost connection are dropped before the log says so."""

logger = logging.getLogger("asyncio")  # what is said here, asyncio's own transports say too


class VirtualTransport(asyncio.Transport):
    """Writes into one pipe, reads from the other."""

    def __init__(
        self,
        network: Network,
        protocol: asyncio.BaseProtocol,
        pipes: tuple[Pipe, Pipe],
        names: tuple[SocketAddress, SocketAddress],
        server: VirtualServer | None = None,
    ) -> None:
        """Take both ends; `start` begins.

        Args:
            network: Whose it is.
            protocol: What to call.
            pipes: The one to read from, and the one to write into.
            names: The addresses of this end and of the other.
            server: Who is to be told of its end.
        """
        super().__init__({"sockname": names[0], "peername": names[1]})
        self._network = network
        self._loop = network.loop
        self._incoming, self._outgoing = pipes
        self._context: Context = self._incoming.context
        self._protocol: asyncio.BaseProtocol | None = protocol
        self._server = server
        self._buffer = bytearray()  # what finds no room in the pipe
        self._high, self._low = _HIGH_WATER, _HIGH_WATER // 4
        self._lost = 0  # from when connection_lost is due; then counts the writes in vain
        self._is_started = False
        self._is_closing = False
        self._is_paused = False
        self._has_read_eof = False
        self._has_written_eof = False
        self._is_writing_paused = False
        self._reading: asyncio.Handle | None = None
        self._flushing: asyncio.Handle | None = None
        self._incoming.reader = self
        self._outgoing.writer = self

    def __repr__(self) -> str:
        state = "closed" if self._protocol is None else "closing" if self._is_closing else "open"
        names = f"{self.get_extra_info('sockname')} to {self.get_extra_info('peername')}"
        return f"<VirtualTransport {names}: {state}, {len(self._buffer)} bytes to write>"

    def __del__(self) -> None:
        if not self._is_closing:
            warnings.warn(f"unclosed transport {self!r}", ResourceWarning, 2, source=self)

    def start(self) -> asyncio.Future[None]:
        """Call `connection_made`, then read. The future is done when that has begun."""
        assert self._protocol is not None
        self._soon(self._protocol.connection_made, self)
        self._soon(self._begin)
        started: asyncio.Future[None] = self._loop.create_future()
        self._soon(_done, started)
        return started

    # As asyncio's.

    def get_protocol(self) -> asyncio.BaseProtocol:
        return cast(asyncio.BaseProtocol, self._protocol)  # None at the end, as asyncio's

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return not self._is_paused and not self._is_closing

    def pause_reading(self) -> None:
        if not self._is_closing:
            self._is_paused = True

    def resume_reading(self) -> None:
        if self._is_paused and not self._is_closing:
            self._is_paused = False
            self.read_soon()

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = _HIGH_WATER if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._high, self._low = high, low
        self._maybe_pause_writing()

    def write(self, data: _Buffer) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            kind = type(data).__name__
            raise TypeError(f"data argument must be a bytes-like object, not {kind!r}")
        if self._has_written_eof:
            raise RuntimeError("Cannot call write() after write_eof()")
        content = bytes(data)
        if not content:
            return
        if self._lost:
            if self._lost >= _SILENT_WRITES:
                logger.warning("socket.send() raised exception.")
            self._lost += 1
            return
        if self._buffer:
            self._buffer += content
        elif self._incoming.was_reset:
            self._fail_writing()
            return
        else:
            room = max(self._outgoing.room, 0)
            if room:
                self._outgoing.send(content[:room])
            self._buffer += content[room:]
        self._maybe_pause_writing()

    def writelines(self, list_of_data: Iterable[_Buffer]) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if self._is_closing or self._has_written_eof:
            return
        self._has_written_eof = True
        if not self._buffer:
            self._outgoing.finish(End.EOF)

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        if not self._buffer:
            self._lose(None)

    def abort(self) -> None:
        self._force_close(None)

    # What the pipes call.

    def read_soon(self) -> None:
        """Read in a turn of its own, if there is something."""
        if self._reading is None:
            self._reading = self._soon(self._read_next)

    def read_ready(self) -> None:
        """Read once; what is left is read in the next turns, as a selector would have it."""
        if self._can_read():
            self._read()
            if self._can_read():
                self.read_soon()

    def has_room(self) -> None:
        """The other end has taken something."""
        if self._buffer and self._flushing is None:
            self._flushing = self._soon(self._flush)

    def met_reset(self) -> None:
        """Nobody is there any more. Who reads will find out; who writes is told here."""
        if self._buffer:
            self._soon(self._fail_writing)

    # Reading.

    def _begin(self) -> None:
        self._is_started = True
        self.read_ready()

    def _read_next(self) -> None:
        self._reading = None
        self.read_ready()

    def _can_read(self) -> bool:
        return (
            self._incoming.is_readable
            and self._is_started
            and not (self._is_paused or self._is_closing or self._has_read_eof)
        )

    def _read(self) -> None:
        if self._incoming.has_bytes:
            if isinstance(self._protocol, asyncio.BufferedProtocol):
                self._read_into(self._protocol)
            else:
                protocol = cast(asyncio.Protocol, self._protocol)
                data = self._incoming.take(self._network.chunk_size(READ_SIZE))
                self._call("data_received", protocol.data_received, data)
        elif self._incoming.take_end() is End.EOF:
            self._read_eof()
        else:
            self._fail(_os_error(errno.ECONNRESET), "Fatal read error on socket transport")

    def _read_into(self, protocol: asyncio.BufferedProtocol) -> None:
        buffer = self._call("get_buffer", _buffer_of, protocol)
        if buffer is None:
            return
        with memoryview(buffer).cast("B") as view:
            data = self._incoming.take(self._network.chunk_size(len(view)))
            view[: len(data)] = data
        self._call("buffer_updated", protocol.buffer_updated, len(data))

    def _read_eof(self) -> None:
        self._has_read_eof = True
        protocol = cast(asyncio.Protocol, self._protocol)
        keeps_open = self._call("eof_received", protocol.eof_received)
        if not keeps_open:
            self.close()

    def _call(self, name: str, method: Callable[..., Any], *args: object) -> Any:
        """What the protocol returns; the connection ends if it raises."""
        try:
            return method(*args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._fail(error, f"Fatal error: protocol.{name}() call failed.")
            return None

    # Writing.

    def _flush(self) -> None:
        self._flushing = None
        if self._lost or not self._buffer:
            return
        if self._incoming.was_reset:
            self._fail_writing()
            return
        room = self._outgoing.room
        if room <= 0:
            return
        self._outgoing.send(bytes(self._buffer[:room]))
        del self._buffer[:room]
        self._maybe_resume_writing()
        if not self._buffer:
            if self._is_closing:
                self._lose(None)
            elif self._has_written_eof:
                self._outgoing.finish(End.EOF)

    def _maybe_pause_writing(self) -> None:
        if len(self._buffer) > self._high and not self._is_writing_paused:
            self._is_writing_paused = True
            self._tell_writer("pause_writing")

    def _maybe_resume_writing(self) -> None:
        if len(self._buffer) <= self._low and self._is_writing_paused:
            self._is_writing_paused = False
            self._tell_writer("resume_writing")

    def _tell_writer(self, name: str) -> None:
        try:
            getattr(self._protocol, name)()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._report(error, f"protocol.{name}() failed")

    def _fail_writing(self) -> None:
        # As Linux has it: after an EOF, or once the reset was reported, the pipe is broken.
        code = errno.EPIPE if self._incoming.end is End.EOF else errno.ECONNRESET
        self._fail(_os_error(code), "Fatal write error on socket transport")

    # The end.

    def _fail(self, error: BaseException, message: str) -> None:
        if isinstance(error, OSError):
            if self._loop.get_debug():
                logger.debug("%r: %s", self, message, exc_info=error)
        else:
            self._report(error, message)
        self._force_close(error)

    def _report(self, error: BaseException, message: str) -> None:
        self._loop.call_exception_handler(
            {
                "message": message,
                "exception": error,
                "transport": self,
                "protocol": self._protocol,
            }
        )

    def _force_close(self, error: BaseException | None) -> None:
        if self._lost:
            return
        self._buffer.clear()
        self._is_closing = True
        self._lose(error)

    def _lose(self, error: BaseException | None) -> None:
        self._lost += 1
        self._soon(self._call_connection_lost, error)

    def _call_connection_lost(self, error: BaseException | None) -> None:
        assert self._protocol is not None
        try:
            self._protocol.connection_lost(cast("Exception | None", error))
        finally:
            self._protocol = None
            self._close_socket()
            if self._server is not None:
                self._server.detach(self)
                self._server = None

    def _close_socket(self) -> None:
        if not self._incoming.was_reset:
            if self._incoming.has_bytes:
                self._outgoing.finish(End.RESET)
            elif not self._has_written_eof:
                self._outgoing.finish(End.EOF)
        self._incoming.close()

    def _soon(self, callback: Callable[..., object], *args: object) -> asyncio.Handle:
        return self._loop.call_soon(callback, *args, context=self._context)


def _done(future: asyncio.Future[None]) -> None:
    if not future.cancelled():
        future.set_result(None)


def _buffer_of(protocol: asyncio.BufferedProtocol) -> Any:
    buffer: Any = protocol.get_buffer(-1)
    if not len(buffer):
        raise RuntimeError("get_buffer() returned an empty buffer")
    return buffer


def _os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
