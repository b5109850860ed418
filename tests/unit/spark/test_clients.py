from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import Any

import pytest

from kafka_aio import ClientConfig, Consumer, KafkaConnectionError, NewTopic, Producer
from kafka_aio.broker import BrokerThread, EmbeddedBroker
from kafka_aio.errors import ConfigError, KafkaError, StateError, UnknownTopicOrPartition
from kafka_aio.producer import sender
from kafka_aio.testing import VirtualLoop
from kafka_aio.types import TopicPartition
from spark_connector import clients
from spark_connector.bridge import LoopThread

SECONDS = 10.0
NEEDS_UVLOOP = pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")


@pytest.fixture
async def broker() -> AsyncIterator[EmbeddedBroker]:
    async with EmbeddedBroker(topics={"t": 1}, seed=1) as started:
        yield started


@pytest.fixture
async def options(broker: EmbeddedBroker) -> AsyncIterator[dict[str, str]]:
    yield {"bootstrap.servers": broker.bootstrap_servers, "linger.ms": "0"}
    await clients.close_all()


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_told", set())


async def until(condition: Any) -> None:
    """As long as it takes, but not longer than that."""
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - nobody sets an event for it
            await asyncio.sleep(0.005)


def _is_open(client: Producer | Consumer) -> bool:
    return client.health().state == "open"


# Borrowing.


async def test_each_kind_of_client_can_be_used(options: dict[str, str]) -> None:
    options.pop("linger.ms")
    async with clients.producer(options) as producer:
        await producer.send("t", b"v")
    async with clients.consumer(options) as consumer:
        found = [batch async for batch in consumer.read_range(TopicPartition("t", 0), 0, 1)]
    async with clients.admin(options) as admin:
        await admin.create_topics([NewTopic("u")])
        topics = await admin.list_topics()

    assert [record.value for batch in found for record in batch.records] == [b"v"]
    assert [topic.name for topic in topics] == ["t", "u"]


async def test_a_client_stays_open_for_the_next_who_wants_the_same(
    options: dict[str, str],
) -> None:
    async with clients.producer(options) as first:
        pass
    async with clients.producer(dict(reversed(options.items()))) as second:
        assert second is first
        assert _is_open(first)


async def test_other_options_are_another_client(options: dict[str, str]) -> None:
    async with (
        clients.producer(options) as first,
        clients.producer({**options, "acks": "1", "enable.idempotence": "false"}) as second,
    ):
        assert first is not second


async def test_several_have_one_client_at_the_same_time(options: dict[str, str]) -> None:
    async with clients.producer(options) as first, clients.producer(options) as second:
        assert first is second


async def test_who_comes_while_it_opens_waits_for_the_same(
    broker: EmbeddedBroker, options: dict[str, str]
) -> None:
    async def borrowed() -> Producer:
        async with clients.producer(options) as producer:
            return producer

    with broker.faults.delay("Metadata", 0.05):
        found = await asyncio.gather(*(borrowed() for _ in range(5)))

    assert len(set(map(id, found))) == 1


async def test_an_error_in_the_block_is_raised_and_the_client_stays(
    options: dict[str, str],
) -> None:
    with pytest.raises(ZeroDivisionError):
        async with clients.producer(options) as first:
            raise ZeroDivisionError
    async with clients.producer(options) as second:
        assert second is first


# Opening.


async def test_who_gives_up_waiting_breaks_nothing_for_who_comes_next(
    broker: EmbeddedBroker, options: dict[str, str]
) -> None:
    async def borrow() -> None:
        async with clients.producer(options):
            raise AssertionError("it was to be cancelled before")

    with broker.faults.hold("Metadata"):
        task = asyncio.create_task(borrow())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async with clients.producer(options) as producer:
        await producer.send("t", b"v")


async def test_who_gives_up_waiting_disturbs_nobody_else_who_waits(
    broker: EmbeddedBroker, options: dict[str, str]
) -> None:
    async def borrow() -> Producer:
        async with clients.producer(options) as producer:
            return producer

    with broker.faults.hold("Metadata"):
        impatient, patient = asyncio.create_task(borrow()), asyncio.create_task(borrow())
        await asyncio.sleep(0.05)
        impatient.cancel()
        await asyncio.sleep(0.01)

    assert _is_open(await patient)
    assert impatient.cancelled()


async def test_what_nobody_waits_for_any_more_opens_and_expires(
    broker: EmbeddedBroker, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "IDLE_SECONDS", 0.01)

    async def borrow() -> None:
        async with clients.producer(options):
            raise AssertionError("it was to be cancelled before")

    with broker.faults.hold("Metadata"):
        task = asyncio.create_task(borrow())
        await asyncio.sleep(0.05)
        task.cancel()
    await until(lambda: broker.statistics().connections == 0)

    assert task.cancelled()


