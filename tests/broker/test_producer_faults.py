"""200,000 idempotent records to three real nodes, while leaders are killed and connections cut."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import confluent_kafka
import pytest

from kafka_aio import Delivery, Producer
from tests.kafka.cluster import Cluster
from tests.kafka.proxy import Proxy

RECORDS = 200_000
SECONDS = float(os.environ.get("KAFKA_AIO_FAULT_SECONDS", "60"))
KILLS = 2 + int(SECONDS // 60)
WRITERS = 12
PARTITIONS = 6
CUT_EVERY = 1.0

# It takes as long as it takes: on one loop, unless somebody asks for both (`make test-long`).
pytestmark = [] if "KAFKA_AIO_LOOP" in os.environ else [pytest.mark.loop("uvloop")]


@asynccontextmanager
async def proxies(cluster: Cluster) -> AsyncIterator[list[Proxy]]:
    """What stands before each node, where it says that it listens."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                Proxy(("127.0.0.1", node.ports["PROXY"]), listen_port=node.proxy_port, seed=node.id)
            )
            for node in cluster.nodes
        ]


async def write(producer: Producer[bytes, bytes], topic: str, writer: int) -> list[Delivery]:
    """Records in their order, evenly over the time."""
    loop = asyncio.get_running_loop()
    count = RECORDS // WRITERS + 1
    began_at = loop.time()
    deliveries = []
    for number in range(count):
        value = b"%d %d" % (writer, number)
        deliveries.append(await producer.submit(topic, value, key=b"writer %d" % writer))
        early = began_at + SECONDS * number / count - loop.time()
        if early > 0.01:
            await asyncio.sleep(early)
    return deliveries


async def cut(between: list[Proxy], rng: random.Random) -> None:
    while True:
        await asyncio.sleep(CUT_EVERY)
        rng.choice(between).cut(rng.choice(["fin", "rst"]))


async def kill_leaders(cluster: Cluster, topic: str) -> None:
    """The node that leads most of what is written, killed and started again, one after another."""
    for turn in range(KILLS):
        await asyncio.sleep(SECONDS / 4 / KILLS)
        node = await asyncio.to_thread(cluster.leader, topic, turn % PARTITIONS)
        assert node is not None
        await asyncio.to_thread(node.kill)
        await asyncio.sleep(SECONDS / 4 / KILLS)
        await asyncio.to_thread(cluster.heal)


def stored(cluster: Cluster, topic: str, total: int) -> dict[int, list[bytes]]:
    """All values by partition, in the order of the log; more than `total` if they are there."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "check",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    found: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
    open_ends = set(found)
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, each, 0) for each in found])
        while open_ends:
            messages: list[Any] = consumer.consume(10_000, 30)
            assert messages, f"{sum(map(len, found.values()))} of {total} were read"
            for message in messages:
                if message.error() is None:
                    found[message.partition()].append(message.value())
                else:
                    assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
                    open_ends.discard(message.partition())
    finally:
        consumer.close()
    return found


@pytest.mark.timeout(400)
async def test_every_record_is_there_once_and_in_order_whatever_happens_to_the_nodes(
    kafka_cluster: Cluster,
) -> None:
    topic = await asyncio.to_thread(
        kafka_cluster.create_topic, "chaos", PARTITIONS, configs={"min.insync.replicas": "2"}
    )
    rng = random.Random(0)
    try:
        async with (
            proxies(kafka_cluster) as between,
            Producer(
                bootstrap_servers=kafka_cluster.addresses("PROXY"),
                request_timeout_ms=5_000,
                delivery_timeout_ms=240_000,
                max_block_ms=240_000,
            ) as producer,
            asyncio.TaskGroup() as group,
        ):
            cutting = group.create_task(cut(between, rng))
            killing = group.create_task(kill_leaders(kafka_cluster, topic))
            writers = [
                group.create_task(write(producer, topic, number)) for number in range(WRITERS)
            ]
            written = await asyncio.gather(*writers)
            await killing
            cutting.cancel()
            acknowledged = [[await delivery for delivery in deliveries] for deliveries in written]
            statistics = producer.statistics()
    finally:
        await asyncio.to_thread(kafka_cluster.heal)
    total = sum(map(len, written))
    print(f"{total} records, {statistics}")

    found = await asyncio.to_thread(stored, kafka_cluster, topic, total)
    counted = Counter(value for values in found.values() for value in values)
    assert total >= RECORDS
    assert [value for value, times in counted.items() if times > 1] == []
    assert len(counted) == total
    for writer, places in enumerate(acknowledged):
        at = [found[place.partition][place.offset] for place in places if place.offset >= 0]
        assert at == [
            b"%d %d" % (writer, number) for number, place in enumerate(places) if place.offset >= 0
        ]
        offsets = [place.offset for place in places if place.offset >= 0]
        assert offsets == sorted(offsets)
    assert statistics.retried > 10
