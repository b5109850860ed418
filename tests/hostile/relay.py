"""Stands before a broker with TLS and does not let a handshake end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from tests.net.peers import serving
from tests.net.server import HOST

Harm = Callable[[bytes], bytes]
"""What arrives in place of some bytes."""


class Relay:
    """Passes bytes on, up to one flight: what one side says before the other has to answer.

    Attributes:
        port: Where it listens.
        harms: How often it did harm.
        connections: How many may be harmed yet; 0 makes it behave.
    """

    def __init__(self, broker: int, *, flight: int, harm: Harm, then_close: bool) -> None:
        """Prepare.

        Args:
            broker: The port of the broker.
            flight: Which flight is harmed; 1 is the client's hello.
            harm: What becomes of it.
            then_close: Whether the connection ends after that; if not, nothing more arrives.
        """
        self.port = 0
        self.harms = 0
        self.connections = 1_000
        self._broker = broker
        self._flight = flight
        self._harm = harm
        self._then_close = then_close

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Relay]:
        async with serving(self._serve) as self.port:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_broker, broker = await asyncio.open_connection(HOST, self._broker)
        flights: list[asyncio.StreamWriter] = []
        is_harmed = self.connections > 0
        self.connections -= is_harmed
        pumps = [
            asyncio.create_task(self._pump(reader, broker, flights, is_harmed)),
            asyncio.create_task(self._pump(from_broker, writer, flights, is_harmed)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            broker.close()
            with suppress(OSError):
                await broker.wait_closed()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        flights: list[asyncio.StreamWriter],
        is_harmed: bool,
    ) -> None:
        """`flights` has where each went, the last one being that which is under way."""
        while data := await reader.read(65_536):
            if flights[-1:] != [writer]:
                flights.append(writer)
            if not is_harmed or len(flights) < self._flight:
                writer.write(data)
            elif len(flights) == self._flight:
                self.harms += 1
                writer.write(self._harm(data))
                if self._then_close:
                    return
