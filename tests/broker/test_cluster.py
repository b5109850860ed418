"""Our cluster on real Kafka: channels, coordinators, sessions, and a bad network between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest

from kafka_aio.config import AdminConfig
from kafka_aio.errors import KafkaConnectionError, KafkaTimeoutError
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.net.links import FETCH
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from kafka_aio.types import TopicPartition
from tests.kafka import cluster as kafka
from tests.kafka.proxy import TO_CLIENT, Proxy
from tests.kafka.security import REAUTHENTICATION_MS
from tests.kafka.tokens import claims, unsecured

HELLO = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
NOBODY = MetadataRequest(topics=[])
SUMMER = Coordinator(CoordinatorKind.GROUP, "summer")
COMMITTED = OffsetFetchRequest(
    groups=[OffsetFetchRequestGroup(group_id="summer", topics=None)], require_stable=False
)


@asynccontextmanager
async def joined(bootstrap: str, **options: Any) -> AsyncIterator[Cluster]:
    tasks = Tasks("test")
    await tasks.start()
    try:
        cluster = Cluster(
            AdminConfig.from_options({"bootstrap_servers": bootstrap, **options}), tasks
        )
        await cluster.start()
        yield cluster
    finally:
        await tasks.aclose()


@asynccontextmanager
async def behind_proxies(running: kafka.Cluster) -> AsyncIterator[dict[int, Proxy]]:
    """A proxy before each node, at the port that its PROXY listener advertises."""
    async with AsyncExitStack() as stack:
        yield {
            node.id: await stack.enter_async_context(
                Proxy(
                    ("127.0.0.1", node.ports["PROXY"]),
                    listen_port=node.proxy_port,
                    seed=node.id,
                    frames=True,
                )
            )
            for node in running.nodes
        }


def counted(cluster: Cluster, name: str) -> object:
    (family,) = [each for each in cluster.registry.snapshot() if each.name == name]
    return family.samples[0].value


async def test_metadata_is_answered_while_a_fetch_waits(kafka: kafka.Cluster) -> None:
    topic = await asyncio.to_thread(kafka.create_topic, "channels")
    async with joined(kafka.bootstrap) as cluster:
        await cluster.refresh([topic])
        leader = cluster.metadata.leader(TopicPartition(topic, 0))
        topic_id = cluster.metadata.topic_id(topic)
        assert leader is not None
        assert topic_id is not None
        wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
        slow = FetchRequest(
            max_wait_ms=2_000,
            min_bytes=1,
            topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])],
        )
        fetch = asyncio.create_task(cluster.send(leader.node, slow, channel=FETCH))
        await asyncio.sleep(0.1)
        await cluster.send(leader.node, NOBODY)
        was_answered_first = not fetch.done()
        fetched = await fetch

    assert fetched.error_code == 0
    assert was_answered_first


async def test_a_coordinator_is_followed_to_another_node(kafka_cluster: kafka.Cluster) -> None:
    async with joined(kafka_cluster.bootstrap) as cluster:
        found = await _coordinator(cluster)
        try:
            await asyncio.to_thread(kafka_cluster.node(found).kill)
            moved_to = await _coordinator(cluster)
        finally:
            await asyncio.to_thread(kafka_cluster.heal)

    assert moved_to != found


async def _coordinator(cluster: Cluster) -> int:
    """The node that answers for the group, once one does."""
    async with asyncio.timeout(30):
        while True:
            with suppress(KafkaConnectionError, KafkaTimeoutError):
                answer = await cluster.send_to_coordinator(SUMMER, COMMITTED, timeout=5)
                node = cluster.coordinator_of(SUMMER)
                if answer.groups[0].error_code == 0 and node is not None:
                    return node
                cluster.coordinator_moved(SUMMER)
            await asyncio.sleep(0.05)


async def test_a_session_outlives_its_time_by_authenticating_anew(
    secured_kafka: kafka.Cluster,
) -> None:
    assert secured_kafka.security is not None
    options: dict[str, Any] = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_username": "alice",
        "sasl_password": "alice-secret",
        "ssl_truststore_location": str(secured_kafka.security.certificates.ca),
    }
    loop = asyncio.get_running_loop()
    async with joined(secured_kafka.addresses("SASLS"), **options) as cluster:
        await cluster.send(1, HELLO)
        opened = counted(cluster, "connections_opened")
        until = loop.time() + REAUTHENTICATION_MS / 1000 + 3
        while loop.time() < until:
            await cluster.send(1, HELLO)
            await asyncio.sleep(0.05)

        assert counted(cluster, "connections_opened") == opened


@pytest.mark.loop("asyncio")  # it waits for real time; the other runs on both
async def test_a_token_that_ends_is_replaced_before_the_broker_closes(
    secured_kafka: kafka.Cluster,
) -> None:
    given = []

    async def token() -> str:
        given.append(unsecured(claims("alice", lifetime=6)))
        return given[-1]

    options: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_provider": token,
    }
    loop = asyncio.get_running_loop()
    async with joined(secured_kafka.addresses("SASLP"), **options) as cluster:
        await cluster.send(1, HELLO)
        opened = counted(cluster, "connections_opened")
        until = loop.time() + 9
        while loop.time() < until:
            await cluster.send(1, HELLO)
            await asyncio.sleep(0.05)

        assert counted(cluster, "connections_opened") == opened
        assert len(given) >= 2


async def test_requests_survive_slices_delays_and_cuts(kafka_cluster: kafka.Cluster) -> None:
    async with behind_proxies(kafka_cluster) as proxies:
        bootstrap = kafka_cluster.addresses("PROXY")
        async with joined(bootstrap, request_timeout_ms=5_000) as cluster:
            for proxy in proxies.values():
                proxy.slice(1, 16)
                proxy.delay(0.002, jitter=0.002)
            sliced = [await cluster.send(node, NOBODY) for node in (1, 2, 3) for _ in range(3)]
            for proxy in proxies.values():
                proxy.heal()
                proxy.cut_after((1, 200), "rst", direction=TO_CLIENT, times=3)
            outcomes = [await _outcome(cluster, node) for _ in range(10) for node in (1, 2, 3)]

    assert {answer.cluster_id for answer in sliced} == {sliced[0].cluster_id}
    assert set(outcomes) <= {"answered", "indefinite", "definite"}
    assert outcomes.count("answered") >= 15
    assert "indefinite" in outcomes
    assert outcomes[-3:] == ["answered"] * 3


async def _outcome(cluster: Cluster, node: int) -> str:
    try:
        await cluster.send(node, HELLO)
    except KafkaConnectionError as error:
        return "indefinite" if error.indefinite else "definite"
    return "answered"


async def test_an_answer_that_is_held_back_ends_in_time_and_the_next_is_right(
    kafka_cluster: kafka.Cluster,
) -> None:
    async with behind_proxies(kafka_cluster) as proxies:
        bootstrap = kafka_cluster.addresses("PROXY")
        async with joined(bootstrap, request_timeout_ms=1_000) as cluster:
            await cluster.send(2, HELLO)
            held = proxies[2].hold(MetadataRequest)
            request = asyncio.create_task(cluster.send(2, NOBODY))
            await held.wait_held()

            with pytest.raises(KafkaTimeoutError) as raised:
                await request
            held.drop()
            proxies[2].heal()
            answer = await cluster.send(2, NOBODY)

    assert raised.value.indefinite
    assert len(answer.brokers) == 3


async def test_a_network_that_swallows_everything_ends_requests_in_time(
    kafka_cluster: kafka.Cluster,
) -> None:
    loop = asyncio.get_running_loop()
    async with behind_proxies(kafka_cluster) as proxies:
        bootstrap = kafka_cluster.addresses("PROXY")
        async with joined(bootstrap, request_timeout_ms=1_000) as cluster:
            await cluster.send(1, HELLO)
            with proxies[1].black_hole():
                began_at = loop.time()
                with pytest.raises(KafkaTimeoutError):
                    await cluster.send(1, HELLO)
                took = loop.time() - began_at
                others = await cluster.send(2, HELLO)
            async with asyncio.timeout(10):
                while await _outcome(cluster, 1) != "answered":  # noqa: ASYNC110 - asks each time
                    await asyncio.sleep(0.05)

    assert took < 10  # without, it would be 30
    assert others.error_code == 0
