from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.settings import Settings
from kafka_aio.config import AdminConfig
from kafka_aio.errors import (
    BrokerError,
    ConfigError,
    MessageTooLarge,
    StateError,
)
from kafka_aio.protocol.messages.metadata import MetadataResponse
from kafka_aio.types import TopicPartition
from tests.embedded.client import METADATA, connected

PARTITION = TopicPartition("t", 0)


def free_ports(count: int) -> int:
    """The first of so many ports in a row that are free."""
    for first in range(20_000, 30_000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as tried:
                    tried.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise AssertionError("no free ports")


# Where it listens.


async def test_a_cluster_of_several_nodes_says_where_they_are() -> None:
    async with EmbeddedBroker(nodes=3) as broker, connected(broker, node=2) as client:
        metadata = await client.ask(METADATA)

    found = [f"{each.host}:{each.port}" for each in metadata.brokers]
    assert ",".join(found) == broker.bootstrap_servers
    assert [each.node_id for each in metadata.brokers] == [1, 2, 3]


async def test_the_addresses_are_what_our_clients_take() -> None:
    async with EmbeddedBroker(nodes=2) as broker:
        config = AdminConfig(bootstrap_servers=broker.bootstrap_servers)

        assert ",".join(config.bootstrap_servers) == broker.bootstrap_servers


async def test_the_ports_of_the_nodes_follow_each_other() -> None:
    port = free_ports(3)

    async with EmbeddedBroker(nodes=3, port=port) as broker:
        assert broker.bootstrap_servers == ",".join(
            f"127.0.0.1:{each}" for each in (port, port + 1, port + 2)
        )


async def test_a_port_that_is_taken_is_said_and_nothing_stays_open() -> None:
    port = free_ports(2)
    async with EmbeddedBroker(port=port + 1):
        with pytest.raises(ConfigError, match=rf"port {port + 1} of 127\.0\.0\.1: it is taken"):
            await EmbeddedBroker(nodes=2, port=port).start()

    async with EmbeddedBroker(port=port):
        pass


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
async def test_it_listens_on_ipv6() -> None:
    async with EmbeddedBroker(host="::1") as broker, connected(broker) as client:
        assert broker.bootstrap_servers.startswith("[::1]:")
        assert (await client.ask(METADATA)).brokers[0].host == "::1"


async def test_localhost_is_a_loopback_address() -> None:
    async with EmbeddedBroker(host="localhost") as broker:
        assert broker.bootstrap_servers.startswith("127.0.0.1:")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.com", "", "127.0.0.1 "])
def test_it_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(ConfigError, match="for tests and development"):
        EmbeddedBroker(host=host)


# Its arguments.


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"nodes": 0}, "nodes is a number from 1 to 100"),
        ({"nodes": True}, "nodes is a number"),
        ({"port": -1}, "port is a number from 0"),
        ({"port": 65535, "nodes": 2}, "port is a number from 0 to 65534"),
        ({"topics": {"t": 0}}, "topic 't': partitions is a number from 1"),
        ({"topics": {"t": {"partition": 1}}}, "topic 't': 'partition' is none of"),
        ({"topics": {"t": "3"}}, "topic 't': partitions is a number from 1 .* not '3'"),
        ({"topics": {1: 2}}, "topics: a name is a text, not 1"),
        ({"topics": "orders"}, "topics is a mapping .* or a list of names, not 'orders'"),
        ({"topics": 3}, "topics is a mapping .* or a list of names, not 3"),
        ({"topics": ["a", "b", "a"]}, "topics: 'a' is named twice"),
        ({"topics": [("a", 1)]}, r"topics: a name is a text, not \('a', 1\)"),
        ({"users": ["alice"]}, r"users is a mapping of names to passwords, .* not a list"),
        ({"users": {"alice": 5}}, "users: the password of 'alice' is a text"),
        ({"users": {5: "secret"}}, "users: a name is a text, not 5"),
        ({"mechanisms": "PLAIN"}, "mechanisms is a list"),
        ({"mechanisms": ["DIGEST"]}, "DIGEST"),
        ({"oauth": "secured"}, "unsecured"),
        ({"options": {"num.partition": 1}}, "did you mean num.partitions"),
    ],
)
def test_a_wrong_argument_is_said_before_anything_is_opened(arguments: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        EmbeddedBroker(**arguments)


def test_no_password_is_in_the_error_of_a_wrong_argument() -> None:
    with pytest.raises(ConfigError) as raised:
        EmbeddedBroker(users=["canary"])  # type: ignore[arg-type]  # the mistake

    assert "canary" not in str(raised.value)


async def test_topics_to_begin_with_may_be_names_alone() -> None:
    async with EmbeddedBroker(topics=["a", "b"]) as broker:
        assert broker.end_offsets("a") == {("a", 0): 0}
        assert broker.topics() == ["a", "b"]


async def test_topics_to_begin_with_may_have_options() -> None:
    topics: dict[str, Any] = {
        "plain": 2,
        "small": {"partitions": 3, "configs": {"max.message.bytes": "100"}},
        "wide": {"replication_factor": 2},
    }
    async with EmbeddedBroker(nodes=3, topics=topics) as broker:
        async with connected(broker) as client:
            metadata = await client.ask(METADATA)
        with pytest.raises(MessageTooLarge):
            broker.produce("small", [bytes(200)])

    found = {
        topic.name: [len(each.replica_nodes) for each in topic.partitions]
        for topic in metadata.topics
    }
    assert found == {"plain": [3, 3], "small": [3, 3, 3], "wide": [2]}


async def test_a_topic_that_cannot_be_stops_the_start() -> None:
    with pytest.raises(BrokerError):
        await EmbeddedBroker(topics={"bad name": 1}).start()


async def test_options_have_kafkas_names_or_are_settings() -> None:
    for options in ({"num.partitions": "4"}, Settings(num_partitions=4)):
        async with EmbeddedBroker(options=options) as broker:
            assert broker._state.settings.num_partitions == 4


async def test_a_seed_gives_the_same_ids() -> None:
    async def ids(seed: int | None) -> tuple[str, bytes]:
        async with EmbeddedBroker(seed=seed, topics={"t": 1}) as broker:
            return broker._state.cluster_id, broker._state.topics.by_name["t"].id

    assert await ids(1) == await ids(1)
    assert await ids(1) != await ids(2)
    assert await ids(None) != await ids(None)


@pytest.mark.parametrize(
    ("arguments", "protocol"),
    [
        ({}, "PLAINTEXT"),
        ({"tls": True}, "SSL"),
        ({"users": {"a": "b"}}, "SASL_PLAINTEXT"),
        ({"oauth": "unsecured", "tls": True}, "SASL_SSL"),
    ],
)
async def test_it_says_what_clients_have_to_speak(arguments: Any, protocol: str) -> None:
    assert EmbeddedBroker(**arguments).security_protocol == protocol


async def test_there_are_no_certificates_without_tls(broker: EmbeddedBroker) -> None:
    with pytest.raises(StateError, match="tls=True"):
        _ = broker.certificates


# Its life.


async def test_a_broker_is_started_once() -> None:
    broker = EmbeddedBroker()
    with pytest.raises(StateError, match="not started"):
        broker.create_topic("t")
    async with broker:
        with pytest.raises(StateError, match="started before"):
            await broker.start()
    await broker.aclose()

    with pytest.raises(StateError, match="closed: make a new one"):
        broker.create_topic("t")
    with pytest.raises(StateError, match="closed: make a new one"):
        await broker.start()


async def test_it_says_what_it_is() -> None:
    broker = EmbeddedBroker(nodes=2)
    assert repr(broker) == "<EmbeddedBroker not started, 2 nodes>"
    async with broker:
        assert repr(broker) == f"<EmbeddedBroker {broker.bootstrap_servers}, 2 nodes>"

    assert repr(broker) == "<EmbeddedBroker closed, 2 nodes>"


async def test_another_loop_cannot_use_it(broker: EmbeddedBroker) -> None:
    failures: list[StateError] = []

    async def use() -> None:
        for call in (lambda: broker.create_topic("x"), broker.aclose):
            try:
                if (waits := call()) is not None:
                    await waits
            except StateError as error:
                failures.append(error)

    def elsewhere() -> None:
        asyncio.run(use())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    await asyncio.to_thread(thread.join)

    assert ["another event loop" in str(error) for error in failures] == [True, True]


async def test_a_broker_that_is_dropped_open_warns_and_closes() -> None:
    broker = EmbeddedBroker()
    await broker.start()
    host, _, port = broker.bootstrap_servers.rpartition(":")

    with pytest.warns(ResourceWarning, match="unclosed <EmbeddedBroker"):
        del broker

    await asyncio.sleep(0.02)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))


