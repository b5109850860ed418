"""What a newcomer meets in the first minute: each mistake has a sentence of its own, in time."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    AuthenticationError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NotEnoughReplicas,
    ProtocolError,
    SaslAuthenticationFailed,
    StateError,
)
from kafka_aio.producer import Producer
from kafka_aio.testing import VirtualLoop
from tests.net.peers import answering, serving
from tests.scenarios.producer.api_world import TOPIC, producer_of, until, values, virtual

HASTE = {
    "socket_connection_setup_timeout_ms": 300,
    "socket_connection_setup_timeout_max_ms": 300,
}
SLACK = 5.0  # a busy machine; without a bound it would take much longer
USERS = {"alice": "alice-secret"}


@pytest.fixture
def refusing() -> Iterator[str]:
    """An address where nobody listens, and nobody else will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


async def refusal(servers: str, **options: Any) -> KafkaError:
    """Why a producer cannot start; and it leaves nothing behind."""
    producer: Producer[Any, Any] = Producer(bootstrap_servers=servers, **HASTE, **options)
    start = time.monotonic()
    with pytest.raises(KafkaError) as caught:
        async with producer:
            raise AssertionError("it started")
    assert time.monotonic() - start < SLACK
    assert producer.health().state == "closed"
    return caught.value


# Nobody there.


async def test_a_cluster_that_is_not_there_is_named_with_each_address(refusing: str) -> None:
    error = await refusal(f"{refusing},no-such-host.invalid:9092")

    assert isinstance(error, KafkaConnectionError)
    assert str(error).startswith("no broker could be reached: ")
    assert f"{refusing}: connection refused" in str(error)
    assert "no-such-host.invalid:9092: the name cannot be resolved" in str(error)


def test_without_a_word_it_takes_ten_seconds_and_no_longer() -> None:
    async def main() -> None:
        loop = VirtualLoop.running()
        loop.network.black_hole()
        producer: Producer[Any, Any] = Producer(bootstrap_servers="10.0.0.1:9092,10.0.0.2:9092")
        start = loop.time()
        with pytest.raises(KafkaConnectionError) as caught:
            await producer.start()

        assert 10 <= loop.time() - start < 10.2
        assert "10.0.0.1:9092: " in str(caught.value)
        assert "10.0.0.2:9092: " in str(caught.value)

    virtual(main)


def test_a_start_may_have_a_time_of_its_own() -> None:
    async def main() -> None:
        loop = VirtualLoop.running()
        loop.network.black_hole()
        producer: Producer[Any, Any] = Producer(bootstrap_servers="10.0.0.1:9092")
        start = loop.time()
        with pytest.raises(KafkaConnectionError, match=r"10\.0\.0\.1:9092: "):
            await producer.start(timeout=2)

        assert 2 <= loop.time() - start < 2.1

    virtual(main)


# Somebody else there.


async def test_a_web_server_is_recognized_at_once() -> None:
    async with serving(answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        error = await refusal(f"127.0.0.1:{port}")

    assert isinstance(error, ProtocolError)
    assert str(error) == f"127.0.0.1:{port}: the peer speaks HTTP, not Kafka's protocol"


async def test_of_several_that_are_no_brokers_each_is_named() -> None:
    async with (
        serving(answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as web,
        serving(answering(b"SSH-2.0-OpenSSH_9.6\r\n")) as shell,
    ):
        error = await refusal(f"127.0.0.1:{web},127.0.0.1:{shell}")

    assert isinstance(error, ProtocolError)
    assert f"127.0.0.1:{web}: the peer speaks HTTP, not Kafka's protocol" in str(error)
    assert f"127.0.0.1:{shell}: the peer speaks SSH, not Kafka's protocol" in str(error)


async def test_who_says_nothing_is_not_waited_for() -> None:
    async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(says_nothing) as port:
        error = await refusal(f"127.0.0.1:{port}")

    assert isinstance(error, KafkaConnectionError)
    assert f"127.0.0.1:{port}: the answer to ApiVersions was not there within 0.3 s" in str(error)
    assert "socket_connection_setup_timeout_ms" in str(error)


@pytest.fixture
async def handshakes_may_fail() -> None:
    """In debug mode, asyncio reports them as errors of the program."""
    asyncio.get_running_loop().set_debug(False)


@pytest.mark.usefixtures("handshakes_may_fail")
async def test_a_listener_with_tls_is_suspected_by_a_client_without() -> None:
    pytest.importorskip("cryptography")
    async with EmbeddedBroker(tls=True) as broker:
        error = await refusal(broker.bootstrap_servers)

        assert isinstance(error, KafkaConnectionError)
        assert f"{broker.bootstrap_servers}: the broker closed the connection" in str(error)
        assert "is it a listener with TLS? security_protocol is 'PLAINTEXT'" in str(error)


async def test_a_listener_without_tls_is_suspected_by_a_client_with_it() -> None:
    async with EmbeddedBroker() as broker:
        error = await refusal(broker.bootstrap_servers, security_protocol="SSL")

        assert isinstance(error, KafkaConnectionError)
        assert f"{broker.bootstrap_servers}: the connection was closed in the TLS" in str(error)
        assert "this may be a listener without TLS (security_protocol)" in str(error)


@pytest.mark.usefixtures("handshakes_may_fail")
async def test_a_certificate_that_we_do_not_trust_is_refused_at_once() -> None:
    pytest.importorskip("cryptography")
    async with EmbeddedBroker(tls=True) as broker:
        error = await refusal(broker.bootstrap_servers, security_protocol="SSL")

        assert isinstance(error, AuthenticationError)
        assert "no authority that we trust has signed its certificate" in str(error)
        assert "ssl_truststore_location" in str(error)


async def test_a_cluster_with_passwords_is_suspected_by_a_client_without() -> None:
    async with EmbeddedBroker(users=USERS) as broker:
        error = await refusal(broker.bootstrap_servers)

        assert isinstance(error, KafkaConnectionError)
        assert f"{broker.bootstrap_servers}: the broker closed the connection" in str(error)
        assert "does this listener want SASL? security_protocol is 'PLAINTEXT'" in str(error)


async def test_a_wrong_password_is_refused_at_once_and_not_shown() -> None:
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": "not-her-secret",
    }
    async with EmbeddedBroker(users=USERS) as broker:
        error = await refusal(broker.bootstrap_servers, **login)

        assert isinstance(error, SaslAuthenticationFailed)
        assert "check user and password" in str(error)
        assert "not-her-secret" not in repr(error) + str(error)


async def test_a_cluster_without_passwords_says_so_to_a_client_with_one() -> None:
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": "alice-secret",
    }
    async with EmbeddedBroker() as broker:
        error = await refusal(broker.bootstrap_servers, **login)

        assert isinstance(error, AuthenticationError)
        assert str(error) == (
            f"{broker.bootstrap_servers}: this listener does not want SASL,"
            " but security_protocol is 'SASL_PLAINTEXT'"
        )


