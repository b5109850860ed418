"""A client that knows frames and nothing else, so that it can do what no client would."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.connection import Connection
from kafka_aio.protocol.frame import decode_response, encode_request
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_aio.protocol.schema import Request, schema_of
from kafka_aio.records.codec import BatchBuilder

R = TypeVar("R")

PATIENCE = 10.0
VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")
METADATA = MetadataRequest(topics=None)


def last_version(request: Request[Any]) -> int:
    return schema_of(type(request)).stable_versions[1]


def framed(request: Request[Any], correlation_id: int = 0, *, version: int | None = None) -> bytes:
    chosen = last_version(request) if version is None else version
    return b"".join(encode_request(request, chosen, correlation_id=correlation_id, client_id="raw"))


def batch(*values: bytes) -> bytes:
    builder = BatchBuilder(2**30)
    for value in values:
        builder.append(None, value, 1_700_000_000_000)
    return bytes(builder.finish())


def produce(*values: bytes, topic: str = "t", acks: int = -1) -> ProduceRequest:
    """To partition 0. It is to be sent in version 12, as later ones have ids."""
    return produce_batch(batch(*values), topic=topic, acks=acks)


def produce_batch(records: bytes, *, topic: str = "t", acks: int = -1) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=records)
    topic_data = TopicProduceData(name=topic, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic_data])


def fetch(offset: int = 0, *, max_wait_ms: int = 0, max_bytes: int = 2**26) -> FetchRequest:
    """From the topic "t". It is to be sent in version 12, as later ones have ids."""
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )


def values(broker: EmbeddedBroker, topic: str = "t") -> list[bytes | None]:
    """What is in a topic."""
    return [record.value for record in broker.records(topic)]


def leaders(metadata: MetadataResponse) -> dict[tuple[str | None, int], int]:
    """Of each partition."""
    return {
        (topic.name, partition.partition_index): partition.leader_id
        for topic in metadata.topics
        for partition in topic.partitions
    }


def connections(broker: EmbeddedBroker) -> list[Connection]:
    """The broker's ends of those that are open."""
    return list(broker._listening().shared.open)


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._asked = 0

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    def send(self, request: Request[Any], *, version: int | None = None) -> int:
        """Send a request. Returns its correlation id."""
        self._asked += 1
        self.write(framed(request, self._asked, version=version))
        return self._asked

    async def frame(self) -> bytes:
        """The next frame that comes, without its length."""
        async with asyncio.timeout(PATIENCE):
            (length,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(length)

    async def answer(self, request: Request[R], *, version: int | None = None) -> R:
        """The next frame, as the answer to a request."""
        frame = await self.frame()
        chosen = last_version(request) if version is None else version
        return decode_response(type(request), frame, chosen)

    async def ask(self, request: Request[R], *, version: int | None = None) -> R:
        self.send(request, version=version)
        return await self.answer(request, version=version)

    async def next_id(self) -> int:
        """Which request the next frame answers."""
        found: int = struct.unpack_from(">i", await self.frame())[0]
        return found

    async def wait_closed(self) -> None:
        """Wait until the broker has closed the connection; it may not send anything before."""
        async with asyncio.timeout(PATIENCE):
            try:
                rest = await self.reader.read()
            except ConnectionError:
                return
        assert rest == b"", f"{len(rest)} bytes before the end"

    async def is_silent(self, seconds: float = 0.05) -> bool:
        """Whether nothing comes for a while."""
        try:
            async with asyncio.timeout(seconds):
                await self.reader.readexactly(1)
        except TimeoutError:
            return True
        return False


@asynccontextmanager
async def connected(broker: EmbeddedBroker, node: int = 1) -> AsyncIterator[Client]:
    """A connection to a node."""
    host, _, port = broker.bootstrap_servers.split(",")[node - 1].rpartition(":")
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
