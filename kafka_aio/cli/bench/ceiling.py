"""The ceiling: what the broker takes from a client that has nothing to do, and what it gives to it.

Requests are made beforehand and sent through a connection of ours, as many at a time as the
producer has in flight. A client that comes near finds the broker full. The batches have no producer
id: with one, each would have to be made anew.

What is read is not decoded: of each batch only the header is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from time import perf_counter, time
from typing import Final, NamedTuple

from kafka_aio.cli.bench.plan import configured
from kafka_aio.cli.bench.work import Chunk, Run, Work
from kafka_aio.config import ProducerConfig
from kafka_aio.errors import UnknownTopicOrPartition, for_code
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_aio.records.batch import read_header
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import HEADER_BYTES, UNSTAMPED, ProducerStamp
from kafka_aio.types import TopicPartition

IN_FLIGHT: Final = 5
"""Requests to a node: as many as the producer has."""
LAST_WITH_NAMES: Final = 12
"""The last version of Produce, and of Fetch, in which topics have names."""

PLAIN: Final = Compression()

_TIMEOUT_MS: Final = 30_000
_FETCH_MS: Final = 500
_FETCHES: Final = 2
"""So many at a time, for a share of the partitions each: a consumer asks ahead too."""
_MOST: Final = 2**20
"""Bytes of a request: max.request.size of the producer."""
_OVERHEAD: Final = 32
"""The most bytes that a record of ours has beside its key and its value."""

Ask = Callable[[ProduceRequest], Awaitable[ProduceResponse]]


class Batch(NamedTuple):
    """A batch as it is sent."""

    data: bytes
    records: int


def batch(
    chunk: Chunk,
    limit: int,
    *,
    compression: Compression = PLAIN,
    stamp: ProducerStamp = UNSTAMPED,
) -> Batch:
    """As many of these records as go into so many bytes, and one at least; they are of now."""
    values, keys = chunk
    first = HEADER_BYTES + _OVERHEAD + len(values[0]) + len(keys[0] if keys else b"")
    builder = BatchBuilder(max(limit, first))
    count = builder.append_many(values, int(time() * 1000), keys)
    return Batch(bytes(builder.finish(compression, stamp)), count)


def request(topic: str, batches: Mapping[int, bytes], *, acks: int) -> ProduceRequest:
    """A request that writes a batch to each of these partitions."""
    data = [PartitionProduceData(index=index, records=made) for index, made in batches.items()]
    topic_data = [TopicProduceData(name=topic, partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=_TIMEOUT_MS, topic_data=topic_data)


async def write(ask: Ask, requests: Iterator[ProduceRequest]) -> None:
    """Send them all, some at a time, on one connection.

    Raises:
        BrokerError: A batch was not taken.
    """

    async def take_turns() -> None:
        for each in requests:
            check(await ask(each))

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(take_turns())


def check(response: ProduceResponse) -> None:
    """See that all was written.

    Raises:
        BrokerError: A batch was not taken.
    """
    for topic in response.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                where = f"partition {partition.index} of {topic.name!r}"
                raise for_code(partition.error_code, partition.error_message, where=where)


# -- as a client of the benchmark


async def submit(work: Work) -> None:
    """As many as the broker takes, in full batches."""
    load = work.load
    compression = Compression(Codec[load.codec.upper()])
    made, count = batch(work.pool, load.batch_size, compression=compression)
    async with _cluster(work) as cluster:
        requests = [
            (node, request(work.topic, dict.fromkeys(indexes, made), acks=_acks(work)))
            for node, indexes in _requests(await _leaders(cluster, work), len(made))
        ]

        def until_over(run: Run, mine: Sequence[ProduceRequest]) -> Iterator[ProduceRequest]:
            while True:
                for each in mine:
                    if not run.take(count * len(each.topic_data[0].partition_data)):
                        return
                    yield each

        for run in work.runs():
            async with asyncio.TaskGroup() as group:
                for node in {node for node, _ in requests}:
                    mine = [each for leader, each in requests if leader == node]
                    ask = partial(_ask, cluster, node)
                    group.create_task(write(ask, until_over(run, mine)))


many = arrow = tasks = submit


async def latency(work: Work) -> None:
    """One record in a request, one request at a time."""
    compression = Compression(Codec[work.load.codec.upper()])
    made, _ = batch(work.pool.part(0, 1), 1, compression=compression)
    async with _cluster(work) as cluster:
        (node, indexes), *_ = _requests(await _leaders(cluster, work), len(made))
        asked = request(work.topic, {indexes[0]: made}, acks=_acks(work))
        for run in work.runs():
            for _ in run.records():
                began_at = perf_counter()
                check(await _ask(cluster, node, asked))
                run.latencies.append(perf_counter() - began_at)


async def read_lists(work: Work) -> None:
    """All that is there, two fetches for each node at a time."""
    async with _cluster(work) as cluster:
        leaders = await _leaders(cluster, work)
        offsets = dict.fromkeys(leaders, 0)
        shares = [
            (node, [each for each in leaders if leaders[each] == node][start::_FETCHES])
            for node in set(leaders.values())
            for start in range(_FETCHES)
        ]

        async def drain(run: Run, node: int, share: list[int]) -> None:
            goes_on = True
            while goes_on and share:
                asked = fetch(work, {each: offsets[each] for each in share})
                answer = await cluster.send(node, asked, at_most=LAST_WITH_NAMES)
                count, ended = advance(answer, offsets)
                share[:] = [each for each in share if each not in ended]
                goes_on = run.has_read(count)

        for run in work.runs():
            async with asyncio.TaskGroup() as group:
                for node, share in shares:
                    group.create_task(drain(run, node, share))
        work.check(offsets.values())


read_each = read_arrow = read_lists


def fetch(work: Work, offsets: Mapping[int, int]) -> FetchRequest:
    """What there is of these partitions."""
    partitions = [
        FetchPartition(
            partition=each,
            fetch_offset=offset,
            partition_max_bytes=work.load.max_partition_fetch_bytes,
        )
        for each, offset in offsets.items()
    ]
    topics = [FetchTopic(topic=work.topic, partitions=partitions)]
    return FetchRequest(max_wait_ms=_FETCH_MS, min_bytes=1, topics=topics)


def advance(answer: FetchResponse, offsets: dict[int, int]) -> tuple[int, set[int]]:
    """Set the offsets after what has come.

    Returns:
        How many records that were, and the partitions that end there.

    Raises:
        BrokerError: A partition could not be read.
    """
    count, ended = 0, set()
    for topic in answer.responses:
        for partition in topic.partitions:
            if partition.error_code:
                where = f"partition {partition.partition_index} of {topic.topic!r}"
                raise for_code(partition.error_code, where=where)
            view = memoryview(partition.records or b"")
            at = 0
            while len(view) - at >= HEADER_BYTES:
                header = read_header(view, at)
                at += header.size
                if at > len(view):  # cut short: it comes again
                    break
                count += header.record_count
                offsets[partition.partition_index] = (
                    header.base_offset + header.last_offset_delta + 1
                )
            if offsets[partition.partition_index] >= partition.high_watermark:
                ended.add(partition.partition_index)
    return count, ended


async def _ask(cluster: Cluster, node: int, asked: ProduceRequest) -> ProduceResponse:
    return await cluster.send(node, asked, at_most=LAST_WITH_NAMES)


def _acks(work: Work) -> int:
    """Without an answer there is nothing to count, so 0 is 1 here."""
    return -1 if work.load.acks == "all" else 1


def _requests(leaders: Mapping[int, int], size: int) -> list[tuple[int, list[int]]]:
    """Nodes, and partitions of theirs for one request: as many as go into it."""
    most = max(1, _MOST // (size + 64))
    found = []
    for node in sorted(set(leaders.values())):
        own = [index for index, leader in leaders.items() if leader == node]
        found += [(node, own[start : start + most]) for start in range(0, len(own), most)]
    return found


@asynccontextmanager
async def _cluster(work: Work) -> AsyncIterator[Cluster]:
    tasks_of_cluster = Tasks("bench")
    await tasks_of_cluster.start()
    try:
        cluster = Cluster(
            configured(ProducerConfig, work.connection), tasks_of_cluster, max_in_flight=IN_FLIGHT
        )
        await cluster.start()
        yield cluster
    finally:
        await tasks_of_cluster.aclose()


async def _leaders(cluster: Cluster, work: Work) -> dict[int, int]:
    """The node of each partition."""
    for _ in range(50):
        await cluster.refresh([work.topic])
        found = {}
        for index in range(work.load.partitions):
            leader = cluster.metadata.leader(TopicPartition(work.topic, index))
            if leader is not None:
                found[index] = leader.node
        if len(found) == work.load.partitions:
            return found
        await asyncio.sleep(0.1)
    raise UnknownTopicOrPartition(f"topic {work.topic!r} has no leaders for all its partitions")