# A wrong order of things.

CALLS: dict[str, Callable[[Producer[Any, Any]], Any]] = {
    "send": lambda producer: producer.send(TOPIC, b"a"),
    "submit": lambda producer: producer.submit(TOPIC, b"a"),
    "submit_nowait": lambda producer: producer.submit_nowait(TOPIC, b"a"),
    "send_many": lambda producer: producer.send_many(TOPIC, [b"a"]),
    "submit_many": lambda producer: producer.submit_many(TOPIC, [b"a"]),
    "flush": lambda producer: producer.flush(),
    "partitions_for": lambda producer: producer.partitions_for(TOPIC),
}


async def called(name: str, producer: Producer[Any, Any]) -> None:
    found = CALLS[name](producer)
    if name != "submit_nowait":
        await found


@pytest.mark.parametrize("name", CALLS)
async def test_a_forgotten_async_with_is_said(name: str, refusing: str) -> None:
    producer: Producer[Any, Any] = Producer(bootstrap_servers=refusing)

    with pytest.raises(StateError) as caught:
        await called(name, producer)
    await producer.aclose()  # there is nothing to close

    assert str(caught.value) == (
        "the producer was not started: use it in `async with`, or await start()"
    )


@pytest.mark.parametrize("name", CALLS)
async def test_use_after_the_close_is_said(name: str) -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        async with producer_of(broker) as producer:
            await producer.send(TOPIC, b"a")
        with pytest.raises(StateError) as caught:
            await called(name, producer)

    assert str(caught.value) == "the producer is closed: make a new one"


@pytest.mark.parametrize("name", CALLS)
async def test_use_on_another_loop_is_said(name: str) -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
        await producer.send(TOPIC, b"a")
        with pytest.raises(StateError) as caught:
            await asyncio.to_thread(lambda: asyncio.run(called(name, producer)))

        assert str(caught.value) == (
            "the producer belongs to another event loop: make one for each loop"
        )
        assert values(broker) == [b"a"]
        with pytest.raises(StateError, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(producer.aclose()))
        await producer.send(TOPIC, b"b")


async def test_use_on_another_loop_when_the_first_has_ended_is_said() -> None:
    async def start_and_send(producer: Producer[Any, Any]) -> None:
        await producer.start()
        await producer.send(TOPIC, b"a")

    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        producer = producer_of(broker)
        await asyncio.to_thread(lambda: asyncio.run(start_and_send(producer)))

        with pytest.raises(StateError) as caught:
            await producer.send(TOPIC, b"b")

    assert str(caught.value) == (
        "the producer belongs to another event loop: make one for each loop"
    )


async def test_a_second_start_is_said() -> None:
    async with EmbeddedBroker() as broker, producer_of(broker) as producer:
        with pytest.raises(StateError, match="the producer was started before; make a new one"):
            await producer.start()

        assert producer.health().is_healthy


# A topic that is not there.

UNKNOWN_TOPIC = (
    "The broker has no such topic or partition; check the name, or create it first"
    " (UNKNOWN_TOPIC_OR_PARTITION, code 3)"
)
NO_NEW_TOPICS = {"auto.create.topics.enable": False}