async def test_a_start_that_is_cancelled_leaves_nothing_open() -> None:
    broker = EmbeddedBroker(tls=True)
    starting = asyncio.create_task(broker.start())
    await asyncio.sleep(0)
    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting
    await broker.aclose()
    # A thread still makes the certificates, which nobody will use.
    await asyncio.get_running_loop().shutdown_default_executor()


@pytest.mark.parametrize("tls", [False, True])
async def test_a_broker_that_is_closed_while_it_starts_does_not_start(tls: bool) -> None:
    broker = EmbeddedBroker(tls=tls)
    starting = asyncio.create_task(broker.start())
    await asyncio.sleep(0)

    await broker.aclose()

    with pytest.raises(StateError, match="closed while it was starting: make a new one"):
        await starting
    with pytest.raises(StateError, match="closed: make a new one"):
        broker.create_topic("t")
    assert repr(broker) == "<EmbeddedBroker closed, 1 nodes>"


@pytest.mark.parametrize("turns", range(8))
@pytest.mark.parametrize("ends_by", ["aclose", "cancel"])
async def test_a_start_that_is_ended_at_any_time_leaves_nothing_open(
    turns: int, ends_by: str
) -> None:
    # The guard of every test looks for what is left.
    broker = EmbeddedBroker(nodes=3)
    starting = asyncio.create_task(broker.start())
    await asyncio.sleep(0.002)  # it has what it needs from its thread, and opens the ports
    for _ in range(turns):
        await asyncio.sleep(0)

    if ends_by == "cancel":
        starting.cancel()
    else:
        await broker.aclose()

    (outcome,) = await asyncio.gather(starting, return_exceptions=True)
    assert outcome is None or isinstance(outcome, StateError | asyncio.CancelledError)
    await broker.aclose()
    await asyncio.get_running_loop().shutdown_default_executor()


