"""Our consumer on three real nodes, with replicas nearby and new leaders; and over TLS."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kafka_aio import Consumer, Producer, TopicPartition
from tests.broker.consuming import consumer_of, offsets_of, take, topic_with, write
from tests.kafka.cluster import Cluster
from tests.kafka.node import Node
from tests.kafka.proxy import Proxy

# Nodes are stopped and started: on one loop, unless somebody asks for both.
pytestmark = [] if "KAFKA_AIO_LOOP" in os.environ else [pytest.mark.loop("asyncio")]


@asynccontextmanager
async def proxy_before(node: Node) -> AsyncIterator[Proxy]:
    """What stands where a node says that it listens."""
    target = ("127.0.0.1", node.ports["PROXY"])
    async with Proxy(target, listen_port=node.proxy_port) as proxy:
        yield proxy


@asynccontextmanager
async def near(kafka: Cluster, topic: str, node: Node) -> AsyncIterator[Consumer]:
    """One that is in the rack of a node, and comes through the proxies."""
    async with consumer_of(
        kafka,
        bootstrap_servers=kafka.addresses("PROXY"),
        client_rack=f"rack-{node.id}",
        request_timeout_ms=30_000,
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        yield consumer


@pytest.mark.timeout(150)
async def test_a_replica_nearby_is_read_and_left_when_it_dies(kafka_cluster: Cluster) -> None:
    topic = await asyncio.to_thread(kafka_cluster.create_topic, "nearby")
    await write(kafka_cluster, topic, [10])
    leader = await asyncio.to_thread(kafka_cluster.leader, topic)
    assert leader is not None
    follower, other = (node for node in kafka_cluster.nodes if node is not leader)
    try:
        async with (
            proxy_before(leader) as before_leader,
            proxy_before(follower),
            proxy_before(other),
            near(kafka_cluster, topic, follower) as consumer,
        ):
            assert await offsets_of(consumer, 10) == list(range(10))
            with before_leader.stall():
                await write(kafka_cluster, topic, [10])
                assert await offsets_of(consumer, 10) == list(range(10, 20))
            await asyncio.to_thread(follower.kill)
            await write(kafka_cluster, topic, [10])
            assert await offsets_of(consumer, 10) == list(range(20, 30))
    finally:
        await asyncio.to_thread(kafka_cluster.heal)


@pytest.mark.timeout(150)
async def test_a_new_leader_is_followed_without_a_gap(kafka_cluster: Cluster) -> None:
    topic = await asyncio.to_thread(kafka_cluster.create_topic, "new-leader", 3)
    values = [b"%d" % number for number in range(3_000)]
    leader = await asyncio.to_thread(kafka_cluster.leader, topic)
    assert leader is not None
    taken: dict[TopicPartition, list[int]] = {}
    try:
        async with (
            Producer(bootstrap_servers=kafka_cluster.bootstrap) as producer,
            consumer_of(
                kafka_cluster, topic, group_id=topic, isolation_level="read_committed"
            ) as consumer,
        ):
            for part in range(3):
                for delivery in await producer.send_many(topic, values):
                    delivery.result()
                if part == 1:
                    await asyncio.to_thread(leader.kill)
                for name, records in (await take(consumer, 3_000)).items():
                    taken.setdefault(name, []).extend(record.offset for record in records)
            await consumer.commit()
    finally:
        await asyncio.to_thread(kafka_cluster.heal)

    assert sum(map(len, taken.values())) == 9_000
    assert all(offsets == list(range(len(offsets))) for offsets in taken.values())


async def test_ranges_of_three_leaders_at_once(kafka_cluster: Cluster) -> None:
    topic = await asyncio.to_thread(kafka_cluster.create_topic, "three-ranges", 6)
    await write(kafka_cluster, topic, [500] * 6)
    async with consumer_of(kafka_cluster) as consumer:

        async def read(number: int) -> list[int]:
            name = TopicPartition(topic, number)
            batches = [batch async for batch in consumer.read_range(name, number, 500)]
            return [record.offset for batch in batches for record in batch.records]

        found = await asyncio.gather(*map(read, range(6)))

    assert found == [list(range(number, 500)) for number in range(6)]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_group_over_tls_with_a_password(secured_kafka: Cluster, protocol: str) -> None:
    security = secured_kafka.security
    assert security is not None
    topic = await topic_with(secured_kafka, f"secured-{protocol}", [20])
    async with Consumer(
        topic,
        bootstrap_servers=secured_kafka.addresses("SASLS"),
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="alice",
        sasl_password="alice-secret",
        ssl_truststore_location=str(security.certificates.ca),
        group_id=topic,
        group_protocol=protocol,
        auto_offset_reset="earliest",
    ) as consumer:
        assert await offsets_of(consumer, 20) == list(range(20))
        await consumer.commit()
        found = await consumer.committed([TopicPartition(topic, 0)])
        assert [each and each.offset for each in found.values()] == [20]