async def test_a_topic_that_is_not_there_is_said() -> None:
    async with (
        EmbeddedBroker(options=NO_NEW_TOPICS) as broker,
        producer_of(broker, max_block_ms=300) as producer,
    ):
        with pytest.raises(KafkaTimeoutError) as caught:
            await producer.send("absent", b"a")
        with pytest.raises(KafkaTimeoutError) as asked:
            await producer.partitions_for("absent", timeout=0.2)

    assert str(caught.value) == (
        f"topic 'absent' was not found within 0.3 s (max_block_ms): {UNKNOWN_TOPIC}"
    )
    assert str(asked.value) == f"topic 'absent' was not found within 0.2 s: {UNKNOWN_TOPIC}"


async def test_a_partition_that_is_not_there_is_said() -> None:
    async with (
        EmbeddedBroker(topics={TOPIC: 1}) as broker,
        producer_of(broker, max_block_ms=300) as producer,
    ):
        with pytest.raises(KafkaTimeoutError) as caught:
            await producer.send(TOPIC, b"a", partition=7)

    assert str(caught.value) == (
        "topic 't' has 1 partitions, and no partition 7 within 0.3 s (max_block_ms)"
    )


async def test_a_cluster_that_is_gone_is_said_of_a_topic_that_nothing_is_known_of() -> None:
    async with (
        EmbeddedBroker(topics={TOPIC: 1}) as broker,
        producer_of(broker, max_block_ms=300) as producer,
    ):
        await broker.stop_node(1)
        with pytest.raises(KafkaTimeoutError) as caught:
            await producer.send(TOPIC, b"a")

    assert str(caught.value).startswith(
        "nothing is known of topic 't' within 0.3 s (max_block_ms): no broker could be reached: "
    )
    assert f"{broker.bootstrap_servers}: connection refused" in str(caught.value)


# What takes long.


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelname == "WARNING" and record.name.startswith("kafka_aio.producer")
    ]


def moments(warnings: list[str]) -> list[float]:
    """For how many seconds it took already, as they say."""
    return [float(text.split(" s, still trying: ")[0].split(" for ")[1]) for text in warnings]


def test_records_that_are_sent_again_for_long_are_warned_of_with_the_reason_and_ever_more_rarely(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, delivery_timeout_ms=300_000) as producer,
        ):
            with broker.faults.fail("Produce", NotEnoughReplicas):
                deliveries = [await producer.submit(TOPIC, b"%d" % at) for at in range(100)]
                await asyncio.sleep(4.9)
                assert not warned(caplog)
                await asyncio.sleep(95)
            for delivery in deliveries:
                await delivery
            await producer.send(TOPIC, b"well")

    virtual(main)

    found = warned(caplog)
    assert moments(found) == [5, 10, 20, 40, 80]
    assert found[0].startswith("t-0: records are not acknowledged for 5.0 s, still trying: t-0: ")
    assert all("NOT_ENOUGH_REPLICAS" in text for text in found)


def test_a_topic_that_is_looked_for_for_long_is_warned_of_once_for_all_who_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with (
            EmbeddedBroker(options=NO_NEW_TOPICS) as broker,
            producer_of(broker) as producer,
        ):
            calls = [asyncio.create_task(producer.send("late", b"a")) for _ in range(100)]
            await asyncio.sleep(4.9)
            assert not warned(caplog)
            await asyncio.sleep(25)
            broker.create_topic("late", 1)
            await asyncio.gather(*calls)
            await producer.send("late", b"well")

    virtual(main)

    found = warned(caplog)
    assert moments(found) == [5, 10, 20]
    assert found[0] == f"topic 'late' was not found for 5.0 s, still trying: {UNKNOWN_TOPIC}"


def test_a_cluster_that_is_gone_for_long_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker) as producer,
        ):
            await broker.stop_node(1)
            with pytest.raises(
                KafkaTimeoutError, match="nothing is known of topic 't' within 60 s"
            ):
                await producer.send(TOPIC, b"a")

    virtual(main)

    found = warned(caplog)
    assert moments(found) == [5, 10, 20, 40]
    assert found[0].startswith("nothing is known of topic 't' for 5.0 s, still trying: no broker ")
    assert all("connection refused" in text for text in found)


# A producer that is dropped.


def test_a_producer_that_is_dropped_open_warns_and_is_closed() -> None:
    async def main() -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            producer = producer_of(broker)
            await producer.start()
            await producer.send(TOPIC, b"a")
            await asyncio.sleep(1)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                del producer
                gc.collect()
            await until(lambda: broker.statistics().connections == 0)
            (warning,) = caught

            assert warning.category is ResourceWarning
            assert "was not closed: use `async with`, or what it has buffered may be lost" in str(
                warning.message
            )

    virtual(main)


def test_one_that_was_never_started_or_is_closed_does_not_warn() -> None:
    async def main() -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            async with producer_of(broker) as producer:
                await producer.send(TOPIC, b"a")
            other = producer_of(broker)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                del producer, other
                gc.collect()

            assert not caught

    virtual(main)