async def test_a_broker_that_is_closed_at_once_does_not_start() -> None:
    broker = EmbeddedBroker()
    await broker.aclose()

    with pytest.raises(StateError, match="closed: make a new one"):
        await broker.start()


async def test_a_start_that_failed_is_not_repeated() -> None:
    async with EmbeddedBroker(port=free_ports(1)) as other:
        broker = EmbeddedBroker(port=int(other.bootstrap_servers.rpartition(":")[2]))
        with pytest.raises(ConfigError, match="taken"):
            await broker.start()

    with pytest.raises(StateError, match="closed: make a new one"):
        await broker.start()
    with pytest.raises(StateError, match="closed: make a new one"):
        broker.create_topic("t")


async def test_a_start_that_was_cancelled_is_not_repeated() -> None:
    broker = EmbeddedBroker()
    starting = asyncio.create_task(broker.start())
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    with pytest.raises(StateError, match="closed: make a new one"):
        await broker.start()
    await asyncio.get_running_loop().shutdown_default_executor()


async def test_a_node_that_starts_while_the_broker_is_closed_stays_down() -> None:
    broker = EmbeddedBroker(nodes=2)
    await broker.start()
    await broker.stop_node(2)
    starting = asyncio.create_task(broker.start_node(2))
    await asyncio.sleep(0)

    await broker.aclose()

    with pytest.raises(StateError, match="closed"):
        await starting


@pytest.mark.parametrize("turns", range(1, 6))
async def test_a_close_that_is_cancelled_closes_all_the_same(turns: int) -> None:
    # The guard of every test looks for what is left.
    broker = EmbeddedBroker(nodes=2)
    await broker.start()
    async with connected(broker):
        closing = asyncio.create_task(broker.aclose())
        for _ in range(turns):
            await asyncio.sleep(0)

        closing.cancel()

        await asyncio.wait([closing])
    with pytest.raises(StateError, match="closed"):
        broker.create_topic("t")


async def test_faults_may_be_made_before_the_start() -> None:
    broker = EmbeddedBroker(nodes=2)
    broker.faults.drop("Produce", node=2)

    with pytest.raises(ConfigError, match="no node 3: they are 1, 2"):
        broker.faults.drop("Produce", node=3)
    with pytest.raises(ConfigError, match="does not serve"):
        broker.faults.drop("WriteTxnMarkers")
    assert len(broker.faults) == 1


@pytest.mark.parametrize("turns", range(6))
async def test_who_connects_while_it_closes_leaves_no_socket_behind(turns: int) -> None:
    # The guard of every test looks for what is left.
    broker = EmbeddedBroker()
    await broker.start()
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with socket.create_connection((host, int(port))) as client:
        client.setblocking(False)
        for _ in range(turns):
            await asyncio.sleep(0)

        await broker.aclose()

        async with asyncio.timeout(5):
            with suppress(ConnectionResetError):
                assert await asyncio.get_running_loop().sock_recv(client, 1) == b""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_keeps_no_socket_open() -> None:
    """The connection ends for the client although the child lives on."""
    program = """
import asyncio, os, time
from kafka_aio.broker import EmbeddedBroker

async def main():
    async with EmbeddedBroker() as broker:
        host, _, port = broker.bootstrap_servers.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        await asyncio.sleep(0.05)
        child = os.fork()
        if child == 0:
            writer.get_extra_info("socket")._sock.detach()
            time.sleep(20)
            os._exit(0)
        try:
            broker.close_connections()
            async with asyncio.timeout(5):
                print(await reader.read())
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
            writer.close()

asyncio.run(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=40
    )

    assert (ended.stdout, ended.returncode) == ("b''\n", 0), ended.stderr


async def test_a_node_that_is_started_twice_at_once_can_be_reached() -> None:
    async with EmbeddedBroker() as broker:
        await broker.stop_node(1)
        await asyncio.gather(broker.start_node(1), broker.start_node(1))

        async with connected(broker) as client:
            answer = await client.ask(METADATA)

    assert isinstance(answer, MetadataResponse)
