"""Whole clients on the embedded broker: ours, and librdkafka as somebody else's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_aio import Admin, ConfigResource, NewTopic
from kafka_aio.broker import BrokerThread, EmbeddedBroker
from kafka_aio.errors import KafkaConnectionError, TopicAlreadyExists
from tests.net.clusters import QUICK, joined
from tests.unit.cli.shell import call


@pytest.fixture
def thread() -> Iterator[BrokerThread]:
    with BrokerThread(nodes=3, topics={"orders": 3}) as started:
        yield started


async def test_our_admin_works_on_it() -> None:
    async with (
        EmbeddedBroker(nodes=3, topics={"orders": 3}) as broker,
        Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
    ):
        created = await admin.create_topics([NewTopic("new", 2), NewTopic("orders", 1)])
        described = await admin.describe_topics(["orders"])
        resource = ConfigResource.topic("new")
        configs = await admin.describe_configs([resource])
        cluster = await admin.describe_cluster()
        await admin.delete_topics(["new"])
        listed = await admin.list_topics()

    assert isinstance(created["orders"], TopicAlreadyExists)
    orders = described["orders"]
    assert not isinstance(orders, Exception)
    assert len(orders.partitions) == 3
    options = configs[resource]
    assert isinstance(options, dict)
    assert options["cleanup.policy"].value == "delete"
    assert [node.id for node in cluster.nodes] == [1, 2, 3]
    assert [topic.name for topic in listed] == ["orders"]


async def test_our_cluster_finds_its_way_when_nodes_fail() -> None:
    async with (
        EmbeddedBroker(nodes=3, topics={"orders": 3}) as broker,
        joined(broker.bootstrap_servers) as cluster,
    ):
        for node in (1, 2, 3):
            await broker.stop_node(node)
            await cluster.refresh(["orders"])

            alive = {1, 2, 3} - {node}
            assert cluster.metadata.nodes.keys() == alive
            await broker.start_node(node)


async def test_our_admin_survives_what_goes_wrong_on_purpose(broker: EmbeddedBroker) -> None:
    broker.faults.disconnect("Metadata", when="after", times=2)
    broker.faults.delay("Metadata", 0.02)
    broker.faults.fail("DescribeConfigs", 7, times=1)

    async with Admin(**QUICK, bootstrap_servers=broker.bootstrap_servers) as admin:
        listed = await admin.list_topics()

    assert [topic.name for topic in listed] == ["t"]


async def test_a_broker_that_was_closed_refuses_our_admin(broker: EmbeddedBroker) -> None:
    await broker.aclose()

    with pytest.raises((KafkaConnectionError, TimeoutError)):
        async with Admin(**QUICK, bootstrap_servers=broker.bootstrap_servers) as admin:
            await admin.describe_cluster()


def test_kafka_aio_ping_finds_it(thread: BrokerThread, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "ping", "-b", thread.bootstrap_servers)

    assert outcome.code == 0, outcome
    assert thread.bootstrap_servers.split(",")[0] in outcome.out


def test_librdkafka_produces_and_consumes_on_it(thread: BrokerThread) -> None:
    confluent_kafka: Any = pytest.importorskip("confluent_kafka")
    common = {"bootstrap.servers": thread.bootstrap_servers, "log_level": 0}
    producer = confluent_kafka.Producer({**common, "enable.idempotence": True})
    expected = {f"value-{number}".encode() for number in range(500)}
    for number, value in enumerate(expected):  # it commits nothing of a partition without records
        producer.produce("orders", value, partition=number % 3)
    assert producer.flush(20) == 0

    for protocol in ("classic", "consumer"):
        consumer = confluent_kafka.Consumer(
            {
                **common,
                "group.id": protocol,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["orders"])
        found: set[bytes] = set()
        until = time.monotonic() + 30
        while found != expected and time.monotonic() < until:
            found |= {message.value() for message in consumer.consume(100, 0.2)}
        consumer.commit(asynchronous=False)

        assert found == expected
        group = thread.group(protocol)
        assert (group.kind, group.state) == (protocol, "Stable")
        assert len(group.members[0].partitions) == 3
        committed = thread.committed(protocol)
        assert {where: each.offset for where, each in committed.items()} == thread.end_offsets(
            "orders"
        )
        consumer.close()
        assert thread.group(protocol).state == "Empty"


async def test_a_client_on_the_same_loop_does_not_starve_the_broker(
    broker: EmbeddedBroker,
) -> None:
    async def work() -> int:
        async with Admin(**QUICK, bootstrap_servers=broker.bootstrap_servers) as admin:
            return len([await admin.list_topics() for _ in range(10)])

    assert await asyncio.gather(*(work() for _ in range(10))) == [10] * 10