async def test_a_client_that_cannot_be_opened_is_an_error_for_all_who_wait_and_tried_anew() -> None:
    async with EmbeddedBroker(seed=1) as gone:
        address = gone.bootstrap_servers
    options = {"bootstrap.servers": address, "max.block.ms": "1000"}

    async def borrow() -> None:
        async with clients.producer(options):
            pass

    errors = await asyncio.gather(*(borrow() for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in errors] == [KafkaConnectionError] * 3

    async with EmbeddedBroker(port=int(address.rpartition(":")[2]), seed=1):
        await borrow()
        await clients.close_all()


@pytest.mark.parametrize(("told", "seconds"), [({}, 60), ({"max.block.ms": "5000"}, 5)])
def test_a_producer_waits_for_its_first_connection_as_long_as_a_send_does(
    told: dict[str, str], seconds: int
) -> None:
    async def connected_after(down: float) -> float:
        loop = asyncio.get_running_loop()
        async with EmbeddedBroker(seed=1) as gone:
            address = gone.bootstrap_servers
        begun = loop.time()

        async def borrow() -> None:
            async with clients.producer({"bootstrap.servers": address, **told}):
                pass

        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(borrow())
                await asyncio.sleep(down)
                async with EmbeddedBroker(port=int(address.rpartition(":")[2]), seed=1):
                    await asyncio.sleep(10)
        finally:
            await clients.close_all()
        return loop.time() - begun

    with VirtualLoop(seed=1) as loop:
        loop.run_until_complete(connected_after(seconds - 2))
    with VirtualLoop(seed=1) as loop, pytest.raises(ExceptionGroup) as caught:
        loop.run_until_complete(connected_after(seconds + 2))
    assert isinstance(caught.value.exceptions[0], KafkaConnectionError)


async def test_wrong_options_are_an_error(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"linger\.ms must be a whole number"):
        async with clients.producer({**options, "linger.ms": "no number"}):
            pass


# Expiring.


async def test_a_client_that_nobody_uses_is_closed_after_a_while(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "IDLE_SECONDS", 0.05)

    async with clients.producer(options) as first:
        pass
    assert _is_open(first)
    await until(lambda: not _is_open(first))

    async with clients.producer(options) as second:
        assert second is not first


async def test_a_client_that_is_used_does_not_expire(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "IDLE_SECONDS", 0.05)

    async with clients.producer(options) as first:
        pass
    async with clients.producer(options) as again:
        await asyncio.sleep(0.15)

        assert again is first
        assert _is_open(first)
    async with clients.producer(options) as once_more:
        assert once_more is first


async def test_it_does_not_expire_while_one_of_several_has_it(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "IDLE_SECONDS", 0.05)

    async with clients.producer(options) as first:
        async with clients.producer(options):
            pass
        await asyncio.sleep(0.15)

        assert _is_open(first)


async def test_each_use_begins_the_time_anew(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "IDLE_SECONDS", 2.0)

    found = []
    for _ in range(5):
        async with clients.producer(options) as producer:
            found.append(producer)
        await asyncio.sleep(0.5)

    assert len(set(map(id, found))) == 1
    assert _is_open(found[0])


# Health.


async def test_a_client_that_was_closed_is_replaced(options: dict[str, str]) -> None:
    async with clients.producer(options) as first:
        await first.aclose()
    async with clients.producer(options) as second:
        await second.send("t", b"v")

    assert second is not first


async def test_a_client_that_is_not_well_is_kept_by_who_has_it_and_replaced_for_the_next(
    broker: EmbeddedBroker, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "FIRST_AFTER", 0.01)

    with broker.faults.hold("Produce"):
        async with clients.producer(options) as first:
            delivery = await first.submit("t", b"v")
            await until(lambda: not first.health().is_healthy)
            async with clients.producer(options) as second:
                assert second is first  # or what is given to it would overtake
        async with clients.producer(options) as third:
            assert third is not first
    await delivery
    await until(lambda: not _is_open(first))


async def test_a_client_that_is_closed_is_replaced_whoever_has_it(options: dict[str, str]) -> None:
    async with clients.producer(options) as first:
        await first.aclose()
        async with clients.producer(options) as second:
            assert second is not first


async def test_an_admin_client_that_failed_is_replaced(options: dict[str, str]) -> None:
    options.pop("linger.ms")
    async with clients.admin(options) as first:
        await first.aclose()
    with pytest.raises(StateError):
        async with clients.admin(options) as again:
            await again.list_topics()
    async with clients.admin(options) as second:
        await second.list_topics()

    assert again is first
    assert second is not first


async def test_an_admin_client_with_an_answer_of_the_broker_is_kept(
    options: dict[str, str],
) -> None:
    options.pop("linger.ms")
    with pytest.raises(UnknownTopicOrPartition):
        async with clients.admin(options) as first:
            raise UnknownTopicOrPartition(where="t")
    async with clients.admin(options) as second:
        assert second is first


async def test_a_consumer_that_reads_ranges_is_well(options: dict[str, str]) -> None:
    options.pop("linger.ms")
    async with clients.consumer(options) as first:
        assert first.health().is_healthy
    async with clients.consumer(options) as second:
        assert second is first


async def test_records_that_nobody_waited_for_are_told_of_in_the_log(
    broker: EmbeddedBroker,
    options: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(clients, "CLOSE_SECONDS", 0.05)
    async with clients.producer(options) as producer:
        with broker.faults.hold("Produce"):
            await producer.submit("t", b"v")
            await clients.close_all()

    assert "a producer that nobody uses any more was closed: 1 record" in caplog.text


# Closing.


async def test_close_all_closes_those_of_this_loop_whoever_has_them(
    options: dict[str, str],
) -> None:
    async with clients.producer(options) as producer:
        async with clients.producer({**options, "client.id": "other"}) as other:
            pass
        await clients.close_all()

        assert [_is_open(producer), _is_open(other)] == [False, False]
        with pytest.raises(StateError):
            await producer.send("t", b"v")


async def test_close_all_ends_an_opening(broker: EmbeddedBroker, options: dict[str, str]) -> None:
    async def borrow() -> None:
        async with clients.producer(options):
            pass

    with broker.faults.hold("Metadata"):
        task = asyncio.create_task(borrow())
        await asyncio.sleep(0.05)
        await clients.close_all()

        with pytest.raises(asyncio.CancelledError):
            await task


async def test_close_all_without_clients_does_nothing() -> None:
    await clients.close_all()


def test_loops_do_not_share_clients_and_a_loop_that_stops_closes_its_own() -> None:
    async def borrowed(options: dict[str, str]) -> Producer:
        async with clients.producer(options) as producer:
            await producer.send("t", b"v")
            return producer

    with BrokerThread(topics={"t": 1}) as broker:
        options = {"bootstrap.servers": broker.bootstrap_servers}
        one, two = LoopThread(), LoopThread()
        first, second = one.run(borrowed(options)), two.run(borrowed(options))

        assert first is not second
        assert one.run(borrowed(options)) is first
        one.stop()
        assert [_is_open(first), _is_open(second)] == [False, True]
        two.stop()
        assert not _is_open(second)


def test_the_clients_of_a_loop_that_was_closed_are_forgotten() -> None:
    async def borrow(address: str) -> None:
        async with clients.admin({"bootstrap.servers": address}) as admin:
            await admin.aclose()

    before = set(clients._caches)
    with BrokerThread() as broker:
        for _ in range(3):
            asyncio.run(borrow(broker.bootstrap_servers))

    assert len(set(clients._caches) - before) == 1


# Options.


async def test_what_has_no_effect_here_is_logged_and_no_warning_is_raised(
    options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    for client_id in ("a", "b"):
        given = {**options, "client.id": client_id, "metric.reporters": "x", "group.id": "g"}
        async with clients.producer(given) as producer:
            await producer.send("t", b"v")

    told = [record for record in caplog.records if record.name == "spark_connector"]
    assert len(told) == 2  # once in a process
    assert {record.levelno for record in told} == {logging.WARNING}
    assert "metric.reporters is ignored" in caplog.text
    assert "group.id is an option of the consumer" in caplog.text


async def test_nothing_shows_the_options(options: dict[str, str]) -> None:
    secret = {**options, "client.id": "canary"}
    async with clients.producer(secret):
        cache = clients._caches[asyncio.get_running_loop()]

        assert "canary" not in repr(cache) + repr(list(cache._entries.values()))


def test_every_kind_has_a_configuration() -> None:
    for kind in ("producer", "consumer", "admin"):
        config = clients._configured(kind, {"bootstrap.servers": "h:1", "metric.reporters": "z"})

        assert isinstance(config, ClientConfig)


async def test_the_error_of_an_opening_shows_no_secret(options: dict[str, str]) -> None:
    given = {
        **options,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' username="u" password="canary";',
        "socket.connection.setup.timeout.ms": "5000",
    }
    with pytest.raises(KafkaError) as caught:
        async with clients.producer(given):
            pass

    assert "canary" not in repr(caught.value) + str(caught.value)
